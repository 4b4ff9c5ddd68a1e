"""Sandboxes where there is no bubblewrap: sandlock on Linux, `sandbox-exec` on macOS.

`sandlock` (Landlock and seccomp) is for where namespaces are refused: the kernel
keeps the command to the files we name and off the network. It sees the real root
and the numbers of other processes, but cannot touch them. A launcher of ours
(`launcher.py`) runs between, so that no thread and no filter of sandlock is ever
in the server's own process. On macOS a profile says what is allowed, nothing else
is. Neither has pid namespaces: what a command started is found by its parents and
its process group.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from vivavoce.processes.bounded import Launch, Limits
from vivavoce.tools.sandbox.places import ETC, NETWORK_ETC, SYSTEM
from vivavoce.tools.sandbox.shell import Confined, environment, limited, scratch_folder

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
_MACOS_NOTES = (
    "no namespaces: a command that leaves its process group may outlive its call",
    "memory of all processes together is looked at, not held",
)


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
    for path in writable[:1]:  # the workspace: what the user's git would run later
        lines += [
            f"(deny file-write* (subpath {_quoted(path + '/.git/hooks')}))",
            f"(deny file-write* (literal {_quoted(path + '/.git/config')}))",
        ]
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
        return _MACOS_NOTES

    async def launch(
        self, stack: AsyncExitStack, command: str, cwd: Path, limits: Limits, network: bool
    ) -> Launch:
        scratch, tools = await scratch_folder(stack), self.all_tools
        readable = [*_READABLE, *(_NETWORK_READABLE if network else ()), *map(str, tools.folders)]
        text = profile(
            readable,
            [str(self.workspace.resolve()), str(scratch)],
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
            cwd,
        )


_LAUNCHER = Path(__file__).with_name("launcher.py")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NOTES = (
    "no namespaces: a command sees the command lines of other processes",
    "modes and times of the user's files outside, and limits of the user's other processes, "
    "can be changed (not what is in them)",
    "memory of all processes together is looked at, not held",
    ".git/hooks and .git/config are writable",
)


@dataclass(frozen=True, kw_only=True)
class Landlock(Confined):
    """`workspace` and a fresh temporary folder are writable, `hidden` is denied."""

    name: str = "sandlock"

    @property
    def notes(self) -> tuple[str, ...]:
        return _NOTES

    async def launch(
        self, stack: AsyncExitStack, command: str, cwd: Path, limits: Limits, network: bool
    ) -> Launch:
        policy = self.policy(await scratch_folder(stack), cwd, limits, network)
        return Launch(
            [
                *(sys.executable, "-I", str(_LAUNCHER), json.dumps(policy)),
                *limited(self.bash, command, limits),
            ],
            {"PATH": os.defpath},
            self.workspace,
        )

    def policy(self, scratch: Path, cwd: Path, limits: Limits, network: bool) -> dict[str, object]:
        """What `sandlock.Sandbox` is made of."""
        tools = self.all_tools
        readable = [*SYSTEM, *ETC, "/proc", *(NETWORK_ETC if network else ())]
        readable += map(str, tools.folders)
        return {
            "fs_readable": [path for path in readable if Path(path).exists()] + [*_DEVICES],
            "fs_writable": [str(self.workspace), str(scratch), "/dev/null"],
            "fs_denied": [str(path) for path in self.hidden],
            "net_allow": ["*:*"] if network else [],
            "max_processes": limits.processes,
            "clean_env": True,
            "env": environment(
                home=str(scratch), temporary=str(scratch), first=tools.first, last=tools.last
            ),
            "cwd": str(cwd),
        }
