"""A process that writes and says what was acknowledged, until somebody kills it.

    python -m tests.store.writing_process URL

One line an acknowledged submission: the name of its entry and its position.
"""

from __future__ import annotations

import asyncio
import os
import sys

from tests.contract.records import conversation, entry, event
from vivavoce.store import open_store
from vivavoce.wire.records.talk import Announce, PutConversation, PutEntry

WRITERS = 8


async def main(url: str) -> None:
    store = open_store(url)
    await store.open()
    await store.commit([PutConversation(conversation())])

    async def write(writer: int) -> None:
        for n in range(100_000):
            name = f"{writer}.{n}"
            (placed,) = await store.commit([PutEntry(entry(name)), Announce(event(name))])
            os.write(1, f"{name} {placed.position}\n".encode())

    async with asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(write(writer))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
