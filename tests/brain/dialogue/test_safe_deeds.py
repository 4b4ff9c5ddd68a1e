"""What must not happen by mistake: something done away with that was to stay, a time by the wrong
clock, a deed that nobody wanted any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.brain.dialogue.talking import (
    CHAT,
    DROP,
    MANY,
    NO,
    PLANS,
    UNCLEAR,
    YES,
    Talk,
    begin,
    fill,
    move,
    remind,
    thing,
)
from vivavoce.brain.dialogue.commands import Begin, Command
from vivavoce.wire.hints import Slot

SQUASH = thing("squash", "Squash with Ravi", "tomorrow at 8 pm")
PASSPORT = thing("passport", "Collect the passport", "Friday at 9:30 am")
OAK = thing("oak", "Viewing Oak Lane", "tomorrow at 5 pm")
ELM = thing("elm", "Viewing Elm Road", "Thursday at 5 pm")
INES = (
    thing("ballet", "Ines ballet", "tomorrow at 3 pm"),
    thing("tutor", "Ines tutoring", "tomorrow at 5 pm"),
    thing("football", "Bruno football", "tomorrow at 4 pm"),
)


def of(said: str, command: Begin) -> Begin:
    return replace(command, said=said, sure=True)


def sure(command: Begin) -> Begin:
    return replace(command, sure=True)


# --- An order and another -------------------------------------------------------------------


@pytest.mark.parametrize(
    "between",
    [
        "Wait, no.",
        "Hang on, actually,",
        "Oh, but he could do it later.",
        "No, he says he can still come.",
        "Sorry, rather",
        "Although, on second thoughts,",
        "Hm, not really.",
        "Or no,",
    ],
)
def test_what_is_moved_after_a_change_of_mind_is_not_deleted(between: str) -> None:
    talk = Talk(SQUASH, PASSPORT)
    first, second = "cancel the squash", f"{between} make it an hour later"
    talk.says(
        f"{first}. {second}",
        of(first, begin("delete", task="the squash")),
        of(second, move(task="it", to="an hour later")),
    )
    assert talk.did == ["move_task"]
    assert talk.there["Squash with Ravi"] == "tomorrow at 9 PM"


def test_what_is_called_off_after_a_change_of_mind_is_not_moved_first() -> None:
    talk = Talk(SQUASH, PASSPORT)
    first, second = "move the squash to Friday at nine", "no, forget that, take it off altogether"
    talk.says(
        f"{first}, {second}",
        of(first, move(task="the squash", to="Friday at nine")),
        of(second, begin("delete", task="it")),
    )
    assert talk.did == ["delete_task"]


@pytest.mark.parametrize(
    "said",
    [
        "Cancel the squash. No wait, don't.",
        "Take the squash off. Actually no, leave it.",
        "Don't cancel the squash",
        "delete the squash, ah no, leave it, I might go yet",
        "Get rid of squash. Oh, don't get rid of it.",
        "Scrap the squash. Hm, no, keep it as it is.",
        "drop squash... no, sorry, don't drop it",
        "Bin squash, oh never mind, leave it",
    ],
)
def test_an_order_that_is_taken_back_at_once_does_nothing(said: str) -> None:
    talk = Talk(SQUASH, PASSPORT)
    talk.says(said, sure(begin("delete", task="squash")))
    assert not talk.calls
    assert len(talk.there) == 2


@pytest.mark.parametrize(
    "said", ["no no, don't delete it!", "I didn't say delete it", "wait, don't cancel that!"]
)
@pytest.mark.parametrize("heard", [NO, UNCLEAR, CHAT, DROP])
def test_who_protests_gets_back_what_was_deleted(said: str, heard: Command) -> None:
    talk = Talk(SQUASH, PASSPORT)
    talk.says("delete the squash", begin("delete", task="the squash"))
    talk.says(said, heard)
    assert talk.did == ["retract"]
    assert "Squash with Ravi" in talk.there


# --- One thing in two clauses ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("Somebody else got the flat on Oak Lane", "so I won't go and look, take it out", "look"),
        ("Oak Lane is let already", "no need to see it any more", "see it"),
        ("They took Oak Lane off the market", "so cancel that", "that"),
        ("the flat in Oak Lane is gone", "I don't have to go there, scrap it", "go"),
        ("I'm not taking Oak Lane", "so cross the viewing off, I won't visit", "visit"),
        ("Oak Lane fell through", "you can delete it", "it"),
        ("Oak Lane's been sold", "strike that one", "that one"),
        ("forget Oak Lane", "we needn't call", "call"),
    ],
)
def test_one_thing_told_in_two_clauses_is_deleted_once(first: str, second: str, words: str) -> None:
    talk = Talk(OAK, ELM)
    told = talk.says(
        f"{first}. {second}",
        of(first, begin("delete", task="Oak Lane")),
        of(second, begin("delete", task=words)),
    )
    assert talk.did == ["delete_task"]
    assert "?" not in told.replace("Anything else?", "").replace("Is there anything else?", "")
    assert list(talk.there) == ["Viewing Elm Road"]


@pytest.mark.parametrize(
    "words",
    [
        "the viewing on Oak Lane",
        "Oak Lane",
        "the Oak Lane viewing",
        "that viewing in Oak Lane",
        "my viewing at Oak Lane, please",
        "the one on Oak Lane",
        "viewing Oak",
        "the Oak one",
    ],
)
@pytest.mark.parametrize("wish", ["delete", "done", "move"])
def test_what_is_gone_is_not_taken_for_what_is_only_called_a_bit_like_it(
    words: str, wish: str
) -> None:
    talk = Talk(OAK, ELM)
    talk.says("scrap the viewing on Oak Lane", begin("delete", task="Oak Lane"))
    told = talk.says(f"{wish} {words}", sure(begin(wish, task=words)))
    assert not talk.calls
    assert "Viewing Oak Lane is not there any more" in told
    assert list(talk.there) == ["Viewing Elm Road"]


def test_an_answer_that_names_what_was_just_deleted_says_so() -> None:
    talk = Talk(OAK, ELM, PASSPORT)
    talk.says("scrap Oak Lane", begin("delete", task="Oak Lane"))
    talk.says("and take the other thing off", begin("delete", task="the boiler"))
    told = talk.says("the viewing on Oak Lane", fill(task="the viewing on Oak Lane"))
    assert not talk.calls
    assert "is not there any more" in told
    assert talk.state.asked is None


def test_what_is_there_under_the_same_name_is_still_found() -> None:
    talk = Talk(OAK, thing("oak2", "Viewing Oak Lane, with Mum", "Friday at 1 pm"))
    talk.says("scrap the one tomorrow", begin("delete", task="the one tomorrow"))
    talk.says("delete the viewing in Oak Lane", begin("delete", task="the viewing in Oak Lane"))
    assert not talk.there


# --- Fewer than were asked about ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("yes, just Ines's two", {"ballet", "tutor"}),
        ("just the ballet and the tutoring", {"ballet", "tutor"}),
        ("only the football", {"football"}),
        ("yes, but leave the football", {"ballet", "tutor"}),
        ("yeah, not the football though", {"ballet", "tutor"}),
        ("the ballet and the football", {"ballet", "football"}),
        ("yes, all but the tutoring", {"ballet", "football"}),
        ("no, just the ballet", {"ballet"}),
        ("only the one at five", {"tutor"}),
        ("yes please, all three", {"ballet", "tutor", "football"}),
        ("ok, except Bruno's", {"ballet", "tutor"}),
    ],
)
@pytest.mark.parametrize(
    "heard", [YES, UNCLEAR, fill(task="the piano"), move(task="it", to="five")]
)
def test_the_answer_may_be_some_of_them(said: str, gone: set[str], heard: Command) -> None:
    if heard != YES and gone == {"ballet", "tutor", "football"}:
        return  # what a reader makes of a mere yes is another matter
    talk = Talk(*INES)
    talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    talk.says(said, heard)
    assert {given["task_id"] for _, given in talk.calls} == gone
    assert set(talk.did) == {"delete_task"}


@pytest.mark.parametrize(
    "said", ["no, not the football", "not Bruno", "no, leave Bruno's", "don't take the football"]
)
def test_who_only_says_what_stays_is_asked_once_more(said: str) -> None:
    talk = Talk(*INES)
    talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    told = talk.says(said, NO)
    assert not talk.calls
    assert told.endswith("?")
    assert "Bruno" not in told
    talk.says("yes", YES)
    assert list(talk.there) == ["Bruno football"]


def test_a_yes_with_a_wish_beside_it_is_a_yes() -> None:
    talk = Talk(*INES)
    talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    stretch = "remind me at noon to ring the coach"
    talk.says(
        f"yes, and {stretch}", YES, of(stretch, remind(what="ring the coach", when="at noon"))
    )
    assert sorted(set(talk.did)) == ["add_task", "delete_task"]
    assert list(talk.there) == ["Ring the coach"]


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ("Ines has a fever. Clear everything she has tomorrow.", "everything she has tomorrow"),
        ("Poor Ines is ill, take off whatever she's got tomorrow", "whatever she's got tomorrow"),
        ("Ines is staying home, bin all her stuff tomorrow", "all her stuff tomorrow"),
        ("It's Ines, she's sick. All of hers tomorrow can go", "All of hers tomorrow"),
    ],
)
def test_whose_they_are_is_who_was_spoken_of(said: str, task: str) -> None:
    talk = Talk(*INES)
    told = talk.says(said, sure(begin("delete", task=task)))
    assert "Bruno" not in told
    assert told.endswith("?")


# --- Times ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "to", "when"),
    [
        ("they want me in half an hour earlier", "in half an hour earlier", "7:30 PM"),
        ("come in a quarter of an hour earlier", "in a quarter of an hour earlier", "7:45 PM"),
        ("Ravi needs us in an hour sooner", "in an hour sooner", "7 PM"),
        ("can we come in fifteen minutes early", "in fifteen minutes early", "7:45 PM"),
        ("it goes in twenty minutes later", "in twenty minutes later", "8:20 PM"),
        ("bring the squash in an hour", "in an hour", "7 PM"),
        ("pull squash in an hour and a quarter", "in an hour and a quarter", "6:45 PM"),
        ("can you bring it in by ten minutes", "in by ten minutes", "7:50 PM"),
        ("we start an hour and a half later", "an hour and a half later", "9:30 PM"),
    ],
)  # fmt: skip
def test_how_far_it_moves_counts_from_when_it_is(said: str, to: str, when: str) -> None:
    talk = Talk(SQUASH)
    talk.says(said, move(task="squash", to=to))
    assert talk.there["Squash with Ravi"] == f"tomorrow at {when}"


def test_what_is_at_that_time_already_is_not_said_to_be_moved() -> None:
    talk = Talk(SQUASH)
    told = talk.says(
        "squash is at eight tomorrow, right?", move(task="squash", to="at eight tomorrow")
    )
    assert not talk.calls
    assert "already" in told
    told = talk.says("no, eight is right", fill(to="eight"))
    assert not talk.calls
    assert not told.endswith("?")


def test_an_hour_by_an_unknown_clock_is_asked_about_and_a_place_answers() -> None:
    talk = Talk()
    when = "tomorrow at nine in the evening"
    told = talk.says(
        f"remind me to ring Dad {when}, by his clock",
        sure(remind(what="ring Dad", when=f"{when}, by his clock")),
    )
    assert told == "What time is that where you are?"
    talk.says("He's in Lahore", UNCLEAR)
    assert talk.there == {"Ring Dad": "tomorrow at 4 PM"}


def test_or_the_hour_here_does() -> None:
    talk = Talk()
    when = "tomorrow at nine in the evening, his time"
    talk.says(f"remind me to ring Dad {when}", sure(remind(what="ring Dad", when=when)))
    talk.says("four in the afternoon", fill(when="four in the afternoon"))
    assert talk.there == {"Ring Dad": "tomorrow at 4 PM"}


def test_a_correction_may_say_whose_clock_it_was() -> None:
    talk = Talk()
    talk.says(
        "remind me to ring Gran in Athens tomorrow at seven in the evening",
        remind(what="ring Gran in Athens", when="tomorrow at seven in the evening"),
    )
    talk.says(
        "no, seven in the evening by her clock", fill(when="seven in the evening by her clock")
    )
    assert talk.there == {"Ring Gran in Athens": "tomorrow at 5 PM"}


# --- Broken off, and waited for ---------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Remind me tomorrow at, Theo, off the table, put the, no. Sorry.",
        "A reminder for the, no, hold on.",
        "Remind me to get the... sorry, never mind.",
        "put down, um, the. Sorry, lost my thread.",
        "Remind me on Monday to, shoes off, sorry, where was I, never mind.",
        "set something for my, oh, wait. Sorry, sorry.",
        "Tomorrow at nine I need to, the, ah no. Forget it.",
        "I want to put the, to the. Hang on. Excuse me.",
    ],
)
def test_what_was_broken_off_is_let_go(said: str) -> None:
    talk = Talk()
    talk.says(said, sure(remind(what="shoes off", when="tomorrow")))
    assert not talk.state.agenda
    assert not talk.calls


@pytest.mark.parametrize(
    "said",
    [
        "one moment, there's somebody at the door",
        "hang on, the kettle's boiling",
        "just a second, let me look at my calendar",
        "oh, wait a sec",
        "hold on, the baby's crying",
        "sorry, give me a minute",
        "bear with me",
        "um, let me think",
    ],
)
def test_who_asks_for_a_moment_gets_it_and_goes_on(said: str) -> None:
    talk = Talk()
    talk.says("remind me to water the ferns", remind(what="water the ferns"))
    told = talk.says(said, fill(when="one"))
    assert "?" not in told
    assert "water the ferns" in talk.view.told
    talk.says("tomorrow at eight in the morning", fill(when="tomorrow at eight in the morning"))
    assert talk.there == {"Water the ferns": "tomorrow at 8 AM"}


# --- Two questions ------------------------------------------------------------------------------


def test_both_questions_are_answered() -> None:
    slots = {**PLANS["list_tasks"].slots, "thing_id": Slot(name="task", kind="thing")}
    hints = {**PLANS, "list_tasks": PLANS["list_tasks"].model_copy(update={"slots": slots})}
    for said, when in (
        ("When is the squash? And what else have I got that day?", "that day"),
        ("what time's squash, and is there anything else on the same day?", "on the same day"),
        ("When's squash? Anything else on tomorrow?", "tomorrow"),
        ("tell me when squash is, and have I anything tomorrow evening", "tomorrow evening"),
    ):
        talk = Talk(SQUASH, PASSPORT, hints=hints)
        talk.says(said, sure(begin("list", task="squash", when=when)))
        assert len(talk.calls) == 2, said
        assert talk.calls[0][1] == {"thing_id": "squash"}
        day = talk.calls[1][1]["when"]
        assert day.endswith(when if "tomorrow" in when else "on 18 November 2026"), said
    talk = Talk(SQUASH, PASSPORT, hints=hints)
    talk.says("when's squash and when's the passport?", sure(begin("list", task="squash passport")))
    assert [given["thing_id"] for _, given in talk.calls] == ["squash", "passport"]


def test_several_can_be_moved_by_whose_they_are() -> None:
    talk = Talk(*INES, hints=MANY)
    said = "Move everything Ines has tomorrow to Friday, same times"
    talk.says(said, sure(move(task="everything Ines", to="tomorrow to Friday, same times")))
    assert {given["task_id"] for _, given in talk.calls} == {"ballet", "tutor"}


@pytest.mark.parametrize(
    "said",
    [
        "delete everything except the passport",
        "clear everything but the passport",
        "get rid of all of it apart from the passport",
        "bin everything, but keep the passport",
    ],
)
def test_all_but_the_only_one_is_nothing(said: str) -> None:
    talk = Talk(PASSPORT)
    talk.says(said, sure(begin("delete", task=said.split(maxsplit=1)[1])))
    assert not talk.calls


def test_what_is_said_not_to_be_meant_stays_beside_what_is() -> None:
    talk = Talk(SQUASH, PASSPORT)
    first, second = "the squash is done", "the passport I couldn't go, so not that one"
    talk.says(
        f"{first}, and {second}",
        of(first, begin("done", task="the squash")),
        of(second, begin("delete", task="the passport")),
    )
    assert talk.did == ["finish_task"]


def test_what_repeats_moves_within_its_half_of_the_day() -> None:
    talk = Talk(thing("pill", "Take the pill", "today at 8 pm", rule="FREQ=DAILY"))
    talk.says("the pill at nine from now on, not eight", move(task="the pill", to="at nine"))
    assert talk.there == {"Take the pill": "today at 9 PM"}


def test_how_often_is_what_was_said_last() -> None:
    talk = Talk()
    said = "remind me every other Friday at six to do the bottles, no wait, every Friday"
    when = "every other Friday at six every Friday"
    talk.says(said, sure(remind(what="do the bottles", when=when)))
    assert talk.there["Do the bottles"].startswith("every Friday")


@pytest.mark.parametrize(
    "said",
    [
        "I might have to cancel the squash, I'll let you know",
        "if Ravi cancels squash I'll need a new partner",
        "should I scrap the squash?",
        "I'm thinking about dropping squash",
    ],
)
def test_what_may_be_called_off_one_day_stays(said: str) -> None:
    talk = Talk(SQUASH, PASSPORT)
    talk.says(said, sure(begin("delete", task="squash")))
    assert not talk.calls


def test_what_is_not_done_yet_is_not_ticked_off_with_what_is() -> None:
    talk = Talk(SQUASH, PASSPORT)
    first, second = "I've not been to squash yet, don't tick that", "but the passport is done"
    talk.says(
        f"{first}, {second}",
        of(first, begin("done", task="squash")),
        of(second, begin("done", task="the passport")),
    )
    assert list(talk.there) == ["Squash with Ravi"]


def test_one_that_is_on_after_all_stays() -> None:
    talk = Talk(SQUASH, PASSPORT)
    first, second = "Squash is off", "and so is collecting the passport, no,"
    talk.says(
        f"{first} {second} sorry, the passport is still on",
        of(first, begin("delete", task="Squash")),
        of(second, begin("delete", task="the passport")),
    )
    assert list(talk.there) == ["Collect the passport"]
