"""What the user asked of a session: kept with its record, so that it holds for the next
call of the session, for a resume, and after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal

from vivavoce.wire.records.talk import VoiceSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asks for a session; None is as the agent says."""

    voice: str | None = None
    instructions: str | None = None
    tools_filter: tuple[str, ...] | None = None
    turn_detection: Mapping[str, Any] | Literal["agent"] | None = "agent"
    """None is manual."""
    auto_approve: bool = False
    """What would be asked is allowed; what is denied stays denied."""
    task_id: str | None = None
    """A task of the user's that the session is about, such as one from a notification."""
    text: bool = False
    """Written, not spoken: a session without a voice."""

    def to_json(self) -> dict[str, Any]:
        """Without the voice, which the session's record has."""
        return {name: value for name, value in asdict(self).items() if name != "voice"}

    @classmethod
    def from_json(cls, told: Mapping[str, Any], *, voice: str | None) -> Options:
        tools = told.get("tools_filter")
        return cls(
            voice=voice,
            instructions=told.get("instructions"),
            tools_filter=None if tools is None else tuple(tools),
            turn_detection=told.get("turn_detection", "agent"),
            auto_approve=told.get("auto_approve") is True,
            task_id=told.get("task_id"),
            text=told.get("text") is True,
        )

    def again(self, *, voice: str | None = None) -> Options:
        """For another session of the conversation: what this one was about is over."""
        return replace(self, voice=voice or self.voice, task_id=None, text=False)


def remembered(session: VoiceSession) -> Options:
    """What was asked for this session: it holds for the next call and after a restart."""
    return Options.from_json(session.metadata.get("options") or {}, voice=session.voice or None)


def began_at(session: VoiceSession) -> datetime:
    """When the talk began that this session may be the last part of: one that takes over a live
    session is no longer for it."""
    told = session.metadata.get("began_at")
    return datetime.fromisoformat(told) if isinstance(told, str) else session.created_at


def auto_approves(session: VoiceSession) -> bool:
    """Asked for with the session, or the user's preference when it began."""
    return remembered(session).auto_approve or session.metadata.get("auto_approve") is True


def remember(session: VoiceSession, wanted: Mapping[str, Any]) -> VoiceSession:
    """The session's record with what was changed while it ran."""
    options = remembered(session)
    options = replace(
        options,
        voice=wanted.get("voice", options.voice),
        instructions=wanted.get("instructions", options.instructions),
        tools_filter=(
            tuple(wanted["tools_enabled"]) if "tools_enabled" in wanted else options.tools_filter
        ),
        turn_detection=wanted.get("turn_detection", options.turn_detection),
    )
    return replace(
        session,
        voice=options.voice or session.voice,
        metadata={**session.metadata, "options": options.to_json()},
    )
