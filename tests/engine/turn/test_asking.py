"""The brain is told what was said and heard, whole turns only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.engine.turn.asking import as_turns, within
from vivavoce.engine.turn.progress import heard
from vivavoce.wire.brain import Call, Result, Said, Turn
from vivavoce.wire.realtime.items import (
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    Part,
    Status,
)

# --- What was heard ---------------------------------------------------------------

CLAUSES = [("Well, hello there. ", 1000), ("How are you today?", 1000)]


@pytest.mark.parametrize(
    ("until", "words"),
    [
        (-5, ""),
        (0, ""),
        (100, ""),
        (300, "Well,"),
        (999, "Well, hello there."),
        (1000, "Well, hello there."),
        (1500, "Well, hello there. How are"),
        (1999, "Well, hello there. How are you"),
        (2000, "Well, hello there. How are you today?"),
        (9999, "Well, hello there. How are you today?"),
    ],
)
def test_what_was_heard_is_whole_clauses_and_then_whole_words(until: int, words: str) -> None:
    assert heard(CLAUSES, until) == words


clauses = st.lists(st.tuples(st.text(" ab.", max_size=12), st.integers(0, 900)), max_size=5)


@given(clauses, st.integers(-10, 5000), st.integers(0, 5000))
def test_who_listens_longer_hears_no_less(
    spoken: list[tuple[str, int]], until: int, more: int
) -> None:
    whole = "".join(text for text, _ in spoken)
    first, then = heard(spoken, until), heard(spoken, until + more)

    assert then.startswith(first)
    assert whole.startswith(then)
    assert heard(spoken, sum(ms for _, ms in spoken)) == whole.rstrip()


# --- Turns ------------------------------------------------------------------------


def user(item_id: str, transcript: str | None = None) -> Message:
    return Message(item_id, "user", (Part("input_audio", transcript=transcript),))


def typed(item_id: str, text: str) -> Message:
    return Message(item_id, "user", (Part("input_text", text),))


def spoken(item_id: str, transcript: str, status: Status = "completed") -> Message:
    return Message(item_id, "assistant", (Part("output_audio", transcript=transcript),), status)


def call(n: int, status: Status = "completed") -> FunctionCall:
    return FunctionCall(f"c{n}", f"call_{n}", "now", "{}", status)


def result(n: int, item_id: str | None = None) -> FunctionCallOutput:
    return FunctionCallOutput(item_id or f"r{n}", f"call_{n}", "noon")


CALLED, RETURNED = Call("call_1", "now", "{}"), Result("call_1", "noon")


@pytest.mark.parametrize(
    ("items", "turns"),
    [
        ([], ()),
        ([user("u", "Hi.")], (Said("user", "Hi."),)),
        ([user("later")], (Said("user", "From the ears."),)),
        ([spoken("a", "Hello.")], (Said("assistant", "Hello."),)),
        ([spoken("cut", "Hello and a lot more.")], (Said("assistant", "Hello"),)),
        ([spoken("a", "", "incomplete"), typed("u", "Hi.")], (Said("user", "Hi."),)),
        ([Message("a", "assistant", (), "in_progress"), typed("u", "Hi.")], (Said("user", "Hi."),)),
        ([user("u"), typed("v", "Hi.")], (Said("user", "Hi."),)),
        ([typed("v", "Hi."), user("u")], (Said("user", "Hi."), Said("user", ""))),
        (
            [Message("s", "system", (Part("input_text", "One."), Part("input_text", "Two.")))],
            (Said("system", "One. Two."),),
        ),
        ([call(1), result(1)], (CALLED, RETURNED)),
        ([call(1), typed("u", "So?"), result(1)], (CALLED, Said("user", "So?"), RETURNED)),
        ([result(1), typed("u", "Hi.")], (Said("user", "Hi."),)),
        ([result(1), call(1)], ()),
        ([call(1), typed("u", "Hi.")], (Said("user", "Hi."),)),
        ([call(1, "incomplete"), result(1)], ()),
        ([call(1), result(1), result(1, "twice")], (CALLED, RETURNED)),
    ],
)
def test_the_brain_sees_what_was_said_and_heard(items: list[Item], turns: tuple[Turn, ...]) -> None:
    assert as_turns(items, {"later": "From the ears.", "cut": "Hello"}, {}) == turns


def test_a_note_takes_the_place_of_an_item_without_words_and_parts_no_call_from_its_result() -> (
    None
):
    items: list[Item] = [call(1), user("u"), result(1)]

    turns = as_turns(items, {}, {"u": "(Silence.)", "c1": "no message"})

    assert turns == (CALLED, Said("system", "(Silence.)"), RETURNED)


# --- The budget -------------------------------------------------------------------


def size(text: str) -> int:
    return len(text)


TALK: tuple[Turn, ...] = (
    Said("user", "12345"),
    Call("call_1", "now", "{}"),
    Said("user", "wait"),
    Result("call_1", "noon"),
    Said("assistant", "12"),
)


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(0, 1), (2, 1), (6, 1), (14, 1), (15, 4), (19, 4), (20, 5), (1000, 5)],
)
def test_the_oldest_turns_go_first_and_a_call_goes_with_its_result(budget: int, kept: int) -> None:
    assert within(TALK, size, budget) == TALK[len(TALK) - kept :]


def test_the_question_is_always_told_with_what_belongs_to_it() -> None:
    assert within(TALK[1:4], size, 0) == TALK[1:4]
    assert within((), size, 0) == ()


pieces = st.lists(st.sampled_from(["say", "call", "result"]), max_size=12)


@given(pieces, st.integers(0, 40))
def test_what_is_kept_is_the_end_and_holds_no_result_without_its_call(
    kinds: list[str], budget: int
) -> None:
    turns: list[Turn] = []
    pending: list[str] = []
    for i, kind in enumerate(kinds):
        if kind == "call":
            pending.append(f"call_{i}")
            turns.append(Call(pending[-1], "t", "{}"))
        elif kind == "result" and pending:
            turns.append(Result(pending.pop(0), "ok"))
        else:
            turns.append(Said("user", "word"))

    kept = within(turns, size, budget)

    assert list(kept) == turns[len(turns) - len(kept) :]
    assert bool(kept) == bool(turns)
    calls = {turn.call_id for turn in kept if isinstance(turn, Call)}
    assert {turn.call_id for turn in kept if isinstance(turn, Result)} <= calls
