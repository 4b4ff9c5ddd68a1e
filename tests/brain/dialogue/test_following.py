"""The state of a talk from its turns alone."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.brain.dialogue.talking import NOW, PLANS, ZONE, fill, remind, thing
from vivavoce.brain.dialogue.commands import Command
from vivavoce.brain.dialogue.following import awaited, follow
from vivavoce.brain.dialogue.manager import heard, returned
from vivavoce.brain.dialogue.state import Do, Say, World
from vivavoce.wire.brain import Ask, Call, Result, Said, Turn
from vivavoce.wire.hints import Briefing

BANK = thing("bank", "Call with the bank", "tomorrow at 10 am")
WORLD = World(hints=PLANS, briefing=Briefing(time_zone=ZONE, things=(BANK,)), now=NOW)
ADDED = json.dumps(
    {
        "status": "ok",
        "intent_id": "i1",
        "title": "Ring Mum",
        "when": "tomorrow at 5 PM",
        "things": [{"id": "t1", "title": "Ring Mum", "when": "tomorrow at 5 PM"}],
    }
)
CALL = Call("c1", "add_task", json.dumps({"title": "Ring Mum", "at": "tomorrow at five"}))


def nothing(at: int) -> Sequence[Command] | None:
    return None


def ask(*turns: Turn) -> Ask:
    return Ask("", turns)


def test_with_remembered_commands_the_talk_goes_on_where_it_was() -> None:
    first = [remind(what="ring Mum")]
    question = heard(
        follow(ask(Said("user", "x")), WORLD, nothing), "remind me to ring Mum", first, WORLD
    ).acts[0]
    assert isinstance(question, Say)
    turns = (
        Said("user", "remind me to ring Mum"),
        Said("assistant", question.text),
        Said("user", "tomorrow at five"),
    )
    state = follow(ask(*turns), WORLD, {0: first}.get)
    step = heard(state, "tomorrow at five", [fill(when="tomorrow at five")], WORLD)
    assert isinstance(step.acts[0], Do)


def test_without_them_the_question_itself_says_what_is_open() -> None:
    turns = (
        Said("user", "remind me to ring Mum"),
        Said("assistant", "When should that be: ring Mum?"),
        Said("user", "tomorrow at five"),
    )
    state = follow(ask(*turns), WORLD, nothing)
    step = heard(state, "tomorrow at five", [fill(when="tomorrow at five")], WORLD)
    assert step.acts == (
        Do("add_task", {"title": "Ring Mum", "at": "tomorrow at five", "trigger": "time"}),
    )


def test_what_was_submitted_can_be_corrected_after_a_restart() -> None:
    turns = (
        Said("user", "remind me to ring Mum tomorrow at five"),
        CALL,
        Result("c1", ADDED),
        Said("assistant", "It is on your list: Ring Mum, tomorrow at 5 PM."),
        Said("user", "make it six"),
    )
    state = follow(ask(*turns), WORLD, nothing)
    step = heard(state, "make it six", [fill(when="six")], WORLD)
    (act,) = step.acts
    assert isinstance(act, Do)
    assert act.tool == "amend"
    assert act.arguments["intent_id"] == "i1"


def test_a_result_is_answered_with_what_it_says() -> None:
    talk = ask(Said("user", "remind me to ring Mum tomorrow at five"), CALL, Result("c1", ADDED))
    given = awaited(talk)
    assert given is not None
    step = returned(follow(talk, WORLD, nothing), *given, WORLD)
    assert isinstance(step.acts[0], Say)
    assert "Ring Mum, tomorrow at 5 PM" in step.acts[0].text


def test_of_two_wishes_the_second_is_done_after_the_first_came_back() -> None:
    both = [
        remind(what="ring Mum", when="tomorrow at five"),
        remind(what="the vet", when="on Friday at ten"),
    ]
    said = "tomorrow at five ring Mum, and the vet on Friday at ten"
    talk = ask(Said("user", said), CALL, Result("c1", ADDED))
    given = awaited(talk)
    assert given is not None
    step = returned(follow(talk, WORLD, {0: both}.get), *given, WORLD)
    (act,) = step.acts
    assert isinstance(act, Do)
    assert act.arguments["title"] == "The vet"


def test_a_call_that_was_never_made_is_not_lost() -> None:
    first = [remind(what="ring Mum", when="tomorrow at five")]
    turns = (
        Said("user", "remind me to ring Mum tomorrow at five"),
        Said("user", "please"),
    )
    state = follow(ask(*turns), WORLD, {0: first}.get)
    step = heard(state, "please", [], WORLD)
    assert isinstance(step.acts[0], Do)


def test_a_call_without_a_result_is_not_made_again() -> None:
    first = [remind(what="ring Mum", when="tomorrow at five")]
    turns = (
        Said("user", "remind me to ring Mum tomorrow at five"),
        CALL,
        Said("user", "are you there?"),
    )
    state = follow(ask(*turns), WORLD, {0: first}.get)
    step = heard(state, "are you there?", [], WORLD)
    (act,) = step.acts
    assert isinstance(act, Say)
    assert "can't say" in act.text
