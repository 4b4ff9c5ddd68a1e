"""The same request once more, or a new one? Pure.

A model that repeats itself doubles nothing; a user who asks again means it. In
between is a user who only speaks of it again: then it is the same where it would
come to what is there already, which who acts on it has to say (`Acting.holds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from vivavoce.intents import records as write
from vivavoce.intents.scene import Scene
from vivavoce.language.en.words import content, shares
from vivavoce.wire.records.plans import Intent, IntentStatus, Todo
from vivavoce.wire.records.talk import Kind

AGAIN = timedelta(hours=1)
"""The same words within this time may mean the same; tomorrow's "tomorrow" is another day."""
REPEATED = timedelta(minutes=2)
"""Said once more so soon, it is a confirmation; and "in ten minutes" is still the same time."""


def alike(fresh: Intent, payload: Mapping[str, Any], intents: Iterable[Intent]) -> Intent | None:
    """One that said the same a moment ago and was not undone since; the newest."""
    for intent in intents:
        held = intent.status in (IntentStatus.ACCEPTED, IntentStatus.PENDING)
        recent = fresh.created_at - intent.updated_at < AGAIN
        same = intent.route == fresh.route and write.same_payload(intent.payload, payload)
        if held and recent and same:
            return intent
    return None


def asked(known: Intent, scene: Scene) -> bool:
    """Has the user spoken of it again, since anything was last submitted? After another one about
    the same thing ("back to Friday") whatever they said counts."""
    times = [i.updated_at for i in scene.intents if i.status is not IntentStatus.FAILED]
    said = [e.text for e in scene.after(max(times, default=None)) if e.kind is Kind.USER]
    if not said or any(_touches(other, known) for other in scene.intents):
        return bool(said)
    meant = frozenset().union(*(content(str(value)) for value in known.payload.values()))
    return any(shares(content(text), meant) for text in said)


def _touches(other: Intent, known: Intent) -> bool:
    if other.id == known.id or other.route != known.route:
        return False
    later = other.updated_at > known.updated_at and other.status is not IntentStatus.FAILED
    return later and bool(_things(other) & _things(known))


def _things(intent: Intent) -> frozenset[str]:
    named = (intent.task_id, intent.goal_id, intent.payload.get("task_id"))
    return frozenset(one for one in named if isinstance(one, str))


def same_task(there: Todo, meant: Todo, known: Intent) -> bool:
    """Would this change nothing but a moment? A recurring one is by its rule, whichever time of it
    comes next."""
    if not there.status.open or there.location_trigger != meant.location_trigger:
        return False
    if there.recurrence_rule and there.intent_id == known.id:
        return there.recurrence_rule == meant.recurrence_rule
    if there.scheduled_at is None or meant.scheduled_at is None:
        return there.scheduled_at is meant.scheduled_at
    return abs(there.scheduled_at - meant.scheduled_at) < REPEATED
