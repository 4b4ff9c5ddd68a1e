"""Who uses which slot of the model when, and what it remembers: one request a slot at a time.

Slot 0 is for work in the background; it never takes another. The live
conversations share the rest: who has not been heard of for longest goes. A
question goes before the reading ahead of it. The background answers only
while no live conversation is at work, and reads ahead only while there is
none. A conversation that loses its slot is saved and comes back in
milliseconds; a new one begins with what the shelf has kept of its prompt, or
with what another slot has read of it so far.

A file on the shelf is the model's memory of a text, written and read by llama.cpp;
beside it lies the text. A later prompt seldom is that text, but often begins like it
(the agent's prompt and its tools, with another date at the end).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vivavoce.errors import BrainError
from vivavoce.wire.values import Value

BACKGROUND = 0
MOST = 8
_WORTH = 200
"""Letters; reading fewer anew is as quick."""
_SAVED = 8
_OWN = "-own-"
_ALIKE = 0.9


class Memory(Protocol):
    """The part of the connection that puts a slot's memory away and back."""

    async def save(self, slot: int, file: str) -> None: ...

    async def restore(self, slot: int, file: str) -> None: ...

    async def erase(self, slot: int) -> None: ...


@dataclass
class Place:
    """A slot while somebody uses it."""

    slot: int
    held: str = ""
    """What it has read, as far as we know."""
    asked: int = 0
    """Counts the questions: reading ahead stops when one has come."""
    answering: bool = False


class Seats:
    def __init__(self, live: int, shelf: Shelf) -> None:
        self._slots = Slots(live)
        self._shelf = shelf
        self._places = [Place(slot) for slot in range(self._slots.total)]
        self._locks = [asyncio.Lock() for _ in self._places]
        self._saved: dict[str, str] = {}
        self._working = 0
        self._quiet, self._empty = asyncio.Event(), asyncio.Event()
        self._quiet.set()
        self._empty.set()

    def leave(self, live: str) -> None:
        self._slots.leave(live)
        self._drop_saved(live)
        self._look_round()

    async def clear(self, memory: Memory | None) -> None:
        """What is kept of anybody goes: from the shelf, of those put aside, and in the slots that
        nobody has now. What every conversation begins with stays."""
        for live in list(self._saved):
            self._drop_saved(live)
        self._shelf.clear()
        for place in self._places:
            free = place.slot not in self._slots.taken and not self._locks[place.slot].locked()
            if free and memory is not None:
                async with self._locks[place.slot]:
                    place.held = ""
                    with contextlib.suppress(BrainError):  # it is gone, and all that it held
                        await memory.erase(place.slot)

    def lost(self) -> None:
        """The process is gone, and with it all it remembered, but for the shelf."""
        for live in list(self._saved):
            self.leave(live)
        self._slots.clear()
        self._look_round()
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
                place.answering = True
                try:
                    await self._prepare(memory, seat, live, text)
                    yield place
                finally:
                    place.answering = False

    @asynccontextmanager
    async def warming(self, memory: Memory, live: str, text: str) -> AsyncIterator[Warming]:
        """For reading ahead, a step at a time."""
        async with self._at_work(live):
            seat = self._seat(live)
            place = self._places[seat.slot]
            async with self._locks[seat.slot]:
                await self._prepare(memory, seat, live, text)
            yield Warming(self, memory, live, text, place)

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
        seat = self._slots.take(live, busy)
        self._look_round()
        return seat

    def begun(self, live: str, text: str) -> int:
        """How many letters of it somebody has read, from whom `live` can have them."""
        own = self._slots.place_of(live)
        there = [one.held for one in self._places if one.slot == own or self._lends(one)]
        there.append(self._saved.get(live, ""))
        if (kept := self._shelf.best(text)) is not None:
            there.append(kept.text)
        return max(alike(one, text) for one in there)

    def _look_round(self) -> None:
        """Whether somebody is there."""
        if self._slots.anyone:
            self._empty.clear()
        else:
            self._empty.set()

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
            self._drop_saved(live)
        await self._begin(memory, place, text)
        if live:
            await self._take_over(memory, place, text)

    async def _begin(self, memory: Memory, place: Place, text: str) -> None:
        """With the best that the shelf has, if that is better than what is there."""
        if (kept := self._shelf.best(text, place.held)) and not await self._restore(
            memory, place, kept.file, kept.text
        ):
            self._shelf.drop(kept)
        place.held = text[: alike(place.held, text)]

    async def _take_over(self, memory: Memory, place: Place, text: str) -> None:
        """What another slot has read of it, as far as it has: the background's, whose lock is held
        for a step at a time by somebody who wants no other, or that of a conversation which nobody
        uses now. An answer may take long, and is let be."""
        free = [one for one in self._places if one is not place and self._lends(one)]
        best = max(free, key=lambda one: alike(one.held, text), default=place)
        if alike(best.held, text) < alike(place.held, text) + _WORTH:
            return
        file = self._shelf.live_name(f"-{place.slot}")
        async with self._locks[best.slot]:
            held = best.held
            try:
                with contextlib.suppress(BrainError):  # no room on the disk: it is read anew
                    await memory.save(best.slot, file)
                    if await self._restore(memory, place, file, held):
                        place.held = text[: alike(held, text)]
            finally:
                self._shelf.remove(file)

    def _lends(self, place: Place) -> bool:
        """Two who waited for each other would wait for ever."""
        free = place.slot == BACKGROUND or not self._locks[place.slot].locked()
        return free and not place.answering

    def _drop_saved(self, live: str) -> None:
        if self._saved.pop(live, None) is not None:
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

    def __init__(self, seats: Seats, memory: Memory, live: str, text: str, place: Place) -> None:
        self._seats, self._memory = seats, memory
        self._live, self._text = live, text
        self._place, self._asked = place, place.asked

    @asynccontextmanager
    async def step(self) -> AsyncIterator[Place | None]:
        """The slot for one step; None when somebody else has it now. A conversation that came
        between two steps may have left more of the text on the shelf than is read here."""
        if not self._live:
            await self._seats._empty.wait()
            await self._seats._quiet.wait()
        async with self._seats._locks[self._place.slot]:
            ours = self._place.asked == self._asked
            if ours and not self._live:
                await self._seats._begin(self._memory, self._place, self._text)
                await self._seats._take_over(self._memory, self._place, self._text)
            yield self._place if ours else None

    async def keep(self, text: str) -> None:
        """On the shelf, unless something much like it is there."""
        shelf = self._seats._shelf
        best = shelf.best(text)
        if best and alike(best.text, text) >= _ALIKE * len(text):
            return
        async with self.step() as place:
            if place is not None:
                await self._memory.save(place.slot, shelf.name(text, own=bool(self._live)))
                shelf.put(text, own=bool(self._live))


# --- Who has which


class Seat(Value):
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

    def place_of(self, live: str) -> int | None:
        return self._taken.get(live)

    def leave(self, live: str) -> None:
        self._taken.pop(live, None)

    def clear(self) -> None:
        self._taken.clear()

    @property
    def taken(self) -> Container[int]:
        return self._taken.values()

    @property
    def anyone(self) -> bool:
        return bool(self._taken)


# --- The shelf


class Kept(Value):
    file: str
    text: str


class Shelf:
    """The kept beginnings of one model. All of it is small, and at a start or on a miss only."""

    def __init__(self, folder: Path, model: str) -> None:
        """`model` names everything that a memory depends on: its file, its settings."""
        self._folder = folder
        self._model = hashlib.sha256(model.encode()).hexdigest()[:12]
        self._kept = [
            Kept(path.with_suffix(".kv").name, path.read_text(errors="replace"))
            for path in sorted(folder.glob(f"{self._model}-*.txt"))
        ]
        for stale in folder.glob("live-*.kv"):
            stale.unlink(missing_ok=True)  # of conversations of an earlier process

    def best(self, prompt: str, beside: str = "") -> Kept | None:
        """What saves most reading, if it saves more than a slot does that holds `beside`."""
        least = alike(prompt, beside) + _WORTH
        found = None
        for kept in self._kept:
            if (same := alike(prompt, kept.text)) >= least:
                found, least = kept, same + 1
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(self._text(found.file))
        return found

    def name(self, prompt: str, *, own: bool = False) -> str:
        """`own`: it was read for somebody, and may say something of them."""
        mark = _OWN if own else "-"
        return f"{self._model}{mark}{hashlib.sha256(prompt.encode()).hexdigest()[:20]}.kv"

    def live_name(self, live: str) -> str:
        return f"live-{hashlib.sha256(live.encode()).hexdigest()[:20]}.kv"

    def put(self, prompt: str, *, own: bool = False) -> None:
        """Its memory has been saved as `name`. The one not used for longest makes place."""
        kept = Kept(self.name(prompt, own=own), prompt)
        with contextlib.suppress(OSError):
            self._text(kept.file).write_text(prompt)
            self._kept = [*(one for one in self._kept if one.file != kept.file), kept]
            self._kept.sort(key=lambda one: self._text(one.file).stat().st_mtime)
        while len(self._kept) > MOST:
            self.drop(self._kept[0])

    def drop(self, kept: Kept) -> None:
        if kept not in self._kept:
            return  # two found it damaged at once
        self._kept.remove(kept)
        self._text(kept.file).unlink(missing_ok=True)
        self.remove(kept.file)

    def clear(self) -> None:
        """Of what was read for somebody nothing stays."""
        self._kept = [kept for kept in self._kept if _OWN not in kept.file]
        clear_kept(self._folder)

    def remove(self, file: str) -> None:
        (self._folder / file).unlink(missing_ok=True)

    def _text(self, file: str) -> Path:
        return self._folder / file.replace(".kv", ".txt")


def clear_kept(folder: Path) -> None:
    """What any model keeps in this folder of what was read for somebody, and what was put aside."""
    for pattern in (f"*{_OWN}*", "live-*.kv"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def alike(one: str, other: str) -> int:
    """How many letters they begin with in common. By halves: comparing slices is quick."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
