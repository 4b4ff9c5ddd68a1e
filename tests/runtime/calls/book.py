"""The executor's two neighbours in one small fake: what was committed, in order, and read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from vivavoce.errors import RateLimited, Unavailable
from vivavoce.runtime.limits import Window
from vivavoce.testing.fakes import ManualClock
from vivavoce.wire.records.talk import (
    Announce,
    CallStatus,
    Change,
    Entry,
    LogEvent,
    Put,
    PutEntry,
    ToolCall,
)


class Book:
    """Fills the executor's `Calls` and `Journal`. `broken` makes every commit fail, or so many."""

    def __init__(self) -> None:
        self.commits: list[list[Change]] = []
        self.calls: dict[tuple[str, str], ToolCall] = {}
        self.entries: dict[str, Entry] = {}
        self.broken: bool | int = False

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        if self.broken:
            if self.broken is not True:
                self.broken -= 1
            raise Unavailable("The store cannot be reached.")
        self.commits.append(list(changes))
        for change in changes:
            match change:
                case Put(ToolCall() as call):
                    self.calls[call.user_id, call.id] = call
                case PutEntry(entry):
                    self.entries[entry.id] = entry
                case _:
                    pass
        return [change.event for change in changes if isinstance(change, Announce)]

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None:
        return self.calls.get((user_id, call_id))

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        return [
            call
            for call in self.calls.values()
            if call.session_id == session_id and call.status is CallStatus.STARTED
        ]

    @property
    def events(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [
            (change.event.type, orjson.loads(change.event.data))
            for changes in self.commits
            for change in changes
            if isinstance(change, Announce)
        ]

    @property
    def types(self) -> list[str]:
        return [kind for kind, _ in self.events]


class Few(Window):
    """A limiter that allows so many, and remembers who asked."""

    def __init__(self, limit: int = 1000) -> None:
        super().__init__(limit, 60, clock=ManualClock())
        self.keys: list[str] = []

    def check(self, key: str, *, counts: bool = True) -> None:
        if len(self.keys) >= self.limit:
            raise RateLimited("Too many tool calls", retry_after_ms=1000)
        self.keys.append(key)
