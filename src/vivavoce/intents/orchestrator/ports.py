"""What a handler of the built-in orchestrator is, and the few things all of them do.

A handler turns one route's payloads into changes; it reads the store and writes
nothing. Its ids come from the intent's id, so that a repeat is the same row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vivavoce.errors import IntentRefused
from vivavoce.intents.ports import Orchestrator
from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.clean import clean_line

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
        raise IntentRefused(f"{key} is missing", suggestion=f"Ask: {question}")
    return value


def gone(what: str) -> IntentRefused:
    return IntentRefused(
        f"That {what} is not there any more", suggestion="Say so, and ask what to do instead"
    )
