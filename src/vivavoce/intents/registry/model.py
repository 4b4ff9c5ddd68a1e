"""The Pydantic model of an intent's payload, made from its parameters, and its complaints in words.

Strict: "true" is no boolean and "3" no number. What is not in the file is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from pydantic_core import SchemaError

from vivavoce.wire.clean import clean_line

if TYPE_CHECKING:
    from vivavoce.intents.registry.intent import Parameter

LONGEST = 2_000
"""Characters of a string for which the file names no `max_length`."""
MOST_ITEMS = 50
_LARGEST = 2**63 - 1
_TOLD = 3
_LONGEST_TOLD = 600


def payload_model(name: str, parameters: Sequence[Parameter]) -> type[BaseModel]:
    """Raises `ValueError` for a pattern that is none."""
    fields: dict[str, Any] = {
        # By position and not by name: "schema" or "_x" would be in Pydantic's own way.
        f"p{at}": (
            _annotation(one) if one.required else _annotation(one) | None,
            Field(default=... if one.required else None, alias=one.name),
        )
        for at, one in enumerate(parameters)
    }
    config = ConfigDict(extra="forbid", strict=True, serialize_by_alias=True)
    try:
        return create_model(name, __config__=config, **fields)
    except SchemaError as exc:
        raise ValueError(str(exc).splitlines()[0]) from None


def _annotation(one: Parameter) -> Any:
    """Lengths, bounds and values as the file says them."""
    match one.type:
        case "string" if one.enum:
            return Literal.__getitem__(one.enum)
        case "string":
            limits = StringConstraints(
                min_length=one.min_length,
                max_length=one.max_length or LONGEST,
                pattern=one.pattern,
            )
            return Annotated[str, limits]
        case "array":
            item: Any = Literal.__getitem__(one.enum) if one.enum else _item(one)
            items = Field(min_length=one.min_length, max_length=one.max_length or MOST_ITEMS)
            return Annotated[list[item], items]
        case "boolean":
            return bool
        case "integer":
            least = -_LARGEST if one.minimum is None else one.minimum
            most = _LARGEST if one.maximum is None else one.maximum
            return Annotated[int, Field(ge=least, le=most)]
        case "number":
            bounds = Field(ge=one.minimum, le=one.maximum, allow_inf_nan=False)
            return Annotated[float, bounds]


def _item(one: Parameter) -> Any:
    limits = StringConstraints(min_length=1, max_length=LONGEST, pattern=one.pattern)
    return Annotated[str, limits]


def wrong(tool: str, exc: ValidationError) -> str:
    """What a caller has to change, in a few lines at most."""
    errors = exc.errors(include_url=False)
    lines = dict.fromkeys(_one(error) for error in errors)
    return clean_line(
        f"Nothing was submitted by tool '{tool}': {'; '.join(list(lines)[:_TOLD])}", _LONGEST_TOLD
    )


def _one(error: Any) -> str:
    where = ".".join(str(part)[:64] for part in error["loc"][:2])
    if error["type"] == "extra_forbidden":
        return f"unknown parameter '{where}'"
    return f"parameter '{where}' {_wanted(error['type'], error.get('ctx', {}), error['msg'])}"


def _wanted(kind: str, context: dict[str, Any], message: str) -> str:
    match kind:
        case "string_too_short":
            return f"must have at least {context['min_length']} characters"
        case "string_too_long":
            return f"must have at most {context['max_length']} characters"
        case "too_short":
            return f"must have at least {context['min_length']} items"
        case "too_long":
            return f"must have at most {context['max_length']} items"
        case "string_pattern_mismatch":
            return f"must match {context['pattern']}"
        case "literal_error":
            return f"must be {context['expected']}"
        case _:
            return message.replace("Input should be", "must be")[:160]
