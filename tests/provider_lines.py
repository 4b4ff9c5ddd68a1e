"""A provider of ours talking to a scripted one, for the tests of both."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.offers import OFFER
from vivavoce.runtime.ports import Call, Closed
from vivavoce.runtime.provider.openai import OpenAIProvider, OpenAISideband
from vivavoce.testing import ManualClock, ScriptedProvider

SESSION: dict[str, Any] = {
    "type": "realtime",
    "model": "gpt-realtime",
    "instructions": "Be brief.",
}


@asynccontextmanager
async def connected(
    fake: ScriptedProvider, *, key: str | None = None, clock: ManualClock | None = None
) -> AsyncIterator[OpenAIProvider]:
    """Ours, pointed at the fake; waits take no time unless `clock` says otherwise."""
    provider = OpenAIProvider(
        base_url=fake.base_url,
        api_key=key or fake.key,
        model="gpt-realtime",
        clock=clock or ManualClock(auto=True),
    )
    try:
        yield provider
    finally:
        await provider.close()


async def new_call(provider: OpenAIProvider) -> Call:
    return await provider.create_call(OFFER, SESSION)


async def next_event(line: OpenAISideband) -> dict[str, Any]:
    frame = await line.receive()
    assert not isinstance(frame, Closed), frame
    event: dict[str, Any] = json.loads(frame)
    return event


async def until_closed(line: OpenAISideband) -> Closed:
    """How it ended, after at most a thousand frames."""
    for _ in range(1000):
        frame = await line.receive()
        if isinstance(frame, Closed):
            return frame
    raise AssertionError("the line did not close")
