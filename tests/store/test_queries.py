"""What lies on disk: what the keys do, and which way the queries go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, Select, Update, create_engine, select, text

from tests.contract.records import (
    approval,
    at,
    conversation,
    delivery,
    entry,
    goal,
    intent,
    milestone,
    session,
    task,
    todo,
    uid,
)
from tests.store.stores import opened
from vivavoce.store import limits, reads, retention, sql_store, transaction
from vivavoce.store.database import parse
from vivavoce.store.schema import conversations, goals, messages, stored, tasks
from vivavoce.wire.records.talk import Put, PutConversation, PutEntry, PutSession


async def test_what_is_deleted_by_hand_lets_go_of_what_outlives_it(url: str) -> None:
    wanted = goal(conversation_id=uid("c"))
    thing = todo(conversation_id=uid("c"), goal_id=uid("g"))
    linked = conversation(linked_goal_id=uid("g"), linked_task_id=uid("td"))
    async with opened(url) as store:
        await store.commit([PutConversation(linked), Put(wanted), Put(thing)])
        await store.commit([Put(intent()), Put(milestone())])
        engine = parse(url).writer()
        with engine.begin() as connection:
            connection.execute(goals.delete())
        assert await store.milestones([uid("g")], user_id="ann") == []
        found = await store.conversation(uid("c"), user_id="ann")
        assert found == replace(linked, linked_goal_id=None)
        assert await store.todo(uid("td"), user_id="ann") == replace(thing, goal_id=None)
        with engine.begin() as connection:
            connection.execute(conversations.delete())
        engine.dispose()
        assert await store.intents(user_id="ann") == []
        found_todo = await store.todo(uid("td"), user_id="ann")
        assert found_todo == replace(thing, goal_id=None, conversation_id=None)


async def test_a_conversation_deleted_by_hand_leaves_its_work(url: str) -> None:
    async with opened(url) as store:
        await store.commit(
            [
                PutConversation(conversation()),
                Put(task(conversation_id=uid("c"))),
                Put(approval(conversation_id=uid("c"))),
            ]
        )
        engine = parse(url).writer()
        with engine.begin() as connection:
            connection.execute(conversations.delete())
        engine.dispose()
        assert await store.conversation(uid("c"), user_id="ann") is None
        assert await store.task("t", user_id="ann") == task()
        assert await store.approval("a", user_id="ann") == approval()


async def test_the_table_says_what_nobody_could_make_out(url: str) -> None:
    silent = entry("1", text="", data={"item_id": "x"})
    async with opened(url) as store:
        await store.commit([PutConversation(conversation()), PutEntry(silent)])
        engine = parse(url).writer()
        with engine.begin() as connection:
            row = connection.execute(select(messages.c.content, messages.c.metadata)).one()
        assert tuple(row) == ("[inaudible]", {"item_id": "x", "inaudible": True})
        await store.commit([PutEntry(replace(silent, text="Hello"))])
        with engine.begin() as connection:
            row = connection.execute(select(messages.c.content, messages.c.metadata)).one()
        assert tuple(row) == ("Hello", {"item_id": "x"})
        engine.dispose()


async def test_a_conversation_took_as_long_as_its_sessions(url: str) -> None:
    """Not the days between two of them."""
    first = session("vs_1", ended_at=at(61.5))
    second = session("vs_2", created_at=at(86400), ended_at=at(86430))
    async with opened(url) as store:
        await store.commit([PutConversation(conversation()), PutSession(first), PutSession(second)])
        await store.commit([PutConversation(conversation(ended_at=at(86430)))])
        engine = parse(url).writer()
        with engine.begin() as connection:
            took = connection.execute(select(conversations.c.duration_seconds)).scalar_one()
        engine.dispose()
    assert took == 91


async def test_the_search_survives_a_vacuum(sqlite_url: str) -> None:
    async with opened(sqlite_url) as store:
        said = [entry(str(n), text=f"word{n}", ordinal=n) for n in range(20)]
        await store.commit([PutConversation(conversation()), *map(PutEntry, said)])
    engine = create_engine(sqlite_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("DELETE FROM messages WHERE content < 'word15'"))
        connection.execute(text("VACUUM"))
    engine.dispose()
    async with opened(sqlite_url) as store:
        await store.commit([PutEntry(replace(said[7], text="changed"))])
        assert await store.search("word12", user_id="ann") == []
        assert [h.message_id for h in await store.search("word8", user_id="ann")] == [uid("8")]
        assert [h.message_id for h in await store.search("changed", user_id="ann")] == [uid("7")]


async def test_what_a_user_has_stored_is_known_to_the_byte(url: str) -> None:
    """Whoever deletes it, and by whatever way; nobody is left in it with nothing."""

    def account(connection: Connection) -> dict[str, int]:
        return {row.user_id: row.bytes for row in connection.execute(select(stored))}

    empty = limits.ROW_BYTES + len("{}")  # of a conversation, or an entry with nothing more to say
    async with opened(url) as store:
        await store.commit([PutConversation(conversation()), PutEntry(entry("1", text="Grüße"))])
        await store.commit([PutConversation(conversation("b", user_id="bob"))])
        engine = parse(url).writer()
        with engine.begin() as connection:
            assert account(connection) == {"ann": 2 * empty + 7, "bob": empty}
        await store.commit([PutEntry(entry("1", text="Good morning"))])
        await store.commit([PutEntry(entry("1", text="never"), replace=False)])
        with engine.begin() as connection:
            assert account(connection)["ann"] == 2 * empty + 12
            connection.execute(conversations.delete())
            assert account(connection) == {}
        plans = [Put(goal(statement="Run")), Put(todo(title="Shoes"))]
        await store.commit(plans)
        with engine.begin() as connection:
            assert account(connection) == {"ann": 2 * limits.ROW_BYTES + len("RunShoes")}
            connection.execute(goals.delete())
            connection.execute(tasks.delete())
            assert account(connection) == {}
        engine.dispose()


async def test_sessions_are_limited_across_processes(url: str) -> None:
    """Two stores on one database count what the other wrote."""
    from tests.contract.test_store_limits import begin, refused
    from vivavoce.wire.records.plans import SessionLimits

    limits = SessionLimits(per_10_minutes=2)
    async with opened(url) as one, opened(url) as two:
        await begin(one, "1", 0, limits)
        await begin(two, "2", 1, limits)
        assert (await refused(one, "3", 2, limits))[0] == "per_10_minutes"
        assert (await refused(two, "4", 2, limits))[0] == "per_10_minutes"


@pytest.mark.parametrize(
    "query",
    [
        reads.PERSON,
        reads.GOAL,
        reads.TODO,
        reads.STEPS,
        reads.goals_of("ann", status="x", limit=9, offset=0),
        reads.todos_of("ann", open_only=True, limit=9, offset=0),
        reads.done_todos_of("ann", limit=9, offset=0),
        reads.INTENT,
        reads.intents_of("ann", conversation_id=None, limit=9),
        reads.intents_of("ann", conversation_id=uid("x"), limit=9),
        reads.DELIVERIES_OF,
        reads.due_deliveries(at(0), after=None, limit=9),
        reads.due_deliveries(at(0), after=delivery(), limit=9),
        reads.LOOK_AT,
        reads.NEXT_LOOK,
        reads.WAITING,
        reads.LATEST_DUE,
        reads.DUE_BEFORE,
        transaction.LOOKED,
        sql_store.CLAIMED,
        reads.CONVERSATION_LIST,
        reads.CONVERSATIONS_OF_TYPE,
        reads.MARK,
        reads.messages_before(mark=True, said_only=True),
        reads.messages_before(mark=False, said_only=False),
        reads.SPENT,
        limits.PAST,
        limits.PAST_DROPPED,
        reads.TASK,
        reads.OPEN_TASKS,
        reads.tasks_of("ann", open_only=False, untold_only=False, limit=9),
        reads.tasks_of("ann", open_only=True, untold_only=False, limit=9),
        reads.tasks_of("ann", open_only=False, untold_only=True, limit=9),
        reads.APPROVAL,
        reads.ALL_PENDING,
        reads.PENDING,
        reads.RECENT_CALLS,
        reads.TOOL_CALL,
        reads.OPEN_CALLS,
        reads.TOOL_STATS,
        reads.CONVERSATION,
        reads.ANY_CONVERSATION,
        reads.SESSION,
        reads.ACTIVE_SESSIONS,
        reads.SNAPSHOT,
        reads.SUMMARY,
        reads.SESSIONS_OF,
        reads.TRANSCRIPT,
        reads.BY_ID,
        reads.SAID_LATELY,
        reads.SAID_ABOUT_THEN,
        reads.SESSIONS_IN,
        limits.STORED,
        limits.CONVERSATIONS,
        limits.WAITING,
        sql_store.LAST_EVENTS,
        sql_store.events_after(0, limit=9, user_id=None, session_id="x", upto=None),
        *retention.emptied([uid("x")]),
    ],
)
async def test_no_query_reads_a_whole_table(sqlite_url: str, query: Select[Any] | Update) -> None:
    async with opened(sqlite_url):
        pass
    engine = create_engine(sqlite_url)
    given: dict[str, Any] = {
        **dict.fromkeys(("id", "conversation_id"), uid("x")),
        **dict.fromkeys(("created_at", "before", "since", "until"), at(0)),
        "user_id": "ann",
        "status": "x",
        "context_type": "x",
        "intent_id": "x",
        "limit": 9,
        "offset": 0,
        "ordinal": 1.0,
        "most": 9,
        "goal_ids": [uid("x")],
        "ids": [uid("x")],
        "texts": ["x"],
        "kinds": ["x", "y"],
        "session_ids": ["x", "y"],
        "users": ["ann"],
        "by": "one",
    }
    with engine.connect() as connection:
        known = {name: given[name] for name in query.compile().params if name in given}
        bound = query.params(**known) if isinstance(query, Select) else query
        compiled = bound.compile(engine, compile_kwargs={"render_postcompile": True})
        nothing = (None,) * str(compiled).count("?")  # it is not run
        plan = list(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", nothing))
    engine.dispose()
    assert plan
    scans = [step.detail for step in plan if step.detail.startswith("SCAN")]
    # All of a user's events are a table, too.
    scans += [step.detail for step in plan if "idx_events_user" in step.detail]
    # The page, its turns, the total, what was taken and the last messages are results already, of
    # a few rows or one.
    results = {"t", "page", "turns", "took", "lately"}
    assert not [each for each in scans if each.split()[1] not in results]
