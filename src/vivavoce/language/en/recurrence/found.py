"""A rule while it is read from spoken words: its parts so far, and the words left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vivavoce.language.en.recurrence.parts import DAYS

FREQ = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}


@dataclass(slots=True)
class Found:
    """The parts of a rule so far, and the tokens left."""

    rest: list[str]
    freq: str = ""
    interval: int = 1
    days: set[int] = field(default_factory=set)
    nth: list[int] = field(default_factory=list)
    """Which of the month's: 1 the first, -1 the last."""
    month_days: list[int] = field(default_factory=list)
    month: int = 0

    def take(self, at: int, count: int) -> None:
        """These tokens are understood."""
        del self.rest[at : at + count]

    def rule(self) -> str:
        parts = [f"FREQ={self.freq}"]
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.month:
            parts.append(f"BYMONTH={self.month}")
        if self.month_days:
            parts.append("BYMONTHDAY=" + ",".join(map(str, self.month_days)))
        if self.days:
            which = [str(number) for number in self.nth] or [""]
            days = [number + DAYS[day] for number in which for day in sorted(self.days)]
            parts.append("BYDAY=" + ",".join(days))
        return ";".join(parts)


def word_at(rest: Sequence[str], at: int) -> str:
    return rest[at] if 0 <= at < len(rest) else ""
