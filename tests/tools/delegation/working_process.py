"""A process that carries a task of many steps, until it is over or somebody kills it.

    python -m tests.tools.delegation.working_process URL JOURNAL

The journal has one line for everything that happened, appended at once:
`began N` and `returned N` around every step, `ran ID` for every call that was
really made, `told SUMMARY` for the end, which is written only once, as a store
would.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.tools.delegation.stage import Doing, Remembering, begin, carried, work
from vivavoce.runtime.tasks.ports import Done, TaskContext, Work

STEPS = 12
PACE = 0.02


class Journal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def lines(self) -> list[str]:
        return self._path.read_text().splitlines()

    def write(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())


class Recording(Remembering):
    """Records a call before it runs, and runs none that is recorded: as our tool context does."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    async def call(
        self, task_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> str:
        if f"ran {call_id}" in self._journal.lines():
            return "nobody knows"
        self._journal.write(f"ran {call_id}")
        await asyncio.sleep(PACE)
        return "done"

    async def finished(self, task_id: str, done: Done) -> None:
        line = f"told {done.summary}"
        if line not in self._journal.lines():
            self._journal.write(line)
        await super().finished(task_id, done)


async def main(url: str, path: Path) -> None:
    journal = Journal(path)

    async def do(work: Work, context: TaskContext) -> Done:
        total = 0
        for n in range(STEPS):

            async def one(n: int = n) -> int:
                journal.write(f"began {n}")
                await asyncio.sleep(PACE)
                return n

            total += await context.step(f"step {n}", one)
            journal.write(f"returned {n}")
            await context.call("bash", {"n": n})
        return Done(summary=str(total))

    listener = Recording(journal)
    async with carried(url, Doing(do), listener) as carrier:
        await begin(carrier, work())
        await listener.end()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
