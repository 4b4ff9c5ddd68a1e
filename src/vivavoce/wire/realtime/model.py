"""What every model of the protocol has: strict, and an explicit null is a field not given."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Strict,
    model_validator,
)

from vivavoce.wire.realtime.refusal import TAG, wrong_value

MOST_TEXT = 256_000
_DEEPEST = 64  # what writes our events gives up at 254


class Model(BaseModel):
    """A slip of the pen must not pass in silence: a field that is not there is refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)

    nulls: ClassVar[frozenset[str]] = frozenset()
    """Fields whose null says something of its own: no turn detection, no transcription …"""
    spare: ClassVar[frozenset[str]] = frozenset()
    """Fields of the other variants of one object: clients that write all of it out have null."""

    @model_validator(mode="before")
    @classmethod
    def _given(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        known = (cls.model_fields.keys() | cls.spare) - cls.nulls
        return {name: v for name, v in raw.items() if v is not None or name not in known}


def by(field: str) -> Discriminator:
    """A union whose members are told apart by this field, each tagged `tag(value)`. What is no
    object is `tag()`."""

    def told(raw: Any) -> str | None:
        if not isinstance(raw, Mapping):
            return tag()
        kind = raw.get(field)
        return tag(kind) if isinstance(kind, str) else None

    told.__name__ = field  # named in the error, and so in the refusal
    return Discriminator(told)


def tag(value: str = "") -> str:
    return TAG + value


# --- Fields ---------------------------------------------------------------------------


def _whole(raw: Any) -> Any:
    """In JSON 500.0 is an integer."""
    return int(raw) if isinstance(raw, float) and raw.is_integer() else raw


Whole = Annotated[int, Strict(), BeforeValidator(_whole)]


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _name(raw: str) -> str:
    if not _NAME.fullmatch(raw):
        raise wrong_value("1 to 64 letters, digits, '_' or '-' are allowed.")
    return raw


FunctionName = Annotated[str, AfterValidator(_name)]


def bounded(most: int) -> AfterValidator:
    """Free-form JSON that fits in so many bytes, and is no deeper than we can write back."""

    def check(raw: Any) -> Any:
        level = [raw]
        for _ in range(_DEEPEST):
            level = [inner for value in level for inner in _inside(value)]
        if level:
            raise wrong_value(f"it is nested more than {_DEEPEST} levels deep.")
        try:
            size = len(json.dumps(raw, ensure_ascii=False, allow_nan=False).encode())
        except (ValueError, TypeError):  # half a character (`\ud800`) is a ValueError too
            raise wrong_value("it is not plain JSON.") from None
        if size > most:
            raise wrong_value(f"it has {size} bytes; at most {most} are allowed.")
        return raw

    return AfterValidator(check)


def _inside(value: Any) -> Collection[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
