"""The contract of the store: a conversation that its user deletes, and a milestone."""

from __future__ import annotations

from typing import Any

import pytest

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
    recording,
    session,
    snapshot,
    task,
    todo,
    uid,
)
from vivavoce.errors import InternalError, InvalidRequest, RateLimited
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.plans import SessionLimits
from vivavoce.wire.records.talk import (
    Announce,
    DropConversation,
    DropMilestone,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
)


async def fill(store: FullStore, name: str = "c") -> None:
    """Something of everything, in one conversation."""
    of = {"conversation_id": uid(name)}
    talk = session(f"vs_{name}", name, input_tokens=40, output_tokens=2, cost_micros=7)
    await store.commit(
        [
            PutConversation(conversation(name, linked_goal_id=uid(f"g {name}"))),
            PutSession(talk, new=True),
            PutEntry(entry(f"horses {name}", name)),
            Put(call(f"call_{name}", **of)),
            Put(snapshot(f"vs_{name}")),
            Put(recording(f"vs_{name}")),
            Put(task(f"t_{name}", **of)),
            Put(approval(f"a_{name}", **of)),
            Put(goal(f"g {name}", **of)),
            Put(todo(f"td {name}", **of)),
            Put(intent(f"i_{name}", name)),
            Put(delivery(f"sent_{name}", f"i_{name}", status="delivered")),
            Put(delivery(f"waits_{name}", f"i_{name}", created_at=at(1))),
            Announce(event(session_id=f"vs_{name}", **of)),
        ]
    )


async def test_a_dropped_conversation_is_gone_with_all_that_was_said_in_it(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        await fill(store)
        await fill(store, "other")
        gone = event("conversation.deleted", conversation_id=uid("c"), session_id=None)
        dropped = DropConversation(uid("c").upper(), "ann")
        (told,) = await store.commit([dropped, Announce(gone)])
    async with backend.store() as store:
        assert await store.conversation(uid("c"), user_id="ann") is None
        assert await store.entries(uid("c"), user_id="ann") == []
        assert [hit.conversation_id for hit in await store.search("horses", user_id="ann")] == [
            uid("other")
        ]
        assert await store.session("vs_c", user_id=None) is None
        assert await store.snapshot("vs_c", user_id="ann") is None
        assert await store.recording("vs_c") is None
        assert await store.tool_call("call_c", user_id="ann") is None
        assert [each.id for each in await store.intents(user_id="ann")] == ["i_other"]
        assert [each.id for each in await store.deliveries("i_c")] == ["waits_c"]
        # The log has no hole, and nothing in it says what there was, or whose.
        log = await store.events(after=0, limit=9)
        assert [(e.position, e.type, e.user_id) for e in log] == [
            (1, "dropped", ""),
            (2, "session.started", "ann"),
            (told.position, "conversation.deleted", "ann"),
        ]
        assert (log[0].data, log[0].session_id, log[0].conversation_id) == (b"{}", None, None)
        # Plans and work go on, of no conversation.
        assert await store.goal(uid("g c"), user_id="ann") == goal("g c")
        assert await store.todo(uid("td c"), user_id="ann") == todo("td c")
        assert await store.task("t_c", user_id="ann") == task("t_c")
        assert await store.approval("a_c", user_id="ann") == approval("a_c")
        # Nothing of another one is touched.
        kept = await store.conversation(uid("other"), user_id="ann")
        assert kept is not None
        assert kept.linked_goal_id == uid("g other")
        assert len(await store.deliveries("i_other")) == 2
        with pytest.raises(InternalError, match="belongs to nothing"):
            await store.commit([PutEntry(entry("late"))])


async def test_what_happened_in_it_outside_its_sessions_is_emptied_too(backend: Backend) -> None:
    loose = event(conversation_id=uid("c"), session_id=None)
    of_none = event(conversation_id=None, session_id=None)
    async with backend.store() as store:
        await fill(store)
        await store.commit([Announce(loose), Announce(of_none)])
        await store.commit([DropConversation(uid("c"), "ann")])
        log = await store.events(after=0, limit=9)
        assert [each.type for each in log] == ["dropped", "dropped", of_none.type]


async def test_deleting_gives_no_fresh_rate_to_those_who_take_over(backend: Backend) -> None:
    """Such a session takes no share of the day, and a key all the same."""
    taken = session("vs_1", counted=False, voice="marin")
    typed = session("vs_2", counted=False)
    last = session("vs_3", "other", created_at=at(60), counted=False)
    new = PutSession(last, new=True, limits=SessionLimits(per_10_minutes=1))
    async with backend.store() as store:
        await store.commit([PutConversation(conversation()), PutSession(taken), PutSession(typed)])
        await store.commit([PutConversation(conversation("other"))])
        await store.commit([DropConversation(uid("c"), "ann")])
        with pytest.raises(RateLimited):
            await store.commit([new])
        two = SessionLimits(per_10_minutes=2)
        await store.commit([PutSession(last, new=True, limits=two)])


async def test_what_is_not_there_or_not_theirs_is_not_dropped(backend: Backend) -> None:
    async with backend.store() as store:
        await fill(store)
        await store.commit([DropConversation(uid("c"), "bob"), DropConversation(uid("x"), "ann")])
        assert len(await store.entries(uid("c"), user_id="ann")) == 1
        assert (await store.events(after=0, limit=9))[0].user_id == "ann"
        with pytest.raises(InvalidRequest):
            await store.commit([DropConversation("c", "ann")])


async def test_deleting_gives_no_fresh_start_for_today(backend: Backend) -> None:
    def new(name: str, **limits: Any) -> PutSession:
        begins = session(name, "other", created_at=at(60))
        return PutSession(begins, new=True, limits=SessionLimits(**limits))

    async with backend.store() as store:
        await fill(store)
        before = await store.spent(user_id="ann", since=START)
        await store.commit(
            [PutConversation(conversation("other")), DropConversation(uid("c"), "ann")]
        )
        assert await store.spent(user_id="ann", since=START) == before
        await fill(store)  # under the same names: still one session
        await store.commit([DropConversation(uid("c"), "ann")])
        assert await store.spent(user_id="ann", since=START) == before
        assert (before.sessions, before.input_tokens, before.cost_micros) == (1, 40, 7)
        for limit in ({"per_day": 1}, {"tokens_per_day": 42}, {"cost_micros_per_day": 7}):
            with pytest.raises(RateLimited):
                await store.commit([new("vs_2", **limit)])
        await store.commit([new("vs_2", concurrent=1, per_day=2)])
        nothing = Retention(snapshots=None, log=None)
        assert await store.sweep(nothing, at(86400)) == 0
        assert await store.sweep(nothing, at(3 * 86400)) == 1
        assert (await store.spent(user_id="ann", since=START)).input_tokens == 0


async def test_a_milestone_goes_alone_and_may_come_again(backend: Backend) -> None:
    first, second = milestone("m1"), milestone("m2", position=1)
    async with backend.store() as store:
        await store.commit([Put(goal()), Put(first), Put(second)])
        await store.commit([DropMilestone("m1"), DropMilestone("nowhere")])
        assert await store.milestones([uid("g")], user_id="ann") == [second]
        again = milestone("m2", title="again", created_at=at(5))
        await store.commit([DropMilestone("m2"), Put(again), Put(first)])
        assert await store.milestones([uid("g")], user_id="ann") == [first, again]
        await store.commit([Put(milestone("m3")), DropMilestone("m3")])
        assert len(await store.milestones([uid("g")], user_id="ann")) == 2
