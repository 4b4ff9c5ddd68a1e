"""The tool `bash`: one command in the sandbox, its progress as it goes, its end in words.

Knows what the model should be told; how a command is confined is the
sandbox's business. A command that fails has failed, for statistics and events too, and is
an answer all the same: the model reads what it printed.

How far a command is, is read from what it prints ("12/50 tests passed", 24 %). Each
runner we know is a small reader of its own lines; the first one to know a line is
believed from then on, so that a percentage in a log is not mistaken for the tests'.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vivavoce.errors import InvalidArguments, ToolFailed
from vivavoce.processes.bounded import MIB, Finished, Limits
from vivavoce.processes.threads import SHARED
from vivavoce.runtime.ports import Report, ToolContext, ToolOutput
from vivavoce.tools.commands import in_words, reads_only
from vivavoce.tools.functions import Tool
from vivavoce.tools.sandbox.ports import Sandbox
from vivavoce.tools.wording import worded
from vivavoce.tools.workspace.root import Workspaces

_MAX_LINE = 4096
_MAX_SHOWN = 80
EVERY_LINES = 10
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


@dataclass(frozen=True, slots=True)
class Progress:
    message: str
    percentage: int | None = None


@dataclass(slots=True)
class Tally:
    """What the lines so far have told."""

    total: int | None = None
    done: int = 0
    failed: int = 0

    def count(self, tests: int = 1, *, failed: int = 0) -> None:
        self.done += tests
        self.failed += failed

    def one(self, found: re.Match[str]) -> Progress | None:
        """By the line of one test: failed where the group `bad` is; it may say how far it is."""
        told = found.groupdict()
        self.count(failed=told["bad"] is not None)
        return self.told(_number(told.get("percent")))

    def told(self, percentage: int | None = None) -> Progress | None:
        """None before there is anything to tell."""
        if not self.done and self.total is None:
            return None
        if percentage is None and self.total:
            percentage = min(100, 100 * self.done // self.total)
        of = f"{self.done} of {self.total} tests" if self.total else f"{self.done} tests"
        if self.failed:
            return Progress(f"{of} run, {self.failed} failed", percentage)
        return Progress(f"{of} passed", percentage)


Reader = Callable[[str, Tally], Progress | None]
"""Knows the line: what to say. Does not: None."""

_COLLECTED = re.compile(r"\bcollected (\d+) items?(?:.*/ (\d+) selected)?")
_XDIST = re.compile(r"\d+ workers? \[(\d+) items?\]")
_DOTS = re.compile(r"(?:\S+\.py )?([.FEsxXR]+)\s*(?:\[ *(\d+)%\])?")
_STATUS = "(?:PASSED|(?P<bad>FAILED|ERROR)|SKIPPED|XFAIL|XPASS)"
_VERBOSE = re.compile(rf"\S+::.+? {_STATUS}(?: \(.*\))?\s*(?:\[ *(?P<percent>\d+)%\])?")
_WORKER = re.compile(rf"\[gw\d+\] \[ *(?P<percent>\d+)%\] {_STATUS} \S+::.*")


def pytest(line: str, tally: Tally) -> Progress | None:
    if found := _COLLECTED.search(line) or _XDIST.fullmatch(line.strip()):
        tally.total = int(found.group(found.lastindex or 1))
        return tally.told()
    # Told line by line; the summary at the end has other lines, and counts nothing.
    if found := _WORKER.fullmatch(line.strip()) or _VERBOSE.fullmatch(line.strip()):
        return tally.one(found)
    if (found := _DOTS.fullmatch(line.strip())) and (found.group(2) or tally.total is not None):
        return _dots(found, tally)
    return None


def _dots(found: re.Match[str], tally: Tally) -> Progress | None:
    marks = found.group(1)
    tally.count(len(marks), failed=sum(map(marks.count, "FE")))
    return tally.told(_number(found.group(2)))


def pytest_unfinished(rest: str, tally: Tally, reader: Reader | None) -> Progress | None:
    """The dots of a line that is still being drawn; they are counted when it ends."""
    found = _DOTS.fullmatch(rest.strip()) if reader in (pytest, None) else None
    if found is None or (reader is None and tally.total is None):
        return None
    return _dots(found, replace(tally))


_UNITTEST = re.compile(
    r"test\w* \([\w.]+\).* \.\.\. (?:(?P<bad>FAIL|ERROR)|ok|skipped .*|expected failure)"
)


def unittest(line: str, tally: Tally) -> Progress | None:
    found = _UNITTEST.fullmatch(line.strip())
    return tally.one(found) if found else None


_JEST = re.compile(r"\s*([✓✔√✕✗×○])\s.+|\s*(PASS|FAIL)\s+\S+\.[cm]?[jt]sx?\b.*")
_VITEST = re.compile(r"\s*([✓❯×])\s+\S+\.[cm]?[jt]sx? \((\d+) tests?(?: \| (\d+) failed)?.*")


def jest(line: str, tally: Tally) -> Progress | None:
    """jest with `--verbose` has a line a test, vitest a line a file with its number of tests."""
    if found := _VITEST.fullmatch(line):
        tally.count(int(found.group(2)), failed=int(found.group(3) or 0))
        return tally.told()
    if found := _JEST.fullmatch(line):
        if found.group(2):
            return tally.told() or Progress(f"{line.split()[1]} done")
        tally.count(failed=found.group(1) in "✕✗×")
        return tally.told()
    return None


_GO = re.compile(r"--- (?:PASS|(?P<bad>FAIL)|SKIP): \S+ \([\d.]+s\)")
_GO_STARTS = re.compile(r"=== (?:RUN|PAUSE|CONT)\s+(\S+)")


def go(line: str, tally: Tally) -> Progress | None:
    if found := _GO.fullmatch(line.rstrip()):  # subtests are indented, and part of theirs
        return tally.one(found)
    if not tally.done and (found := _GO_STARTS.fullmatch(line)):
        return Progress(f"Running {found.group(1)}")
    return None


_CARGO_TOTAL = re.compile(r"running (\d+) tests?")
_CARGO = re.compile(r"test .+ \.\.\. (?:ok|(?P<bad>FAILED)|ignored.*|bench:.*)")


def cargo(line: str, tally: Tally) -> Progress | None:
    if found := _CARGO_TOTAL.fullmatch(line.strip()):
        tally.total = (tally.total or 0) + int(found.group(1))  # one crate after another
        return tally.told()
    if found := _CARGO.fullmatch(line.strip()):
        return tally.one(found)
    return None


_TAP_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#.*)?")
_TAP = re.compile(r"(not )?ok\b(?: (\d+))?(.*)")


def tap(line: str, tally: Tally) -> Progress | None:
    if found := _TAP_PLAN.fullmatch(line.rstrip()):
        tally.total = int(found.group(1))
        return tally.told()
    found = _TAP.fullmatch(line)
    if found and (found.group(2) or tally.total is not None):
        wanted = re.search(r"#\s*(?:todo|skip)", found.group(3), re.IGNORECASE)
        tally.count(failed=bool(found.group(1)) and wanted is None)
        return tally.told()
    return None


_STEPS = re.compile(r"\[ *(\d{1,6}) ?/ ?(\d{1,6})\] (.*)")
_PERCENT_STEPS = re.compile(r"\[ *(\d{1,3})%\] (.*)")  # make, as CMake writes it


def steps(line: str, tally: Tally) -> Progress | None:
    if found := _STEPS.match(line):
        done, total = int(found.group(1)), int(found.group(2))
        if total > 0 and done <= total:
            return Progress(f"Step {done} of {total}", 100 * done // total)
    if (found := _PERCENT_STEPS.match(line)) and int(found.group(1)) <= 100:
        return Progress(found.group(2).strip()[:80], int(found.group(1)))
    return None


_BAR = re.compile(r"(?:^|[\s|(\[:])(\d{1,3})(?:\.\d+)? ?%(?=$|[\s|)\],])")


def bar(line: str, tally: Tally) -> Progress | None:
    """Anything that draws a percentage with a bar, or nothing but one."""
    found = _BAR.search(line)
    if found is None or int(found.group(1)) > 100:
        return None
    drawn = re.search(r"[#=█▏▎▍▌▋▊▉━]{2,}|\[[#=>\-. ]{4,}\]|\|", line)
    alone = len(line.strip()) <= len(found.group().strip()) + 24
    if not drawn and not alone:
        return None
    percentage = int(found.group(1))
    label = re.split(r"[\d|\[#=█━]", line.strip())[0].strip(" :.-(")[:60]
    return Progress(f"{label} {percentage} %".strip(), percentage)


def _number(text: str | None) -> int | None:
    return int(text) if text else None


READERS: tuple[Reader, ...] = (pytest, unittest, jest, go, cargo, tap, steps, bar)


@dataclass(slots=True)
class ProgressReader:
    """Feed it output as it comes; it answers with what is new."""

    _tally: Tally = field(default_factory=Tally)
    _reader: Reader | None = None
    _rest: str = ""
    _last: Progress | None = None
    _lines: int = 0

    def feed(self, text: str) -> Progress | None:
        """The newest progress, if this text changed it."""
        text = self._rest + _ESCAPES.sub("", text)
        lines = re.split(r"[\r\n]+", text)
        self._rest = lines.pop()[-_MAX_LINE:]
        newest: Progress | None = None
        for line in lines:
            newest = self._counted(line) or newest
            for reader in (self._reader,) if self._reader is not None else READERS:
                if line and (found := reader(line[:_MAX_LINE], self._tally)) is not None:
                    self._reader, newest = reader, found
                    break
        # pytest draws a dot a test and ends the line late: the part there is tells already.
        newest = pytest_unfinished(self._rest, self._tally, self._reader) or newest
        if newest is None or newest == self._last:
            return None
        self._last = newest
        return newest

    def _counted(self, line: str) -> Progress | None:
        """Of a command that nobody knows: every tenth line says how far it is."""
        shown = line.strip()
        if not shown or self._reader is not None:
            return None
        self._lines += 1
        if self._lines % EVERY_LINES:
            return None
        return Progress(f"{self._lines} lines, the last: {shown[:_MAX_SHOWN]}")


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
"""The sandbox ends a command first; the executor's own limit is for the case that it does not."""


def bash_tool(
    sandbox: Sandbox,
    workspaces: Workspaces,
    *,
    network: bool = False,
    limits: Limits | None = None,
    report_every: float = 0.25,
) -> Tool:
    """`network`: commands may use the whole network of this machine, its loopback too."""
    agreed = limits or Limits(seconds=MAX_SECONDS)

    @worded(
        _described,
        MAX_SECONDS + _GRACE,
        wants=lambda given: in_words(str(given.get("command", ""))),
    )
    async def bash(
        command: Annotated[str, Field(min_length=1, max_length=20_000)],
        context: ToolContext,
        timeout: Annotated[
            int, Field(description="Seconds it may take", ge=1, le=MAX_SECONDS)
        ] = MAX_SECONDS,
    ) -> ToolOutput:
        _check(command)
        if sandbox.why_not is not None:
            raise ToolFailed(f"bash is off here: {sandbox.why_not}")
        workspace = (await SHARED.run(workspaces.of, context.user_id)).root
        began = time.time_ns()
        telling = _Telling(context.report, report_every)
        within = replace(agreed, seconds=min(float(timeout), agreed.seconds, float(MAX_SECONDS)))
        done = await sandbox.run(
            command,
            cwd=workspace,
            limits=within,
            network=network,
            read_only=reads_only(command),
            on_output=telling.feed,
        )
        await telling.close()
        files = await SHARED.run(changed_since, workspace, began)
        # How it ended first: whatever is cut from a long log, that stays.
        ending = _ending(done, within)
        lines = [ending, *done.notes]
        text = "\n".join([*lines, done.output.strip("\n") or "It printed nothing."])
        well = done.exit_code == 0 and not done.killed_for
        return ToolOutput(
            text=text,
            kind="log",
            files_changed=files,
            failed="" if well else ending,
            exit_code=done.exit_code,
        )

    # What asks for no yes is also kept from writing: the grammar decides about asking only.
    return replace(bash, reads_only=lambda given: reads_only(str(given.get("command", ""))))


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


def _ending(done: Finished, limits: Limits) -> str:
    stopped = {
        "time": f"Stopped after {limits.seconds:g} seconds, before it was finished.",
        "memory": f"Stopped: it took more than {limits.memory // MIB} MB of memory.",
        "processes": f"Stopped: it started more than {limits.processes} processes.",
        "output": f"Stopped: it printed more than {limits.flood // MIB} MB.",
        "disk": "Stopped: it was filling the disk.",
    }
    if done.killed_for in stopped:
        return stopped[done.killed_for]
    code, why = done.exit_code, ""
    if code == 0:
        return "Succeeded (exit code 0)."
    if code > 128:
        why = f": it was ended by signal {code - 128}"
    elif code in (126, 127):
        why = ": that file cannot be run" if code == 126 else ": there is no such command here"
    return f"Failed (exit code {code}){why}."
