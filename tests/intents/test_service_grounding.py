"""What the user said, and what a model only made of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from vivavoce.intents.checking import grounds, ungrounded
from vivavoce.intents.registry.definition import Parameter
from vivavoce.wire.records.talk import Entry, Kind

WHEN = Parameter(name="scheduled_at", grounded=True, kind="time")
REPEAT = Parameter(name="recurrence_rule", grounded=True, kind="repeat")
WHERE = Parameter(name="location_trigger", grounded=True, kind="place")
TITLE = Parameter(name="title", grounded=True)


@pytest.mark.parametrize(
    ("parameter", "value", "said"),
    [
        (WHEN, "7:00 PM", "call mom at seven this evening"),
        (WHEN, "2026-11-16T07:00:00Z", "tomorrow at seven"),
        (WHEN, "19:00", "around 7"),
        (WHEN, "Friday 6:00 PM", "push it to Friday at the same time"),
        (WHEN, "in 3 months", "in three months"),
        (WHEN, "2027-06", "by my sister's wedding in June"),
        (WHEN, "5 PM", "after work"),
        (WHEN, "lunchtime", "I'll be free at lunchtime"),
        (REPEAT, "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "weekdays only"),
        (REPEAT, "FREQ=DAILY", "every morning"),
        (WHERE, "away_from_home", "when I leave the house"),
        (WHERE, "at_work", "as soon as I get to the office"),
        (TITLE, "Meditate", "I want to try meditation"),
        (TITLE, "Running", "I'd like to run more"),
        (TITLE, "Take a pill", "remind me about my pills"),
        (TITLE, "Bake", "I love cakes and baking them"),
        (TITLE, "Call your mother", "remind me to ring my mum"),
        (TITLE, "Zahnarzt anrufen", "bitte erinnere mich an den Zahnarzt"),
        (WHEN, "tomorrow at 8", "erinnere mich morgen um acht und nicht später"),
        (WHEN, "tomorrow at 8", "明日の朝八時に起こして"),
        (TITLE, "Café besuchen", "i want to visit the cafe"),
    ],
)
def test_what_could_have_come_from_the_users_words_passes(
    parameter: Parameter, value: str, said: str
) -> None:
    assert ungrounded([parameter], {parameter.name: value}, said) == []


@pytest.mark.parametrize(
    ("parameter", "value", "said"),
    [
        (WHEN, "tomorrow at 9 AM", "remind me to call my mom"),
        (WHEN, "2026-11-16T09:00:00Z", "I am going to call my mom"),
        (REPEAT, "FREQ=DAILY", "I want to meditate"),
        (WHERE, "at the supermarket", "remind me to call my mom"),
        (TITLE, "Buy milk", "remind me this evening"),
        (TITLE, "Reminder", "remind me this evening"),
        (WHEN, "tonight", ""),
    ],
)
def test_what_clearly_nobody_said_does_not(parameter: Parameter, value: str, said: str) -> None:
    assert ungrounded([parameter], {parameter.name: value}, said) == [parameter]


def test_that_they_spoke_of_the_task_says_nothing_of_its_time() -> None:
    payload = {"title": "Call mom", "scheduled_at": "call mom tomorrow"}
    assert ungrounded([TITLE, WHEN], payload, "remind me to call mom") == [WHEN]


def test_only_what_is_marked_has_to_have_been_said() -> None:
    free = Parameter(name="task_id")
    assert ungrounded([free], {"task_id": "abc"}, "move my gym session") == []


def test_a_yes_makes_the_question_the_users_words() -> None:
    asked = [_entry(Kind.USER, "Call mom"), _entry(Kind.ASSISTANT, "Tomorrow at nine?")]
    yes, other = _entry(Kind.USER, "Yes, please"), _entry(Kind.USER, "Call her")
    assert ungrounded([WHEN], {"scheduled_at": "tomorrow at 9"}, grounds([*asked, yes])) == []
    assert ungrounded([WHEN], {"scheduled_at": "tomorrow at 9"}, grounds([*asked, other]))


def _entry(kind: Kind, text: str) -> Entry:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Entry(
        id=text,
        conversation_id="c",
        user_id="u",
        kind=kind,
        text=text,
        created_at=now,
        ordinal=0.0,
    )
