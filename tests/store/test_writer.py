"""Group commit: who waits, who gives up, and what a full queue does."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import Connection, event

from tests.contract.records import conversation, entry, uid
from tests.contract.records import event as happened
from tests.store.stores import opened
from vivavoce.store import checkpoints
from vivavoce.store.changes import plan
from vivavoce.store.database import parse
from vivavoce.store.migrate import prepare
from vivavoce.store.transaction import Performer
from vivavoce.store.writer import WAITING, Writer
from vivavoce.wire.records.talk import Announce, PutConversation, PutEntry


async def test_what_waits_goes_in_one_transaction(url: str) -> None:
    database = parse(url)
    await asyncio.to_thread(prepare, database)
    engine = database.writer()
    writer = Writer(engine, Performer(database.dialect, "test"))
    first, go_on, commits = asyncio.Event(), threading.Event(), 0
    loop = asyncio.get_running_loop()

    def hold(connection: Connection) -> None:
        nonlocal commits
        commits += 1
        loop.call_soon_threadsafe(first.set)
        assert go_on.wait(30)

    event.listen(engine, "commit", hold)
    announced = plan([Announce(happened())])
    async with asyncio.TaskGroup() as group:
        group.create_task(writer.commit(announced))
        await first.wait()  # it is on its way to the disk; meanwhile the others gather
        for _ in range(100):
            group.create_task(writer.commit(announced))
        await asyncio.sleep(0)
        go_on.set()
    await writer.close()
    engine.dispose()
    assert commits == 2


async def test_a_caller_that_gives_up_harms_nobody(url: str) -> None:
    async with opened(url) as store:
        await store.commit([PutConversation(conversation())])
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(store.commit([PutEntry(entry(f"e{n}"))])) for n in range(20)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
        found = {each.text for each in await store.entries(uid("c"), user_id="ann")}
    assert {f"e{n}" for n in range(1, 20, 2)} <= found


async def test_more_callers_than_the_queue_holds_are_all_served_before_closing(
    sqlite_url: str,
) -> None:
    callers = WAITING + 500
    async with opened(sqlite_url) as store, asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.commit([Announce(happened())])) for _ in range(callers)]
        await asyncio.sleep(0)
        await store.close()
    positions = sorted(task.result()[0].position for task in tasks)
    assert positions == list(range(1, callers + 1))


async def test_what_was_written_goes_into_the_file_without_a_commit_that_does_it(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "ROWS", 3)
    path = str(parse(sqlite_url).url.database)

    def in_file() -> int:
        """Without the write-ahead log."""
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as file:
            return int(file.execute("SELECT count(*) FROM events").fetchone()[0])

    async with opened(sqlite_url) as store:
        await store.commit([Announce(happened()), Announce(happened())])
        before = in_file()
        await store.commit([Announce(happened())])
        async with asyncio.timeout(10):
            while in_file() != 3:
                await asyncio.sleep(0.005)
        assert before == 0, "two rows are not worth it"
        await store.commit([Announce(happened())])
        assert in_file() == 3
