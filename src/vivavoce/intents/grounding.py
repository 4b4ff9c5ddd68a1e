"""Did the user say it? What keeps a small model from filling in what nobody said.

A value of a `grounded` parameter has to have something in common with the user's
words: a word, a number, any time where it names a time. Pure, and in doubt for the
model: refused is only what clearly nothing in the conversation could have led to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vivavoce.intents.ports import Parameter
from vivavoce.language.en.answers import accepts
from vivavoce.language.en.mentions import times_in, untimed
from vivavoce.language.en.words import STOP, content, foreign, pieces, shares
from vivavoce.wire.records.talk import Entry, Kind

_ANYTHING = frozenset(pieces("something anything stuff things thing whatever somewhat"))


def grounds(entries: Sequence[Entry]) -> str:
    """All that the user said, and what they said yes to."""
    words: list[str] = []
    asked = ""
    for entry in entries:
        if entry.kind is Kind.ASSISTANT:
            asked = entry.text
        elif entry.kind is Kind.USER:
            if asked and accepts(entry.text):
                words.append(asked)
            words.append(entry.text)
            asked = ""
    return "\n".join(words)


def ungrounded(
    parameters: Sequence[Parameter], payload: Mapping[str, Any], said: str
) -> list[Parameter]:
    """Those whose value nobody said."""
    found: list[Parameter] = []
    heard = content(said) if said.strip() else frozenset()
    for parameter in parameters:
        value = _text(payload.get(parameter.name))
        if not parameter.grounded or not value:
            continue
        others = _others(payload, parameter.name)
        timed = parameter.kind in ("time", "repeat") or bool(times_in(value))
        if _empty(parameter, value) or not _grounded(value, others, said, heard, timed=timed):
            found.append(parameter)
    return found


def _grounded(
    value: str, others: frozenset[str], said: str, heard: frozenset[str], *, timed: bool
) -> bool:
    tokens = content(value)
    if timed:
        if times_in(said):
            return True
        # "call mom tomorrow" as a time: that the user spoke of mom says nothing of tomorrow.
        tokens -= others
    return shares(tokens, heard) or foreign(said)


def _empty(parameter: Parameter, value: str) -> bool:
    """ "Remind me of something tomorrow" names nothing that could be done."""
    if parameter.kind is not None:
        return False
    left = [word for word in pieces(untimed(value)) if word not in STOP]
    return bool(left) and all(word in _ANYTHING for word in left)


def _others(payload: Mapping[str, Any], name: str) -> frozenset[str]:
    values = [_text(value) for key, value in payload.items() if key != name]
    return frozenset().union(*(content(value) for value in values if not times_in(value)))


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)
    if value is None or isinstance(value, bool | dict):
        return ""
    return str(value)
