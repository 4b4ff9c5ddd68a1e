"""Clients that are careless or worse: the session lives on, and nothing is left behind."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from starlette.types import Message, Scope
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.engine.stage import KEY, OWN_KEY, engine_server, loud
from tests.server.serving import until
from vivavoce.engine.api.realtime import build_door
from vivavoce.engine.shell.hearing import MAX_SECONDS, Intake
from vivavoce.engine.shell.session import MAX_CLIENTS
from vivavoce.engine.turn.configuration import initial
from vivavoce.errors import NotFound
from vivavoce.testing.engine import VOICES, LoudnessDetector


def nested(depth: int) -> str:
    """A schema so deep, as text: not every JSON library would write it."""
    return '{"properties":' * depth + "{}" + "}" * depth


@pytest.mark.parametrize("depth", [65, 260, 900])
async def test_a_schema_without_a_bottom_is_refused_and_the_session_lives_on(depth: int) -> None:
    async with engine_server() as stage:
        line = await stage.line()
        tool = f'{{"type":"function","name":"deep","parameters":{nested(depth)}}}'
        await line.socket.send(
            f'{{"type":"session.update","event_id":"d","session":{{"tools":[{tool}]}}}}'
        )
        fault = (await line.until("error"))["error"]
        assert (fault["event_id"], fault["param"]) == ("d", "session.tools[0].parameters")
        await line.configure(instructions="Still there.")
        headers = {"authorization": f"Bearer {KEY}"}
        body = f'{{"session":{{"tools":[{tool}]}}}}'
        answer = await stage.http.post(
            f"{stage.url}/realtime/client_secrets", content=body, headers=headers
        )
        assert answer.status_code == 400


async def test_a_message_with_two_sounds_is_refused_since_only_one_would_be_heard() -> None:
    async with engine_server() as stage:
        line = await stage.line()
        part = {"type": "input_audio", "audio": base64.b64encode(loud(300)).decode()}
        item = {"type": "message", "role": "user", "content": [part, part]}
        await line.send("conversation.item.create", item=item)
        assert (await line.until("error"))["error"]["code"] == "unsupported_parameter"


async def test_a_transcription_session_has_no_model_in_its_address() -> None:
    async with engine_server() as stage:
        with pytest.raises(InvalidStatus) as caught:
            await stage.line("intent=transcription&model=whisper-1")
        error = orjson.loads(caught.value.response.body or b"{}")["error"]
        assert error["param"] == "model"


async def test_who_hangs_up_during_the_handshake_leaves_no_session_behind() -> None:
    async with engine_server() as stage:
        scope: Scope = {
            "type": "websocket",
            "path": "/realtime",
            "query_string": b"model=vivavoce",
            "headers": [(b"authorization", f"Bearer {KEY}".encode())],
            "subprotocols": [],
            "root_path": "",
        }

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            raise OSError("gone")

        with pytest.raises(Exception):  # noqa: B017, PT011 # whichever the framework makes of it
            await build_door(stage.engine)(scope, receive, send)
        await until(lambda: stage.engine.sessions == 0)


async def test_a_crowd_of_watchers_leaves_the_microphone_its_seat() -> None:
    async with engine_server() as stage:
        body: dict[str, Any] = {"transport": "websocket", "session": {"type": "realtime"}}
        call = (await stage.post("/realtime/calls", body, key=OWN_KEY)).json()
        query = f"call_id={call['id']}"
        for _ in range(MAX_CLIENTS):
            await stage.line(query, greeted=False)
        with pytest.raises(InvalidStatus):
            await stage.line(query, greeted=False)
        secret = f"openai-insecure-api-key.{call['client_secret']['value']}"
        await stage.line(query, protocols=["realtime", secret])


async def test_nobody_sits_down_on_a_call_that_is_ending() -> None:
    async with engine_server() as stage:
        line = await stage.line()
        call_id = next(iter(stage.engine._calls))
        stage.engine.call(call_id).session.end("over")
        with pytest.raises(NotFound):  # at once: its media may take a while to say goodbye
            stage.engine.call(call_id)
        await line.socket.close()


def test_a_turn_without_end_loses_its_beginning_and_not_its_ears() -> None:
    configuration = initial("vivavoce", voice="marin", voices=VOICES)
    told: list[Any] = []
    intake = Intake(
        configuration,
        LoudnessDetector(),
        post=told.append,
        judge=lambda _: None,
    )
    for _ in range(MAX_SECONDS + 60):
        intake.feed_wire(loud(1000))
    assert intake.buffered_ms <= MAX_SECONDS * 1000 + 1000
    intake.feed_wire(bytes(48_000))
    assert type(told[-1]).__name__ == "SpeechStopped"


@pytest.mark.parametrize("spoilt", [4, 3_000_000, 3_999_996])
async def test_a_long_append_that_is_spoilt_anywhere_is_not_heard_at_all(spoilt: int) -> None:
    async with engine_server() as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": None}})
        whole = "AAAA" * 1_000_000
        await line.send(
            "input_audio_buffer.append", audio=f"{whole[:spoilt]}AA=={whole[spoilt + 4 :]}A"
        )
        assert (await line.until("error"))["error"]["param"] == "audio"
        await line.send("input_audio_buffer.commit")
        assert (await line.until("error"))["error"]["code"] == "input_audio_buffer_commit_empty"


async def test_a_fault_of_our_own_ends_the_call_in_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine_server() as stage:
        line = await stage.line()
        monkeypatch.setattr("vivavoce.engine.turn.answering.begin", lambda *_: 1 / 0)
        await line.send("response.create")
        fault = (await line.until("error"))["error"]
        assert (fault["type"], fault["code"]) == ("server_error", "internal_error")
        with pytest.raises(ConnectionClosed):
            await line.until("nothing more")
        await until(lambda: stage.engine.sessions == 0)
    assert "A session broke" in caplog.text


async def test_a_locked_page_does_not_read_the_prompt() -> None:
    async with engine_server() as stage:
        session = {"type": "realtime", "instructions": "The secret is blue."}
        body = {"transport": "websocket", "session": session}
        call = (await stage.post("/realtime/calls", body, key=OWN_KEY)).json()
        protocols = ["realtime", f"openai-insecure-api-key.{call['client_secret']['value']}"]
        page = await stage.line(f"call_id={call['id']}", protocols=protocols)
        sideband = await stage.line(f"call_id={call['id']}", key=OWN_KEY, greeted=False)
        assert (await sideband.configure())["instructions"] == "The secret is blue."
        await page.until("session.updated")
        assert all(e["session"]["instructions"] == "" for e in page.seen)
