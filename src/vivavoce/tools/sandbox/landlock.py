"""Landlock and seccomp, by the `sandlock` package: where namespaces are refused.

The kernel keeps the command to the files we name and off the network. It sees
the real root and the numbers of other processes, but cannot touch them. A
launcher of ours (`launcher.py`) runs between, so that no thread and no
filter of sandlock is ever in the server's own process.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.processes.bounded import Finished, Launch, Limits, OnOutput, execute
from vivavoce.processes.threads import SHARED
from vivavoce.tools.sandbox.places import ETC, NETWORK_ETC, SYSTEM, Tools, workspace_tools
from vivavoce.tools.sandbox.shell import environment, limited

_LAUNCHER = Path(__file__).with_name("launcher.py")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NOTES = (
    "no namespaces: a command sees the command lines of other processes",
    "modes and times of the user's files outside, and limits of the user's other processes, "
    "can be changed (not what is in them)",
    "memory of all processes together is looked at, not held",
    ".git/hooks and .git/config are writable",
)


@dataclass(frozen=True)
class Landlock:
    """`workspace` and a fresh temporary folder are writable, `hidden` is denied."""

    workspace: Path
    tools: Tools = field(default_factory=Tools)
    hidden: Sequence[Path] = ()
    bash: str = "/bin/bash"
    name: str = "sandlock"
    why_not: str | None = None
    notes: tuple[str, ...] = _NOTES

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        limits: Limits | None = None,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        limits = limits or Limits()
        scratch = tempfile.mkdtemp(prefix="vivavoce-")
        try:
            launch = Launch(
                [
                    *(sys.executable, "-I", str(_LAUNCHER)),
                    json.dumps(self.policy(Path(scratch), cwd, limits, network)),
                    *limited(self.bash, command, limits),
                ],
                {"PATH": os.defpath},
                self.workspace,
            )
            return await execute(launch, limits, on_output)
        finally:
            await SHARED.run(shutil.rmtree, scratch, ignore_errors=True)

    def policy(self, scratch: Path, cwd: Path, limits: Limits, network: bool) -> dict[str, object]:
        """What `sandlock.Sandbox` is made of."""
        found = workspace_tools(self.workspace)
        readable = [*SYSTEM, *ETC, "/proc", *(NETWORK_ETC if network else ())]
        readable += map(str, (*found.folders, *self.tools.folders))
        first = (*found.first, *self.tools.first)
        return {
            "fs_readable": [path for path in readable if Path(path).exists()] + [*_DEVICES],
            "fs_writable": [str(self.workspace), str(scratch), "/dev/null"],
            "fs_denied": [str(path) for path in self.hidden],
            "net_allow": ["*:*"] if network else [],
            "max_processes": limits.processes,
            "clean_env": True,
            "env": environment(
                home=str(scratch), temporary=str(scratch), first=first, last=self.tools.last
            ),
            "cwd": str(cwd),
        }
