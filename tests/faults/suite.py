"""Which cases there are, and how one or many of them are played."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.contract.postgres import drop_database, new_database
from tests.faults.ringing import Ringing, ringing
from tests.faults.spoken import Spoken, spoken
from tests.faults.talk import Case, Played, Talk, case, play
from tests.faults.world import World, world

FEW = {
    "client": tuple(6 * event + event % 6 for event in range(11)),
    "sideband": tuple(6 * event + (event + 3) % 6 for event in range(11)),
    "database": (*range(0, 7 * 9, 7), 1021),
    "voice": range(0, 7 * 8, 7),
    "engine": (0, 7, 14, 21, 28, 35, 36, 43),
    "media": range(8, 12, 3),
}
"""The seeds of `make test`, by link: such that they meet all events and all faults; and one
beyond the thousand that found what none of those had."""
MANY = {
    "client": 260,
    "sideband": 320,
    "database": 160,
    "voice": 100,
    "engine": 120,
    "media": 40,
}
"""How many cases by link, in `make test-full`: a thousand."""
PART = 40


def parts(cases: Mapping[str, int]) -> list[tuple[str, range]]:
    """All of them, in tests of some."""
    return [
        (link, range(first, min(first + PART, count)))
        for link, count in cases.items()
        for first in range(0, count, PART)
    ]


async def failing(
    link: str,
    seeds: Iterable[int],
    folder: Path,
    told: Callable[[Case, float, list[str]], None] = lambda one, seconds, wrong: None,
) -> list[str]:
    """What was wrong in them, each with its trace."""
    found: list[str] = []
    async with _worlds[link](folder) as made:
        for seed in seeds:
            one, began = case(seed, link), time.monotonic()
            wrong = await play(_talks.get(link, Talk)(made, one))
            told(one, time.monotonic() - began, wrong)
            found += [str(one), *(f"  {line}" for line in wrong)] if wrong else []
    return found


@asynccontextmanager
async def _on_postgres(folder: Path) -> AsyncIterator[World]:
    database = new_database()
    try:
        async with world(folder, database) as made:
            yield made
    finally:
        drop_database(database)


_worlds = {
    "client": world,
    "sideband": world,
    "database": _on_postgres,
    "voice": spoken,
    "engine": spoken,
    "media": ringing,
}
_talks: dict[str, type[Played]] = {"voice": Spoken, "engine": Spoken, "media": Ringing}
