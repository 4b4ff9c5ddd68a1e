"""Who uses which slot when, and what it remembers: one request a slot at a time.

A question goes before the reading ahead of it, and the background reads only
while no live conversation is at work. A conversation that loses its slot is
saved and comes back in milliseconds; a new one begins with what the shelf
has kept of its prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from vivavoce.brain.llama.kept import Shelf, alike
from vivavoce.brain.llama.slots import Seat, Slots
from vivavoce.errors import BrainError

_SAVED = 8
_ALIKE = 0.9


class Memory(Protocol):
    """The part of the line that puts a slot's memory away and back."""

    async def save(self, slot: int, file: str) -> None: ...

    async def restore(self, slot: int, file: str) -> None: ...


@dataclass
class Place:
    """A slot while somebody uses it."""

    slot: int
    held: str = ""
    """What it has read, as far as we know."""
    asked: int = 0
    """Counts the questions: reading ahead stops when one has come."""

    def holds(self, text: str) -> None:
        self.held = text


class Seats:
    def __init__(self, live: int, shelf: Shelf) -> None:
        self._slots = Slots(live)
        self._shelf = shelf
        self._places = [Place(slot) for slot in range(self._slots.total)]
        self._locks = [asyncio.Lock() for _ in self._places]
        self._saved: dict[str, str] = {}
        self._working = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def leave(self, live: str) -> None:
        self._slots.leave(live)
        if self._saved.pop(live, None) is not None:
            self._shelf.remove(self._shelf.live_name(live))

    def lost(self) -> None:
        """The process is gone, and with it all it remembered, but for the shelf."""
        for live in list(self._saved):
            self.leave(live)
        self._slots.clear()
        for place in self._places:
            place.held = ""
            place.asked += 1

    @asynccontextmanager
    async def taken(self, memory: Memory, live: str, text: str) -> AsyncIterator[Place]:
        """For a question."""
        async with self._at_work(live):
            seat = self._seat(live)
            place = self._places[seat.slot]
            place.asked += 1
            async with self._locks[seat.slot]:
                await self._prepare(memory, seat, live, text)
                yield place

    @asynccontextmanager
    async def warming(self, memory: Memory, live: str, text: str) -> AsyncIterator[Warming]:
        """For reading ahead, a step at a time."""
        async with self._at_work(live):
            seat = self._seat(live)
            place = self._places[seat.slot]
            async with self._locks[seat.slot]:
                await self._prepare(memory, seat, live, text)
            yield Warming(self, memory, live, place)

    @asynccontextmanager
    async def _at_work(self, live: str) -> AsyncIterator[None]:
        if not live:
            await self._quiet.wait()
            yield
            return
        self._working += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._working -= 1
            if not self._working:
                self._quiet.set()

    def _seat(self, live: str) -> Seat:
        busy = {slot for slot, lock in enumerate(self._locks) if lock.locked()}
        return self._slots.take(live, busy)

    async def _prepare(self, memory: Memory, seat: Seat, live: str, text: str) -> None:
        """Who leaves is put away; who comes gets the best beginning there is."""
        place = self._places[seat.slot]
        if seat.instead_of and place.held and len(self._saved) < _SAVED:
            self._saved[seat.instead_of] = place.held
            await memory.save(seat.slot, self._shelf.live_name(seat.instead_of))
            if seat.instead_of not in self._saved:  # it was over meanwhile
                self._shelf.remove(self._shelf.live_name(seat.instead_of))
        if seat.arrived and live in self._saved:
            await self._restore(memory, place, self._shelf.live_name(live), self._saved[live])
            self.leave_saved(live)
        if (kept := self._shelf.best(text, place.held)) and not await self._restore(
            memory, place, kept.file, kept.text
        ):
            self._shelf.drop(kept)
        place.held = text[: alike(place.held, text)]

    def leave_saved(self, live: str) -> None:
        self._saved.pop(live, None)
        self._shelf.remove(self._shelf.live_name(live))

    async def _restore(self, memory: Memory, place: Place, file: str, text: str) -> bool:
        try:
            await memory.restore(place.slot, file)
        except BrainError:  # written by another version, or damaged: it is read anew
            place.held = ""
            return False
        place.held = text
        return True


class Warming:
    """Reading ahead in one slot, until it is done or the question comes."""

    def __init__(self, seats: Seats, memory: Memory, live: str, place: Place) -> None:
        self._seats, self._memory = seats, memory
        self._live, self._place, self._asked = live, place, place.asked

    @property
    def held(self) -> str:
        return self._place.held

    @asynccontextmanager
    async def step(self) -> AsyncIterator[Place | None]:
        """The slot for one step; None when somebody else has it now."""
        if not self._live:
            await self._seats._quiet.wait()
        async with self._seats._locks[self._place.slot]:
            yield self._place if self._place.asked == self._asked else None

    async def keep(self, text: str) -> None:
        """On the shelf, unless something much like it is there."""
        shelf = self._seats._shelf
        best = shelf.best(text)
        if best and alike(best.text, text) >= _ALIKE * len(text):
            return
        async with self.step() as place:
            if place is not None:
                await self._memory.save(place.slot, shelf.name(text))
                shelf.put(text)
