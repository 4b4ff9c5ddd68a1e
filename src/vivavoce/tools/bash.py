"""The tool `bash`: one command in the sandbox, its progress as it goes, its end in words.

Knows what the model should be told; how a command is confined is the
sandbox's business. A command that fails is an answer, not an error: the model
reads what it printed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vivavoce.errors import InvalidArguments, ToolFailed
from vivavoce.processes.bounded import MIB, Finished, Limits
from vivavoce.processes.threads import SHARED
from vivavoce.runtime.ports import Report, ToolContext, ToolOutput
from vivavoce.tools.functions import Tool, tool
from vivavoce.tools.progress import Progress, ProgressReader
from vivavoce.tools.sandbox.ports import Sandbox
from vivavoce.tools.wording import WORDING

MAX_ENTRIES = 20_000
LOOK_SECONDS = 0.1
MAX_FILES = 50
_COARSE_NS = 20_000_000
"""Kernels stamp files with a clock that ticks every 4 to 10 ms."""
SKIPPED = frozenset(
    {"node_modules", "__pycache__", "venv", "target", "build", "dist", "site-packages"}
)


def changed_since(root: Path, started_ns: int) -> tuple[str, ...]:
    """Relative paths, oldest folder first; as many as a bounded look finds.

    Hidden folders and those that tools fill (`node_modules`, `target`) are
    left out: nobody asks for them by name.
    """
    since = started_ns - _COARSE_NS
    until = time.monotonic() + LOOK_SECONDS
    found: list[str] = []
    folders = deque([str(root)])
    left = MAX_ENTRIES
    while folders and left > 0 and len(found) < MAX_FILES and time.monotonic() < until:
        try:
            entries = list(os.scandir(folders.popleft()))
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in SKIPPED:
                    folders.append(entry.path)
            elif _changed(entry, since):
                found.append(os.path.relpath(entry.path, root))
    return tuple(sorted(found)[:MAX_FILES])


def _changed(entry: os.DirEntry[str], since: int) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_ctime_ns >= since
    except OSError:
        return False


MAX_SECONDS = 60
"""Seed 000 §4.4: bash takes 1 to 60 seconds."""
_GRACE = 5.0
"""The sandbox ends a command first; the desk's own limit is for the case that it does not."""


def bash_tool(
    sandbox: Sandbox,
    workspace: Path,
    *,
    network: bool = False,
    limits: Limits | None = None,
    report_every: float = 0.25,
) -> Tool:
    """`network`: commands may use the whole network of this machine, its loopback too."""
    workspace = workspace.resolve()
    agreed = limits or Limits(seconds=MAX_SECONDS)

    @tool(
        category="development",
        timeout=MAX_SECONDS + _GRACE,
        changes=True,
        description=WORDING["bash"].description,
        examples=WORDING["bash"].examples,
        describe=_described,
    )
    async def bash(
        command: Annotated[str, Field(min_length=1, max_length=20_000)],
        context: ToolContext,
        timeout: Annotated[
            int, Field(description="Seconds it may take", ge=1, le=MAX_SECONDS)
        ] = MAX_SECONDS,
    ) -> ToolOutput:
        """Run a shell command in the workspace: tests, builds, git, anything on the command line.

        It sees the workspace and the system's programs, nothing else, and there
        is nobody at the keyboard. Programs that it leaves running are ended.
        """
        _check(command)
        if sandbox.why_not is not None:
            raise ToolFailed(f"bash is off here: {sandbox.why_not}")
        began = time.time_ns()
        telling = _Telling(context.report, report_every)
        within = replace(agreed, seconds=min(float(timeout), agreed.seconds, float(MAX_SECONDS)))
        done = await sandbox.run(
            command, cwd=workspace, limits=within, network=network, on_output=telling.feed
        )
        await telling.close()
        files = await SHARED.run(changed_since, workspace, began)
        return ToolOutput(text=_told(done, within), kind="log", files_changed=files)

    return bash


def _check(command: str) -> None:
    try:
        fine = "\0" not in command and bool(command.strip()) and bool(command.encode())
    except UnicodeEncodeError:
        fine = False
    if not fine:
        raise InvalidArguments(
            "Parameter 'command' for tool 'bash': not a command that bash can read", tool="bash"
        )


def _described(given: Any) -> str:
    line = " ".join(str(given.get("command", "")).split())
    return f"Running {line if len(line) <= 60 else line[:59] + '…'}"


class _Telling:
    """Progress to those who listen, not more often than they can read it."""

    def __init__(self, report: Report, every: float) -> None:
        self._report, self._every = report, every
        self._reader = ProgressReader()
        self._waiting: Progress | None = None
        self._last = float("-inf")

    async def feed(self, text: str) -> None:
        self._waiting = self._reader.feed(text) or self._waiting
        if asyncio.get_running_loop().time() - self._last >= self._every:
            await self.close()

    async def close(self) -> None:
        """Tells what has not been told."""
        told, self._waiting = self._waiting, None
        if told is not None:
            self._last = asyncio.get_running_loop().time()
            await self._report(told.message, told.percentage)


def _told(done: Finished, limits: Limits) -> str:
    """How it ended first: whatever is cut from a long log, that stays."""
    output = done.output.strip("\n")
    return f"{_ending(done, limits)}\n{output or 'It printed nothing.'}"


def _ending(done: Finished, limits: Limits) -> str:
    match done.killed_for:
        case "time":
            return f"Stopped after {limits.seconds:g} seconds, before it was finished."
        case "memory":
            return f"Stopped: it took more than {limits.memory // MIB} MB of memory."
        case "processes":
            return f"Stopped: it started more than {limits.processes} processes."
        case "output":
            return f"Stopped: it printed more than {limits.flood // MIB} MB."
        case "disk":
            return "Stopped: it was filling the disk."
    match done.exit_code:
        case 0:
            return "Succeeded (exit code 0)."
        case 126:
            return "Failed (exit code 126): that file cannot be run."
        case 127:
            return "Failed (exit code 127): there is no such command here."
        case code if code > 128:
            return f"Failed (exit code {code}): it was ended by signal {code - 128}."
        case code:
            return f"Failed (exit code {code})."
