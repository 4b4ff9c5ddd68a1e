"""A thread for a model, and the line in front of it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from vivavoce.engine.inference import Worker
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
