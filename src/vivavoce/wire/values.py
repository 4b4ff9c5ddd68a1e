"""Values: what is below `Value` or `Record` is a frozen dataclass, without saying so.

    class Said(Value):
        role: str
        text: str

The fields of a `Record` are given by name.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import dataclass_transform


class _Compared:
    """What a dataclass would write, and compile, anew for each of more than a hundred classes:
    half of what they cost at the start. Every field counts."""

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True, eq=False, repr=False)
class Value(_Compared):
    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, eq=False, repr=False)
class Record(_Compared):
    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False, kw_only=True)(cls)
