"""A thread for a model, and the line in front of it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from vivavoce.engine.speech.inference import Worker
from vivavoce.errors import EarsError, MouthError


async def test_work_is_done_off_the_loop_and_its_result_comes_back() -> None:
    worker = Worker("a worker", EarsError)
    try:
        assert await worker.run(threading.get_ident) != threading.get_ident()
    finally:
        worker.close()


async def test_what_goes_wrong_comes_out_as_the_ports_error() -> None:
    def fail() -> None:
        raise RuntimeError("inside")

    worker = Worker("a worker", MouthError)
    try:
        with pytest.raises(MouthError, match="a worker failed") as caught:
            await worker.run(fail)
        assert isinstance(caught.value.__cause__, RuntimeError)
    finally:
        worker.close()


async def test_a_full_line_refuses_and_a_cancelled_place_is_free_again() -> None:
    worker, gate, done = Worker("a worker", EarsError, line=2), threading.Event(), []
    try:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(worker.run(gate.wait))
            second = group.create_task(worker.run(lambda: done.append("second")))
            await asyncio.sleep(0)
            with pytest.raises(EarsError, match="too much"):
                await worker.run(gate.wait)
            second.cancel()
            await asyncio.wait([second])
            third = group.create_task(worker.run(lambda: done.append("third")))
            await asyncio.sleep(0)
            gate.set()
        assert first.result()
        assert third.done()
        assert done == ["third"]
    finally:
        gate.set()
        worker.close()


async def test_a_closed_worker_says_so() -> None:
    worker = Worker("a worker", EarsError)
    worker.close()
    with pytest.raises(EarsError, match="closed"):
        await worker.run(threading.get_ident)


async def test_the_lowest_rank_goes_first_and_equals_go_as_they_came() -> None:
    worker = Worker("a worker", EarsError, clock=lambda: 0.0)
    gate, done = threading.Event(), list[str]()
    try:
        async with asyncio.TaskGroup() as group:
            await _under_way(group, worker, gate.wait)
            for name, rank in (("c", 50.0), ("a", 10.0), ("d", 50.0), ("b", 20.0)):
                group.create_task(worker.run(partial(done.append, name), rank=rank))
            await asyncio.sleep(0)
            gate.set()
        assert done == ["a", "b", "c", "d"]
    finally:
        gate.set()
        worker.close()


async def test_who_waited_longer_than_its_rank_is_not_overtaken() -> None:
    now, gate, done = [0.0], threading.Event(), list[str]()
    worker = Worker("a worker", EarsError, clock=lambda: now[0])
    try:
        async with asyncio.TaskGroup() as group:
            await _under_way(group, worker, gate.wait)
            group.create_task(worker.run(partial(done.append, "patient"), rank=500.0))
            await asyncio.sleep(0)
            for second, name in ((0.4, "sooner"), (0.6, "later")):
                now[0] = second
                group.create_task(worker.run(partial(done.append, name)))
                await asyncio.sleep(0)
            gate.set()
        assert done == ["sooner", "patient", "later"]
    finally:
        gate.set()
        worker.close()


async def test_work_cancelled_under_way_is_told_to_stop_and_the_next_is_done() -> None:
    worker, gate = Worker("a worker", EarsError), threading.Event()
    try:
        async with asyncio.TaskGroup() as group:
            first = await _under_way(group, worker, gate.wait, stop=gate.set)
            second = group.create_task(worker.run(lambda: "second"))
            await asyncio.sleep(0)
            first.cancel()
            assert await second == "second"
        assert first.cancelled()
    finally:
        gate.set()
        worker.close()


async def test_what_waits_when_the_worker_closes_is_refused() -> None:
    worker, gate = Worker("a worker", EarsError), threading.Event()
    async with asyncio.TaskGroup() as group:
        first = await _under_way(group, worker, gate.wait)
        refusal = group.create_task(_refusal(worker))
        await asyncio.sleep(0)
        closing = group.create_task(asyncio.to_thread(worker.close))
        assert "closed" in await refusal  # before the work under way has ended
        gate.set()
        await closing
        assert await first


async def test_a_nice_worker_lets_others_go_first_and_only_it() -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    worker = Worker("a worker", EarsError, nice=1)
    try:
        assert await worker.run(niceness) == niceness() + (sys.platform == "linux")
    finally:
        worker.close()


async def _under_way(
    group: asyncio.TaskGroup,
    worker: Worker,
    work: Callable[[], bool],
    *,
    stop: Callable[[], None] | None = None,
) -> asyncio.Task[bool]:
    """Work that the thread has begun."""
    begun = threading.Event()

    def begin() -> bool:
        begun.set()
        return work()

    task = group.create_task(worker.run(begin, stop=stop))
    assert await asyncio.to_thread(begun.wait, 5)
    return task


async def _refusal(worker: Worker) -> str:
    with pytest.raises(EarsError) as caught:
        await worker.run(lambda: "never")
    return caught.value.message
