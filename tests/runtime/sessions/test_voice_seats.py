"""Written sessions take no seat from anyone for longer than their answer takes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.runtime.sessions.speaking import call, speaking
from tests.runtime.sessions.test_voice_text import answer, exchange, talk
from tests.server.doors import soon
from vivavoce.errors import ModelUnavailable, RateLimited, Unavailable
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.registry import MOST_WRITTEN


async def test_a_full_house_makes_room_where_all_is_answered(tmp_path: Path) -> None:
    async with speaking(tmp_path, max_sessions=2) as (d, voice):
        first, _ = await exchange(d, voice, await talk(d), "Hello", "Hi.")
        second, _ = await exchange(d, voice, await talk(d), "Hello", "Hi.")
        opened = await voice.create("bob", Options())
        await call(d, opened, "bob")
        live = d.here.registry.get
        assert live(first.session.id) is None  # it had rested longest
        assert live(second.session.id) is not None
        kept = await d.here.store.session(first.session.id, user_id="ada")
        assert kept is not None
        assert kept.end_reason == "timeout"


async def test_nobody_gives_way_who_still_waits_for_an_answer(tmp_path: Path) -> None:
    async with speaking(tmp_path, max_sessions=1) as (d, voice):
        got = await voice.say(await talk(d), "ada", "Hello", wait=0)
        with pytest.raises(Unavailable):
            await voice.create("bob", Options())
        await answer(await d.provider.next_call(), "Hello", "Hi.")
        live = d.here.registry.get(got.session.id)
        assert live is not None
        await soon(lambda: live.resting_since is not None)
        await voice.create("bob", Options())


async def test_a_user_has_few_written_sessions_and_the_one_that_rested_longest_goes(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path) as (d, voice):
        got = [
            (await exchange(d, voice, await talk(d), "Hello", "Hi."))[0]
            for _ in range(MOST_WRITTEN + 1)
        ]
        live = [d.here.registry.get(one.session.id) is not None for one in got]
        assert live == [False, *[True] * MOST_WRITTEN]


async def test_many_messages_at_once_open_no_more_sessions_than_that(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        places = [await talk(d) for _ in range(5)]
        got = await asyncio.gather(
            *(voice.say(place, "ada", "Hello", wait=0) for place in places),
            return_exceptions=True,
        )
        refused = [one for one in got if isinstance(one, RateLimited)]
        assert len(refused) == len(places) - MOST_WRITTEN
        assert all(one.retry_after_ms for one in refused)
        assert len(d.here.registry) == MOST_WRITTEN
        kept = [await d.here.store.entries(place, user_id="ada") for place in places]
        assert sum(map(len, kept)) == MOST_WRITTEN  # who is refused has written nothing
        await voice.say(await talk(d, "bob"), "bob", "Hello", wait=0)


class Full:
    """A provider that has no room the first so many times."""

    def __init__(self, times: int, fault: Unavailable) -> None:
        self.times, self.fault, self.asked = times, fault, 0

    async def __call__(self) -> str:
        self.asked += 1
        if self.asked <= self.times:
            raise self.fault
        return "here you are"


async def test_a_full_provider_is_asked_again_once_a_session_that_rests_is_gone(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path) as (d, voice):
        registry, clock = d.here.registry, d.here.clock
        busy = Unavailable("Full.", retry_after_ms=5000)
        with pytest.raises(Unavailable):
            await registry.with_room(clock, Full(1, busy))  # nobody rests
        got, _ = await exchange(d, voice, await talk(d), "Hello", "Hi.")
        loading = Full(1, ModelUnavailable("Loading.", retry_after_ms=5000))
        with pytest.raises(ModelUnavailable):
            await registry.with_room(clock, loading)
        assert d.here.registry.get(got.session.id) is not None
        assert await registry.with_room(clock, Full(2, busy)) == "here you are"
        assert d.here.registry.get(got.session.id) is None
