"""Which conversation has which of the model's places. Pure.

Slot 0 is for work in the background; it never takes another. The live
conversations share the rest: who has not been heard of for longest goes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container
from dataclasses import dataclass

BACKGROUND = 0


@dataclass(frozen=True, slots=True)
class Seat:
    slot: int
    arrived: bool = False
    """It had no place until now."""
    instead_of: str = ""
    """Whose place it was."""


class Slots:
    def __init__(self, live: int) -> None:
        if live < 1:
            raise ValueError("a live conversation needs a slot")
        self.total = live + 1
        self._taken: OrderedDict[str, int] = OrderedDict()
        """The one who was heard of last comes last."""

    def take(self, live: str, busy: Container[int] = ()) -> Seat:
        """A place for it. Who is `busy` keeps its own, as long as another one can go."""
        if not live:
            return Seat(BACKGROUND)
        if live in self._taken:
            self._taken.move_to_end(live)
            return Seat(self._taken[live])
        free = sorted(set(range(1, self.total)) - set(self._taken.values()))
        if free:
            self._taken[live] = free[0]
            return Seat(free[0], arrived=True)
        leaving = next((who for who, slot in self._taken.items() if slot not in busy), None)
        if leaving is None:
            leaving = next(iter(self._taken))
        slot = self._taken.pop(leaving)
        self._taken[live] = slot
        return Seat(slot, arrived=True, instead_of=leaving)

    def leave(self, live: str) -> None:
        self._taken.pop(live, None)

    def clear(self) -> None:
        self._taken.clear()
