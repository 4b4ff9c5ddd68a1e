"""Bounds for numbers, conditions, folders, two files, and where a correction ends: what the words
say, in several wordings each."""

from __future__ import annotations

import pytest

from vivavoce.language.en import elsewhere, mentions, pointing
from vivavoce.language.en.filenames import compared, folder, folder_around, written
from vivavoce.language.en.naming import misspelt_word, name_said, several
from vivavoce.language.en.quantities import limit
from vivavoce.language.en.utterances import (
    asks_opinion,
    away_with_it,
    back_to,
    changes_unnamed,
    conditional,
    first_sentences,
    has_to_move,
    of_other_work,
    only_complains,
    subject_of_time,
    wants_nudge,
)


@pytest.mark.parametrize(
    ("said", "inside", "outside"),
    [
        ("how many are over fifty", 51, 50),
        ("fewer than a dozen and a half, so under eighteen", 17, 18),
        ("at least two hundred and forty", 240, 239),
        ("no more than nine", 9, 10),
        ("between ten and twenty metres", 20, 21),
        ("fifteen or more", 15, 14),
        ("planted after nineteen eighty", 1981, 1980),
        ("exactly four of them", 4, 5),
    ],
)
def test_a_bound_holds_for_the_numbers_that_it_is_said_of(
    said: str, inside: float, outside: float
) -> None:
    bound = limit(said.rsplit(", so ", maxsplit=1)[-1])
    assert bound is not None
    assert bound.holds(inside, cents=False)
    assert not bound.holds(outside, cents=False)


@pytest.mark.parametrize(
    "said", ["how many are there", "after the meeting", "over the hill", "at five o'clock"]
)
def test_no_bound_is_heard_where_none_is(said: str) -> None:
    assert limit(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "delete the dump, but only if there is a copy",
        "if they pass, bin the old one",
        "drop the picnic if it rains",
        "rename it unless somebody else did",
        "bin the old one as long as the tests pass",
        "drop it, so long as nobody needs to keep it",
        "merge the two as long as it takes no more than an hour",
    ],
)
def test_a_condition_is_one(said: str) -> None:
    assert conditional(said, said)


@pytest.mark.parametrize(
    "said",
    [
        "delete the dump if you would",
        "bin it, if you don't mind",
        "see if the tests pass",
        "if possible move it",
        "tell me if it's there",
        "Write docs for all of it. It may run as long as it wants.",
        "go through every file, take as long as you need",
        "let the coder work on it for as long as it takes to finish",
        "do it properly, as long as the build needs, and tell me",
        "sort the lot. As long as that has to take, it's fine",
    ],
)
def test_manners_and_questions_are_no_condition(said: str) -> None:
    assert not conditional(said, said)


def test_what_is_to_be_written_down_is_no_condition() -> None:
    said = "add a line, if it rains we meet indoors"
    assert not conditional(said, said, ["if it rains we meet indoors"])


@pytest.mark.parametrize(
    ("said", "name", "inside"),
    [
        ("a folder called old maps", "old_maps", ""),
        ("a new directory, photos slash spring", "photos/spring", ""),
        ("a folder for the invoices in docs", "invoices", "docs"),
        ("an archive folder please", "archive", ""),
        ("two files are in the lang folder, English and German", "", ""),
    ],
)
def test_a_folder_is_heard_with_its_name(said: str, name: str, inside: str) -> None:
    made = folder(said)
    assert made == name or (not name and made in ("", "lang"))
    assert folder_around(said) == inside or not name


@pytest.mark.parametrize(
    ("said", "two"),
    [
        ("what's the difference between dev dot yaml and live dot yaml", ("dev.yaml", "live.yaml")),
        ("which keys are in en dot json but not in de dot json", ("en.json", "de.json")),
        ("what is missing from the Polish file", ("Polish file", "")),
        ("are menu dot txt and old dot txt the same", ("menu.txt", "old.txt")),
        ("what's the difference between a list and a tuple", None),
        ("what's the difference between main and my branch", None),
    ],
)
def test_two_files_are_heard_where_they_are_compared(
    said: str, two: tuple[str, str] | None
) -> None:
    assert compared(said) == two


def test_as_many_files_as_were_said_are_meant_or_none() -> None:
    files = ["a/may-1.png", "a/may-2.png", "a/june.png", "b/2023-q1.csv", "b/2023-q2.csv"]
    assert several("the two May pictures", files) == ("a/may-1.png", "a/may-2.png")
    assert several("both from twenty twenty-three", files) == ("b/2023-q1.csv", "b/2023-q2.csv")
    assert several("the three May pictures", files) == ()
    assert several("the June picture", files) == ()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("requirements dot txt T X T", "requirements.txt"),
        ("hello dot py, Python one", "hello.py"),
        ("shift swap dot md", "shift_swap.md"),
        ("a git ignore dot env", ".gitignore"),
    ],
)
def test_a_name_ends_with_its_ending(said: str, name: str) -> None:
    assert written(said) == name


def test_a_name_is_all_its_words_and_not_its_kind() -> None:
    assert name_said("the key user name") == "user name"
    assert name_said("do stuff") == "do stuff"
    assert name_said("load marks, with an underscore") == "load marks"


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("I've spelt separate wrong in there", "separate"),
        ("someone put address with only one D", "address"),
        ("we misspelled rehearsal on the page", "rehearsal"),
        ("the word is long", ""),
    ],
)
def test_the_word_that_is_wrong_is_heard(said: str, word: str) -> None:
    assert misspelt_word(said) == word


def test_a_remark_behind_a_correction_has_no_time_of_it() -> None:
    said = "No, quarter past eight I wanted. He works until eight"
    places = [(4, 22), (said.index("until"), len(said))]
    assert first_sentences(said, places) == 1
    said = "At eight. No, sorry, nine I meant"
    assert first_sentences(said, [(0, 8), (said.index("nine"), said.index(" I"))]) == 2


def test_back_to_a_value_and_back_to_how_it_was() -> None:
    assert back_to("no, back to ten please") == "ten"
    assert back_to("put it back to how it was") == ""


@pytest.mark.parametrize(
    ("said", "ends"),
    [("six in the morning, was I mad? Scrap it.", 30), ("bin it", 1), ("put it in the bin", -1)],
)
def test_where_something_is_done_away_with(said: str, ends: int) -> None:
    assert away_with_it(said) == ends


def test_jobs_in_files_are_no_work_that_was_handed_over() -> None:
    assert of_other_work("which of the jobs still use the old mailer")
    assert of_other_work("what jobs are there in the cron folder")
    assert not of_other_work("are any of your jobs still running")


def test_a_complaint_without_a_value_is_only_that() -> None:
    assert only_complains("Er, that date's wrong, can you put it right?")
    assert only_complains("this number is off")
    assert not only_complains("that date's wrong, make it the tenth")


def test_what_is_at_a_time_is_called_so() -> None:
    assert subject_of_time("The call is tomorrow at nine Tokyo time, remind me") == "The call"
    assert subject_of_time("remind me tomorrow at nine") == ""


def test_a_clause_of_its_own_says_whose_clock_it_is() -> None:
    said = "Tuesday ten in the morning, but that's Japan time, remind me when it starts on my side"
    assert "Japan time" in elsewhere.elsewhere("Tuesday ten in the morning", said)
    said = "Tuesday ten in the morning on my side"
    assert "time" not in elsewhere.elsewhere("Tuesday ten in the morning", said)


def test_before_a_year_is_over_is_by_its_end() -> None:
    said = "walk the Camino before the year twenty thirty is finished"
    assert mentions.before_its_end("before the year twenty thirty", said) == (
        "by the end of twenty thirty"
    )
    assert mentions.before_its_end("before June", "before June, it's over then") == "before June"


def test_a_reminder_may_only_be_hinted_at() -> None:
    assert (
        wants_nudge("He's nagging me to see somebody. I could do with a nudge.") == "see somebody"
    )
    assert wants_nudge("I still need to pay the rent, a reminder would help") == "pay the rent"
    assert wants_nudge("I wouldn't say no to a reminder about it") == ""
    assert wants_nudge("I need to pay the rent") is None
    assert has_to_move("that one's no good, I'll have to shift it")
    assert not has_to_move("I have to shift the sofa")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Those crates have been standing in my hall a fortnight", "a fortnight"),
        ("it's been lying there three weeks", "three weeks"),
        ("I've had it since Monday", "since Monday"),
        ("they've owed me that for a month", "for a month"),
        ("the tap has dripped ever since Friday", "Friday"),
        ("he hasn't rung for nearly ten days", "for nearly ten days"),
    ],
)
def test_how_long_something_has_been_so_is_told(said: str, words: str) -> None:
    start = said.index(words)
    assert mentions.has_lasted(said, start, start + len(words))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("remind me in a fortnight", "in a fortnight"),
        ("the dentist has been moved two weeks", "two weeks"),
        ("I've been thinking, push it a week", "a week"),
        ("she has asked me to do it next week", "next week"),
        ("I have to ring her in three weeks", "in three weeks"),
        ("he's asked to have it ready two weeks before the wedding", "two weeks"),
        ("what have I done since Monday", "since Monday"),
        ("it's been put down for Monday", "for Monday"),
    ],
)
def test_when_something_shall_be_is_not_how_long_it_has_been_so(said: str, words: str) -> None:
    start = said.index(words)
    assert not mentions.has_lasted(said, start, start + len(words))


@pytest.mark.parametrize(
    ("said", "unnamed"),
    [
        ("Er, can you turn that down a bit for me?", True),
        ("Could you crank it up a little?", True),
        ("Would you lower that, please", True),
        ("Make this a bit longer", True),
        ("just bump it up a notch", True),
        ("Turn down the heating in the hall", False),
        ("turn the timeout down a bit", False),
        ("lower it to ten", False),
        ("bump it up to Friday", False),
        ("turn that into a list", False),
    ],
)
def test_who_wants_more_or_less_of_it_has_not_named_it(said: str, unnamed: bool) -> None:
    assert changes_unnamed(said) is unnamed


@pytest.mark.parametrize(
    ("said", "talk"),
    [
        ("Settle this for us: blue tits or robins? And don't you dare say it depends.", True),
        ("Dark mode or light mode? Don't say it depends.", True),
        ("Tabs or spaces? And no cop-outs.", True),
        ("Come on, then: tea or coffee?", True),
        ("So, films or books? Pick one.", True),
        ("Rename it to main or app?", False),
        ("Is it four or five retries?", False),
        ("Dark mode or light mode? Put whichever you like into settings dot yaml.", False),
        ("Add dark mode or light mode, which is quicker?", False),
        ("the tests or the docs?", False),
    ],
)
def test_a_question_of_taste_is_talk(said: str, talk: bool) -> None:
    assert asks_opinion(said) is talk


@pytest.mark.parametrize(
    "clause",
    [
        "I must stay late at work when I have that haircut.",
        "we're staying at Mum's when the dentist is",
        "She has to stay in hospital on Monday",
        "you'll have to stay for the rehearsal",
        "I keep missing the dentist",
    ],
)
def test_who_stays_somewhere_is_nothing_that_stays_on_the_list(clause: str) -> None:
    assert not pointing.stays(clause)


@pytest.mark.parametrize(
    "clause",
    ["the dentist stays", "Friday's must stay", "keep the dentist", "I want to keep the dentist"],
)
def test_what_stays_on_the_list_is_heard(clause: str) -> None:
    assert pointing.stays(clause)


@pytest.mark.parametrize(
    ("words", "said", "turned"),
    [
        ("another day", "I can't make it after all. It needs to be another day.", "another day"),
        ("some other day", "put it off, some other day is fine", "some other day"),
        (
            "a different week",
            "not then, move it on to a different week",
            "a different week",
        ),
        ("another day", "push it back by another day", "another day later"),
        ("an hour", "push it back an hour", "an hour later"),
    ],
)
def test_any_other_day_is_not_the_day_after(words: str, said: str, turned: str) -> None:
    assert mentions.turned(words, said) == turned
