"""Several wishes in one breath, each understood from a stretch of its own, and answers about
several."""

from __future__ import annotations

from dataclasses import replace

from tests.brain.dialogue.talking import (
    DROP,
    MANY,
    NO,
    PLANS,
    UNCLEAR,
    Talk,
    begin,
    fill,
    move,
    remind,
    thing,
)
from vivavoce.brain.dialogue.commands import Begin

DENTIST = thing("dentist", "Dentist", "Thursday at 10 am")
GYM = thing("gym", "Gym with Marta", "Friday at 6 pm")
BINS = thing("bins", "Put the bins out", "tomorrow at 7 am")


def of(said: str, command: Begin) -> Begin:
    return replace(command, said=said)


def test_each_wish_has_the_times_of_its_own_stretch() -> None:
    talk = Talk(DENTIST, GYM, BINS)
    first, second = "the dentist can only do Monday at two", "Sunday at noon I need to ring Grandad"
    talk.says(
        f"{first}, and {second}",
        of(first, move(task="the dentist", to="Monday")),
        of(second, remind(what="ring Grandad", when="noon")),
    )
    assert talk.there["Dentist"] == "Monday, November 23 at 2 PM"
    assert talk.there["Ring Grandad"] == "Sunday, November 22 at 12 PM"


def test_what_stays_or_goes_in_one_stretch_says_nothing_of_another() -> None:
    talk = Talk(DENTIST, GYM, BINS)
    first, second = "the gym is off", "leave the dentist, but the bins are out"
    talk.says(
        f"{first}. {second}",
        of(first, begin("delete", task="the gym")),
        of(second, begin("done", task="the bins")),
    )
    assert list(talk.there) == ["Dentist"]


def test_a_time_counts_from_what_was_wished_for_just_before() -> None:
    talk = Talk(DENTIST)
    first, second = (
        "the dentist goes to Monday at two",
        "the day before, at eight in the evening, I need to find my card",
    )
    talk.says(
        f"{first}. {second}",
        of(first, move(task="the dentist", to="Monday at two")),
        of(second, remind(what="find my card", when="the day before, at eight in the evening")),
    )
    assert talk.there["Find my card"] == "Sunday, November 22 at 8 PM"


def test_that_day_is_the_day_of_what_was_taken_off_in_the_same_breath() -> None:
    talk = Talk(DENTIST)
    first, second = (
        "forget the dentist",
        "remind me that day at half eight in the morning to call the insurance",
    )
    talk.says(
        f"{first}, and {second}",
        of(first, begin("delete", task="the dentist")),
        of(second, remind(what="call the insurance", when="that day at half eight in the morning")),
    )
    assert talk.there == {"Call the insurance": "Thursday, November 19 at 8:30 AM"}


def test_an_hour_later_counts_from_what_was_done_in_the_turn_before() -> None:
    talk = Talk()
    talk.says(
        "ring the vet on Friday at two pm", remind(what="ring the vet", when="on Friday at two pm")
    )
    talk.says("and an hour later fetch the cat", remind(what="fetch the cat", when="an hour later"))
    assert talk.there["Fetch the cat"] == "Friday, November 20 at 3 PM"


def test_everything_else_is_without_what_was_spoken_of() -> None:
    talk = Talk(DENTIST, GYM, BINS, hints=MANY)
    first, second = "push the dentist to Friday at nine", "scrap everything else"
    told = talk.says(
        f"{first} and {second}",
        of(first, move(task="the dentist", to="Friday at nine")),
        of(second, begin("delete", task="everything else")),
    )
    assert talk.did == ["move_task"]
    assert "Gym with Marta" in told
    assert "Put the bins out" in told
    talk.says("yes", begin("delete", task="everything else"))
    assert list(talk.there) == ["Dentist"]


def test_a_goal_without_a_date_is_not_asked_about_one() -> None:
    talk = Talk(hints=PLANS)
    said = "I'd love to learn Welsh properly, there's no rush"
    assert "?" not in talk.says(said, begin("goal", what="learn Welsh properly")).split(".")[0]
    assert talk.did == ["add_goal"]


def test_of_an_answer_about_two_things_each_gets_its_own() -> None:
    talk = Talk()
    said = "get promoted by the end of 2027 and learn to do a backflip"
    talk.says(
        said,
        begin("goal", what="get promoted", by="by the end of 2027"),
        begin("goal", what="learn to do a backflip"),
    )
    talk.says(
        "end of 2027 for the promotion, no date for the backflip",
        fill(by="end of 2027"),
    )
    assert talk.calls == [("add_goal", {"statement": "Learn to do a backflip"})]


def test_an_answer_fills_what_else_is_open_too() -> None:
    talk = Talk(DENTIST, GYM)
    said = "the dentist and the gym both have to move"
    talk.says(said, move(task="the dentist"), move(task="the gym"))
    talk.says("the dentist on Monday at nine, the gym on Saturday at ten in the morning", UNCLEAR)
    assert talk.there["Dentist"] == "Monday, November 23 at 9 AM"
    assert talk.there["Gym with Marta"] == "Saturday, November 21 at 10 AM"


def test_what_is_told_of_a_thing_that_was_named_is_no_second_thing() -> None:
    talk = Talk(DENTIST, BINS)
    said = "I've been to the dentist, dear, it's all done and dusted"
    told = talk.says(
        said, begin("done", task="the dentist"), begin("done", task="it's all done and dusted")
    )
    assert talk.did == ["finish_task"]
    assert "can't find" not in told


def test_that_day_is_the_day_that_was_named_though_an_hour_was_said_between() -> None:
    talk = Talk()
    said = "he comes Thursday, from twelve, so at quarter to twelve that day I must move the van"
    talk.says(said, remind(what="move the van", when="at quarter to twelve that day"))
    assert talk.there == {"Move the van": "Thursday, November 19 at 11:45 AM"}


def test_before_that_is_before_what_was_named_first() -> None:
    talk = Talk(DENTIST, GYM)
    first, second = (
        "move the gym to Saturday at ten in the morning",
        "the dentist, an hour before that",
    )
    talk.says(
        f"{first}, and {second}",
        of(first, move(task="the gym", to="Saturday at ten in the morning")),
        of(second, move(task="the dentist", to="an hour before that")),
    )
    assert talk.there["Dentist"] == "Saturday, November 21 at 9 AM"


def test_a_time_that_is_only_told_moves_nothing_that_was_ticked_off() -> None:
    talk = Talk(DENTIST, BINS)
    said = "did I have the dentist on there? I went today, it took four hours, cross it off"
    told = talk.says(said, begin("done", task="the dentist"), move(to="today"))
    assert talk.did == ["finish_task"]
    assert "When" not in told


def test_what_is_asked_for_is_answered_though_it_sounds_like_a_new_wish() -> None:
    talk = Talk()
    first = "I need that you remind me one thing tomorrow at the nine and half of the morning"
    assert (
        talk.says(
            first, remind(what="one thing", when="tomorrow at the nine and half of the morning")
        )
        == "What should I put down?"
    )
    talk.says(
        "The thing is to bring the keys to the neighbour",
        remind(what="bring the keys to the neighbour"),
    )
    assert talk.there == {"Bring the keys to the neighbour": "tomorrow at 9:30 AM"}


def test_a_reminder_that_is_announced_is_not_one_of_its_own() -> None:
    talk = Talk()
    said = "I need a remembering for tomorrow, at 15 o'clock, that I bring the package to the post"
    when = "tomorrow, at 15 o'clock"
    talk.says(
        said,
        remind(what="bring the package to the post", when=when),
        remind(what="a remembering", when=when),
    )
    assert talk.there == {"Bring the package to the post": "tomorrow at 3 PM"}


def test_what_is_told_of_that_day_is_not_when_something_is_moved_to() -> None:
    talk = Talk(DENTIST, GYM)
    said = "shove the bank thing back two hours, I'm in a meeting till late morning that day"
    talk.says(said, move(task="the bank thing", to="back two hours"))
    talk.says("the dentist", fill(task="the dentist"))
    assert talk.there["Dentist"] == "Thursday, November 19 at 12 PM"


def test_the_time_of_an_announced_reminder_is_that_of_what_it_is_for() -> None:
    talk = Talk()
    said = (
        "mass is on the ninth of January at seven, I want a shout at six that evening for the suit"
    )
    talk.says(
        said,
        remind(what="press the suit", when="on the ninth of January at seven"),
        remind(what="a shout", when="at six that evening"),
    )
    assert talk.there == {"Press the suit": "Saturday, January 9, 2027 at 6 PM"}


def test_what_is_moved_from_one_day_to_another_is_on_that_day_only() -> None:
    talk = Talk(DENTIST)
    talk.says(
        "shift the dentist from Thursday to Friday",
        move(task="the dentist", to="from Thursday to Friday"),
    )
    assert talk.there == {"Dentist": "Friday, November 20 at 10 AM"}


def test_how_often_is_not_how_far_something_is_moved() -> None:
    run = thing("run", "Parkrun", "Saturday at 8:45 am")
    talk = Talk(run)
    said = "the parkrun is after getting too late, make it eight in the morning, every week like"
    talk.says(said, move(task="the parkrun", to="every week"))
    assert "8 AM" in talk.there["Parkrun"]


def test_a_time_alone_names_nothing_to_be_moved() -> None:
    later = thing("later", "Dog vaccination", "December 1 at 4 pm")
    talk = Talk(later)
    first, second = "Two weeks from today", "Book the van in at half past two"
    talk.says(
        f"{first}. {second}.",
        of(first, move(task="Two weeks from today")),
        of(second, remind(what="Book the van in", when="half past two")),
    )
    assert talk.did == ["add_task"]
    told = talk.says("tomorrow, please", move(task="tomorrow"))
    assert talk.did == []
    assert "?" in told


def test_what_has_been_is_no_wish() -> None:
    talk = Talk()
    first, second = "remind me on Friday at eight to fetch the roses", "Last year I forgot"
    talk.says(
        f"{first}. {second}.",
        of(first, remind(what="fetch the roses", when="Friday at eight")),
        of(second, remind(what="Last year I forgot")),
    )
    assert list(talk.there) == ["Fetch the roses"]


def test_what_something_is_counted_from_is_not_ticked_off_in_the_same_breath() -> None:
    talk = Talk(DENTIST, GYM)
    first, second = "the dentist, you have it there", "twenty minutes before it, find my card"
    talk.says(
        f"{first}. {second}",
        of(first, begin("done", task="the dentist")),
        of(second, remind(what="find my card", when="twenty minutes before it")),
    )
    assert talk.did == ["add_task"]
    assert "Dentist" in talk.there


def test_who_broke_off_and_goes_on_with_the_same_word_is_not_letting_it_go() -> None:
    talk = Talk()
    talk.says("Tomorrow, quarter past five in the evening, remind me to", remind(
        when="Tomorrow, quarter past five in the evening"))  # fmt: skip
    talk.says("Sorry, dropped the phone. To pick Oscar up from football, I was saying.", DROP)
    assert list(talk.there) == ["Pick Oscar up from football"]


def test_who_broke_off_after_what_to_do_is_still_doing_that() -> None:
    talk = Talk()
    talk.says("Tomorrow at six in the evening, remind me to get my", remind(
        when="Tomorrow at six in the evening", what="get my"))  # fmt: skip
    talk.says("Sorry. My apron from the cleaner's, I meant.", fill(what="My apron"))
    assert list(talk.there) == ["Get my apron"]


def test_the_same_day_is_that_of_the_one_thing_that_was_just_told() -> None:
    talk = Talk(DENTIST)
    talk.says("when is the dentist?", begin("list", when="the dentist"))
    said = "same day at four I have to pick up the cake"
    talk.says(said, replace(remind(what="pick up the cake", when="same day at four"), sure=True))
    assert talk.there["Pick up the cake"] == "Thursday, November 19 at 4 PM"


def test_a_clock_that_is_named_afterwards_is_the_one_meant() -> None:
    talk = Talk()
    said = "A call tomorrow at half ten in the morning, but that's Tokyo time. Remind me."
    command = remind(what="A call", when="tomorrow at half ten in the morning")
    talk.says(said, replace(command, sure=True))
    assert talk.there == {"A call": "tomorrow at 1:30 AM"}


def test_one_more_of_the_kind_is_no_other_name_for_what_is_open() -> None:
    talk = Talk()
    talk.says("I want to run a marathon", begin("goal", what="run a marathon"))
    said = "I also want to learn the guitar"
    talk.says(said, replace(fill(what="learn the guitar"), sure=True))
    talk.says("no date", NO)
    assert {"Run a marathon", "Learn the guitar"} <= set(talk.there)


def test_what_is_not_even_begun_is_not_ticked_off() -> None:
    talk = Talk(DENTIST, GYM)
    said = "The dentist is done. The gym I have not even started, let it be."
    dentist, gym = begin("done", task="The dentist"), begin("done", task="The gym")
    talk.says(said, replace(dentist, sure=True), replace(gym, sure=True))
    assert [given["task_id"] for _, given in talk.calls] == ["dentist"]


def test_the_day_said_before_a_set_is_the_day_of_it_and_bar_keeps_what_it_names() -> None:
    talk = Talk(DENTIST, GYM, BINS)
    said = "On Friday, clear the lot. Bar the dentist."
    told = talk.says(said, replace(begin("delete", task="the lot"), sure=True))
    assert "Gym" in told
    assert "Dentist" in talk.there
    assert "Put the bins out" in talk.there
