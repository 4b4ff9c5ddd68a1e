"""Making a database, bringing an older one to this version with its rows, refusing what we
do not know. One version is released, so the next one is made up here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, text, update

from tests.contract.records import (
    START,
    approval,
    at,
    conversation,
    delivery,
    entry,
    event,
    session,
    todo,
    uid,
)
from tests.store.stores import opened
from vivavoce.errors import Unavailable
from vivavoce.store import migrate
from vivavoce.store.database import parse
from vivavoce.store.limits import _COUNTED
from vivavoce.store.schema import events, log_head, metadata, versions
from vivavoce.wire.records.talk import (
    Announce,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
    utc_now,
)
from vivavoce.wire.records.work import ApprovalStatus, AuditEnds, Json, Role

NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{revision}", "{before}", None, None


def upgrade() -> None:
    {does}
"""


@pytest.fixture
def empty() -> bool:
    return True


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = parse(url).migrator()
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


async def make_old(url: str) -> None:
    """A database as this version leaves it, with something said in it."""
    async with opened(url) as store:
        await store.commit([PutConversation(conversation(title="Plans")), PutEntry(entry("e"))])
        await store.commit([Announce(event())])


def publish_next(monkeypatch: pytest.MonkeyPatch, folder: Path, does: str) -> None:
    """A version of Vivavoce with one migration more."""
    ours = Path(migrate.__file__).parent / "migrations"
    scripts = copytree(ours, folder / "migrations", ignore=ignore_patterns("__pycache__"))
    revision, before = f"{int(migrate.HEAD) + 1:04}", migrate.HEAD
    script = NEXT.format(does=does, revision=revision, before=before)
    (scripts / "versions" / f"v{revision}_next.py").write_text(script)
    monkeypatch.setattr(migrate, "SCRIPTS", str(scripts))
    monkeypatch.setattr(migrate, "REVISIONS", (*migrate.REVISIONS, revision))
    monkeypatch.setattr(migrate, "HEAD", revision)


MOOD = 'op.add_column("conversations", sa.Column("mood", sa.Text, server_default="calm"))'


async def test_a_database_of_the_version_before_is_upgraded_with_its_rows(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await make_old(url)
    publish_next(monkeypatch, tmp_path, MOOD)
    async with opened(url) as store:
        assert await store.conversation(uid("c"), user_id="ann") == conversation(title="Plans")
        assert await store.entries(uid("c"), user_id="ann") == [entry("e")]
        (hit,) = await store.search("e", user_id="ann")
        assert hit.message_id == uid("e")
        (placed,) = await store.commit([Announce(event())])
        assert placed.position == 2
    with connected(url) as connection:
        assert migrate.current(connection) == migrate.HEAD
        assert connection.execute(text("SELECT mood FROM conversations")).scalars().all() == [
            "calm"
        ]


_NEWER = ("one_time_keys", "push_messages", "push_subscriptions")
"""Tables that came after 0016."""


async def test_what_the_first_release_stored_is_kept_and_counted(url: str) -> None:
    """As 0005 left it: nobody knew who asked, how far a yes went, or how much a user has."""
    await make_old(url)
    async with opened(url) as store:
        await store.commit([Put(approval("a")), Put(delivery()), Put(todo(scheduled_at=at(60)))])
    with connected(url) as connection:
        before = connection.execute(text("SELECT user_id, bytes FROM stored")).all()
        for counted in _COUNTED:
            _drop_counting(connection, counted.name)
        for written in ("users", "goals", "tasks"):
            connection.execute(text(f"ALTER TABLE {written} DROP COLUMN role"))
        _drop_what_is_due(connection)
        connection.execute(text("DROP INDEX idx_approvals_reach"))
        for name in ("asked_by", "because", "reach", "revoked_at", "role"):
            connection.execute(text(f"ALTER TABLE approvals DROP COLUMN {name}"))
        for table in ("delegated_tasks", "voice_sessions"):
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN role"))
        for held in ("voice_sessions", "delegated_tasks", "approvals"):
            for name in ("owner", "epoch"):
                connection.execute(text(f"ALTER TABLE {held} DROP COLUMN {name}"))
        connection.execute(text("ALTER TABLE conversations DROP COLUMN gist"))
        added = ("audit", "audit_head", "access_tokens", "stored", "instances", "asks")
        for gone in (*added, "recordings", *_NEWER):
            connection.execute(text(f"DROP TABLE {gone}"))
        connection.execute(update(versions).values(version_num="0005"))
    async with opened(url) as store:
        assert await store.approval("a", user_id="ann") == approval("a", role="user")
        assert await store.audit_ends() == AuditEnds()
        lasting = approval("b", status=ApprovalStatus.GRANTED, reach="always", asked_by="a task")
        await store.commit([Put(lasting)])
        assert await store.standing_approvals(user_id="ann") == [lasting]
        # What came due before anybody was told of such things is not told now.
        (watch,) = await store.to_look_at(before=utc_now(), limit=9)
        assert watch.todo == todo(scheduled_at=at(60))
        assert watch.noted_until > at(60)
        await store.commit([Put(delivery("dl_due", action="due"))])
        assert await store.deliveries("i") == [delivery(), delivery("dl_due", action="due")]
    with connected(url) as connection:
        assert connection.execute(text("SELECT user_id, bytes FROM stored")).all() == before != []
        context = MigrationContext.configure(connection, opts={"include_object": in_the_schema})
        assert compare_metadata(context, metadata) == []


async def test_a_session_of_before_keeps_the_role_that_its_metadata_had(url: str) -> None:
    """As 0013 left it."""
    custom = {"role": "operator", "options": {"role": "operator"}}
    before: dict[str, tuple[Json, Role]] = {
        "vs_user": ({"options": {"role": "user", "text": True}}, "user"),
        "vs_developer": ({"options": {"role": "developer"}, "custom": custom}, "developer"),
        "vs_operator": ({"options": {"role": "operator"}}, "operator"),
        "vs_first": ({}, "operator"),  # before there were roles
        "vs_odd": ({"options": {"role": ["operator"]}}, "user"),
    }
    await make_old(url)
    async with opened(url) as store:
        old = [session(name, metadata=told) for name, (told, _) in before.items()]
        await store.commit([PutSession(one, new=True) for one in old])
    with connected(url) as connection:
        for table in ("voice_sessions", "users", "goals", "tasks"):
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN role"))
        for table in ("goals", "milestones", "tasks"):
            _drop_counting(connection, table)
        for newer in _NEWER:
            connection.execute(text(f"DROP TABLE {newer}"))
        connection.execute(update(versions).values(version_num="0013"))
    async with opened(url) as store:
        for name, (told, role) in before.items():
            kept = await store.session(name, user_id="ann")
            assert kept is not None
            rest = {**told}
            if "options" in told:
                rest["options"] = {k: v for k, v in told["options"].items() if k != "role"}
            assert (kept.role, kept.metadata) == (role, rest)
    with connected(url) as connection:
        context = MigrationContext.configure(connection, opts={"include_object": in_the_schema})
        assert compare_metadata(context, metadata) == []


def _drop_what_is_due(connection: Connection) -> None:
    connection.execute(text("DROP TABLE reminders"))
    connection.execute(text("DROP INDEX idx_tasks_look"))
    for name in ("look_at", "noted_until"):
        connection.execute(text(f"ALTER TABLE tasks DROP COLUMN {name}"))
    if connection.dialect.name == "postgresql":
        connection.execute(text("ALTER TABLE outbox DROP CONSTRAINT outbox_action_check"))
        old = "CHECK (action IN ('submit', 'amend', 'retract'))"
        connection.execute(text(f"ALTER TABLE outbox ADD CONSTRAINT outbox_action_check {old}"))
        return
    made = "SELECT sql FROM sqlite_master WHERE tbl_name = 'outbox' AND sql IS NOT NULL"
    table, *indexes = connection.execute(text(made)).scalars().all()
    connection.execute(text("ALTER TABLE outbox RENAME TO newer"))
    connection.execute(text(table.replace(", 'due'", "")))
    connection.execute(text("INSERT INTO outbox SELECT * FROM newer"))
    connection.execute(text("DROP TABLE newer"))
    for index in indexes:
        connection.execute(text(index))


def _drop_counting(connection: Connection, table: str) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"DROP FUNCTION vivavoce_stored_{table}() CASCADE"))
        return
    for name in ("stored", "stored_anew", "not_stored"):
        connection.execute(text(f"DROP TRIGGER {table}_{name}"))


async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await make_old(url)
    with monkeypatch.context() as newer:
        publish_next(newer, tmp_path, f"{MOOD}; op.execute('SELECT nothing FROM nowhere')")
        with pytest.raises(Unavailable):
            async with opened(url):
                pass
    async with opened(url) as store:
        assert await store.entries(uid("c"), user_id="ann") == [entry("e")]
    with connected(url) as connection:
        columns = {column["name"] for column in inspect(connection).get_columns("conversations")}
        assert "mood" not in columns


async def test_a_migration_that_leaves_rows_pointing_nowhere_is_undone(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Foreign keys are off while tables are rebuilt."""
    await make_old(sqlite_url)
    with monkeypatch.context() as newer:
        publish_next(newer, tmp_path, 'op.execute("DELETE FROM conversations")')
        with pytest.raises(Unavailable, match="would break references"):
            async with opened(sqlite_url):
                pass
    async with opened(sqlite_url) as store:
        assert await store.entries(uid("c"), user_id="ann") == [entry("e")]


async def test_a_new_database_has_the_schema(url: str) -> None:
    async with opened(url):
        pass
    with connected(url) as connection:
        context = MigrationContext.configure(connection, opts={"include_object": in_the_schema})
        assert compare_metadata(context, metadata) == []


def in_the_schema(thing: object, name: str | None, kind: str, *rest: object) -> bool:
    """`search.py` makes what only one of the databases has."""
    return "words" not in str(name) and name not in ("message_numbers", "idx_messages_recent")


def test_the_code_knows_every_migration() -> None:
    config = Config()
    config.set_main_option("script_location", migrate.SCRIPTS)
    scripts = ScriptDirectory.from_config(config)
    newest_first = [script.revision for script in scripts.walk_revisions()]
    assert tuple(reversed(newest_first)) == migrate.REVISIONS


@pytest.mark.parametrize(
    ("found", "why"),
    [("0099", "newer than this Vivavoce.*0099"), ("0003", "was never released.*0003")],
)
async def test_a_database_that_we_do_not_know_is_refused_and_left_alone(
    url: str, found: str, why: str
) -> None:
    await make_old(url)
    with connected(url) as connection:
        connection.execute(update(versions).values(version_num=found))
    with pytest.raises(Unavailable, match=why):
        async with opened(url):
            pass
    with connected(url) as connection:
        assert migrate.current(connection) == found
        assert connection.execute(select(events.c.created_at)).scalars().all() == [START]


async def test_a_database_with_tables_of_others_is_refused(url: str) -> None:
    with connected(url) as connection:
        connection.execute(text("CREATE TABLE messages (id INTEGER)"))
    with pytest.raises(Unavailable, match="tables of its own named messages"):
        async with opened(url):
            pass


@pytest.mark.parametrize("old", [False, True])
async def test_processes_that_open_one_database_at_once_do_not_race(
    url: str, old: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if old:
        await make_old(url)
        publish_next(monkeypatch, tmp_path, MOOD)
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
