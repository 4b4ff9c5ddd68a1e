"""Talks with the manager: what was said and understood, and what it does about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.brain.dialogue.talking import (
    CANNOT,
    CHAT,
    DROP,
    MANY,
    NO,
    PLANS,
    THANKS,
    UNCLEAR,
    UNDO,
    WORKSPACE,
    YES,
    Talk,
    begin,
    fill,
    move,
    remind,
    thing,
)
from vivavoce.brain.dialogue.commands import Command, Fill, Plain
from vivavoce.wire.hints import Hint, Slot

BANK = thing("bank", "Call with the bank", "tomorrow at 10 am")
MUM = thing("mum", "Call Mum", "tomorrow at 6 pm")
HAIR = thing("hair", "Haircut", "Thursday at half past twelve")


# --- One wish -------------------------------------------------------------------------


def test_a_wish_that_says_everything_is_done_and_confirmed_with_resolved_words() -> None:
    talk = Talk()
    told = talk.says(
        "remind me to ring Mum tomorrow at five",
        remind(what="ring Mum", when="tomorrow at five"),
    )
    assert talk.calls == [
        ("add_task", {"title": "Ring Mum", "at": "tomorrow at five", "trigger": "time"})
    ]
    assert told.startswith("It is on your list: Ring Mum, tomorrow at 5 PM.")


def test_what_is_missing_is_asked_for_one_thing_at_a_time() -> None:
    talk = Talk()
    assert talk.says("remind me", remind()) == "What should I put down?"
    assert "post the letter" in talk.says("to post the letter", fill(what="to post the letter"))
    assert not talk.calls
    talk.says("Friday at nine", fill(when="Friday at nine"))
    assert talk.there == {"Post the letter": "Friday, November 20 at 9 AM"}


def test_an_answer_to_when_is_one_even_if_the_model_calls_it_a_new_wish() -> None:
    talk = Talk()
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    talk.says("tomorrow at five", remind(when="tomorrow at five"))
    assert talk.there == {"Ring Mum": "tomorrow at 5 PM"}


@pytest.mark.parametrize("meant", [UNCLEAR, CHAT, remind(), begin("list", when="tomorrow at five")])
def test_an_answer_to_when_is_one_whatever_the_model_made_of_it(meant: object) -> None:
    talk = Talk()
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    talk.says("tomorrow at five", meant)  # type: ignore[arg-type]
    assert talk.there == {"Ring Mum": "tomorrow at 5 PM"}


def test_a_day_and_an_hour_may_come_one_after_the_other() -> None:
    talk = Talk()
    told = talk.says("remind me on Thursday to ring Mum", remind(what="ring Mum", when="Thursday"))
    assert "time" in told
    talk.says("half past six in the evening", fill(when="half past six in the evening"))
    assert talk.there == {"Ring Mum": "Thursday, November 19 at 6:30 PM"}


def test_half_copied_times_are_taken_whole() -> None:
    talk = Talk()
    talk.says(
        "the day after tomorrow at two in the afternoon remind me to ring Mum",
        remind(what="ring Mum", when="two in the afternoon"),
    )
    assert talk.there == {"Ring Mum": "Thursday, November 19 at 2 PM"}


def test_a_time_that_no_slot_copied_is_used() -> None:
    talk = Talk()
    talk.says("remind me to ring Mum tomorrow at five", remind(what="ring Mum"))
    assert talk.there == {"Ring Mum": "tomorrow at 5 PM"}


def test_times_do_not_stay_in_titles() -> None:
    talk = Talk()
    talk.says("remind me to ring Mum tomorrow at five", remind(what="to ring Mum tomorrow at five"))
    assert talk.there == {"Ring Mum": "tomorrow at 5 PM"}


def test_a_place_needs_no_time() -> None:
    talk = Talk()
    talk.says(
        "when I'm at the chemist's tell me to get plasters",
        remind(what="get plasters", place="at the chemist's"),
    )
    assert talk.calls[0][1] == {
        "title": "Get plasters",
        "place": "at the chemist's",
        "trigger": "place",
    }


def test_what_is_worth_a_question_is_asked_once_and_may_be_left_out() -> None:
    talk = Talk()
    assert talk.says("I want to learn Welsh", begin("goal", what="learn Welsh")) in (
        "By when?",
        "Until when?",
    )
    assert talk.says("no, no date", NO).startswith(("Noted", "Your goal"))
    assert talk.calls == [("add_goal", {"statement": "Learn Welsh"})]


def test_what_a_tool_asks_back_is_asked_and_the_answer_completes_it() -> None:
    asked = iter([{"success": False, "error": "Two", "question": "This or next week?",
                   "missing": ["at"]}])  # fmt: skip
    talk = Talk()
    talk.backend = lambda tool, given: next(asked, None) or talk.plans(tool, given)
    told = talk.says("remind me Friday at 5 to swim", remind(what="swim", when="Friday at 5"))
    assert told == "This or next week?"
    talk.says("November 27 at 5 pm", fill(when="November 27 at 5 pm"))
    assert len(talk.calls) == 1
    assert list(talk.there) == ["Swim"]


# --- Several wishes -------------------------------------------------------------------


def test_two_wishes_in_one_breath_are_both_done_and_told_in_one_reply() -> None:
    talk = Talk()
    told = talk.says(
        "tomorrow at nine the vet, and on Friday at ten the bank",
        remind(what="the vet", when="tomorrow at nine"),
        remind(what="the bank", when="on Friday at ten"),
    )
    assert talk.did == ["add_task", "add_task"]
    assert "vet" in told.lower()
    assert "bank" in told.lower()


def test_the_second_of_two_is_on_the_day_of_the_first_if_none_is_said() -> None:
    talk = Talk()
    talk.says(
        "on Monday at ten in the morning the tax adviser, and at three in the afternoon the tyres",
        remind(what="the tax adviser", when="on Monday at ten in the morning"),
        remind(what="the tyres", when="at three in the afternoon"),
    )
    assert talk.there["The tyres"] == "Monday, November 23 at 3 PM"


def test_the_complete_one_is_done_while_the_other_is_asked_about() -> None:
    talk = Talk()
    told = talk.says(
        "remind me to ring Mum, and tomorrow at nine about the vet",
        remind(what="ring Mum"),
        remind(what="the vet", when="tomorrow at nine"),
    )
    assert talk.there == {"The vet": "tomorrow at 9 AM"}
    assert "vet" in told
    assert told.endswith("?")
    talk.says("Friday at noon", fill(when="Friday at noon"))
    assert set(talk.there) == {"The vet", "Ring Mum"}


def test_a_new_wish_does_not_lose_the_open_one() -> None:
    talk = Talk(BANK)
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    told = talk.says("what's on tomorrow?", begin("list", when="tomorrow"))
    assert "Call with the bank" in told
    assert "ring Mum" in told
    talk.says("Friday at noon", fill(when="Friday at noon"))
    assert "Ring Mum" in talk.there


def test_a_new_reminder_while_one_is_open_is_another_one() -> None:
    talk = Talk()
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    told = talk.says(
        "and remind me to water the plants tomorrow at eight",
        remind(what="water the plants", when="tomorrow at eight"),
    )
    assert list(talk.there) == ["Water the plants"]
    assert "ring Mum" in told


# --- Dropping, taking back, correcting ------------------------------------------------


def test_what_is_dropped_is_not_done() -> None:
    talk = Talk()
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    talk.says("never mind", DROP)
    assert not talk.there
    assert not talk.says("Friday at noon", fill(when="Friday at noon")).startswith("It is on")
    assert not talk.there


def test_taking_back_undoes_all_of_the_last_turn() -> None:
    talk = Talk()
    talk.says(
        "tomorrow at nine the vet, and on Friday at ten the bank",
        remind(what="the vet", when="tomorrow at nine"),
        remind(what="the bank", when="on Friday at ten"),
    )
    talk.says("no, undo that", UNDO)
    assert talk.did == ["retract", "retract"]
    assert not talk.there


def test_taking_back_what_is_named_leaves_the_rest() -> None:
    talk = Talk()
    talk.says(
        "tomorrow at nine the vet, and on Friday at ten the bank",
        remind(what="the vet", when="tomorrow at nine"),
        remind(what="the bank", when="on Friday at ten"),
    )
    talk.says("ah, take back the vet", UNDO)
    assert list(talk.there) == ["The bank"]


def test_who_drops_that_one_right_after_it_was_done_takes_it_back() -> None:
    talk = Talk()
    talk.says("bins tomorrow at nine", remind(what="bins", when="tomorrow at nine"))
    talk.says("nah, drop that one", DROP)
    assert talk.there == {}


def test_who_drops_nothing_that_is_named_changes_nothing() -> None:
    talk = Talk()
    talk.says("bins tomorrow at nine", remind(what="bins", when="tomorrow at nine"))
    talk.says("never mind", DROP)
    assert talk.there == {"Bins": "tomorrow at 9 AM"}


def test_asked_which_one_the_time_that_one_of_them_has_tells_which() -> None:
    talk = Talk(BANK, MUM)
    talk.says("make it half past one", move(to="half past one in the afternoon"))
    talk.says(
        "tomorrow's ten o'clock, the bank", fill(to="tomorrow's ten o'clock", task="the bank")
    )
    assert talk.there["Call with the bank"] == "tomorrow at 1:30 PM"


@pytest.mark.parametrize(("said", "heard"), [("yes, delete the lot", NO), ("no, leave them", YES)])
def test_yes_and_no_to_what_is_careful_are_what_was_said(said: str, heard: Plain) -> None:
    talk = Talk(BANK, MUM)
    talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    talk.says(said, heard)
    assert bool(talk.there) is said.startswith("no")


def test_nothing_is_taken_back_twice() -> None:
    talk = Talk()
    talk.says("remind me to swim at five", remind(what="swim", when="at five"))
    talk.says("undo that", UNDO)
    talk.says("undo that", UNDO)
    assert not talk.calls


def test_a_correction_amends_and_keeps_what_was_not_named() -> None:
    talk = Talk()
    talk.says(
        "remind me Saturday at nine in the morning to ring the vet",
        remind(what="ring the vet", when="Saturday at nine in the morning"),
    )
    told = talk.says("make it ten", fill(when="ten"))
    assert talk.did == ["amend"]
    assert talk.calls[0][1]["changes"] == {"at": "ten", "trigger": "time"}
    assert talk.there == {"Ring the vet": "Saturday, November 21 at 10 AM"}
    assert "10 AM" in told


def test_a_correction_that_the_model_takes_for_a_new_wish_is_one_all_the_same() -> None:
    talk = Talk()
    talk.says(
        "remind me to call Sheila on Friday at noon",
        remind(what="call Sheila", when="on Friday at noon"),
    )
    talk.says("no sorry, I meant Stella", remind(what="call Stella"))
    assert talk.did == ["amend"]
    assert list(talk.there) == ["Call Stella"]


def test_a_no_before_another_wish_is_no_correction() -> None:
    talk = Talk()
    talk.says("remind me to swim on Friday at noon", remind(what="swim", when="on Friday at noon"))
    talk.says(
        "no, but remind me to buy milk tomorrow at five",
        remind(what="buy milk", when="tomorrow at five"),
    )
    assert set(talk.there) == {"Swim", "Buy milk"}


def test_the_move_of_a_task_can_be_corrected() -> None:
    talk = Talk(BANK, MUM)
    talk.says("move the bank to Thursday at noon", move(task="the bank", to="Thursday at noon"))
    talk.says("no, sorry, half past one", fill(to="half past one"))
    assert talk.there["Call with the bank"] == "Thursday, November 19 at 1:30 PM"


def test_as_a_goal_instead_takes_the_reminder_back() -> None:
    talk = Talk()
    talk.says("remind me at five to learn Welsh", remind(what="learn Welsh", when="at five"))
    talk.says("no, as a goal", begin("goal"))
    assert talk.did == ["retract", "add_goal"]
    assert list(talk.there) == ["Learn Welsh"]


# --- Which thing ----------------------------------------------------------------------


def test_one_of_several_is_asked_for_and_never_guessed() -> None:
    talk = Talk(BANK, MUM, HAIR)
    told = talk.says(
        "Shove my call to half past four tomorrow afternoon",
        move(task="my call", to="half past four tomorrow afternoon"),
    )
    assert not talk.calls
    assert "Call with the bank" in told
    assert "Call Mum" in told
    assert "Haircut" not in told
    talk.says("the bank one", fill(task="the bank one"))
    assert talk.there["Call with the bank"] == "tomorrow at 4:30 PM"


@pytest.mark.parametrize("answer", ["the first one", "the bank", "the one at ten", "the former"])
def test_which_one_may_be_answered_by_name_place_or_time(answer: str) -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete my call", begin("delete", task="my call"))
    talk.says(answer, UNCLEAR)
    assert talk.calls == [("delete_task", {"task_id": "bank"})]


def test_what_is_not_there_is_said_with_what_is() -> None:
    talk = Talk(BANK, HAIR)
    told = talk.says("delete the dentist", begin("delete", task="the dentist"))
    assert "Call with the bank" in told
    assert "Haircut" in told
    assert not talk.calls


def test_several_are_deleted_after_one_yes() -> None:
    talk = Talk(BANK, MUM, HAIR)
    told = talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    assert "two things" in told
    assert "Call Mum" in told
    told = talk.says("yes", YES)
    assert talk.did == ["delete_task", "delete_task"]
    assert told.startswith("Deleted: Call with the bank and Call Mum.")
    assert list(talk.there) == ["Haircut"]


def test_several_are_kept_after_a_no() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    talk.says("no, leave it", NO)
    assert len(talk.there) == 3


def test_only_one_of_them_after_all() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete everything tomorrow", begin("delete", task="everything tomorrow"))
    talk.says("no, only the bank", NO, fill(task="the bank"))
    assert talk.calls == [("delete_task", {"task_id": "bank"})]


def test_the_second_of_what_was_listed() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("what's on?", begin("list"))
    talk.says("the second one is done", begin("done", task="the second one"))
    assert talk.calls == [("finish_task", {"task_id": "mum"})]


def test_it_is_what_the_talk_is_about() -> None:
    talk = Talk(BANK, MUM)
    talk.says("remind me at five to swim", remind(what="swim", when="at five"))
    talk.says("push it to six", move(task="it", to="six"))
    assert talk.there["Swim"] == "today at 6 PM"


def test_a_time_can_depend_on_a_thing() -> None:
    train = thing("train", "Train to Edinburgh", "Thursday at 9:40 am")
    talk = Talk(train, BANK)
    talk.says(
        "You know my train to Edinburgh? Remind me an hour before that to take my railcard",
        remind(what="take my railcard", when="an hour before"),
    )
    assert talk.calls[0][1]["relative_to"] == "train"


# --- What is said ---------------------------------------------------------------------


def test_a_failure_is_never_told_as_a_success() -> None:
    talk = Talk(backend=lambda tool, given: {"success": False, "error": "The list is full."})
    told = talk.says("remind me at five to swim", remind(what="swim", when="at five"))
    assert "did not work" in told
    assert "The list is full." in told


def test_what_is_kept_for_a_backend_that_is_down_is_not_told_as_undone() -> None:
    down = {"success": False, "error": "The backend does not answer now.", "status": "pending"}
    talk = Talk(backend=lambda tool, given: down)
    told = talk.says("remind me to nap at 6", remind(what="nap", when="at 6"))
    assert "not confirmed yet" in told
    assert "nothing has changed" not in told


@pytest.mark.parametrize("output", ["", "{}", "ok", "[]", "null", '{"status": "failed"}', "{"])
def test_what_cannot_be_read_is_no_success(output: str) -> None:
    talk = Talk(backend=lambda tool, given: output)
    told = talk.says("remind me at five to swim", remind(what="swim", when="at five"))
    assert "on your list" not in told
    assert told


def test_an_okay_after_a_confirmation_needs_no_act() -> None:
    talk = Talk()
    talk.says("remind me at five to swim", remind(what="swim", when="at five"))
    for meant in (YES, CHAT, UNCLEAR, THANKS):
        told = talk.says("okay, great", meant)
        assert not talk.calls
        assert told


def test_thanks_are_answered_shortly() -> None:
    talk = Talk(user="Rosa")
    assert len(talk.says("thanks, bye", THANKS)) < 40


def test_what_it_cannot_do_it_says_with_what_it_can() -> None:
    told = Talk().says("text my husband", CANNOT)
    assert "remind" in told


def test_what_is_unclear_twice_is_asked_in_other_words() -> None:
    talk = Talk()
    assert talk.says("so, um", UNCLEAR) != talk.says("the, uh", UNCLEAR)


def test_the_agents_own_sentences_come_first() -> None:
    talk = Talk(words={"cannot": ("Not my cup of tea.",)})
    assert talk.says("play jazz", CANNOT) == "Not my cup of tea."


def test_small_talk_may_be_answered_freely() -> None:
    talk = Talk()
    talk.says("how are you?", CHAT)
    assert not talk.calls


# --- A workspace ----------------------------------------------------------------------


def test_the_result_of_a_question_is_the_answer() -> None:
    talk = Talk(hints=WORKSPACE, backend=lambda tool, given: "calc_vat is used in app.py")
    told = talk.says("where do we call calc vat", begin("find", what="calc vat"))
    assert talk.calls == [("grep", {"pattern": "calc vat"})]
    assert told.startswith("Calc_vat is used in app.py")


def test_two_questions_are_answered_in_one_reply() -> None:
    talk = Talk(hints=WORKSPACE, backend=lambda tool, given: f"Found {given['pattern']}.")
    told = talk.says(
        "where's port, and where's debug", begin("find", what="port"), begin("find", what="debug")
    )
    assert "Found port. Found debug." in told


# --- Titles ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copied", "title"),
    [
        ("remind me to ring the vet", "Ring the vet"),
        ("to ring the vet", "Ring the vet"),
        ("ring the vet tomorrow at five", "Ring the vet"),
        ("tomorrow at five ring the vet", "Ring the vet"),
        ("that I need to ring the vet, please", "Ring the vet"),
        ("um, ring the vet", "Ring the vet"),
        ("about my BP tablet", "My BP tablet"),
        ("take my mother to the airport", "Take my mother to the airport"),
        ("book Sunday lunch", "Book Sunday lunch"),
    ],
)
def test_titles_are_what_one_would_write_down(copied: str, title: str) -> None:
    talk = Talk()
    said = copied if "tomorrow" in copied else f"tomorrow at five: {copied}"
    talk.says(said, remind(what=copied, when="tomorrow at five"))
    assert list(talk.there) == [title]


def test_a_title_that_says_nothing_is_asked_for() -> None:
    talk = Talk()
    told = talk.says("remind me about it tomorrow at five", remind(what="it"))
    assert told == "What should I put down?"
    assert not talk.calls


def test_that_is_what_was_said_before() -> None:
    talk = Talk()
    talk.says(
        "I have to send the invoices. Remind me of that tomorrow at five",
        remind(what="that", when="tomorrow at five"),
    )
    assert list(talk.there) == ["Send the invoices"]


def test_with_nothing_on_the_list_there_is_nothing_to_ask_about() -> None:
    talk = Talk()
    told = talk.says("delete the dentist", begin("delete", task="the dentist"))
    assert "nothing like that" in told
    assert not talk.state.agenda


# --- Times ----------------------------------------------------------------------------


def test_a_day_that_can_be_two_is_asked_about_and_settled() -> None:
    talk = Talk()
    told = talk.says(
        "next Friday at five, ring Mum", remind(what="ring Mum", when="next Friday at five")
    )
    assert "November 20" in told
    talk.says("this Friday", fill(when="this Friday"))
    assert talk.there == {"Ring Mum": "Friday, November 20 at 5 PM"}


def test_a_change_of_mind_while_it_is_open_keeps_the_day() -> None:
    talk = Talk()
    talk.says("remind me Thursday at six pm", remind(when="Thursday at six pm"))
    talk.says("to swim, and make it seven pm", fill(what="to swim", when="seven pm"))
    assert talk.there == {"Swim": "Thursday, November 19 at 7 PM"}


def test_what_a_time_is_relative_to_is_asked_for_if_it_is_not_clear() -> None:
    talk = Talk(BANK, MUM)
    told = talk.says(
        "an hour before my call remind me to find the papers",
        remind(what="find the papers", when="an hour before my call"),
    )
    assert "Call with the bank" in told
    talk.says("the bank", fill(task="the bank"))
    assert talk.calls[0][1]["relative_to"] == "bank"


def test_something_that_repeats_needs_its_hour() -> None:
    talk = Talk()
    told = talk.says(
        "every evening remind me to water the plants",
        remind(what="water the plants", when="every evening"),
    )
    assert "time" in told
    talk.says("at nine", fill(when="at nine"))
    assert "every day" in talk.there["Water the plants"]
    assert "9 PM" in talk.there["Water the plants"]


def test_a_time_within_the_name_of_a_thing_is_not_the_new_time() -> None:
    eye = thing("eye", "Eye doctor", "Thursday at 10:20 am")
    talk = Talk(eye, BANK)
    talk.says(
        "my appointment Thursday gets pushed back exactly one week, same hour",
        move(task="my appointment Thursday", to="pushed back exactly one week, same hour"),
    )
    assert talk.there["Eye doctor"] == "Thursday, November 26 at 10:20 AM"


def test_a_leftover_time_completes_what_was_copied() -> None:
    talk = Talk()
    talk.says(
        "On Sunday I'm at my sister's. Remind me at four in the afternoon to bring the cake.",
        remind(what="bring the cake", when="at four in the afternoon"),
    )
    assert talk.there == {"Bring the cake": "Sunday, November 22 at 4 PM"}


def test_a_time_that_is_no_time_is_asked_for() -> None:
    talk = Talk()
    told = talk.says("remind me soon to swim", remind(what="swim", when="soon"))
    assert told.startswith("When")


# --- What talks have shown ------------------------------------------------------------


def test_a_place_answers_when_too() -> None:
    for answer in (fill(when="when I'm at the shop"), UNCLEAR):
        talk = Talk()
        talk.says("remind me to buy sandpaper", remind(what="buy sandpaper"))
        talk.says("when I'm at the shop", answer)
        assert talk.calls[0][1]["place"] == "when I'm at the shop"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("no, I meant Stella", "Call Stella about the car"),
        ("Stella, not Sheila", "Call Stella about the car"),
        ("not the car, the bike", "Call Sheila about the bike"),
    ],
)
def test_a_name_is_corrected_within_its_title(said: str, title: str) -> None:
    talk = Talk()
    talk.says(
        "remind me to call Sheila about the car at five",
        remind(what="call Sheila about the car", when="at five"),
    )
    new = "bike" if "bike" in said else "Stella"
    talk.says(said, fill(what=new))
    assert list(talk.there) == [title]


@pytest.mark.parametrize("new", ["the car", "the car I want to fuel"])
def test_a_name_that_is_cut_short_is_corrected_as_a_whole(new: str) -> None:
    talk = Talk()
    talk.says(
        "remind me to fuel the generator at five", remind(what="fuel the generator", when="at five")
    )
    talk.says("not the gen. It's the car I want to fuel", fill(what=new))
    assert list(talk.there) == ["Fuel the car"]


def test_a_short_name_is_not_found_inside_another_word() -> None:
    talk = Talk()
    talk.says("remind me to oil the boiler at five", remind(what="oil the boiler", when="at five"))
    talk.says("not oil, bleed", fill(what="bleed"))
    assert list(talk.there) == ["Bleed the boiler"]


def test_the_kind_of_an_open_wish_can_change() -> None:
    talk = Talk()
    talk.says("remind me to learn the cello", remind(what="learn the cello"))
    talk.says("it's a goal, not a reminder", begin("goal", what="a goal"))
    talk.says("by 2029", fill(by="by 2029"))
    assert talk.calls == [("add_goal", {"statement": "Learn the cello", "timeline": "by 2029"})]
    assert not talk.state.agenda


def test_one_of_a_list_is_remembered_when_the_talk_went_on() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("what's on?", begin("list"))
    talk.says("the last one to Friday", move(task="the last one", to="Friday"))
    talk.says("and the first is done", begin("done", task="the first"))
    assert talk.calls == [("finish_task", {"task_id": "bank"})]


def test_what_is_asked_after_something_else_says_what_it_is_about() -> None:
    talk = Talk(BANK, hints=talk_hints())
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    told = talk.says("what's on tomorrow?", begin("list", when="tomorrow"))
    assert "ring Mum" in told


def talk_hints() -> dict[str, Hint]:
    """A question that does not say what it is about."""
    task = PLANS["add_task"]
    at = task.slots["at"].model_copy(update={"questions": ("When is it for?",)})
    slots = {**task.slots, "at": at}
    return {**PLANS, "add_task": task.model_copy(update={"slots": slots})}


def test_what_is_taken_back_is_told_as_it_is_again() -> None:
    talk = Talk(BANK, MUM)
    talk.says("move the bank to Friday at noon", move(task="the bank", to="Friday at noon"))
    told = talk.says("leave it where it was", UNDO)
    assert "Call with the bank, tomorrow at 10 AM" in told


def test_a_shift_takes_its_direction_from_the_verb() -> None:
    talk = Talk(BANK)
    talk.says("bring the bank forward half an hour", move(task="the bank", to="half an hour"))
    assert talk.there["Call with the bank"] == "tomorrow at 9:30 AM"


def test_letting_go_of_one_for_another_only_tells_of_the_other() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete my call", begin("delete", task="my call"))
    talk.says(
        "no, never mind, move the haircut to Friday at ten",
        DROP,
        move(task="the haircut", to="Friday at ten"),
    )
    assert talk.did == ["move_task"]
    assert not talk.state.agenda


def test_a_wish_that_breaks_off_has_no_title() -> None:
    talk = Talk()
    told = talk.says(
        "I wanted you to, oh, I had it a second ago, remind me about",
        remind(what="remind me about"),
    )
    assert told == "What should I put down?"


def test_who_lets_go_of_nothing_is_not_asked_which() -> None:
    talk = Talk(HAIR)
    told = talk.says("No, it's gone. Never mind.", begin("delete", task="it's gone"))
    assert "?" not in told
    assert not talk.calls
    assert not talk.state.agenda


def test_it_of_nothing_in_particular_is_asked_about_though_there_is_only_one() -> None:
    talk = Talk(HAIR)
    assert talk.says("get rid of it", begin("delete", task="it")) == "Do you mean Haircut?"
    talk.says("yes", YES)
    assert talk.calls == [("delete_task", {"task_id": "hair"})]


def test_two_things_named_in_one_go_are_both_meant() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("the bank and the haircut are done", begin("done", task="the bank and the haircut"))
    assert talk.calls == [
        ("finish_task", {"task_id": "bank"}),
        ("finish_task", {"task_id": "hair"}),
    ]


def test_the_same_thing_at_two_hours_is_two_reminders() -> None:
    talk = Talk()
    talk.says(
        "tomorrow tell me to take my pills at eight in the morning and nine at night",
        remind(what="take my pills", when="at eight in the morning"),
        remind(what="take my pills", when="nine at night"),
    )
    assert {t.when for t in talk.plans.things.values()} == {"tomorrow at 8 AM", "tomorrow at 9 PM"}


def test_an_hour_that_does_not_matter_is_left_to_the_tool() -> None:
    talk = Talk()
    talk.says("remind me tomorrow to swim", remind(what="swim", when="tomorrow"))
    talk.says("oh, whenever, it doesn't matter", UNCLEAR)
    assert talk.calls[0][1]["at"] == "tomorrow"


def test_neither_of_them_ends_it() -> None:
    talk = Talk(BANK, MUM)
    talk.says("delete my call", begin("delete", task="my call"))
    talk.says("neither", UNCLEAR)
    assert not talk.calls
    assert not talk.state.agenda


def test_both_as_an_answer_needs_no_second_question() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete my call", begin("delete", task="my call"))
    talk.says("both", fill(task="both"))
    assert talk.did == ["delete_task", "delete_task"]


def test_a_time_that_comes_first_is_for_both() -> None:
    talk = Talk()
    talk.says(
        "tomorrow at nine remind me to call the bank and to buy stamps",
        remind(what="call the bank", when="tomorrow at nine"),
        remind(what="buy stamps"),
    )
    assert talk.there == {"Call the bank": "tomorrow at 9 AM", "Buy stamps": "tomorrow at 9 AM"}


def test_an_unclear_answer_to_what_is_optional_leaves_it_out() -> None:
    talk = Talk()
    talk.says("I want to learn Welsh", begin("goal", what="learn Welsh"))
    told = talk.says("no idea really", UNCLEAR)
    assert talk.did == ["add_goal"]
    assert "get that" not in told


@pytest.mark.parametrize("meant", [fill(task="all"), UNCLEAR, begin("delete", task="all"), THANKS])
def test_no_thats_all_is_a_no_whatever_the_model_hears(meant: Command) -> None:
    talk = Talk(BANK, HAIR)
    talk.says("delete the dentist", begin("delete", task="the dentist"))
    told = talk.says("no, that's all", meant)
    assert not talk.calls
    assert "?" not in told
    assert not talk.state.agenda


def test_a_time_without_a_word_of_time_and_a_place_that_is_none_are_not_taken() -> None:
    talk = Talk()
    told = talk.says(
        "Text my husband and tell him I'm running late, will you.",
        remind(what="running late", when="will you", place="my husband"),
    )
    assert not talk.calls
    assert told.endswith("?")


def test_where_somebody_is_does_not_set_it_off() -> None:
    talk = Talk()
    talk.says(
        "Board call on Thursday, one p.m. I'm in San Francisco, so ping me when it starts.",
        remind(what="Board call", when="on Thursday, one p.m.", place="San Francisco"),
    )
    assert "place" not in talk.calls[0][1]


def test_one_wish_told_in_several_commands_is_done_once() -> None:
    talk = Talk(BANK, HAIR)
    talk.says(
        "my haircut Thursday gets pushed back exactly one week, same hour",
        move(task="my haircut Thursday"),
        move(task="my haircut", to="back exactly one week, same hour"),
        move(task="my haircut"),
    )
    assert talk.did == ["move_task"]
    assert talk.there["Haircut"] == "Thursday, November 26 at 12:30 PM"


@pytest.mark.parametrize(
    "meant",
    [
        move(task="the other child", to="At eight pm"),
        fill(task="the other child", to="At eight pm"),
        fill(to="seven thirty pm"),
        UNCLEAR,
    ],
)
def test_a_correction_with_a_distraction_is_of_what_was_just_done(meant: Command) -> None:
    talk = Talk(BANK, HAIR)
    talk.says(
        "move the haircut to Friday, eight pm", move(task="the haircut", to="Friday, eight pm")
    )
    talk.says(
        "Ah no, sorry, seven thirty pm. At eight pm is the other child.",
        meant,
    )
    assert talk.there["Haircut"] == "Friday, November 20 at 7:30 PM"


def test_each_wish_of_one_breath_is_of_the_kind_it_is_called() -> None:
    talk = Talk()
    talk.says(
        "Make being fit by 2028 a goal. And tomorrow at seven a.m. remind me to run.",
        begin("goal", what="being fit", by="by 2028"),
        begin("goal", what="run", by="tomorrow at seven a.m."),
    )
    assert talk.did == ["add_goal", "add_task"]


def test_which_one_is_answered_by_its_name_though_the_model_hears_a_question() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete my call", begin("delete", task="my call"))
    talk.says("the bank", begin("list", task="the bank"))
    assert talk.calls == [("delete_task", {"task_id": "bank"})]


@pytest.mark.parametrize("words", ["him", "the list", ""])
def test_who_is_meant_by_him_was_said_before(words: str) -> None:
    plumber = thing("plumber", "Plumber", "Friday at 8 am")
    talk = Talk(plumber, BANK, HAIR)
    talk.says(
        "Ugh, the plumber cancelled on me. Take him off the list.", begin("delete", task=words)
    )
    assert talk.calls == [("delete_task", {"task_id": "plumber"})]


def test_what_is_it_about_takes_the_words_as_they_are() -> None:
    talk = Talk()
    talk.says("remind me tomorrow at seven in the morning", remind(when="tomorrow at seven"))
    talk.says("feed the cat", CHAT)
    assert talk.there == {"Feed the cat": "tomorrow at 7 AM"}


def test_the_time_that_names_things_is_not_the_new_one() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("Move everything tomorrow to Monday", move(task="everything tomorrow", to="Monday"))
    assert "tomorrow" not in "".join(str(given["to"]) for _, given in talk.calls)


def test_nothing_is_taken_back_before_what_comes_instead_is_clear() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("the haircut is done", begin("done", task="the haircut"))
    told = talk.says("no, I meant my call", fill(task="my call"))
    assert not talk.calls
    assert "Call Mum" in told
    talk.says("the bank", fill(task="the bank"))
    assert talk.did == ["retract", "finish_task"]
    assert set(talk.there) == {"Haircut", "Call Mum"}


def test_as_many_times_as_wishes_are_given_out_in_the_order_in_which_they_were_said() -> None:
    talk = Talk()
    told = talk.says(
        "tomorrow at eight a.m. call the pharmacy, tomorrow at one p.m. lunch with Carla, and "
        "Sunday at five p.m. meal prep",
        remind(what="call the pharmacy", when="tomorrow at one p.m."),
        remind(what="lunch with Carla", when="tomorrow at one p.m."),
        remind(what="meal prep", when="Sunday at five p.m."),
    )
    whens = [str(arguments) for _, arguments in talk.calls]
    assert talk.did == ["add_task"] * 3
    assert "eight" in whens[0]
    assert "one p.m" in whens[1]
    assert "five" in whens[2]
    assert "Carla" in told


def test_what_comes_another_day_instead_is_moved_and_nothing_new() -> None:
    said = "The plumber can't do that day, he's coming tomorrow at quarter past four instead."
    new = remind(what="plumber", when="tomorrow at quarter past four")
    for commands in ((new,), (new, move(task="The plumber"))):
        talk = Talk(thing("plumber", "Plumber coming", "Friday at 9 am"))
        talk.says(said, *commands)
        assert talk.did == ["move_task"]


def test_something_new_beside_what_is_there_stays_new() -> None:
    talk = Talk(thing("plumber", "Plumber coming", "Friday at 9 am"))
    talk.says(
        "Remind me to pay the plumber on Saturday at ten",
        remind(what="pay the plumber", when="on Saturday at ten"),
    )
    assert talk.did == ["add_task"]


def test_and_on_friday_is_the_same_question_about_friday() -> None:
    talk = Talk(BANK, HAIR)
    talk.says("what is on tomorrow", begin("list", when="tomorrow"))
    talk.says("and on Friday?", Plain("yes"))
    assert talk.calls == [("list_tasks", {"when": "on Friday"})]
    talk.says("what about Thursday then?", Fill({"when": "Thursday"}))
    assert talk.did == ["list_tasks"]
    assert "Thursday" in talk.calls[0][1]["when"]


def test_and_something_after_a_deed_is_no_question() -> None:
    talk = Talk(BANK)
    talk.says("what is on tomorrow", begin("list", when="tomorrow"))
    talk.says(
        "and remind me to call Jo on Friday at ten", remind(what="call Jo", when="on Friday at ten")
    )
    assert talk.did == ["add_task"]


def test_where_the_speaker_broke_off_nothing_is_named_yet() -> None:
    talk = Talk()
    told = talk.says(
        "Remind me on Thursday at five to pick up the",
        remind(what="pick up", when="on Thursday at five"),
    )
    assert talk.did == []
    assert told.endswith("?")
    talk.says("the cake from the bakery", fill(what="the cake from the bakery"))
    assert talk.did == ["add_task"]
    assert "cake" in str(talk.calls)


def test_their_time_is_that_of_the_place_that_was_named() -> None:
    talk = Talk()
    talk.says(
        "I've a call with the Munich office on Wednesday at three in the afternoon, that's their "
        "time, not ours.",
        remind(what="call with the Munich office", when="on Wednesday at three in the afternoon"),
    )
    assert "Munich time" in str(talk.calls)


# --- As people speak ------------------------------------------------------------------


def test_what_is_told_beside_the_question_begins_nothing() -> None:
    talk = Talk()
    talk.says("I need reminding to ring the boiler man", remind(what="ring the boiler man"))
    told = talk.says("he's called Mr Hodges, by the way", remind(what="Mr Hodges"))
    assert "boiler man" in told
    talk.says("tomorrow at nine", fill(when="tomorrow at nine"))
    assert talk.there == {"Ring the boiler man": "tomorrow at 9 AM"}


def test_what_is_told_beside_the_question_is_no_other_title() -> None:
    talk = Talk()
    talk.says("remind me to ring the boiler man", remind(what="ring the boiler man"))
    talk.says("he's called Mr Hodges", fill(what="Mr Hodges"))
    talk.says("tomorrow at nine", fill(when="tomorrow at nine"))
    assert list(talk.there) == ["Ring the boiler man"]


def test_who_has_no_date_in_mind_keeps_the_goal_they_named() -> None:
    talk = Talk()
    talk.says("I'd love to play the cello", begin("goal", what="play the cello"))
    talk.says("oh, no date, whenever", fill(what="whenever"))
    assert list(talk.there) == ["Play the cello"]


def test_something_that_is_called_like_a_thing_is_that_thing_at_another_time() -> None:
    talk = Talk(HAIR, MUM)
    talk.says(
        "the haircut's been changed, it's on Friday at ten now",
        remind(what="the haircut", when="on Friday at ten"),
    )
    assert talk.did == ["move_task"]


def test_who_asks_for_a_reminder_of_a_thing_gets_another_one() -> None:
    talk = Talk(HAIR)
    talk.says(
        "remind me of the haircut on Friday at ten",
        remind(what="the haircut", when="on Friday at ten"),
    )
    assert talk.did == ["add_task"]


def test_a_thing_that_is_asked_about_and_gets_another_time_is_moved() -> None:
    talk = Talk(BANK, HAIR)
    talk.says(
        "You know what I've got at ten tomorrow? Make it half past eleven, please.",
        begin("list", when="at ten tomorrow"),
    )
    assert talk.did == ["move_task"]
    assert talk.there["Call with the bank"] == "tomorrow at 11:30 AM"


def test_asked_which_one_people_may_first_say_when() -> None:
    talk = Talk(BANK, MUM)
    assert "Which" in talk.says("put that call to another day", move(task="that call"))
    assert "Which" in talk.says("in three days, at two in the afternoon", UNCLEAR)
    talk.says("Mum", fill(task="Mum"))
    assert talk.there["Call Mum"] == "Friday, November 20 at 2 PM"


def test_a_correction_that_names_the_old_time_too_means_the_new_one() -> None:
    talk = Talk()
    talk.says("ring Mum tomorrow at noon", remind(what="ring Mum", when="tomorrow at noon"))
    talk.says("oh no, tomorrow I'm flying, do it the day after, still noon", fill(when="tomorrow"))
    assert talk.there == {"Ring Mum": "Thursday, November 19 at 12 PM"}


def test_what_is_taken_back_in_the_same_breath_is_not_put_down() -> None:
    talk = Talk()
    talk.says(
        "remind me tomorrow at ten to email legal, no, not legal, finance",
        remind(what="email finance", when="tomorrow at ten"),
    )
    assert list(talk.there) == ["Email finance"]


def test_hesitations_are_not_put_down() -> None:
    talk = Talk()
    talk.says(
        "remind me tomorrow at ten to bring my uh laptop to the um office",
        remind(what="bring my uh laptop to the um office", when="tomorrow at ten"),
    )
    assert list(talk.there) == ["Bring my laptop to the office"]


@pytest.mark.parametrize(
    ("said", "copied", "when"),
    [
        (
            "the mass is on the ninth of January at seven in the evening, "
            "so give me a shout at six that same evening to dress",
            "seven in the evening",
            "Saturday, January 9, 2027 at 6 PM",
        ),
        (
            "I have my viva tomorrow at 4 pm, so tell me one hour before that to dress",
            "tomorrow at 4 pm",
            "tomorrow at 3 PM",
        ),
    ],
)
def test_of_two_times_the_one_that_is_told_by_the_other_is_meant(
    said: str, copied: str, when: str
) -> None:
    talk = Talk()
    talk.says(said, remind(what="dress", when=copied))
    assert talk.there == {"Dress": when}


def test_a_verb_that_something_must_follow_is_asked_about() -> None:
    talk = Talk()
    assert talk.says("remind me to text", remind(what="text")) == "What should I put down?"
    talk.says(
        "to text Jo, tomorrow at four",
        fill(what="to text Jo", when="tomorrow at four"),
    )
    assert list(talk.there) == ["Text Jo"]


def test_a_title_that_is_said_again_with_more_is_the_longer_one() -> None:
    talk = Talk()
    talk.says("remind me to ring Jo", remind(what="ring Jo"))
    talk.says(
        "ring Jo about the party, tomorrow at four",
        fill(event="ring Jo about the party", when="tomorrow at four"),
    )
    assert list(talk.there) == ["Ring Jo about the party"]


def test_who_says_the_name_of_this_day_means_the_next_one() -> None:
    talk = Talk()
    talk.says("remind me to ring Mum", remind(what="ring Mum"))
    talk.says("Tuesday at three", fill(when="Tuesday at three"))
    assert talk.there == {"Ring Mum": "Tuesday, November 24 at 3 PM"}


def test_one_deed_is_done_to_one_thing_however_many_the_model_hears() -> None:
    plumber = thing("plumber", "Plumber coming for the boiler", "tomorrow at 2 pm")
    talk = Talk(plumber, MUM)
    talk.says(
        "The plumber says tomorrow is no good, so three days from today, at eight in the morning",
        move(task="three days from today", to="eight in the morning"),
        move(task="the plumber", to="tomorrow"),
        begin("delete", task="the plumber"),
    )
    assert talk.did == ["move_task"]
    assert talk.there["Plumber coming for the boiler"] == "Friday, November 20 at 8 AM"


def test_a_piece_of_a_time_is_nothing_new() -> None:
    talk = Talk()
    talk.says(
        "choir on Saturday at eight in the morning",
        remind(what="choir", when="on Saturday at eight"),
        remind(what="the morning", when="on Saturday"),
    )
    assert list(talk.there) == ["Choir"]


def test_the_time_that_a_thing_has_is_not_the_one_it_is_moved_to() -> None:
    talk = Talk(thing("run", "Parkrun", "Saturday at quarter to nine"), MUM)
    talk.says(
        "The Saturday parkrun is getting too late for me, would you make it eight in the morning",
        move(task="parkrun", to="Saturday"),
    )
    assert talk.there["Parkrun"] == "Saturday, November 21 at 8 AM"


def test_a_change_of_mind_in_the_next_sentence_counts() -> None:
    talk = Talk()
    talk.says(
        "remind me on Friday at nine to ring the gym. Or wait. Not Friday, Sunday. Sunday at ten.",
        remind(what="ring the gym", when="on Friday at nine"),
    )
    assert talk.there == {"Ring the gym": "Sunday, November 22 at 10 AM"}


def test_the_hour_at_which_somebody_wants_to_be_told_is_the_one() -> None:
    talk = Talk()
    talk.says(
        "I cannot miss the interview, on Tuesday week at eleven in the morning, wake me at nine",
        remind(what="the interview", when="on Tuesday week at eleven in the morning"),
    )
    assert talk.there == {"The interview": "Tuesday, November 24 at 9 AM"}


def test_what_is_no_place_belongs_to_the_title_before_it() -> None:
    talk = Talk()
    talk.says(
        "give me a shout tomorrow at nine to ring the vet about the cat's stitches",
        remind(what="ring the vet", when="tomorrow at nine", place="about the cat's stitches"),
    )
    assert list(talk.there) == ["Ring the vet about the cat's stitches"]


def test_what_is_said_to_stay_is_not_moved_though_the_model_names_it() -> None:
    van = thing("van", "Van test", "tomorrow at 9 am")
    patio = thing("patio", "Quote for the patio", "tomorrow at 11 am")
    talk = Talk(van, patio)
    talk.says(
        "Swap the eleven one over to the day after, same hour, and leave the nine where it is.",
        move(task="the nine", to="the day after, same hour"),
    )
    assert talk.there["Van test"] == "tomorrow at 9 AM"
    assert talk.there["Quote for the patio"] == "Thursday, November 19 at 11 AM"


def test_preponed_is_earlier() -> None:
    talk = Talk(BANK)
    talk.says("prepone the bank by half an hour", move(task="the bank", to="by half an hour"))
    assert talk.there["Call with the bank"] == "tomorrow at 9:30 AM"


def test_what_is_added_is_another_one_though_it_is_called_the_same() -> None:
    talk = Talk(HAIR)
    talk.says(
        "put another haircut down for Friday at ten", remind(what="haircut", when="Friday at ten")
    )
    assert talk.did == ["add_task"]


def test_a_yes_with_the_wish_again_is_a_yes() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("clear all but the haircut", begin("delete", task="all"))
    talk.says("yes, remove the other two", begin("delete", task="the other two"))
    assert list(talk.there) == ["Haircut"]


def test_a_second_wish_that_says_nothing_is_none() -> None:
    talk = Talk()
    talk.says(
        "I've a call with Munich on Friday at three. Remind me right when it starts.",
        remind(what="a call with Munich", when="on Friday at three"),
        remind(what="starts"),
    )
    assert list(talk.there) == ["Call with Munich"]
    assert "?" not in talk.told.replace("Is there anything else?", "")


@pytest.mark.parametrize("meant", ["delete", "move"])
def test_what_cannot_be_done_today_is_wanted_at_another_time(meant: str) -> None:
    talk = Talk(thing("food", "Shop for groceries", "today at 5 pm"))
    slots = {"task": "the groceries", **({"to": "today"} if meant == "move" else {})}
    said = "I won't manage the groceries today."
    assert talk.says(said, begin(meant, **slots)).endswith("?")
    assert not talk.calls
    talk.says("tomorrow at five", fill(to="tomorrow at five"))
    assert talk.there == {"Shop for groceries": "tomorrow at 5 PM"}


@pytest.mark.parametrize(
    "said",
    [
        "I won't manage the groceries today, delete that.",
        "I can't do the groceries today so scrap the groceries.",
        "cancel the groceries",
    ],
)
def test_what_is_to_be_deleted_by_an_order_is_deleted(said: str) -> None:
    talk = Talk(thing("food", "Shop for groceries", "today at 5 pm"))
    talk.says(said, begin("delete", task="the groceries"))
    assert talk.did == ["delete_task"]


def test_of_what_repeats_one_time_is_left_out_where_it_cannot_be_done_then() -> None:
    talk = Talk(thing("tap", "Tap class", "Monday at 6 pm", rule="FREQ=WEEKLY;BYDAY=MO"))
    talk.says("and tap I can't get to on Monday", begin("delete", task="tap"))
    assert talk.did == ["delete_task"]


def test_what_was_left_open_is_named_later_and_what_was_named_stays() -> None:
    for first, kept in (("do something about my fitness", "Run a marathon"), ("swim", "Swim")):
        talk = Talk()
        talk.says(f"I want to {first}", begin("goal", what=first))
        talk.says("A long-term one, I want to run a marathon.", fill(what="run a marathon"))
        assert list(talk.there) == [kept]


@pytest.mark.parametrize("meant", [NO, DROP, UNCLEAR])
@pytest.mark.parametrize(
    "said", ["No, there is no date for that.", "There isn't a date.", "I don't have a deadline."]
)
def test_that_there_is_no_date_is_an_answer_and_drops_nothing(said: str, meant: Command) -> None:
    talk = Talk()
    talk.says("I want to learn Welsh", begin("goal", what="learn Welsh"))
    talk.says(said, meant)
    assert list(talk.there) == ["Learn Welsh"]


def test_a_sum_is_not_on_a_list() -> None:
    slots = {**PLANS["list_tasks"].slots, "thing_id": Slot(name="task", kind="thing")}
    hints = {**PLANS, "list_tasks": PLANS["list_tasks"].model_copy(update={"slots": slots})}
    talk = Talk(BANK, hints=hints)
    talk.says("What's twelve times fourteen?", begin("list", when="twelve"))
    assert not talk.calls
    talk.says("What's on at twelve?", begin("list", when="at twelve"))
    assert talk.did == ["list_tasks"]


@pytest.mark.parametrize("meant", [UNCLEAR, NO, fill(event="thread"), fill(what="thread")])
def test_a_word_that_was_misheard_is_put_right_whatever_was_asked(meant: Command) -> None:
    talk = Talk()
    talk.says("remind me to buy bread", remind(what="buy bread"))
    assert "?" in talk.says("No, I said thread, not bread.", meant)
    talk.says("tomorrow at ten", fill(when="tomorrow at ten"))
    assert talk.there == {"Buy thread": "tomorrow at 10 AM"}


def test_it_is_what_the_question_was_about() -> None:
    talk = Talk(BANK, MUM)
    talk.says("can you move the call with the bank?", move(task="the call with the bank"))
    talk.says("push it to Friday at noon", fill(task="it", to="to Friday at noon"))
    assert talk.there["Call with the bank"] == "Friday, November 20 at 12 PM"


@pytest.mark.parametrize(
    "said",
    [
        "the call with the bank and ringing mum",
        "aye, all but the haircut",
        "everything except the haircut",
        "Mum and the bank",
    ],
)
@pytest.mark.parametrize("heard", [UNCLEAR, begin("delete", task="the bank")])
def test_who_names_just_what_was_asked_about_has_said_yes(said: str, heard: Command) -> None:
    talk = Talk(BANK, MUM, HAIR)
    told = talk.says("delete all of tomorrow", begin("delete", task="all of tomorrow"))
    assert not talk.calls
    assert told.endswith("?")
    talk.says(said, heard)
    assert list(talk.there) == [HAIR.title]


@pytest.mark.parametrize("said", ["no, not Mum and the bank", "leave Mum and the bank"])
def test_who_names_them_to_say_no_has_not_said_yes(said: str) -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("delete all of tomorrow", begin("delete", task="all of tomorrow"))
    talk.says(said, NO)
    assert len(talk.there) == 3


@pytest.mark.parametrize(
    ("when", "hours"),
    [
        ("every day at eight in the morning and half past nine at night", ["8 AM", "9:30 PM"]),
        ("twice a day, 7 am and 7 pm, daily", ["7 AM", "7 PM"]),
        ("tomorrow at nine in the morning and again at eleven in the morning", ["9 AM", "11 AM"]),
        ("tomorrow at five to six in the morning", ["5:55 AM"]),
        ("tomorrow at nine, no, at eleven in the morning", ["11 AM"]),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_something_at_two_hours_is_down_twice(when: str, hours: list[str], asked: bool) -> None:
    talk = Talk()
    if asked:
        talk.says("remind me to take my drops", remind(what="take my drops"))
        talk.says(when, fill(when=when))
    else:
        talk.says(f"remind me to take my drops {when}", remind(what="take my drops", when=when))
    told = [one.when for one in talk.plans.things.values()]
    assert len(told) == len(hours)
    assert all(any(one.endswith(f"at {hour}") for one in told) for hour in hours)


def test_what_is_said_last_of_something_counts() -> None:
    talk = Talk(MUM, BANK)
    said = "I've called Mum. No, what am I saying, I called the bank. Mum I still have to call"
    talk.says(said, begin("done", task="the bank"), begin("done", task="Mum"))
    assert list(talk.there) == [MUM.title]


@pytest.mark.parametrize(
    ("said", "bank", "hair"),
    [
        ("Swap the bank and the haircut", "11-19 12:30", "11-18 10:00"),
        ("the haircut and the bank must trade places", "11-19 12:30", "11-18 10:00"),
        ("put the bank where the haircut is and vice versa", "11-19 12:30", "11-18 10:00"),
        ("switch the haircut with the bank round", "11-19 12:30", "11-18 10:00"),
        ("swap the days of haircut and bank, same hours", "11-19 10:00", "11-18 12:30"),
        ("swap haircut and bank, both at nine in the morning", "11-19 09:00", "11-18 09:00"),
    ],
)
@pytest.mark.parametrize("heard", [UNCLEAR, move(task="the bank"), remind(what="the haircut must")])
def test_two_things_exchange_their_times(said: str, bank: str, hair: str, heard: Command) -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says(said, heard)
    there = {k: f"{t.at:%m-%d %H:%M}" for k, t in talk.plans.things.items() if t.at}
    assert (there["bank"], there["hair"]) == (bank, hair)
    assert there["mum"] == "11-18 18:00"


def test_swapping_something_for_another_day_exchanges_nothing() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("swap the haircut to Friday at noon", move(task="the haircut", to="Friday at noon"))
    assert talk.plans.things["bank"] == BANK
    assert talk.did == ["move_task"]


@pytest.mark.parametrize("heard", [CHAT, UNCLEAR, CANNOT])
def test_who_asks_how_many_things_there_are_hears_them(heard: Command) -> None:
    talk = Talk(BANK, MUM)
    talk.says("How many things are you keeping for me in total?", heard)
    assert talk.did == ["list_tasks"]


@pytest.mark.parametrize(
    "said",
    [
        "I've left the choir, so you can stop badgering me about it",
        "no need to remind me about the choir any more",
        "stop nagging me about choir",
    ],
)
def test_what_they_want_to_hear_no_more_of_is_taken_off(said: str) -> None:
    talk = Talk(BANK, thing("choir", "Choir practice", "tomorrow at 7 pm"))
    talk.says(said, CHAT)
    assert list(talk.there) == [BANK.title]


@pytest.mark.parametrize(
    "said",
    ["stop nagging me", "stop telling me what to do at the bank", "no need to tell me how it went"],
)
def test_what_names_none_of_their_things_takes_nothing_off(said: str) -> None:
    talk = Talk(BANK, MUM)
    talk.says(said, CHAT)
    assert len(talk.there) == 2


@pytest.mark.parametrize(
    "said", ["set an alarm on my son's phone for six", "put a reminder on Ann's tablet at six"]
)
def test_what_is_to_be_on_anothers_device_nobody_here_can_do(said: str) -> None:
    talk = Talk()
    talk.says(said, remind(what="wake up", when="six"))
    assert not talk.calls


def test_on_ones_own_phone_it_is_down_as_ever() -> None:
    talk = Talk()
    said = "remind me on my phone to ring Dad tomorrow at six in the evening"
    talk.says(said, remind(what="ring Dad", when="tomorrow at six in the evening"))
    assert talk.did == ["add_task"]


def test_what_is_called_nothing_is_called_by_its_purpose() -> None:
    talk = Talk()
    said = "give me a shout tomorrow at three pm so the kids aren't left at the gate"
    talk.says(said, remind(when="tomorrow at three pm"))
    assert list(talk.there) == ["The kids aren't left at the gate"]


@pytest.mark.parametrize(
    "again", [move(), move(task="my plan"), move(task="it", to="tomorrow half an hour later")]
)
def test_a_move_that_is_told_twice_is_made_once(again: Command) -> None:
    talk = Talk(BANK, MUM)
    said = "The bank tomorrow is half an hour later than in my plan. Can you fix it there?"
    talk.says(said, move(task="the bank", to="half an hour later"), again)
    assert talk.did == ["move_task"]
    assert not talk.state.agenda
    assert talk.there[BANK.title] == "tomorrow at 10:30 AM"


def test_what_is_not_there_is_asked_about_and_moves_nothing_else() -> None:
    talk = Talk(BANK, MUM)
    said = "move the bank to eleven and the plumber to six in the evening"
    told = talk.says(
        said,
        move(task="the bank", to="eleven"),
        move(task="the plumber", to="six in the evening"),
    )
    assert told.endswith("?")
    assert talk.there[BANK.title] == "tomorrow at 11 AM"


@pytest.mark.parametrize(
    ("said", "words", "title"),
    [
        ("The doctor gave me drops and I have to take them at noon", "take them", "Take drops"),
        ("I've ordered new tyres. Remind me to fit them at noon", "fit them", "Fit new tyres"),
        ("I have to go. Remind me to fit them at noon", "fit them", "Fit them"),
    ],
)
def test_a_title_names_what_was_brought_up_before(said: str, words: str, title: str) -> None:
    talk = Talk()
    talk.says(said, remind(what=words, when="at noon"))
    assert list(talk.there) == [title]


def test_there_is_the_place_that_was_named() -> None:
    talk = Talk()
    said = "don't let me walk out of Longs without sunscreen. Next time I'm in there, tell me"
    talk.says(said, remind(what="sunscreen", place="Next time I'm in there"))
    assert talk.calls[0][1]["place"] == "Next time I'm at Longs"


def test_what_named_nothing_is_what_was_named_right_after_it() -> None:
    talk = Talk(MUM, BANK)
    said = "That one's done. No, I mean the bank, the bank is done"
    talk.says(said, begin("done"), begin("done", task="the bank"))
    assert list(talk.there) == [MUM.title]
    assert not talk.state.agenda


def test_an_answer_that_names_no_hour_keeps_the_hour_that_was_said() -> None:
    talk = Talk(MUM, BANK, thing("pan", "Steelpan practice", "tomorrow at 6 pm"))
    said = "every Wednesday from now on rehearsal is at quarter past seven in the evening"
    to = "every Wednesday from now on at quarter past seven in the evening"
    talk.says(said, move(task="rehearsal", to=to))
    talk.says("the steelpan practice, every week", fill(task="the steelpan", to="every week"))
    assert "7:15 PM" in talk.there["Steelpan practice"]


def test_the_day_that_several_are_announced_for_is_that_of_each() -> None:
    talk = Talk()
    first, second = "Eight in the morning, lunch box", "one o'clock in the afternoon, reply to Kim"
    talk.says(
        f"On Friday there are two things I always forget. {first}. And {second}.",
        replace(remind(what="lunch box", when="Eight in the morning"), said=first, sure=True),
        replace(
            remind(what="reply to Kim", when="one o'clock in the afternoon"), said=second, sure=True
        ),
    )
    assert [t.at and f"{t.at:%d %H:%M}" for t in talk.plans.things.values()] == [
        "20 08:00",
        "20 13:00",
    ]


def test_other_days_for_what_repeats_repeat_too() -> None:
    talk = Talk()
    every = "every Monday and Thursday at six in the evening"
    talk.says(f"remind me of chess {every}", remind(what="chess", when=every))
    said = "not Monday, the trainer changed. Tuesday and Thursday"
    talk.says(said, fill(when="Tuesday and Thursday"))
    assert talk.calls[0][1]["changes"]["at"] == "every Tuesday and Thursday"


def test_a_time_that_is_called_another_begins_nothing_new() -> None:
    talk = Talk()
    talk.says("remind me to pay tomorrow at five", remind(what="pay", when="tomorrow at five"))
    talk.says("that won't do. Call it tomorrow at seven", remind(when="tomorrow at seven"))
    assert talk.there == {"Pay": "tomorrow at 7 PM"}


def test_everything_of_that_day_is_of_the_day_that_was_named() -> None:
    talk = Talk(BANK, MUM, HAIR, hints=MANY)
    said = "They expect snow tomorrow. Everything I had that day, slide it two days later"
    talk.says(said, move(task="Everything I had that day", to="two days later"))
    moved = {k for k, t in talk.plans.things.items() if t.at and t.at.day == 20}
    assert moved == {"bank", "mum"}


def test_what_is_asked_about_by_its_place_is_found() -> None:
    eggs = thing("eggs", "Buy eggs", place="the corner shop")
    talk = Talk(BANK, eggs)
    talk.says("I've done that one at the corner shop", begin("done", task="the corner shop"))
    assert list(talk.there) == [BANK.title]


def test_two_things_of_one_day_exchange_their_times_though_the_day_is_said() -> None:
    talk = Talk(BANK, MUM, HAIR)
    talk.says("I do tomorrow in the wrong order. Let the bank and Mum change places", UNCLEAR)
    assert [f"{talk.plans.things[k].at:%H:%M}" for k in ("bank", "mum")] == ["18:00", "10:00"]
