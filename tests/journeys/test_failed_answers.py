"""What the user hears when no answer comes: over real loopback, with our engine and another's."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import Line
from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import stage
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.engine.ports import Utterance
from vivavoce.errors import SPOKEN, BrainError, MouthError
from vivavoce.testing.engine import HummingMouth, ScriptedEars
from vivavoce.wire.brain import Ask, Finished, Piece

QUICK: dict[str, Any] = {"sideband_delay": 0.05}


class Moody(ScriptedBrain):
    """Fails so many times, then answers."""

    def __init__(self, times: int, *, after: str = "") -> None:
        super().__init__(Script(otherwise="It is noon."))
        self.left, self._after = times, after
        self.asked: list[Ask] = []

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        self.asked.append(ask)
        if self.left > 0:
            self.left -= 1
            raise BrainError("The language model died.")
        async for piece in super().answer(ask):
            yield piece


class Croaking(HummingMouth):
    """Has no voice for so many clauses."""

    def __init__(self, times: int) -> None:
        super().__init__(20)
        self.left = times

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        if self.left > 0:
            self.left -= 1
            raise MouthError("The mouth died.")
        return await super().speak(text, voice=voice, speed=speed, lead_ms=lead_ms)


def said(line: Line) -> list[str]:
    frames = line.all("response.output_audio_transcript.done")
    return [frame["transcript"].strip() for frame in frames if frame["transcript"].strip()]


async def until_said(line: Line, words: str) -> None:
    while not any(words in one for one in said(line)):
        await line.until("response.output_audio_transcript.done")


async def test_a_brain_that_dies_once_is_asked_again_and_nobody_notices(tmp_path: Path) -> None:
    brain = Moody(1)
    async with embedded(tmp_path, brain=brain, ears=ScriptedEars(["what time is it"])) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, "It is noon.")
            assert said(line) == ["It is noon."]
            assert watcher.all("notification") == []


class Speechless(Moody):
    """Ends so many answers without a word, and calls that an answer."""

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        if self.left > 0:
            self.left -= 1
            yield Finished()
            return
        async for piece in super().answer(ask):
            yield piece


@pytest.mark.parametrize(("times", "shown"), [(1, []), (2, [SPOKEN["no_answer"].last])])
async def test_a_brain_that_says_nothing_is_asked_again_and_then_owned_up_to(
    tmp_path: Path, times: int, shown: list[str]
) -> None:
    brain, ears = Speechless(times), ScriptedEars(["what time is it"])
    async with embedded(tmp_path, brain=brain, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, shown[0][-20:] if shown else "It is noon.")
            assert [one["message"] for one in watcher.all("notification")] == shown


async def test_a_brain_that_dies_twice_is_heard_to_and_then_answers(tmp_path: Path) -> None:
    brain, row = Moody(2), SPOKEN["engine_error"]
    async with embedded(tmp_path, brain=brain, ears=ScriptedEars(["what time is it"])) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, "It is noon.")
            assert said(line) == [row.message, "It is noon."]
            assert [one["message"] for one in watcher.all("notification")] == [row.message]
            last = brain.asked[-1].turns[-1]
            assert (getattr(last, "role", ""), getattr(last, "text", "")) == (
                "user",
                "what time is it",
            )


async def test_a_brain_that_stays_dead_is_owned_up_to_aloud_once(tmp_path: Path) -> None:
    row = SPOKEN["engine_error"]
    async with embedded(tmp_path, brain=Moody(99), ears=ScriptedEars(["hello there"])) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, row.last[:20])
            assert said(line) == [row.message, row.last]
            assert line.all("response.output_audio.delta")
            await watcher.wait_for("assistant.done", 2)  # only what was heard is told
            shown = await st.get(f"/sessions/{session['session_id']}")
            assert [entry["text"] for entry in shown["transcript"]] == [
                "hello there",
                row.message,
                row.last,
            ]
        counted = (await st.http.get("/metrics")).text
        assert 'vivavoce_faults_total{code="engine_error",recovery="ask again"} 3.0' in counted
        assert 'vivavoce_faults_total{code="engine_error",recovery="next provider"} 1.0' in counted


async def test_ears_that_fail_are_asked_about_aloud(tmp_path: Path) -> None:
    async with embedded(tmp_path, ears=ScriptedEars([None] * 10)) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, "Sorry, I didn't catch that.")
            assert (await watcher.wait_for("error"))["code"] == "transcription_failed"


async def test_a_mouth_that_dies_once_says_it_the_next_time(tmp_path: Path) -> None:
    script = Script(otherwise="It is noon.")
    ears, mouth = ScriptedEars(["what time is it"]), Croaking(1)
    async with embedded(tmp_path, ears=ears, mouth=mouth, script=script) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            while "It is noon." not in mouth.spoken:
                await line.until("response.done")
            assert mouth.spoken == ["It is noon."]


async def test_a_mouth_that_stays_silent_is_told_about_on_the_page_and_not_for_ever(
    tmp_path: Path,
) -> None:
    ears, row = ScriptedEars(["what time is it"]), SPOKEN["engine_error"]
    async with embedded(tmp_path, ears=ears, mouth=Croaking(10_000)) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await watcher.until(lambda: len(watcher.all("notification")) == 2)
            assert [one["message"] for one in watcher.all("notification")] == [
                row.message,
                row.last,
            ]
            # Four tries, words about it, and the last words; nothing after that.
            while len(line.all("response.done")) < 6:
                await line.until("response.done")
            assert len(line.all("response.created")) == 6
            shown = await st.get("/session", headers={"x-session-id": session["session_id"]})
            assert shown["status"] == "active"


@pytest.mark.parametrize("code", ["rate_limit_exceeded", "insufficient_quota"])
async def test_another_providers_failed_response_is_spoken_about_and_shown(
    code: str, tmp_path: Path
) -> None:
    async with stage(tmp_path, **QUICK) as st:
        _, call, watcher = await st.talk()
        await call.user_says("What time is it?")
        await call.response_fails(code)
        words = SPOKEN[code].message
        asked = await call.expect(
            "response.create", where=lambda f: f["response"]["metadata"]["vivavoce_say"] == words
        )
        assert words in asked["response"]["instructions"]
        assert (await watcher.wait_for("notification"))["message"] == words
        assert watcher.all("error")[-1]["code"] == code
