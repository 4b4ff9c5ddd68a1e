"""What nobody could say again is stored: a store that is away for a while is waited for.

Knows nothing of what is stored. A client that can ask again is not for here: it is told.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from vivavoce.errors import OutcomeUnknown, Unavailable
from vivavoce.logs import fields
from vivavoce.retrying import retried
from vivavoce.runtime.ports import Clock, Journal
from vivavoce.wire.records.talk import Change, LogEvent

log = logging.getLogger(__name__)

WAITS = (0.2, 1.0, 3.0)
"""Seconds; the last of them again and again."""

T = TypeVar("T")


async def kept(
    journal: Journal, clock: Clock, changes: Sequence[Change], **told: str | None
) -> list[LogEvent]:
    """Until they are stored, however long that takes; what no waiting helps is raised. `told` is
    whose they are, for the log."""
    return await there(clock, partial(journal.commit, changes), None, **told)


async def there(
    clock: Clock,
    attempt: Callable[[], Awaitable[T]],
    most: float | None = None,
    **told: str | None,
) -> T:
    """What it gives once the store is there, where that takes no more than `most` seconds."""
    until = None if most is None else clock.monotonic() + most

    def wait(fault: Exception, failures: int) -> float | None:
        if type(fault) not in (Unavailable, OutcomeUnknown):  # a model that is missing stays so
            return None
        if until is not None and clock.monotonic() > until:
            return None
        log.warning(
            "The store is away, trying again", extra=fields(error=type(fault).__name__, **told)
        )
        return WAITS[min(failures, len(WAITS)) - 1]

    return await retried(attempt, wait, sleep=clock.sleep)
