"""When to begin with what takes long to load."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Begin = Callable[[], Awaitable[None]]
"""Waits until the server answers: a thread that imports takes turns with the event loop."""


async def at_once() -> None:
    """Where nobody waits for a server."""
