"""Which field of a record is in which column. Knows no record by name."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

from sqlalchemy import Row

from vivavoce.errors import InvalidRequest
from vivavoce.store.clean import canonical_uuid

Fields = dict[str, Any]
R = TypeVar("R")


class Columns(Generic[R]):
    """The same name unless it says otherwise."""

    def __init__(self, kind: type[R], /, **renamed: str) -> None:
        self._make = kind
        self._fields = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        self._columns = [renamed.get(name, name) for name in self._fields]
        self._values = attrgetter(*self._fields)

    def row(self, record: R) -> Fields:
        return dict(zip(self._columns, self._values(record), strict=True))

    def record(self, row: Row[Any], **changed: Any) -> R:
        found = row._mapping
        pairs = zip(self._fields, self._columns, strict=True)
        return self._make(**{name: found[column] for name, column in pairs} | changed)


def named(text: str) -> str:
    """The one spelling of a UUID."""
    uuid = canonical_uuid(text)
    if uuid is None:
        raise InvalidRequest("Conversations, entries, goals and tasks are named by UUIDs.")
    return uuid


def named_or_none(text: str | None) -> str | None:
    return None if text is None else named(text)
