"""`Flag` and `Inbox`: what they promise is what asyncio's promise."""

from __future__ import annotations

import asyncio

import pytest

from vivavoce.runtime.waiting import Flag, Inbox


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_wait_for_a_flag_go_on_even_if_it_is_cleared_at_once() -> None:
    flag, woken = Flag(), list[int]()

    async def waits(number: int) -> None:
        await flag.wait()
        woken.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(waits(number))
        await _turns()
        assert woken == []
        flag.set()
        flag.clear()
    assert woken == [0, 1, 2]
    assert not flag.is_set()


async def test_who_does_not_wait_any_more_is_not_woken_and_keeps_nobody_else_from_it() -> None:
    flag = Flag()
    async with asyncio.TaskGroup() as group:
        gone, stays = group.create_task(flag.wait()), group.create_task(flag.wait())
        await _turns()
        gone.cancel()
        await _turns()
        flag.set()
    assert gone.cancelled()
    assert stays.done()


async def test_an_inbox_keeps_the_order_and_makes_who_is_too_fast_wait() -> None:
    inbox, put = Inbox[int](2), list[int]()

    async def writes() -> None:
        for number in range(5):
            await inbox.put(number)
            put.append(number)

    async with asyncio.TaskGroup() as group:
        group.create_task(writes())
        await _turns()
        assert put == [0, 1]
        assert [await inbox.get() for _ in range(5)] == [0, 1, 2, 3, 4]
    assert inbox.empty()
    with pytest.raises(IndexError):
        inbox.get_nowait()


async def test_who_reads_an_empty_inbox_waits_for_what_comes() -> None:
    inbox = Inbox[str](2)
    async with asyncio.TaskGroup() as group:
        reads = group.create_task(inbox.get())
        await _turns()
        assert not reads.done()
        await inbox.put("here")
    assert reads.result() == "here"
