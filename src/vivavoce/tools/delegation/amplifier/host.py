"""Whom an Amplifier session turns to: for a yes or no, and to show something."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vivavoce.tools.delegation.window import Closed, Window
from vivavoce.wire.clean import clean_line

_YES = ("allow once", "allow", "yes", "approve", "ok")
_NO = ("deny", "no", "reject")


class Approvals:
    """Its `ApprovalSystem`. The timeout and the default are ours, and the default is no."""

    def __init__(self, window: Window, phase: str) -> None:
        self._window = window
        self._phase = phase

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> str:
        question = f"{self._phase}: {clean_line(prompt)}"
        try:
            yes = await self._window.approve("amplifier", {"prompt": clean_line(prompt)}, question)
        except Closed:
            yes = False
        return _option(options, _YES if yes else _NO) or ("Allow" if yes else "Deny")


class Display:
    """Its `DisplaySystem`. May be called from a thread of its runtime."""

    def __init__(self, window: Window, phase: str) -> None:
        self._window = window
        self._phase = phase
        self._loop = asyncio.get_running_loop()

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        self._loop.call_soon_threadsafe(self._window.say, message, None, self._phase)


def _option(options: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Never one that would answer for what is asked later too."""
    once = [each for each in options if "always" not in each.lower()]
    for word in wanted:
        for each in once:
            if each.lower().startswith(word):
                return each
    return None
