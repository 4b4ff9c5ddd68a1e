"""Tasks and approvals on disk: what the keys do, and which way the queries go."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Select, create_engine

from tests.contract.records import approval, conversation, task, uid
from tests.store.stores import opened
from vivavoce.store import work
from vivavoce.store.database import parse
from vivavoce.store.schema import conversations
from vivavoce.wire.records.talk import PutApproval, PutConversation, PutTask


async def test_a_conversation_deleted_by_hand_leaves_its_work(url: str) -> None:
    async with opened(url) as store:
        await store.commit(
            [
                PutConversation(conversation()),
                PutTask(task(conversation_id=uid("c"))),
                PutApproval(approval(conversation_id=uid("c"))),
            ]
        )
        engine = parse(url).writer()
        with engine.begin() as connection:
            connection.execute(conversations.delete())
        engine.dispose()
        assert await store.conversation(uid("c"), user_id="ann") is None
        assert await store.task("t", user_id="ann") == task()
        assert await store.approval("a", user_id="ann") == approval()


@pytest.mark.parametrize(
    "query",
    [
        work.TASK,
        work.OPEN_TASKS,
        work.tasks_of("ann", open_only=False, untold_only=False, limit=9),
        work.tasks_of("ann", open_only=True, untold_only=False, limit=9),
        work.tasks_of("ann", open_only=False, untold_only=True, limit=9),
        work.APPROVAL,
        work.ALL_PENDING,
        work.PENDING,
        work.RECENT_CALLS,
    ],
)
async def test_no_query_reads_a_whole_table(sqlite_url: str, query: Select[Any]) -> None:
    async with opened(sqlite_url):
        pass
    engine = create_engine(sqlite_url)
    with engine.connect() as connection:
        given = query.params(id="x", user_id="ann", limit=9)
        sql = str(given.compile(engine, compile_kwargs={"render_postcompile": True}))
        nothing = (None,) * sql.count("?")  # it is not run
        plan = list(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", nothing))
    engine.dispose()
    assert plan
    assert not [step.detail for step in plan if step.detail.startswith("SCAN")]
