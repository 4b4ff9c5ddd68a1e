"""Is a payload what the user said, and all of it? Pure: validation, then grounding.

A value of a `grounded` parameter has to have something in common with the user's words: a
word, a number, any time where it names a time. That keeps a small model from filling in
what nobody said; in doubt it is for the model: refused is only what clearly nothing in the
conversation could have led to. What nobody said is taken out. Where the intent does without
it, it goes on without; where it is needed, the model is told to ask (seed 004 §6.1, rules 3
and 5).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vivavoce.errors import InvalidArguments
from vivavoce.intents.registry.definition import IntentDefinition, Parameter
from vivavoce.language.en.answers import accepts
from vivavoce.language.en.mentions import times_in, untimed
from vivavoce.language.en.words import STOP, content, foreign, pieces, shares
from vivavoce.wire.clean import clean_json
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.values import Value

_ANYTHING = frozenset(pieces("something anything stuff things thing whatever somewhat"))


class Checked(Value):
    payload: dict[str, Any]
    left_out: tuple[str, ...] = ()


def checked(
    definition: IntentDefinition,
    arguments: Mapping[str, Any],
    words: str | None,
    only: Collection[str] | None = None,
) -> Checked:
    """`words`: what may have led to the values; None is not asked. `only` these are new, and have
    to be there: a correction that nobody said corrects nothing. Raises `InvalidArguments`."""
    payload = definition.check(clean_json(dict(arguments)))
    if words is None:
        return Checked(payload)
    asked = [p for p in definition.parameters if only is None or p.name in only]
    unsaid = ungrounded(asked, payload, words)
    if not unsaid:
        return Checked(payload)
    if only is not None:
        raise _not_said(definition, unsaid)
    names = tuple(parameter.name for parameter in unsaid)
    rest = {key: value for key, value in payload.items() if key not in names}
    try:
        return Checked(definition.check(rest), names)
    except InvalidArguments as fault:
        missing = fault.details.get("missing_params")
        needed = [p for p in unsaid if not missing or p.name in missing] or unsaid
        raise _not_said(definition, needed) from None


def _not_said(definition: IntentDefinition, unsaid: list[Parameter]) -> InvalidArguments:
    wanted = "; ".join(f"{p.name} ({p.description.strip().rstrip('.')})" for p in unsaid)
    return InvalidArguments(
        f"The user has not said this yet: {wanted[:400]}. Ask for it in one question, and wait "
        "for the answer",
        tool=definition.name,
        missing_params=[p.name for p in unsaid],
    )


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
        texts = [_text(text) for key, text in payload.items() if key != parameter.name]
        others = frozenset().union(*(content(text) for text in texts if not times_in(text)))
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


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)
    if value is None or isinstance(value, bool | dict):
        return ""
    return str(value)
