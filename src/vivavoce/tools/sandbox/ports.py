"""What a sandbox is to those who run commands in it: one call, limits, and how it ended.

Knows nothing of how a command is confined; every kind of sandbox fills `Sandbox`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from vivavoce.errors import Unavailable
from vivavoce.processes.bounded import Finished, Limits, OnOutput
from vivavoce.wire.values import Value


class Sandbox(Protocol):
    """Runs shell commands that can harm nothing but the workspace."""

    @property
    def name(self) -> str: ...

    @property
    def why_not(self) -> str | None:
        """Why nothing can be run here; None where commands run."""
        ...

    @property
    def holds(self) -> tuple[str, ...]:
        """What is in force here, as its trial has shown; empty before that."""
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
        read_only: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        """Runs it in `cwd`, the workspace or a user's folder in it: what it may write, and of the
        workspace all that it sees.

        When this returns or is cancelled, everything the command started is
        dead. `network=True` is the whole network of this machine, its loopback
        too. With `read_only` nothing in `cwd` can be written, there is no network whatever
        `network` says, and the programs that `cwd` brings are not on the PATH. Raises
        `Unavailable` where nothing can be run.
        """
        ...


class NoSandbox(Value):
    """Where none holds: nothing is run, and everybody is told why."""

    why_not: str
    name: str = "none"
    holds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    async def run(self, command: str, **how: Any) -> Finished:
        raise Unavailable(f"Commands cannot be run here: {self.why_not}")
