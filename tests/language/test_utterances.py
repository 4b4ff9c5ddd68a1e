"""Something is asked, or asked for."""

from __future__ import annotations

import pytest

from vivavoce.language.en import titles, utterances
from vivavoce.language.en.denying import undenied
from vivavoce.language.en.utterances import (
    asks,
    clauses,
    orders,
    repaired,
    requests,
    settles,
    unable,
    wants,
)


@pytest.mark.parametrize(
    "said",
    [
        "when is it the vet is coming again",
        "So what have I got on Friday?",
        "do I have anything on tomorrow",
        "Is the plumber coming on Monday?",
        "which files mention the port",
        "how many tasks are left",
        "um, where's the timeout set",
        "have I told you about the dentist",
    ],
)
def test_a_question_wants_an_answer(said: str) -> None:
    assert asks(said)


@pytest.mark.parametrize(
    "said",
    [
        "Could you move the vet to Friday?",
        "can my meeting be an hour later",
        "What about moving it to Friday?",
        "Do me a favour and put the bins down for Monday",
        "do one thing, shift my call to Thursday",
        "remind me when I get home to feed the cat",
        "Have I got the dentist tomorrow? Push it back an hour.",
        "would you put the bins on my list",
        "the dentist, when he calls, is to be moved",
    ],
)
def test_a_request_wants_a_deed(said: str) -> None:
    assert not asks(said)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (
            "I've paid the window cleaner so tick that, get rid of the library one 'cause it's "
            "shut, and when I get home remind me to take the chicken out",
            ["get rid of the library one 'cause it's shut"],
        ),
        (
            "move the gym to seven and remind me to charge my phone",
            ["move the gym to seven", "remind me to charge my phone"],
        ),
        ("They don't open till ten. Make it ten.", []),
        ("I keep forgetting the tomatoes, they look terrible", []),
    ],
)
def test_orders_are_found_in_what_was_said(said: str, wanted: list[str]) -> None:
    assert [said[start:end] for start, end in requests(said)] == wanted


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("email legal, no, not legal, finance, about it", "email finance, about it"),
        ("have dinner with Ann, no wait, with Beth, at eight", "have dinner with Beth, at eight"),
        (
            "at four, no, five, email her my abstract. Ah sorry, not abstract, the letter.",
            "at four, no, five, email her the letter.",
        ),
        ("on Friday remind me to ring Pete I mean ring Paul", "on Friday remind me to ring Paul"),
    ],
)
def test_what_was_taken_back_in_the_same_breath_is_not_meant(said: str, meant: str) -> None:
    assert repaired(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        "no, sorry, I meant Stella",
        "on Wednesday at four, sorry, Thursday at four",
        "remind me to call the bank. Sorry, the dog barked. On Friday.",
        "I can't do Friday, sorry, move it to Monday",
        "buy milk, not bread",
    ],
)
def test_everything_else_stays_as_it_was_said(said: str) -> None:
    assert repaired(said) == said


def test_clauses_begin_also_where_no_pause_was_written() -> None:
    said = "the books are back and the gas I booked this morning, so can you tick that"
    assert [said[start:end] for start, end in clauses(said)] == [
        "the books are back",
        "and the gas I booked this morning",
        "so can you tick that",
    ]


def test_telling_something_is_not_wanting_something() -> None:
    assert not wants("he's called Mr Hodges, by the way")
    assert wants("I also need to ring Tom")
    assert wants("put the bins out")


@pytest.mark.parametrize(
    ("said", "became"),
    [
        ("I went today, it was four hours, cross it off", "done"),
        ("I already took out the recycling, so check that off for this week", "done"),
        ("that's sorted, strike it", "done"),
        ("did it, tick", "done"),
        ("we've been to the bank, you can strike that off", "done"),
        ("the job's finished, cross it off the list", "done"),
        ("mark the dentist as done", "done"),
        ("the gig's been cancelled, cross it off", "gone"),
        ("yoga's not happening, strike it", "gone"),
        ("scrap the dentist", "gone"),
        ("get rid of the yoga", "gone"),
        ("it's off, bin it", "gone"),
        ("that's the cake fed for another week, put a line through it", "done"),
        ("the two of them are finished, mark em off", "done"),
        ("Marta's hurt her back so the gym is off", "gone"),
        ("I won't need the plumber", "gone"),
        ("cross the gym off, I'm not going", "gone"),
        ("the report's handed in", "did"),
        ("the mechanic's off sick", ""),
        ("I'm not going to be late", ""),
        ("cross off the dentist", ""),
        ("the bins are out", ""),
        ("put the dentist off until Friday", ""),
    ],
)
def test_what_was_done_is_told_from_what_is_called_off(said: str, became: str) -> None:
    assert settles(said) == became


@pytest.mark.parametrize(
    ("broken_off", "said", "taken_up"),
    [
        ("remind me to", "Sorry, the phone. To pick Oscar up, I was saying.", "To pick Oscar up"),
        ("ring the", "Hang on. The plumber.", "The plumber"),
        ("remind me to call mum", "To be honest, never mind.", ""),
        ("remind me to", "Forget it.", ""),
    ],
)
def test_who_broke_off_takes_it_up_with_the_same_word(
    broken_off: str, said: str, taken_up: str
) -> None:
    assert utterances.resumed(broken_off, said) == taken_up


@pytest.mark.parametrize(
    ("said", "words", "title"),
    [
        ("I still have that laptop to hand back", "hand back", "hand that laptop back"),
        ("I've a meeting to go to on Friday", "go to", "go to a meeting"),
        ("there's a parcel to post", "post", "post a parcel"),
        ("I have an hour to call mum", "call mum", "call mum"),
        ("I have until Friday to pay", "pay", "pay"),
    ],
)
def test_what_is_to_be_done_with_it_is_done_to_it(said: str, words: str, title: str) -> None:
    assert titles.of_what(titles.stripped(words), words, said) == title


@pytest.mark.parametrize(
    ("said", "clause"),
    [
        ("I won't manage the ironing today", "I won't manage the ironing today"),
        ("I can’t make yoga tonight, let's go on Friday", "I can't make yoga tonight"),
        ("we're not able to do it on Monday so put it on Tuesday", "on Monday "),
        ("I'm not going to get round to the shed this weekend", "this weekend"),
    ],
)
def test_the_time_that_somebody_cannot_make_is_heard(said: str, clause: str) -> None:
    (found,) = unable(said)
    assert found.endswith(clause)


@pytest.mark.parametrize(
    "said",
    [
        "I can't do the soup run, the van's off the road",
        "I can make it on Monday",
        "I can't do without it this Monday",
        "cancel yoga tonight",
    ],
)
def test_who_names_no_time_or_can_is_not_unable_then(said: str) -> None:
    assert unable(said) == []


@pytest.mark.parametrize(
    ("said", "ordered"),
    [
        ("no time today, delete that", True),
        ("no time today, just drop it please", True),
        ("no time today, the report is due", False),
        ("get rid of it", True),
    ],
)
def test_a_clause_that_begins_with_its_verb_is_an_order(said: str, *, ordered: bool) -> None:
    assert orders(said) is ordered


@pytest.mark.parametrize(
    ("said", "greets"),
    [
        ("Good morning!", True),
        ("Hello, how are you?", True),
        ("hi there", True),
        ("hey, remind me to call Ann", False),
        ("Hi, what's on today?", False),
        ("tomorrow morning", False),
    ],
)
def test_a_greeting_is_nothing_more(said: str, greets: bool) -> None:
    assert utterances.greets(said) is greets


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "Cancel the club, please. Hm, no, don't cancel it, it's at nine now.",
            "the club: it's at nine now.",
        ),
        ("Delete the gym. Actually don't delete it, move it", "the gym: move it"),
        ("Remind me to call Ann and don't remind me of Bo", None),
    ],
)
def test_an_order_and_its_opposite_in_one_breath_are_neither(said: str, meant: str | None) -> None:
    assert undenied(said) == (meant or said)
