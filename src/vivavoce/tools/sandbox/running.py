"""One command from its start to its end: output as it comes, limits, and nothing left behind.

Knows processes and pipes; how the command line confines itself is the business
of whoever made it.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vivavoce.errors import Unavailable
from vivavoce.tools.sandbox.collected import Collected
from vivavoce.tools.sandbox.ports import MIB, Finished, Limits, OnOutput, Reason
from vivavoce.tools.sandbox.processes import kill_below, kill_group, kill_namespace, usage
from vivavoce.tools.sandbox.waiting import Exit, readable

# Seconds between two looks at what it uses. Root is not held to a number of processes by the
# kernel, so there a look must come before a fork bomb has grown.
_LOOK = 0.1 if os.geteuid() else 0.02
_GOODBYE = 0.1
"""Seconds for the launcher to see that its children are dead."""
_FUNERAL = 3.0
"""The same for a namespace: killed at once, but the thousands of a bomb take their time."""
_PIECE = 65_536
_ALWAYS_FREE = 64 * MIB
_NICE = 10
"""A voice is being heard meanwhile: it goes first."""


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


def _started(launch: Launch) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and where its output is read."""
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - running commands is what this is for
            launch.arguments,
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
        raise Unavailable(f"The command could not be started: {exc.strerror}") from exc
    finally:
        os.close(writing)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, process.pid, _NICE)
    os.set_blocking(reading, False)
    return process, reading


class _Run:
    def __init__(self, launch: Launch, limits: Limits, on_output: OnOutput | None) -> None:
        self.collected = Collected(limits.output)
        self._launch, self._limits, self._on_output = launch, limits, on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._free = _free(launch.cwd)
        self.process, self._pipe = _started(launch)
        self._exit = Exit(self.process)
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
                    return None
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
            await readable(self._pipe)
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
        if used.memory > limits.memory:
            return "memory"
        free = _free(self._launch.cwd)
        if self._free - free > limits.disk or free < min(_ALWAYS_FREE, self._free // 2):
            return "disk"
        return None

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


def _free(folder: Path) -> int:
    with contextlib.suppress(OSError):
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize
    return 0
