"""What users said to tasks: kept in the ledger as notes, and handed to whoever waits.

Also knows of cancellations, which are notes of the same kind. Where several
processes share a ledger one of them may take what another one waits for, so
it looks from time to time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

_CANCEL = "/cancel"
_ANSWER = "/answer"


class Notes(Protocol):
    """Blocking; the first under an id stays."""

    def note(self, id_: str, value: str) -> None: ...

    def notes(self, ids: list[str]) -> dict[str, str]: ...


class Mail:
    """Answers by question, cancellations by task."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def answer(self, question_id: str, words: str) -> None:
        id_ = question_id + _ANSWER
        await asyncio.to_thread(self._notes.note, id_, words)
        # Not `words`: another answer may have been first.
        self._hand(await self._read([id_]))

    async def given(self, question_id: str) -> str | None:
        id_ = question_id + _ANSWER
        return (await self._read([id_])).get(id_)

    async def wait(self, question_id: str) -> str:
        id_ = question_id + _ANSWER
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = waiting
        try:
            self._hand(await self._read([id_]))  # it may have come since it was last looked
            return await waiting
        finally:
            if self._waiting.get(id_) is waiting:
                del self._waiting[id_]

    async def cancel(self, task_id: str) -> None:
        await asyncio.to_thread(self._notes.note, task_id + _CANCEL, "")

    async def cancelled(self, task_id: str) -> bool:
        return bool(await self._read([task_id + _CANCEL]))

    async def look(self, tasks: list[str], unwanted: Callable[[str], None]) -> None:
        """Hands out what others took; `unwanted` is told which of the tasks are cancelled."""
        found = await self._read([*self._waiting, *(each + _CANCEL for each in tasks)])
        self._hand(found)
        for each in tasks:
            if each + _CANCEL in found:
                unwanted(each)

    async def _read(self, ids: list[str]) -> dict[str, str]:
        return await asyncio.to_thread(self._notes.notes, ids)

    def _hand(self, found: dict[str, str]) -> None:
        for id_, words in found.items():
            waiting = self._waiting.get(id_)
            if waiting is not None and not waiting.done():
                waiting.set_result(words)
