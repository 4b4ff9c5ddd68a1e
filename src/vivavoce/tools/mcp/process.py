"""A server as a child process: JSON lines over its pipes, and its end with all it started.

Our own rather than the SDK's: theirs reads lines of any length, writes every
unreadable one to the log, and leaves what a server started behind if the
server itself goes quietly.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import psutil
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from vivavoce.runtime.agents.mcp_ports import McpServer
from vivavoce.tools.mcp.sieve import Flooded, Pace

MARK = "VIVAVOCE_MCP_RUN"
"""In the environment of a server and of all it starts, so that they are found at its end."""
MAX_LINE = 4 * 1024 * 1024
GOODBYE = 1.0
"""Seconds to end by itself once its stdin is closed, and again after SIGTERM."""
WATCH = 0.2
"""Seconds between two looks whether it is still there."""
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
"""What a server sees of our environment, with LC_*: no key and no token of ours is among it."""


@asynccontextmanager
async def over_stdio(
    server: McpServer, *, started: Callable[[int], None], heard: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """`heard` is told each line of its stderr. Raises `OSError` where it cannot be started."""
    assert server.command is not None
    mark = uuid.uuid4().hex
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=_environment() | dict(server.env) | {MARK: mark},
        cwd=server.cwd,
        start_new_session=True,  # its own group, so that all of it can be ended
        limit=MAX_LINE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    started(process.pid)
    to_us, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process.stdout, to_us, heard)
            group.start_soon(_write, process.stdin, from_us)
            group.start_soon(_listen, process.stderr, heard)
            group.start_soon(_watch, process, to_us)
            try:
                yield inbox, outbox
            finally:
                group.cancel_scope.cancel()
    finally:
        for stream in (to_us, inbox, outbox, from_us):
            stream.close()
        await _end(process, mark)


async def _read(
    stdout: asyncio.StreamReader,
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
    heard: Callable[[str], None],
) -> None:
    pace = Pace()
    with to_us:  # closing it is how the session learns of the end
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                return heard(f"sent a line longer than {MAX_LINE} bytes")
            if not line:
                return None
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                # Banners and prints: passed over, but one may explain a failure.
                with contextlib.suppress(Flooded):
                    if pace.fits():
                        heard(line[:200].decode(errors="replace"))
                    continue
                return heard("sends more than anyone can read")
            try:
                await to_us.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return None


async def _write(
    stdin: asyncio.StreamWriter, from_us: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    with from_us, contextlib.suppress(OSError):
        async for item in from_us:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode() + b"\n")
            await stdin.drain()


async def _listen(stderr: asyncio.StreamReader, heard: Callable[[str], None]) -> None:
    rest = b""
    while piece := await stderr.read(4096):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines[-50:]:
            heard(line[:1000].decode(errors="replace"))
        rest = rest[-4096:]  # of a line without end the last is enough
        await asyncio.sleep(0.02)  # it may wait: 200 KB a second are enough for last words


async def _watch(
    process: asyncio.subprocess.Process,
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """What a dead server started may hold its pipes open: their end is not waited for."""
    while process.returncode is None:  # noqa: ASYNC110 - `wait` is for the pipes too
        await asyncio.sleep(WATCH)
    _signal_group(process.pid, signal.SIGKILL)
    await asyncio.sleep(WATCH)  # for its last words, which are in the pipe
    to_us.close()


async def _end(process: asyncio.subprocess.Process, mark: str) -> None:
    """Ask it to go, then make it, with everything it started. Returns when it is gone."""
    try:
        if process.returncode is None:
            if process.stdin is not None:
                process.stdin.close()
            if not await _gone(process):
                _signal_group(process.pid, signal.SIGTERM)
                await _gone(process)
    finally:
        try:
            _signal_group(process.pid, signal.SIGKILL)
            await asyncio.to_thread(_kill_marked, mark)
            await _gone(process)
        finally:  # whoever loses patience with us cancels this too
            _close(process)


async def _gone(process: asyncio.subprocess.Process) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE):
            while process.returncode is None:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
    return process.returncode is not None


def _kill_marked(mark: str) -> None:
    """Those that left the group, or whose parent is gone: their environment still has the mark."""
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if one.environ().get(MARK) == mark:
                one.kill()  # psutil knows it from another that got its number since


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _close(process: asyncio.subprocess.Process) -> None:
    transport = getattr(process, "_transport", None)
    if transport is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            transport.close()


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k in PASSED_ON or k.startswith("LC_")}
