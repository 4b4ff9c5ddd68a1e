"""What the user asked of a session: kept with its record, so that it holds for the next
call of the session, for a resume, and after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any, Literal

from vivavoce.errors import Forbidden
from vivavoce.wire.records.talk import VoiceSession
from vivavoce.wire.records.work import Role, at_least
from vivavoce.wire.values import Record


class Options(Record):
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
    offered: tuple[str, ...] | None = None
    """Of a written session with a client that has tools of its own: their names, as the model
    knows them. None: there is no such client."""
    can_type: bool = False
    """The client has a place to write in beside the voice."""
    role: Role = "operator"
    """Of whoever asks: what they may not use, the session does not have."""
    context: Mapping[str, Any] | None = None
    """What the client tells of its user: `profile`, `tasks`, `goals` (`people.elsewhere`)."""

    def to_json(self) -> dict[str, Any]:
        """Without what the session's record has."""
        return {name: value for name, value in asdict(self).items() if name not in _IN_RECORD}

    def again(self, *, role: Role, voice: str | None = None) -> Options:
        """For another session of the conversation: what this one was about is over, and who asks
        for it now may have another role. What was asked for with a lesser one is not asked for
        with this."""
        again = Options(role=role) if not at_least(self.role, role) else replace(self, role=role)
        return replace(again, voice=voice or self.voice, task_id=None, text=False, offered=None)


_IN_RECORD = ("voice", "role")


def remembered(session: VoiceSession) -> Options:
    """What was asked for this session: it holds for the next call and after a restart."""
    told = session.metadata.get("options") or {}
    known = {one.name: told[one.name] for one in fields(Options) if one.name in told}
    return _options(known | {"voice": session.voice or None, "role": session.role})


def _options(told: Mapping[str, Any], before: Options | None = None) -> Options:
    if told.get("tools_filter") is not None:
        told = {**told, "tools_filter": tuple(told["tools_filter"])}
    if told.get("offered") is not None:
        told = {**told, "offered": tuple(told["offered"])}
    return replace(before or Options(), **told)


def began_at(session: VoiceSession) -> datetime:
    """When the talk began that this session may be the last part of: one that takes over a live
    session is no longer for it."""
    told = session.metadata.get("began_at")
    return datetime.fromisoformat(told) if isinstance(told, str) else session.created_at


def auto_approves(session: VoiceSession) -> bool:
    """Asked for with the session, or the user's preference when it began."""
    return remembered(session).auto_approve or session.metadata.get("auto_approve") is True


def check_steering(session: VoiceSession, role: Role) -> None:
    """Whoever writes into a live session has its tools: raises `Forbidden` where it has more than
    they may use."""
    its = session.role
    if not at_least(role, its):
        raise Forbidden(
            f"This session has the role '{its}', and you have '{role}': use the key that it was "
            "opened with.",
            role=role,
        )


def remember(session: VoiceSession, wanted: Mapping[str, Any]) -> VoiceSession:
    """The session's record with what was changed while it ran."""
    names = {"tools_enabled": "tools_filter"}
    told = {names.get(name, name): value for name, value in wanted.items()}
    options = _options(told, remembered(session))
    return replace(
        session,
        voice=options.voice or session.voice,
        metadata={**session.metadata, "options": options.to_json()},
    )
