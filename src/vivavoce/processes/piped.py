"""A stranger's program that talks in lines: over its pipes, and ended with all it started.

For protocols of one JSON message a line (MCP's stdio, ACP). The SDKs' own
transports read lines of any length, write every unreadable one to the log, and
leave behind what a program started if the program itself goes quietly.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vivavoce.processes.starting import environment, hear
from vivavoce.processes.threads import plain_group
from vivavoce.processes.tree import kill_below, kill_group

if TYPE_CHECKING:
    import psutil

MARK = "VIVAVOCE_RUN"
"""In the environment of a program and of all it starts, so that they are found at its end."""
GOODBYE = 1.0
"""Seconds to end by itself once its stdin is closed, and again after SIGTERM."""
WATCH = 0.1
"""Seconds between two looks whether it is still there, and for its last words after its end."""
_WAITING = 16


class Piped:
    """Made by `piped`, and of use inside it."""

    def __init__(
        self, process: asyncio.subprocess.Process, heard: Callable[[str], None], longest: int
    ) -> None:
        self._process, self._heard, self._longest = process, heard, longest
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    async def line(self) -> bytes | None:
        """The next one; None at its end, or at a line that is too long. For one reader."""
        return await self._inbox.get()

    async def send(self, line: bytes) -> None:
        """Raises `OSError` when nobody reads any more."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        await self._process.stdin.drain()

    async def read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                await self._inbox.put(line)
        except ValueError:
            self._heard(f"sent a line longer than {self._longest} bytes")
        except OSError:
            pass
        else:
            await _gone(self._process)  # so that its exit code can be told
        await self._inbox.put(None)

    async def listen(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(OSError):
            # 200 KB a second are enough for last words.
            await hear(self._process.stderr, self._heard, pause=0.02)

    async def watch(self) -> None:
        """What a dead program started may hold its pipes open: their end is not waited for."""
        while self._process.returncode is None:  # noqa: ASYNC110 - `wait` is for the pipes too
            await asyncio.sleep(WATCH)
        kill_group(self._process.pid)
        await asyncio.sleep(WATCH)
        await self._inbox.put(None)


@asynccontextmanager
async def piped(
    command: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    heard: Callable[[str], None],
    longest: int,
) -> AsyncIterator[Piped]:
    """`heard` is told each line of its stderr; `longest` bytes may one of its stdout have.

    Raises `OSError` where it cannot be started.
    """
    mark, pipe = uuid.uuid4().hex, asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        command,
        *arguments,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment(env) | {MARK: mark},
        cwd=cwd,
        start_new_session=True,  # its own group, so that all of it can be ended
        limit=longest,
    )
    pipes = Piped(process, heard, longest)
    try:
        async with plain_group() as group:
            tasks = [group.create_task(do()) for do in (pipes.read, pipes.listen, pipes.watch)]
            try:
                yield pipes
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        await _end(process, mark)


async def _end(process: asyncio.subprocess.Process, mark: str) -> None:
    """Ask it to go, then make it, with everything it started. Returns when it is gone."""
    import psutil  # many have no such program, and none at the start

    family: list[psutil.Process] = []
    try:
        if process.returncode is None:
            with contextlib.suppress(psutil.Error):
                at = psutil.Process(process.pid)
                family = await asyncio.to_thread(at.children, recursive=True)
            if process.stdin is not None:
                process.stdin.close()
            if not await _gone(process):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGTERM)
                await _gone(process)
    finally:
        try:
            if process.returncode is None:
                kill_below(process.pid)
            kill_group(process.pid)
            await asyncio.to_thread(_kill, family, mark)
            await _gone(process)
        finally:  # whoever loses patience with us cancels this too
            transport = getattr(process, "_transport", None)
            if transport is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    transport.close()


async def _gone(process: asyncio.subprocess.Process) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE):
            while process.returncode is None:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
    return process.returncode is not None


def _kill(family: Sequence[psutil.Process], mark: str) -> None:
    """Those that left the group: by their parent, which led to them, and by the mark they keep
    when that is gone. psutil knows each from another that got its number since."""
    import psutil

    for one in family:
        with contextlib.suppress(psutil.Error):
            one.kill()
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if one.environ().get(MARK) == mark:
                one.kill()
