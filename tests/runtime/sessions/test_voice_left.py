"""A written message is never lost and never answered twice: not by a connection that fails, nor
by a session that falls, nor by `kill -9`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.runtime.sessions.speaking import call, speaking, statuses
from tests.runtime.sessions.test_voice_text import answer, exchange, talk
from tests.server.doors import Doors, soon
from vivavoce.errors import ProviderError, Unavailable
from vivavoce.runtime.sessions.elsewhere import unheard
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.texting import LEFT_SECONDS, OURS, Exchange, unanswered
from vivavoce.testing import ManualClock, MemoryStore, ScriptedCall
from vivavoce.testing.realtime.faults import Drop, RefuseAttach
from vivavoce.wire.records.talk import (
    Change,
    Entry,
    Kind,
    LogEvent,
    PutEntry,
    PutSession,
    VoiceSession,
    new_id,
    utc_now,
)


async def said(d: Doors, of: str) -> list[tuple[Kind, str]]:
    return [(e.kind, e.text) for e in await d.here.store.entries(of, user_id="ada")]


async def until_said(d: Doors, of: str, count: int) -> list[tuple[Kind, str]]:
    async with asyncio.timeout(10):
        while len(found := await said(d, of)) < count:
            await asyncio.sleep(0.005)
    return found


async def falls(d: Doors, times: int) -> ScriptedCall:
    """The session of each of the next calls falls over the message; the call after them."""
    for _ in range(times):
        theirs = await d.provider.next_call()
        await theirs.expect("response.create")
        await theirs.inject(Drop())
    return await d.provider.next_call()


async def test_without_a_line_nothing_is_written(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        d.provider.inject(RefuseAttach(status=401))
        with pytest.raises(ProviderError):
            await voice.say(of, "ada", "Hello", wait=10)
        assert await said(d, of) == []
        assert await statuses(d.here.store) == []
        assert len(d.here.registry) == 0
        got, _ = await exchange(d, voice, of, "Hello", "Hi.")
        assert got.reply is not None


async def test_when_its_session_falls_another_one_answers(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        async with asyncio.TaskGroup() as group:
            saying = group.create_task(voice.say(of, "ada", "Hello", wait=10))
            await answer(await falls(d, 1), "Hello", "Hi.")
        got = saying.result()
        assert got.reply is not None
        assert got.session.id != got.message.session_id  # kept by the one that fell
        assert await said(d, of) == [(Kind.USER, "Hello"), (Kind.ASSISTANT, "Hi.")]


async def test_when_all_fall_that_is_told_and_the_same_words_again_are_the_same_message(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)

        async def write() -> Exchange:
            with pytest.raises(Unavailable):
                await voice.say(of, "ada", "Hello", wait=10)
            return await voice.say(of, "ada", "Hello", wait=10)

        async with asyncio.TaskGroup() as group:
            writing = group.create_task(write())
            await answer(await falls(d, 3), "Hello", "Hi.")
        assert writing.result().reply is not None
        assert await said(d, of) == [(Kind.USER, "Hello"), (Kind.ASSISTANT, "Hi.")]
        (*_, theirs) = d.provider.calls.values()
        again, _ = await exchange(d, voice, of, "Hello", "Hi again.", theirs)
        assert again.reply is not None  # once it is answered the same words are another message
        assert len(await said(d, of)) == 4


async def test_other_words_come_after_what_was_left_and_have_one_answer(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        await voice.say(of, "ada", "Hello", wait=0)
        theirs = await d.provider.next_call()
        await theirs.expect("response.create")
        await theirs.inject(Drop())
        await soon(lambda: len(d.here.registry) == 0)
        got, theirs = await exchange(d, voice, of, "Are you there?", "Yes. Hello.")
        assert got.reply is not None
        asked = [f for f in theirs.received if f["type"] == "response.create"]
        assert len(asked) == 1
        assert any("Hello" in str(frame) for frame in theirs.received)
        assert [text for _, text in await said(d, of)] == ["Hello", "Are you there?", "Yes. Hello."]


class Mortal(MemoryStore):
    """Once it is dead, nothing of what the process still does reaches it."""

    dead = False

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        return [] if self.dead else await super().commit(changes)


async def test_what_was_written_before_a_kill_is_answered_after_it_and_once(
    tmp_path: Path,
) -> None:
    store = Mortal()
    async with speaking(tmp_path, store=store, port=8123) as (d, voice):
        of = await talk(d)
        await voice.say(of, "ada", "Hello", wait=0)
        await (await d.provider.next_call()).expect("response.create")
        store.dead = True
    store.dead = False
    async with speaking(tmp_path, store=store, port=8123) as (d, voice):
        assert await said(d, of) == [(Kind.USER, "Hello")]
        theirs = await d.provider.next_call()
        await theirs.expect("response.create")
        # Whoever asks again meanwhile gets the one answer too.
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(voice.say(of, "ada", "Hello", wait=10))
            await theirs.assistant_says("Hi.")
        reply = asking.result().reply
        assert reply is not None
        assert await said(d, of) == [(Kind.USER, "Hello"), (Kind.ASSISTANT, "Hi.")]
        assert sum("Hello" in str(frame) for frame in theirs.received) == 1
        store.dead = True
    store.dead = False
    async with speaking(tmp_path, store=store, port=8123) as (d, voice):
        _, theirs = await exchange(d, voice, of, "Bye", "Bye.")
        assert len(await said(d, of)) == 4
        assert len(d.provider.calls) == 1  # nothing was left to answer


async def test_two_messages_whose_session_falls_are_kept_once_and_have_one_answer(
    tmp_path: Path,
) -> None:
    async with speaking(tmp_path) as (d, voice), asyncio.TaskGroup() as group:
        of = await talk(d)
        both = [group.create_task(voice.say(of, "ada", words, wait=10)) for words in ("One", "Two")]
        theirs = await d.provider.next_call()
        await until_said(d, of, 2)
        await theirs.expect("response.create")
        await theirs.inject(Drop())
        theirs = await d.provider.next_call()
        await theirs.expect("response.create")
        (live,) = d.here.registry.of_conversation(of)
        await soon(lambda: len(live.machine.state.talk.typed) == 2)
        await theirs.assistant_says("Both.")
        replies = [(await one).reply for one in both]
        assert [reply and reply.text for reply in replies] == ["Both.", "Both."]
        assert [text for _, text in await said(d, of)] == ["One", "Two", "Both."]
        assert sum(frame["type"] == "response.create" for frame in theirs.received) == 1


async def test_a_message_whose_session_gave_way_to_a_call_is_kept_once(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice), asyncio.TaskGroup() as group:
        opened = await voice.create("ada", Options())
        of = opened.session.conversation_id
        saying = group.create_task(voice.say(of, "ada", "Hello", wait=10))
        first = await d.provider.next_call()
        await first.expect("response.create")
        await call(d, opened)

        def asked() -> list[ScriptedCall]:
            others = [one for one in d.provider.calls.values() if one is not first]
            return [
                one for one in others if any(f["type"] == "response.create" for f in one.received)
            ]

        await soon(asked)
        await asked()[0].assistant_says("Hi.")
        assert (await saying).reply is not None
        assert await said(d, of) == [(Kind.USER, "Hello"), (Kind.ASSISTANT, "Hi.")]


async def test_what_was_written_before_an_orderly_stop_is_answered_after_it(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    async with speaking(tmp_path, store=store, port=8123) as (d, voice):
        of = await talk(d)
        await voice.say(of, "ada", "Hello", wait=0)
        await (await d.provider.next_call()).expect("response.create")
    async with speaking(tmp_path, store=store, port=8123) as (d, _):
        theirs = await d.provider.next_call()
        await theirs.expect("response.create")
        await theirs.assistant_says("Hi.")
        assert await until_said(d, of, 2) == [(Kind.USER, "Hello"), (Kind.ASSISTANT, "Hi.")]
        await soon(lambda: len(d.here.registry) == 1)
        assert len(await store.active_sessions()) == 1  # the old one is closed


async def test_what_another_process_answers_is_not_answered_here(tmp_path: Path) -> None:
    clock, store = ManualClock(), MemoryStore()
    async with speaking(tmp_path, clock=clock, store=store) as (d, voice):
        of = await talk(d)
        conversation = await store.conversation(of, user_id="ada")
        assert conversation is not None

        async def written(text: str) -> None:
            await store.commit([PutEntry(entry(Kind.USER, text, f"{OURS}{text}", of, clock.now()))])

        await written("Hello")
        d.provider.inject(RefuseAttach(status=401))
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(voice.texting.answer_left([(conversation, "operator")]))
            await soon(lambda: 5.0 in clock.slept)  # the first try failed
            await clock.advance(1)
            await written("Are you there?")  # at the other one, which has it now
            await clock.advance(5)
            await answering
        theirs = VoiceSession(
            id="vs_20260131_123022_a3f2",
            conversation_id=of,
            user_id="ada",
            agent="tester",
            created_at=clock.now(),
            updated_at=clock.now(),
        )
        await store.join("another server", 60)
        await store.commit([PutSession(theirs, new=True)])
        await store.join("this one once more", 60)
        await voice.texting.answer_left([(conversation, "operator")])
        assert len(d.here.registry) == 0
        assert len(d.provider.calls) <= 1  # the one that was refused


def entry(kind: Kind, text: str, item: str, of: str = "c", at: datetime | None = None) -> Entry:
    return Entry(
        id=new_id(),
        conversation_id=of,
        user_id="ada",
        session_id="vs_1",
        kind=kind,
        text=text,
        created_at=at or utc_now(),
        ordinal=at.timestamp() if at else 0.0,
        data={"item_id": item},
    )


def test_what_a_call_may_not_have_heard_is_what_nobody_has_answered() -> None:
    said = [
        entry(Kind.USER, "Hello", f"{OURS}1"),
        entry(Kind.ASSISTANT, "Hi.", "item_2"),
        entry(Kind.USER, "and aloud", "item_3"),
        entry(Kind.USER, "Are you there?", f"{OURS}4"),
    ]
    assert unheard(said) == ((f"{OURS}4", "Are you there?"),)
    assert unanswered(said, utc_now()) is said[-1]
    assert unanswered(said, utc_now() + timedelta(seconds=LEFT_SECONDS + 1)) is None
    assert unanswered(said[:3], utc_now()) is None
    assert unanswered(said[:2], utc_now()) is None
