"""A written message is never lost and never answered twice: not by a line that fails, nor by a
session that falls, nor by `kill -9`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.runtime.speaking import speaking, statuses
from tests.runtime.test_voice_text import answer, exchange, talk
from tests.server.doors import Doors, soon
from vivavoce.errors import ProviderError, Unavailable
from vivavoce.runtime.recovery import unheard
from vivavoce.runtime.texting import LEFT_SECONDS, OURS, Exchange, unanswered
from vivavoce.testing import MemoryStore, ScriptedCall
from vivavoce.testing.script import Drop, RefuseAttach
from vivavoce.wire.records import Change, Entry, Kind, LogEvent, new_id, utc_now


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


def test_what_a_call_may_not_have_heard_is_what_nobody_has_answered() -> None:
    def entry(kind: Kind, text: str, item: str) -> Entry:
        return Entry(
            id=new_id(),
            conversation_id="c",
            user_id="ada",
            session_id="vs_1",
            kind=kind,
            text=text,
            created_at=utc_now(),
            ordinal=0.0,
            data={"item_id": item},
        )

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
