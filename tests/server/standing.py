"""A whole server in a thread of its own, for tests that are not async themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.journeys.stage import Stage, stage

Made = TypeVar("Made")


@dataclass
class Standing:
    """The stage, and how to do something on its loop."""

    stage: Stage
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return self.stage.url

    def do(self, work: Callable[[Stage], Awaitable[Made]]) -> Made:
        async def run() -> Made:
            return await work(self.stage)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(30)


@contextmanager
def standing(folder: Path, **settings: Any) -> Iterator[Standing]:
    """Up, and down again in order; what goes wrong in the thread is raised here."""
    up, down = threading.Event(), threading.Event()
    made: list[Standing] = []
    wrong: list[BaseException] = []

    async def serve() -> None:
        async with stage(folder, **settings) as set_up:
            made.append(Standing(set_up, asyncio.get_running_loop()))
            up.set()
            await asyncio.to_thread(down.wait)

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as exc:  # for the thread that waits
            wrong.append(exc)
        finally:
            up.set()

    thread = threading.Thread(target=run, name="standing server", daemon=True)
    thread.start()
    try:
        assert up.wait(30), "the server did not start"
        if wrong:
            raise wrong[0]
        yield made[0]
    finally:
        down.set()
        thread.join(30)
    if wrong:
        raise wrong[0]
