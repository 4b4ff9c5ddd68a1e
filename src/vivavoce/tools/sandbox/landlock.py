"""Landlock and seccomp, by the `sandlock` package: where namespaces are refused.

The kernel keeps the command to the files we name and off the network. It sees
the real root and the numbers of other processes, but cannot touch them. A
launcher of ours (`launcher.py`) runs between, so that no thread and no
filter of sandlock is ever in the server's own process.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from vivavoce.processes.bounded import Launch, Limits
from vivavoce.tools.sandbox.places import ETC, NETWORK_ETC, SYSTEM
from vivavoce.tools.sandbox.shell import Confined, environment, limited, scratch_folder

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
