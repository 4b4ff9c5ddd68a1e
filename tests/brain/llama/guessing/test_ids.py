"""Long ids are short for the model and whole for everybody else."""

from __future__ import annotations

import json

from tests.brain.llama.flux import CONTEXT, FOOD, GYM, asked
from vivavoce.brain.llama.guessing.ids import mentioned, shortened
from vivavoce.wire.brain import (
    Call,
    CallArguments,
    CallBegun,
    CallEnded,
    Piece,
    Result,
    Said,
    Words,
)

NEW = "e7a9d0b3-1f52-4c6d-b8e4-6c7d8e9f0a13"
MADE = (
    Said("user", "Remind me to call Tom at two."),
    Call("1", "add_task", '{"title": "Call Tom", "kind": "timed", "due": "at two"}'),
    Result("1", json.dumps({"status": "accepted", "task_id": NEW})),
    Said("assistant", "Done."),
)


def test_ids_are_named_after_the_words_beside_them() -> None:
    ask, names = shortened(asked())
    assert names.ids == {"gym-session": GYM, "buy-groceries": FOOD}
    assert GYM not in ask.instructions
    assert "- Gym session, today at 6:00 PM (id: gym-session)" in ask.instructions


def test_those_that_come_back_from_calls_are_named_after_the_call() -> None:
    ask, names = shortened(asked(*MADE))
    assert NEW not in str(ask)
    assert names.ids["call-tom-timed"] == NEW


def test_what_the_model_writes_is_turned_back_when_it_is_whole() -> None:
    _, names = shortened(asked())
    pieces: list[Piece] = [
        Words("Sure."),
        CallBegun("1", "move_task"),
        CallArguments("1", '{"task_id": "gym-'),
        CallArguments("1", 'session", "to": "buy-groceries"}'),
        CallEnded("1"),
    ]
    told = [one for piece in pieces for one in names.feed(piece)]
    assert told == [
        Words("Sure."),
        CallBegun("1", "move_task"),
        CallArguments("1", json.dumps({"task_id": GYM, "to": "buy-groceries"})),
        CallEnded("1"),
    ]


def test_short_ids_and_questions_without_any_stay_as_they_are() -> None:
    ask = asked(instructions="Hi.\n\n## Current Context\nTasks: Gym (id: abc)")
    same, names = shortened(ask)
    assert same is ask
    piece = CallArguments("1", '{"task_id": ')
    assert list(names.feed(piece)) == [piece]


def test_two_of_the_same_title_have_two_names() -> None:
    lines = f"## Now\nTasks: Gym, 6 PM (id: {GYM}); Gym, 8 PM (id: {FOOD})"
    assert list(shortened(asked(instructions=f"Hi.\n\n{lines}"))[1].ids) == ["gym", "gym-2"]


def _mentioned(*words: str, instructions: str = CONTEXT) -> tuple[str, ...]:
    turns = tuple(Said("user", text) for text in words)
    return mentioned(asked(*turns, instructions=instructions), turns)


def test_only_what_is_spoken_of_can_be_meant() -> None:
    assert _mentioned("Can you move my gym session?") == (GYM,)
    assert _mentioned("I won't manage the shopping for groceries.") == (FOOD,)
    assert _mentioned("Move the gym and the groceries.") == (GYM, FOOD)
    assert _mentioned("Move my piano lesson.") == ()
    assert _mentioned("Move it.") == ()


def test_it_is_the_only_one_there_is_or_the_one_just_made() -> None:
    one = f"Hi.\n\n## Now\n- Gym (id: {GYM})"
    assert _mentioned("Move it to Friday.", instructions=one) == (GYM,)
    assert _mentioned("Move my flight to Friday.", instructions=one) == ()
    turns = (*MADE, Said("user", "Move it to Friday."))
    assert mentioned(asked(*turns), turns[-1:]) == (NEW,)


def test_what_the_talk_is_about_needs_no_name() -> None:
    about = f"{CONTEXT}\nThe user comes from a notification, begin with it: Read (id: {NEW})"
    assert _mentioned("Tomorrow at seven instead.", instructions=about) == (NEW,)
    assert _mentioned("Move the gym.", instructions=about) == (GYM,)
    assert shortened(asked(instructions=about))[1].ids["read"] == NEW
