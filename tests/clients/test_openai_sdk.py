"""The `openai` Python SDK, unchanged: only its base URL is ours."""

from __future__ import annotations

import asyncio
import io
import wave
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI
from openai.types.websocket_reconnection import ReconnectingEvent

from tests.browser import sound
from tests.clients.between import between
from tests.clients.serving import TIME, TIME_TOOL, Served
from tests.clients.talk import MODEL, calls_of, in_order, share, talk, text_of
from tests.clients.voice import Voice

pytestmark = pytest.mark.timeout(240)  # the first one waits for the models to load
CLOCK = {
    "type": "function",
    "name": TIME_TOOL,
    "description": "The time of day.",
    "parameters": {"type": "object", "properties": {}},
}
LONG = "Tell me a story."
"""The brain has a long one."""


def manual(**more: Any) -> dict[str, Any]:
    """Turns are ours to end."""
    return {"audio": {"input": {"turn_detection": None}}, **more}


async def test_a_written_turn_is_answered_in_writing(served: Served) -> None:
    async with talk(served.url, served.key) as session:
        settings = await session.configure(output_modalities=["text"])
        assert settings["output_modalities"] == ["text"]
        await session.write("The kettle is on the stove.")
        response = await session.answer()
        assert response["status"] == "completed"
        assert "the kettle is on the stove" in text_of(response).lower()
        pieces = session.all("response.output_text.delta", response_id=response["id"])
        assert "".join(event["delta"] for event in pieces) == text_of(response)
        assert response["usage"]["total_tokens"] > 0
        assert not session.sound(response["id"])


async def test_a_spoken_turn_is_heard_and_answered_aloud(served: Served, voice: Voice) -> None:
    async with talk(served.url, served.key) as session:
        await session.configure(audio={"input": {"transcription": {"model": "whisper-1"}}})
        sentence = "My sister lives in a small house near the harbor."
        await session.say(await voice.say(sentence) + sound.silence(3))
        response = await session.response()
        assert response["status"] == "completed"
        if not session.all("conversation.item.input_audio_transcription.completed"):
            await session.until("conversation.item.input_audio_transcription.completed")
        (heard,) = session.all("conversation.item.input_audio_transcription.completed")
        assert share(sentence, heard["transcript"]) >= 0.7, heard
        spoken = await voice.hear(session.sound(response["id"]))
        assert share(text_of(response), spoken) >= 0.7, (text_of(response), spoken)
        assert share(heard["transcript"], text_of(response)) >= 0.7, "it says what it heard"
        turn = (
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "response.created",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_audio.delta",
            "response.output_audio.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.done",
        )
        assert in_order(turn, session.types())


async def test_a_tool_is_called_and_its_result_is_used(served: Served) -> None:
    async with talk(served.url, served.key) as session:
        await session.configure(output_modalities=["text"], tools=[CLOCK], tool_choice="auto")
        await session.write("What time is it?")
        (call,) = calls_of(await session.answer())
        assert call["name"] == TIME_TOOL
        (whole,) = session.all("response.function_call_arguments.done", item_id=call["id"])
        assert (whole["call_id"], whole["arguments"]) == (call["call_id"], call["arguments"])
        output = {
            "type": "function_call_output",
            "call_id": call["call_id"],
            "output": TIME,
        }
        await session.connection.conversation.item.create(item=output)  # type: ignore[arg-type]
        await session.until("conversation.item.done")
        response = await session.answer()
        assert response["status"] == "completed"
        assert "9:30" in text_of(response)


async def test_a_response_is_cancelled_in_the_middle_and_the_next_one_is_whole(
    served: Served,
) -> None:
    async with talk(served.url, served.key) as session:
        await session.configure(**manual())
        await session.write(LONG)
        await session.connection.response.create()
        first = await session.until("response.output_audio.delta")
        await session.connection.response.cancel(response_id=first["response_id"])
        cancelled = await session.response()
        assert cancelled["id"] == first["response_id"]
        assert cancelled["status"] == "cancelled"
        assert cancelled["status_details"]["reason"] == "client_cancelled"
        after = len(session.seen)
        await session.configure(output_modalities=["text"])
        await session.write("Are you well?")
        response = await session.answer()
        assert response["status"] == "completed"
        assert not [
            event for event in session.seen[after:] if event.get("response_id") == cancelled["id"]
        ], "nothing of it may follow"


async def test_who_speaks_while_it_answers_is_listened_to(served: Served, voice: Voice) -> None:
    sentence = "The old garden behind the church is full of roses."
    aloud = await voice.say(sentence) + sound.silence(3)
    async with talk(served.url, served.key) as session:
        await session.configure(audio={"input": {"transcription": {"model": "whisper-1"}}})
        await session.write(LONG)
        await session.connection.response.create()
        story = await session.until("response.output_audio.delta")
        await session.say(aloud)
        begun = await session.until("input_audio_buffer.speech_started")
        cancelled = await session.response()
        after = len(session.seen)
        assert (cancelled["id"], cancelled["status"]) == (story["response_id"], "cancelled")
        assert cancelled["status_details"]["reason"] == "turn_detected"
        items = session.connection.conversation.item
        await items.truncate(item_id=story["item_id"], content_index=0, audio_end_ms=100)
        await session.until("conversation.item.truncated", item_id=story["item_id"])
        response = await session.response()
        assert response["status"] == "completed"
        heard = "conversation.item.input_audio_transcription.completed"
        if not session.all(heard):
            await session.until(heard)
        (said,) = session.all(heard)
        assert said["item_id"] == begun["item_id"]
        assert share(sentence, said["transcript"]) >= 0.7, said
        assert share(said["transcript"], text_of(response)) >= 0.7, "it answers what it heard"
        sounds = [e for e in session.seen[after:] if e["type"] == "response.output_audio.delta"]
        assert {event["response_id"] for event in sounds} == {response["id"]}


async def test_a_session_is_changed_in_the_middle_and_keeps_what_is_not_named(
    served: Served,
) -> None:
    async with talk(served.url, served.key) as session:
        hearing = {"turn_detection": {"type": "semantic_vad", "eagerness": "low"}}
        before = await session.configure(
            instructions="Speak of boats.",
            output_modalities=["text"],
            tools=[CLOCK],
            audio={"input": hearing, "output": {"voice": "cedar", "speed": 1.2}},
        )
        await session.write("What time is it?")
        assert calls_of(await session.answer())
        after = await session.configure(tools=[], max_output_tokens=500, tracing=None)
        assert before["tools"][0]["name"] == TIME_TOOL
        assert after == before | {"tools": [], "max_output_tokens": 500}
        assert after["instructions"] == "Speak of boats."
        assert after["audio"]["input"]["turn_detection"]["eagerness"] == "low"
        assert after["audio"]["output"]["voice"] == "cedar"
        await session.write("What time is it?")
        assert "nobody gave me a clock" in text_of(await session.answer())


async def test_a_lost_connection_is_made_anew_by_the_sdk_and_the_talk_goes_on(
    served: Served,
) -> None:
    lost: list[ReconnectingEvent] = []
    sessions: list[str] = []
    answers: list[str] = []
    said = ["The moon is bright.", "The sun is warm."]
    async with (
        asyncio.timeout(60),
        between(served.origin) as proxy,
        AsyncOpenAI(base_url=proxy.url, api_key=served.key, max_retries=0) as client,
        client.realtime.connect(
            model=MODEL, on_reconnecting=lost.append, initial_delay=0.05
        ) as connection,
        httpx.AsyncClient(trust_env=False) as network,
    ):
        async for event in connection:  # the SDK's own loop, which connects again
            if event.type == "session.created":
                sessions.append(event.event_id)
                settings: Any = {"type": "realtime", "output_modalities": ["text"]}
                await connection.session.update(session=settings)
                part = {"type": "input_text", "text": said[len(answers)]}
                item: Any = {"type": "message", "role": "user", "content": [part]}
                await connection.conversation.item.create(item=item)
                await connection.response.create()
            elif event.type == "response.done":
                answers.append(text_of(event.response.model_dump()))
                if len(answers) == len(said):
                    break
                await network.post(proxy.controls["cut"])
            assert event.type != "error", event
    assert [one.close_code for one in lost] == [1006]
    assert len(set(sessions)) == 2
    assert [share(*pair) for pair in zip(said, answers, strict=True)] == [1, 1]


async def test_an_answer_is_truncated_to_what_was_heard(served: Served) -> None:
    async with talk(served.url, served.key) as session:
        await session.configure(**manual())
        await session.write("Tell me about the long road home, please, from the beginning.")
        response = await session.answer()
        (item,) = response["output"]
        items = session.connection.conversation.item
        await items.truncate(item_id=item["id"], content_index=0, audio_end_ms=300)
        truncated = await session.until("conversation.item.truncated")
        assert (truncated["item_id"], truncated["audio_end_ms"]) == (item["id"], 300)
        await items.retrieve(item_id=item["id"])
        kept = await session.until("conversation.item.retrieved")
        left = kept["item"]["content"][0].get("transcript") or ""
        assert len(left) < len(text_of(response))


async def test_a_manual_turn_waits_to_be_committed_and_to_be_asked_for(
    served: Served, voice: Voice
) -> None:
    async with talk(served.url, served.key) as session:
        transcription = {"transcription": {"model": "whisper-1"}}
        settings = await session.configure(
            audio={"input": {"turn_detection": None, **transcription}}
        )
        assert settings["audio"]["input"]["turn_detection"] is None
        sentence = "The blue boat is faster than the red one."
        await session.say(await voice.say(sentence) + sound.silence(2))
        await session.connection.input_audio_buffer.commit()
        committed = await session.until("input_audio_buffer.committed")
        heard = await session.until(
            "conversation.item.input_audio_transcription.completed", item_id=committed["item_id"]
        )
        assert share(sentence, heard["transcript"]) >= 0.7, heard
        assert "response.created" not in session.types(), "nobody asked"
        assert "input_audio_buffer.speech_started" not in session.types(), "nobody listens for it"
        response = await session.answer()
        assert response["status"] == "completed"
        assert session.sound(response["id"])


async def test_a_client_secret_opens_the_session_it_was_made_for(served: Served) -> None:
    async with AsyncOpenAI(base_url=served.url, api_key=served.key, max_retries=0) as client:
        wish: Any = {
            "type": "realtime",
            "model": MODEL,
            "instructions": "Speak of boats.",
            "output_modalities": ["text"],
        }
        secret = await client.realtime.client_secrets.create(session=wish)
    assert secret.value.startswith("ek_")
    async with talk(served.url, secret.value) as session:
        (created,) = session.all("session.created")
        assert created["session"]["instructions"] == "Speak of boats."
        assert created["session"]["output_modalities"] == ["text"]
        await session.write("Boats are slow.")
        assert "boats are slow" in text_of(await session.answer()).lower()


async def test_what_is_wrong_gets_an_error_with_its_event_id_and_the_session_lives_on(
    served: Served,
) -> None:
    wrong: list[dict[str, Any]] = [
        {"type": "conversation.item.invent"},
        {"type": "session.update", "session": {"type": "realtime", "shoe_size": 42}},
        {"type": "session.update", "session": {"type": "realtime", "output_modalities": ["smell"]}},
        {"type": "input_audio_buffer.append", "audio": "not base64!"},
        {"type": "input_audio_buffer.commit"},
        {"type": "conversation.item.delete", "item_id": "item_of_nobody"},
        {"type": "conversation.item.retrieve", "item_id": "item_of_nobody"},
        {
            "type": "conversation.item.truncate",
            "item_id": "item_of_nobody",
            "content_index": 0,
            "audio_end_ms": 0,
        },
        {"type": "conversation.item.create", "item": {"type": "message", "role": "narrator"}},
        {"type": "response.create", "response": {"max_output_tokens": "many"}},
        {"type": "response.cancel"},
    ]
    async with talk(served.url, served.key) as session:
        for number, event in enumerate(wrong):
            mark = f"mine_{number}"
            await session.connection.send({**event, "event_id": mark})  # type: ignore[arg-type]
            async with asyncio.timeout(10):
                answer = await session.next()
            assert answer["type"] == "error", (event, answer)
            assert answer["error"]["event_id"] == mark
            assert answer["error"]["message"]
        await session.configure(output_modalities=["text"])
        await session.write("Still there?")
        assert "still there" in text_of(await session.answer()).lower()


# --- Beside the Realtime API ------------------------------------------------------------------


async def test_a_sentence_is_spoken_and_written_down_again(served: Served) -> None:
    sentence = "My sister lives in a small house near the harbor."
    async with AsyncOpenAI(base_url=served.url, api_key=served.key) as client:
        for form, voice in (("mp3", "nova"), ("wav", "marin"), ("opus", "cedar")):
            spoken = await client.audio.speech.create(
                model="tts-1",
                voice=voice,
                input=sentence,
                response_format=form,  # type: ignore[arg-type]
            )
            heard = await client.audio.transcriptions.create(
                model="whisper-1", file=(f"speech.{form}", await spoken.aread())
            )
            assert share(sentence, heard.text) >= 0.8, (form, heard.text)


async def test_a_file_larger_than_other_requests_may_be_is_taken(served: Served) -> None:
    async with AsyncOpenAI(base_url=served.url, api_key=served.key, max_retries=0) as client:
        spoken = await client.audio.speech.create(
            model="tts-1", voice="alloy", input="Where is the red car?", response_format="pcm"
        )
        pcm = await spoken.aread() + bytes(48_000 * 40)
        file = io.BytesIO()
        with wave.open(file, "wb") as wav:
            wav.setparams((1, 2, 24_000, 0, "NONE", ""))
            wav.writeframes(pcm)
        stream = await client.audio.transcriptions.create(
            model="whisper-1", file=("long.wav", file.getvalue()), stream=True
        )
        *_, done = [event async for event in stream]
        assert done.type == "transcript.text.done"
        assert share("Where is the red car?", done.text) >= 0.8, done.text


async def test_a_chat_is_completed_with_a_tool(served: Served) -> None:
    async with AsyncOpenAI(base_url=served.url, api_key=served.key) as client:
        function = {name: value for name, value in CLOCK.items() if name != "type"}
        tools: Any = [{"type": "function", "function": function}]
        messages: list[Any] = [{"role": "user", "content": "What time is it?"}]
        first = await client.chat.completions.create(model="gpt-5", messages=messages, tools=tools)
        (call,) = first.choices[0].message.tool_calls or []
        messages += [
            first.choices[0].message,
            {"role": "tool", "tool_call_id": call.id, "content": TIME},
        ]
        stream = await client.chat.completions.create(
            model="gpt-5", messages=messages, tools=tools, stream=True
        )
        words = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
        assert "9:30" in words
