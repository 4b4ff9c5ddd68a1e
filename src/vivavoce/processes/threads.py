"""Plain functions off the event loop, in threads that never hold up the end; and task groups
that raise what their body does.

The pools of the standard library are joined when the process ends, so one
stuck tool would keep Ctrl-C waiting. These threads are daemons, and few.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from vivavoce.errors import Unavailable

MAX_THREADS = 32


class Threads:
    """Runs plain functions, at most `limit` at once; one that is stuck keeps its place."""

    def __init__(self, limit: int = MAX_THREADS) -> None:
        self._free = threading.BoundedSemaphore(limit)

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """What the function returns or raises; `Unavailable` when all places are taken.

        A thread cannot be stopped: one whose caller gave up runs on, and nobody
        hears of it.
        """
        if not self._free.acquire(blocking=False):
            raise Unavailable("Too many tools are at work", retry_after_ms=5000)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[bool, Any]] = loop.create_future()
        context = contextvars.copy_context()

        def settle(fine: bool, value: Any) -> None:
            if not answer.done():
                answer.set_result((fine, value))

        def work() -> None:
            try:
                result = (True, context.run(function, *args, **kwargs))
            except BaseException as exc:
                result = (False, exc)
            self._free.release()
            with contextlib.suppress(RuntimeError):  # the loop closed in the meantime
                loop.call_soon_threadsafe(settle, *result)

        name = getattr(function, "__name__", "function")
        threading.Thread(target=work, name=f"tool-{name}", daemon=True).start()
        fine, value = await answer
        if not fine:
            raise value
        return value


SHARED = Threads()


@contextlib.asynccontextmanager
async def plain_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Out of it the body's own exception comes as it is. The body ends the tasks it began."""
    fault: Exception | None = None
    async with asyncio.TaskGroup() as group:
        try:
            yield group
        except Exception as exc:
            fault = exc
    if fault is not None:
        raise fault
