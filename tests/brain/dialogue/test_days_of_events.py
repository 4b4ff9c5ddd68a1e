"""The day of what takes place, said with what it is called, and its hour behind it."""

from __future__ import annotations

import pytest

from tests.brain.dialogue.talking import Talk
from vivavoce.brain.dialogue.commands import Begin


@pytest.mark.parametrize(
    ("said", "what", "when", "title", "told"),
    [
        (
            "I have an interview on Thursday with the bank, eleven in the morning. Remind me.",
            "an interview on Thursday with the bank",
            "eleven in the morning",
            "Interview with the bank",
            "Thursday, November 19 at 11 AM",
        ),
        (
            "There's a call tomorrow with the team in Berlin, three in the afternoon their time. "
            "Remind me when it starts.",
            "a call tomorrow with the team in Berlin",
            "three in the afternoon their time",
            "Call with the team in Berlin",
            "tomorrow at 2 PM",
        ),
        (
            "We have a viewing on Saturday with the agent, quarter past two, remind me",
            "viewing on Saturday with the agent",
            "quarter past two",
            "Viewing with the agent",
            "Saturday, November 21 at 2:15 PM",
        ),
        (
            "My review next week Tuesday with the Ostend lot, half nine in the morning: nudge me",
            "My review next week Tuesday with the Ostend lot",
            "half nine in the morning",
            "My review with the Ostend lot",
            "Tuesday, November 24 at 9:30 AM",
        ),
    ],
)
def test_the_day_of_an_event_is_the_day_of_the_hour_behind_it(
    said: str, what: str, when: str, title: str, told: str
) -> None:
    talk = Talk()
    talk.says(said, Begin("remind", {"what": what, "when": when}, sure=True))
    assert talk.there == {title: told}


@pytest.mark.parametrize(
    ("said", "what", "when", "title", "told"),
    [
        (
            "I've got the Sunday roast to do, eleven in the morning, remind me",
            "the Sunday roast to do",
            "eleven in the morning",
            "The Sunday roast to do",
            "today at 11 AM",
        ),
        (
            "Remind me at five to send the Friday report",
            "send the Friday report",
            "at five",
            "Send the Friday report",
            "today at 5 PM",
        ),
        (
            "Remind me to book a table for Saturday, and do it at noon",
            "book a table for Saturday",
            "at noon",
            "Book a table for Saturday",
            "today at 12 PM",
        ),
        (
            "Remind me at noon about the fair on Saturday with the twins",
            "the fair on Saturday with the twins",
            "at noon",
            "The fair on Saturday with the twins",
            "today at 12 PM",
        ),
    ],
)
def test_a_day_in_a_name_or_in_what_is_to_be_done_is_no_day_of_the_hour(
    said: str, what: str, when: str, title: str, told: str
) -> None:
    talk = Talk()
    talk.says(said, Begin("remind", {"what": what, "when": when}, sure=True))
    assert talk.there == {title: told}
