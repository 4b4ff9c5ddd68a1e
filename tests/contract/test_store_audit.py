"""The audit trail, on SQLite and PostgreSQL alike: a chain that shows every gap."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import at
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.talk import Audited
from vivavoce.wire.records.work import AuditEnds, AuditLine, digest_of, first_break


def line(number: int, user: str = "ann") -> AuditLine:
    return AuditLine(at=at(number), action="tool", what=f"no. {number}", outcome="ok", user_id=user)


async def test_lines_are_chained_in_their_order_and_stay_so_after_reopening(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        await store.commit([Audited(line(1)), Audited(line(2, "bob"))])
    async with backend.store() as store:
        await store.commit([Audited(line(3))])
        found = await store.audit()
        assert [one.what for one in found] == ["no. 1", "no. 2", "no. 3"]
        assert [one.position for one in found] == [1, 2, 3]
        assert first_break(found, await store.audit_ends()) is None
        assert await store.audit(after=2) == found[2:]
        assert await store.audit(user_id="bob") == [found[1]]


async def test_many_at_once_are_one_chain(backend: Backend) -> None:
    async with backend.store() as store:
        await asyncio.gather(*(store.commit([Audited(line(n))]) for n in range(50)))
        found = await store.audit()
        assert len(found) == 50
        assert first_break(found, await store.audit_ends()) is None


async def test_a_sweep_takes_the_oldest_and_the_chain_goes_on(backend: Backend) -> None:
    year = Retention(None, None, None, audit=100)
    async with backend.store() as store:
        await store.commit([Audited(line(n)) for n in (1, 2, 150)])
        assert await store.sweep(year, at(200)) == 2
        assert first_break(await store.audit(), await store.audit_ends()) is None
        assert await store.sweep(year, at(1000)) == 1
        assert first_break([], await store.audit_ends()) is None
        await store.commit([Audited(line(1001))])
        assert await store.sweep(year, at(1002)) == 0
        found = await store.audit()
        assert [one.position for one in found] == [4]
        assert first_break(found, await store.audit_ends()) is None


async def test_a_sweep_stops_at_a_line_that_is_young_enough(backend: Backend) -> None:
    """Clocks of several servers differ: the chain has no holes for that."""
    async with backend.store() as store:
        await store.commit([Audited(line(n)) for n in (1, 150, 2, 151)])
        assert await store.sweep(Retention(None, None, None, audit=100), at(200)) == 1
        assert [one.position for one in await store.audit()] == [2, 3, 4]
        assert first_break(await store.audit(), await store.audit_ends()) is None


@pytest.mark.parametrize(
    "change", ["gone", "words", "time", "swapped", "resealed", "first", "front", "last", "all"]
)
def test_whatever_is_changed_shows(change: str) -> None:
    chain, seal = list[AuditLine](), ""
    for number in range(1, 6):
        chain.append(line(number).sealed(number, seal))
        seal = chain[-1].seal
    ends = AuditEnds(position=5, seal=seal)
    assert first_break(chain, ends) is None
    match change:
        case "first":
            chain[0] = replace(chain[0], outcome="refused")
        case "front":
            del chain[:2]
        case "last":
            del chain[-1]
        case "all":
            chain.clear()
        case "gone":
            del chain[2]
        case "words":
            chain[2] = replace(chain[2], outcome="refused")
        case "time":
            chain[2] = replace(chain[2], at=at(99))
        case "swapped":
            chain[2], chain[3] = chain[3], chain[2]
        case _:  # whoever knows how a seal is made still has to make all that follow
            chain[2] = replace(chain[2], outcome="refused").sealed(3, chain[1].seal)
    assert first_break(chain, ends) is not None


def test_a_digest_tells_arguments_apart_and_not_what_they_are() -> None:
    one, other = digest_of({"a": 1, "b": "secret"}), digest_of({"b": "secret", "a": 1})
    assert one == other
    assert one != digest_of({"a": 2, "b": "secret"})
    assert "secret" not in one
