"""How a model is told of an intent: a plain JSON Schema and a description. Pure.

No `if` and no `anyOf`: not every provider takes them. What is required only
sometimes is told in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivavoce.intents.registry.intent import Parameter

USERS_WORDS = "From the user's words: "
"""The line by which a small brain knows what it must not make up."""
ASK_FOR = "Ask for {}: "
"""And those by which it knows how to ask for it."""


def schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {one.name: _property(one) for one in parameters},
        "required": [one.name for one in parameters if one.required],
        "additionalProperties": False,
    }


def _property(one: Parameter) -> dict[str, Any]:
    told: dict[str, Any] = {"type": one.type, "description": _words(one)}
    if one.type == "array":
        items: dict[str, Any] = {"type": "string"}
        told["items"] = items | _given(enum=list(one.enum) or None, pattern=one.pattern)
        return told | _given(minItems=one.min_length, maxItems=one.max_length)
    return told | _given(
        enum=list(one.enum) or None,
        minLength=one.min_length,
        maxLength=one.max_length,
        pattern=one.pattern,
        minimum=one.minimum,
        maximum=one.maximum,
    )


def _given(**bounds: Any) -> dict[str, Any]:
    return {name: value for name, value in bounds.items() if value is not None}


def _words(one: Parameter) -> str:
    conditions = " and ".join(
        f"{name} is {' or '.join(map(_said, values))}" for name, values in one.required_when.items()
    )
    needed = f"Required if {conditions}." if conditions else ""
    words = one.description.strip()
    if words and needed and words[-1] not in ".!?":
        words += "."
    return " ".join(part for part in (words, needed) if part)


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def described(description: str, parameters: Sequence[Parameter]) -> str:
    """With what the user has to have said, for brains that hold to it."""
    items = "; ".join(
        f"{one.name} ({one.kind}{_when(one)})" for one in parameters if one.grounded and one.kind
    )
    lines = [description, *([f"{USERS_WORDS}{items}"] if items else [])]
    lines += [f'{ASK_FOR.format(one.name)}"{one.question}"' for one in parameters if one.question]
    return "\n".join(lines)


def _when(one: Parameter) -> str:
    conditions = [(name, v) for name, values in one.required_when.items() for v in values]
    if len(conditions) == 1:
        return f", if {conditions[0][0]} is {_said(conditions[0][1])}"
    return ", asked for" if one.ask else ""
