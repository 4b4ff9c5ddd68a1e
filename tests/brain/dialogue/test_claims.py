"""Words that claim a deed."""

from __future__ import annotations

import pytest

from tests.brain.dialogue.talking import NOW, PLANS
from vivavoce.brain.dialogue.state import Deed, Wish, World
from vivavoce.brain.dialogue.wording import unsupported
from vivavoce.language.en.claims import claims, deed, open_

WORLD = World(hints=PLANS, now=NOW)


@pytest.mark.parametrize(
    "text",
    [
        "Done! I'll remind you tomorrow.",
        "I've added that to your list.",
        "Your meeting has been moved to Friday.",
        "All set, Rosa.",
        "It's on your list.",
        "I have just sent the message to Dave.",
        "Sure. Sent.",
        "I found a picture of a cat.",
        "I checked the file and the port is 80.",
        "The tests passed.",
        "You have three appointments tomorrow.",
        "Here are your tasks: swim, run.",
        "I’ve gone ahead and deleted it.",
        "You'll get a notification.",
    ],
)
def test_a_deed_is_claimed(text: str) -> None:
    assert claims(text)
    assert unsupported(text, [], WORLD)


@pytest.mark.parametrize(
    "text",
    [
        "That sounds like a long standup.",
        "I'm doing fine, thanks for asking!",
        "I can't send messages, I'm afraid.",
        "Nothing has been stored yet.",
        "When should that be?",
        "What would you like to do?",
        "I could not find that file.",
        "Coffee number three? Good luck with the build.",
        "I'm glad to hear that.",
        "Which one is done?",
        "Has it been added already?",
        "Seventeen percent of two thousand four hundred is four hundred and eight.",
    ],
)
def test_nothing_is_claimed(text: str) -> None:
    assert not claims(text)


def test_a_change_is_shown_only_by_what_changes_something() -> None:
    wish = Wish(number=1, tool="list_tasks")
    looked = Deed(wish=wish, tool="list_tasks", arguments={}, ok=True, result={"status": "ok"})
    assert unsupported("I've moved it.", [looked], WORLD)
    assert not unsupported("I found two of them.", [looked], WORLD)
    moved = Deed(wish=wish, tool="move_task", arguments={}, ok=True, result={"status": "ok"})
    assert not unsupported("I've moved it.", [moved], WORLD)


def test_a_failed_call_shows_nothing() -> None:
    wish = Wish(number=1, tool="move_task")
    failed = Deed(wish=wish, tool="move_task", arguments={}, ok=False)
    assert unsupported("I've moved it.", [failed], WORLD)


# --- Found while it is said


@pytest.mark.parametrize(
    ("before", "claim"),
    [
        ("", "I've set a timer for five minutes."),
        ("Sure, ", "I have added milk to your list."),
        ("", "Your timer has been set for nine."),
        ("", "Your reminder is set."),
        ("", "Done! Anything else?"),
        ("Okay. ", "All set."),
        ("It is ten. ", "I’ve just sent the message."),
        ("", "I'll remind you at nine."),
        ("", "I deleted the file."),
        ("Well, ", "that's done."),
        ("", "It has been booked."),
        ("", "It's set for nine."),
    ],
)
def test_a_claim_is_kept_back_before_a_word_of_it_is_out(before: str, claim: str) -> None:
    text = before + claim
    assert deed(text) == len(before)
    for end in range(len(before), len(text)):
        if deed(text[:end]) is None:
            assert open_(text[:end]) <= len(before), text[:end]


@pytest.mark.parametrize(
    "text",
    [
        "It's half past nine.",
        "It is set in Vienna, in eighteen ten.",
        "I'll tell you about the tower.",
        "I can set a timer. For how long?",
        "Should I have added it?",
        "I haven't set it yet.",
        "That is a good question.",
        "You are right, it has rained.",
        "Your meeting is at nine.",
        "The tower has been moved twice.",
        "I'm fine, thanks.",
    ],
)
def test_other_words_go_out_within_a_few(text: str) -> None:
    assert deed(text) is None
    assert open_(text) == len(text)
