"""Who sits where."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vivavoce.brain.llama.slots import BACKGROUND, Seat, Slots


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
