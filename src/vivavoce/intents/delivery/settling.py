"""What an answer of the backend means for a delivery and its intent. No I/O.

Deliveries of one intent are answered in their order; an answer to an earlier one
never undoes what the user has said since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from vivavoce.intents import records as write
from vivavoce.intents.delivery.http import Delivered, Later, Refused
from vivavoce.retrying import doubling
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import Delivery, Intent, IntentStatus
from vivavoce.wire.records.talk import Change, Conversation, PutDelivery, PutIntent
from vivavoce.wire.records.work import Json

FIRST_WAIT = 2.0
LONGEST_WAIT = 900.0
GIVE_UP = timedelta(days=7)
_ID = 128
_T = TypeVar("_T")


def backoff(attempts: int, chance: float) -> float:
    """Seconds after this many attempts: twice as long each time, between a half and the whole."""
    return doubling(attempts, FIRST_WAIT, LONGEST_WAIT) * (0.5 + 0.5 * chance)


def postponed(
    delivery: Delivery, verdict: Later, intent: Intent | None, now: datetime, chance: float
) -> list[Change]:
    """Tried again later. The first time it is told; after that only how it ended is."""
    attempts = delivery.attempts + 1
    wait = max(backoff(attempts, chance), verdict.after or 0.0)
    again = replace(
        delivery,
        attempts=attempts,
        last_error=clean_line(verdict.why, write.WORDS),
        due_at=now + timedelta(seconds=wait),
        updated_at=now,
    )
    changes: list[Change] = [PutDelivery(again)]
    if attempts == 1 and intent is not None:
        words = "The backend does not answer; it is kept and tried again."
        if delivery.action != "retract":
            changes.append(write.told_submitted(intent, now))
        changes.append(write.told_error(intent, write.UNREACHED, words, now))
    return changes


def given_up(delivery: Delivery, now: datetime) -> bool:
    return now - delivery.created_at >= GIVE_UP


def delivered(
    delivery: Delivery,
    verdict: Delivered,
    intent: Intent | None,
    others: Sequence[Delivery],
    place: Conversation | None,
    now: datetime,
) -> list[Change]:
    """`others`: all deliveries of this intent; an earlier answer may have named what came of it."""
    done = _settled(delivery, "delivered", verdict.answer, None, now)
    if intent is None:
        return [done]
    answers = [verdict.answer, *(d.answer for d in reversed(others) if d.answer)]
    intent = replace(
        intent,
        goal_id=_named(answers, "goal_id") or intent.goal_id,
        task_id=_named(answers, "task_id") or intent.task_id,
        evidence=tuple(_of(delivery, "evidence", list, [])) or intent.evidence,
        updated_at=now,
    )
    if delivery.action == "retract":
        intent = replace(intent, status=IntentStatus.RETRACTED, error=None)
        return [done, *write.retracted(intent, now)]
    if _revision(delivery) < intent.revision or intent.status is IntentStatus.RETRACTED:
        return [done]  # an amendment of it is still on its way
    intent = replace(intent, status=IntentStatus.ACCEPTED, error=None)
    return [done, *write.accepted(intent, place, now, linked=False)]


def refused(
    delivery: Delivery,
    verdict: Refused,
    intent: Intent | None,
    others: Sequence[Delivery],
    now: datetime,
) -> list[Change]:
    """`others`: all deliveries of this intent, oldest first. What the backend accepted last before
    an amendment that it refuses holds; the record goes back to it."""
    words = clean_line(verdict.words, write.WORDS)
    done = _settled(delivery, "refused", verdict.answer, words, now)
    if intent is None:
        return [done]
    told = write.told_error(intent, write.INVALID, words, now)
    if delivery.action == "retract" or _revision(delivery) < intent.revision:
        return [done, told]
    held = [d for d in others if d.status == "delivered" and d.action != "retract"]
    if delivery.action == "amend" and held:
        intent = replace(
            intent,
            # Not `previous` of this one: that may have been refused itself.
            payload=_of(held[-1], "payload", dict, {}) or intent.payload,
            status=IntentStatus.ACCEPTED,
            revision=intent.revision + 1,
            error=words,
            updated_at=now,
        )
    else:
        intent = replace(intent, status=IntentStatus.FAILED, error=words, updated_at=now)
    return [done, PutIntent(intent), write.told_submitted(intent, now), told]


def _settled(
    delivery: Delivery,
    status: Literal["delivered", "refused"],
    answer: Json,
    error: str | None,
    now: datetime,
) -> PutDelivery:
    attempts = delivery.attempts + 1
    return PutDelivery(
        replace(
            delivery,
            status=status,
            attempts=attempts,
            answer=answer,
            last_error=error,
            updated_at=now,
        )
    )


def _named(answers: Sequence[Json], key: str) -> str | None:
    found = [a[key] for a in answers if isinstance(a.get(key), str | int)]
    return clean_line(str(found[0]), _ID) or None if found else None


def _of(delivery: Delivery, key: str, kind: type[_T], otherwise: _T) -> _T:
    """What its message says, if it is of that kind."""
    value = delivery.body.get(key)
    return value if isinstance(value, kind) else otherwise


def _revision(delivery: Delivery) -> int:
    return _of(delivery, "revision", int, 0)
