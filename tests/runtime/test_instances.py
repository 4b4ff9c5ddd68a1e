"""A server among others: it stays while it takes up what they left, and takes up no more once it
goes."""

from __future__ import annotations

import asyncio

from tests.contract.records import session
from tests.server.serving import until
from vivavoce.runtime.instances import Instance
from vivavoce.runtime.ports import Claimed
from vivavoce.testing import MemoryStore

SOMETHING = Claimed(sessions=(session(),))


class Left(MemoryStore):
    """There is always something that others left."""

    def __init__(self, *found: Claimed) -> None:
        super().__init__()
        self.found = list(found)
        self.claims = self.renewals = 0

    async def claim(self, limit: int = 10) -> Claimed:
        self.claims += 1
        return self.found.pop(0) if self.found else SOMETHING

    async def renew(self, lease: float) -> bool:
        self.renewals += 1
        return True


async def test_the_lease_is_renewed_while_a_starting_server_takes_up_what_was_left() -> None:
    """With many calls that takes longer than a lease lasts."""
    store, taking, go = Left(), asyncio.Event(), asyncio.Event()
    one = Instance(store, "one", lease=0.01, look=0.001)

    async def take(found: Claimed) -> None:
        taking.set()
        await go.wait()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.run(take)), group.create_task(one.settle(take))]
        await taking.wait()
        before = store.renewals
        await until(lambda: store.renewals > before + 3)
        assert store.claims == 1
        for task in tasks:
            task.cancel()


async def test_a_server_that_goes_ends_what_it_is_taking_up_and_takes_up_nothing_more() -> None:
    store, taking, go = Left(Claimed()), asyncio.Event(), asyncio.Event()
    one = Instance(store, "one", look=0.001)

    async def take(found: Claimed) -> None:
        taking.set()
        await go.wait()

    await one.settle(take)  # nothing was its own
    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.run(take))
        await taking.wait()
        one.draining = True
        resting = group.create_task(one.at_rest())
        await asyncio.sleep(0)
        assert not resting.done()
        go.set()
        await resting
        assert store.claims == 2
        running.cancel()
