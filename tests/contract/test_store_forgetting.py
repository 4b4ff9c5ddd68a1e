"""All that is kept of a user can be had, and goes at their wish; nobody else's does."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.contract.conftest import Backend, FullStore
from tests.contract.records import (
    START,
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
    one_time_key,
    person,
    push_message,
    push_subscription,
    recording,
    reminder,
    session,
    snapshot,
    task,
    todo,
    uid,
)
from vivavoce.runtime.ports import Asked
from vivavoce.store import schema
from vivavoce.store.retention import COUNTED, OUTLIVES, owned
from vivavoce.store.sql_store import PAGE
from vivavoce.wire.records.talk import (
    Announce,
    DropConversation,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
)

NOBODYS = {"access_tokens", "audit_head", "instances", "log_head"}


async def fill(store: FullStore, who: str, words: str = "words", entries: int = 1) -> None:
    """Something of every kind, linked to and fro."""
    by: dict[str, Any] = {"user_id": who}
    of: dict[str, Any] = {**by, "conversation_id": uid(who)}
    gone = conversation(f"gone {who}", **by)
    await store.commit(
        [PutConversation(gone), PutSession(session(f"vs_gone_{who}", f"gone {who}", **by))]
    )
    linked = {"linked_goal_id": uid(f"g {who}"), "linked_task_id": uid(f"td {who}")}
    await store.commit(
        [
            PutConversation(conversation(who, **by, **linked, title=words, summary=words)),
            PutSession(session(f"vs_{who}", who, **by, input_tokens=40), new=True),
            *(
                PutEntry(entry(f"e{n} {who}", who, **by, text=f"{words} {n}", ordinal=float(n)))
                for n in range(entries)
            ),
            Put(person(who, name=words)),
            Put(call(f"call_{who}", **of, arguments={"a": words}, output=words)),
            Put(call(f"loose_{who}", **by, output=words)),
            Put(snapshot(f"vs_{who}", **by, data={"a": words})),
            Put(recording(f"vs_{who}", **by, data=f'{{"steps":["{words}"]}}'.encode())),
            Put(task(f"t_{who}", **of, description=words, title=words)),
            Put(approval(f"a_{who}", **of, question=words)),
            Put(goal(f"g {who}", **of, statement=words)),
            Put(milestone(f"m_{who}", f"g {who}", **by, title=words)),
            Put(todo(f"td {who}", **of, title=words, goal_id=uid(f"g {who}"))),
            Put(reminder(f"r {who}", f"td {who}", **by, title=words)),
            Put(intent(f"i_{who}", who, **by, payload={"a": words})),
            Put(delivery(f"d_{who}", f"i_{who}", **by, body={"a": words})),
            Announce(event(**of, session_id=f"vs_{who}", data=f'{{"a":"{words}"}}'.encode())),
            Announce(event(**by, session_id=None, data=f'{{"b":"{words}"}}'.encode())),
            Put(one_time_key(f"k_{who}", **by)),
            Put(push_subscription(f"p {who}", **by)),
            Put(push_message(f"n {who}", f"p {who}", **by)),
            DropConversation(uid(f"gone {who}"), who),
        ]
    )
    await store.ask(Asked(f"k_{who}", who, "one", 1, "message", f'{{"text":"{words}"}}'))


async def rows(store: FullStore, who: str) -> dict[str, int]:
    return dict(Counter([name async for name, _ in store.rows_of(who)]))


def test_every_table_has_an_owner_or_is_nobodys() -> None:
    """A new table is exported and deleted by itself, or somebody has thought about it."""
    assert set(schema.metadata.tables) - {table.name for table, _ in owned()} <= NOBODYS


async def test_all_that_is_a_users_is_given_once_and_nothing_of_others(backend: Backend) -> None:
    async with backend.store() as store:
        await fill(store, "ann", entries=PAGE + 7)
        await fill(store, "bob")
        found = await rows(store, "ann")
        assert found["messages"] == PAGE + 7
        assert set(found) == {table.name for table, _ in owned()} - OUTLIVES
        all_of_it = [(name, str(row)) async for name, row in store.rows_of("ann")]
        assert len(set(all_of_it)) == sum(found.values())
        assert "bob" not in str(all_of_it)
        assert await rows(store, "nobody") == {}


async def test_all_that_is_a_users_goes_and_nothing_of_others(backend: Backend) -> None:
    async with backend.store() as store:
        await fill(store, "ann", entries=3)
        await fill(store, "bob")
        before, theirs = await rows(store, "ann"), await rows(store, "bob")
        gone = await store.forget("ann")
        counted = before.pop(COUNTED.name)
        assert gone == before
        assert await rows(store, "ann") == {COUNTED.name: counted}
        assert await rows(store, "bob") == theirs
        assert await store.search("words", user_id="ann") == []
        assert len(await store.search("words", user_id="bob")) == 1
        log = await store.events(after=0, limit=9)
        assert [(e.position, e.type, e.user_id) for e in log] == [
            (1, "dropped", ""),
            (2, "dropped", ""),
            (3, "session.started", "bob"),
            (4, "session.started", "bob"),
        ]
        assert await store.forget("ann") == {}
        await fill(store, "ann")  # who comes back begins anew, under the same names too
        assert (await rows(store, "ann"))["messages"] == 1


async def test_what_was_used_today_is_counted_until_the_operator_says_otherwise(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        await fill(store, "ann")
        await store.commit([DropConversation(uid("ann"), "ann")])
        await store.forget("ann")
        assert (await store.spent(user_id="ann", since=START)).input_tokens == 40
        assert await store.forget("ann", counts=True) == {COUNTED.name: 2}
        assert (await store.spent(user_id="ann", since=START)).input_tokens == 0
        assert at(0) == START
