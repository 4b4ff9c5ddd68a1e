"""Is a payload what the user said, and all of it? Pure: validation, then grounding.

What nobody said is taken out. Where the intent does without it, it goes on without;
where it is needed, the model is told to ask (seed 004 §6.1, rules 3 and 5).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from vivavoce.errors import InvalidArguments
from vivavoce.intents.grounding import ungrounded
from vivavoce.intents.ports import Definition, Parameter
from vivavoce.wire.clean import clean_json


@dataclass(frozen=True, slots=True)
class Checked:
    payload: dict[str, Any]
    left_out: tuple[str, ...] = ()


def checked(
    definition: Definition,
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


def _not_said(definition: Definition, unsaid: list[Parameter]) -> InvalidArguments:
    wanted = "; ".join(f"{p.name} ({p.description.strip().rstrip('.')})" for p in unsaid)
    return InvalidArguments(
        f"The user has not said this yet: {wanted[:400]}. Ask for it in one question, and wait "
        "for the answer",
        tool=definition.name,
        missing_params=[p.name for p in unsaid],
    )
