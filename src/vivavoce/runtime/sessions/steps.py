"""What goes through the two queues of a live session: events on their way in, steps on their
way out, and those who wait for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from vivavoce.session import effects as fx
from vivavoce.session.events import SessionEvent
from vivavoce.wire.events import TranscriptionCompleted, TranscriptionDelta
from vivavoce.wire.records.talk import Change


@dataclass(slots=True)
class Step:
    """What one event leaves to do: the durable part, then the rest in order."""

    changes: list[Change] = field(default_factory=list)
    after: list[fx.Effect] = field(default_factory=list)
    taken: asyncio.Future[bool] | None = None


@dataclass(frozen=True, slots=True)
class Posted:
    """An event on its way: about which call, and who waits for it to be durable."""

    event: SessionEvent
    call_id: str | None = None
    taken: asyncio.Future[bool] | None = None


def resolve(taken: asyncio.Future[bool] | None, *, value: bool) -> None:
    if taken is not None and not taken.done():
        taken.set_result(value)


def still_news(effects: list[fx.Effect]) -> list[fx.Effect]:
    """Without the deltas of what is complete by now: its whole text was just announced."""
    complete = {
        effect.event.item_id
        for effect in effects
        if isinstance(effect, fx.Tell) and isinstance(effect.event, TranscriptionCompleted)
    }
    if not complete:
        return effects
    return [
        effect
        for effect in effects
        if not (
            isinstance(effect, fx.Tell)
            and isinstance(effect.event, TranscriptionDelta)
            and effect.event.item_id in complete
        )
    ]
