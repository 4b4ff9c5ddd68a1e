"""Something is asked, or asked for."""

from __future__ import annotations

import pytest

from vivavoce.language.en.questions import asks


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
