"""An ACP agent as a child process: JSON lines over its pipes, and its end with all it started.

A transport for the SDK's connection. The SDK's own reads lines of any length,
logs every unreadable one with what it says, and leaves the agent's children
behind. Progress is taken out here, in the order in which it was sent: the SDK
would check it against a schema that agents are ahead of.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from vivavoce.tools.delegation.window import plain_group
from vivavoce.tools.sandbox.processes import kill_below, kill_group

MAX_LINE = 8 * 1024 * 1024
MAX_REQUESTS = 32
"""That it may have open with us at once; the next one is not read before."""
GOODBYE = 1.0
"""Seconds to end by itself once its stdin is closed, and again after SIGTERM."""
WATCH = 0.1
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""What an agent sees of our environment: no key and no token of ours is among it."""


def environment(own: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k in PASSED_ON} | dict(own)


class Pipes:
    """The SDK's `Transport`."""

    def __init__(self, process: asyncio.subprocess.Process, update: Callable[[Any], None]) -> None:
        self._process = process
        self._update = update
        self._inbox: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(16)
        self._room = asyncio.Semaphore(MAX_REQUESTS)
        self.last_words: deque[str] = deque(maxlen=20)
        """Of its stderr."""

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    async def send(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._room.release()
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await stdin.drain()

    async def receive(self) -> dict[str, Any] | None:
        while (message := await self._inbox.get()) is not None:
            match message:
                case {"method": str(), "id": _}:
                    await self._room.acquire()
                    return message
                case {"method": "session/update", "params": {"update": update}}:
                    self._update(update)
                case {"method": _}:
                    pass  # a notification that is not for us
                case _:
                    return message
        return None

    async def close(self) -> None:
        """The process is ended by whoever started it."""

    async def read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with contextlib.suppress(OSError, ValueError):  # a line without end: as if it had ended
            while line := await stdout.readline():
                with contextlib.suppress(ValueError, RecursionError):  # a banner, a print
                    message = json.loads(line)
                    if isinstance(message, dict):
                        await self._inbox.put(message)
        await _gone(self._process)  # so that its exit code can be told
        await self._inbox.put(None)

    async def listen(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        with contextlib.suppress(OSError):
            while piece := await stderr.read(4096):
                self.last_words.extend(piece.decode(errors="replace").splitlines()[-20:])

    async def watch(self) -> None:
        """What a dead agent started may hold its pipes open: their end is not waited for."""
        while self._process.returncode is None:  # noqa: ASYNC110 - `wait` is for the pipes too
            await asyncio.sleep(WATCH)
        kill_group(self._process.pid)
        await asyncio.sleep(WATCH)  # for its last words, which are in the pipe
        await self._inbox.put(None)


@asynccontextmanager
async def started(
    command: str,
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    update: Callable[[Any], None],
) -> AsyncIterator[Pipes]:
    """Raises `OSError` where it cannot be started."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        command,
        *args,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment(env),
        cwd=cwd,
        start_new_session=True,  # its own group, so that all of it can be ended
        limit=MAX_LINE,
    )
    pipes = Pipes(process, update)
    try:
        async with plain_group() as group:
            tasks = [group.create_task(do()) for do in (pipes.read, pipes.listen, pipes.watch)]
            try:
                yield pipes
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask it to go, then make it, with everything it started. Returns when it is gone."""
    family: list[psutil.Process] = []
    try:
        if process.returncode is None:
            # Those that left the group, and whom only their parent leads to.
            with contextlib.suppress(psutil.Error):
                family = await asyncio.to_thread(_below, process.pid)
            if process.stdin is not None:
                process.stdin.close()
            if not await _gone(process):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGTERM)
                await _gone(process)
    finally:
        if process.returncode is None:
            kill_below(process.pid)
        kill_group(process.pid)
        for one in family:
            with contextlib.suppress(psutil.Error):
                one.kill()  # psutil knows it from another that got its number
        await _gone(process)
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


def _below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)
