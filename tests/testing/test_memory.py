"""`MemoryStore`: the SQL store without a file. What a store promises is in `tests/contract`."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.records import conversation
from vivavoce.errors import Unavailable
from vivavoce.testing import MemoryStore
from vivavoce.wire.records.talk import PutConversation


async def test_what_was_written_is_there_after_reopening() -> None:
    store, written = MemoryStore(), conversation()
    await store.open()
    await store.commit([PutConversation(written)])
    await store.close()
    with pytest.raises(Unavailable):
        await store.conversation(written.id, user_id=written.user_id)
    await store.open()
    assert await store.conversation(written.id, user_id=written.user_id) == written


async def test_each_has_its_own_memory() -> None:
    one, other, written = MemoryStore(), MemoryStore(), conversation()
    await one.open()
    await other.open()
    await one.commit([PutConversation(written)])
    assert await other.conversation(written.id, user_id=written.user_id) is None


async def test_a_read_is_done_at_once_and_a_write_in_the_next_step_of_the_loop() -> None:
    store, written = MemoryStore(), conversation()
    await store.open()
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(store.commit([PutConversation(written)]))
        await asyncio.sleep(0)
        assert not writing.done()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert writing.done()
