"""The words of notices on a locked screen: short, and true without what came before."""

from __future__ import annotations

from datetime import datetime

from vivavoce.language.en.telling import spoken

LATER_MINUTES = 10
DONE, LATER, YES, NO = "Done", f"Snooze {LATER_MINUTES} min", "Yes", "No"
SOMETHING = "Something on your list"
WANTS_A_YES = "Waiting for your yes"


def was_due(at: datetime, *, now: datetime, time_zone: str, late: bool) -> str:
    if not late:
        return "It is due now."
    return f"It was due {spoken(at, now=now, time_zone=time_zone)}."


def asks(title: str) -> str:
    return f"A question about: {title}" if title else "A question"


def ended(title: str, *, failed: bool) -> str:
    word = "Failed" if failed else "Done"
    return f"{word}: {title}" if title else f"{word}."


def put_off(at: datetime, *, now: datetime, time_zone: str) -> str:
    return f"I'll remind you {spoken(at, now=now, time_zone=time_zone)}."
