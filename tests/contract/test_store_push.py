"""Browsers that take notices, and the notices: taken by one of several, and never begun anew."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import at, push_message, push_subscription, uid
from vivavoce.errors import InternalError
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.talk import DropPush, Put


async def test_a_browser_is_one_users_and_keeps_what_is_said_last(backend: Backend) -> None:
    async with backend.store() as store:
        phone, laptop = push_subscription(), push_subscription("laptop", created_at=at(1))
        await store.commit([Put(laptop), Put(phone), Put(push_subscription("x", user_id="bob"))])
        renamed = replace(phone, device="My phone", role="operator", updated_at=at(2))
        await store.commit([Put(renamed), Put(replace(laptop, user_id="bob", device="stolen"))])
        assert await store.push_subscriptions(user_id="ann") == [renamed, laptop]
        assert await store.push_subscription(phone.id) == renamed
        await store.commit([DropPush(phone.id, "bob"), DropPush(laptop.id, "ann")])
        assert await store.push_subscriptions(user_id="ann") == [renamed]


async def test_a_notice_goes_with_its_browser_and_is_for_nobody_elses(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(push_subscription()), Put(push_message())])
        with pytest.raises(InternalError):
            await store.commit([Put(push_message("other", user_id="bob"))])
        await store.commit([DropPush(uid("phone"), "ann")])
        assert await store.claim_pushes(now=at(9), until=at(20), limit=9, of_user=9) == []


async def test_of_several_who_ask_one_has_a_notice(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(push_subscription())])
        await store.commit([Put(push_message(str(n), due_at=at(n))) for n in range(6)])
        assert await store.next_push() == at(0)
        asking = [store.claim_pushes(now=at(4), until=at(60), limit=2, of_user=9) for _ in range(4)]
        found = [one for each in await asyncio.gather(*asking) for one in each]
        assert sorted(one.about for one in found) == [f"due:{n}" for n in range(5)]
        assert {one.due_at for one in found} == {at(60)}
        assert await store.next_push() == at(5)


async def test_what_is_noted_twice_is_not_begun_anew_and_what_was_sent_stays_so(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        message = push_message()
        await store.commit([Put(push_subscription()), Put(message)])
        again = replace(message, attempts=1, due_at=at(30), last_error="busy")
        await store.commit([Put(again)])
        await store.commit([Put(message)])  # by another server, which saw the same event
        assert await store.next_push() == at(30)
        sent = replace(again, status="sent", attempts=2, data={})
        await store.commit([Put(sent)])
        await store.commit([Put(replace(again, attempts=3)), Put(message)])
        assert await store.next_push() is None


async def test_notices_are_known_for_a_day(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(push_subscription()), Put(push_message(expires_at=at(60)))])
        assert await store.sweep(Retention(), at(60 + 86_000)) == 0
        assert await store.sweep(Retention(), at(60 + 86_500)) == 1


async def test_no_user_has_all_turns_and_some_have_none(backend: Backend) -> None:
    async with backend.store() as store:
        others = [push_subscription(name, user_id=name) for name in ("bob", "eve")]
        await store.commit([Put(push_subscription()), *(Put(one) for one in others)])
        mine = [push_message(f"a{n}", due_at=at(n)) for n in range(6)]
        theirs = [
            push_message(f"{one.user_id}{n}", user_id=one.user_id, subscription_id=one.id,
                         due_at=at(10 + n))
            for one in others
            for n in range(3)
        ]  # fmt: skip
        await store.commit([Put(one) for one in (*mine, *theirs)])
        asked: dict[str, Any] = {"now": at(30), "until": at(60), "of_user": 2}
        first = await store.claim_pushes(limit=4, but=["eve"], **asked)
        assert sorted(one.about for one in first) == ["due:a0", "due:a1", "due:bob0", "due:bob1"]
        rest = await store.claim_pushes(limit=9, **asked)
        assert sorted(one.about for one in rest) == [
            *("due:a2", "due:a3", "due:bob2", "due:eve0", "due:eve1")
        ]
