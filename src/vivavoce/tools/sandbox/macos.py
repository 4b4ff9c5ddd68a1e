"""`sandbox-exec`, the sandbox that macOS has: a profile of what is allowed, nothing else is.

There are no pid namespaces: what a command started is found by its parents
and its process group.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.processes.bounded import Finished, Launch, Limits, OnOutput, execute
from vivavoce.processes.threads import SHARED
from vivavoce.tools.sandbox.places import Tools, workspace_tools
from vivavoce.tools.sandbox.shell import environment, limited

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
_NOTES = (
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


def _scratch() -> Path:
    """Resolved: the profile knows real paths only, and /tmp is a link on macOS."""
    return Path(tempfile.mkdtemp(prefix="vivavoce-")).resolve()


@dataclass(frozen=True)
class SandboxExec:
    """`workspace` and a fresh temporary folder are writable, `hidden` is denied."""

    workspace: Path
    tools: Tools = field(default_factory=Tools)
    hidden: Sequence[Path] = ()
    bash: str = "/bin/bash"
    name: str = "sandbox-exec"
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
        scratch = await SHARED.run(_scratch)
        try:
            launch = self.launch(command, scratch, cwd, limits, network)
            return await execute(launch, limits, on_output)
        finally:
            await SHARED.run(shutil.rmtree, scratch, ignore_errors=True)

    def launch(
        self, command: str, scratch: Path, cwd: Path, limits: Limits, network: bool
    ) -> Launch:
        found = workspace_tools(self.workspace)
        folders = map(str, (*found.folders, *self.tools.folders))
        readable = [*_READABLE, *(_NETWORK_READABLE if network else ()), *folders]
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
                first=(*found.first, *self.tools.first),
                last=("/opt/homebrew/bin", *self.tools.last),
            ),
            cwd,
        )
