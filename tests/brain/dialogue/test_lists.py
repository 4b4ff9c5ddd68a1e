"""Everyday talks about a list: moved by so much, whole days, corrected in sentences, many."""

from __future__ import annotations

import pytest

from tests.brain.dialogue.talking import MANY, UNCLEAR, Talk, fill, move, remind, thing
from vivavoce.brain.dialogue.commands import Command

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
