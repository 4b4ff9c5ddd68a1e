"""Which days of the month or the year, in spoken words: "every first and third monday"."""

from __future__ import annotations

from collections.abc import Sequence

from vivavoce.language.en.recurrence.found import FREQ, Found, word_at
from vivavoce.language.en.times.tables import MONTHS, UNITS, WEEKDAYS
from vivavoce.language.en.times.tokens import ordinal


def ordinals(rest: Sequence[str], at: int) -> tuple[list[int], int] | None:
    """ "1st and 3rd", "last": the numbers, and how many tokens they take."""
    numbers: list[int] = []
    end = at
    while number := ordinal(word_at(rest, end)) or (-1 if word_at(rest, end) == "last" else 0):
        numbers.append(number)
        end += 1
        joined = end
        while word_at(rest, joined) in ("and", "or", "the"):
            joined += 1
        if joined > end and (ordinal(word_at(rest, joined)) or word_at(rest, joined) == "last"):
            end = joined
    return (numbers, end - at) if numbers else None


def every_nth(found: Found, at: int, numbers: list[int], count: int) -> bool:
    """ "every second week", "every first and third monday", "every 15th"."""
    word = word_at(found.rest, at + 1 + count)
    taken = count + 2
    if word in WEEKDAYS:
        if "month" in found.rest[at:] or numbers != [2]:
            found.freq, found.nth, found.days = "MONTHLY", numbers, {WEEKDAYS[word]}
        else:
            found.freq, found.interval, found.days = "WEEKLY", 2, {WEEKDAYS[word]}
    elif UNITS.get(word) in FREQ and len(numbers) == 1 and numbers[0] > 0:
        found.freq, found.interval = FREQ[UNITS[word]], numbers[0]
        found.take(at, taken)
        return True
    else:
        found.freq, found.month_days = "MONTHLY", numbers
        taken -= word != "day"
    found.take(at, taken)
    found.rest = [w for w in found.rest if w not in ("of", "the", "month", "in-the")]
    return True


def day_of_month(found: Found) -> None:
    """ "on the 1st of every month", "monthly on the last friday", "every year on december 25"."""
    for at, word in enumerate(found.rest):
        if found.month_days or found.nth:
            break
        numbers, count = ordinals(found.rest, at) or ([], 0)
        if not numbers and found.freq == "YEARLY" and _beside_month(found.rest, at):
            numbers, count = [int(word)], 1
        if not numbers:
            continue
        following = word_at(found.rest, at + count)
        if following in WEEKDAYS:
            found.nth, found.days = numbers, {WEEKDAYS[following]}
            found.take(at, count + 1)
        else:
            found.month_days = numbers
            found.take(at, count + (following == "day"))
        break
    if found.freq == "YEARLY":
        month = next((w for w in found.rest if w in MONTHS), None)
        if month and (found.month_days or found.nth):
            found.month = MONTHS[month]
            found.rest.remove(month)
    found.rest = [w for w in found.rest if w not in ("on", "the", "of", "every", "each")]


def _beside_month(rest: Sequence[str], at: int) -> bool:
    beside = (*rest[max(0, at - 1) : at], word_at(rest, at + 1))
    return rest[at].isdecimal() and len(rest[at]) <= 2 and any(w in MONTHS for w in beside)
