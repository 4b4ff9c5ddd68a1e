"""What is kept for the next time stays within its room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vivavoce.engine.mouth.speaking import Ready, Wanted
from vivavoce.engine.ports import Utterance
from vivavoce.engine.turn.manners import OPENINGS, SLOW, UNHEARD


def wanted(name: str) -> Wanted:
    return Wanted(name, "marin", 1.0)


def utterance(size: int) -> Utterance:
    return Utterance(bytes(size), ())


def test_what_was_not_asked_for_the_longest_time_goes_first() -> None:
    ready = Ready(30)
    for name in "abc":
        ready.put(wanted(name), utterance(10))
    assert ready.get(wanted("a"))
    ready.put(wanted("d"), utterance(10))
    assert [name for name in "abcd" if wanted(name) in ready] == ["a", "c", "d"]


def test_another_voice_or_speed_is_another_utterance() -> None:
    ready = Ready(30)
    ready.put(Wanted("a", "marin", 1.0), utterance(10))
    assert ready.get(Wanted("a", "ash", 1.0)) is None
    assert ready.get(Wanted("a", "marin", 1.1)) is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 120)), max_size=30))
def test_it_never_holds_more_than_its_room(puts: list[tuple[str, int]]) -> None:
    ready = Ready(100)
    for name, size in puts:
        ready.put(wanted(name), utterance(size))
        kept = [ready.get(wanted(each)) for each in "abcdef"]
        assert sum(len(each.pcm) for each in kept if each) <= 100
        assert (wanted(name) in ready) == (size <= 100)


def test_no_opening_is_listed_twice() -> None:
    assert len(set(OPENINGS)) == len(OPENINGS)
    assert {*SLOW, *UNHEARD} <= set(OPENINGS)
