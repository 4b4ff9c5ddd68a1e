"""Is this event exactly one of `openai.types.realtime`?

The SDK's models take anything: unknown fields are kept, numbers become
strings. This module owns their strict copies: nothing missing, nothing
coerced, nothing unknown at any depth, but for the allowances listed here as
data. It knows no session and no order of events.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import pydantic
from openai.types.realtime import RealtimeServerEvent

Model: TypeAlias = type[pydantic.BaseModel]


class NotStrict(AssertionError):
    """The event is not what the types say, and why."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A field that the real service sends though the types lack it."""

    models: tuple[str, ...]
    """Classes of the SDK, by name."""
    field: str
    kind: Any
    reason: str


SESSIONS = ("RealtimeSessionCreateRequest", "RealtimeTranscriptionSessionCreateRequest")

DELTAS = (
    "ConversationItemInputAudioTranscriptionDeltaEvent",
    "ResponseAudioDeltaEvent",
    "ResponseAudioTranscriptDeltaEvent",
    "ResponseFunctionCallArgumentsDeltaEvent",
    "ResponseTextDeltaEvent",
)

ALLOWANCES = (
    Allowance(
        DELTAS,
        "obfuscation",
        str,
        "recorded in deltas of text: padding, so that their length does not tell what was said",
    ),
    Allowance(SESSIONS, "id", str, "recorded; the types reuse the request, which has no id yet"),
    Allowance(SESSIONS, "object", str, "recorded, beside the id"),
    Allowance(SESSIONS, "expires_at", int, "recorded, beside the id"),
)


def strict(event: Mapping[str, Any]) -> None:
    """Assert that a server event is valid to the letter."""
    kind = event.get("type")
    model = _events().get(kind) if isinstance(kind, str) else None
    if model is None:
        raise NotStrict(f"no server event has the type {kind!r}")
    try:
        model.model_validate(event)
    except pydantic.ValidationError as refusal:
        raise NotStrict(f"{kind}: {_reasons(refusal)}; it was {event!r}") from None


def known_types() -> frozenset[str]:
    """Every type of event that a server may send."""
    return frozenset(_events())


def _reasons(refusal: pydantic.ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in refusal.errors()
    )


@cache
def _events() -> dict[str, Model]:
    union, *_ = get_args(RealtimeServerEvent)
    models: list[Model] = list(get_args(union))
    return {get_args(model.model_fields["type"].annotation)[0]: _copy(model) for model in models}


@cache
def _copy(model: Model) -> Model:
    """The same fields, strict, with the allowances of this model and nothing else."""
    fields: dict[str, Any] = {
        field.alias or name: (_kind(field.annotation), ... if field.is_required() else None)
        for name, field in model.model_fields.items()
    }
    for allowed in ALLOWANCES:
        if model.__name__ in allowed.models and allowed.field not in fields:
            fields[allowed.field] = (allowed.kind | None, None)
    config = pydantic.ConfigDict(strict=True, extra="forbid", protected_namespaces=())
    return pydantic.create_model(model.__name__, __config__=config, **fields)


def _kind(annotation: Any) -> Any:
    """A type with every model in it made strict."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return _copy(annotation)
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is None or origin is Literal:
        return annotation
    if origin is Annotated:
        return _kind(inside[0])
    kinds = tuple(_kind(one) for one in inside)
    return _union(kinds) if origin in (Union, types.UnionType) else origin[kinds]


def _union(kinds: tuple[Any, ...]) -> Any:
    """Told apart by `type` where all have one, which makes refusals short; else tried in turn."""
    whole = reduce(or_, kinds)
    tags = [_tags(one) for one in kinds if one is not type(None)]
    every = [tag for some in tags for tag in some]
    if len(tags) < 2 or not all(tags) or len(set(every)) != len(every):
        return whole
    return Annotated[whole, pydantic.Field(discriminator="type")]


def _tags(kind: Any) -> tuple[str, ...]:
    """The values of `type` that mark this model; none if it is no model, or `type` is optional."""
    if not isinstance(kind, type) or not issubclass(kind, pydantic.BaseModel):
        return ()
    field = kind.model_fields.get("type")
    if field is None or not field.is_required() or get_origin(field.annotation) is not Literal:
        return ()
    return get_args(field.annotation)
