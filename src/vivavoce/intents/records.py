"""What an intent writes as it goes: its record, its events, and what the model is told. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from vivavoce.wire.clean import clean_json, clean_line
from vivavoce.wire.events import ErrorOccurred, IntentSubmitted, VoiceEvent, to_log
from vivavoce.wire.records.plans import Intent, IntentStatus, Person, Submission
from vivavoce.wire.records.talk import Announce, Change, Conversation, Put, PutConversation

WORDS = 300  # of a backend's or an error's message
_ROOM = 3_800  # characters that a model is given of a result, and a few less
INVALID = "intent_invalid"
UNREACHED = "orchestrator_error"


def _announced(event: VoiceEvent, intent: Intent) -> Announce:
    return Announce(to_log(event, user_id=intent.user_id, conversation_id=intent.conversation_id))


def told_submitted(intent: Intent, now: datetime) -> Announce:
    """As it stands now: pending, accepted or failed."""
    event = IntentSubmitted(
        session_id=intent.session_id,
        timestamp=now,
        intent_id=intent.id,
        intent=intent.route,
        goal_id=intent.goal_id,
        task_id=intent.task_id,
        payload=intent.payload,
        status=intent.status.value,
        revision=intent.revision,
        error=intent.error,
    )
    return _announced(event, intent)


def told_error(intent: Intent, code: str, message: str, now: datetime) -> Announce:
    event = ErrorOccurred(
        session_id=intent.session_id,
        timestamp=now,
        code=code,
        message=clean_line(message, WORDS),
        recoverable=True,
    )
    return _announced(event, intent)


def tells_of_an_error(changes: Iterable[Change]) -> bool:
    return any(isinstance(c, Announce) and c.event.type == ErrorOccurred.type for c in changes)


def accepted(
    intent: Intent, conversation: Conversation | None, now: datetime, *, linked: bool
) -> list[Change]:
    """`linked`: what came of it is in our own database, and the conversation points to it."""
    changes: list[Change] = [Put(intent)]
    if conversation is not None:
        latest = replace(
            conversation,
            updated_at=now,
            extracted_intent=intent.route,
            intent_payload=intent.payload,
            linked_goal_id=intent.goal_id if linked else None,
            linked_task_id=intent.task_id if linked else None,
        )
        changes.append(PutConversation(latest))
    return [*changes, told_submitted(intent, now)]


def refused(intent: Intent, message: str, code: str, now: datetime) -> list[Change]:
    """It came to nothing; the payload is kept (seed 004 §12)."""
    kept = replace(
        intent, status=IntentStatus.FAILED, error=clean_line(message, WORDS), updated_at=now
    )
    return [Put(kept), told_error(kept, code, message, now)]


def hours_of(person: Person | None) -> dict[str, str]:
    """Of the user's day, where their profile has them."""
    if person is None:
        return {}
    known = {
        "wake": person.sleep_end,
        "sleep": person.sleep_start,
        "work_start": person.work_start,
        "work_end": person.work_end,
    }
    return {name: hour for name, hour in known.items() if hour}


def submission(
    intent: Intent,
    now: datetime,
    time_zone: str,
    said: str,
    hours: Mapping[str, str] | None = None,
    **extra: Any,
) -> Submission:
    """What the orchestrator is given. `extra["name"]` is the function that was called."""
    return Submission(
        intent_id=intent.id,
        user_id=intent.user_id,
        conversation_id=intent.conversation_id,
        route=intent.route,
        payload=intent.payload,
        now=now,
        time_zone=time_zone,
        session_id=intent.session_id,
        evidence=intent.evidence,
        said=said,
        hours=dict(hours or {}),
        extra={"name": intent.name} | extra,
    )


def answer(intent: Intent, told: Mapping[str, Any] | None = None) -> str:
    """For the model, so that it can confirm in a sentence."""
    parts: dict[str, Any] = {
        "status": intent.status.value,
        "goal_id": intent.goal_id,
        "task_id": intent.task_id,
        "intent_id": intent.id,
    }
    more = clean_json(dict(told or {}), characters=_ROOM)
    parts |= {key: value for key, value in more.items() if key not in parts}
    return _written({k: v for k, v in parts.items() if v is not None})


def telling(told: Mapping[str, Any]) -> str:
    """The answer to a question."""
    return _written({"status": "told", **clean_json(dict(told), characters=2 * _ROOM)})


def _written(parts: dict[str, Any]) -> str:
    """With as many of the things as there is room for: half a JSON says nothing."""
    things = list(parts.get("things") or ())
    while len(text := orjson.dumps(parts).decode()) > _ROOM and things:
        things.pop()
        parts = {**parts, "things": things}
    return text


def same_payload(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """But for capitals and spaces."""
    return bool(_folded(one) == _folded(other))


def _folded(value: Any) -> Any:
    match value:
        case str():
            return " ".join(value.casefold().split())
        case Mapping():
            return {key: _folded(inner) for key, inner in value.items() if inner is not None}
        case list() | tuple():
            return [_folded(inner) for inner in value]
        case _:
            return value
