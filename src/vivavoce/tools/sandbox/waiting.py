"""Waiting on the event loop for a pipe to have something, and for a process to end.

Both can be cancelled at any moment and leave nothing registered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess

_POLL = 0.01


async def readable(fd: int) -> None:
    """Until there is something to read, or its end."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def now() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, now)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


class Exit:
    """The end of a process, without a thread: by a descriptor where the system has one."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._fd: int | None = None
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # an old kernel
                self._fd = os.pidfd_open(process.pid)

    async def wait(self) -> None:
        while self._process.poll() is None:
            if self._fd is not None:
                await readable(self._fd)
            else:
                await asyncio.sleep(_POLL)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
