"""What understanding a time comes to: an instant to come, or a question. No calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta

WHEN = "What day and time should it be?"
FARTHEST = timedelta(days=366 * 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """An instant, or what to ask."""

    words: str
    at: datetime | None = None
    """In UTC."""
    rule: str | None = None
    """Where the words say that it recurs."""
    clock: time | None = None
    """The local hour that is meant; `at` is later where the clocks jump over it."""
    day_said: bool = False
    """The words name a day, rather than an hour of any day."""
    assumed: str | None = None
    """What the words did not say, for the model to confirm."""
    problem: str = ""
    question: str | None = None


def unclear(words: str, question: str = WHEN, problem: str = "") -> When:
    return When(
        words=words,
        question=question,
        problem=problem or f"The time cannot be understood: {words}",
    )


def ahead(when: When, now: datetime) -> When:
    """It, unless it is past or beyond what anybody plans."""
    if when.at is None or now <= when.at <= now + FARTHEST:
        return when
    if when.at > now:
        return unclear(when.words, problem=f"That is too far away: {when.words}")
    return unclear(
        when.words, "That time has passed. When should it be?", f"That is in the past: {when.words}"
    )
