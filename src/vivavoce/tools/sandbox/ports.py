"""What a sandbox is to those who run commands in it: one call, limits, and how it ended.

Knows nothing of how a command is confined; every kind of sandbox fills `Sandbox`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from vivavoce.errors import Unavailable

MIB = 1024 * 1024

OnOutput = Callable[[str], Awaitable[None]]
"""Told of output as it comes, in pieces that need not be whole lines."""

Reason = Literal["time", "memory", "processes", "output", "disk"]
"""The limit for whose sake a command was killed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one command may take, with everything it starts; sizes in bytes."""

    seconds: float = 30.0
    memory: int = 2048 * MIB
    """Of all its processes together, looked at while it runs; of each one, held."""
    processes: int = 256
    file_size: int = 1024 * MIB
    disk: int = 4096 * MIB
    """How much the workspace's disk may fill while it runs."""
    scratch: int = 512 * MIB
    """Room in its own /tmp, and in /dev/shm."""
    cpu_seconds: int = 300
    """Of one process."""
    open_files: int = 1024
    output: int = MIB // 2
    """What is kept: the first half and the last half of it."""
    flood: int = 64 * MIB
    """More output than this is no output."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended. `exit_code` is the shell's own, 128 + n for signal n."""

    exit_code: int
    output: str
    truncated: bool = False
    killed_for: Reason | None = None

    @property
    def timed_out(self) -> bool:
        return self.killed_for == "time"


class Sandbox(Protocol):
    """Runs shell commands that can harm nothing but the workspace."""

    @property
    def name(self) -> str: ...

    @property
    def why_not(self) -> str | None:
        """Why nothing can be run here; None where commands run."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What this one cannot hold as tightly as others, for `/status` and `doctor`."""
        ...

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        limits: Limits = ...,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        """Runs it in `cwd`, a folder of the workspace.

        When this returns or is cancelled, everything the command started is
        dead. `network=True` is the whole network of this machine, its loopback
        too. Raises `Unavailable` where nothing can be run.
        """
        ...


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Where none holds: nothing is run, and everybody is told why."""

    why_not: str
    name: str = "none"
    notes: tuple[str, ...] = ()

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        limits: Limits | None = None,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        raise Unavailable(f"Commands cannot be run here: {self.why_not}")
