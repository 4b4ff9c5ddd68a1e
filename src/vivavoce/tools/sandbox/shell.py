"""What every sandbox does alike: a command handed to bash with its limits set, in an environment of
its own, and run to its end.

Nothing of the server's environment is passed on: what is not named here is not
there, so no key or token can be.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from vivavoce.errors import Unavailable
from vivavoce.processes import control_groups
from vivavoce.processes.bounded import Finished, Launch, Limits, OnOutput, execute
from vivavoce.processes.threads import SHARED
from vivavoce.tools.repositories import Guard
from vivavoce.tools.sandbox.places import Tools, workspace_tools

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
GIT_AFTERWARDS = "what git would run is put aside after a command, not kept from being written"
_TURN = 0.05
NOT_STARTED = 125
"""The exit code when the limits could not be set: better nothing than without them."""


def limited(bash: str, command: str, limits: Limits, *, memory: bool = True) -> list[str]:
    """The command line. bash sets the limits on itself, hard ones, then reads the command.

    Memory is limited as data (`-d`), not as address space: V8 and Go reserve
    tens of gigabytes of addresses that they never touch.
    """
    options = [
        "-c 0",
        f"-f {max(1, limits.file_size // 1024)}",
        f"-t {limits.cpu_seconds}",
        f"-n {limits.open_files}",
        f"-u {limits.threads}",
    ]
    if memory:
        options.append(f"-d {max(1, limits.memory // 1024)}")
    script = f'ulimit {" ".join(options)} || exit {NOT_STARTED}; eval "$1"'
    return [bash, "-c", script, "bash", command]


def environment(
    *, home: str, temporary: str, first: Sequence[str] = (), last: Sequence[str] = ()
) -> dict[str, str]:
    """`first` and `last`: folders of the PATH around the system's."""
    return {
        "PATH": ":".join(dict.fromkeys((*first, *SYSTEM_PATH, *last))),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        # Output goes through a pipe: without this, progress would come in one piece at the end.
        "PYTHONUNBUFFERED": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        # Inside, another owner's repository can harm nobody; git would only refuse to look at it.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


@dataclass(frozen=True, kw_only=True)
class Confined:
    """A kind of sandbox. `workspace` is writable, and of a larger one nothing but it is there;
    `hidden` (the server's data, say) is out of
    reach, even inside it."""

    workspace: Path
    tools: Tools = field(default_factory=Tools)
    hidden: Sequence[Path] = ()
    bash: str = "/bin/bash"
    name: str = ""
    why_not: str | None = None
    holds: tuple[str, ...] = ()
    """What its trial has shown."""
    read_only: bool = False
    """The command only reads, and nobody was asked: nothing in the workspace can be written, none
    of its programs is found by name, and nothing can be sent."""
    git: Guard | None = None
    """Of the command that is run now."""
    patience: float | None = None
    """Seconds that a command waits for its turn; otherwise half of those that it has."""
    filtered: str = "a filter of system calls"
    mounts_git: bool = False
    """Can it show a repository's copy in its place?"""

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def in_words(self, status: Mapping[str, str]) -> Iterator[str]:
        """What holds, by what a process inside says of itself (`/proc/self/status`)."""
        yield "no files of the machine but programs, and no network"
        if status.get("NoNewPrivs") == "1":
            yield "no new privileges: a program that would give more rights gives none"
        if not any(int(status.get(name, "1"), 16) for name in ("CapEff", "CapPrm", "CapBnd")):
            yield "no capabilities, and none to be had"
        if status.get("Seccomp") == "2":
            yield self.filtered
        if status.get("Uid", "0").split()[0] != "0":
            yield "never root inside"
        if given := control_groups.given():
            names = {"memory": "memory", "pids": "number of processes", "cpu": "processors"}
            held = ", ".join(words for name, words in names.items() if name in given)
            version = control_groups.version()
            yield f"all of a command together: {held} (control groups, version {version})"

    def not_held(self) -> Iterator[str]:
        """What there is no control group for, or no user."""
        given = control_groups.given()
        if not given:
            yield "no control groups are to be had here"
        if "memory" not in given:
            yield "memory of all processes together is looked at, not held"
        if "pids" not in given and hasattr(os, "geteuid") and os.geteuid() == 0:
            yield "run as root, the number of processes is looked at, not held"
        if "cpu" not in given:
            yield "a command may take all processors, at a low priority"
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            yield (
                "the server runs as root: outside, a command is a process of root's, though with "
                "none of root's rights; run the server as a user of its own"
            )

    @property
    def all_tools(self) -> Tools:
        """The user's, after those that the workspace brings itself. What runs unasked is the
        system's `ls` and `git`, not what a workspace calls so."""
        if self.read_only:
            return self.tools
        found = workspace_tools(self.workspace)
        return Tools(
            (*found.folders, *self.tools.folders),
            (*found.first, *self.tools.first),
            self.tools.last,
        )

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        limits: Limits | None = None,
        network: bool = False,
        read_only: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        limits = limits or Limits()
        here = replace(self, workspace=cwd, read_only=read_only)
        if read_only:  # then no repository can change either
            return await here._run(command, limits, False, on_output)
        guard = Guard(cwd, mounting=self.mounts_git)
        told: tuple[str, ...] = ()
        try:
            limits = await _turn(guard, limits, self.patience)
            await asyncio.to_thread(guard.before)
            here = replace(here, git=guard)
            done = await here._run(command, limits, network, on_output)
        finally:
            told = await asyncio.to_thread(guard.after)
        return replace(done, notes=told)

    async def _run(
        self, command: str, limits: Limits, network: bool, on_output: OnOutput | None
    ) -> Finished:
        async with AsyncExitStack() as stack:
            launch = await self.launch(stack, command, limits, network)
            return await execute(launch, limits, on_output)

    async def launch(
        self, stack: AsyncExitStack, command: str, limits: Limits, network: bool
    ) -> Launch:
        """The command line that confines the command; `stack` is left when it has ended."""
        raise NotImplementedError


async def _turn(guard: Guard, limits: Limits, patience: float | None) -> Limits:
    """One command at a time writes in a folder. What it may take, when it is its turn: waiting is
    part of its time, unless there is patience."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not await asyncio.to_thread(guard.turn):
        if loop.time() - began >= (limits.seconds / 2 if patience is None else patience):
            raise Unavailable("Another command is still at work in this folder")
        await asyncio.sleep(_TURN)
    spent = loop.time() - began if patience is None else 0.0
    return replace(limits, seconds=limits.seconds - spent)


async def scratch_folder(stack: AsyncExitStack) -> Path:
    """A temporary folder, gone with the stack. Resolved: profiles know real paths only."""

    def make() -> Path:
        return Path(tempfile.mkdtemp(prefix="vivavoce-")).resolve()

    folder: Path = await SHARED.run(make)
    stack.push_async_callback(SHARED.run, shutil.rmtree, folder, ignore_errors=True)
    return folder
