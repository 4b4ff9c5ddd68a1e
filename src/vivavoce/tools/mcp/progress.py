"""A server's progress as ours, at a pace that people can follow."""

from __future__ import annotations

import asyncio
import math

from vivavoce.runtime.ports import Report
from vivavoce.tools.mcp.schemas import plain_text

SELDOM = 0.1
"""Seconds between two reports; what comes in between is superseded anyway."""


class Progress:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._busy = False
        self._last = -math.inf

    async def heard(self, progress: float, total: float | None, message: str | None) -> None:
        now = asyncio.get_running_loop().time()
        done = total is not None and progress >= total
        if self._busy or (now - self._last < SELDOM and not done):
            return
        self._busy, self._last = True, now
        try:
            await self._report(*told(progress, total, message))
        finally:
            self._busy = False


def told(progress: float, total: float | None, message: str | None) -> tuple[str, int | None]:
    """The words, and a percentage where the whole is known."""
    known = total is not None and total > 0 and math.isfinite(total) and math.isfinite(progress)
    share = max(0, min(100, round(100 * progress / total))) if known and total else None
    if message and (words := plain_text(message, 200)):
        return words, share
    return (f"{progress:g} of {total:g}" if known else f"{progress:g}"), share
