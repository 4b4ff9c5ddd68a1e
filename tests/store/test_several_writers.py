"""Several processes on one PostgreSQL: nobody skips a position, everybody hears of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest
from sqlalchemy import Connection, event, make_url

from tests.contract.postgres import server_url
from tests.contract.records import conversation, entry, session, uid
from tests.contract.records import event as happened
from tests.faults.proxy import Fault, Kind, TcpProxy, to_socket
from tests.store.stores import opened, until
from vivavoce.errors import Conflict, Unavailable
from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.journal.log import Journal
from vivavoce.store import SqlStore
from vivavoce.store import database as databases
from vivavoce.store.changes import plan
from vivavoce.store.database import parse
from vivavoce.store.migrate import prepare
from vivavoce.store.transaction import Performer
from vivavoce.store.writer import Writer
from vivavoce.wire.records.talk import Announce, PutConversation, PutEntry, PutSession


async def test_a_reader_that_tails_the_log_sees_every_position_once_in_order(
    postgres_url: str,
) -> None:
    each, committers = 60, 4
    total = 2 * each * committers
    seen: list[int] = []

    async def write(store: SqlStore) -> None:
        for n in range(each):
            await store.commit([Announce(happened(f"t{n}"))])

    async def tail(store: SqlStore) -> None:
        while len(seen) < total:
            after = seen[-1] if seen else 0
            seen.extend(e.position for e in await store.events(after=after, limit=17))

    async with (
        opened(postgres_url) as one,
        opened(postgres_url) as two,
        opened(postgres_url) as reader,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        group.create_task(tail(reader))
        for store in (one, two):
            for _ in range(committers):
                group.create_task(write(store))
    assert seen == list(range(1, total + 1))


async def test_two_processes_never_share_a_session_id(url: str) -> None:
    async with opened(url) as one, opened(url) as two:
        await one.commit([PutConversation(conversation())])
        results = await asyncio.gather(
            *(
                store.commit([PutSession(session(f"vs_{n}"), new=True)])
                for n in range(20)
                for store in (one, two)
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Conflict) for result in results) == 20
        assert sum(result == [] for result in results) == 20
        assert await two.session_totals() == (20, 0.0)


async def test_writers_that_touch_the_same_rows_do_not_deadlock(url: str) -> None:
    names = [f"e{n}" for n in range(6)]
    async with opened(url) as one, opened(url) as two:
        await one.commit([PutConversation(conversation())])
        for _ in range(20):
            await asyncio.gather(
                one.commit([PutEntry(entry(name)) for name in names]),
                two.commit([PutEntry(entry(name)) for name in reversed(names)]),
            )
        assert len(await one.entries(uid("c"), user_id="ann")) == len(names)


async def test_a_commit_elsewhere_wakes_and_our_own_does_not(postgres_url: str) -> None:
    async with opened(postgres_url) as ours, opened(postgres_url) as theirs:
        woken = 0

        async def listen() -> None:
            nonlocal woken
            async for _ in ours.foreign_commits():
                woken += 1

        async def heard_more_than(count: int) -> None:
            async def more() -> bool:
                return woken > count

            await until(more)

        async with asyncio.TaskGroup() as group:
            listener = group.create_task(listen())
            await heard_more_than(0)  # it listens now
            await theirs.commit([Announce(happened())])
            await heard_more_than(1)
            before = woken
            await ours.commit([Announce(happened())])
            # Notifications come in the order of commits: were ours heard, it came before this.
            await theirs.commit([Announce(happened())])
            await heard_more_than(before)
            assert woken == before + 1
            listener.cancel()


def _end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


async def test_the_listener_comes_back_after_a_loss(postgres_url: str) -> None:
    async with opened(postgres_url, poll=0.05) as ours, opened(postgres_url) as theirs:
        commits = ours.foreign_commits()
        async with asyncio.timeout(30):
            await anext(commits)
            await asyncio.to_thread(_end_connections, postgres_url)
            await anext(commits)  # it is back
            await theirs.commit([Announce(happened())])
            await anext(commits)


async def test_reads_and_writes_survive_a_lost_connection(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await store.commit([PutConversation(conversation())])
        await asyncio.gather(*(store.log_bounds() for _ in range(8)))
        await asyncio.to_thread(_end_connections, postgres_url)
        await asyncio.gather(*(store.log_bounds() for _ in range(8)))

        # Whoever meets the dead connection, alone or with others, is written once.
        await asyncio.to_thread(_end_connections, postgres_url)
        await store.commit([Announce(happened())])
        await asyncio.to_thread(_end_connections, postgres_url)
        await asyncio.gather(*(store.commit([Announce(happened())]) for _ in range(10)))
        assert (await store.log_bounds()).latest == 11


async def test_a_commit_with_an_unknown_end_is_not_repeated(postgres_url: str) -> None:
    database = parse(postgres_url)
    await asyncio.to_thread(prepare, database)
    engine = database.writer()
    writer = Writer(engine, Performer(database.dialect, "test"))

    cuts: list[Connection] = []

    def cut(connection: Connection) -> None:
        if not cuts:
            cuts.append(connection)
            _end_connections(postgres_url)

    event.listen(engine, "commit", cut)
    announced = plan([Announce(happened())])
    results = await asyncio.gather(
        *(writer.commit(announced) for _ in range(5)), return_exceptions=True
    )
    unknown = [result for result in results if isinstance(result, Unavailable)]
    assert unknown
    assert "not known" in str(unknown[0])
    await writer.close()
    engine.dispose()
    async with opened(postgres_url) as store:
        assert (await store.log_bounds()).latest == len(results) - len(unknown)


async def test_a_store_that_cannot_be_reached_says_so(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await store.commit([Announce(happened())])
        name = make_url(postgres_url).database
        with psycopg.connect(server_url(), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            results = await asyncio.gather(
                *(store.commit([Announce(happened())]) for _ in range(5)),
                store.log_bounds(),
                return_exceptions=True,
            )
            assert all(isinstance(result, Unavailable) for result in results)
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        (placed,) = await store.commit([Announce(happened())])
        assert placed.position == 2


async def test_a_database_that_does_not_answer_is_given_up_and_asked_anew(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(databases, "CONNECT_SECONDS", 1)
    async with _behind_a_proxy(postgres_url) as (store, proxy):
        await store.commit([Announce(happened())])
        proxy.arm(Fault("half", "up", seconds=0.0))
        async with asyncio.timeout(30):
            await store.commit([Announce(happened())])
        proxy.arm(Fault("half", "down", seconds=0.0))
        async with asyncio.timeout(30):  # a read may be repeated
            assert (await store.log_bounds()).latest == 2


@pytest.mark.parametrize("kind", ["cut", "reset"])
async def test_a_database_that_is_away_for_a_moment_is_waited_for(
    postgres_url: str, kind: Kind
) -> None:
    """By one who writes, by many, and by who reads: each is written once."""
    async with _behind_a_proxy(postgres_url) as (store, proxy):
        await store.commit([Announce(happened())])
        for many in (1, 10):
            proxy.arm(Fault(kind, "up", seconds=0.4, all=True))
            await asyncio.gather(*(store.commit([Announce(happened())]) for _ in range(many)))
        proxy.arm(Fault(kind, "up", seconds=0.4, all=True))
        assert (await store.log_bounds()).latest == 12


async def test_a_commit_that_arrives_after_its_line_is_dead_is_told_once(postgres_url: str) -> None:
    """Whoever asks at once would not see it yet, and write it again."""
    async with _behind_a_proxy(postgres_url) as (store, proxy):
        journal = Journal(store, SystemClock())
        await journal.open()
        await journal.commit([Announce(happened())])
        for chunk in range(8):  # one of them is the commit
            proxy.arm(Fault("late", "up", after=chunk, seconds=0.2))
            try:
                await journal.commit([Announce(happened())])
            except Unavailable:
                proxy.heal()
                await journal.commit([Announce(happened())])
            proxy.heal()
        assert (await store.log_bounds()).latest == 9


@asynccontextmanager
async def _behind_a_proxy(url: str) -> AsyncIterator[tuple[SqlStore, TcpProxy]]:
    where = make_url(url)
    proxy = TcpProxy(to_socket(f"{where.query['host']}/.s.PGSQL.5432"))
    async with proxy.running():
        through = where.set(host="127.0.0.1", port=proxy.port, query={})
        async with opened(through.render_as_string(hide_password=False)) as store:
            yield store, proxy
