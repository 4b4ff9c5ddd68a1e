"""How soon one user's requests are begun."""

from __future__ import annotations

import asyncio

import pytest

from vivavoce.errors import RateLimited
from vivavoce.server.gate.gate import Pace


async def test_a_crowd_of_one_users_requests_lets_another_in_between() -> None:
    pace, begun = Pace(100), list[str]()

    async def request(user: str) -> None:
        await pace.wait(user)
        begun.append(user)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(request("mallory"))
        group.create_task(request("eve"))
    assert begun.index("eve") < 10
    assert begun.count("mallory") == 20


async def test_who_sends_more_than_can_wait_is_refused() -> None:
    pace = Pace(1)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(pace.wait("mallory")) for _ in range(12)]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited):
            await pace.wait("mallory")
        for one in waiting:
            one.cancel()


async def test_without_a_limit_nobody_waits() -> None:
    pace = Pace(0)
    async with asyncio.timeout(1):
        for _ in range(5000):
            await pace.wait("mallory")
