"""The Wyoming door with the published package at its other end: everything is real but the models
(`tests/clients/test_wyoming.py` has those)."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.pipeline import PipelineStage
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeVoice,
)
from wyoming.wake import Detection

from tests.journeys.embedded import embedded
from tests.journeys.satellites import Room, connecting, listening
from tests.journeys.stage import Stage
from tests.journeys.test_tool_flows import until_answerable
from vivavoce.app.settings import Settings
from vivavoce.app.wyoming import rules
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.server.wyoming.door import Rules, Wyoming
from vivavoce.server.wyoming.lines import Bounds
from vivavoce.testing.engine import HummingMouth, ScriptedEars


def loud(seconds: float, rate: int = 16_000) -> bytes:
    wave = np.sin(np.arange(int(rate * seconds)) * (2 * np.pi * 300 / rate)) * 9000
    return bytes(wave.astype("<i2").tobytes())


@asynccontextmanager
async def house(folder: Path, **more: Any) -> AsyncIterator[tuple[Stage, str]]:
    async with embedded(folder, wyoming=True, **more) as st:
        assert st.here.hardware is not None
        yield st, st.here.hardware.status()["address"]


@asynccontextmanager
async def client(address: str) -> AsyncIterator[AsyncTcpClient]:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    async with AsyncTcpClient(host, int(port), connect_timeout=5, read_timeout=20) as one:
        yield one


async def until(one: AsyncTcpClient, kind: str) -> tuple[Event, list[Event]]:
    """That event, and what came before it."""
    seen: list[Event] = []
    while (event := await one.read_event()) is not None:
        if event.type == kind:
            return event, seen
        seen.append(event)
    raise AssertionError(f"{kind} never came; saw {[event.type for event in seen]}")


# --- The ears and the mouth alone -------------------------------------------------------------


async def test_a_client_is_told_which_models_and_voices_are_there(tmp_path: Path) -> None:
    async with house(tmp_path) as (_, address), client(address) as one:
        await one.write_event(Ping("are you there?").event())
        pong, _ = await until(one, "pong")
        assert Pong.from_event(pong).text == "are you there?"
        await one.write_event(Describe().event())
        told = Info.from_event((await until(one, "info"))[0])
        (ears,), (mouth,) = told.asr, told.tts
        assert ears.installed
        assert ears.supports_transcript_streaming
        assert [model.name for model in ears.models] == ["moonshine-base"]
        assert mouth.supports_synthesize_streaming
        assert "marin" in [voice.name for voice in mouth.voices]


async def test_a_recording_is_written_down_while_it_comes(tmp_path: Path) -> None:
    ears = ScriptedEars(["turn on the light in the kitchen"])
    async with house(tmp_path, ears=ears) as (st, address), client(address) as one:
        await one.write_event(Transcribe(language="en-US").event())
        await one.write_event(AudioStart(16_000, 2, 1).event())
        for _ in range(20):
            await one.write_event(AudioChunk(16_000, 2, 1, loud(0.1)).event())
            await asyncio.sleep(0.1)
        await one.write_event(AudioStop().event())
        transcript, before = await until(one, "transcript")
        assert Transcript.from_event(transcript).text == "turn on the light in the kitchen"
        assert before[0].type == "transcript-start"
        shown = "".join(event.data["text"] for event in before[1:])
        assert shown == "turn on the light in the kitchen"
        assert len(before) > 2  # some of it came before the rest
        await until(one, "transcript-stop")
        # The same connection serves again; silence has no words.
        await one.write_event(AudioStart(16_000, 2, 1).event())
        await one.write_event(AudioChunk(16_000, 2, 1, bytes(32_000)).event())
        await one.write_event(AudioStop().event())
        again, _ = await until(one, "transcript")
        assert Transcript.from_event(again).text == ""
        while st.here.engine is not None and st.here.engine.calls:
            await asyncio.sleep(0.01)  # neither takes a seat any longer


async def test_a_text_is_spoken_in_the_voice_that_was_asked_for(tmp_path: Path) -> None:
    mouth = HummingMouth(20)
    async with house(tmp_path, mouth=mouth) as (_, address), client(address) as one:
        said = Synthesize("The kettle boils.", voice=SynthesizeVoice(name="cedar"))
        await one.write_event(said.event())
        start, _ = await until(one, "audio-start")
        assert (start.data["rate"], start.data["width"], start.data["channels"]) == (24_000, 2, 1)
        _, chunks = await until(one, "audio-stop")
        sound = b"".join(event.payload or b"" for event in chunks)
        assert len(sound) / 48_000 > 0.3
        assert mouth.spoken[-1] == "The kettle boils."


async def test_a_text_that_comes_piece_by_piece_is_spoken_while_it_comes(tmp_path: Path) -> None:
    mouth = HummingMouth(20)
    async with house(tmp_path, mouth=mouth) as (_, address), client(address) as one:
        await one.write_event(SynthesizeStart().event())
        text = "Once upon a time there was a king. He lived in "
        for word in re.findall(r"\S+ ", text):
            await one.write_event(SynthesizeChunk(word).event())
        await until(one, "audio-start")  # of the first sentence
        await one.write_event(SynthesizeChunk("a castle by the sea.").event())
        await one.write_event(Synthesize("Once upon a time. All of it.").event())  # as older ones
        await one.write_event(SynthesizeStop().event())
        await until(one, "audio-stop")
        await until(one, "synthesize-stopped")
        heard = " ".join(" ".join(mouth.spoken).split())
        assert heard.endswith("there was a king. He lived in a castle by the sea.")
        assert "All of it" not in heard


async def test_what_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    wrong = (
        (Synthesize("Hello", voice=SynthesizeVoice(name="nobody")), "no voice 'nobody'"),
        (Transcribe(language="de"), "English only"),
        (Transcribe(name="whisper-huge"), "no model 'whisper-huge'"),
        (Synthesize("Hello", text_format="ssml"), "plain text only"),
        (SynthesizeChunk("Hello"), "behind 'synthesize-start'"),
    )
    async with house(tmp_path) as (_, address):
        for event, words in wrong:
            async with client(address) as one:
                await one.write_event(event.event())
                if isinstance(event, Transcribe):
                    await one.write_event(AudioStart(16_000, 2, 1).event())
                refused, _ = await until(one, "error")
                assert words in Error.from_event(refused).text
                assert await one.read_event() is None  # whoever waits for an answer sees its end


# --- A satellite ------------------------------------------------------------------------------

KETTLE = Script(rules=(Rule(when="kettle", say="The kettle boils in two minutes."),))


async def _asks(room: Room, seconds: float = 0.8) -> None:
    await room.wake()
    await room.hear(bytes(16_000))  # half a second to draw breath
    await room.hear(loud(seconds))
    await room.quiet()


async def _state(st: Stage) -> str:
    (shown,) = (await st.get("/status"))["wyoming"]["satellites"]
    return str(shown["state"])


async def test_a_satellite_that_connects_has_a_talk_like_any_other(tmp_path: Path) -> None:
    ears = ScriptedEars(["when does the kettle boil", "and the kettle now"])
    async with house(tmp_path, ears=ears, script=KETTLE) as (st, address):
        async with connecting(address) as room:
            await _asks(room)
            assert (await room.until("transcript")).data["text"] == "when does the kettle boil"
            await room.until("audio-stop")
            kinds = room.types()
            order = ["transcribe", "voice-started", "voice-stopped", "transcript", "audio-start"]
            assert [kind for kind in kinds if kind in order] == order
            assert room.all("synthesize")[0].data["text"] == "The kettle boils in two minutes."
            form = room.all("audio-start")[0].data
            assert (form["rate"], form["width"], form["channels"]) == (22_050, 2, 1)
            assert len(room.sound) / 44_100 > 0.5
            status = (await st.get("/status"))["wyoming"]
            (shown,) = status["satellites"]
            assert shown["name"] == "kitchen at 127.0.0.1"
            assert shown["state"] in ("speaking", "talking")
            assert status["connections"] == 1
            while await _state(st) == "speaking":
                await asyncio.sleep(0.05)  # the wake word would interrupt it
            # Said again, without a new conversation: the session goes on.
            await _asks(room)
            await room.until("audio-stop", 2)
            while await _state(st) == "speaking":
                await asyncio.sleep(0.05)  # who leaves before that has not heard all
        sessions = (await st.get("/sessions"))["sessions"]
        assert len(sessions) == 1
        while (await st.get("/sessions"))["sessions"][0]["status"] == "active":
            await asyncio.sleep(0.05)  # it ends with its satellite
        shown = await st.get(f"/sessions/{sessions[0]['id']}")
        said = [(one["entry_type"], one["text"]) for one in shown["transcript"] if one.get("text")]
        assert said == [
            ("user", "when does the kettle boil"),
            ("assistant", "The kettle boils in two minutes."),
            ("user", "and the kettle now"),
            ("assistant", "The kettle boils in two minutes."),
        ]


async def test_a_satellite_is_called_on_and_goes_on_with_its_conversation(tmp_path: Path) -> None:
    ears = ScriptedEars(["the kettle please", "the kettle again"])
    async with listening() as there:
        places = (f"tcp://127.0.0.1:{there.port}",)
        async with house(tmp_path, ears=ears, script=KETTLE, wyoming_satellites=places) as (st, _):
            room = await there.room()
            await room.until("run-satellite")
            await _asks(room)
            await room.until("audio-stop")
            first = (await st.get("/sessions"))["sessions"][0]
            await st.post(f"/sessions/{first['id']}/end")
            await _asks(room)
            await room.until("audio-stop", 2)
            sessions = (await st.get("/sessions"))["sessions"]
            assert len(sessions) == 2
            assert len({one["conversation_id"] for one in sessions}) == 1


STORY = "Once upon a time there was a king. " * 10
TOLD = Script(rules=(Rule(when="story", say=STORY),))


async def _answers(st: Stage) -> list[str]:
    """What was said to the user, as it is stored."""
    session = (await st.get("/sessions"))["sessions"][0]["id"]
    shown = await st.get(f"/sessions/{session}")
    found = [one for one in shown["transcript"] if one["entry_type"] == "assistant"]
    return [one["text"] for one in found if one.get("text")]


async def test_the_wake_word_interrupts_an_answer(tmp_path: Path) -> None:
    ears = ScriptedEars(["tell me a story", "stop"])
    open_house = house(tmp_path, ears=ears, script=TOLD)
    async with open_house as (st, address), connecting(address) as room:
        await _asks(room)
        await room.until("audio-start")
        await asyncio.sleep(1.0)
        await room.wake()
        await room.until("audio-stop")
        assert 0.8 < len(room.sound) / 44_100 < 3.0  # of seven seconds
        while not (told := await _answers(st)):
            await asyncio.sleep(0.05)
        assert len(told[0]) < len(STORY) / 2


@pytest.mark.parametrize("barge_in", [True, False])
async def test_a_voice_interrupts_an_answer_where_the_microphone_does_not_hear_it(
    tmp_path: Path, barge_in: bool
) -> None:
    ears = ScriptedEars(["tell me a story", "stop please"], otherwise="the story")
    wanted = {"wyoming_open_mic": True, "wyoming_barge_in": barge_in, "ears": ears}
    async with (
        house(tmp_path, script=TOLD, **wanted) as (_, address),
        connecting(address) as room,
    ):
        await room.wake(always=True, stage=PipelineStage.WAKE)
        await room.hear(bytes(16_000))
        assert "voice-started" not in room.types()  # nobody is there, so there is no talk
        await room.hear(loud(0.8))
        while not room.all("audio-start"):
            await room.hear(bytes(3200))
        await room.hear(bytes(16_000))
        await room.hear(loud(0.8))
        while not room.all("audio-stop"):
            await room.hear(bytes(3200))
        seconds = len(room.sound) / 44_100
        assert seconds < 3.0 if barge_in else seconds > 5.0


async def test_a_talk_that_nobody_goes_on_with_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(settings: Settings) -> Rules:
        given = rules(settings)
        return replace(given, manners=replace(given.manners, rest_seconds=0.5))

    monkeypatch.setattr("vivavoce.app.wyoming.rules", impatient)
    open_house = house(tmp_path, ears=ScriptedEars(["the kettle"]), script=KETTLE)
    async with open_house as (st, address), connecting(address) as room:
        await _asks(room)
        await room.until("audio-stop")
        async with asyncio.timeout(10):
            while (await st.get("/sessions"))["sessions"][0]["status"] == "active":
                await asyncio.sleep(0.1)
        (shown,) = (await st.get("/status"))["wyoming"]["satellites"]
        assert shown == {"name": "kitchen at 127.0.0.1", "state": "idle"}
        assert not room.all("error")


async def test_who_is_asked_something_may_answer_at_once(tmp_path: Path) -> None:
    """Where the satellite knows how; the wake word is not needed again."""
    asks = Script(
        rules=(
            Rule(when="yes", say="It is on."),
            Rule(when="kettle", say="Shall I turn the kettle on?"),
        )
    )
    ears = ScriptedEars(["the kettle", "yes please"])
    open_house = house(tmp_path, ears=ears, script=asks)
    async with open_house as (_, address), connecting(address, triggered=True) as room:
        await _asks(room)
        await room.until("run-pipeline")
        await _asks(room)
        await room.until("audio-stop", 2)
        assert room.all("synthesize")[-1].data["text"] == "It is on."


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_what_needs_a_yes_is_asked_at_the_satellite(tmp_path: Path, answer: str) -> None:
    delete = ToolUse("bash", {"command": "rm list.txt"})
    tidy = Script(
        rules=(
            Rule(when="my list", calls=(delete,)),
            Rule(result_of="bash", when='"success": ?false', say="Then I leave it."),
            Rule(result_of="bash", say="It is gone."),
        )
    )
    (place := tmp_path / "place").mkdir()
    (place / "list.txt").write_text("milk")
    wanted: dict[str, Any] = {
        "workspace": place,
        "wyoming_role": "developer",
        "ears": ScriptedEars(["delete my list", answer]),
    }
    open_house = house(tmp_path / "data", script=tidy, **wanted)
    async with open_house as (st, address), connecting(address) as room:
        await _asks(room)
        await room.until("audio-stop")
        asked = room.all("synthesize")[0].data["text"]
        assert asked == "I want to delete list.txt. May I? Yes or no?"
        assert (place / "list.txt").exists()
        session = (await st.get("/sessions"))["sessions"][0]["id"]
        await until_answerable(st, session, granted=answer == "yes")
        await _asks(room)
        told = "It is gone." if answer == "yes" else "Then I leave it."
        async with asyncio.timeout(30):
            while told not in [one.data["text"] for one in room.all("synthesize")]:
                await asyncio.sleep(0.05)
        assert (place / "list.txt").exists() == (answer == "no")


async def test_a_satellite_has_the_tools_of_its_role(tmp_path: Path) -> None:
    """A plain user's, where nothing else is said: anybody in the room can speak to it."""
    write = ToolUse("write_file", {"path": "list.txt", "content": "milk"})
    noted = Script(
        rules=(
            Rule(when="milk", calls=(write,)),
            Rule(result_of="*", when='"success": ?false', say="That is not for me."),
        )
    )
    (place := tmp_path / "place").mkdir()
    ears = ScriptedEars(["put milk on my list"])
    open_house = house(tmp_path / "data", script=noted, ears=ears, workspace=place)
    async with open_house as (_, address), connecting(address) as room:
        await _asks(room)
        await room.until("audio-stop")
        assert not (place / "list.txt").exists()


async def test_a_satellite_that_only_tells_of_its_wake_word_is_listened_to(tmp_path: Path) -> None:
    open_house = house(tmp_path, ears=ScriptedEars(["the kettle"]), script=KETTLE)
    async with open_house as (_, address), connecting(address) as room:
        await room.write(Detection("okay_nabu"))
        await room.until("run-satellite")
        room.streaming = True
        await room.hear(loud(0.8))
        await room.quiet()
        await room.until("audio-stop")


async def test_who_says_nothing_after_the_wake_word_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.server.wyoming.satellite.QUIET_SECONDS", 0.5)
    async with house(tmp_path) as (_, address), connecting(address) as room:
        await room.wake()
        await room.quiet()
        assert (await room.until("error")).data["code"] == "stt-no-text-recognized"


async def test_a_microphone_that_is_always_on_is_listened_to_only_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as (_, address), connecting(address) as room:
        await room.wake(always=True, stage=PipelineStage.WAKE)
        assert (await room.until("error")).data["code"] == "wake-provider-missing"
    ears = ScriptedEars(["the kettle", "the kettle again"])
    wanted = {"wyoming_open_mic": True, "script": KETTLE, "ears": ears}
    async with house(tmp_path / "open", **wanted) as (_, address), connecting(address) as room:
        await room.wake(always=True, stage=PipelineStage.WAKE)
        for turn in (1, 2):
            await room.hear(bytes(16_000))
            await room.hear(loud(0.8))
            for _ in range(100):
                await room.hear(bytes(3200))
                if len(room.all("audio-stop")) == turn:
                    break
        assert len(room.all("transcript")) == 2


async def test_a_satellite_that_may_not_talk_now_is_told_why(tmp_path: Path) -> None:
    async with house(tmp_path, max_sessions=1) as (st, address), connecting(address) as room:
        await st.post("/session")
        await room.wake()
        refused = await room.until("error")
        assert "session" in refused.data["text"]


# --- Who may come in --------------------------------------------------------------------------


async def _raw(address: str, data: bytes) -> bytes:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(data)
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_nonsense_is_answered_in_words_and_cut_off(tmp_path: Path) -> None:
    nonsense = (
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n{}", "not JSON"),
        (b"[1, 2]\n", "not an object"),
        (b'{"type": 7}\n', "short string"),
        (b'{"type": "ping", "data": []}\n' + b'{"type": "ping", "data": 3}\n', "an object"),
        (b'{"type": "ping", "data_length": 99999999}\n', "'data_length'"),
        (b'{"type": "ping", "data_length": -1}\n', "'data_length'"),
        (b'{"type": "ping", "data_length": true}\n', "'data_length'"),
        (b'{"type": "audio-chunk", "payload_length": 1e9}\n', "'payload_length'"),
        (b'{"type": "audio-chunk", "payload_length": 999999999}\n', "'payload_length'"),
        (b'{"type": "audio-chunk"}\n', "lacks"),
        (b"x" * 100_000, "at most"),
        (b'{"type": "ping", "data_length": 4}\n{{{{', "not JSON"),
        (b'{"type": "synthesize", "data": {"text": 5}}\n', "string of at most"),
        (b'{"type": "run-pipeline", "data": {"start_stage": "x", "end_stage": "y"}}\n', "lacks"),
        (_chunk(rate=0), "rate"),
        (_chunk(width=9), "width"),
        (_chunk(channels=10_000), "channels"),
        (_chunk(rate="16000"), "whole numbers"),
        (_chunk(width=4), "middle of a sample"),
    )
    async with house(tmp_path) as (st, address):
        for data, words in nonsense:
            answer = await _raw(address, data)
            assert words in answer.decode(), data[:60]
        assert (await st.get("/status"))["wyoming"]["connections"] == 0


def _chunk(**wrong: Any) -> bytes:
    form = {"rate": 16_000, "width": 2, "channels": 1, **wrong}
    head = {"type": "audio-chunk", "data": form, "payload_length": 3}
    return json.dumps(head).encode() + b"\nabc"


async def test_who_says_nothing_half_of_it_or_reads_nothing_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = Bounds(event_seconds=0.3, idle_seconds=0.5, stall_seconds=0.5)
    monkeypatch.setattr(
        "vivavoce.app.wyoming.rules", lambda given: replace(rules(given), bounds=bounds)
    )
    async with house(tmp_path) as (st, address):
        assert await _raw(address, b"") == b""
        assert "in time" in (await _raw(address, b'{"type": "pi')).decode()
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        deaf = socket.create_connection((host, int(port)))
        deaf.setblocking(False)
        deaf.send(b'{"type": "describe"}\n' * 5000)
        async with asyncio.timeout(20):
            while (await st.get("/status"))["wyoming"]["connections"]:
                await asyncio.sleep(0.05)
        deaf.close()


async def test_more_connections_than_there_may_be_are_cut_off(tmp_path: Path) -> None:
    async with house(tmp_path, wyoming_connections=2) as (_, address):
        async with client(address) as one, client(address) as two:
            for each in (one, two):
                await each.write_event(Ping().event())
                await until(each, "pong")
            assert await _raw(address, b'{"type": "ping"}\n') == b""
        async with asyncio.timeout(10):
            while b"pong" not in await _raw(address, b'{"type": "ping"}\n{}\n'):
                await asyncio.sleep(0.05)


async def test_only_named_hosts_may_come_and_others_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path) as (st, address):
        door = st.here.hardware
        assert isinstance(door, Wyoming)
        assert door.welcome("127.0.0.1")
        assert door.welcome("::ffff:127.0.0.1")
        assert not door.welcome("192.168.1.7")
        assert not door.welcome("local")
        monkeypatch.setattr(door, "welcome", lambda address: False)
        assert await _raw(address, b'{"type": "describe"}\n') == b""
        async with asyncio.timeout(10):
            while not [one for one in await st.here.store.audit() if one.action == "refusal"]:
                await asyncio.sleep(0.02)
    async with house(tmp_path / "named", wyoming_clients=("192.168.1.0/24",)) as (st, _):
        door = st.here.hardware
        assert isinstance(door, Wyoming)
        assert door.welcome("192.168.1.7")
        assert door.welcome("::ffff:192.168.1.7")
        assert not door.welcome("192.168.2.7")
