"""Something is asked, or asked for."""

from __future__ import annotations

import pytest

from vivavoce.language.en.utterances import asks, requests


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
