"""What the user has said of what is theirs to say."""

from __future__ import annotations

import time

import pytest

from tests.brain.llama.flux import GOAL, MOVE, TASK, TOOLS
from vivavoce.brain.llama.guessing.descriptions import Told, told
from vivavoce.brain.llama.guessing.evidence import evidence
from vivavoce.wire.brain import Call, Result, Said, Tool, Turn

ACCEPTED = '{"status": "accepted", "task_id": "t-1"}'


def user(text: str) -> Said:
    return Said("user", text)


def agent(text: str) -> Said:
    return Said("assistant", text)


def said(*turns: Turn) -> set[str]:
    return set(evidence(turns, TOOLS).said)


def test_a_description_says_what_is_the_users_to_say() -> None:
    assert told(TASK) == (
        Told("due", "time", when=("kind", "timed")),
        Told("spot", "place", when=("kind", "placed")),
        Told("rule", "repeat", asked=True),
    )
    assert told(GOAL) == (Told("until", "time", asked=True),)
    assert told(Tool("bash", "Runs. From the user's words: x (time)")) == ()


@pytest.mark.parametrize(
    "words",
    [
        "Remind me to call mom this evening around 7.",
        "Tomorrow at noon.",
        "In three months.",
        "In half an hour.",
        "At three thirty.",
        "Half past eight.",
        "Friday at the same time.",
        "On the first of December.",
        "Every weekday at 6am.",
        "By next summer.",
        "Seven thirty.",
        "Eight!",
        "At 19:30, please.",
        "A quarter to eight would be good.",
    ],
)
def test_times_are_heard_in_many_forms(words: str) -> None:
    assert "time" in said(user(words))


@pytest.mark.parametrize(
    "words",
    [
        "Remind me to call my mom.",
        "I want to save ten thousand dollars.",
        "Buy two loaves of bread.",
        "I may need help.",
        "Never mind.",
        "At the hardware store.",
        "When I leave home.",
        "I want to read twenty books.",
    ],
)
def test_no_time_is_heard_where_there_is_none(words: str) -> None:
    assert "time" not in said(user(words))


@pytest.mark.parametrize(
    "words",
    [
        "Remind me to buy milk when I leave home.",
        "When I get to the office, remind me to send the invoice.",
        "Next time I'm near the library.",
        "As soon as I arrive at the airport.",
        "At the hardware store.",
        "Once I'm at the post office.",
        "On my way to work, when leaving.",
    ],
)
def test_places_are_heard(words: str) -> None:
    assert "place" in said(user(words))


@pytest.mark.parametrize("words", ["In the evening.", "At seven.", "I want to learn to swim."])
def test_times_and_wishes_are_no_places(words: str) -> None:
    assert "place" not in said(user(words))


def test_what_repeats_is_heard() -> None:
    assert said(user("Weekdays only.")) >= {"repeat"}
    assert said(user("Every Sunday.")) >= {"repeat", "time"}
    assert "repeat" not in said(user("On Sunday at four."))


def test_a_repetition_may_leave_its_days_open() -> None:
    assert evidence((user("I want to meditate every morning at six."),), TOOLS).vague == {"repeat"}
    for clear in ("Every day at six.", "Every Monday morning.", "Tomorrow morning at six."):
        assert not evidence((user(clear),), TOOLS).vague


def test_the_time_of_the_last_call_is_spent() -> None:
    done = (
        user("Remind me to feed the fish at seven."),
        Call("1", "add_task", '{"title": "Feed the fish", "kind": "timed", "due": "at seven"}'),
        Result("1", ACCEPTED),
        agent("Done."),
    )
    assert "time" not in said(*done, user("Also remind me to buy stamps."))
    assert "time" in said(*done, user("Also remind me to buy stamps tomorrow."))


def test_of_two_times_said_at_once_one_is_left() -> None:
    turns = (
        user("Remind me to call the bank at nine and to fetch the parcel at eleven."),
        Call("1", "add_task", '{"title": "Call the bank", "kind": "timed", "due": "at nine"}'),
        Result("1", ACCEPTED),
    )
    assert "time" in said(*turns)
    more = (Call("2", "add_task", '{"title": "Parcel", "due": "at eleven"}'), Result("2", ACCEPTED))
    assert "time" not in said(*turns, *more)


def test_a_call_that_failed_has_used_nothing() -> None:
    turns = (
        user("Remind me to call the bank at nine."),
        Call("1", "add_task", '{"title": "Call the bank", "due": "at nine"}'),
        Result("1", '{"success": false, "error": "no"}'),
    )
    assert "time" in said(*turns)


def test_what_was_asked_just_now_is_known() -> None:
    turns = (user("I want to sing."), agent("Any target date?"), user("No."))
    assert evidence(turns, TOOLS).asked == {"time"}
    again = (user("Krr."), agent("Could you say that again?"), user("I want to sing."))
    assert not evidence(again, TOOLS).asked


def test_words_that_are_not_english_may_hold_anything() -> None:
    assert said(user("Erinnere mich morgen früh ans Einkaufen")) == {"time", "place", "repeat"}


def test_a_long_text_costs_no_more_than_its_length() -> None:
    begun = time.process_time()
    evidence((user("when I am in at the next 7 " * 20_000),), TOOLS)
    told(Tool("a", "From the user's words: " + "a (b, if c is d" * 50_000))
    assert time.process_time() - begun < 5


def test_moves_are_asked_for_a_time() -> None:
    assert told(MOVE) == (Told("to", "time", asked=True),)
