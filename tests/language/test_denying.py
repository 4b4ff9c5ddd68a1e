"""Orders that are taken back in the breath in which they were given."""

from __future__ import annotations

import pytest

from vivavoce.language.en.denying import (
    denies,
    let_go_at,
    only_denies,
    only_possible,
    protests,
    puts_back,
    undenied,
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "Cancel my squash tonight. Ah, wait, don't cancel, Ravi booked it. Make it eight.",
            "my squash tonight: Ravi booked it. Make it eight.",
        ),
        (
            "Can you take the chiropodist off my list? No, hang on, don't. Push it to Friday.",
            "the chiropodist: Push it to Friday.",
        ),
        (
            "Scrap the choir on Monday - actually no, don't scrap it, just put it on Tuesday.",
            "the choir on Monday: just put it on Tuesday.",
        ),
        (
            "Get rid of the recital, oh no, don't get rid of it, move it half an hour later",
            "the recital: move it half an hour later",
        ),
        (
            "I wanted to cancel the plumber, but no, make it Thursday at nine instead.",
            "the plumber: make it Thursday at nine instead.",
        ),
        ("Delete the haircut. Wait. Make it next week.", "the haircut: Make it next week."),
        ("Drop yoga. No! Don't do that. Move it to Saturday.", "yoga: Move it to Saturday."),
        (
            "Bin the quiz, no no, don't delete it, we said eight, so make it eight.",
            "the quiz: we said eight, so make it eight.",
        ),
        (
            "Don't cancel the tennis, just make it an hour later.",
            "the tennis: just make it an hour later.",
        ),
        (
            "I don't want to cancel the tennis, I want it an hour later",
            "the tennis: I want it an hour later",
        ),
    ],
)
def test_an_order_and_its_opposite_leave_what_is_wanted_instead(said: str, meant: str) -> None:
    assert undenied(said) == meant
    assert undenied(meant) == meant
    assert not only_denies(said)


@pytest.mark.parametrize(
    "said",
    [
        "Remind me to cancel the gym, don't let me forget, at nine",
        "Cancel the dentist and don't forget to remind me about the milk at six",
        "Cancel the dentist, I don't need it any more, and move the vet to Friday",
        "Take the car off, I sold it. And don't move the dentist.",
        "Cancel lunch with Bo, no, with Ann",
        "cancel the gym, wait, no, I meant the yoga",
        "Don't forget the dentist tomorrow at nine",
        "don't remind me about the gym any more",
        "Delete the gym, I don't want to go",
        "The course is off, I don't have to move it",
    ],
)
def test_what_denies_no_order_leaves_it_as_it_is(said: str) -> None:
    assert undenied(said) == said
    assert not only_denies(said)


@pytest.mark.parametrize(
    "said",
    [
        "Cancel the gym. No wait, don't.",
        "Delete the recital. No, hold on, don't, Marta would kill me.",
        "Tick off the bins. Actually wait, don't tick them off, I only did half.",
        "Don't cancel the gym",
        "Remove the dentist... no, sorry, don't remove it.",
        "please don't delete the barbecue",
        "Scrap Friday's swim. Oh, don't scrap it.",
        "Bin the meeting with Jo, ah no, don't bin that.",
    ],
)
def test_an_order_that_is_only_denied_wants_nothing(said: str) -> None:
    assert only_denies(said)
    assert undenied(said) == said


@pytest.mark.parametrize(
    "said",
    [
        "Take the gym off. Actually no, leave it.",
        "could you get rid of book club, ah no sure leave it, I might go yet",
        "Delete the dentist. Hm, no, leave it where it is.",
        "Cancel lunch, oh never mind, forget it",
        "Remind me at six to ring Ann. Actually, scrap that.",
        "tick off the shopping — no, wait, leave it on, please",
        "Move choir to Friday. On second thoughts, keep it as it is.",
        "Clear tomorrow. You know what, leave everything.",
        "Please delete yoga... hang on, my wife says something... no, she says keep it",
    ],
)
def test_who_leaves_it_takes_back_all_they_said(said: str) -> None:
    assert let_go_at(said) > 0


@pytest.mark.parametrize(
    "said",
    [
        "The dentist is off, so forget it",
        "Leave it with me and remind me at six",
        "Cancel the gym, and actually leave it on Saturday at nine",
        "no, leave it till Friday",
    ],
)
def test_what_is_left_till_then_is_not_taken_back(said: str) -> None:
    assert let_go_at(said) < 0


@pytest.mark.parametrize(
    ("said", "protest"),
    [
        ("no no, don't delete it!", True),
        ("I didn't say cancel it", True),
        ("wait, don't take that off!", True),
        ("Stop, I never said to delete that.", True),
        ("oh no, don't move it, please", True),
        ("No, I didn't want to remove it", True),
        ("don't!", False),
        ("don't forget the milk", False),
        ("don't move it to Friday, make it Monday", False),
        ("no, the other one", False),
    ],
)
def test_who_protests_wants_nothing_but_that_it_had_not_been_done(said: str, protest: bool) -> None:
    assert protests(said) is protest


def test_that_something_is_not_to_be_done_away_with_is_seen_in_its_clause() -> None:
    assert denies("and don't delete the vet")
    assert not denies("delete the vet")


@pytest.mark.parametrize(
    ("said", "possible"),
    [
        ("I might have to cancel the supper with Lou, I'll let you know", True),
        ("If Lou cancels supper I'll need to cook", True),
        ("should I scrap the gym?", True),
        ("I'm thinking of cancelling the gym", True),
        ("we may need to delete it", True),
        ("maybe I'll bin it", True),
        ("I was wondering whether to drop yoga", True),
        ("we could cancel the barbecue", True),
        ("could you cancel the dentist", False),
        ("if you could cancel the dentist", False),
        ("If it's still on the list delete the vet", False),
        ("I might be late, cancel the dentist", False),
        ("cancel lunch, I might go to Ann's", False),
        ("when I cancelled the gym they kept my money, so take that off", False),
        ("I thought about cancelling it and yes, take it off", False),
        ("The gym's cancelled", False),
    ],
)
def test_what_may_be_done_away_with_one_day_is_no_order(said: str, possible: bool) -> None:
    assert only_possible(said) is possible


@pytest.mark.parametrize(
    ("said", "is_so"),
    [
        ("Put the fee back to what it was.", True),
        ("my husband vetoed it, change it back", True),
        ("set the port back how it was before", True),
        ("I'll be back in when it rains", False),
        ("move it back to Thursday", False),
        ("put the chairs back in the hall", False),
    ],
)
def test_who_wants_it_as_it_was_has_it_taken_back(said: str, is_so: bool) -> None:
    assert puts_back(said) is is_so
