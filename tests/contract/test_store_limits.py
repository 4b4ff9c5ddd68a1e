"""How many sessions one user may have, and how much of the rest, counted where it is stored."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from tests.contract.conftest import Backend, FullStore
from tests.contract.records import (
    START,
    approval,
    at,
    call,
    conversation,
    entry,
    event,
    session,
    uid,
)
from vivavoce.errors import Forbidden, PayloadTooLarge, RateLimited
from vivavoce.wire.records.plans import NEVER_BEGAN, SessionLimits, Spent
from vivavoce.wire.records.talk import (
    Announce,
    Change,
    DropConversation,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
    Status,
    Within,
)
from vivavoce.wire.records.work import ApprovalStatus

DAY = 86_400


async def begin(
    store: FullStore, name: str, seconds: float, limits: SessionLimits, **changed: Any
) -> None:
    of = changed.pop("of", f"conversation of {name}")
    user = changed.get("user_id", "ann")
    when = {"created_at": at(seconds), "updated_at": at(seconds)}
    changed.setdefault("voice", "alloy")
    changes: list[Change] = [
        PutConversation(conversation(of, user_id=user, title="T", **when)),
        PutSession(session(name, of, **when | changed), new=True, limits=limits),
        Announce(event()),
    ]
    await store.commit(changes)


async def refused(
    store: FullStore, name: str, seconds: float, limits: SessionLimits, **changed: Any
) -> tuple[str, int, int | None]:
    with pytest.raises(RateLimited) as caught:
        await begin(store, name, seconds, limits, **changed)
    return caught.value.details["what"], caught.value.details["limit"], caught.value.retry_after_ms


async def test_where_several_are_one_user_a_lesser_one_opens_nothing_that_a_higher_one_led(
    backend: Backend,
) -> None:
    several, one = SessionLimits(one_of_many=True), SessionLimits()
    talk: dict[str, Any] = {"of": "talk"}
    async with backend.store() as store:
        await begin(store, "1", 0, several, role="user", **talk)
        await begin(store, "2", 1, several, role="developer", **talk)
        with pytest.raises(Forbidden, match="higher role"):
            await begin(store, "3", 2, several, role="user", **talk)
        assert await store.session("3", user_id="ann") is None
        await begin(store, "4", 3, several, role="developer", **talk)
        await begin(store, "5", 4, several, role="user", of="another talk")
        await begin(store, "6", 5, one, role="user", **talk)


async def test_the_role_of_a_session_stays_as_it_was_when_it_began(backend: Backend) -> None:
    async with backend.store() as store:
        await begin(store, "1", 0, SessionLimits(), role="user", of="talk")
        kept = await store.session("1", user_id="ann")
        assert kept is not None
        await store.commit([PutSession(replace(kept, role="operator", voice="ash"))])
        again = await store.session("1", user_id="ann")
        assert again is not None
        assert (again.role, again.voice) == ("user", "ash")


async def test_so_many_in_ten_minutes_and_nothing_is_written_of_one_more(backend: Backend) -> None:
    limits = SessionLimits(per_10_minutes=2)
    async with backend.store() as store:
        await begin(store, "1", 0, limits)
        await begin(store, "2", 100, limits)
        before = await store.log_bounds()
        assert await refused(store, "3", 200, limits) == ("per_10_minutes", 2, 400_000)
        assert await store.session("3", user_id="ann") is None
        assert await store.conversation(uid("conversation of 3"), user_id="ann") is None
        assert await store.log_bounds() == before
        await begin(store, "bob's", 200, limits, user_id="bob")
        await begin(store, "4", 601, limits)  # the first has left the window
        # There is room again when the second leaves as well, at 700 seconds.
        assert await refused(store, "5", 650, limits) == ("per_10_minutes", 2, 50_000)


async def test_so_many_a_day(backend: Backend) -> None:
    limits = SessionLimits(per_10_minutes=5, per_day=2)
    async with backend.store() as store:
        await begin(store, "1", 0, limits)
        await begin(store, "2", 5000, limits)
        assert await refused(store, "3", 9000, limits) == ("per_day", 2, (DAY - 9000) * 1000)
        await begin(store, "4", DAY, limits)


async def test_one_that_takes_over_is_no_new_one_of_the_day(backend: Backend) -> None:
    limits = SessionLimits(per_day=2)
    async with backend.store() as store:
        await begin(store, "1", 0, limits)
        await begin(store, "2", 1, limits, counted=False)
        await begin(store, "3", 2, limits)
        await begin(store, "4", 3, limits, counted=False)
        assert (await refused(store, "5", 4, limits))[0] == "per_day"


async def test_taking_over_has_the_rate_of_ten_minutes_all_the_same(backend: Backend) -> None:
    limits = SessionLimits(per_10_minutes=3)
    async with backend.store() as store:
        await begin(store, "1", 0, limits, of="c")
        await begin(store, "typed", 1, limits, of="c", voice="", counted=False)
        await begin(store, "2", 2, limits, of="c", counted=False)
        await begin(store, "3", 3, limits, of="c", counted=False)
        what, _, wait = await refused(store, "4", 4, limits, of="c", counted=False)
        assert (what, wait) == ("per_10_minutes", 596_000)
        nothing = session("3", "c", status=Status.ERROR, ended_at=at(5), end_reason=NEVER_BEGAN)
        await store.commit([PutSession(replace(nothing, counted=False))])
        await begin(store, "5", 6, limits, of="c", counted=False)


async def test_one_at_a_time_unless_it_is_the_same_conversation(backend: Backend) -> None:
    limits = SessionLimits(concurrent=1, stale_seconds=1000)
    async with backend.store() as store:
        await begin(store, "1", 0, limits, of="c")
        what, limit, wait = await refused(store, "2", 1, limits)
        assert (what, limit) == ("concurrent", 1)
        assert wait is not None
        await begin(store, "again", 2, limits, of="c")
        for name in ("1", "again"):
            ended = session(name, "c", status=Status.COMPLETED, ended_at=at(3))
            await store.commit([PutSession(ended)])
        await begin(store, "3", 4, limits)
        await begin(store, "4", 2000, limits)  # nobody closed the one before


async def test_one_that_is_typed_is_in_no_voices_way(backend: Backend) -> None:
    limits = SessionLimits(concurrent=1)
    async with backend.store() as store:
        await begin(store, "typed", 0, limits, voice="", counted=False)
        await begin(store, "spoken", 1, limits)
        assert (await refused(store, "another", 2, limits))[0] == "concurrent"


async def test_what_may_be_spent_in_a_day(backend: Backend) -> None:
    tokens = SessionLimits(tokens_per_day=100)
    cost = SessionLimits(cost_micros_per_day=1000)
    free = SessionLimits()
    async with backend.store() as store:
        await begin(store, "1", 0, free, input_tokens=30, output_tokens=20, cost_micros=900)
        await begin(store, "2", 50, tokens, input_tokens=49, cost_micros=99, counted=False)
        await begin(store, "3", 60, tokens)
        await begin(store, "4", 70, cost, input_tokens=1, cost_micros=200)
        assert await refused(store, "5", 100, tokens) == (
            *("tokens_per_day", 100),
            (DAY - 100) * 1000,
        )
        assert await refused(store, "5", 100, cost) == (
            *("cost_micros_per_day", 1000),
            (DAY - 100) * 1000,
        )
        await begin(store, "6", DAY + 1, tokens)

        async def spent(since: datetime) -> Spent:
            return await store.spent(user_id="ann", since=since)

        assert await spent(START) == Spent(
            sessions=4, input_tokens=80, output_tokens=20, cost_micros=1199, since=START
        )
        assert await spent(at(50)) == Spent(
            sessions=3, input_tokens=50, cost_micros=299, since=at(60)
        )
        assert await spent(at(2 * DAY)) == Spent()
        assert await store.spent(user_id="bob", since=START) == Spent()


async def test_of_many_at_once_as_many_begin_as_may_and_others_are_unharmed(
    backend: Backend,
) -> None:
    limits = SessionLimits(per_10_minutes=3)
    async with backend.store() as store:
        mine = [begin(store, f"ann's {n}", 0, limits) for n in range(6)]
        theirs = [begin(store, f"bob's {n}", 0, limits, user_id=f"bob {n}") for n in range(6)]
        outcomes = await asyncio.gather(*mine, *theirs, return_exceptions=True)
        assert [type(each) for each in outcomes if each is not None] == [RateLimited] * 3
        assert len(await store.sessions(user_id="ann")) == 3
        assert len(await store.active_sessions()) == 9


# --- How much of anything ---------------------------------------------------------------

KILOBYTES = 300
LONG = "x" * KILOBYTES * 1000


def said(name: str, of: str = "c", **changed: Any) -> PutEntry:
    return PutEntry(entry(name, of, **{"text": LONG} | changed))


async def test_so_many_conversations_at_all_servers_and_nothing_is_written_of_one_more(
    backend: Backend,
) -> None:
    room = Within("ann", conversations=2)
    async with backend.store() as here, backend.store() as there:
        await here.commit([PutConversation(conversation("1")), room])
        await there.commit([PutConversation(conversation("2")), room])
        with pytest.raises(RateLimited) as caught:
            await here.commit([PutConversation(conversation("3")), room])
        assert (caught.value.details["what"], caught.value.details["limit"]) == ("conversations", 2)
        assert await here.conversation(uid("3"), user_id="ann") is None
        bobs = PutConversation(conversation("4", user_id="bob"))
        await here.commit([bobs, Within("bob", conversations=2)])
        await here.commit([DropConversation(uid("1"), "ann")])
        await here.commit([PutConversation(conversation("3")), room])


async def test_of_several_that_come_at_once_only_so_many_are_let_in(backend: Backend) -> None:
    room = Within("ann", conversations=3)
    async with backend.store() as store:
        outcomes = await asyncio.gather(
            *(store.commit([PutConversation(conversation(str(i))), room]) for i in range(8)),
            return_exceptions=True,
        )
        assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 5
        assert (await store.conversation_list(user_id="ann"))[1] == 3


async def test_so_many_megabytes_and_room_again_when_something_is_deleted(
    backend: Backend,
) -> None:
    room = Within("ann", megabytes=1)
    async with backend.store() as store:
        await store.commit([PutConversation(conversation(name)) for name in ("c", "d")])
        await store.commit([said("1"), said("2", "d"), room])
        loose = call("t", arguments={"text": LONG})
        await store.commit([Put(loose), room])
        with pytest.raises(PayloadTooLarge) as caught:
            await store.commit([said("3"), room])
        assert (caught.value.details["what"], caught.value.details["limit"]) == ("megabytes", 1)
        assert not await store.has_message(uid("3"), conversation_id=uid("c"), user_id="ann")
        await store.commit([said("1")])  # the same once more is not more
        await store.commit([said("1", text="short"), room])
        await store.commit([said("3"), room])
        with pytest.raises(PayloadTooLarge):
            await store.commit([said("1"), room])
        await store.commit([DropConversation(uid("d"), "ann")])
        await store.commit([said("1"), room])


async def test_so_many_questions_wait_at_all_servers_those_that_lapsed_aside(
    backend: Backend,
) -> None:
    room = Within("ann", approvals=2)

    def asked(name: str, seconds: float) -> Change:
        return Put(approval(name, requested_at=at(seconds), expires_at=at(seconds + 60)))

    async with backend.store() as here, backend.store() as there:
        await here.commit([asked("1", 0), room])
        await there.commit([asked("2", 10), room])
        with pytest.raises(RateLimited) as caught:
            await here.commit([asked("3", 20), room])
        assert (caught.value.details["what"], caught.value.details["limit"]) == ("approvals", 2)
        await here.commit([asked("4", 61), room])  # nobody waits for the first any more
        granted = replace(approval("2"), status=ApprovalStatus.GRANTED, resolved_at=at(62))
        await here.commit([Put(granted)])
        await here.commit([asked("5", 63), room])
