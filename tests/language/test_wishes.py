"""Where one breath holds several wishes, and where it holds one with much told around it."""

from __future__ import annotations

import pytest

from vivavoce.brain.dialogue.things import named
from vivavoce.language.en.pointing import keeps
from vivavoce.language.en.wishes import apart, clauses_of
from vivavoce.wire.hints import Thing

HAVE = ("Piano lesson", "Water the ferns", "Call with Ravi", "Take the car to the garage")


def cut(said: str) -> list[str]:
    things = [Thing(id=title, title=title) for title in HAVE]

    def names(words: str, loose: bool) -> frozenset[str]:
        return frozenset(named(words, things, loose=loose))

    return [said[start:end].strip(" ,.;") for start, end in apart(said, names, keeps)]


@pytest.mark.parametrize(
    "stretches",
    [
        # New things, each at its own time, with and without pauses.
        [
            "tomorrow at eight ring the school",
            "on Friday at noon I've got to hand in the essay",
        ],
        [
            "Monday ten in the morning take the cat to the vet",
            "Tuesday at four in the afternoon collect her again",
        ],
        # What is there, and something new.
        [
            "I've watered the ferns",
            "put the piano lesson an hour later",
            "add a reminder for Sunday at noon to bake a cake",
        ],
        ["Ravi can't make it, he says Thursday at two", "the piano is off, the teacher is ill"],
        ["scrap the piano, leave the ferns", "shift the call with Ravi to Monday"],
        # A thing that is named first and spoken of after.
        ["I need to ring the bank tomorrow at nine", "the piano lesson, move that to six"],
        # A goal, and a first step.
        [
            "my dream is to sail round the world by the end of 2031",
            "for a start remind me on Saturday at ten to book a course",
        ],
        # Orders and questions.
        ["what have I got on Thursday", "bin off the piano while you're at it"],
        ["move the piano to Friday", "scrap everything else"],
        # Where the time comes before what it is about.
        ["the ferns are done", "tonight, at nine, I want a nudge to lock the shed"],
        # A goal that is only wished for, and a first step.
        ["I'd like to lose ten kilos by summer", "remind me every day at seven to go for a run"],
        ["I've watered the ferns", "paid for the piano"],
        ["cancel the piano", "the garage, can that be an hour earlier"],
        ["when I get home tell me to feed the cat", "tomorrow at ten I have to call the school"],
        # Places.
        ["tick off the ferns", "when I get to the office remind me to print the forms"],
    ],
)
def test_each_wish_of_one_breath_is_a_stretch_of_its_own(stretches: list[str]) -> None:
    assert cut(", and ".join(stretches)) == stretches
    assert cut(". ".join(stretches)) == stretches


@pytest.mark.parametrize(
    "said",
    [
        "remind me to buy salt and pepper on Friday at six",
        "ring Dave and Sue on Saturday at eleven",
        "the mass is on the ninth at seven in the evening, so give me a shout at six",
        "I told Agnes I'd bring the seedlings, so on Saturday at eleven tell me",
        "the report won't write itself. Tell me on Monday at nine to start on it",
        "Thursday. Quarter to nine in the morning. Blood test, and I'm not to eat before it",
        "the piano lesson, I can't make it, push it to Friday at the same time",
        "Ravi rang, he can't do tomorrow, it's the day after now",
        "move the piano and the call with Ravi to Friday",
        "move the piano to Friday, I'm at a wedding till late that day",
        "both the piano and the ferns can go, I'm in hospital",
        "I've something at nine tomorrow and something at eleven. Swap the eleven one to Friday",
        "first of every month, nine in the morning, pay the nursery, remind me, yeah?",
        "remind me on Friday at nine, no, ten, to cancel the gym. Or wait. Not Friday, Sunday",
        "I want to read all of Proust once in my life, it's more of a goal, can you keep it",
        "when I'm next in town, remind me to get stamps",
        "I've got to be there by six on Friday and the taxi takes an hour so wake me at four",
        "the car's making a noise, book it in, no, just remind me on Monday to ring the garage",
        "Ravi wants to talk earlier, he's got a plane to catch at five, so make it two",
        "pay the rent on Friday instead, I get my money on Thursday night",
        "be a dear and remind me about the choir on Thursday at seven",
        "every Monday, Wednesday and Friday at seven I go running, put that in",
        "cancel the piano but not the ferns",
    ],
)
def test_what_is_told_around_one_wish_begins_no_other(said: str) -> None:
    assert len(cut(said)) == 1


def test_a_time_is_never_cut() -> None:
    assert clauses_of("on Monday, Wednesday and Friday, at nine and a half, I go to the gym") == [
        "on Monday, Wednesday and Friday, at nine and a half",
        "I go to the gym",
    ]


@pytest.mark.parametrize("said", ["", " ", ".", "and", "and, then, oh", "?!"])
def test_nothing_said_is_no_wish(said: str) -> None:
    assert len(cut(said)) <= 1
