"""The books of one session: which records its effects change. No I/O.

Holds the session's and the conversation's records as they will be once the
changes are committed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from vivavoce.session import effects as fx
from vivavoce.session.state import State
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records import (
    Announce,
    Change,
    Conversation,
    Entry,
    Kind,
    LogEvent,
    PutConversation,
    PutEntry,
    PutSession,
    PutSnapshot,
    Snapshot,
    VoiceSession,
)
from vivavoce.wire.voice_events import VoiceEvent, to_log

TITLE_LENGTH = 60


def title_from(entry: Entry) -> str | None:
    """A conversation is named after the first thing the user says in it."""
    if entry.kind is not Kind.USER or not entry.text.strip():
        return None
    return clean_line(entry.text, TITLE_LENGTH)


class Books:
    """Turns effects into changes."""

    def __init__(
        self, session: VoiceSession, conversation: Conversation, *, workspace: str = ""
    ) -> None:
        self.session = session
        self.conversation = conversation
        self._workspace = workspace

    def write(self, effects: Sequence[fx.Effect], now: datetime, state: State) -> list[Change]:
        """The durable part of these effects, in the order in which they must be seen."""
        changes: list[Change] = []
        for effect in effects:
            match effect:
                case fx.Record(entry=entry, backfill=backfill):
                    self._name(entry)
                    changes.append(PutEntry(entry, replace=not backfill))
                case fx.Tell(event=event) if event.durable:
                    changes.append(Announce(self.announcement(event)))
                case fx.Account(usage=usage):
                    self.session = replace(
                        self.session,
                        input_tokens=self.session.input_tokens + usage.input,
                        output_tokens=self.session.output_tokens + usage.output,
                    )
                case fx.Close(status=status, reason=reason):
                    self.session = replace(
                        self.session, status=status, end_reason=reason, ended_at=now
                    )
                    changes.append(PutSnapshot(self._snapshot(now, state)))
                case _:
                    pass
        if not changes:
            return []
        return [*self.touched(now), *changes]

    def announcement(self, event: VoiceEvent) -> LogEvent:
        return to_log(
            event,
            user_id=self.session.user_id,
            conversation_id=self.session.conversation_id,
        )

    def touched(self, now: datetime) -> list[Change]:
        self.session = replace(self.session, updated_at=now)
        self.conversation = replace(self.conversation, updated_at=now)
        return [PutConversation(self.conversation), PutSession(self.session)]

    def called(self, call_id: str, now: datetime, seeded: Sequence[str]) -> None:
        """The session has a new call, with these items of ours; stored with the next change."""
        known = {"called_at": now.isoformat(), "seeded": list(seeded)}
        metadata = {**self.session.metadata, **known}
        self.session = replace(self.session, call_id=call_id, metadata=metadata)

    def _name(self, entry: Entry) -> None:
        if self.conversation.title is None and (title := title_from(entry)):
            self.conversation = replace(self.conversation, title=title)

    def _snapshot(self, now: datetime, state: State) -> Snapshot:
        """What the entries do not say (seed 000 §7.3)."""
        return Snapshot(
            session_id=self.session.id,
            user_id=self.session.user_id,
            saved_at=now,
            data={
                "conversation_id": self.session.conversation_id,
                "voice": state.setup.voice,
                "working_directory": self._workspace,
                "pending_tasks": sorted(state.open_calls | state.tasks),
                "estimated_tokens": state.context_tokens,
                "summary": self.conversation.summary,
            },
        )

    @staticmethod
    def allowed_tools(session: Mapping[str, Any]) -> Collection[str]:
        """What the model may call is what it was offered, and nothing else."""
        return frozenset(str(tool["name"]) for tool in session.get("tools") or ())
