"""Several wishes in one breath."""

from __future__ import annotations

import re
import time

import pytest

from tests.brain.llama.flux import asked
from vivavoce.brain.llama.grammar import grammar
from vivavoce.brain.llama.guessing.evidence import goes_on, one_by_one, own_words
from vivavoce.language.en.mentions import only_time, requests_in
from vivavoce.wire.brain import Ask, Call, Result, Said, Turn

RUN = Said("user", "I want to start running, and remind me to buy shoes this weekend.")
CALLED = Call("1", "add_goal", '{"goal": "start running"}')
DONE, REFUSED = Result("1", '{"status": "accepted"}'), Result("1", '{"success": false}')


def told(*turns: Turn) -> list[str]:
    return [turn.text for turn in one_by_one(asked(*turns)).turns if isinstance(turn, Said)]


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        (
            "Move my gym to Friday and remind me to wash the car.",
            ["Move my gym to Friday", "Remind me to wash the car."],
        ),
        (
            "Remind me to call the bank at nine and to fetch the parcel at eleven",
            ["Remind me to call the bank at nine", "Remind me to fetch the parcel at eleven"],
        ),
    ],
)
def test_wishes_are_told_apart(said: str, parts: list[str]) -> None:
    assert requests_in(said) == parts


@pytest.mark.parametrize(
    "said",
    [
        "Remind me to buy bread and milk.",
        "Remind me to go to the bank and to the post office.",
        "I want to go abroad and move to Berlin.",
        "It rains and I want to sleep.",
        "x" * 5_000 + " and remind me to sleep",
    ],
)
def test_one_wish_stays_one(said: str) -> None:
    assert requests_in(said) == [said]


def test_the_second_is_told_once_something_came_of_the_first() -> None:
    second = "Remind me to buy shoes this weekend."
    assert told(RUN) == ["I want to start running"]
    assert told(RUN, CALLED, REFUSED) == ["I want to start running"]
    assert told(RUN, CALLED, DONE) == ["I want to start running", second]
    assert goes_on(asked(RUN, CALLED, DONE))
    again = (Call("2", "add_task", "{}"), Result("2", DONE.output))
    assert told(RUN, CALLED, DONE, *again) == ["I want to start running", second]
    assert not goes_on(asked(RUN, CALLED, DONE, *again))


def test_then_it_acts_and_does_not_only_say_so() -> None:
    start = grammar(asked(RUN, CALLED, DONE)).splitlines()[1]
    assert "start: (WORDS" not in start
    assert "call" in start


def test_tools_that_leave_nothing_to_the_user_hear_what_was_said() -> None:
    assert one_by_one(Ask("Be kind.", (RUN,))).turns == (RUN,)
    assert one_by_one(asked(RUN, tool_choice="required")).turns == (RUN,)


@pytest.mark.parametrize("said", ["Saturday morning.", "At four.", "Weekdays only, please."])
def test_a_time_by_itself_is_about_what_was_just_done(said: str) -> None:
    assert only_time(said)


@pytest.mark.parametrize("said", ["No.", "The board on Friday.", "Remind me at four.", ""])
def test_anything_more_is_not(said: str) -> None:
    assert not only_time(said)


def test_many_words_make_no_endless_pattern() -> None:
    begun = time.process_time()
    assert len(own_words(["when I am in at the next 7 " * 20_000] * 50)) < 60_000
    requests_in("remind me to " * 100_000)
    only_time("at " * 100_000)
    assert time.process_time() - begun < 5


def test_what_they_said_comes_in_pieces_as_they_said_it() -> None:
    pattern = re.compile(own_words(["Call grandma every Sunday.", "At 4 p.m. and on Mondays"]))
    for fine in ("every Sunday", "Sunday at 4 p.m.", "sunday and on Mondays", "4 p.m"):
        assert pattern.fullmatch(fine), fine
    for made_up in ("Sunday at 7", "Sunday evening", ""):
        assert not pattern.fullmatch(made_up), made_up
    assert own_words([]) == ""
