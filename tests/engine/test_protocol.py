"""The Realtime protocol over a real WebSocket, with ears and a mouth that need no models."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import numpy as np
import pytest

from tests.engine.stage import engine_server, loud, quiet
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.engine.media.audio import RATES, decode, encode
from vivavoce.testing.engine import HummingMouth, ScriptedEars, SureJudge

TIME = {
    "type": "function",
    "name": "time",
    "description": "The time.",
    "parameters": {"type": "object", "properties": {}},
}


async def test_speech_becomes_a_turn_with_words_and_an_answer_with_sound() -> None:
    ears = ScriptedEars(["what is the time"])
    async with engine_server(ears=ears, script=Script(otherwise="{text}")) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"transcription": {"model": "whisper-1"}}})
        await line.speak()
        done = (await line.until("response.done"))["response"]
        heard = line.all("conversation.item.input_audio_transcription.completed")[0]
        assert heard["transcript"] == "what is the time"
        deltas = line.all("conversation.item.input_audio_transcription.delta")
        assert "".join(d["delta"] for d in deltas) == "what is the time"
        said = done["output"][0]["content"][0]["transcript"]
        assert "what is the time" in said
        sound = line.all("response.output_audio.delta")
        spoken = [(await HummingMouth(10).speak(t, voice="marin")).pcm for t in stage.mouth.spoken]
        assert b"".join(base64.b64decode(e["delta"]) for e in sound) == b"".join(spoken)


async def test_manual_turns_commit_and_ask_by_themselves() -> None:
    async with engine_server(ears=ScriptedEars(["by hand"])) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": None}})
        await line.append(loud(500) + quiet(2000))
        await line.send("input_audio_buffer.commit")
        await line.until("conversation.item.done")
        assert "input_audio_buffer.speech_started" not in line.types()
        done = await line.answer(output_modalities=["text"])
        assert "by hand" in done["output"][0]["content"][0]["text"]
        assert stage.ears.heard_seconds == [pytest.approx(2.5, abs=0.05)]


async def test_an_empty_buffer_cannot_be_committed_and_a_cleared_one_is_empty() -> None:
    async with engine_server() as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": None}})
        await line.append(loud(500))
        await line.send("input_audio_buffer.clear")
        await line.until("input_audio_buffer.cleared")
        await line.send("input_audio_buffer.commit", event_id="e7")
        fault = (await line.until("error"))["error"]
        assert (fault["code"], fault["event_id"]) == ("input_audio_buffer_commit_empty", "e7")


@pytest.mark.parametrize("form", ["audio/pcm", "audio/pcmu"])
async def test_a_commit_takes_the_very_last_sample_that_was_appended(form: str) -> None:
    async with engine_server(ears=ScriptedEars(["a", "b"])) as stage:
        line = await stage.line()
        written = {"turn_detection": None, "transcription": {"model": "whisper-1"}}
        await line.configure(audio={"input": {**written, "format": _format(form)}})
        for _ in range(2):  # the least that can be committed, and nothing left for the next
            await line.append(encode(np.full(RATES[form] // 10, 4000, np.int16), form))
            await line.send("input_audio_buffer.commit")
            await line.until("conversation.item.input_audio_transcription.completed")
        assert stage.ears.heard_seconds == [pytest.approx(0.1, abs=0.002)] * 2


def _format(form: str) -> dict[str, Any]:
    return {"type": form, "rate": 24_000} if form == "audio/pcm" else {"type": form}


@pytest.mark.parametrize("form", ["audio/pcmu", "audio/pcma"])
async def test_telephone_sound_goes_in_and_out(form: str) -> None:
    mouth = HummingMouth(20)
    ears, script = ScriptedEars(["hello operator"]), Script(otherwise="{text}")
    async with engine_server(mouth=mouth, ears=ears, script=script) as stage:
        line = await stage.line()
        await line.configure(
            audio={"input": {"format": {"type": form}}, "output": {"format": {"type": form}}}
        )
        wave = (np.sin(np.arange(8 * 600) * 0.5) * 8000).astype(np.int16)
        await line.append(encode(wave, form), piece=800)
        await line.append(encode(np.zeros(8 * 700, np.int16), form), piece=800)
        await line.until("response.done")
        sound = b"".join(
            base64.b64decode(e["delta"]) for e in line.all("response.output_audio.delta")
        )
        clauses = 0
        for text in list(mouth.spoken):
            clauses += len((await HummingMouth(20).speak(text, voice="marin")).pcm)
        assert len(sound) == pytest.approx(clauses / 6, rel=0.02), "8 kHz, a byte a sample"
        assert np.abs(decode(sound, form).astype(np.int32)).max() > 5000


async def test_semantic_turns_wait_for_the_judge() -> None:
    judge = SureJudge(0.0)
    async with engine_server(judge=judge) as stage:
        line = await stage.line()
        detection = {"type": "semantic_vad", "eagerness": "high"}
        await line.configure(audio={"input": {"turn_detection": detection}})
        await line.append(loud(600) + quiet(700))
        await line.until("input_audio_buffer.speech_started")
        await line.configure(instructions="Still the same turn.")
        assert "input_audio_buffer.speech_stopped" not in line.types()
        judge.probability = 1.0
        await line.append(quiet(1500))
        await line.until("input_audio_buffer.speech_stopped")
        assert judge.asked >= 2


async def test_a_tool_round() -> None:
    script = Script(
        rules=(
            Rule(when="time", calls=(ToolUse("time"),)),
            Rule(result_of="time", say="It is {output}."),
        )
    )
    async with engine_server(script=script) as stage:
        line = await stage.line()
        await line.configure(tools=[TIME], output_modalities=["text"])
        await line.write("What time is it?")
        done = await line.answer()
        call = done["output"][-1]
        assert (call["type"], call["name"], call["status"]) == (
            "function_call",
            "time",
            "completed",
        )
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
        await line.send("conversation.item.create", item=output)
        done = await line.answer()
        assert done["output"][0]["content"][0]["text"] == "It is noon."


async def test_a_response_is_cancelled_in_the_middle_and_the_next_one_works() -> None:
    slow = ScriptedBrain(Script(otherwise="word " * 500), pause=asyncio.sleep, word_delay=0.01)
    async with engine_server(brain=slow) as stage:
        line = await stage.line()
        await line.configure(output_modalities=["text"])
        await line.write("Go on.")
        await line.send("response.create")
        await line.until("response.output_text.delta")
        await line.send("response.cancel")
        done = (await line.until("response.done"))["response"]
        assert done["status_details"]["reason"] == "client_cancelled"
        assert done["output"][0]["status"] == "incomplete"
        await line.send("response.cancel", event_id="again")
        assert (await line.until("error"))["error"]["event_id"] == "again"


async def test_speech_over_the_assistant_interrupts_it() -> None:
    slow = ScriptedBrain(Script(otherwise="word, " * 500), pause=asyncio.sleep, word_delay=0.01)
    async with engine_server(brain=slow) as stage:
        line = await stage.line()
        await line.write("Go on.")
        await line.send("response.create")
        first = await line.until("response.output_audio.delta")
        await line.append(loud(300))
        done = (await line.until("response.done"))["response"]
        assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        await line.send(
            "conversation.item.truncate",
            item_id=first["item_id"],
            content_index=0,
            audio_end_ms=10,
        )
        await line.until("conversation.item.truncated")


async def test_a_session_that_only_writes_down() -> None:
    async with engine_server(ears=ScriptedEars(["take a note"])) as stage:
        line = await stage.line("intent=transcription")
        assert line.seen[0]["session"]["type"] == "transcription"
        await line.speak()
        done = await line.until("conversation.item.input_audio_transcription.completed")
        assert done["transcript"] == "take a note"
        await line.send("response.create", event_id="r1")
        assert (await line.until("error"))["error"]["event_id"] == "r1"
        assert "response.created" not in line.types()


@pytest.mark.parametrize(
    ("frame", "code", "event_id"),
    [
        ("{", "invalid_json", None),
        ("[]", "invalid_json", None),
        ('{"event_id":"a"}', "missing_required_parameter", "a"),
        ('{"type":"session.updat","event_id":"b"}', "invalid_value", "b"),
        ('{"type":"session.update","event_id":"c"}', "missing_required_parameter", "c"),
        ('{"type":"session.update","session":3,"event_id":"d"}', "invalid_type", "d"),
        ('{"type":"response.create","respons":{},"event_id":"e"}', "unknown_parameter", "e"),
        (
            '{"type":"input_audio_buffer.append","audio":"%%","event_id":"f"}',
            "invalid_value",
            "f",
        ),
        ('{"type":"transcription_session.update","event_id":"g"}', "invalid_value", "g"),
    ],
)
async def test_nonsense_gets_an_error_with_its_id_and_the_session_lives_on(
    frame: str, code: str, event_id: str | None
) -> None:
    async with engine_server() as stage:
        line = await stage.line()
        await line.socket.send(frame)
        fault = (await line.until("error"))["error"]
        assert (fault["code"], fault["event_id"]) == (code, event_id)
        await line.socket.send(b"\x00binary")
        assert (await line.until("error"))["error"]["code"] == "invalid_json"
        await line.write("Still there?")
        assert (await line.answer(output_modalities=["text"]))["status"] == "completed"


UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    (
        {"audio": {"input": {"transcription": {"model": "whisper-1", "language": "de"}}}},
        "session.audio.input.transcription.language",
    ),
    ({"prompt": {"id": "pmpt_1"}}, "session.prompt"),
    (
        {"tools": [TIME, {"type": "mcp", "server_label": "x", "server_url": "https://x.example"}]},
        "session.tools[1].type",
    ),
    ({"audio": {"output": {"voice": {"id": "voice_1"}}}}, "session.audio.output.voice"),
]


@pytest.mark.parametrize(("session", "param"), UNSUPPORTED, ids=lambda s: str(s)[:20])
async def test_what_is_not_supported_is_refused_by_name_and_the_rest_is_taken(
    session: dict[str, Any], param: str
) -> None:
    async with engine_server() as stage:
        line = await stage.line()
        session = {"type": "realtime", "instructions": "Be brief.", **session}
        await line.send("session.update", session=session, event_id="u")
        fault = (await line.until("error"))["error"]
        assert (fault["code"], fault["param"]) == ("unsupported_parameter", param)
        assert fault["event_id"] == "u"
        updated = (await line.until("session.updated"))["session"]
        assert updated["instructions"] == "Be brief."
        assert [tool["name"] for tool in updated["tools"]] == ["time"] * ("tools" in session)
        assert updated["audio"]["output"]["voice"] == "marin"


async def test_sound_inside_an_item_is_heard_too() -> None:
    async with engine_server(ears=ScriptedEars(["from a file"])) as stage:
        line = await stage.line()
        part = {"type": "input_audio", "audio": base64.b64encode(loud(500)).decode()}
        item = {"type": "message", "role": "user", "content": [part], "id": "clip"}
        await line.send("conversation.item.create", item=item)
        done = await line.answer(output_modalities=["text"])
        assert "from a file" in done["output"][0]["content"][0]["text"]
        await line.send("conversation.item.retrieve", item_id="clip")
        kept = (await line.until("conversation.item.retrieved"))["item"]
        assert kept["content"][0]["transcript"] == "from a file"


async def test_minutes_of_sound_in_one_event_leave_others_their_turn() -> None:
    async with engine_server() as stage:
        long, other = await stage.line(), await stage.line()
        await long.configure(audio={"input": {"turn_detection": None}})
        sound = base64.b64encode(quiet(180_000)).decode()
        await long.send("input_audio_buffer.append", audio=sound)
        await other.configure()
        await long.send("input_audio_buffer.commit")
        await long.until("input_audio_buffer.committed")
        assert stage.ears.heard_seconds == [pytest.approx(180, abs=1)]
