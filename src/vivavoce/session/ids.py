"""Ids that came by, each once, for as long as a call lasts.

A session keeps some of these for every answer and every call of a tool, and a dict takes less than
a set: with thirty of them 0.8 KiB rather than 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Ids:
    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def __contains__(self, one: str) -> bool:
        return one in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, one: str) -> None:
        self._ids[one] = None

    def update(self, others: Iterable[str]) -> None:
        self._ids.update(dict.fromkeys(others))
