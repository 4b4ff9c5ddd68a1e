"""A server whose time is told to it, as a process of its own: `python -m tests.journeys.hours`.

Its argument: settings, as JSON. It says on which port it listens. Then each number on a line of
its input is so many seconds that pass; `held` is answered in JSON with what the process holds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections import Counter

import psutil

from vivavoce.app.listen import Listener, bind, listener_config
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.store import database
from vivavoce.testing import ManualClock

database.CACHE_KIB = 1024
"""SQLite's cache of the file, a connection: as it is set, it fills for hours before it is full."""
_STEP = 1.0
_KINDS = 40
_BREATH = 0.001
"""For what is waited for outside the clock: threads and sockets."""


async def main(given: str) -> None:
    settings = Settings(_env_file=None, **json.loads(given))  # type: ignore[call-arg]
    clock, loop = ManualClock(), asyncio.get_running_loop()
    here = assemble(settings, clock=clock)
    bound = bind(settings)
    listener = Listener(listener_config(build_app(here), settings), here)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(listener._serve([bound]))
        while not listener.started and not serving.done():
            await asyncio.sleep(0.01)
        print(bound.getsockname()[1], flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            if line.strip() == "held":
                print(json.dumps(_held()), flush=True)
            else:
                await _pass(clock, float(line))
                print("{}", flush=True)
        listener.should_exit = True


async def _pass(clock: ManualClock, seconds: float) -> None:
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        await clock.advance(min(_STEP, end - clock.monotonic()))
        await asyncio.sleep(_BREATH)
    clock.slept.clear()  # what it notes for tests is no leak of the server


def _held() -> dict[str, object]:
    gc.collect()
    objects = gc.get_objects()
    kinds = Counter(type(one).__name__ for one in objects)
    return {
        "memory": psutil.Process().memory_full_info().uss,
        "tasks": len(asyncio.all_tasks()),
        "objects": len(objects),
        "kinds": dict(kinds.most_common(_KINDS)),
    }


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
