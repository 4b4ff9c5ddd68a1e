"""Row-level security on a real PostgreSQL, as two plain roles see it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from tests.contract.postgres import server_url
from tests.contract.records import (
    approval,
    at,
    call,
    conversation,
    delivery,
    entry,
    event,
    goal,
    intent,
    milestone,
    person,
    reminder,
    session,
    snapshot,
    task,
    todo,
    uid,
)
from tests.store.stores import opened
from vivavoce.store import migrate
from vivavoce.store.schema import metadata
from vivavoce.wire.records.plans import AccessToken
from vivavoce.wire.records.talk import Announce, Change, Put, PutConversation, PutEntry, PutSession

ANN, BOB = uid("user ann"), uid("user bob")  # Supabase's users are UUIDs
ROLES = ("vivavoce_test_ann", "vivavoce_test_bob")

# As Supabase has it, in short.
STAND_IN = """
CREATE SCHEMA auth;
CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS
$$ SELECT (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$;
GRANT USAGE ON SCHEMA auth TO PUBLIC;
"""


def of(user: str, name: str) -> list[Change]:
    """Something of everything."""
    mine = {"user_id": user}
    thread = {"user_id": user, "conversation_id": uid(name)}
    return [
        Put(person(user)),
        PutConversation(conversation(name, **mine)),
        PutSession(session(f"vs_{name}", name, **mine), new=True),
        PutEntry(entry(f"e {name}", name, **mine)),
        Put(call(f"call_{name}", **thread)),
        Put(snapshot(f"vs_{name}", **mine)),
        Put(task(f"t_{name}", **thread)),
        Put(approval(f"a_{name}", **thread)),
        Put(goal(f"g {name}", **thread)),
        Put(milestone(f"m_{name}", f"g {name}", **mine)),
        Put(todo(f"td {name}", **thread)),
        Put(reminder(f"r {name}", f"td {name}", **mine)),
        Put(intent(f"i_{name}", name, **mine)),
        Put(delivery(f"d_{name}", f"i_{name}", **mine)),
        Announce(event(**mine)),
    ]


@pytest.fixture
def empty() -> bool:
    return True


@pytest.fixture
def roles() -> Iterator[None]:
    with psycopg.connect(server_url(), autocommit=True) as connection:
        for role in ROLES:
            connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
        yield
        for role in ROLES:
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@contextmanager
def owner(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def grant(url: str) -> None:
    """What Supabase grants by itself: everything, and row-level security is what is left."""
    with owner(url) as connection:
        for role in ROLES:
            to = sql.Identifier(role)
            everything = sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA public TO {}")
            connection.execute(everything.format(to))


@contextmanager
def acting(url: str, role: str, user: str | None) -> Iterator[psycopg.Connection[Any]]:
    """A connection as PostgREST has it: a plain role, and whose token it is."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        claims = "" if user is None else json.dumps({"sub": user, "role": "authenticated"})
        connection.execute("SELECT set_config('request.jwt.claims', %s, false)", (claims,))
        yield connection
        connection.execute("RESET ROLE")


@contextmanager
def ungranted(url: str) -> Iterator[None]:
    """Roles outlive the database of a test; what they were granted must not."""
    try:
        yield
    finally:
        with owner(url) as connection:
            for role in ROLES:
                connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))


@pytest.mark.parametrize("supabase", [True, False])
async def test_each_sees_and_writes_only_what_is_theirs(
    postgres_url: str, roles: None, supabase: bool
) -> None:
    if supabase:
        with owner(postgres_url) as connection:
            connection.execute(STAND_IN)
    async with opened(postgres_url) as store:
        token = AccessToken(name="ops", digest="d", role="operator", created_at=at(0))
        await store.commit([*of(ANN, "ann"), *of(BOB, "bob"), Put(token)])
        grant(postgres_url)
        with ungranted(postgres_url):
            for (role, user), other in zip(
                [(ROLES[0], ANN), (ROLES[1], BOB)], (BOB, ANN), strict=True
            ):
                with acting(postgres_url, role, user) as connection:
                    sees_only_its_own(connection, user)
                    writes_only_its_own(connection, user, other)
            with acting(postgres_url, ROLES[0], None) as connection:
                for table in migrate.ACCESS:
                    assert rows(connection, table) == []
        # The server is not restricted, and nothing of the others is lost.
        assert await store.entries(uid("bob"), user_id=BOB) == [
            entry("e bob", "bob", user_id=BOB, text="mine")
        ]
        assert len(await store.deliveries("i_ann")) == 1
        assert await store.goal(uid("g ann"), user_id=ANN) is not None


OF_NOBODY = {
    **dict.fromkeys(("log_head", "audit_head"), "id"),
    "alembic_version": "version_num",
    **dict.fromkeys(("access_tokens", "instances"), "name"),
}


def rows(connection: psycopg.Connection[Any], table: str) -> list[str]:
    """Whose rows are seen."""
    column = {"users": "id", **OF_NOBODY}
    query = sql.SQL("SELECT {}::text FROM {}").format(
        sql.Identifier(column.get(table, "user_id")), sql.Identifier(table)
    )
    return [value for (value,) in connection.execute(query)]


def sees_only_its_own(connection: psycopg.Connection[Any], user: str) -> None:
    for table, commands in migrate.ACCESS.items():
        assert rows(connection, table) == ([user] if "select" in commands else []), table


def writes_only_its_own(connection: psycopg.Connection[Any], user: str, other: str) -> None:
    """`other` never loses, changes or gains a row."""
    for table, commands in migrate.ACCESS.items():
        if table in OF_NOBODY:
            count = connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
            assert count.rowcount == 0, table
            continue
        key = sql.Identifier("id" if table == "users" else "user_id")
        name = sql.Identifier(table)
        for whose, expected in ((other, 0), (user, 1 if "update" in commands else 0)):
            update = sql.SQL("UPDATE {} SET {} = {} WHERE {} = %s").format(name, key, key, key)
            assert connection.execute(update, (whose,)).rowcount == expected, table
        if "update" in commands:
            give = sql.SQL("UPDATE {} SET {} = %s").format(name, key)
            with pytest.raises(InsufficientPrivilege):
                connection.execute(give, (other,))
        delete = sql.SQL("DELETE FROM {} WHERE {} = %s").format(name, key)
        assert connection.execute(delete, (other,)).rowcount == 0, table
        if "delete" not in commands:
            assert connection.execute(delete, (user,)).rowcount == 0, table
    connection.execute("UPDATE messages SET content = 'mine'")
    insert = (
        "INSERT INTO messages (id, conversation_id, user_id, role, content, created_at)"
        " VALUES (gen_random_uuid(), %s, %s, 'user', 'x', now())"
    )
    mine, theirs = (uid("ann"), uid("bob")) if user == ANN else (uid("bob"), uid("ann"))
    with pytest.raises(InsufficientPrivilege):
        connection.execute(insert, (theirs, other))
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute(insert, (theirs, user))
    connection.execute(insert, (mine, user))
    assert len(rows(connection, "messages")) == 2
    assert connection.execute("DELETE FROM messages WHERE content = 'x'").rowcount == 1
    with pytest.raises(InsufficientPrivilege):
        connection.execute("INSERT INTO log_head (id, position) VALUES (1, 9)")


async def test_who_comes_past_the_server_need_not_say_whose_and_when(
    postgres_url: str, roles: None
) -> None:
    """As seed 004 §8 has it: the database fills in what a client leaves out."""
    async with opened(postgres_url) as store:
        grant(postgres_url)
        with ungranted(postgres_url), acting(postgres_url, ROLES[0], ANN) as connection:
            connection.execute("INSERT INTO users (name) VALUES ('Ann')")
            one = "INSERT INTO conversations (title) VALUES ('Mine') RETURNING id::text"
            ((made,),) = connection.execute(one).fetchall()
            say = "INSERT INTO messages (conversation_id, role, content) VALUES (%s, 'user', %s)"
            connection.execute(say, (made, "first"))
            connection.execute(say, (made, "second"))
            wish = "INSERT INTO goals (statement) VALUES ('Swim') RETURNING id"
            ((wanted,),) = connection.execute(wish).fetchall()
            step = "INSERT INTO milestones (goal_id, title, position) VALUES (%s, 'Float', 0)"
            connection.execute(step, (wanted,))
            connection.execute("INSERT INTO tasks (title, trigger_type) VALUES ('Go', 'time')")
        somebody = await store.person(ANN)
        assert somebody is not None
        assert somebody.name == "Ann"
        await store.commit([PutConversation(conversation("later", user_id=ANN))])
        listed, _ = await store.conversation_list(user_id=ANN)
        assert [each.title for each in listed] == ["Mine", None]  # by its time, not for want of one
        entries = await store.entries(made, user_id=ANN)
        assert [each.text for each in entries] == ["first", "second"]
        assert entries[0].ordinal > 1e12
        assert len(await store.goals(user_id=ANN)) == len(await store.todos(user_id=ANN)) == 1


async def test_nobody_empties_a_table_whatever_the_database_grants_by_itself(
    postgres_url: str, roles: None
) -> None:
    """Policies do not bind TRUNCATE, and Supabase grants it with every new table."""
    with owner(postgres_url) as connection:
        for role in ROLES:
            by_itself = sql.SQL("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {}")
            connection.execute(by_itself.format(sql.Identifier(role)))
    with ungranted(postgres_url):
        async with opened(postgres_url) as store:
            await store.commit(of(ANN, "ann"))
            with acting(postgres_url, ROLES[0], BOB) as connection:
                for table in migrate.ACCESS:
                    empty = sql.SQL("TRUNCATE {} CASCADE").format(sql.Identifier(table))
                    with pytest.raises(InsufficientPrivilege):
                        connection.execute(empty)
                assert rows(connection, "messages") == []  # the rest of the grants is there
            assert len(await store.entries(uid("ann"), user_id=ANN)) == 1


def test_it_is_said_of_every_table_who_may_what() -> None:
    assert set(migrate.ACCESS) == {*metadata.tables, "alembic_version"}
