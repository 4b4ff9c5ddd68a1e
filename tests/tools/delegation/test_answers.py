"""Answers and cancellations that another process took."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from vivavoce.tools.delegation.context import Mail

if TYPE_CHECKING:
    from vivavoce.tools.delegation.ledger import Ledger


class Notes(dict[str, str]):
    """Shared by two mails, as a database is by two processes."""

    def note(self, id_: str, value: str) -> None:
        self.setdefault(id_, value)

    def notes(self, ids: list[str]) -> dict[str, str]:
        return {id_: self[id_] for id_ in ids if id_ in self}


async def test_what_another_process_took_is_found_by_looking() -> None:
    notes = Notes()
    here, there = Mail(cast("Ledger", notes)), Mail(cast("Ledger", notes))
    unwanted: list[str] = []
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(here.wait("task_1:1"))
        await there.answer("task_1:1", "the first")
        await there.answer("task_1:1", "the second")
        await there.answer("task_2:1", "another's")
        await there.cancel("task_2")
        while not waiting.done():
            await here.look(["task_1", "task_2"], unwanted.append)
    assert waiting.result() == "the first"
    assert set(unwanted) <= {"task_2"}
    await here.look(["task_1", "task_2"], unwanted.append)
    assert "task_2" in unwanted
    assert await here.cancelled("task_2")
    assert not await here.cancelled("task_1")
