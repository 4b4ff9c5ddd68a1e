"""Work that cannot be cut into steps, done once: an agent that is another's program.

What such an agent asks for, and in which order, is never the same twice, so
all of it is one step. That step is begun anew after a crash, at another number
than before: calls made within it get ids of their own, and are not taken for
those of the attempt that died.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from vivavoce.runtime.tasks.ports import Desk, GaveUp, Value

MAX_ATTEMPTS = 20
_STEP = "attempt"


async def attempted(
    desk: Desk,
    begin: Callable[[Sequence[Value]], Awaitable[Value]],
    work: Callable[[Value], Awaitable[Value]],
) -> Value:
    """What `work` gave, now or before a restart.

    `begin` is told what it gave in the attempts that died, oldest first, and
    gives what the next one should know; `work` is handed what `begin` gave in
    this process.
    """
    mine = secrets.token_hex(8)
    died: list[Value] = []

    async def start() -> dict[str, Any]:
        return {"run": mine, "begun": await begin(died)}

    while len(died) < MAX_ATTEMPTS:
        # All steps have one name: which of them begins and which ends is known from its value.
        kept = await desk.step(_STEP, start)
        if "done" in kept:
            return kept["done"]
        if kept["run"] == mine:
            return await _finish(desk, kept["begun"], work)
        died.append(kept["begun"])
    raise GaveUp("The work was interrupted too often", suggestions=["Start it again"])


async def _finish(desk: Desk, begun: Value, work: Callable[[Value], Awaitable[Value]]) -> Value:
    async def finish() -> dict[str, Any]:
        return {"done": await work(begun)}

    return (await desk.step(_STEP, finish))["done"]
