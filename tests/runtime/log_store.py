"""A log in memory whose commits and reads a test can hold up, fail or do behind our back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import cast

from vivavoce.runtime.ports import LogBounds, Store
from vivavoce.testing.clock import EPOCH
from vivavoce.wire.records import Announce, Change, LogEvent
from vivavoce.wire.voice_events import Notification, to_log


class LogStore:
    """The part of `Store` that the journal uses."""

    def __init__(self) -> None:
        self.log: list[LogEvent] = []
        self.given = 0
        self.reads: list[tuple[int, int | None]] = []
        self.gates: list[asyncio.Event] = []  # each commit in turn waits for one, once durable
        self.failing_reads = 0
        self._foreign = asyncio.Event()

    @property
    def port(self) -> Store:
        return cast("Store", self)

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        stored = self.append(*(c.event for c in changes if isinstance(c, Announce)))
        if self.gates:
            await self.gates.pop(0).wait()
        return stored

    def append(self, *events: LogEvent) -> list[LogEvent]:
        stored = []
        for event in events:
            self.given += 1
            stored.append(replace(event, position=self.given))
        self.log += stored
        return stored

    def append_from_another_process(self, *events: LogEvent) -> None:
        self.append(*events)
        self._foreign.set()

    def sweep_before(self, position: int) -> None:
        self.log = [event for event in self.log if event.position >= position]

    async def events(
        self,
        *,
        after: int,
        limit: int,
        user_id: str | None = None,
        session_id: str | None = None,
        upto: int | None = None,
    ) -> list[LogEvent]:
        self.reads.append((after, upto))
        await asyncio.sleep(0)
        if self.failing_reads:
            self.failing_reads -= 1
            raise OSError("the disk is away")
        return [
            event
            for event in self.log
            if event.position > after
            and (upto is None or event.position <= upto)
            and user_id in (None, event.user_id)
            and session_id in (None, event.session_id)
        ][:limit]

    async def log_bounds(self) -> LogBounds:
        await asyncio.sleep(0)
        return LogBounds(self.log[0].position if self.log else self.given + 1, self.given)

    async def foreign_commits(self) -> AsyncIterator[None]:
        while True:
            await self._foreign.wait()
            self._foreign.clear()
            yield


def note(text: str, *, session: str | None = "vs_1", user: str = "ada") -> LogEvent:
    """A small durable event."""
    event = Notification(session_id=session, timestamp=EPOCH, level="info", message=text)
    return to_log(event, user_id=user, conversation_id=None)


def say(*texts: str, session: str | None = "vs_1", user: str = "ada") -> list[Change]:
    return [Announce(note(text, session=session, user=user)) for text in texts]
