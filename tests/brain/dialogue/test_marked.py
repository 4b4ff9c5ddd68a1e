"""From marks on the words of an utterance to commands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.brain.dialogue.commands import Begin, Fill, Plain
from vivavoce.brain.dialogue.marked import (
    Span,
    Wish,
    allowed,
    answering,
    best,
    commands,
    sure,
    wishes,
)

LABELS = ("O", "B-remind", "I-remind", "B-move", "I-move")


def scores(*rows: str) -> np.ndarray:
    """A piece a row, each quite sure of its label."""
    made = np.full((len(rows), len(LABELS)), -6.0, dtype=np.float32)
    for at, row in enumerate(rows):
        made[at, LABELS.index(row)] = -0.1
    return made


def test_a_stretch_goes_from_where_it_begins_to_where_it_is_not_gone_on_with() -> None:
    found = best(scores("O", "B-remind", "I-remind", "O", "B-move", "I-move"), LABELS)
    assert found == [Span(1, 3, "remind"), Span(4, 6, "move")]


def test_two_of_one_kind_side_by_side_are_two() -> None:
    found = best(scores("B-remind", "I-remind", "B-remind"), LABELS)
    assert found == [Span(0, 2, "remind"), Span(2, 3, "remind")]


def test_nothing_goes_on_that_did_not_begin() -> None:
    made = scores("O", "I-move", "I-move")
    made[1, LABELS.index("B-move")] = -0.5  # the second best
    assert best(made, LABELS) == [Span(1, 3, "move")]


@given(st.lists(st.lists(st.floats(-20, 0, width=32), min_size=5, max_size=5), max_size=12))
def test_whatever_the_scores_stretches_are_in_order_and_apart(rows: list[list[float]]) -> None:
    found = best(np.array(rows, dtype=np.float32).reshape(len(rows), 5), LABELS)
    edges = [edge for span in found for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert all(span.start < span.end <= len(rows) for span in found)


def test_it_is_as_sure_as_of_the_stretch_that_is_least_certain() -> None:
    made = scores("B-remind", "I-remind", "B-move")
    stretches = best(made, LABELS)
    assert sure(made, LABELS, stretches) > 0.85
    made[2] = np.log([0.1, 0.0001, 0.3, 0.5, 0.0999])
    assert sure(made, LABELS, stretches) == pytest.approx(0.6, abs=0.01)
    assert sure(made, LABELS, []) == 0


ABLE = ("remind", "goal", "move", "delete", "done", "list")
KINDS = {"what": "words", "when": "time", "by": "time", "task": "thing"}


def test_a_stretch_has_no_slots_but_its_own() -> None:
    labels = ("O", "B-task", "I-task", "B-when", "I-when")
    made = np.log([[0.05, 0.1, 0.05, 0.7, 0.1], [0.05, 0.05, 0.2, 0.1, 0.6]]).astype(np.float32)
    free = allowed([Span(0, 2, "remind")], labels, {"remind": ["when"]}, 2)
    assert best(made + free, labels) == [Span(0, 2, "when")]
    bound = allowed([Span(0, 2, "delete")], labels, {"delete": ["task"]}, 2)
    assert best(made + bound, labels) == [Span(0, 2, "task")]
    assert best(made + allowed([], labels, {}, 2), labels) == []


def test_a_slot_is_made_of_its_pieces_without_what_was_taken_back() -> None:
    said = "email Ann, no, Beth on Friday"
    places = [(0, 5), (6, 9), (9, 10), (11, 13), (13, 14), (15, 19), (20, 22), (23, 29)]
    slots = [Span(0, 1, "what"), Span(5, 6, "what"), Span(6, 8, "when")]
    found = wishes(said, places, [Span(0, 8, "remind")], slots)
    assert commands(said, found, ABLE, [], KINDS) == (
        Begin("remind", {"what": "email Beth", "when": "on Friday"}, sure=True),
    )


def test_slots_belong_to_the_wish_that_they_begin_in() -> None:
    places = [(0, 1), (2, 3), (4, 5)]
    found = wishes(
        "a b c",
        places,
        [Span(0, 1, "done"), Span(1, 3, "remind")],
        [Span(0, 1, "task"), Span(1, 2, "what")],
    )
    assert [wish.slots for wish in found] == [{"task": ((0, 1),)}, {"what": ((2, 3),)}]


def wish(said: str, kind: str, stretch: str, **slots: str) -> Wish:
    start = said.index(stretch)
    places = {name: (_place(said, words, start),) for name, words in slots.items()}
    return Wish(kind, start, start + len(stretch), places)


def _place(said: str, words: str, start: int) -> tuple[int, int]:
    at = said.index(words, start)
    return at, at + len(words)


def test_several_wishes_know_their_own_stretch_of_what_was_said() -> None:
    said = "a is done, b at c"
    two = [wish(said, "done", "a is done", task="a"), wish(said, "remind", "b at c", what="b")]
    assert commands(said, two, ABLE, [], KINDS) == (
        Begin("done", {"task": "a"}, "a is done", sure=True),
        Begin("remind", {"what": "b"}, "b at c", sure=True),
    )


def test_of_a_time_nothing_is_cut_off() -> None:
    said = "something at quarter to eight in the morning"
    (made,) = commands(
        said, [wish(said, "remind", said, when="eight in the morning")], ABLE, [], KINDS
    )
    assert made == Begin("remind", {"when": "at quarter to eight in the morning"}, sure=True)


def test_what_a_comma_parts_from_a_time_may_have_been_taken_back() -> None:
    said = "to Thursday at two, no, Friday at one"
    (made,) = commands(said, [wish(said, "remind", said, when="Friday at one")], ABLE, [], KINDS)
    assert made == Begin("remind", {"when": "Friday at one"}, sure=True)


def test_who_only_says_when_to_be_told_wishes_for_nothing_else() -> None:
    said = "fetch Tom at half three. Give me a shout ten minutes before"
    two = [
        wish(said, "remind", "fetch Tom at half three", what="fetch Tom", when="at half three"),
        wish(said, "remind", "Give me a shout ten minutes before", when="ten minutes before"),
    ]
    (made,) = commands(said, two, ABLE, [], KINDS)
    slots = {"what": "fetch Tom", "when": "ten minutes before at half three"}
    assert made == Begin("remind", slots, sure=True)


@pytest.mark.parametrize("empty_first", [True, False])
def test_a_stretch_that_only_asks_is_one_with_the_wish_beside_it(empty_first: bool) -> None:
    said = "put that in. fetch Tom. remind me"
    empty = wish(said, "remind", "put that in" if empty_first else "remind me")
    named = wish(said, "remind", "fetch Tom", what="fetch Tom")
    (made,) = commands(said, [empty, named] if empty_first else [named, empty], ABLE, [], KINDS)
    assert made == Begin("remind", {"what": "fetch Tom"}, sure=True)


@pytest.mark.parametrize(
    ("answers", "name"),
    [(["what", "when"], "when"), (["what", "by"], "by"), (["task"], "when"), ([], "when")],
)
def test_an_answer_goes_to_the_slot_of_its_kind_that_can_be_answered(
    answers: list[str], name: str
) -> None:
    (made,) = commands(
        "at ten", [wish("at ten", "set", "at ten", when="at ten")], ABLE, answers, KINDS
    )
    assert made == Fill({name: "at ten"}, sure=True)


def test_an_answer_can_be_marked_as_what_can_be_answered() -> None:
    assert answering(["by"], KINDS) == ["when", "by"]
    assert answering([], KINDS) == list(KINDS)


def test_what_has_no_slots_is_plain() -> None:
    assert commands("ta", [wish("ta", "thanks", "ta")], ABLE, [], KINDS) == (Plain("thanks"),)


def test_what_this_talk_cannot_do_is_said_to_be_so() -> None:
    said = "look up the weather"
    found = [wish(said, "search", said, what="the weather")]
    assert commands(said, found, ABLE, [], KINDS) == (Plain("cannot"),)


TOOLS = {"what": "words", "to": "words", "file": "file", "sum": "words"}


def pieces(said: str, kind: str, **slots: Sequence[str]) -> Wish:
    places = {name: tuple(_place(said, one, 0) for one in words) for name, words in slots.items()}
    return Wish(kind, 0, len(said), places)


def test_of_two_numbers_the_last_is_meant() -> None:
    said = "put the limit up from twenty to forty five"
    found = pieces(said, "change", what=["the limit"], to=["twenty", "forty five"])
    (made,) = commands(said, [found], ["change"], [], TOOLS)
    assert made == Begin("change", {"what": "the limit", "to": "forty five"}, sure=True)


def test_what_is_said_twice_is_meant_once() -> None:
    said = "make the minutes twenty five, yes, twenty five, from Ann, no, from Ann"
    found = pieces(said, "change", to=["twenty five"] * 2)
    (made,) = commands(said, [found], ["change"], [], TOOLS)
    assert made == Begin("change", {"to": "twenty five"}, sure=True)
    twice = Wish("change", 0, len(said), {"what": ((53, 56), (67, 70))})
    (made,) = commands(said, [twice], ["change"], [], TOOLS)
    assert made == Begin("change", {"what": "Ann"}, sure=True)


def test_pieces_with_a_small_word_between_them_are_one() -> None:
    said = "read me the first line of it"
    (made,) = commands(
        said, [pieces(said, "read", file=["the first line", "it"])], ["read"], [], {}
    )
    assert isinstance(made, Begin)
    assert made.slots == {"file": "the first line of it"}


def test_a_wish_in_two_stretches_is_one() -> None:
    said = "the port in the config. make it ninety"
    first = wish(said, "change", "the port in the config", what="the port", file="the config")
    two = [first, wish(said, "change", "make it ninety", to="ninety")]
    (made,) = commands(said, two, ["change"], [], TOOLS)
    assert isinstance(made, Begin)
    assert made.slots == {"what": "the port", "file": "the config", "to": "ninety"}


def test_a_question_about_a_sum_is_no_other_sum() -> None:
    said = "twelve boxes of nine. what's that in dozens"
    first = wish(said, "calculate", "twelve boxes of nine", sum="twelve boxes of nine")
    two = [first, wish(said, "calculate", "what's that in dozens", sum="dozens")]
    (made,) = commands(said, two, ["calculate"], [], TOOLS)
    assert isinstance(made, Begin)
    assert made.slots == {"sum": "twelve boxes of nine"}


def test_what_only_points_back_in_passing_is_wished_for_too() -> None:
    said = "delete the 5k run and delete that book club thing"
    two = [
        wish(said, "delete", "delete the 5k run", task="the 5k run"),
        wish(said, "delete", "delete that book club thing", task="that book club thing"),
    ]
    assert len(commands(said, two, ABLE, [], KINDS)) == 2


SLOTS = {"remind": ["what", "when"], "goal": ["what", "by"]}


@pytest.mark.parametrize(
    ("said", "marked", "what"),
    [
        ("remind me to phone Alex", "phone", "phone Alex"),
        ("I must ring my sister, she worries", "ring", "ring my sister"),
        ("remind me to pick up because I forget", "pick up", "pick up"),
        ("buy", "buy", "buy"),
    ],
)
def test_a_verb_that_something_must_follow_has_it(said: str, marked: str, what: str) -> None:
    (made,) = commands(said, [wish(said, "remind", said, what=marked)], SLOTS, [], KINDS)
    assert isinstance(made, Begin)
    assert made.slots == {"what": what}


def test_the_object_of_a_verb_ends_where_another_slot_begins() -> None:
    said = "remind me to text Julia at nine"
    (made,) = commands(
        said, [wish(said, "remind", said, what="text", when="at nine")], SLOTS, [], KINDS
    )
    assert isinstance(made, Begin)
    assert made.slots == {"what": "text Julia", "when": "at nine"}


def test_what_stands_after_an_asking_is_asked_for_though_nobody_marked_it() -> None:
    said = "also remind me to buy stamps, I always forget"
    (made,) = commands(said, [wish(said, "remind", said)], SLOTS, [], KINDS)
    assert made == Begin("remind", {"what": "buy stamps"}, sure=True)


@pytest.mark.parametrize("said", ["remind me to do it", "set a reminder", "remind me of something"])
def test_an_asking_for_nothing_in_particular_names_nothing(said: str) -> None:
    (made,) = commands(said, [wish(said, "remind", said)], SLOTS, [], KINDS)
    assert made == Begin("remind", {})


def test_an_asking_goes_on_with_the_stretch_behind_it() -> None:
    said = "remind me to call my mom"
    cut = [wish(said, "remind", "remind me to"), wish(said, "delete", "call my mom")]
    (made,) = commands(said, cut, SLOTS, [], KINDS)
    assert made == Begin("remind", {"what": "call my mom"}, sure=True)


def test_an_asking_that_names_something_ends_with_it() -> None:
    said = "remind me to swim, and I want to learn chess"
    two = [wish(said, "remind", "remind me to swim"), wish(said, "goal", "I want to learn chess")]
    made = commands(said, two, SLOTS, [], KINDS)
    assert [one.wish for one in made if isinstance(one, Begin)] == ["remind", "goal"]


@pytest.mark.parametrize(
    ("said", "by", "slots"),
    [
        ("sleep eight hours", "eight hours", {"what": "sleep eight hours"}),
        ("walk half an hour", "half an hour", {"what": "walk half an hour"}),
        ("sleep in eight hours", "in eight hours", {"what": "sleep", "by": "in eight hours"}),
        ("learn chess, two months", "two months", {"what": "learn chess", "by": "two months"}),
        ("learn chess next month", "next month", {"what": "learn chess", "by": "next month"}),
    ],
)
def test_how_long_something_takes_is_part_of_it(said: str, by: str, slots: dict[str, str]) -> None:
    what = said.removesuffix(by).strip(" ,")
    (made,) = commands(said, [wish(said, "goal", said, what=what, by=by)], SLOTS, [], KINDS)
    assert isinstance(made, Begin)
    assert made.slots == slots


def test_what_is_only_told_beside_a_wish_is_none() -> None:
    said = "change the port for me, something else on this box is hogging it"
    first, told = said.split(", ")
    two = [wish(said, "change", first, what="the port"), wish(said, "run", told)]
    able = {"change": ["what", "to"], "run": ["what"]}
    (made,) = commands(said, two, able, [], {})
    assert isinstance(made, Begin)
    assert made.wish == "change"


def test_a_number_that_names_nothing_goes_to_what_was_told_before() -> None:
    said = "buns go up, ninety instead of eighty, in the list"
    first, rest = "buns go up", "ninety instead of eighty, in the list"
    two = [
        wish(said, "change", first, what="buns", to="up"),
        wish(said, "change", rest, to="ninety", file="the list"),
    ]
    able = {"change": ["what", "to", "file"]}
    (made,) = commands(said, two, able, [], {})
    assert isinstance(made, Begin)
    assert made.slots == {"what": "buns", "to": "ninety", "file": "the list"}


def test_what_an_order_points_at_is_its_object() -> None:
    said = "tick them off in my list"
    one = [wish(said, "tick", said, file="my list")]
    (made,) = commands(said, one, {"tick": ["what", "file"]}, [], {})
    assert isinstance(made, Begin)
    assert made.slots == {"what": "them", "file": "my list"}


@pytest.mark.parametrize(
    ("when", "rest", "told"),
    [
        ("tomorrow at eight", "They've been sat in my hall", "a fortnight"),
        ("on Friday at ten", "I've had it", "since Monday"),
        ("tonight at six", "it's been lying there", "three weeks"),
        ("at noon tomorrow", "they've owed me that", "for a month"),
    ],
)
def test_how_long_it_has_been_so_is_no_part_of_the_time(when: str, rest: str, told: str) -> None:
    said = f"Remind me {when} to return the crates. {rest} {told}."
    slots = {
        "when": tuple((at := said.index(one), at + len(one)) for one in (when, told)),
        "what": ((at := said.index("return"), at + len("return the crates")),),
    }
    (made,) = commands(said, [Wish("remind", 0, len(said), slots)], ABLE, [], KINDS)
    assert isinstance(made, Begin)
    assert made.slots == {"when": when, "what": "return the crates"}


@pytest.mark.parametrize("told", ["in a fortnight", "next week"])
def test_what_is_said_behind_of_when_is_part_of_the_time(told: str) -> None:
    said = f"Remind me at eight to return the crates. I've been told to, {told}."
    slots = {"when": tuple((at := said.index(one), at + len(one)) for one in ("at eight", told))}
    (made,) = commands(said, [Wish("remind", 0, len(said), slots)], ABLE, [], KINDS)
    assert isinstance(made, Begin)
    assert made.slots["when"] == f"at eight {told}"


@pytest.mark.parametrize(
    ("said", "marks", "named"),
    [
        ("That function fmt, f m t. Rename it to trim", ("fmt, f m t", "it"), "fmt"),
        ("The class Qty, that's Q T Y, rename that", ("Qty, that's Q T Y",), "Qty"),
        ("The flag dbg! d b g. Rename it", ("dbg", "it"), "dbg"),
        ("Rename vat, vee ay tee, to tax", ("vat, vee ay tee",), "vat"),
        ("Rename do it, to run it", ("do it",), "do it"),
        ("Rename grade, a b c, to mark", ("grade, a b c",), "grade, a b c"),
    ],
)
def test_a_name_is_said_once_though_it_is_spelt_and_pointed_at(
    said: str, marks: tuple[str, ...], named: str
) -> None:
    places = tuple((at := said.rindex(one), at + len(one)) for one in marks)
    (made,) = commands(said, [Wish("remind", 0, len(said), {"what": places})], ABLE, [], KINDS)
    assert isinstance(made, Begin)
    assert made.slots["what"] == named
