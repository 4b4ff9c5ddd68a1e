"""What requests and answers are made of.

A `View` is read off a record by its attributes; where their names differ, the
field names the record's as its `validation_alias`. Examples are in `examples.json`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from vivavoce.wire.records.talk import iso


def _text(value: object) -> object:
    # Pydantic would take any number for seconds since 1970.
    if not isinstance(value, str) or "-" not in value[1:]:
        raise ValueError("should be ISO 8601, such as 2026-01-31T14:30:22Z")
    return value


def _utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("is not a date that UTC has") from None


def _number(value: object) -> object:
    # Pydantic would take `true` and `"5"` too, which JSON Schema does not.
    if isinstance(value, bool | str):
        raise ValueError("should be a number")
    return value


_DATE_TIME = WithJsonSchema({"type": "string", "format": "date-time"})
Moment = Annotated[datetime, BeforeValidator(_text), AfterValidator(_utc), _DATE_TIME]
Timestamp = Annotated[datetime, PlainSerializer(iso, return_type=str), _DATE_TIME]
NUMBER = BeforeValidator(_number)
"""Last in an `Annotated`, or the bounds before it are missing from the schema."""
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]
SessionStatus = Literal["active", "completed", "cancelled", "error"]
EntryType = Literal["user", "assistant", "tool_call", "tool_result", "system"]


def _something(value: object) -> object:
    return value or None


SomeText = Annotated[str | None, BeforeValidator(_something)]
"""Null where a record has an empty text."""


def data_file(name: str) -> bytes:
    """One that lies beside the schemas."""
    return (Path(__file__).parent / name).read_bytes()


@cache
def _examples() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(data_file("examples.json"))
    return found


def _with_example(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Read only when somebody asks for the API's description."""
    if example := _examples().get(model.__name__):
        schema["examples"] = [example]


class View(BaseModel):
    """What a client is shown."""

    model_config = ConfigDict(
        from_attributes=True,
        validate_by_name=True,
        defer_build=True,
        json_schema_extra=_with_example,
    )

    @classmethod
    def of(cls, record: object, /, **more: Any) -> Self:
        """Of a record, and what it does not know itself."""
        if not more:
            return cls.model_validate(record)
        known = {name: getattr(record, name) for name in cls.model_fields if hasattr(record, name)}
        return cls.model_validate(known | more)


class Request(BaseModel):
    """What a client sends: a field that we do not know is told, not ignored."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_with_example)
