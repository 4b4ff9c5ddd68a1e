"""The column types, each the same value on SQLite and on PostgreSQL.

PostgreSQL refuses what Python allows: NUL characters, lone surrogates, numbers that JSON
cannot write. They are mended here, for every statement alike, so that a comparison in a
query meets what was written. Nor is a secret written: what people and tools say, `Said` and
`Document`, goes through `redaction` on its way. `bind_processor` rather than
`process_bind_param` where it saves a call for every value written. Migrations use these types
too: change their meaning and you change old migrations.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson
from sqlalchemy import CHAR, JSON, BigInteger, DateTime, Dialect, Integer, Text, Uuid
from sqlalchemy.types import TypeDecorator, TypeEngine

from vivavoce.language.en.numbers import redact_encoded, redact_lines, redact_said, suspicious
from vivavoce.redaction import redacted

T = TypeVar("T")
Bind = Callable[[T | None], Any]

# As Python writes it: nearly every id that comes here, and no need to take it apart.
_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def storable_text(text: str) -> str:
    """NUL goes; halves of a surrogate pair are joined, a lone one becomes U+FFFD."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half pairs come from JSON that was cut or decoded piecewise.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


def storable_json(value: Any) -> Any:
    """The value as JSON can hold it: a copy, with storable text and finite numbers."""
    match value:
        case str():
            return storable_text(value)
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {storable_text(str(key)): storable_json(item) for key, item in value.items()}
        case list() | tuple():
            return [storable_json(item) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} has no place in JSON")


class NotUuid(ValueError):
    """Nothing that is named by UUIDs has this name."""


def canonical_uuid(text: str) -> str:
    """One spelling for one UUID."""
    if _CANONICAL.fullmatch(text):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise NotUuid("not a UUID") from None


# SQLite's rowid is the key itself only when the type says exactly INTEGER.
Position = BigInteger().with_variant(Integer(), "sqlite")


class Words(TypeDecorator[str]):
    """Text that any database takes."""

    impl = Text
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Bind[str]:
        def process(value: str | None) -> str | None:
            if value is None or (value.isascii() and "\0" not in value):
                return value  # nearly always
            return storable_text(value)

        return process


class Said(Words):
    """What people, models and tools say: text without the secrets in it."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Bind[str]:
        def process(value: str | None) -> str | None:
            return None if value is None else storable_text(redact_said(value))

        return process


class Encoded(Words):
    """JSON as it was encoded, byte for byte, unless there is a secret in it."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Bind[str]:
        def process(value: str | None) -> str | None:
            return None if value is None else storable_text(redact_encoded(value))

        return process


class Id(TypeDecorator[str]):
    """A UUID, native where there is one, in one spelling."""

    impl = CHAR
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(Uuid(as_uuid=False))
        return dialect.type_descriptor(CHAR(36))

    def bind_processor(self, dialect: Dialect) -> Bind[str]:
        def process(value: str | None) -> str | None:
            return None if value is None else canonical_uuid(value)

        return process


class Utc(TypeDecorator[datetime]):
    """A moment. SQLite has no type for it: there it is text in UTC, which sorts as time does."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def bind_processor(self, dialect: Dialect) -> Bind[datetime]:
        native = dialect.name == "postgresql"

        def process(value: datetime | None) -> datetime | str | None:
            if value is None:
                return None
            if value.tzinfo is None:
                raise ValueError("a moment needs its time zone")
            value = value.astimezone(UTC)
            return value if native else value.isoformat(" ", "microseconds")[:26]

        return process

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class _Json(TypeDecorator[Any]):
    """JSONB on PostgreSQL."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import JSONB

            return dialect.type_descriptor(JSONB(none_as_null=True))
        return dialect.type_descriptor(JSON(none_as_null=True))


class Document(_Json):
    """JSON that is encoded here."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Bind[Any]:
        encode = self.impl_instance.bind_processor(dialect)
        assert encode is not None
        native = dialect.name == "postgresql"

        def process(value: Any) -> Any:
            if value is None:
                return None
            plain = None if native else _plain(value)
            return encode(storable_json(redacted(value, redact_said))) if plain is None else plain

        return process


_AS_JSON = (
    orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
) | orjson.OPT_PASSTHROUGH_SUBCLASS


def _plain(value: Any) -> str | None:
    """Encoded as it is; None where it has something that is not stored like that. One look at the
    whole takes a tenth of the time of one at each of its words."""
    try:
        text = orjson.dumps(value, option=_AS_JSON).decode()
    except (TypeError, ValueError):  # what it does not know: large integers, half a sign
        return None
    return None if "\\u0000" in text or suspicious(text) else text


class Lines(_Json):
    """Lines of JSON that came encoded, as an array: each byte for byte, unless there is a secret in
    it."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Bind[str]:
        encode = self.impl_instance.bind_processor(dialect)
        assert encode is not None
        native = dialect.name == "postgresql"

        def process(value: str | None) -> Any:
            if value is None:
                return None
            kept = f"[{redact_lines(value)}]".replace("\n", ",")
            return encode(storable_json(json.loads(kept))) if native else storable_text(kept)

        return process


# For the engine. The standard library: a model may write integers of any length.
to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
