"""A command that nobody trusts, from its start to its end: output as it comes, within limits.

Whatever it started is dead when it is over. Knows processes and pipes; how the
command line confines itself is the business of whoever made it.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import subprocess
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vivavoce.errors import Unavailable
from vivavoce.processes import control_groups
from vivavoce.processes.control_groups import Group, Share
from vivavoce.processes.starting import be_nice
from vivavoce.processes.tree import kill_below, kill_group, kill_namespace, usage

MIB = 1024 * 1024
# Seconds between two looks at what it uses. Where no control group can be had, the kernel holds
# root to no number of processes, so there a look must come before a fork bomb has grown.
_LOOK = 0.1 if os.geteuid() else 0.02
_THREADS = 4
"""The kernel counts threads, we count processes: so many threads each is usual."""
_GOODBYE = 0.1
"""Seconds for the launcher to see that its children are dead."""
_FUNERAL = 3.0
"""The same for a namespace: killed at once, but the thousands of a bomb take their time."""
_POLL = 0.01
_PIECE = 65_536
_ALWAYS_FREE = 64 * MIB
_NICE = 10
"""A voice is being heard meanwhile: it goes first."""

OnOutput = Callable[[str], Awaitable[None]]
"""Told of output as it comes, in pieces that need not be whole lines."""

Reason = Literal["time", "memory", "processes", "output", "disk"]
"""The limit for whose sake a command was killed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one command may take, with everything it starts; sizes in bytes."""

    seconds: float = 30.0
    memory: int = 2048 * MIB
    """Of all its processes together, held where there are control groups, and looked at while it
    runs elsewhere; of each one, held."""
    processes: int = 256
    file_size: int = 1024 * MIB
    disk: int = 4096 * MIB
    """How much the workspace's disk may fill while it runs."""
    scratch: int = 512 * MIB
    """Room in its own /tmp, and in /dev/shm."""
    cpu_seconds: int = 300
    """Of one process."""
    cpus: float = field(default_factory=lambda: max(1.0, (os.cpu_count() or 1) - 1.0))
    """Processors at once, where there are control groups: one is left for the voice."""
    open_files: int = 1024
    output: int = MIB // 2
    """What is kept: the first half and the last half of it."""
    flood: int = 64 * MIB
    """More output than this is no output."""

    @property
    def threads(self) -> int:
        """Of all its processes together: the kernel refuses more, where we only look."""
        return _THREADS * self.processes


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended. `exit_code` is the shell's own, 128 + n for signal n."""

    exit_code: int
    output: str
    truncated: bool = False
    killed_for: Reason | None = None
    notes: tuple[str, ...] = ()
    """What became of its work afterwards, in words, where that is not as it meant."""

    @property
    def timed_out(self) -> bool:
        return self.killed_for == "time"


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line that confines itself.

    `namespace`: its one child is the first process of a pid namespace.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path
    namespace: bool = False
    pass_fds: Sequence[int] = ()


async def execute(launch: Launch, limits: Limits, on_output: OnOutput | None) -> Finished:
    """Runs it to its end, or kills it; either way it is gone when this returns or is cancelled."""
    # Not asyncio's own: cancelled while it starts, that one waits for ever,
    # and it keeps a thread for every process.
    run = _Run(launch, limits, on_output)
    try:
        reason = await run.follow()
    finally:
        await run.end()
    code = run.process.returncode
    return Finished(
        exit_code=code if code >= 0 else 128 - code,
        output=run.collected.text,
        truncated=run.collected.truncated,
        killed_for=reason,
    )


def _started(launch: Launch, group: Group | None) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and where its output is read."""
    join = () if group is None else group.joining()
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - running commands is what this is for
            [*join, *launch.arguments],
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            env=dict(launch.environment),
            cwd=launch.cwd,
            start_new_session=True,
            pass_fds=launch.pass_fds,
        )
    except OSError as exc:
        os.close(reading)
        if group is not None:
            group.close()
        raise Unavailable(f"The command could not be started: {exc.strerror}") from exc
    finally:
        os.close(writing)
    be_nice(process.pid, _NICE, group=True)
    os.set_blocking(reading, False)
    return process, reading


class _Run:
    def __init__(self, launch: Launch, limits: Limits, on_output: OnOutput | None) -> None:
        self.collected = Collected(limits.output)
        self._launch, self._limits, self._on_output = launch, limits, on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._free = _free(launch.cwd)
        self._group = control_groups.make(Share(limits.memory, limits.threads, limits.cpus))
        self.process, self._pipe = _started(launch, self._group)
        self._exit = _Exit(self.process)
        self._open = True

    async def follow(self) -> Reason | None:
        """Until it ended by itself (None), or went over a limit."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._limits.seconds
        look = clock() + _LOOK
        while True:
            piece = b""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(min(look, deadline)):
                    piece = await self._next()
                if not piece and self.process.returncode is not None:
                    short = self.process.returncode != 0 and self._out_of_memory()
                    return "memory" if short else None
            await self._take(piece)
            if clock() >= deadline:
                return "time"
            if self.collected.total > self._limits.flood:
                return "output"
            if clock() >= look:
                look = clock() + _LOOK
                if reason := self._over():
                    return reason

    async def _next(self) -> bytes:
        """A piece of output, or nothing: it may close its output long before its end."""
        while self._open:
            await _readable(self._pipe)
            try:
                piece = os.read(self._pipe, _PIECE)
            except BlockingIOError:
                continue
            if piece:
                return piece
            self._open = False
        await self._exit.wait()
        return b""

    async def _take(self, piece: bytes) -> None:
        self.collected.feed(piece)
        if self._on_output is not None and (text := self._decoder.decode(piece)):
            await self._on_output(text)

    def _over(self) -> Reason | None:
        limits = self._limits
        used = usage(self.process.pid, limits.processes + 2)  # one of them is the sandbox's own
        if used.processes > limits.processes + 1:
            return "processes"
        if used.memory > limits.memory or self._out_of_memory():
            return "memory"
        free = _free(self._launch.cwd)
        if self._free - free > limits.disk or free < min(_ALWAYS_FREE, self._free // 2):
            return "disk"
        return None

    def _out_of_memory(self) -> bool:
        return self._group is not None and self._group.out_of_memory()

    async def end(self) -> None:
        """Everything dead and the pipe closed, also when we are cancelled."""
        pid = self.process.pid
        inside = self._launch.namespace
        kill = kill_namespace if inside else kill_below
        try:
            if self.process.poll() is None:
                if not kill(pid):
                    kill_group(pid)
                # The launcher goes once all below it are gone: its end is the proof.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_FUNERAL if inside else _GOODBYE):
                        await self._exit.wait()
        finally:
            if self.process.poll() is None:
                kill(pid)  # whoever was started in between
                kill_group(pid)
                self.process.wait()  # killed outright: a matter of microseconds
            self._exit.close()
            os.close(self._pipe)
            if self._group is not None:
                self._group.close()


def _free(folder: Path) -> int:
    with contextlib.suppress(OSError):
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize
    return 0


class Collected:
    """Bytes in; at most `limit` of them kept, half from each end: there a log tells most."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit - limit // 2
        self._tail_room = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def feed(self, piece: bytes) -> None:
        self.total += len(piece)
        if room := self._head_room - len(self._head):
            self._head += piece[:room]
            piece = piece[room:]
        if not piece:
            return
        self._tail.append(piece)
        self._tail_size += len(piece)
        # Whole pieces go while the rest is still enough; the exact cut is made once, in `text`.
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        return self.total > self._head_room + self._tail_room

    @property
    def text(self) -> str:
        tail = b"".join(self._tail)
        if not self.truncated:
            return (bytes(self._head) + tail).decode(errors="replace")
        tail = tail[-self._tail_room :] if self._tail_room else b""
        left_out = self.total - len(self._head) - len(tail)
        return (
            self._head.decode(errors="replace")
            + f"\n… {left_out:,} bytes left out …\n"
            + tail.decode(errors="replace")
        )


async def _readable(fd: int) -> None:
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


class _Exit:
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
                await _readable(self._fd)
            else:
                await asyncio.sleep(_POLL)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
