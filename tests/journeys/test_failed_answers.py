"""What the user hears when no answer comes: each row of the table of faults, provoked over real
loopback, with our engine and another's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import Line
from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import stage
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.engine.ports import Utterance
from vivavoce.errors import SPOKEN, BrainError, MouthError, Recovery, Translation
from vivavoce.runtime.sessions.profile import GREET_RESTORED, Profile
from vivavoce.testing.engine import HummingMouth, ScriptedEars
from vivavoce.testing.realtime.faults import Drop, RefuseAttach
from vivavoce.tools.functions import tool
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


class Broken(Moody):
    """Fails each time, in the way that a code names."""

    def __init__(self, code: str) -> None:
        super().__init__(99)
        self._code = code

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        if self._code in ("content_filter", "no_answer"):
            yield Finished("content_filter" if self._code == "content_filter" else "stop")
            return
        raise type("Fault", (BrainError,), {"code": self._code})("It is broken.")


ANSWERS = [
    code
    for code, row in SPOKEN.items()
    if row.recovery in (Recovery.RETRY, Recovery.SHORTEN, Recovery.NEXT_PROVIDER, Recovery.TELL)
    and code != "audio_device_error"  # the browser's own, which the page explains
]


def at_once(code: str, monkeypatch: pytest.MonkeyPatch) -> Translation:
    """The row of a code, without its patience."""
    row = SPOKEN[code]
    quick = replace(row, waits=tuple(0.01 * (seconds > 0) for seconds in row.waits))
    monkeypatch.setitem(SPOKEN, code, quick)
    return quick


@pytest.mark.parametrize("code", ANSWERS)
async def test_whatever_keeps_an_answer_from_coming_is_owned_up_to_aloud_once(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, mouth = at_once(code, monkeypatch), HummingMouth(2)
    words = [row.message] if row.said_at else []
    words.append(row.last or row.message)
    async with embedded(
        tmp_path, brain=Broken(code), mouth=mouth, ears=ScriptedEars(["hello there"])
    ) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, words[-1][-25:])
            assert said(line) == words
            assert "".join(mouth.spoken).replace(" ", "") == "".join(words).replace(" ", "")
            assert line.all("response.output_audio.delta")
            await watcher.wait_for("assistant.done", len(words))  # only what was heard is told
            shown = await st.get(f"/sessions/{session['session_id']}")
            assert [entry["text"] for entry in shown["transcript"]] == ["hello there", *words]
            assert [one["message"] for one in watcher.all("notification")] == words
            assert {one["code"] for one in watcher.all("error")} == {code}
        counted = (await st.http.get("/metrics")).text
        last = Recovery.NEXT_PROVIDER if row.waits else row.recovery
        for recovery, times in ((row.recovery, len(row.waits)), (last, 1)):
            line_of_it = f'vivavoce_faults_total{{code="{code}",recovery="{recovery}"}} {times}.0'
            assert not times or line_of_it in counted, counted


@tool(category="test")
async def fetch(how: str) -> str:
    """Fetch something."""
    raise {"ENOENT": FileNotFoundError, "EACCES": PermissionError, "ETIMEDOUT": TimeoutError}[how]


@pytest.mark.parametrize("cause", ["ENOENT", "EACCES", "ETIMEDOUT"])
async def test_what_a_tool_meets_is_explained_aloud_in_the_words_of_its_row(
    cause: str, tmp_path: Path
) -> None:
    script = Script(
        rules=(
            Rule(when="fetch", calls=(ToolUse("fetch", {"how": cause}),)),
            Rule(result_of="fetch", say="{output.error}"),
        )
    )
    async with embedded(tmp_path, script=script, ears=ScriptedEars(["fetch the papers"])) as st:
        st.here.tools.add(fetch)  # type: ignore[attr-defined]
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, SPOKEN[cause].message)
            assert line.all("response.output_audio.delta")
            assert (await watcher.wait_for("tool.error"))["recoverable"] is SPOKEN[
                cause
            ].recoverable


async def test_a_tool_that_runs_for_long_is_owned_up_to_aloud_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Profile.policy
    monkeypatch.setattr(
        Profile, "policy", lambda self: replace(whole(self), overdue_after=0.5, interim_after=None)
    )
    over = asyncio.Event()

    @tool(category="test")
    async def dig() -> str:
        """Dig."""
        await over.wait()
        return "A hole."

    script = Script(rules=(Rule(when="dig", calls=(ToolUse("dig", {}),)),), otherwise="It ended.")
    ears, row = ScriptedEars(["please dig a hole", "stop"]), SPOKEN["tool_overdue"]
    async with embedded(tmp_path, script=script, ears=ears) as st:
        st.here.tools.add(dig)  # type: ignore[attr-defined]
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await until_said(line, row.message)
            assert [one["message"] for one in watcher.all("notification")] == [row.message]
            await line.speak()
            assert (await watcher.wait_for("tool.error"))["tool_name"] == "dig"
    counted = [one for one in watcher.all("tool.completed") if one["success"]]
    assert counted == []


async def test_a_session_that_the_provider_ends_is_shown_and_heard_of_at_the_next_call(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Good morning.")
        await call.assistant_says("Good morning.")
        row, fault = SPOKEN["session_expired"], {"code": "session_expired", "message": "60 minutes"}
        await call.emit({"type": "error", "event_id": "e1", "error": {"type": "x", **fault}})
        shown = await watcher.wait_for("notification")
        assert (shown["message"], shown["action"]["do"]) == (row.message, "reconnect")
        params = {"session_id": session["session_id"]}
        again = await st.get("/session/reconnect", params=params)
        after = await st.connect(again["ephemeral_key"])
        asked = await after.expect("response.create")
        assert GREET_RESTORED in asked["response"]["instructions"]


async def test_a_line_to_the_provider_that_stays_lost_is_shown_and_heard_of_at_the_next_call(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Good morning.")
        await call.assistant_says("Good morning.")
        await watcher.wait_for("assistant.done")
        st.provider.inject(RefuseAttach(times=5, status=500))
        await call.inject(Drop())
        words = SPOKEN["connection_failed"].last
        await watcher.until(lambda: words in [n["message"] for n in watcher.all("notification")])
        params = {"session_id": session["session_id"]}
        again = await st.get("/session/reconnect", params=params)
        after = await st.connect(again["ephemeral_key"])
        asked = await after.expect("response.create")
        assert GREET_RESTORED in asked["response"]["instructions"]


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
