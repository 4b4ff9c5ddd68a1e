"""However a call ends while an answer plays, what is stored is what was heard: and why it ended is
told. The engine is real, the ways to it are real WebRTC and real WebSockets."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import aioice.ice
import httpx
import pytest

from tests.journeys.embedded import Browser, by_webrtc, by_websocket, embedded
from tests.journeys.humming import STORY
from tests.journeys.process import free_port
from tests.journeys.stage import Stage, Watcher
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.engine.media.options import MediaOptions
from vivavoce.errors import ProviderError
from vivavoce.testing.engine import HummingMouth, ScriptedEars
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.wire.brain import Ask, Piece

MS_A_CHARACTER = 40
QUESTIONS = ["What is the time?", "Where is the king?", "Who is the queen?"]
QUICK = MediaOptions(loopback=True, connect_seconds=3.0, consent_seconds=0.2, consent_failures=2)


class Remembering(ScriptedBrain):
    """Keeps what it was asked."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        self.asked.append(ask)
        return super().answer(ask)


@asynccontextmanager
async def telling(
    folder: Path, *, grace: float = 60.0, brain: ScriptedBrain | None = None, **more: Any
) -> AsyncIterator[Stage]:
    """A server whose assistant tells a story of a minute."""
    async with embedded(
        folder,
        ears=ScriptedEars(["tell me a story"], otherwise=""),
        brain=brain or ScriptedBrain(Script(otherwise=STORY)),
        mouth=HummingMouth(MS_A_CHARACTER),
        grace_seconds=grace,
        **more,
    ) as st:
        engine = st.here.engine._engine  # type: ignore[union-attr]
        engine.options = replace(engine.options, media=QUICK)
        yield st


async def begun(st: Stage) -> tuple[dict[str, Any], Watcher]:
    session = await st.post("/session")
    return session, await st.watch(session["session_id"])


async def listening(browser: Browser, watcher: Watcher, seconds: float = 1.5) -> None:
    """Asks for the story and hears so much of it."""
    await watcher.wait_for("session.started")
    browser.microphone.speak(0.7)
    await browser.until("output_audio_buffer.started")
    await browser.hear(seconds)


async def told(st: Stage, session_id: str) -> dict[str, Any]:
    """The entry of the story."""
    shown = await st.get(f"/sessions/{session_id}")
    story = next(e for e in shown["transcript"] if e["entry_type"] == "assistant")
    return cast("dict[str, Any]", story)


def check_cut(
    story: dict[str, Any], least: float, most: float | None = None, *, late: float = 1.5
) -> None:
    """No more than went through, and not much less. `least` was heard before it was asked to end,
    `most` once it had."""
    assert STORY.startswith(story["text"])
    assert len(story["text"]) < len(story["generated_text"])
    seconds = len(story["text"]) * MS_A_CHARACTER / 1000
    # A word of it may still have been on its way through codec and jitter buffer.
    assert least - late <= seconds <= (most or least) + 0.7, (seconds, least, most)


def sounded(browser: Browser) -> float:
    return 0.02 * sum(level > 100 for _, level in browser.loud)


def cut_off(browser: Browser) -> None:
    """The network is gone: nothing comes and nothing goes, and nobody says so."""

    class Nowhere:
        def __init__(self, line: Any) -> None:
            self._line = line

        def __getattr__(self, name: str) -> Any:
            return getattr(self._line, name)

        def sendto(self, data: bytes, address: Any = None) -> None: ...

    for receiver in browser.connection.getReceivers():
        protocols: Any = receiver.transport.transport._connection._protocols
        for protocol in protocols:
            protocol.transport = Nowhere(protocol.transport)
            protocol.datagram_received = lambda data, addr: None


# --- Heard is what was heard ------------------------------------------------------------------


async def test_a_client_that_hangs_up_heard_what_it_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telling(tmp_path) as st:
        session, watcher = await begun(st)
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await listening(browser, watcher)
        ended = await watcher.wait_for("session.ended")
        assert ended["reason"] == "user_ended"
        story = await told(st, session["session_id"])
        check_cut(story, sounded(browser))
        assert watcher.all("transcription.completed")[-1]["transcript"] == story["text"]


async def test_an_end_in_the_middle_of_an_answer_keeps_what_was_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telling(tmp_path) as st:
        session, watcher = await begun(st)
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await listening(browser, watcher)
            heard = sounded(browser)
            await st.post(f"/sessions/{session['session_id']}/end")
            most = sounded(browser)
        check_cut(await told(st, session["session_id"]), heard, most)


async def test_a_takeover_keeps_what_the_first_device_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telling(tmp_path) as st:
        session, watcher = await begun(st)
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await listening(browser, watcher)
            heard = sounded(browser)
            second = await st.post(f"/sessions/{session['session_id']}/resume", {})
            assert second["realtime"]["session_id"] != session["session_id"]
            most = sounded(browser)
        story = await told(st, session["session_id"])
        check_cut(story, heard, most)
        context = str(second["context_to_inject"])
        assert story["text"] in context
        assert STORY[: len(story["text"]) + 40] not in context, "nobody heard the rest of it"


async def test_a_cut_network_keeps_only_what_it_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telling(tmp_path) as st:
        session, watcher = await begun(st)
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await listening(browser, watcher)
            cut_off(browser)
            heard = sounded(browser)
            await watcher.until(
                lambda: watcher.all("connection.status")[-1]["webrtc_state"] == "disconnected"
            )
            check_cut(await told(st, session["session_id"]), heard, sounded(browser))
            assert watcher.all("connection.status")[-1]["reason"] == "ice_lost"


async def test_what_was_heard_survives_kill_9_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, log = free_port(), (tmp_path / "server.log").open("ab")
    environment = {k: v for k, v in os.environ.items() if "VIVAVOCE" not in k}

    @asynccontextmanager
    async def serving() -> AsyncIterator[Stage]:
        command = [sys.executable, "-m", "tests.journeys.humming", str(tmp_path), str(port)]
        process = await asyncio.create_subprocess_exec(*command, env=environment, stderr=log)
        url = f"http://127.0.0.1:{port}"
        try:
            async with httpx.AsyncClient(base_url=url, timeout=30.0, trust_env=False) as http:
                async with asyncio.timeout(60):
                    while True:
                        try:
                            if (await http.get("/ready")).status_code == 200:
                                break
                        except httpx.TransportError:
                            pass
                        await asyncio.sleep(0.05)
                nothing: Any = None
                async with asyncio.TaskGroup() as group:
                    yield Stage(cast("ScriptedProvider", None), nothing, url, http, group, nothing)
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()

    async with serving() as st:
        session = await st.post("/session")
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            browser.microphone.speak(0.7)
            await browser.until("output_audio_buffer.started")
            await browser.hear(2.5)
            heard = sounded(browser)
            playing = await told(st, session["session_id"])
            assert playing["generated_text"].startswith("Once upon a time")
            assert len(playing["text"]) < len(playing["generated_text"])
    async with serving() as st:
        story = await told(st, session["session_id"])
        check_cut(story, heard, sounded(browser), late=2.0)
    log.close()


async def test_a_call_by_websocket_is_cut_by_the_clock_and_says_so(tmp_path: Path) -> None:
    async with telling(tmp_path) as st:
        session, watcher = await begun(st)
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await watcher.wait_for("assistant.speaking")
            began = time.monotonic()
            await asyncio.sleep(1.0)
            await st.post(f"/sessions/{session['session_id']}/end")
        story = await told(st, session["session_id"])
        check_cut(story, 1.0, time.monotonic() - began, late=0.9)
        assert story["heard_estimated"] is True


# --- Loss is not a hang-up --------------------------------------------------------------------


def reset(line: Any) -> None:
    """The TCP connection is reset, as by a router that forgot it."""
    raw = line.socket.transport.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.socket.transport.abort()


async def test_a_reset_socket_is_no_hang_up_and_the_same_session_goes_on(tmp_path: Path) -> None:
    brain = Remembering(Script(otherwise=STORY))
    async with telling(tmp_path, brain=brain) as st:
        session, watcher = await begun(st)
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await watcher.wait_for("assistant.speaking")
            reset(line)
            await watcher.until(
                lambda: watcher.all("connection.status")[-1].get("reason") == "socket_reset"
            )
        assert watcher.all("session.status")[-1]["state"] == "reconnecting"
        again = await st.get(f"/session/reconnect?session_id={session['session_id']}")
        assert again["session_id"] == session["session_id"]
        async with by_websocket(st, again["ephemeral_key"]) as line:
            await line.until("response.output_audio_transcript.done")
        asked = [
            ask.instructions for ask in brain.asked if "did not hear this part" in ask.instructions
        ]
        assert asked, "it is too long to be said again"
        heard = (await told(st, session["session_id"]))["text"]
        missed = asked[0].partition("“")[2]
        assert STORY[len(heard) :].startswith(missed[:100]) or missed.startswith("Once upon")
        await watcher.wait_for("session.ended")
        assert watcher.all("session.ended")[-1]["reason"] == "user_ended"


async def test_a_client_that_does_not_come_back_ends_the_session_as_lost(tmp_path: Path) -> None:
    async with telling(tmp_path, grace=0.3) as st:
        session, watcher = await begun(st)
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            reset(line)
            assert (await watcher.wait_for("session.ended"))["reason"] == "socket_reset"
        detail = await st.get(f"/sessions/{session['session_id']}")
        assert detail["session"]["status"] == "error"


async def test_a_dead_ice_path_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telling(tmp_path, grace=0.3) as st:
        session, watcher = await begun(st)
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await watcher.wait_for("session.started")
            cut_off(browser)
            assert (await watcher.wait_for("session.ended"))["reason"] == "ice_lost"


async def test_an_open_microphone_that_falls_silent_is_a_closed_lid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.engine.api.realtime._STEADY", 0.4)
    monkeypatch.setattr("vivavoce.engine.api.realtime._SILENT", 0.5)
    async with telling(tmp_path, grace=0.3) as st:
        session, watcher = await begun(st)
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            for _ in range(20):  # as a page sends it
                await line.append(bytes(48 * 40))
                await asyncio.sleep(0.04)
            assert (await watcher.wait_for("session.ended"))["reason"] == "client_silent"


async def test_an_offer_nobody_stands_behind_was_never_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # aioice leaves loopback out; here it is the only way there should be.
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
    async with telling(tmp_path) as st:
        session, watcher = await begun(st)
        browser = Browser()
        offer = await browser.offer()
        await browser.connection.close()
        key = session["client_secret"]["value"]
        headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
        assert (await st.http.post("/sdp", content=offer, headers=headers)).status_code == 200
        ended = await watcher.wait_for("session.ended")
        assert ended["reason"] == "never_connected"
        states = [told["webrtc_state"] for told in watcher.all("connection.status")]
        assert states == ["connecting", "failed"]
        detail = await st.get(f"/sessions/{session['session_id']}")
        assert detail["session"]["status"] == "error"


async def test_after_a_cut_of_a_few_seconds_the_same_session_says_what_was_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with embedded(
        tmp_path,
        ears=ScriptedEars(["where were we"], otherwise=""),
        brain=ScriptedBrain(Script(otherwise="First comes the king. Then the queen arrives.")),
        mouth=HummingMouth(80),
    ) as st:
        engine = st.here.engine._engine  # type: ignore[union-attr]
        engine.options = replace(engine.options, media=QUICK)
        session, watcher = await begun(st)
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await listening(browser, watcher, 2.2)
            cut_off(browser)
            await watcher.until(
                lambda: watcher.all("connection.status")[-1].get("reason") == "ice_lost"
            )
            again = await st.get(f"/session/reconnect?session_id={session['session_id']}")
            assert again["session_id"] == session["session_id"]
            async with by_webrtc(st, again["ephemeral_key"], monkeypatch) as second:
                words = "Sorry, we were cut off. I was saying: Then the queen arrives."
                await watcher.until(
                    lambda: watcher.all("transcription.completed")[-1]["transcript"] == words
                )
                await second.until("output_audio_buffer.stopped")
                assert sounded(second) > 0.04 * len(words)
                states = [told["webrtc_state"] for told in watcher.all("connection.status")]
                assert list(dict.fromkeys(states)) == ["connecting", "connected", "disconnected"]
                assert states[-1] == "connected"

        async def kept() -> list[dict[str, Any]]:
            shown = await st.get(f"/sessions/{session['session_id']}")
            return [e for e in shown["transcript"] if e["entry_type"] == "assistant"]

        # The browser knows that it played to its end before the store does.
        async with asyncio.timeout(15):
            while (await kept())[-1]["text"] != words:
                await asyncio.sleep(0.05)
        first, then = await kept()
        assert first["text"].startswith("First comes the king.")
        assert first["generated_text"] == "First comes the king. Then the queen arrives."
        assert then["text"] == words


# --- While the sideband was away ---------------------------------------------------------------


async def test_what_was_said_while_the_sideband_was_away_is_all_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ears = ScriptedEars(QUESTIONS)
    async with embedded(
        tmp_path, ears=ears, mouth=HummingMouth(5), sideband_delay=0.05, sideband_tries=100
    ) as st:
        session, watcher = await begun(st)
        live = st.here.registry.get(session["session_id"])
        assert live is not None
        provider, attach = live.provider, live.provider.attach
        away = asyncio.Event()

        async def unreachable(call_id: str) -> Any:
            if not away.is_set():
                return await attach(call_id)
            raise ProviderError("The network is away.")

        monkeypatch.setattr(provider, "attach", unreachable)
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await line.until("response.done")
            await watcher.wait_for("turn.traced")
            away.set()
            up = live.sidebands._calls[live.sidebands._on]._sideband
            assert up is not None
            up._connection._connection.transport.abort()
            await watcher.until(
                lambda: watcher.all("session.status")[-1]["state"] == "reconnecting"
            )
            for turn in (2, 3):  # two questions, two answers, and nobody of ours there
                await line.speak()
                await line.until("response.done")
                assert len(line.all("response.done")) == turn
            away.clear()
            await watcher.until(
                lambda: len(watcher.all("transcription.completed")) >= 6, seconds=20
            )
            took = [one["response"]["usage"]["total_tokens"] for one in line.all("response.done")]
        shown = await st.get(f"/sessions/{session['session_id']}")
        [used] = (await st.get("/api/v1/usage"))["sessions"]
    assert used["input_tokens"] + used["output_tokens"] == sum(took) > 0
    assert used["estimated"] is False
    said = [(e["entry_type"], e["text"]) for e in shown["transcript"]]
    assert [kind for kind, _ in said] == ["user", "assistant"] * 3
    assert [text for kind, text in said if kind == "user"] == QUESTIONS
    assert len({text for _, text in said}) == 6
