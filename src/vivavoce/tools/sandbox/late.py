"""A sandbox that is looked for while the server starts already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from vivavoce.tools.sandbox.ports import Finished, Limits, NoSandbox, OnOutput, Sandbox

DEFAULT = Limits()


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
    def notes(self) -> tuple[str, ...]:
        return self._found.notes if self._found is not None else ()

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        limits: Limits = DEFAULT,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        await self._known.wait()
        assert self._found is not None
        return await self._found.run(
            command, cwd=cwd, limits=limits, network=network, on_output=on_output
        )
