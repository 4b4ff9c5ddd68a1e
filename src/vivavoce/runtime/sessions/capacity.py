"""Room at the provider: where it is full, a written session that rests gives way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from vivavoce.errors import Unavailable
from vivavoce.runtime.sessions.parts import Parts

T = TypeVar("T")

_SOON = (0.0, 0.05, 0.2, 0.5)  # the provider notices a moment later that a line is gone


async def with_room(parts: Parts, ask: Callable[[], Awaitable[T]]) -> T:
    """What the provider answers. Its own refusal, where nobody can give way."""
    try:
        return await ask()
    except Unavailable as fault:
        # Not where its models are missing: that is no question of room.
        if type(fault) is not Unavailable or not await parts.registry.give_way():
            raise
    for delay in _SOON:
        await parts.clock.sleep(delay)
        try:
            return await ask()
        except Unavailable as fault:
            refusal = fault
    raise refusal
