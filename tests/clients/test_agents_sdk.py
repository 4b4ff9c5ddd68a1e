"""`@openai/agents-realtime`, unchanged: over WebSocket in Node, over WebRTC in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.browser import sound
from tests.browser.scenes import Told, scene
from tests.clients.serving import TIME, TIME_TOOL, Served
from tests.clients.talk import MODEL, share
from tests.clients.voice import Voice
from tests.engine.strict import strict

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
SENTENCE = "The old garden behind the church is full of roses."


def check(told: Told) -> None:
    """Every event was valid to the letter, and the SDK had nothing to complain of."""
    assert told.events()
    for event in told.events():
        strict(event)
    assert not told.all("error")


async def test_over_websocket_it_writes_calls_a_tool_and_speaks(
    served: Served, voice: Voice, tmp_path: Path
) -> None:
    speech, heard = tmp_path / "speech.pcm", tmp_path / "heard.wav"
    speech.write_bytes(await voice.say(SENTENCE))
    given = {
        "url": served.url,
        "key": served.key,
        "model": MODEL,
        "tool": TIME_TOOL,
        "time": TIME,
        "speech": str(speech),
        "heard": str(heard),
    }
    told = await scene("agents_socket", given, seconds=200)
    check(told)
    assert "the moon is bright" in told.one("text")["answer"].lower()
    assert "9:30" in told.one("tool")["answer"]
    spoken = told.one("speech")
    assert share(SENTENCE, spoken["user"]) >= 0.7, spoken
    assert share(spoken["answer"], await voice.hear(sound.read(heard))) >= 0.7


async def test_over_webrtc_in_a_browser_it_hears_and_is_heard(
    served: Served, voice: Voice, tmp_path: Path
) -> None:
    async with AsyncOpenAI(base_url=served.url, api_key=served.key, max_retries=0) as client:
        wish: Any = {"type": "realtime", "model": MODEL}
        secret = await client.realtime.client_secrets.create(session=wish)
    heard = tmp_path / "heard.wav"
    given = {
        "url": served.url,
        "key": secret.value,
        "model": MODEL,
        "wav": str(sound.microphone(tmp_path / "microphone.wav", await voice.say(SENTENCE))),
        "heard": str(heard),
    }
    told = await scene("agents_webrtc", given, seconds=200)
    check(told)
    assert told.one("connected")["callId"].startswith("rtc_")
    spoken = told.one("speech")
    assert share(SENTENCE, spoken["user"]) >= 0.7, spoken
    assert share(spoken["answer"], await voice.hear(sound.read(heard))) >= 0.6
    kinds = [event["type"] for event in told.events()]
    assert "output_audio_buffer.started" in kinds
    assert "response.output_audio.delta" not in kinds, "its sound goes by the track"
