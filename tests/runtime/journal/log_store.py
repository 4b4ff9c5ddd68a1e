"""A store in memory whose commits and reads a test can hold up, fail or do behind our back."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from vivavoce.runtime.ports import Retention
from vivavoce.testing.fakes import EPOCH, MemoryStore
from vivavoce.wire.events import Notification, to_log
from vivavoce.wire.records.talk import Announce, Change, LogEvent

_seconds = itertools.count()


class LogStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.given = 0
        self.reads: list[tuple[int, int | None]] = []
        self.gates: list[asyncio.Event] = []  # each commit in turn waits for one, once durable
        self.failing_reads = 0
        self._foreign = asyncio.Event()

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        stored = await super().commit(changes)
        self.given += len(stored)
        if self.gates:
            await self.gates.pop(0).wait()
        return stored

    async def foreign(self, *events: LogEvent, wake: bool = False) -> None:
        """Another process commits; without `wake`, nobody has been told yet."""
        stored = await super().commit([Announce(event) for event in events])
        self.given += len(stored)
        if wake:
            self._foreign.set()

    async def sweep_before(self, position: int) -> None:
        kept = await super().events(after=position - 1, limit=1)
        oldest = kept[0].at if kept else EPOCH + timedelta(days=999)
        await self.sweep(Retention(log=0), oldest)

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
        return await super().events(
            after=after, limit=limit, user_id=user_id, session_id=session_id, upto=upto
        )

    async def foreign_commits(self) -> AsyncIterator[None]:
        while True:
            await self._foreign.wait()
            self._foreign.clear()
            yield


def note(text: str, *, session: str | None = "vs_1", user: str = "ada") -> LogEvent:
    """A small durable event, a second after the one before."""
    at = EPOCH + timedelta(seconds=next(_seconds))
    event = Notification(session_id=session, timestamp=at, level="info", message=text)
    return to_log(event, user_id=user, conversation_id=None)


def say(*texts: str, session: str | None = "vs_1", user: str = "ada") -> list[Change]:
    return [Announce(note(text, session=session, user=user)) for text in texts]
