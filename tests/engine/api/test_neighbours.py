"""What clients expect beside the Realtime API, by the official SDK: chat, speech, transcripts.

Ears and mouth need no models here; `tests/clients` has the real ones.
"""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import av
import numpy as np
import pytest
from openai import (
    APIStatusError,
    AsyncOpenAI,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
)

from tests.engine.stage import KEY, EngineStage, engine_server
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import load
from vivavoce.engine.api import audio
from vivavoce.engine.api.answers import Endpoint
from vivavoce.errors import RateLimited
from vivavoce.testing.engine import HummingMouth, ScriptedEars
from vivavoce.wire.brain import Ask, Piece, Words

SCRIPT = """
rules:
  - when: what time
    say: "Let me look."
    call: {current_time: {zone: UTC}}
  - when: both
    call: [{current_time: {zone: UTC}}, {current_time: {zone: CET}}]
  - result_of: current_time
    say: "It is {output}."
  - when: count
    say: "one two three four five six"
  - when: break
    say: "Oh dear."
    fail: "Asked to fail."
otherwise: "You said: {text}."
result: "{output}"
"""
CLOCK: Any = {
    "type": "function",
    "function": {
        "name": "current_time",
        "description": "The time of day.",
        "parameters": {
            "type": "object",
            "properties": {"zone": {"type": "string"}},
            "required": ["zone"],
        },
    },
}


class Noted(ScriptedBrain):
    """Remembers what it was asked."""

    def __init__(self, **how: Any) -> None:
        super().__init__(load(SCRIPT), **how)
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> Any:
        self.asked.append(ask)
        return super().answer(ask)


@asynccontextmanager
async def sdk(
    brain: ScriptedBrain | None = None, **parts: Any
) -> AsyncIterator[tuple[AsyncOpenAI, EngineStage]]:
    async with engine_server(brain=brain or Noted(), **parts) as stage:
        client = AsyncOpenAI(base_url=stage.url, api_key=KEY, max_retries=0)
        try:
            yield client, stage
        finally:
            await client.close()


def said(*texts: str) -> Any:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


# --- Chat ---------------------------------------------------------------------------------------


async def test_a_question_is_answered_with_its_usage() -> None:
    brain = Noted()
    async with sdk(brain) as (client, _):
        messages: Any = [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"type": "text", "text": "And kind."}]},
            *said("Hello.", "Good day.", "The kettle is on."),
        ]
        done = await client.chat.completions.create(
            model="gpt-5", messages=messages, temperature=0.2, seed=7, user="me"
        )
    (choice,) = done.choices
    assert choice.message.content == "You said: The kettle is on."
    assert (choice.finish_reason, done.model, done.object) == ("stop", "gpt-5", "chat.completion")
    assert done.usage is not None
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens > 6
    (ask,) = brain.asked
    assert ask.instructions == "Be brief.\n\nAnd kind."
    assert len(ask.turns) == 3
    assert ask.live == "", "it never takes the place of a live conversation"


async def test_an_answer_streams_word_by_word_and_tells_its_usage_if_asked() -> None:
    async with sdk() as (client, _):
        stream = await client.chat.completions.create(
            model="m",
            messages=said("Count, please."),
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == "one two three four five six"
    assert len(deltas) > 6
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert (chunks[-1].choices, chunks[-1].usage.completion_tokens) == ([], 6)
    assert all(chunk.usage is None for chunk in chunks[:-1])


async def test_a_tool_is_called_and_its_result_answered_streamed_or_not() -> None:
    async with sdk() as (client, _):
        messages = said("What time is it?")
        asked: Any = {"model": "m", "tools": [CLOCK]}
        first = await client.chat.completions.create(messages=messages, **asked)
        message = first.choices[0].message
        assert first.choices[0].finish_reason == "tool_calls"
        assert message.content == "Let me look."
        (call,) = message.tool_calls or []
        assert call.type == "function"
        assert (call.function.name, call.function.arguments) == ("current_time", '{"zone": "UTC"}')
        messages += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "9:30"},
        ]
        second = await client.chat.completions.create(messages=messages, **asked)
        assert second.choices[0].message.content == "It is 9:30."
        stream = client.chat.completions.stream(messages=said("Tell me both."), **asked)
        async with stream as events:
            whole = await events.get_final_completion()
        calls = whole.choices[0].message.tool_calls or []
        assert [call.function.arguments for call in calls] == ['{"zone": "UTC"}', '{"zone": "CET"}']
        assert calls[0].id != calls[1].id


@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ("none", []),
        ("required", ["current_time"]),
        ({"type": "function", "function": {"name": "current_time"}}, ["current_time"]),
    ],
)
async def test_the_choice_of_a_tool_is_obeyed(choice: Any, called: list[str]) -> None:
    async with sdk() as (client, _):
        done = await client.chat.completions.create(
            model="m", messages=said("Hello."), tools=[CLOCK], tool_choice=choice
        )
    calls: Any = done.choices[0].message.tool_calls or []
    assert [call.function.name for call in calls] == called


async def test_length_and_stops_are_obeyed() -> None:
    async with sdk() as (client, _):
        create, messages = client.chat.completions.create, said("Count, please.")
        short = await create(model="m", messages=messages, max_tokens=3)
        assert short.choices[0].finish_reason == "length"
        assert short.choices[0].message.content == "one two three"
        same = await create(model="m", messages=messages, max_completion_tokens=3)
        assert same.choices[0].message.content == "one two three"
        stopped = await create(model="m", messages=messages, stop=["ree four", "nothing"])
        assert stopped.choices[0].message.content == "one two th"
        assert stopped.choices[0].finish_reason == "stop"
        assert stopped.usage is not None
        assert stopped.usage.prompt_tokens > 0
        unmet = await create(model="m", messages=messages, stop="six seven")
        assert unmet.choices[0].message.content == "one two three four five six"


async def test_an_answer_by_a_schema_is_json() -> None:
    schema: Any = {
        "type": "json_schema",
        "json_schema": {
            "name": "weather",
            "schema": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "warm": {"type": "boolean"}},
                "required": ["place", "warm"],
            },
        },
    }
    async with sdk() as (client, _):
        done = await client.chat.completions.create(
            model="m", messages=said("Paris"), response_format=schema
        )
    assert done.choices[0].message.content == '{"place": "Paris", "warm": false}'
    assert done.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("more", "param", "code"),
    [
        ({"n": 2}, "n", "invalid_value"),
        ({"logprobs": True}, "logprobs", "unsupported_parameter"),
        ({"functions": [{"name": "f"}]}, "functions", "unsupported_parameter"),
        ({"modalities": ["text", "audio"]}, "modalities[1]", "invalid_value"),
        (
            {"response_format": {"type": "json_object"}},
            "response_format",
            "unsupported_parameter",
        ),
        ({"tool_choice": "required"}, "tool_choice", "invalid_value"),
        ({"messages": []}, "messages", "invalid_value"),
        ({"messages": "hello"}, "messages", "invalid_type"),
        ({"messages": [{"content": "x"}]}, "messages[0].role", "missing_required_parameter"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages[0].content[0].type",
            "unsupported_parameter",
        ),
        (
            {"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]},
            "messages[0].tool_call_id",
            "invalid_value",
        ),
        (
            {"messages": [{"role": "user", "content": None}]},
            "messages[0].content",
            "missing_required_parameter",
        ),
        ({"nonsense": 1}, "nonsense", "unknown_parameter"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name(more: Any, param: str, code: str) -> None:
    async with sdk() as (client, _):
        body = {"model": "m", "messages": said("Hello."), **more}
        with pytest.raises(BadRequestError) as refused:
            await client.post("/chat/completions", body=body, cast_to=object)
    assert (refused.value.param, refused.value.code) == (param, code)
    assert refused.value.type == "invalid_request_error"


async def test_a_null_is_as_good_as_nothing() -> None:
    async with sdk() as (client, _):
        nulls = ("stop", "tools", "max_tokens", "response_format", "stream_options", "logprobs")
        body = {"model": "m", "messages": said("Hello."), **dict.fromkeys(nulls)}
        await client.post("/chat/completions", body=body, cast_to=object)


async def test_a_brain_that_breaks_is_an_error_before_the_stream_and_in_it() -> None:
    async with sdk() as (client, _):
        create = client.chat.completions.create
        with pytest.raises(InternalServerError, match="Asked to fail"):
            await create(model="m", messages=said("Please break."))
        stream = await create(model="m", messages=said("Please break."), stream=True)
        with pytest.raises(Exception, match="Asked to fail"):
            _ = [chunk async for chunk in stream]


class Small(Endpoint):
    AT_ONCE, WAITING = 1, 1


async def test_only_so_many_are_served_so_many_wait_and_the_rest_is_told_to_come_back() -> None:
    nothing: Any = None
    small, go = Small(nothing), asyncio.Event()

    async def one() -> None:
        async with small.turn():
            await go.wait()

    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(one()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited):
            await one()
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
        go.set()
        await one()


class Endless(Noted):
    """Never comes to an answer; says when it was left alone."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way, self.left = asyncio.Event(), asyncio.Event()

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        self.under_way.set()
        try:
            await asyncio.Event().wait()
            yield Words("never")
        finally:
            self.left.set()


@pytest.mark.parametrize("stream", [False, True])
async def test_the_brain_is_left_alone_when_the_client_leaves(stream: Any) -> None:
    brain = Endless()
    async with sdk(brain) as (client, _), asyncio.timeout(10), asyncio.TaskGroup() as group:
        asking = client.chat.completions.create(model="m", messages=said("Hi."), stream=stream)
        waiting = group.create_task(asking)
        await brain.under_way.wait()
        waiting.cancel()
        await brain.left.wait()


async def test_the_neighbours_want_a_key_and_take_no_client_secret() -> None:
    async with sdk() as (client, stage):
        minted = await stage.post("/realtime/client_secrets", {})
        for key in ("sk-other", minted.json()["value"]):
            other = client.with_options(api_key=key)
            with pytest.raises(AuthenticationError) as wrong:
                await other.chat.completions.create(model="m", messages=said("Hi."))
            assert wrong.value.code == "invalid_api_key"
            with pytest.raises(AuthenticationError):
                await other.audio.speech.create(model="m", voice="alloy", input="Hi.")
            with pytest.raises(AuthenticationError):
                await other.audio.transcriptions.create(model="m", file=("a.wav", b"x"))


async def test_before_the_models_are_loaded_they_say_so() -> None:
    async with sdk(ready=False) as (client, _):
        with pytest.raises(APIStatusError) as early:
            await client.chat.completions.create(model="m", messages=said("Hi."))
        assert (early.value.status_code, early.value.code) == (503, "model_unavailable")


# --- Speech -------------------------------------------------------------------------------------

TEXT = "Good morning. The kettle is on the stove, and the tea is nearly ready."


def samples(data: bytes) -> Any:
    return np.concatenate(list(audio.read(data)))


@pytest.mark.parametrize("form", ["mp3", "opus", "aac", "flac", "wav", "pcm"])
async def test_text_becomes_a_file_of_every_kind(form: Any) -> None:
    mouth = HummingMouth(20)
    async with sdk(mouth=mouth) as (client, _):
        spoken = await client.audio.speech.create(
            model="tts-1", voice="alloy", input=TEXT, response_format=form
        )
        data = await spoken.aread()
    assert spoken.response.headers["content-type"] == audio.FORMS[form][0]
    assert "".join(mouth.spoken) == TEXT
    if form == "pcm":
        heard = np.frombuffer(data, "<i2").astype(np.float32)[::3] / 32768 * 2
        seconds = len(data) / 48_000
    else:
        heard = samples(data)
        seconds = len(heard) / 16_000
    assert 1.0 < seconds < 3.0
    assert 0.1 < float(np.abs(heard).max()) <= 1.0


async def test_speech_is_sent_as_it_is_made_in_sound_or_in_events() -> None:
    async with sdk(mouth=HummingMouth(20)) as (client, _):
        asked: Any = {"model": "m", "voice": "marin", "input": TEXT, "response_format": "pcm"}
        create = client.audio.speech.with_streaming_response.create
        async with create(**asked) as spoken:
            pieces = [piece async for piece in spoken.http_response.aiter_raw()]
        assert len(pieces) > 1
        async with create(**asked, stream_format="sse") as told:
            lines = [line async for line in told.iter_lines() if line.startswith("data: ")]
    assert "speech.audio.delta" in lines[0]
    assert "speech.audio.done" in lines[-1]
    assert '"total_tokens"' in lines[-1]


async def test_faster_speech_is_shorter() -> None:
    async with sdk(mouth=HummingMouth(20)) as (client, _):
        asked: Any = {"model": "m", "voice": "alloy", "input": TEXT, "response_format": "pcm"}
        plain = await (await client.audio.speech.create(**asked)).aread()
        fast = await (await client.audio.speech.create(**asked, speed=2.0)).aread()
    assert len(fast) < 0.75 * len(plain)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"voice": "nobody"}, "voice"),
        ({"input": ""}, "input"),
        ({"input": "😀 … "}, "input"),
        ({"input": "a" * 4097}, "input"),
        ({"speed": 5}, "speed"),
        ({"response_format": "midi"}, "response_format"),
    ],
)
async def test_speech_that_cannot_be_is_refused_by_name(more: Any, param: str) -> None:
    async with sdk() as (client, _):
        with pytest.raises(BadRequestError) as refused:
            await client.audio.speech.create(
                **{"model": "m", "voice": "alloy", "input": "Hi.", **more}
            )
    assert refused.value.param == param


# --- Transcripts --------------------------------------------------------------------------------


def tone(seconds: float) -> bytes:
    wave_ = np.sin(np.arange(int(seconds * 24_000)) * 0.2) * 8000
    return bytes(wave_.astype("<i2").tobytes())


def wav(seconds: float) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        file.writeframes(tone(seconds))
    return out.getvalue()


def recorded(seconds: float, container: str, codec: str) -> bytes:
    """As a browser or a phone would make it."""
    out = io.BytesIO()
    with av.open(out, "w", format=container) as file:
        stream = file.add_stream(codec, rate=48_000, layout="stereo")
        assert isinstance(stream, av.AudioStream)
        sound = np.tile(np.frombuffer(tone(seconds), "<i2"), (2, 1)).T.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(sound, format="s16", layout="stereo")
        frame.sample_rate = 24_000
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


FILES = [
    ("a.wav", wav(1.5)),
    ("a.mp3", recorded(1.5, "mp3", "libmp3lame")),
    ("a.ogg", recorded(1.5, "ogg", "libopus")),
    ("a.webm", recorded(1.5, "webm", "libopus")),
    ("a.flac", recorded(1.5, "flac", "flac")),
    ("a.m4a", recorded(1.5, "mp4", "aac")),
]


class Hearing(ScriptedEars):
    """Hears a text of each segment, and notes how it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.urgent: list[bool] = []
        self.seconds: list[float] = []

    async def transcribe(self, speech: Any, **how: Any) -> Any:
        self.urgent.append(how["urgent"])
        self.seconds.append(len(speech) / 16_000)
        self.keywords = how.get("keywords", ())
        self.texts = type(self.texts)([f"Segment {len(self.seconds)}."])
        return await super().transcribe(speech, **{**how, "urgent": True})


@pytest.mark.parametrize(("name", "data"), FILES, ids=[name for name, _ in FILES])
async def test_files_of_every_usual_kind_are_heard(name: str, data: bytes) -> None:
    ears = Hearing()
    async with sdk(ears=ears) as (client, _):
        heard = await client.audio.transcriptions.create(
            model="whisper-1", file=(name, data), prompt="Keywords: pytest, Redis", language="en"
        )
    assert heard.text == "Segment 1."
    assert ears.urgent == [False], "live conversations go first"
    assert 1.3 < ears.seconds[0] < 1.8
    assert set(ears.keywords) == {"pytest", "Redis"}


async def test_a_transcript_comes_in_every_format() -> None:
    async with sdk(ears=Hearing()) as (client, _):
        create = client.audio.transcriptions.create
        verbose = await create(
            model="m",
            file=("a.wav", wav(1.5)),
            response_format="verbose_json",
            timestamp_granularities=["segment"],
        )
        assert verbose.text == "Segment 1."
        assert verbose.duration == 1.5
        (segment,) = verbose.segments or []
        assert (segment.start, segment.end, segment.text) == (0.0, 1.5, "Segment 1.")
        asked: Any = {"model": "m", "file": ("a.wav", wav(1.5))}
        assert await create(**asked, response_format="text") == "Segment 2.\n"
        srt = await create(**asked, response_format="srt")
        assert srt == "1\n00:00:00,000 --> 00:00:01,500\nSegment 3.\n\n"
        vtt = await create(**asked, response_format="vtt")
        assert vtt == "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nSegment 4.\n\n"


async def test_a_long_file_is_heard_in_segments_that_stream() -> None:
    ears = Hearing()
    async with sdk(ears=ears) as (client, _):
        stream = await client.audio.transcriptions.create(
            model="m", file=("a.wav", wav(70)), stream=True
        )
        events = [event async for event in stream]
    assert sum(ears.seconds) == pytest.approx(70, abs=0.1)
    assert len(ears.seconds) >= 4
    assert max(ears.seconds) <= 20
    *deltas, done = events
    assert done.type == "transcript.text.done"
    assert all(event.type == "transcript.text.delta" for event in deltas)
    assert "".join(event.delta for event in deltas) == done.text  # type: ignore[union-attr]
    assert len(deltas) == len(ears.seconds)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello" * 100,
        b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n",
        b"ffconcat version 1.0\nfile /etc/hostname\n",
    ],
)
async def test_what_is_no_sound_is_refused_and_nothing_else_is_opened(data: bytes) -> None:
    async with sdk() as (client, _):
        with pytest.raises(BadRequestError, match="cannot be read"):
            await client.audio.transcriptions.create(model="m", file=("a.wav", data))


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"timestamp_granularities": ["word"]}, "timestamp_granularities"),
        ({"include": ["logprobs"]}, "include"),
        ({"response_format": "diarized_json"}, "response_format"),
        ({"extra_body": {"nonsense": "1"}}, "nonsense"),
    ],
)
async def test_a_transcript_that_cannot_be_is_refused_by_name(more: Any, param: str) -> None:
    async with sdk() as (client, _):
        with pytest.raises(BadRequestError) as refused:
            await client.audio.transcriptions.create(model="m", file=("a.wav", wav(1)), **more)
    assert refused.value.param == param
