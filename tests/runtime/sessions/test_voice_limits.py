"""How many sessions a user may have, and what happens around the limits."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.runtime.sessions.speaking import call, speaking, statuses
from tests.server.doors import soon
from vivavoce.errors import NotFound, ProviderError, RateLimited
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.voice import Opened
from vivavoce.session.events import End
from vivavoce.store import open_store
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.testing.realtime.faults import HttpError
from vivavoce.wire.records.talk import (
    Conversation,
    PutConversation,
    PutSession,
    Status,
    VoiceSession,
    new_id,
)

ONE = {"concurrent_sessions": 1, "sessions_per_10_minutes": 5, "sessions_per_day": 20}


async def test_one_session_at_a_time_and_the_second_is_told_when_to_come_back(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path, limits=ONE) as (d, voice):
        opened = await voice.create("ada", Options())
        await call(d, opened)
        with pytest.raises(RateLimited) as refused:
            await voice.create("ada", Options())
        assert refused.value.details["what"] == "concurrent"
        assert refused.value.details["retry_after_ms"] > 0
        # What was refused has touched nothing: the first one goes on, and nothing was minted.
        assert d.here.registry.get(opened.session.id) is not None
        assert sum("client_secrets" in r.path for r in d.provider.requests) == 1
        assert await statuses(d.here.store) == [(Status.ACTIVE, True)]
        await voice.create("bob", Options())


async def test_resuming_the_same_conversation_takes_it_over_and_does_not_count(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path, limits={**ONE, "sessions_per_day": 1}) as (d, voice):
        first = await voice.create("ada", Options())
        theirs = await call(d, first)
        second = await voice.resume_conversation(first.session.conversation_id, "ada", Options())
        await theirs.ended()
        assert second.session.conversation_id == first.session.conversation_id
        assert await statuses(d.here.store) == [(Status.ACTIVE, False), (Status.COMPLETED, True)]
        kept = await d.here.store.conversation(first.session.conversation_id, user_id="ada")
        assert kept is not None
        assert kept.ended_at is None
        reconnected = await voice.reconnect(second.session.id, "ada")
        assert reconnected.session.id == second.session.id
        with pytest.raises(RateLimited):
            await voice.create("ada", Options())


async def test_who_takes_over_again_and_again_has_to_wait(tmp_path: Path) -> None:
    async with speaking(tmp_path, limits={**ONE, "sessions_per_10_minutes": 3}) as (d, voice):
        opened = await voice.create("ada", Options())
        talk = opened.session.conversation_id
        for _ in range(2):
            opened = await voice.resume_conversation(talk, "ada", Options())
        with pytest.raises(RateLimited) as refused:
            await voice.resume_conversation(talk, "ada", Options())
        assert refused.value.details["what"] == "per_10_minutes"
        assert sum("client_secrets" in r.path for r in d.provider.requests) == 3
        assert voice.live(opened.session.id, "ada") is not None  # what is there goes on


async def test_the_cap_holds_whatever_calls_and_sessions_the_talk_has(tmp_path: Path) -> None:
    clock, capped = ManualClock(), {"timeouts": {"cap_minutes": 5, "idle_minutes": None}}
    async with speaking(tmp_path, agent=capped, clock=clock) as (d, voice):
        first = await voice.create("ada", Options())
        await call(d, first)
        await clock.advance(120)
        await voice.reconnect(first.session.id, "ada")
        await call(d, first)
        await clock.advance(60)
        second = await voice.resume_conversation(first.session.conversation_id, "ada", Options())
        theirs = await call(d, second)
        await clock.advance(90)  # four and a half minutes in all
        log = await d.here.store.events(after=0, limit=200, user_id="ada")
        told = [json.loads(event.data) for event in log if event.type == "session.warning"]
        assert [(each["reason"], each.get("action")) for each in told] == [("cap", None)]
        assert voice.live(second.session.id, "ada") is not None
        await clock.advance(31)
        await theirs.ended()
        await soon(lambda: voice.live(second.session.id, "ada") is None)


async def test_a_session_that_nobody_closed_leaves_the_next_one_its_whole_time(
    tmp_path: Path,
) -> None:
    clock, store = ManualClock(), MemoryStore()
    await store.open()
    before = clock.now() - timedelta(hours=2)
    talk = Conversation(id=new_id(), user_id="ada", created_at=before, updated_at=before)
    left = VoiceSession(
        id="vs_20260131_123022_a3f2",
        conversation_id=talk.id,
        user_id="ada",
        agent="tester",
        created_at=before,
        updated_at=before,
        voice="marin",
    )
    await store.commit([PutConversation(talk), PutSession(left, new=True)])
    capped = {"timeouts": {"cap_minutes": 5}}
    async with speaking(tmp_path, agent=capped, clock=clock, store=store) as (_, voice):
        opened = await voice.resume_conversation(talk.id, "ada", Options())
        assert opened.session.counted
        live = voice.live(opened.session.id, "ada")
        assert live is not None
        assert live.machine.state.policy.longest == 300


async def test_a_conversation_ends_with_its_session_and_goes_on_with_the_next(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path, agent={"context_type": "goal"}) as (d, voice):
        opened = await voice.create("ada", Options())
        talk = opened.session.conversation_id
        await voice.end(opened.session.id, "ada")
        ended = await d.here.store.conversation(talk, user_id="ada")
        assert ended is not None
        assert (ended.ended_at is not None, ended.context_type) == (True, "goal")
        await voice.resume_conversation(talk, "ada", Options())
        resumed = await d.here.store.conversation(talk, user_id="ada")
        assert resumed is not None
        assert resumed.ended_at is None
        assert await statuses(d.here.store) == [(Status.ACTIVE, True), (Status.COMPLETED, True)]
        with pytest.raises(NotFound):
            await voice.resume_conversation(talk, "eve", Options())


async def test_of_two_that_open_at_once_one_is_refused(tmp_path: Path) -> None:
    async with speaking(tmp_path, limits=ONE) as (d, voice):
        outcomes = await asyncio.gather(
            *(voice.create("ada", Options()) for _ in range(4)), return_exceptions=True
        )
        assert sum(isinstance(one, Opened) for one in outcomes) == 1
        assert sum(isinstance(one, RateLimited) for one in outcomes) == 3
        assert len(await statuses(d.here.store)) == 1


async def test_two_processes_on_one_database_count_together(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    async with (
        speaking(tmp_path, limits=ONE, store=open_store(url)) as (_, here),
        speaking(tmp_path, limits=ONE, store=open_store(url)) as (_, there),
    ):
        outcomes = await asyncio.gather(
            here.create("ada", Options()), there.create("ada", Options()), return_exceptions=True
        )
        assert sorted(type(one).__name__ for one in outcomes) == ["Opened", "RateLimited"]


async def test_what_the_provider_refuses_is_taken_back_and_does_not_count(tmp_path: Path) -> None:
    async with speaking(tmp_path, limits={**ONE, "sessions_per_10_minutes": 2}) as (d, voice):
        d.provider.inject(HttpError(401, path="client_secrets"))
        with pytest.raises(ProviderError):
            await voice.create("ada", Options())
        assert await statuses(d.here.store) == []
        opened = await voice.create("ada", Options())
        theirs = await call(d, opened)
        d.provider.inject(HttpError(401, path="client_secrets"))
        talk = opened.session.conversation_id
        with pytest.raises(ProviderError):
            await voice.resume_conversation(talk, "ada", Options())
        assert not theirs.over  # a call that works is not given up for one that does not
        assert d.here.registry.get(opened.session.id) is not None


async def test_a_session_that_nobody_connected_to_gives_way(tmp_path: Path) -> None:
    clock = ManualClock()
    async with speaking(tmp_path, limits=ONE, clock=clock) as (d, voice):
        left = await voice.create("ada", Options())
        with pytest.raises(RateLimited):
            await voice.create("ada", Options())
        await clock.advance(30)
        await voice.create("ada", Options())
        assert d.here.registry.get(left.session.id) is None


async def test_the_sessions_of_a_day_are_counted(tmp_path: Path) -> None:
    clock = ManualClock()
    async with speaking(tmp_path, limits={"sessions_per_day": 2}, clock=clock) as (_, voice):
        for _ in range(2):
            opened = await voice.create("ada", Options())
            await voice.end(opened.session.id, "ada", End("completed"))
            await clock.leap(3600)
        with pytest.raises(RateLimited) as refused:
            await voice.create("ada", Options())
        assert refused.value.details["what"] == "per_day"
        assert refused.value.details["retry_after_ms"] == 22 * 3600 * 1000
