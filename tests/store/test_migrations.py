"""From every version to this one, on both databases, with the rows intact."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, Table, inspect, select, text, update

from tests.contract.records import (
    START,
    approval,
    call,
    conversation,
    entry,
    event,
    goal,
    session,
    snapshot,
    task,
    todo,
    uid,
)
from tests.store.stores import opened
from vivavoce.errors import Unavailable
from vivavoce.store import migrate, search
from vivavoce.store.codec import talk
from vivavoce.store.codec.work import task_row
from vivavoce.store.database import parse
from vivavoce.store.schema.talk import (
    conversations,
    events,
    log_head,
    messages,
    metadata,
    tool_calls,
    versions,
    voice_sessions,
)
from vivavoce.store.schema.work import approvals, delegated_tasks
from vivavoce.wire.records.talk import (
    Announce,
    CallStatus,
    DropConversation,
    Kind,
    PutApproval,
    PutConversation,
    PutEntry,
    PutGoal,
    PutSession,
    PutSnapshot,
    PutTask,
    PutTodo,
    PutToolCall,
)

OLD_CALL = call(
    "call_1",
    conversation_id=uid("c"),
    origin="webhook",
    arguments={"zone": "UTC"},
    truncated=True,
    status=CallStatus.FAILED,
    finished_at=START,
    duration_ms=7,
)


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = parse(url).migrator()
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def old_database(url: str) -> None:
    """As the first version left it, with something of everything."""
    called = entry(
        "f", kind=Kind.TOOL_CALL, data={"call_id": "x"}, created_at=START.replace(second=40)
    )
    with connected(url) as connection:
        migrate.move(connection, "0001")

        def put(table: Table, row: dict[str, Any]) -> None:
            there = {column["name"] for column in inspect(connection).get_columns(table.name)}
            known = {name: value for name, value in row.items() if name in there}
            connection.execute(table.insert().values(**known))

        put(conversations, talk.conversation_row(conversation(title="Plans")))
        put(voice_sessions, talk.session_row(session()))
        put(tool_calls, talk.call_row(OLD_CALL))
        for each in (called, entry("e")):
            put(messages, talk.entry_row(each))
        put(events, talk.event_row(event()) | {"position": 7})
        connection.execute(update(log_head).values(position=7))


async def test_a_database_of_the_previous_version_is_upgraded_with_its_rows(url: str) -> None:
    old_database(url)
    async with opened(url) as store:
        assert await store.conversation(uid("c"), user_id="ann") == conversation(title="Plans")
        assert await store.session("vs_1", user_id="ann") == session()
        entries = await store.entries(uid("c"), user_id="ann")
        assert [(each.text, each.kind, each.data) for each in entries] == [
            ("e", Kind.USER, {}),
            ("f", Kind.TOOL_CALL, {"call_id": "x"}),
        ]
        for each in entries:
            # SQLite's own arithmetic knows milliseconds, PostgreSQL's microseconds.
            assert each.ordinal == pytest.approx(each.created_at.timestamp() * 1000, abs=1)
        assert await store.tool_call("call_1", user_id="ann") == OLD_CALL
        by_task = call("call_2", origin="task", conversation_id=uid("c"))
        given = task(conversation_id=uid("c"))
        (placed,) = await store.commit(
            [
                PutSnapshot(snapshot()),
                PutEntry(entry("g")),
                PutToolCall(by_task),
                PutTask(given),
                PutApproval(approval()),
                Announce(event()),
            ]
        )
        assert placed.position == 8
        assert await store.snapshot("vs_1", user_id="ann") == snapshot()
        assert await store.tool_call("call_2", user_id="ann") == by_task
        assert await store.task("t", user_id="ann") == given
        assert await store.approval("a", user_id="ann") == approval()


def test_the_migrations_lead_to_the_schema(url: str) -> None:
    with connected(url) as connection:
        migrate.move(connection, migrate.HEAD)
        context = MigrationContext.configure(connection, opts={"include_object": not_of_the_search})
        assert compare_metadata(context, metadata) == []
        by_migration = constraints(connection)
        migrate.move(connection, "base")
        versions.drop(connection)
        assert not metadata.tables.keys() & set(inspect(connection).get_table_names())
    migrate.prepare(parse(url))
    with connected(url) as connection:
        assert constraints(connection) == by_migration


def not_of_the_search(thing: object, name: str | None, *rest: object) -> bool:
    """`search.py` makes what only one of the databases has."""
    return not search.ours(name)


def constraints(connection: Connection) -> dict[str, list[Any]]:
    """What Alembic does not compare."""
    found = inspect(connection)
    return {
        table: [
            sorted((c["name"] or "", c["sqltext"]) for c in found.get_check_constraints(table)),
            sorted(str(c) for c in found.get_unique_constraints(table)),
            sorted(str(c) for c in found.get_foreign_keys(table)),
            sorted((c["name"], str(c["default"])) for c in found.get_columns(table)),
        ]
        for table in metadata.tables
    }


async def test_going_back_keeps_what_the_older_version_knows(url: str) -> None:
    old_database(url)
    with connected(url) as connection:
        migrate.move(connection, "0002")
    with connected(url) as connection:
        migrate.move(connection, "0001")
        assert migrate.current(connection) == "0001"
        columns = {column["name"] for column in inspect(connection).get_columns("messages")}
        assert "ordinal" not in columns
        assert not inspect(connection).has_table("snapshots")
        assert len(connection.execute(select(messages.c.id)).all()) == 2
    async with opened(url) as store:
        assert len(await store.entries(uid("c"), user_id="ann")) == 2


async def test_going_back_makes_calls_of_tasks_calls_of_the_model(url: str) -> None:
    by_task = call("call_1", origin="task", arguments={"a": 1})
    async with opened(url) as store:
        await store.commit([PutToolCall(by_task), PutTask(task())])
    with connected(url) as connection:
        migrate.move(connection, "0002")
        tables = set(inspect(connection).get_table_names())
        assert not tables & {"tasks", "delegated_tasks", "approvals"}
    async with opened(url) as store:
        found = await store.tool_call("call_1", user_id="ann")
        assert found == call("call_1", origin="model", arguments={"a": 1})
        assert await store.tasks(user_id="ann") == []


async def test_delegated_work_moves_to_its_own_table_and_back(url: str) -> None:
    """From the version before, where it was in `tasks`, and to it."""
    old_database(url)
    given = task(
        conversation_id=uid("c"), title="T", files_changed=("a", "b"), told_at=START, percentage=3
    )
    asked = approval(conversation_id=uid("c"))
    before = delegated_tasks.to_metadata(MetaData(), name="tasks")
    with connected(url) as connection:
        migrate.move(connection, "0003")
        connection.execute(before.insert().values(**task_row(given)))
    for _ in range(2):
        async with opened(url) as store:
            assert await store.task("t", user_id="ann") == given
            assert await store.conversation(uid("c"), user_id="ann") == conversation(title="Plans")
            await store.commit([PutApproval(asked), PutGoal(goal(conversation_id=uid("c")))])
            linked = conversation(linked_goal_id=uid("g"))
            await store.commit([PutConversation(linked)])
        with connected(url) as connection:
            migrate.move(connection, "0003")
            (row,) = connection.execute(select(before))
            assert (row.id, row.conversation_id, row.percentage) == ("t", uid("c"), 3)
            tables = set(inspect(connection).get_table_names())
            assert not tables & {"delegated_tasks", "goals", "users", "outbox", search.INDEX}
            assert connection.execute(select(approvals.c.id)).scalars().all() == ["a"]


async def test_words_and_times_are_put_right_and_the_older_version_gets_its_words_back(
    url: str,
) -> None:
    silent = entry("s", text="", data={"item_id": "x"})
    thing = todo(recurs_from=START, moved_from=START, scheduled_at=START)
    ended = session("vs_2", ended_at=START.replace(minute=32))
    async with opened(url) as store:
        await store.commit([PutConversation(conversation()), PutSession(ended), PutTodo(thing)])
        await store.commit([PutEntry(silent), PutEntry(entry("t", text="", modality="text"))])
        await store.commit([PutConversation(conversation("gone")), Announce(event())])
        await store.commit([DropConversation(uid("gone"), "ann")])
    with connected(url) as connection:
        migrate.move(connection, "0004")
        said = select(messages.c.content, messages.c.metadata).order_by(messages.c.id)
        assert sorted(connection.execute(said).all(), key=str) == [
            ("", {"item_id": "x"}),
            ("", {}),
        ]
        columns = {column["name"] for column in inspect(connection).get_columns("tasks")}
        assert not columns & {"recurs_from", "moved_from"}
        connection.execute(update(conversations).values(duration_seconds=86400))
    async with opened(url) as store:
        found = await store.todo(uid("td"), user_id="ann")
        assert found == todo(scheduled_at=START)
        assert silent in await store.entries(uid("c"), user_id="ann")
        (hit,) = await store.search("inaudible", user_id="ann")
        assert hit.message_id == silent.id
    with connected(url) as connection:
        took = select(conversations.c.duration_seconds).where(conversations.c.id == uid("c"))
        assert connection.execute(took).scalar_one() == 120


async def test_what_was_said_before_is_listed_and_found(url: str) -> None:
    old_database(url)
    async with opened(url) as store:
        ((shown,), total) = await store.conversation_list(user_id="ann")
        assert (shown.preview, shown.messages, shown.last_message_at, total) == ("e", 1, START, 1)
        (hit,) = await store.search("e", user_id="ann")
        assert hit.message_id == uid("e")
        assert (await store.spent(user_id="ann", since=START)).sessions == 1


def test_the_code_knows_every_migration() -> None:
    config = Config()
    config.set_main_option("script_location", "vivavoce.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    newest_first = [script.revision for script in scripts.walk_revisions()]
    assert tuple(reversed(newest_first)) == migrate.REVISIONS


async def test_a_database_from_the_future_is_refused_and_left_alone(url: str) -> None:
    async with opened(url):
        pass
    with connected(url) as connection:
        connection.execute(update(versions).values(version_num="0099"))
    with pytest.raises(Unavailable, match=r"newer than this Vivavoce.*0099"):
        async with opened(url):
            pass
    with connected(url) as connection:
        assert migrate.current(connection) == "0099"


async def test_a_database_with_tables_of_others_is_refused(url: str) -> None:
    with connected(url) as connection:
        connection.execute(text("CREATE TABLE messages (id INTEGER)"))
    with pytest.raises(Unavailable, match="tables of its own named messages"):
        async with opened(url):
            pass


@pytest.mark.parametrize("old", [False, True])
def test_processes_that_open_one_database_at_once_do_not_race(url: str, old: bool) -> None:
    if old:
        old_database(url)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: migrate.prepare(parse(url)), range(4)))
    with connected(url) as connection:
        assert migrate.current(connection) == migrate.HEAD
        assert len(connection.execute(select(log_head)).all()) == 1


def test_opening_loads_alembic_only_for_a_migration(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
from vivavoce.store import open_store

async def main():
    for _ in range(2):  # a fresh one, then one that is up to date
        store = open_store("sqlite:///{tmp_path}/new.db")
        await store.open()
        await store.close()

asyncio.run(main())
sys.exit("alembic" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
