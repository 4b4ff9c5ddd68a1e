"""Everyday talks about a list: moved by so much, whole days, corrected in sentences, many."""

from __future__ import annotations

import pytest

from tests.brain.dialogue.talking import MANY, PLANS, UNCLEAR, Talk, fill, move, remind, thing
from vivavoce.brain.dialogue import prompting
from vivavoce.brain.dialogue.commands import Begin, Command

SATURDAY = "Saturday, November 21 at 10:15 AM"


@pytest.mark.parametrize(
    ("said", "copied", "when"),
    [
        ("kick the vet down the road two days same time's fine", "two days same time's", SATURDAY),
        ("push the vet back a week", "a week", "Thursday, November 26 at 10:15 AM"),
        ("shove the vet an hour later", "an hour later", "Thursday, November 19 at 11:15 AM"),
        ("bring the vet forward a day", "a day", "tomorrow at 10:15 AM"),
        ("bring the vet forward a day, same time", "a day, same time", "tomorrow at 10:15 AM"),
        ("put the vet off for a week", "a week", "Thursday, November 26 at 10:15 AM"),
        ("bump the vet by two days", "by two days", SATURDAY),
        ("can we slide the vet three days", "three days", "Sunday, November 22 at 10:15 AM"),
        ("delay the vet by two hours", "by two hours", "Thursday, November 19 at 12:15 PM"),
        ("push the vet out another week", "", "Thursday, November 26 at 10:15 AM"),
        (
            "delay the vet by an hour and ten minutes",
            "an hour and ten minutes",
            "Thursday, November 19 at 11:25 AM",
        ),
        (
            "push the vet to the day after, same time",
            "to the day after, same time",
            "Friday, November 20 at 10:15 AM",
        ),
        ("shove the vet along half an hour", "half an hour", "Thursday, November 19 at 10:45 AM"),
    ],
)  # fmt: skip
def test_how_far_something_is_moved_counts_from_its_own_time(
    said: str, copied: str, when: str
) -> None:
    talk = Talk(thing("v", "Vet for Duke", "on Thursday at 10:15 am"), thing("c", "Choir"))
    talk.says(said, move(task="the vet", **({"to": copied} if copied else {})))
    assert talk.there["Vet for Duke"] == when


def tomorrows() -> Talk:
    return Talk(
        thing("d", "Driving lesson", "tomorrow at noon"),
        thing("r", "Return router", "tomorrow at four in the afternoon"),
        thing("q", "Table quiz", "on Thursday at eight in the evening"),
        hints=MANY,
    )


@pytest.mark.parametrize(
    ("said", "task", "to"),
    [
        ("I'm ill so anything tomorrow push it to Friday same times and all", "it", "Friday"),
        ("anything tomorrow push it to Friday", "anything tomorrow push it", "Friday"),
        ("all of tomorrow's, to Friday, same times", "all of tomorrow's", "Friday"),
        (
            "both of tomorrow's, to Friday, same times",
            "both of tomorrow's",
            "to Friday, same times",
        ),
        ("everything I've got tomorrow to Friday", "everything I've got tomorrow", "to Friday"),
        ("whatever there is tomorrow, shove that to Friday", "that", "to Friday"),
        ("can everything tomorrow go to Friday please", "everything tomorrow", "to Friday"),
        ("take all my things tomorrow and move them to Friday", "them", "Friday"),
        ("both things tomorrow, make them Friday", "them", "Friday"),
        ("all that's on tomorrow, move it to Friday", "all that's on tomorrow", "Friday"),
    ],
)
def test_all_there_is_on_a_day_is_moved_together(said: str, task: str, to: str) -> None:
    talk = tomorrows()
    talk.says(said, move(task=task, to=to))
    assert talk.there == {
        "Driving lesson": "Friday, November 20 at 12 PM",
        "Return router": "Friday, November 20 at 4 PM",
        "Table quiz": "Thursday, November 19 at 8 PM",
    }


@pytest.mark.parametrize(
    "answer",
    [
        fill(task="everything tomorrow, both of them"),
        fill(task="everything tomorrow", to="tomorrow"),
        move(task="everything tomorrow", to="tomorrow"),
        UNCLEAR,
    ],
)
def test_a_day_that_answers_which_one_is_not_the_new_time(answer: Command) -> None:
    talk = tomorrows()
    talk.says("push my stuff to Friday", move(task="my stuff", to="to Friday"))
    talk.says("everything tomorrow, both of them", answer)
    assert talk.did == ["move_task", "move_task"]
    assert talk.there["Return router"] == "Friday, November 20 at 4 PM"
    assert "?" not in talk.told


@pytest.mark.parametrize(
    ("what", "said", "made", "title"),
    [
        ("phone Steve", "Not Steve. Stuart. Steve's the one who fell off it. Phone Stuart.",
         fill(what="Phone Steve's the one who fell off it", when="one"), "Phone Stuart"),
        ("phone Steve", "Not Steve. Stuart.", remind(what="Phone Stuart"), "Phone Stuart"),
        ("phone Steve", "Not Steve. Stuart.", UNCLEAR, "Phone Stuart"),
        ("phone Steve", "not Steve but Stuart", remind(what="Stuart"), "Phone Stuart"),
        ("call Ann", "No, not Ann. Beth. Ann moved.", fill(what="Ann moved"), "Call Beth"),
        ("call Ann", "Beth, not Ann. Ann's on holiday.", fill(what="Beth, not Ann"), "Call Beth"),
        ("ring Tom about the car", "It isn't Tom, it's Tim.", UNCLEAR, "Ring Tim about the car"),
        ("ring Tom about the car", "It's Tim. Not Tom. Ring Tim.", remind(what="Ring Tim"),
         "Ring Tim about the car"),
        ("email the plumber", "Sorry, the roofer I meant, not the plumber. The one with a van.",
         fill(what="The one with a van"), "Email the roofer"),
    ],
)  # fmt: skip
def test_a_name_is_corrected_in_whole_sentences(
    what: str, said: str, made: Command, title: str
) -> None:
    talk = Talk()
    talk.says(f"tomorrow at nine {what}", remind(what=what, when="tomorrow at nine"))
    talk.says(said, made)
    assert talk.there == {title: "tomorrow at 9 AM"}


CAKE = "please note three things tomorrow seven am iron the shirt tomorrow twelve noon fetch the cake and on Sunday by four pm call the DJ"  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    ("said", "titles", "times"),
    [
        (CAKE, "iron the shirt|fetch the cake|call the DJ",
         "tomorrow seven am|tomorrow twelve noon|on Sunday by four pm"),
        ("call mum tomorrow at nine buy stamps on Friday at noon pay the rent on Sunday at six",
         "call mum|buy stamps|pay the rent", "tomorrow at nine|on Friday at noon|on Sunday at six"),
        ("tomorrow eight am gym, ten am bank, four pm school run", "gym|bank|school run",
         "tomorrow eight am|ten am|four pm"),
        ("two things tomorrow at nine dentist and Friday at noon haircut", "dentist|haircut",
         "tomorrow at nine|Friday at noon"),
        ("I've got three reminders for you wash the car on Saturday at ten cut the grass on "
         "Sunday at eleven and polish shoes Monday at eight please",
         "wash the car|cut the grass|polish shoes",
         "on Saturday at ten|on Sunday at eleven|Monday at eight"),
        ("remind me at seven am take the bins out at nine am ring the bank at noon feed the cat",
         "take the bins out|ring the bank|feed the cat", "at seven am|at nine am|at noon"),
    ],
)  # fmt: skip
def test_nothing_of_a_list_in_one_breath_is_lost(said: str, titles: str, times: str) -> None:
    last = titles.rsplit("|", maxsplit=1)[-1]
    (*_, time) = times.split("|")
    heard = [remind(what=last, when=time)]
    made = prompting.whole_list(said, heard, PLANS.values())
    slots = [command.slots for command in made if isinstance(command, Begin)]
    assert [one["what"] for one in slots] == titles.split("|")
    assert [one["when"] for one in slots] == times.split("|")


@pytest.mark.parametrize(
    "said",
    [
        "the mass is on the ninth at seven call me at six that same evening",
        "it's on Thursday at eleven, let it be on your mind, disturb me at nine",
        "I have to be there on Friday at nine, no, at ten, no, on Saturday at ten",
    ],
)
def test_several_times_of_one_thing_are_no_list(said: str) -> None:
    heard = (remind(what="the mass", when="at seven"),)
    assert prompting.whole_list(said, heard, PLANS.values()) == heard
