"""What a handler of the built-in orchestrator is, and the few things all of them do.

A handler turns one route's payloads into changes; it reads the store and writes
nothing. Its ids come from the intent's id, so that a repeat is the same row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import time
from typing import Any

from vivavoce.errors import IntentRefused
from vivavoce.intents.ports import Orchestrator
from vivavoce.language.en.resolving import Profile
from vivavoce.runtime.people.things import summary
from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.clean import clean_line
from vivavoce.wire.hints import Thing
from vivavoce.wire.records.plans import Submission

MOST_CHARS = 2000
WHEN = "When should it be?"


HandlerFactory = Callable[[AgendaStore], Orchestrator]
"""What an entry point of the group `vivavoce.intents` names. The handler that it makes has the
methods of an `Orchestrator`, and one route."""


def text(payload: Mapping[str, Any], key: str) -> str | None:
    """A string of the payload in one line, or None where there is nothing in it."""
    value = payload.get(key)
    if not isinstance(value, str):
        return None
    return clean_line(value, MOST_CHARS) or None


def needed(payload: Mapping[str, Any], key: str, question: str) -> str:
    value = text(payload, key)
    if value is None:
        raise asking(f"{key} is missing", question, key)
    return value


def asking(
    message: str, question: str | None, *missing: str, choices: Sequence[Thing] = ()
) -> IntentRefused:
    """A refusal that the user can help with. `missing`: the parameters that are asked for."""
    question = question or WHEN
    return IntentRefused(
        message,
        suggestion=f"Ask: {question}",
        question=question,
        missing=list(missing) or None,
        choices=shown(choices) or None,
    )


def shown(things: Iterable[Thing]) -> list[dict[str, Any]]:
    """For a result: as they are now."""
    return [one.model_dump(mode="json", exclude_defaults=True) for one in things]


def told(*things: Thing, **more: Any) -> dict[str, Any]:
    """What a result says of what it is about: in resolved words, so that they can be said."""
    first = things[0]
    said = {
        "title": first.title,
        "when": first.when or None,
        "place": first.place,
        "summary": summary(first),
        **more,
        "things": shown(things),
    }
    return {name: value for name, value in said.items() if value not in (None, "")}


def day_of(given: Submission) -> Profile:
    """When the user gets up, works and goes to bed: "before bed", "after work"."""
    found = {}
    for name, hour in given.hours.items():
        with suppress(ValueError, TypeError):
            found[name] = time.fromisoformat(hour)
    names = ("wake", "sleep", "work_start", "work_end")
    return Profile(**{name: found[name] for name in names if name in found})


def gone(what: str) -> IntentRefused:
    return IntentRefused(
        f"That {what} is not there any more", suggestion="Say so, and ask what to do instead"
    )
