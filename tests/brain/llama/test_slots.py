"""Slots in use: who has which, what is put away, what comes back, who goes first."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.brain.llama.slots import BACKGROUND, MOST, Seat, Seats, Shelf, Slots, alike
from vivavoce.errors import BrainError


def test_a_conversation_keeps_its_slot() -> None:
    slots = Slots(2)
    first = slots.take("a")
    assert first.arrived
    assert slots.take("a") == Seat(first.slot)


def test_the_background_has_its_own_and_takes_nobodys() -> None:
    slots = Slots(1)
    slots.take("a")
    assert slots.take("") == Seat(BACKGROUND)
    assert slots.take("a") == Seat(1)


def test_who_was_silent_for_longest_goes() -> None:
    slots = Slots(2)
    slots.take("a")
    slots.take("b")
    slots.take("a")
    assert slots.take("c").instead_of == "b"


def test_who_is_being_answered_stays_if_another_can_go() -> None:
    slots = Slots(2)
    a = slots.take("a")
    slots.take("b")
    assert slots.take("c", busy={a.slot}).instead_of == "b"
    assert slots.take("d", busy={1, 2}).instead_of == "a"


def test_a_place_that_was_left_is_free() -> None:
    slots = Slots(1)
    slots.take("a")
    slots.leave("a")
    assert slots.take("b") == Seat(1, arrived=True)


@given(st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30))
def test_no_two_conversations_share_a_slot(order: list[str]) -> None:
    slots = Slots(2)
    sits: dict[str, int] = {}
    for live in order:
        seat = slots.take(live)
        sits.pop(seat.instead_of, None)
        if live:
            sits[live] = seat.slot
        assert len(set(sits.values())) == len(sits)
        assert BACKGROUND not in sits.values()


_PREFIX = "You are Ada. " * 40


class _Memory:
    """Remembers what was done, as llama.cpp would with its files."""

    def __init__(self, folder: Path, *, damaged: bool = False) -> None:
        self._folder, self._damaged = folder, damaged
        self.done: list[tuple[str, int]] = []

    async def save(self, slot: int, file: str) -> None:
        self.done.append(("save", slot))
        (self._folder / file).write_text("memory")

    async def restore(self, slot: int, file: str) -> None:
        self.done.append(("restore", slot))
        if self._damaged or not (self._folder / file).exists():
            raise BrainError("no such memory")

    async def erase(self, slot: int) -> None:
        self.done.append(("erase", slot))


async def _ask(seats: Seats, memory: _Memory, live: str, text: str) -> str:
    """Returns what of the text was there already."""
    async with seats.taken(memory, live, text) as place:
        held = place.held
        place.held = text
        return held


async def _warm(seats: Seats, memory: _Memory, live: str, text: str) -> None:
    async with seats.warming(memory, live, text) as warming:
        async with warming.step() as place:
            assert place is not None
            place.held = text
        await warming.keep(text)


async def test_a_conversation_goes_on_from_what_it_has_read(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    await _ask(seats, memory, "a", "one")
    assert await _ask(seats, memory, "a", "one two") == "one"
    assert memory.done == []


async def test_who_loses_its_slot_is_saved_and_comes_back(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    await _ask(seats, memory, "a", "a long talk")
    await _ask(seats, memory, "b", "b")
    assert await _ask(seats, memory, "a", "a long talk goes on") == "a long talk"
    assert memory.done == [("save", 1), ("save", 1), ("restore", 1)]


async def test_a_forgotten_conversation_leaves_no_file(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    await _ask(seats, memory, "a", "a")
    await _ask(seats, memory, "b", "b")
    seats.leave("a")
    seats.leave("b")
    assert list(tmp_path.iterdir()) == []


async def test_a_prefix_is_kept_and_given_to_whoever_begins_like_it(tmp_path: Path) -> None:
    memory = _Memory(tmp_path)
    await _warm(Seats(1, Shelf(tmp_path, "m")), memory, "", f"{_PREFIX}Today is Monday.")
    later = Seats(1, Shelf(tmp_path, "m"))  # another process
    held = await _ask(later, memory, "a", f"{_PREFIX}Today is Tuesday. Hello!")
    assert held == f"{_PREFIX}Today is "
    assert memory.done == [("save", 0), ("restore", 1)]


async def test_much_the_same_prefix_is_not_kept_twice(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    await _warm(seats, memory, "", f"{_PREFIX}Monday")
    await _warm(seats, memory, "", f"{_PREFIX}Tuesday")
    assert memory.done.count(("save", 0)) == 1


async def test_another_model_has_a_shelf_of_its_own(tmp_path: Path) -> None:
    memory = _Memory(tmp_path)
    await _warm(Seats(1, Shelf(tmp_path, "m")), memory, "", _PREFIX)
    assert Shelf(tmp_path, "n").best(_PREFIX) is None
    assert Shelf(tmp_path, "m").best(_PREFIX) is not None


async def test_a_damaged_memory_is_dropped_and_read_anew(tmp_path: Path) -> None:
    await _warm(Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path), "", _PREFIX)
    seats = Seats(1, Shelf(tmp_path, "m"))
    assert await _ask(seats, _Memory(tmp_path, damaged=True), "a", _PREFIX) == ""
    assert list(tmp_path.iterdir()) == []


def test_the_shelf_is_bounded(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, "m")
    for number in range(MOST + 5):
        (tmp_path / shelf.name(f"{number}{_PREFIX}")).write_text("memory")
        shelf.put(f"{number}{_PREFIX}")
    assert len(list(tmp_path.glob("*.kv"))) == len(list(tmp_path.glob("*.txt"))) == MOST


def test_live_memories_of_an_earlier_process_are_swept(tmp_path: Path) -> None:
    (tmp_path / "live-1.kv").write_text("x")
    Shelf(tmp_path, "m")
    assert list(tmp_path.iterdir()) == []


async def test_reading_ahead_gives_way_to_the_question(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    async with seats.warming(memory, "a", "one two") as warming:
        await _ask(seats, memory, "a", "one two three")
        async with warming.step() as place:
            assert place is None


async def test_the_background_waits_for_the_live_ones(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    order = []

    async def background() -> None:
        await _ask(seats, memory, "", "summary")
        order.append("background")

    async with asyncio.TaskGroup() as group, seats.taken(memory, "a", "hello"):
        group.create_task(background())
        for _ in range(10):
            await asyncio.sleep(0)
        order.append("live")
    assert order == ["live", "background"]


async def test_one_request_a_slot_at_a_time(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    inside = 0

    async def one() -> None:
        nonlocal inside
        async with seats.taken(memory, "a", "hello"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(one())


async def test_nothing_is_remembered_of_a_process_that_is_gone(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    await _ask(seats, memory, "a", "one")
    seats.lost()
    assert await _ask(seats, memory, "a", "one two") == ""


@pytest.mark.parametrize(
    ("one", "other", "same"), [("abc", "abd", 2), ("", "a", 0), ("ab", "abc", 2), ("x", "y", 0)]
)
def test_alike_counts_the_letters_in_common(one: str, other: str, same: int) -> None:
    assert alike(one, other) == same


async def test_the_background_reads_ahead_only_while_nobody_talks(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    order = []

    async def background() -> None:
        await _warm(seats, memory, "", _PREFIX)
        order.append("read")

    async with asyncio.TaskGroup() as group:
        await _ask(seats, memory, "a", "hello")
        group.create_task(background())
        for _ in range(10):
            await asyncio.sleep(0)
        order.append("left")  # between two questions too, until the conversation is over
        seats.leave("a")
    assert order == ["left", "read"]


async def test_who_comes_in_the_middle_of_it_goes_on_from_there(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    begun = _PREFIX[: len(_PREFIX) // 2]
    async with seats.warming(memory, "", _PREFIX) as warming:
        async with warming.step() as place:
            assert place is not None
            place.held = begun
        assert await _ask(seats, memory, "a", f"{_PREFIX}Hello!") == begun
        assert memory.done == [("save", 0), ("restore", 1)]
        assert list(tmp_path.iterdir()) == []
        seats.leave("a")
        async with warming.step() as place:  # and it need not read what that one has read
            assert place is not None
            assert place.held == _PREFIX


async def test_who_comes_in_the_middle_of_a_step_waits_for_its_end_only(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    async with (
        asyncio.TaskGroup() as group,
        seats.warming(memory, "", _PREFIX) as warming,
        warming.step() as place,
    ):
        assert place is not None
        place.held = _PREFIX[:-50]
        asking = group.create_task(_ask(seats, memory, "a", _PREFIX))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not asking.done()
        place.held = _PREFIX
    assert asking.result() == _PREFIX


async def test_what_one_conversation_has_read_another_need_not(tmp_path: Path) -> None:
    seats, memory = Seats(2, Shelf(tmp_path, "m")), _Memory(tmp_path)
    await _ask(seats, memory, "a", f"{_PREFIX}I am Ann.")
    assert seats.begun("b", f"{_PREFIX}I am Bob.") == len(f"{_PREFIX}I am ")
    assert await _ask(seats, memory, "b", f"{_PREFIX}I am Bob.") == f"{_PREFIX}I am "
    assert memory.done == [("save", 1), ("restore", 2)]
    assert list(tmp_path.iterdir()) == []


async def test_one_that_is_answered_is_not_waited_for(tmp_path: Path) -> None:
    seats, memory = Seats(2, Shelf(tmp_path, "m")), _Memory(tmp_path)
    async with seats.taken(memory, "a", _PREFIX) as place:
        place.held = _PREFIX
        assert seats.begun("b", _PREFIX) == 0
        async with asyncio.timeout(5):
            assert await _ask(seats, memory, "b", _PREFIX) == ""


async def test_the_background_goes_on_from_what_a_conversation_has_read(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    async with seats.warming(memory, "", _PREFIX) as warming:
        await _ask(seats, memory, "a", _PREFIX[:-50])
        seats.leave("a")
        async with warming.step() as place:
            assert place is not None
            assert place.held == _PREFIX[:-50]


async def test_a_background_that_answers_is_not_waited_for(tmp_path: Path) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    async with seats.taken(memory, "", _PREFIX) as place:
        place.held = _PREFIX
        async with asyncio.timeout(5):
            assert await _ask(seats, memory, "a", _PREFIX) == ""


async def test_what_a_conversation_has_left_on_the_shelf_is_not_read_behind_it(
    tmp_path: Path,
) -> None:
    seats, memory = Seats(1, Shelf(tmp_path, "m")), _Memory(tmp_path)
    async with seats.warming(memory, "", _PREFIX) as warming:
        await _warm(seats, memory, "a", _PREFIX)
        seats.leave("a")
        async with warming.step() as place:
            assert place is not None
            assert place.held == _PREFIX


async def test_what_was_read_for_somebody_goes_at_their_wish_and_the_common_beginning_stays(
    tmp_path: Path,
) -> None:
    memory, shelf = _Memory(tmp_path), Shelf(tmp_path, "m")
    seats = Seats(1, shelf)
    await _warm(seats, memory, "", _PREFIX)
    await _warm(seats, memory, "ann", "Ann likes plums. " * 40)
    await _ask(seats, memory, "ann", "Ann likes plums. " * 50)
    await _ask(seats, memory, "bob", "Bob likes pears. " * 50)  # Ann is put aside
    assert any("plums" in path.read_text() for path in tmp_path.glob("*.txt"))
    assert list(tmp_path.glob("live-*"))
    seats.leave("ann")
    seats.leave("bob")
    await seats.clear(memory)
    assert not any("plums" in path.read_text() for path in tmp_path.glob("*.txt"))
    assert not list(tmp_path.glob("live-*"))
    assert {done for done in memory.done if done[0] == "erase"} == {("erase", 0), ("erase", 1)}
    kept = shelf.best(_PREFIX)
    assert kept is not None
    assert Shelf(tmp_path, "m").best("Ann likes plums. " * 40) is None, "after a restart too"
    assert Shelf(tmp_path, "m").best(_PREFIX) == kept


async def test_who_is_talking_keeps_their_place_when_others_are_forgotten(tmp_path: Path) -> None:
    memory = _Memory(tmp_path)
    seats = Seats(2, Shelf(tmp_path, "m"))
    await _ask(seats, memory, "bob", _PREFIX)
    await seats.clear(memory)
    assert ("erase", 1) not in memory.done
    assert await _ask(seats, memory, "bob", _PREFIX) == _PREFIX
    await seats.clear(None)  # before the model is loaded
