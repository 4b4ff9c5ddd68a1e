"""When a request to the provider is tried once more (seed 004 §12), and when it is not.

Knows our errors only. Who asks decides what a failure is; the sideband's
own retries belong to the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from vivavoce.errors import ProviderError, ProviderRateLimited, ProviderRefused
from vivavoce.runtime.ports import Clock

T = TypeVar("T")

RATE_LIMITED_WAIT = 5.0  # "OpenAI 429: back off 5 s, retry once"
FAILED_WAIT = 2.0  # "OpenAI 500/503: retry once after 2 s"; a lost connection is no better


async def once_more(clock: Clock, attempt: Callable[[], Awaitable[T]]) -> T:
    """The result of the first try, or of the second after the wait its failure asks for."""
    try:
        return await attempt()
    except ProviderRefused:
        raise
    except ProviderRateLimited:
        wait = RATE_LIMITED_WAIT
    except ProviderError:
        wait = FAILED_WAIT
    # Outside the handler: the second failure must not drag the first along as its context.
    await clock.sleep(wait)
    return await attempt()
