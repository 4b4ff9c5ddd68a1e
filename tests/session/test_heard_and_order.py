"""What was heard, and where it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vivavoce.session.speech import heard_text
from vivavoce.session.talk import Order

WORDS = "one two three four five"


@given(st.text(max_size=200), st.floats(0, 60_000), st.none() | st.floats(1, 60_000))
def test_what_was_heard_is_a_beginning_of_what_was_generated(
    generated: str, played: float, total: float | None
) -> None:
    heard = heard_text(generated, played, total_ms=total)
    assert generated.startswith(heard)


def test_a_word_cut_in_half_was_not_heard() -> None:
    assert heard_text(WORDS, 500, total_ms=1000) == "one two"
    assert heard_text(WORDS, 1000, total_ms=1000) == WORDS
    assert heard_text(WORDS, 0, total_ms=1000) == ""


@given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 30), st.floats(0, 1e6))))
def test_a_predecessor_always_stands_before_its_successor(
    joins: list[tuple[int, int | None, float]],
) -> None:
    order = Order()
    placed: dict[int, float] = {}
    for item, previous, at in joins:
        fresh = item not in placed
        spot = order.place(str(item), None if previous is None else str(previous), at)
        assert fresh or placed[item] == spot, "a place is kept"
        if fresh and previous in placed:
            assert placed[previous] <= spot
        placed[item] = spot


def test_items_that_join_at_the_same_moment_keep_their_order() -> None:
    order = Order()
    spots = [order.place(name, None, 1000.0) for name in "abc"]
    assert spots == sorted(set(spots))
