"""Tokens and their cost, the day's budget, and what is known of the user."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.runtime.sessions.speaking import call, speaking, statuses
from tests.server.doors import Doors, soon
from vivavoce.errors import RateLimited
from vivavoce.runtime.provider.known_models import cost_micros, price_of
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.options import Options, auto_approves
from vivavoce.session.policy import Policy
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.wire.realtime.facts import ResponseDone, Usage
from vivavoce.wire.realtime.server import decode
from vivavoce.wire.records.plans import Person
from vivavoce.wire.records.talk import (
    Conversation,
    Put,
    PutConversation,
    PutSession,
    Status,
    VoiceSession,
    new_id,
)

HEARD = "input_audio_transcription.completed"


async def told(d: Doors, kind: str) -> list[dict[str, object]]:
    log = await d.here.store.events(after=0, limit=200, user_id="ada")
    return [json.loads(event.data) for event in log if event.type == kind]


async def test_what_a_session_takes_is_counted_and_has_its_price(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        opened = await voice.create("ada", Options())
        theirs = await call(d, opened)
        for words in ("One.", "Two, and a little more."):
            await theirs.user_says("Go on")
            await theirs.assistant_says(words)
        live = voice.live(opened.session.id, "ada")
        assert live is not None
        events = [decode(json.dumps(e)) for e in theirs.emitted if e["type"] == "response.done"]
        used = [event.usage for event in events if isinstance(event, ResponseDone)]
        await soon(lambda: live.records.session.output_tokens == sum(u.output for u in used))
        await voice.end(opened.session.id, "ada")
        kept = await d.here.store.session(opened.session.id, user_id="ada")
        assert kept is not None
        assert kept.input_tokens == sum(one.input for one in used)
        price = price_of("gpt-realtime")
        heard = [e["usage"]["seconds"] for e in theirs.emitted if e["type"].endswith(HEARD)]
        assert len(heard) == 2
        transcripts = sum(heard) * price_of("gpt-4o-mini-transcribe").second
        assert kept.cost_micros == sum(cost_micros(one, price) for one in used) + transcripts


@pytest.mark.parametrize("limits", [{"tokens_per_day": 20}, {"cost_per_day": 0.000_1}])
async def test_who_spends_the_days_budget_hears_so_and_the_session_ends(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    clock = ManualClock()
    async with speaking(tmp_path, limits=limits, clock=clock) as (d, voice):
        opened = await voice.create("ada", Options())
        theirs = await call(d, opened)
        await theirs.user_says("Tell me everything")
        await theirs.assistant_says("A long story, with many words in it, that costs a lot.")
        spoken = await theirs.expect("response.create")
        assert spoken["response"]["metadata"]["vivavoce_say"] == Policy().budget_words
        await theirs.assistant_starts("I'm sorry,")
        await clock.advance(3)
        assert voice.live(opened.session.id, "ada") is not None  # it still speaks
        await theirs.assistant_finishes()
        live = voice.live(opened.session.id, "ada")
        assert live is not None
        await soon(lambda: not live.machine.state.talk.responses.busy)
        await soon(lambda: live.machine.state.talk.speech.sounding is None)
        await clock.advance(3)
        await theirs.ended()
        await soon(lambda: voice.live(opened.session.id, "ada") is None)
        assert [e["reason"] for e in await told(d, "session.warning")] == ["budget"]
        assert [e["reason"] for e in await told(d, "session.ended")] == ["budget"]
        with pytest.raises(RateLimited) as refused:
            await voice.create("ada", Options())
        assert refused.value.details["retry_after_ms"] > 3600 * 1000
        with pytest.raises(RateLimited):  # writing costs too
            await voice.say(opened.session.conversation_id, "ada", "And then?", wait=0)
        await clock.leap(24 * 3600 + 60)
        await voice.create("ada", Options())


async def test_all_sessions_of_a_user_have_one_budget(tmp_path: Path) -> None:
    clock = ManualClock()
    async with speaking(tmp_path, limits={"tokens_per_day": 100_000}, clock=clock) as (d, voice):
        used = ResponseDone("resp_1", usage=Usage(input=60_000))
        lives: list[LiveSession] = []
        for user in ("ada", "ada", "bob"):
            opened = await voice.create(user, Options())
            await call(d, opened, user)
            lives += [live] if (live := voice.live(opened.session.id, user)) else []
            await lives[-1].submit(used)
        first, second, others = [live.machine.state for live in lives]
        assert [first.clock.broke_at, others.clock.broke_at] == [None, None]
        assert second.clock.broke_at is not None
        await clock.advance(61)  # the user's other one hears of it within a minute
        assert first.clock.broke_at is not None
        assert others.clock.broke_at is None


async def test_what_is_spent_in_another_process_ends_the_session_here(tmp_path: Path) -> None:
    clock, store = ManualClock(), MemoryStore()
    async with speaking(tmp_path, limits={"tokens_per_day": 1000}, clock=clock, store=store) as (
        d,
        voice,
    ):
        opened = await voice.create("ada", Options())
        theirs = await call(d, opened)
        elsewhere = replace(
            opened.session, id="vs_20260131_123022_a3f2", input_tokens=1000, voice=""
        )
        await store.commit([PutSession(elsewhere, new=True)])
        await clock.advance(61)
        await theirs.expect("response.create")
        await clock.advance(30)
        await theirs.ended()


async def test_the_session_is_told_who_the_user_is_and_what_they_prefer(tmp_path: Path) -> None:
    async with speaking(tmp_path, agent={"voice": "marin"}) as (d, voice):
        now = d.here.clock.now()
        ada = Person(
            id="ada",
            created_at=now,
            updated_at=now,
            name="Ada",
            time_zone="Asia/Tokyo",
            voice="cedar",
            verbosity="brief",
            auto_approve=True,
        )
        await d.here.store.commit([Put(ada)])
        opened = await voice.create("ada", Options())
        assert opened.session.voice == "cedar"
        assert auto_approves(opened.session)
        theirs = await call(d, opened)
        words = theirs.session["instructions"]
        assert "Ada" in words
        assert "(Asia/Tokyo)" in words
        assert "brief" in words
        wished = await voice.create("ada", Options(voice="ash"))
        assert wished.session.voice == "ash"
        stranger = await voice.create("bob", Options())
        assert stranger.session.voice == "marin"
        assert not auto_approves(stranger.session)


async def test_a_written_session_of_a_process_that_died_is_over(tmp_path: Path) -> None:
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
        model="gpt-realtime",
        call_id="text_0123",
        metadata={"options": Options(text=True).to_json()},
    )
    await store.commit([PutConversation(talk), PutSession(left, new=True)])
    async with speaking(tmp_path, clock=clock, store=store) as (d, voice):
        await soon(lambda: voice.live(left.id, "ada") is None)
        assert [status for status, _ in await statuses(d.here.store)] == [Status.ERROR]
