"""Values: what is below `Value` or `Record` is a frozen dataclass, without saying so.

    class Said(Value):
        role: str
        text: str

The fields of a `Record` are given by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import dataclass_transform


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Value:
    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True)
class Record:
    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
