"""One user's history: the list, a page and a search, beside the plain way to ask for them.

    python -m bench.conversations

2,000 conversations with 100,000 messages, on SQLite and on PostgreSQL. Ours is
the store's own call, thread and decoding included. The plain way is the SQL that
comes to mind first, on the same rows, through the same threads and decoding: a
GROUP BY over everything for the list, OFFSET for the page, LIKE '%word%' for the
search (which marks no words and ranks nothing).
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import quantiles

from sqlalchemy import TextualSelect, text

from bench import size
from bench.store import _postgres as postgres
from vivavoce.store import SqlStore, open_store
from vivavoce.store.database import parse
from vivavoce.store.reader import Reader
from vivavoce.store.rows import ENTRIES
from vivavoce.store.schema import messages
from vivavoce.wire.records.talk import (
    Change,
    Conversation,
    Entry,
    Kind,
    PutConversation,
    PutEntry,
    new_id,
)

Report = Callable[[str, float, float, str], None]

CONVERSATIONS = size(2000, quick=50)
MESSAGES = 50  # of each, but of the longest
LONGEST = size(5000, quick=200)
CALLS = size(40, quick=4)  # of each kind
START = datetime(2026, 1, 1, tzinfo=UTC)

OFFSETS = size((0, 100, 1900), quick=(0, 10, 40))
DEPTHS = size((0, 500, 4500), quick=(0, 50, 150))
"""Messages of the longest conversation below the page."""
QUERIES = ("word7", "word1999", "word3 word12", "wor", "ferry harbour")

LIST = """
SELECT c.id, c.context_type, c.created_at, max(m.created_at) AS last, count(m.id),
    (SELECT content FROM messages p WHERE p.conversation_id = c.id
     AND p.role IN ('user', 'assistant') ORDER BY p.created_at DESC LIMIT 1)
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.id AND m.role IN ('user', 'assistant')
WHERE c.user_id = 'ann' GROUP BY c.id ORDER BY last DESC LIMIT 20 OFFSET :offset
"""
PAGE = f"""
SELECT {", ".join(c.name for c in messages.columns)}
FROM messages WHERE conversation_id = :id AND user_id = 'ann'
ORDER BY ordinal DESC, created_at DESC, id DESC LIMIT 100 OFFSET :depth
"""
LIKE = """
SELECT id, conversation_id, role, content, created_at FROM messages
WHERE user_id = 'ann' AND role IN ('user', 'assistant') AND {words}
ORDER BY created_at DESC LIMIT 20
"""


def run(report: Report) -> None:
    """Calls `report(name, ours, peer, unit)` for each question and database, at p50 and p95."""
    with tempfile.TemporaryDirectory(prefix="vivavoce-bench-") as folder:
        asyncio.run(_measure(report, "SQLite", f"sqlite:///{folder}/bench.db"))
    with postgres() as url:
        asyncio.run(_measure(report, "PostgreSQL", url))


async def _measure(report: Report, name: str, url: str) -> None:
    store = open_store(url)
    await store.open()
    longest = await _fill(store)
    engine = parse(url).readers(1)
    if name == "PostgreSQL":  # as autovacuum does after a while
        with engine.connect() as connection:
            connection.execute(text("VACUUM ANALYZE"))
    plain = Reader(engine, 1)
    await _list(report, name, store, plain)
    await _page(report, name, store, plain, longest)
    await _search(report, name, store, plain)
    await plain.close()
    engine.dispose()
    await store.close()


async def _fill(store: SqlStore) -> str:
    """Words by Zipf's law, as people speak: some are in nearly every message."""
    chance = random.Random(7)
    weights = [1 / (n + 1) for n in range(2000)]
    words = [f"word{n}" for n in range(2000)]
    total, longest = CONVERSATIONS * MESSAGES, new_id()
    rest = (total - LONGEST) // (CONVERSATIONS - 1)
    for n in range(CONVERSATIONS):
        of, count = (longest, LONGEST) if n == CONVERSATIONS // 2 else (new_id(), rest)
        began = START + timedelta(hours=n)
        conversation = Conversation(id=of, user_id="ann", created_at=began, updated_at=began)
        changes: list[Change] = [PutConversation(conversation)]
        for m in range(count):
            said = chance.choices(words, weights, k=chance.randint(4, 24))
            if chance.random() < 0.001:
                said += ["ferry", "harbour"]
            changes.append(PutEntry(_entry(of, began, m, " ".join(said))))
        await store.commit(changes)
    return longest


def _entry(of: str, began: datetime, number: int, said: str) -> Entry:
    return Entry(
        id=new_id(),
        conversation_id=of,
        user_id="ann",
        kind=Kind.ASSISTANT if number % 2 else Kind.USER,
        text=said,
        created_at=began + timedelta(milliseconds=100 * number),
        ordinal=began.timestamp() * 1000 + 100 * number,
    )


# --- The three questions ------------------------------------------------------------


async def _list(report: Report, name: str, store: SqlStore, reader: Reader) -> None:
    for offset in OFFSETS:

        async def ours(offset: int = offset) -> object:
            return await store.conversation_list(user_id="ann", limit=20, offset=offset)

        async def plain(offset: int = offset) -> object:
            return await reader.all(tuple, _asked(LIST), offset=offset)

        await _beside(report, f"list from {offset}, {name}", ours, plain)


async def _page(report: Report, name: str, store: SqlStore, reader: Reader, longest: str) -> None:
    everything = await store.entries(longest, user_id="ann")
    for depth in DEPTHS:
        before = everything[-depth].id if depth else None

        async def ours(before: str | None = before) -> object:
            return await store.messages_before(longest, user_id="ann", before=before, limit=100)

        async def plain(depth: int = depth) -> object:
            query = text(PAGE).columns(*messages.columns)
            return await reader.all(ENTRIES.record, query, id=longest, depth=depth)

        await _beside(report, f"page below {depth}, {name}", ours, plain)


async def _search(report: Report, name: str, store: SqlStore, reader: Reader) -> None:
    for query in QUERIES:
        words = query.split()
        like = " AND ".join(f"content LIKE :w{n}" for n in range(len(words)))
        given = {f"w{n}": f"%{word}%" for n, word in enumerate(words)}

        async def ours(query: str = query) -> object:
            return await store.search(query, user_id="ann", limit=20)

        async def plain(like: str = like, given: dict[str, str] = given) -> object:
            return await reader.all(tuple, _asked(LIKE.format(words=like)), **given)

        await _beside(report, f"search “{query}”, {name}", ours, plain)


Ask = Callable[[], Awaitable[object]]


def _asked(sql: str) -> TextualSelect:
    return text(sql).columns()


async def _beside(report: Report, name: str, ours: Ask, plain: Ask) -> None:
    """The two take turns. Once before it counts: what is read first is read from disk."""
    assert await ours()
    assert await plain()
    took: list[float] = []
    peer: list[float] = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await ours()
        took.append(time.perf_counter() - started)
        started = time.perf_counter()
        await plain()
        peer.append(time.perf_counter() - started)
    for label, at in (("p50", 50), ("p95", 95)):
        report(f"{name}, {label}", _percentile(took, at), _percentile(peer, at), "ms")


def _percentile(seconds: Sequence[float], at: int) -> float:
    return quantiles(seconds, n=100)[at - 1] * 1000


if __name__ == "__main__":
    from bench import report as line

    run(line)
