"""Several servers on one store: each holds the lease of its name, and looks after what is its own;
what a lease that has run out leaves is claimed once, and its holder writes nothing any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.contract.conftest import Backend, FullStore
from tests.contract.records import approval, conversation, session, task
from vivavoce.errors import Conflict, Fenced
from vivavoce.runtime.ports import Asked
from vivavoce.wire.records.talk import Change, Put, PutConversation, PutSession, Settle
from vivavoce.wire.records.work import ApprovalStatus, TaskStatus

LONG, OVER = 60.0, 0.0
BASE: list[Change] = [PutConversation(conversation()), PutSession(session(), new=True)]


class Servers(NamedTuple):
    here: FullStore
    there: FullStore


@asynccontextmanager
async def servers(backend: Backend, *, lease: float = LONG) -> AsyncIterator[Servers]:
    """Two that have joined; `lease` is that of the first."""
    async with backend.store() as here, backend.store() as there:
        assert await here.join("here", lease) == 1
        assert await there.join("there", LONG) == 1
        yield Servers(here, there)


async def test_a_name_is_held_by_one_and_each_life_has_an_epoch_of_its_own(
    backend: Backend,
) -> None:
    async with backend.store() as first, backend.store() as second:
        assert await first.join("a", LONG) == 1
        assert await second.join("a", LONG) == 0
        await first.leave()
        assert await second.join("a", LONG) == 3  # leaving ended the first life and its stragglers
        [seen] = await first.instances()
        assert (seen.name, seen.epoch, seen.lease_until is None) == ("a", 3, False)


async def test_what_a_server_writes_first_is_its_own_whoever_writes_it_again(
    backend: Backend,
) -> None:
    async with servers(backend) as (here, there):
        await here.commit([*BASE, Put(task()), Put(approval())])
        await there.commit([PutSession(replace(session(), voice="ash")), Put(task(title="More"))])
        kept = await there.session(session().id, user_id="ann")
        assert kept is not None
        assert (kept.voice, kept.owner, kept.epoch) == ("ash", "here", 1)
        work, asked = await there.task("t", user_id="ann"), await there.approval("a", user_id="ann")
        assert work is not None
        assert asked is not None
        assert (work.title, work.owner, asked.owner) == ("More", "here", "here")
        assert await there.is_held("here", 1)
        assert not await here.is_held("here", 1)  # that is itself
        assert not await there.is_held(None, None)
        assert (await there.claim()).sessions == ()


async def test_what_an_expired_lease_leaves_is_claimed_once_and_its_holder_is_fenced(
    backend: Backend,
) -> None:
    async with servers(backend, lease=OVER) as (here, there):
        await here.commit([*BASE, Put(task()), Put(approval())])
        claimed = await there.claim()
        assert claimed.gone == ("here",)
        assert [one.owner for one in claimed.sessions] == ["here"]
        assert [one.id for one in claimed.tasks] == ["t"]
        assert [one.id for one in claimed.approvals] == ["a"]
        assert not await there.is_held("here", 1)
        again = await there.claim()
        assert (again.gone, again.sessions, again.tasks, again.approvals) == ((), (), (), ())
        for change in (Put(task(title="A late word")), PutSession(session())):
            with pytest.raises(Fenced):
                await here.commit([change])
        assert (await here.claim()).sessions == ()
        assert not await here.renew(LONG)
        await here.leave()  # nor does it take the lease of anybody
        kept = await there.session(session().id, user_id="ann")
        assert kept is not None
        assert (kept.owner, kept.epoch) == ("there", 1)


async def test_what_is_over_is_nobodys_and_stays_where_it_is(backend: Backend) -> None:
    async with servers(backend, lease=OVER) as (here, there):
        done = task(status=TaskStatus.COMPLETED)
        denied = approval(status=ApprovalStatus.DENIED)
        await here.commit([PutConversation(conversation()), Put(done), Put(denied)])
        claimed = await there.claim()
        assert (claimed.tasks, claimed.approvals) == ((), ())


async def test_a_lease_that_is_renewed_keeps_what_is_held(backend: Backend) -> None:
    async with servers(backend, lease=OVER) as (here, there):
        await here.commit(BASE)
        assert await here.renew(LONG)
        assert (await there.claim()).sessions == ()
        await here.commit([PutSession(session())])


async def test_a_session_that_is_let_go_of_is_claimed_while_its_server_lives(
    backend: Backend,
) -> None:
    async with servers(backend) as (here, there):
        await here.commit(BASE)
        assert not await there.release(session().id)  # not its own
        assert await here.release(session().id)
        [claimed] = (await there.claim()).sessions
        assert (claimed.id, claimed.owner) == (session().id, None)
        assert not await here.release(session().id)
        await here.commit([Put(approval())])  # it is as alive as before


async def test_several_claim_at_once_and_each_thing_is_one_s(backend: Backend) -> None:
    async with servers(backend, lease=OVER) as (here, there):
        await here.commit([*BASE, *(Put(task(f"t{number}")) for number in range(7))])
        found: list[str] = []
        for _ in range(3):
            found += [one.id for one in (await there.claim(limit=3)).tasks]
        assert sorted(found) == [f"t{number}" for number in range(7)]


async def test_a_task_is_of_whoever_carries_it_out(backend: Backend) -> None:
    async with servers(backend, lease=OVER) as (here, there):
        await there.commit([Put(task())])
        await here.own_task("t")
        kept = await here.task("t", user_id=None)
        assert kept is not None
        assert (kept.owner, kept.epoch) == ("here", 1)
        assert [one.id for one in (await there.claim()).tasks] == ["t"]
        with pytest.raises(Fenced):
            await here.own_task("t")


async def test_what_one_server_asks_another_is_answered_once_and_kept_nowhere(
    backend: Backend,
) -> None:
    async with servers(backend) as (here, there):
        asked = Asked("q1", "ann", "there", 1, "message", '{"text":"Hello"}', "v=0\r\n")
        await here.ask(asked)
        assert await here.asked() == []
        assert await there.asked() == [asked]
        assert await here.take_answer("q1") is None
        await there.answer("q1", '{"done":{}}', "v=1")
        assert await there.asked() == []
        found = await here.take_answer("q1")
        assert found is not None
        assert (found.answer, found.plain) == ('{"done":{}}', "v=1")
        assert await here.take_answer("q1") is None
        await here.ask(replace(asked, epoch=7))  # a life that is over
        assert await there.asked() == []
        await here.drop_ask("q1")
        await here.ask(asked)


async def test_the_only_server_there_can_be_asks_nobody(backend: Backend) -> None:
    async with servers(backend) as (here, there):
        await here.commit(BASE)
        assert await there.join("there", None) == 2
        assert [one.id for one in (await there.claim()).sessions] == [session().id]


async def test_a_store_that_never_joined_looks_and_takes_nothing(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(BASE)
        for _ in range(2):
            assert [one.id for one in (await store.claim()).sessions] == [session().id]


async def test_an_approval_is_settled_by_one_and_nothing_of_the_others_is_written(
    backend: Backend,
) -> None:
    async with servers(backend) as (here, there):
        await here.commit([*BASE, Put(approval())])
        no = approval(status=ApprovalStatus.EXPIRED)
        await there.commit([Settle(no)])
        yes = approval(status=ApprovalStatus.GRANTED)
        with pytest.raises(Conflict):
            await here.commit([Settle(yes), Put(task(title="Never written"))])
        kept = await here.approval("a", user_id="ann")
        assert kept is not None
        assert kept.status is ApprovalStatus.EXPIRED
        assert await here.task("t", user_id="ann") is None
