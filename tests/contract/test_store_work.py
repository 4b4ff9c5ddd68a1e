"""What every store promises about delegated work, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import (
    approval,
    at,
    call,
    conversation,
    question,
    session,
    task,
    uid,
)
from vivavoce.errors import InternalError, InvalidRequest
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.talk import CallStatus, Change, Put, PutConversation, PutSession
from vivavoce.wire.records.work import ApprovalStatus, TaskStatus

BASE: list[Change] = [PutConversation(conversation()), PutSession(session(), new=True)]
MINUTE = Retention(None, None, conversations=60)

# --- Keeping --------------------------------------------------------------------


async def test_work_is_there_after_reopening(backend: Backend) -> None:
    kept_task = task(
        title="The biggest file",
        conversation_id=uid("c"),
        session_id="vs_1",
        call_id="call_1",
        status=TaskStatus.WAITING,
        phase="planner",
        progress="2 of 5",
        percentage=40,
        question=question(choices=("this", "that"), asked_at=at(0.5)),
        result="so far",
        files_changed=("a.py", "b.py"),
        error="no",
        tried=("one way",),
        suggestions=("another",),
        updated_at=at(3),
        finished_at=at(2),
        told_at=at(3),
    )
    kept_approval = approval(
        arguments={"command": "make test"},
        conversation_id=uid("c"),
        session_id="vs_1",
        call_id="call_1",
        task_id="t",
        status=ApprovalStatus.GRANTED,
        resolved_at=at(5),
        resolved_by="voice",
        words="yes, do",
    )
    async with backend.store() as store:
        await store.commit([Put(kept_approval), Put(kept_task), *BASE])
        await store.commit([Put(task("bare")), Put(approval("bare"))])
    async with backend.store() as store:
        assert await store.task("t", user_id="ann") == kept_task
        assert await store.task("bare", user_id="ann") == task("bare")
        assert await store.approval("a", user_id="ann") == kept_approval
        assert await store.approval("bare", user_id="ann") == approval("bare")


async def test_no_work_is_none_or_empty(backend: Backend) -> None:
    async with backend.store() as store:
        for name in ("nothing", "\0"):
            assert await store.task(name, user_id="ann") is None
            assert await store.task(name, user_id=None) is None
            assert await store.approval(name, user_id="ann") is None
        assert await store.tasks(user_id="ann") == []
        assert await store.open_tasks() == []
        assert await store.pending_approvals() == []
        assert await store.recent_calls(user_id="ann") == []


async def test_what_agents_say_is_mended_where_databases_refuse_it(backend: Backend) -> None:
    odd, mended = "a\0b \ud800", "ab \ufffd"
    said = task(
        result=odd, tried=(odd,), question=question(text=odd, choices=(odd,)), files_changed=(odd,)
    )
    async with backend.store() as store:
        await store.commit([Put(said), Put(approval(arguments={odd: odd}, words=odd))])
        assert await store.task("t", user_id="ann") == replace(
            said,
            result=mended,
            tried=(mended,),
            files_changed=(mended,),
            question=question(text=mended, choices=(mended,)),
        )
        found = await store.approval("a", user_id="ann")
    assert found == approval(arguments={mended: mended}, words=mended)


async def test_work_that_belongs_nowhere_is_refused(backend: Backend) -> None:
    naive = datetime(2026, 1, 31)  # noqa: DTZ001
    refused: list[Change] = [
        Put(task(conversation_id=uid("nowhere"))),
        Put(approval(conversation_id=uid("nowhere"))),
        Put(task(question=question(asked_at=naive))),
        Put(approval(expires_at=naive)),
    ]
    async with backend.store() as store:
        for change in refused:
            with pytest.raises(InternalError):
                await store.commit([Put(task("with it")), change])
        for put in (
            Put(task(conversation_id="no uuid")),
            Put(approval(conversation_id="no uuid")),
        ):
            with pytest.raises(InvalidRequest):
                await store.commit([put])
        assert await store.tasks(user_id="ann") == []
        assert await store.pending_approvals() == []


# --- Writing again --------------------------------------------------------------


async def test_a_task_goes_on_and_keeps_where_it_began(backend: Backend) -> None:
    began = task(conversation_id=uid("c"), session_id="vs_1", call_id="call_1")
    asks = replace(
        began,
        status=TaskStatus.WAITING,
        phase="coder",
        question=question(),
        asked_at=question().asked_at,
        percentage=50,
        updated_at=at(1),
    )
    elsewhere = task(status=TaskStatus.RUNNING, description="Other.", created_at=at(9), title="T")
    async with backend.store() as store:
        await store.commit([*BASE, Put(began)])
        await store.commit([Put(asks)])
        assert await store.task("t", user_id="ann") == asks
        await store.commit([Put(elsewhere)])
        # What it asked, somebody knows: when that was stays.
        left = replace(began, title="T", asked_at=question().asked_at)
        assert await store.task("t", user_id="ann") == left


async def test_how_a_task_ended_does_not_change(backend: Backend) -> None:
    ends = [status for status in TaskStatus if status.over]
    async with backend.store() as store:
        for end in ends:
            ended = task(end, status=end, result="first", finished_at=at(1))
            await store.commit([Put(task(end))])
            await store.commit([Put(ended)])
            for late in set(TaskStatus) - {end}:
                await store.commit([Put(replace(ended, status=late, result="late"))])
            assert await store.task(end, user_id="ann") == ended


async def test_what_was_told_stays_told(backend: Backend) -> None:
    done = task(status=TaskStatus.COMPLETED, result="12 files", finished_at=at(1))
    async with backend.store() as store:
        await store.commit([Put(done)])
        await store.commit([Put(replace(done, told_at=at(2)))])
        for again in (None, at(3)):
            await store.commit([Put(replace(done, told_at=again))])
        assert await store.task("t", user_id="ann") == replace(done, told_at=at(2))


async def test_an_approval_is_settled_once_and_nothing_else_of_it_changes(backend: Backend) -> None:
    asked = approval(arguments={"command": "ls"})
    no = replace(asked, status=ApprovalStatus.EXPIRED, resolved_at=at(60), resolved_by="timeout")
    yes = replace(asked, status=ApprovalStatus.GRANTED, resolved_at=at(61), resolved_by="click")
    async with backend.store() as store:
        await store.commit([Put(asked)])
        await store.commit([Put(replace(asked, arguments={"command": "rm"}, tool="x"))])
        assert await store.approval("a", user_id="ann") == asked
        await store.commit([Put(replace(no, arguments={"command": "rm"}))])
        await store.commit([Put(yes)])
        assert await store.approval("a", user_id="ann") == no


# --- Lists ----------------------------------------------------------------------


async def test_tasks_come_newest_first_open_or_untold_as_asked(backend: Backend) -> None:
    made = [
        task("running"),
        task("waiting", status=TaskStatus.WAITING, created_at=at(1)),
        task("untold", status=TaskStatus.COMPLETED, created_at=at(2)),
        task("failed", status=TaskStatus.FAILED, created_at=at(2)),
        task("told", status=TaskStatus.CANCELLED, created_at=at(3), told_at=at(4)),
        task("bob's", user_id="bob", created_at=at(-1)),
    ]
    async with backend.store() as store:
        await store.commit([Put(each) for each in made])

        async def names(*, limit: int = 50, **only: bool) -> list[str]:
            return [each.id for each in await store.tasks(user_id="ann", limit=limit, **only)]

        assert await names() == ["told", "untold", "failed", "waiting", "running"]
        assert await names(limit=2) == ["told", "untold"]
        assert await names(limit=-1) == []
        assert await names(open_only=True) == ["waiting", "running"]
        assert await names(untold_only=True) == ["untold", "failed"]
        assert await names(untold_only=True, limit=1) == ["untold"]
        assert await names(open_only=True, untold_only=True) == []
        assert [each.id for each in await store.open_tasks()] == ["bob's", "running", "waiting"]


async def test_pending_approvals_come_oldest_first(backend: Backend) -> None:
    made = [
        approval("young", requested_at=at(2)),
        approval("old", requested_at=at(1)),
        approval("denied", status=ApprovalStatus.DENIED),
        approval("bob's", user_id="bob"),
    ]
    async with backend.store() as store:
        await store.commit([Put(each) for each in made])
        found = [await store.pending_approvals(user_id=user) for user in ("ann", "bob", None)]
    assert [[each.id for each in some] for some in found] == [
        ["old", "young"],
        ["bob's"],
        ["bob's", "old", "young"],
    ]


async def test_recent_calls_are_the_settled_ones_newest_first(backend: Backend) -> None:
    async with backend.store() as store:
        for n, status in enumerate(CallStatus):
            await store.commit([Put(call(status, status=status, started_at=at(n)))])
        by_task = call("by task", status=CallStatus.COMPLETED, started_at=at(-1), origin="task")
        theirs = call("bob's", status=CallStatus.COMPLETED, user_id="bob")
        await store.commit([Put(by_task), Put(theirs)])
        found = await store.recent_calls(user_id="ann")
        assert [each.id for each in found] == ["failed", "completed", "by task"]
        assert found[-1] == by_task
        assert await store.recent_calls(user_id="ann", limit=1) == found[:1]


# --- Users ----------------------------------------------------------------------


async def test_work_of_one_user_is_not_another_s(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([*BASE, Put(task()), Put(approval())])
        assert await store.task("t", user_id="bob") is None
        assert await store.task("t", user_id=None) == task()
        assert await store.approval("a", user_id="bob") is None
        intrusions: list[Change] = [
            Put(task("mine", user_id="bob", conversation_id=uid("c"))),
            Put(approval("mine", user_id="bob", conversation_id=uid("c"))),
        ]
        for change in intrusions:
            with pytest.raises(InternalError):
                await store.commit([change])
        stolen = replace(task(user_id="bob"), status=TaskStatus.CANCELLED)
        granted = replace(approval(user_id="bob"), status=ApprovalStatus.GRANTED)
        await store.commit([Put(stolen), Put(granted)])
        assert await store.task("t", user_id=None) == task()
        assert await store.approval("a", user_id="ann") == approval()


# --- Retention ------------------------------------------------------------------


async def test_old_work_goes_with_its_conversation_once_it_is_over(backend: Backend) -> None:
    live = conversation("live", updated_at=at(100))
    done, no = TaskStatus.COMPLETED, ApprovalStatus.DENIED
    tasks = [
        task("of old", conversation_id=uid("c"), status=done),
        task("of live", conversation_id=uid("live"), status=done),
        task("of none", status=done),
        task("fresh", conversation_id=uid("c"), status=done, updated_at=at(100)),
        task("open", conversation_id=uid("c"), session_id="vs_1"),
    ]
    approvals = [
        approval("of old", conversation_id=uid("c"), status=no),
        approval("of live", conversation_id=uid("live"), status=no),
        approval("of none", status=no),
        approval("fresh", conversation_id=uid("c"), status=no, requested_at=at(100)),
        approval("open", conversation_id=uid("c")),
    ]
    async with backend.store() as store:
        await store.commit([*BASE, PutConversation(live)])
        await store.commit([*map(Put, tasks), *map(Put, approvals)])
        assert await store.sweep(Retention(1, 1, None), at(120)) == 0
        assert await store.sweep(MINUTE, at(120)) == 6  # with the conversation and its session
        assert await store.conversation(uid("c"), user_id="ann") is None
        kept_tasks = [await store.task(each.id, user_id="ann") for each in tasks]
        kept_approvals = [await store.approval(each.id, user_id="ann") for each in approvals]
    left_tasks = [replace(each, conversation_id=None) for each in tasks[3:]]
    left_approvals = [replace(each, conversation_id=None) for each in approvals[3:]]
    assert kept_tasks == [None, tasks[1], None, *left_tasks]
    assert kept_approvals == [None, approvals[1], None, *left_approvals]


async def test_a_task_whose_conversation_went_can_still_be_written(backend: Backend) -> None:
    began = task(conversation_id=uid("c"), session_id="vs_1")
    asked = approval(conversation_id=uid("c"))
    ended = replace(began, status=TaskStatus.COMPLETED, result="done", updated_at=at(200))
    async with backend.store() as store:
        await store.commit([*BASE, Put(began), Put(asked)])
        await store.sweep(MINUTE, at(120))
        granted = replace(asked, status=ApprovalStatus.GRANTED)
        await store.commit([Put(ended), Put(granted)])
        assert await store.task("t", user_id="ann") == replace(ended, conversation_id=None)
        assert await store.approval("a", user_id="ann") == replace(granted, conversation_id=None)
        assert await store.sweep(MINUTE, at(300)) == 2
        assert await store.tasks(user_id="ann") == []


async def test_a_yes_stands_until_it_is_taken_back_and_no_sweep_takes_it(backend: Backend) -> None:
    granted = {"status": ApprovalStatus.GRANTED, "resolved_at": at(5), "resolved_by": "click"}
    always = approval("always", reach="always", because="the page example.org", **granted)
    for_now = approval("session", reach="session", requested_at=at(1), **granted)
    others = [
        approval("once", reach="once", **granted),
        approval("denied", status=ApprovalStatus.DENIED),
        approval("pending", reach="session"),
        approval("bobs", user_id="bob", reach="always", **granted),
    ]
    async with backend.store() as store:
        await store.commit([Put(one) for one in (always, for_now, *others)])
        assert await store.standing_approvals(user_id="ann") == [for_now, always]
        await store.sweep(MINUTE, at(3600))
        assert await store.standing_approvals(user_id="ann") == [always]
        # Taken back by its owner, once, and nothing else of it changes.
        await store.commit([Put(replace(always, user_id="bob", revoked_at=at(9)))])
        assert await store.standing_approvals(user_id="ann") == [always]
        await store.commit([Put(replace(always, revoked_at=at(10)))])
        await store.commit([Put(replace(always, revoked_at=at(11)))])
        await store.commit([Put(replace(always, revoked_at=None))])
        assert await store.standing_approvals(user_id="ann") == []
        kept = await store.approval("always", user_id="ann")
        assert kept == replace(always, revoked_at=at(10))
        await store.sweep(MINUTE, at(3600))
        assert await store.approval("always", user_id="ann") is None
