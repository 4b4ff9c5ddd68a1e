"""Child processes: kept alive while they are wanted, and gone afterwards."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import psutil
import pytest

from vivavoce.errors import Unavailable
from vivavoce.processes.supervised import CAN_PAUSE, Child

ECHO = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"
FOLLOWER = (
    "from vivavoce.processes.supervised import follow_parent\n"
    "import time\n"
    "follow_parent()\n"
    "print('here', flush=True)\n"
    "time.sleep(600)"
)
DEAF = "import time\nprint('here', flush=True)\ntime.sleep(600)"
PARENT = f"""
import asyncio, sys
from vivavoce.processes.supervised import Child

async def started(process):
    print((await process.stdout.readline()).decode().strip(), process.pid, flush=True)

asyncio.run(Child("one", [sys.executable, "-c", {FOLLOWER!r}],
                  started=started, ended=lambda: None, talks=True).run())
"""


class Scene:
    """What a child's owner sees of it."""

    def __init__(self) -> None:
        self.processes: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
        self.ends: asyncio.Queue[None] = asyncio.Queue()

    async def started(self, process: asyncio.subprocess.Process) -> None:
        self.processes.put_nowait(process)

    def ended(self) -> None:
        self.ends.put_nowait(None)

    async def next(self) -> asyncio.subprocess.Process:
        return await asyncio.wait_for(self.processes.get(), 20)


@asynccontextmanager
async def child(
    code: str,
    scene: Scene,
    *,
    started: Callable[[asyncio.subprocess.Process], Awaitable[None]] | None = None,
    nice: int = 0,
    talks: bool = True,
) -> AsyncIterator[Child]:
    one = Child(
        "one",
        (sys.executable, "-c", code),
        started=started or scene.started,
        ended=scene.ended,
        nice=nice,
        talks=talks,
        environment={"VIVAVOCE_COLOUR": "blue"},
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.run())
        try:
            yield one
        finally:
            running.cancel()


async def test_a_child_that_dies_is_started_again_and_its_owner_is_told_each_time() -> None:
    scene = Scene()
    async with child(ECHO, scene):
        first = await scene.next()
        first.kill()
        second = await scene.next()
        assert scene.ends.qsize() == 1
        assert second.pid != first.pid
        assert second.stdin is not None
        assert second.stdout is not None
        second.stdin.write(b"are you there\n")
        assert await second.stdout.readline() == b"are you there\n"
    assert scene.ends.qsize() == 2
    assert not psutil.pid_exists(second.pid)


async def test_a_child_that_does_not_go_when_asked_is_made_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Child, "goodbye", 0.05)
    scene = Scene()
    async with child(DEAF, scene):
        process = await scene.next()
    assert process.returncode == -signal.SIGKILL
    assert not psutil.pid_exists(process.pid)


async def test_an_owner_that_cannot_use_it_has_it_ended_and_started_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene, refused = Scene(), list[int]()

    async def started(process: asyncio.subprocess.Process) -> None:
        if not refused:
            refused.append(process.pid)
            raise Unavailable("Not this one.")
        await scene.started(process)

    async with child(ECHO, scene, started=started):
        assert (await scene.next()).pid != refused[0]
        assert not psutil.pid_exists(refused[0])
    assert "Not this one" in caplog.text


async def test_an_owner_that_talks_for_long_is_told_when_the_other_side_is_gone() -> None:
    scene, cancelled = Scene(), asyncio.Event()

    async def started(process: asyncio.subprocess.Process) -> None:
        await scene.started(process)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with child(ECHO, scene, started=started):
        (await scene.next()).kill()
        await asyncio.wait_for(cancelled.wait(), 20)


async def test_what_cannot_be_started_is_tried_again_until_nobody_wants_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    one = Child("one", ("/nowhere/at/all",), started=scene.started, ended=scene.ended)
    async with asyncio.TaskGroup() as group:
        trying = group.create_task(one.run())
        assert await _until(lambda: caplog.text.count("cannot be started") >= 2)
        trying.cancel()
    assert scene.ends.empty()


async def test_a_child_sees_no_secret_and_is_as_nice_as_it_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("VIVAVOCE_AUTH_TOKEN", "also secret")
    scene = Scene()
    code = "import os, sys\nsys.stdin.readline()\nprint(sorted(os.environ), os.nice(0), flush=True)"
    async with child(code, scene, nice=3):
        process = await scene.next()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        told = (await process.stdout.readline()).decode()
    assert "KEY" not in told
    assert "TOKEN" not in told
    assert "VIVAVOCE_COLOUR" in told
    assert told.rstrip().endswith(f"] {os.nice(0) + 3}")


async def test_what_it_prints_goes_to_the_log_and_its_last_words_with_the_news_of_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "vivavoce.processes.supervised")
    scene = Scene()
    code = "import sys\nprint('x' * 200_000, flush=True)\nsys.exit('too old for this')"
    async with child(code, scene, talks=False):
        await scene.next()
        await asyncio.wait_for(scene.ends.get(), 20)
        await scene.next()
    told = next(record for record in caplog.records if record.levelno == logging.WARNING)
    assert "status 1" in told.getMessage()
    assert "too old for this" in vars(told)["output"]
    assert max(len(vars(record).get("output", "")) for record in caplog.records) <= 20 * 1001


async def test_what_a_child_lacks_is_told_in_plain_sight(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    code = "raise ImportError('libgomp.so.1: cannot open shared object file')"
    async with child(code, scene, talks=False):
        await scene.next()
        await asyncio.wait_for(scene.ends.get(), 20)
        await scene.next()
    told = next(record for record in caplog.records if record.levelno == logging.WARNING)
    assert "ImportError: libgomp.so.1: cannot open shared object file" in told.getMessage()


async def test_a_child_stands_still_and_goes_on_and_ends_even_so() -> None:
    scene = Scene()
    async with child(FOLLOWER, scene) as one:
        process = await scene.next()
        assert process.stdout is not None
        await process.stdout.readline()
        seen = psutil.Process(process.pid)
        one.pause()
        # Elsewhere a child that stood still would outlive us, and so nobody is stopped.
        assert not CAN_PAUSE or await _until(lambda: seen.status() == psutil.STATUS_STOPPED)
        one.resume()
        assert await _until(lambda: seen.status() != psutil.STATUS_STOPPED)
        one.pause()
    assert not psutil.pid_exists(process.pid)


async def _until(condition: Callable[[], bool]) -> bool:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)
    return True


def test_nothing_is_left_of_it_when_we_are_killed_outright_even_if_it_stood_still() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        word, pid = parent.stdout.readline().split()
        assert word == b"here"
        orphan = psutil.Process(int(pid))
        if CAN_PAUSE:
            orphan.suspend()
        parent.kill()
    assert not psutil.wait_procs([orphan], timeout=20)[1]
