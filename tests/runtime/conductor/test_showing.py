"""Runtimes are shown the document of their conversation, whatever comes at once or goes away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import jsonpatch
import pytest

from tests.contract.records import approval, conversation, session, task, uid
from vivavoce.errors import Unavailable
from vivavoce.runtime.conductor.line import Line
from vivavoce.runtime.conductor.link import Link
from vivavoce.runtime.conductor.showing import MOST_WAITING, Screens
from vivavoce.runtime.journal.log import Journal
from vivavoce.testing.fakes import EPOCH, ManualClock, MemoryStore
from vivavoce.wire.conductor.cards.board import MOST_CLOSED
from vivavoce.wire.events import (
    ApprovalRequested,
    Notification,
    TaskCompleted,
    TaskDelegated,
    VoiceEvent,
    to_log,
)
from vivavoce.wire.records.talk import Announce, LogEvent, Put, PutConversation, PutSession
from vivavoce.wire.records.work import Role


class Hall:
    """A journal and the runtimes of one user."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clock = ManualClock(auto=True)
        self.journal = Journal(store, self.clock)
        self.screens = Screens(store, self.journal, self.clock)

    async def happens(self, *events: VoiceEvent, of: str = "c") -> None:
        told = [to_log(one, user_id="ann", conversation_id=uid(of)) for one in events]
        await self.journal.commit([Announce(one) for one in told])

    @asynccontextmanager
    async def runtime(
        self, of: str = "c", *, whole: bool = True, role: Role = "operator"
    ) -> AsyncIterator[Drawn]:
        async def confirmed(*given: object) -> bool:
            raise AssertionError(given)

        link = Link(
            "ann", uid(of), role, store=self.store, confirmed=confirmed, gone=lambda *_: None
        )
        line = link.line = Line()
        async with asyncio.TaskGroup() as group:
            drawn = Drawn(line)
            tasks = [
                group.create_task(drawn.read()),
                group.create_task(self.screens.show(link, line, whole=whole)),
            ]
            yield drawn
            for task in tasks:
                task.cancel()


class Drawn:
    def __init__(self, line: Line) -> None:
        self._line = line
        self.document: Any = {"cards": []}
        self.patches: list[Any] = []
        self._changed = asyncio.Event()

    async def read(self) -> None:
        while (text := await self._line.next()) is not None:
            patch = json.loads(json.loads(text)["kind"]["assistantUIPatch"]["patch"])
            self.patches.append(patch)
            operations = patch if isinstance(patch, list) else [patch]
            self.document = jsonpatch.apply_patch(self.document, operations)
            self._changed.set()

    @property
    def cards(self) -> list[str]:
        return [card["id"] for card in self.document["cards"]]

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not done():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def opened() -> AsyncIterator[Hall]:
    store = MemoryStore()
    await store.open()
    hall = Hall(store)
    for name in ("c", "d"):
        talk = PutConversation(conversation(name))
        await hall.journal.commit([talk, PutSession(session(f"vs_{name}", name))])
    yield hall
    await store.close()


def delegated(task_id: str, of: str = "c") -> TaskDelegated:
    return TaskDelegated(
        session_id=f"vs_{of}", timestamp=EPOCH, task_id=task_id, title="A", agent="a", backend="b"
    )


def completed(task_id: str, of: str = "c") -> TaskCompleted:
    return TaskCompleted(
        session_id=f"vs_{of}",
        timestamp=EPOCH,
        task_id=task_id,
        title="A",
        summary="Done.",
        files_changed=[],
        duration_ms=1,
    )


def requested(approval_id: str) -> ApprovalRequested:
    return ApprovalRequested(
        session_id="vs_c",
        timestamp=EPOCH,
        approval_id=approval_id,
        tool_name="bash",
        question="May I?",
        arguments={},
        expires_at=EPOCH,
    )


def word(number: int) -> Notification:
    return Notification(session_id="vs_c", timestamp=EPOCH, level="info", message=str(number))


async def test_what_was_before_comes_as_a_whole_and_what_follows_as_changes() -> None:
    async with opened() as hall:
        await hall.happens(delegated("t1"))
        async with hall.runtime() as one:
            await one.until(lambda: bool(one.patches))
            assert one.patches == [{"op": "replace", "path": "", "value": one.document}]
            await hall.happens(delegated("t2"))
            await one.until(lambda: one.cards == ["task:t2", "task:t1"])
            assert one.patches[1]["path"] == "/cards/0"
        async with hall.runtime() as again:
            await again.until(lambda: again.document == one.document)


async def test_a_new_conversation_begins_with_nothing() -> None:
    async with opened() as hall, hall.runtime(whole=False) as one:
        # The first word may come before the log was read.
        await hall.happens(delegated("t1"))
        await one.until(lambda: bool(one.cards))
        assert one.patches[0]["op"] == "add"


async def test_runtimes_of_one_user_show_their_own_and_what_ends_elsewhere() -> None:
    async with opened() as hall:
        async with hall.runtime("c") as one, hall.runtime("d") as other:
            await one.until(lambda: bool(one.patches))
            await other.until(lambda: bool(other.patches))
            await hall.happens(delegated("t1"), word(1))
            await hall.happens(delegated("t2", "d"), of="d")
            await one.until(lambda: "task:t1" in one.cards)
            await other.until(lambda: other.cards == ["task:t2"])
            await hall.happens(completed("t1", "d"), of="d")  # told where the user is now
            await one.until(lambda: one.document["cards"][-1].get("status") == "completed")
            assert other.cards == ["task:t2"]
            await hall.happens(requested("apr_1"))
            for drawn in (one, other):
                await drawn.until(lambda drawn=drawn: "approval:apr_1" in drawn.cards)  # type: ignore[misc]
        async with hall.runtime("c") as again:
            await again.until(lambda: again.document == one.document)


async def test_what_a_higher_role_is_asked_or_does_is_not_shown_to_a_lesser_one() -> None:
    async with opened() as hall:
        for role, name in (("operator", "high"), ("user", "low")):
            asked = approval(name, role=role, user_id="ann")
            await hall.journal.commit([Put(asked), Put(task(f"t_{name}", role=role))])
        await hall.happens(requested("high"), delegated("t_high"))
        async with hall.runtime(role="user") as lesser, hall.runtime() as higher:
            await lesser.until(lambda: bool(lesser.patches))
            await hall.happens(requested("low"), delegated("t_low"))
            await higher.until(lambda: len(higher.cards) == 4)
            await lesser.until(lambda: lesser.cards == ["task:t_low", "approval:low"])
            await hall.happens(completed("t_high"), completed("t_low"))
            await lesser.until(lambda: "Done." in str(lesser.document))
            assert lesser.cards == ["task:t_low", "approval:low"]


async def test_whoever_cannot_keep_up_is_sent_the_whole() -> None:
    async with opened() as hall, hall.runtime() as one:
        await one.until(lambda: bool(one.patches))
        await hall.happens(*(word(n) for n in range(MOST_WAITING + 50)), delegated("t1"))
        await one.until(lambda: "task:t1" in one.cards)
        assert one.patches[-1]["path"] == ""
        assert len(one.cards) == MOST_CLOSED + 1
        await hall.happens(completed("t1"))
        await one.until(lambda: "summary" in str(one.document))


async def test_a_store_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened() as hall:
        await hall.happens(delegated("t1"))
        reads, real = 0, hall.store.last_events

        async def away(*given: Any, **more: Any) -> list[LogEvent]:
            nonlocal reads
            reads += 1
            if reads < 3:
                raise Unavailable("away")
            return await real(*given, **more)

        monkeypatch.setattr(hall.store, "last_events", away)
        async with hall.runtime() as one:
            await one.until(lambda: one.cards == ["task:t1"])
            assert hall.clock.slept[:2] == [1.0, 1.0]


async def test_nobody_is_kept_who_has_gone() -> None:
    async with opened() as hall:
        async with hall.runtime(), hall.runtime():
            await asyncio.sleep(0)
            assert hall.screens._needed()
        assert not hall.screens._needed()
