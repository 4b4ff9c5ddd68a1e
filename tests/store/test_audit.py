"""Somebody writes to the database past the server: the audit trail shows it, from its first line to
its last."""

from __future__ import annotations

import pytest

from tests.contract.records import at
from tests.contract.test_store_audit import line
from tests.store.stores import opened
from tests.store.test_migrations import connected
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.talk import Audited
from vivavoce.wire.records.work import first_break


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET outcome = 'x' WHERE position = 3",
        "UPDATE audit SET role = 'user' WHERE position = 3",
        "UPDATE audit SET token = 'x' WHERE position = 5",
        "UPDATE audit SET address = '1.2.3.4' WHERE position = 9",
        "UPDATE audit SET user_id = 'bob' WHERE position = 5",
        "DELETE FROM audit WHERE position < 5",
        "DELETE FROM audit WHERE position < 5; UPDATE audit SET outcome = 'x' WHERE position = 5",
        "DELETE FROM audit WHERE position = 5",
        "DELETE FROM audit WHERE position > 7",
        "DELETE FROM audit WHERE position = 9",
        "UPDATE audit SET outcome = 'x' WHERE position = 9",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE position = 9; UPDATE audit SET position = 9 WHERE position = 8",
    ],
)
async def test_whoever_takes_lines_out_or_changes_them_is_noticed(url: str, statement: str) -> None:
    """Two are swept, seven are there, and the server goes on writing afterwards."""
    async with opened(url) as store:
        await store.commit([Audited(line(n)) for n in range(1, 10)])
        assert await store.sweep(Retention(None, None, None, audit=100), at(102.5)) == 2
    with connected(url) as connection:
        for one in statement.split("; "):
            connection.exec_driver_sql(one)
    async with opened(url) as store:
        assert first_break(await store.audit(), await store.audit_ends()) is not None
        await store.commit([Audited(line(10))])
        assert first_break(await store.audit(), await store.audit_ends()) is not None
