"""The records of one session: which records its effects change, and what it costs. No I/O.

Holds the session's and the conversation's records as they will be once the
changes are committed. What others write of the conversation meanwhile (its
latest intent, a summary, another title) is theirs, and left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from vivavoce.runtime.provider.known_models import FREE, Budget, Price, cost_micros, price_of
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.session import effects as fx
from vivavoce.session.events import End
from vivavoce.session.state import State
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import SessionEnded, announce
from vivavoce.wire.records.talk import (
    ESTIMATED,
    Change,
    Conversation,
    Entry,
    Kind,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
    Snapshot,
    VoiceSession,
    new_id,
)

TITLE_LENGTH = 60
SNAPSHOT_TURNS = 5
SNAPSHOT_EVERY = timedelta(seconds=30)


def title_from(entry: Entry) -> str | None:
    """A conversation is named after the first thing the user says in it."""
    if entry.kind is not Kind.USER or not entry.text.strip():
        return None
    return clean_line(entry.text, TITLE_LENGTH)


def begun(
    user_id: str,
    now: datetime,
    *,
    title: str | None = None,
    conversation_id: str | None = None,
    **known: Any,
) -> Conversation:
    """A conversation in which nothing has been said yet."""
    title = clean_line(title or "") or None
    return Conversation(
        id=conversation_id or new_id(),
        user_id=user_id,
        created_at=now,
        updated_at=now,
        title=title,
        **known,
    )


_THEIRS: dict[str, Any] = dict.fromkeys(
    (
        *("title", "summary", "gist", "extracted_intent", "intent_payload"),
        *("linked_goal_id", "linked_task_id"),
    )
)


def ours(conversation: Conversation, **of_ours: Any) -> Conversation:
    """The record without what others write: what is None in a change stays as it is."""
    return replace(conversation, **_THEIRS | of_ours)


def closed(session: VoiceSession, now: datetime, how: End) -> list[Change]:
    """The end of a record that nobody runs."""
    ended = replace(session, status=how.status, end_reason=how.reason, ended_at=now, updated_at=now)
    lasted = ended.duration_ms(now)
    event = SessionEnded(
        session_id=session.id, timestamp=now, reason=how.reason, duration_ms=lasted
    )
    return [PutSession(ended), announce(event, session)]


def answered_by(session: VoiceSession, provider: OpenAIProvider) -> VoiceSession:
    """The session's record, with who answers there."""
    metadata = {**session.metadata, "provider": provider.name}
    return replace(session, model=provider.model, metadata=metadata)


class SessionRecords:
    """Turns effects into changes."""

    def __init__(
        self,
        session: VoiceSession,
        conversation: Conversation,
        *,
        workspace: str = "",
        price: Price = FREE,
        budget: Budget | None = None,
    ) -> None:
        self.session = session
        self.conversation = conversation
        self.goes_on = not session.voice
        """Does the conversation not end with the session: one that is taken over, or text?"""
        self._workspace = workspace
        self._price, self._budget = price, budget or Budget()
        self._title: str | None = None  # of our own choice
        self._called: dict[str, str] = {}  # call id → tool
        self._turns: dict[str, Entry] = {}  # the last things said, by the ids of their entries
        self._asked = set[str]()  # what the user said in this session
        self._saved = session.created_at  # when the last snapshot was taken
        self._written: datetime | None = None  # when they last changed and are not taken yet
        self.urgent = False
        """Is there more to take than what was used? Then it is stored before anything is done."""

    def write(self, effects: Sequence[fx.Effect], now: datetime, state: State) -> list[Change]:
        """The durable part of these effects, in the order in which they must be seen. The two
        records themselves are not in it: `take` gives them, once for all that share a commit."""
        changes: list[Change] = []
        for effect in effects:
            match effect:
                case fx.Tell(event=event):
                    if event.durable:
                        changes.append(announce(event, self.session))
                case fx.Account():  # others of the user's sessions, elsewhere, count with it
                    self._written = now
                case fx.Record(entry=entry, backfill=backfill):
                    if self.conversation.title is None and (title := title_from(entry)):
                        self.conversation = replace(self.conversation, title=title)
                        self._title = title
                    changes.append(PutEntry(entry, replace=not backfill))
                    self._remember(entry)
                case fx.RunTool(call_id=call_id, name=name):
                    self._called[call_id] = name
                case fx.Close(status=status, reason=reason):
                    self.session = replace(
                        self.session, status=status, end_reason=reason, ended_at=now
                    )
                    if not self.goes_on:  # seed 004 §5.8
                        self.conversation = replace(self.conversation, ended_at=now)
                    changes.append(Put(self._snapshot(now, state)))
                case _:
                    pass
        if changes and self._due(now):
            changes.append(Put(self._snapshot(now, state)))
        if changes:
            self._written, self.urgent = now, True
        return changes

    def take(self) -> list[Change]:
        """The records as they are now, those of which anything was written since the last time."""
        now, self._written = self._written, None
        more, self.urgent = self.urgent, False
        if now is None:
            return []
        self.session = replace(self.session, updated_at=now)
        if not more:  # what an answer cost is the session's alone
            return [PutSession(self.session)]
        # Once: by the next time somebody may have found a better one.
        title, self._title = self._title, None
        conversation = ours(self.conversation, updated_at=now, title=title)
        return [PutConversation(conversation), PutSession(self.session)]

    def account(self, used: Sequence[fx.Account]) -> bool:
        """Adds up what was used. Is the user's budget spent with it?"""
        for effect in used:
            usage, of = effect.usage, effect.of
            if effect.estimated and not self.session.metadata.get(ESTIMATED):
                metadata = {**self.session.metadata, ESTIMATED: True}
                self.session = replace(self.session, metadata=metadata)
            # Whoever gives the answers for nothing gives the transcripts with them.
            other = of and self._price is not FREE
            cost = cost_micros(usage, price_of(of) if other else self._price)
            self.session = replace(
                self.session,
                input_tokens=self.session.input_tokens + usage.input,
                output_tokens=self.session.output_tokens + usage.output,
                cost_micros=self.session.cost_micros + cost,
            )
            self._budget.add(usage.input + usage.output, cost)
        return self._budget.spent

    def called(
        self, call_id: str, now: datetime, seeded: Sequence[str], provider: OpenAIProvider
    ) -> None:
        """The session has a new call, with these items of ours; stored with the next change."""
        known = {"called_at": now.isoformat(), "seeded": list(seeded)}
        metadata = {**self.session.metadata, **known}
        metadata.pop("beside", None)
        self.session = answered_by(
            replace(self.session, call_id=call_id, metadata=metadata), provider
        )
        self._price = price_of(provider.model)

    def placed_beside(self, call_id: str, now: datetime, provider: OpenAIProvider) -> None:
        """A call that is to take over: after a crash nobody would watch it."""
        beside = {"call_id": call_id, "provider": provider.name}
        self.session = replace(self.session, metadata={**self.session.metadata, "beside": beside})
        self._written, self.urgent = now, True

    def _remember(self, entry: Entry) -> None:
        if entry.kind is Kind.USER:
            self._asked.add(entry.id)
        if entry.kind in (Kind.USER, Kind.ASSISTANT):
            known = self._turns.get(entry.id)
            self._turns[entry.id] = entry
            if known is None or known.ordinal != entry.ordinal:  # else it is in its place
                ordered = sorted(self._turns.values(), key=attrgetter("ordinal"))
                self._turns = {one.id: one for one in ordered[-2 * SNAPSHOT_TURNS :]}

    def _due(self, now: datetime) -> bool:
        """Is it time for another snapshot, in the middle of the talk?"""
        return bool(self._turns) and now - self._saved >= SNAPSHOT_EVERY

    def _work(self, names: Sequence[str]) -> list[dict[str, str]]:
        return [{"id": name, "tool": self._called.get(name, "task")} for name in names]

    def _snapshot(self, now: datetime, state: State) -> Snapshot:
        """Where the session stands, in one place (seed 000 §7.3)."""
        self._saved = now
        pending = sorted(state.work.open_calls | state.work.tasks)
        turns = [{"role": str(one.kind), "text": one.text} for one in self._turns.values()]
        return Snapshot(
            session_id=self.session.id,
            user_id=self.session.user_id,
            saved_at=now,
            data={
                "conversation_id": self.session.conversation_id,
                "voice": state.setup.voice,
                "working_directory": self._workspace,
                "last_turns": turns,
                "total_turns": len(self._asked),
                "active_files": list(reversed(state.work.files)),
                "pending_tasks": pending,
                "open_tasks": self._work(pending),
                "finished_tasks": self._work(state.work.finished),
                "estimated_tokens": state.clock.context_tokens,
                "summary": self.conversation.summary,
            },
        )
