"""Written messages: into the live session, or into a session of their own in text mode."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.runtime.sessions.speaking import call, speaking
from tests.server.doors import Doors, soon
from vivavoce.errors import Conflict, InvalidRequest, NotFound, RateLimited
from vivavoce.runtime.limits import Shares
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.voice import Exchange, Voice
from vivavoce.testing import ManualClock, ScriptedCall
from vivavoce.testing.realtime.faults import Drop
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import (
    CallStatus,
    Change,
    Conversation,
    Kind,
    LogEvent,
    PutConversation,
    PutSession,
    new_id,
)


async def talk(d: Doors, user: str = "ada") -> str:
    now = d.here.clock.now()
    made = Conversation(id=new_id(), user_id=user, created_at=now, updated_at=now)
    await d.here.store.commit([PutConversation(made)])
    return made.id


def typed(words: str) -> dict[str, object]:
    return {"item": {"role": "user", "content": [{"type": "input_text", "text": words}]}}


async def answer(theirs: ScriptedCall, words: str, reply: str) -> None:
    await theirs.expect("conversation.item.create", where=typed(words))
    await theirs.expect("response.create")
    await theirs.assistant_says(reply)


async def exchange(
    d: Doors, voice: Voice, of: str, words: str, reply: str, theirs: ScriptedCall | None = None
) -> tuple[Exchange, ScriptedCall]:
    async with asyncio.TaskGroup() as group:
        said = group.create_task(voice.say(of, "ada", words, wait=10))
        theirs = theirs or await d.provider.next_call()
        await answer(theirs, words, reply)
    return said.result(), theirs


async def test_a_written_message_is_answered_in_text_by_the_same_agent(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        got, theirs = await exchange(d, voice, of, "Hello", "Hi, Ada.")
        assert got.reply is not None
        told = [(e.kind, e.text, e.modality) for e in (got.message, got.reply)]
        assert told == [(Kind.USER, "Hello", "text"), (Kind.ASSISTANT, "Hi, Ada.", "text")]
        assert theirs.offer == ""  # no call: a plain WebSocket
        assert theirs.session["output_modalities"] == ["text"]
        assert "Be brief." in theirs.session["instructions"]
        assert theirs.session["tools"]
        stored = await d.here.store.entries(of, user_id="ada")
        assert [e.id for e in stored] == [got.message.id, got.reply.id]
        # The next one goes the same way, quickly.
        again, _ = await exchange(d, voice, of, "And now?", "Now too.", theirs)
        assert again.message.session_id == got.message.session_id
        assert again.reply is not None
        assert again.reply.text == "Now too."
        log = await d.here.store.events(after=0, limit=99, user_id="ada")
        assert sum(event.type == "transcription.completed" for event in log) == 4


async def test_the_configuration_of_a_written_session_has_no_turn_detection(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        got, _ = await exchange(d, voice, await talk(d), "Hello", "Hi.")
        path, ada = f"/config/session/{got.session.id}", {"X-User-Id": "ada"}
        told = await d.http.patch(path, json={}, headers=ada)
        assert told.status_code == 200, told.text
        assert told.json()["effective_config"]["turn_detection"] is None


async def test_a_message_in_a_call_goes_into_the_call(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        opened = await voice.create("ada", Options())
        theirs = await call(d, opened)
        got, _ = await exchange(
            d, voice, opened.session.conversation_id, "Shorter, please", "Sure.", theirs
        )
        assert got.message.session_id == opened.session.id
        assert got.reply is not None
        assert (got.message.modality, got.reply.modality) == ("text", "voice")


async def test_the_reply_is_what_is_said_after_the_tools_have_run(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        async with asyncio.TaskGroup() as group:
            said = group.create_task(voice.say(of, "ada", "What is 6 times 7?", wait=10))
            theirs = await d.provider.next_call()
            await theirs.expect("response.create")
            await theirs.calls_tool("calculate", {"expression": "6*7"}, "call_1")
            await theirs.expect(
                "conversation.item.create", where={"item": {"type": "function_call_output"}}
            )
            await theirs.expect("response.create")
            await theirs.assistant_says("It is 42.")
        reply = said.result().reply
        assert reply is not None
        assert reply.text == "It is 42."


async def test_a_tool_does_not_wait_until_it_is_stored_what_the_answer_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        await exchange(d, voice, of, "Hello", "Hi.")
        (live,) = d.here.registry.of_conversation(of)
        journal, go_on, held = d.here.journal, asyncio.Event(), list[Sequence[Change]]()
        commit = journal.commit

        async def slow(changes: Sequence[Change]) -> list[LogEvent]:
            if isinstance(changes[0], PutSession):  # nothing of the conversation's before it
                held.append(changes)
                await go_on.wait()
            return await commit(changes)

        monkeypatch.setattr(journal, "commit", slow)
        before = live.records.session.input_tokens
        await live.post(rt.ResponseCreated("r9"))
        await live.post(rt.CallRequested("r9", "i9", "call_9", "calculate", '{"expression":"6*7"}'))
        await live.post(rt.ResponseDone("r9", usage=rt.Usage(10, 5)))
        async with asyncio.timeout(10):
            while not (known := await d.here.store.tool_call("call_9", user_id="ada")) or (
                known.status is CallStatus.STARTED
            ):
                await asyncio.sleep(0.005)
        assert (known.output, len(held)) == ("42", 1)
        stored = await d.here.store.session(live.id, user_id="ada")
        assert stored is not None
        assert stored.input_tokens == before
        go_on.set()
        async with asyncio.timeout(10):
            while stored is None or stored.input_tokens != before + 10:
                await asyncio.sleep(0.005)
                stored = await d.here.store.session(live.id, user_id="ada")


async def test_a_reply_that_takes_too_long_is_missing_and_comes_later(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        got = await voice.say(of, "ada", "Hello", wait=0)
        assert got.reply is None
        stored = await d.here.store.entries(of, user_id="ada")
        assert [e.id for e in stored] == [got.message.id]
        await answer(await d.provider.next_call(), "Hello", "Hi.")
        async with asyncio.timeout(10):
            while len(await d.here.store.entries(of, user_id="ada")) < 2:
                await asyncio.sleep(0.005)


async def test_two_messages_at_once_share_one_session(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        got = await asyncio.gather(*(voice.say(of, "ada", w, wait=0) for w in ("One", "Two")))
        assert len({one.message.session_id for one in got}) == 1


async def test_a_call_takes_over_and_knows_what_was_written(tmp_path: Path) -> None:
    limits = {"concurrent_sessions": 1, "sessions_per_10_minutes": 1}
    async with speaking(tmp_path, limits=limits) as (d, voice):
        of = await talk(d)
        got, _ = await exchange(d, voice, of, "Remember the milk", "I will.")
        opened = await voice.resume_conversation(of, "ada", Options())
        assert opened.session.counted  # writing was no session of the kind that is limited
        assert d.here.registry.get(str(got.message.session_id)) is None
        theirs = await call(d, opened)
        await theirs.expect("conversation.item.create", where=typed("Remember the milk"))


async def test_writing_elsewhere_does_not_block_a_call(tmp_path: Path) -> None:
    async with speaking(tmp_path, limits={"concurrent_sessions": 1}) as (d, voice):
        await voice.say(await talk(d), "ada", "Hello", wait=0)
        await voice.create("ada", Options())


async def test_a_call_that_only_waits_is_no_reason_not_to_answer(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        opened = await voice.create("ada", Options())
        of = opened.session.conversation_id
        got, _ = await exchange(d, voice, of, "Hello", "Hi.")
        assert got.message.session_id != opened.session.id
        theirs = await call(d, opened)
        await theirs.expect("conversation.item.create", where=typed("Hello"))
        assert d.here.registry.get(str(got.message.session_id)) is None


async def test_a_written_session_leaves_after_a_while_of_silence(tmp_path: Path) -> None:
    clock = ManualClock()
    async with speaking(tmp_path, clock=clock) as (d, voice):
        of = await talk(d)
        got, _ = await exchange(d, voice, of, "Hello", "Hi.")
        await clock.advance(60)
        assert d.here.registry.get(str(got.message.session_id)) is not None
        await clock.advance(70)
        await soon(lambda: d.here.registry.get(str(got.message.session_id)) is None)
        kept = await d.here.store.conversation(of, user_id="ada")
        assert kept is not None
        assert kept.ended_at is None  # nobody hung up
        _, theirs = await exchange(d, voice, of, "Still there?", "Yes.")
        assert any("Hello" in str(frame) for frame in theirs.received)


async def test_a_lost_line_of_a_written_session_is_its_end(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        of = await talk(d)
        got, theirs = await exchange(d, voice, of, "Hello", "Hi.")
        await theirs.inject(Drop())
        await soon(lambda: d.here.registry.get(str(got.message.session_id)) is None)
        again, _ = await exchange(d, voice, of, "Hello again", "Hi again.")
        assert again.message.session_id != got.message.session_id


async def test_what_cannot_be_a_message_is_refused(tmp_path: Path) -> None:
    async with speaking(tmp_path, clock=ManualClock()) as (d, voice):
        of = await talk(d)
        for nothing in ("", "  \n ", "x" * 9000):
            with pytest.raises(InvalidRequest):
                await voice.say(of, "ada", nothing, wait=0)
        with pytest.raises(NotFound):
            await voice.say(of, "eve", "Hello", wait=0)
        for number in range(Shares().messages_per_minute):
            await voice.say(of, "ada", f"Message {number}", wait=0)
        with pytest.raises(RateLimited):
            await voice.say(of, "ada", "One more", wait=0)


async def test_a_direct_call_is_attached_and_configured(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (d, voice):
        session = {"type": "realtime", "model": "gpt-realtime"}
        call_id, _ = await d.provider.create_call("v=0", session, "secret")
        theirs = await d.provider.next_call()
        opened = await voice.create("ada", Options())
        with pytest.raises(NotFound):
            await voice.connector.attach(opened.session.id, "eve", call_id)
        for no_call in ("../models", "text_1234", ""):
            with pytest.raises(InvalidRequest):
                await voice.connector.attach(opened.session.id, "ada", no_call)
        await voice.connector.attach(opened.session.id, "ada", call_id)
        await voice.connector.attach(opened.session.id, "ada", call_id)
        await theirs.expect("session.update")
        for user, fault in (("ada", Conflict), ("bob", NotFound)):  # another's call is not there
            other = await voice.create(user, Options())
            with pytest.raises(fault):
                await voice.connector.attach(other.session.id, user, call_id)
        assert await voice.end(opened.session.id, "ada")
        await theirs.ended()
