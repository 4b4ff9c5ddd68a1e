"""The voice server on its own engine: the same sideband as everywhere, over real loopback."""

from __future__ import annotations

import io
from pathlib import Path

import av
import pytest

from tests.journeys.embedded import by_webrtc, by_websocket, embedded
from tests.journeys.stage import stage
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.testing.engine import HummingMouth, ScriptedEars

STORY = ScriptedBrain(Script(otherwise="Once upon a time, there was a king. " * 40))


async def test_a_turn_by_websocket_is_heard_answered_stored_and_traced(tmp_path: Path) -> None:
    async with embedded(tmp_path, ears=ScriptedEars(["good morning"])) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await line.until("response.done")
            assert line.all("response.output_audio.delta")
            trace = await watcher.wait_for("turn.traced")
            assert trace["outcome"] == "completed"
            assert trace["first_sound_ms"] <= trace["last_sound_ms"]
            shown = await st.get(f"/sessions/{session['session_id']}")
            said = [entry["text"] for entry in shown["transcript"] if entry.get("text")]
            assert "good morning" in said[0]
            assert "good morning" in said[1]
            assert shown["turns"][-1]["first_token_ms"] >= 0
            assert (
                'vivavoce_turn_seconds_count{began_with="speech",stage="first_sound"}'
                in (await st.http.get("/metrics")).text
            )


async def test_the_voices_that_are_there_can_be_heard_and_chosen_by_their_own_names(
    tmp_path: Path,
) -> None:
    mouth = HummingMouth(20)
    mouth.voices = (*mouth.voices, "bm_george")
    async with embedded(tmp_path, mouth=mouth) as st:
        voices = {one["id"]: one for one in (await st.get("/config/voices"))["voices"]}
        assert list(voices)[:2] == ["marin", "cedar"]
        assert voices["marin"]["description"] == "An American woman, English: af_heart"
        assert voices["bm_george"]["description"] == "A British man, English"
        assert voices["bm_george"]["name"] == "George"
        for _ in range(2):
            answer = await st.http.get(voices["marin"]["sample_url"])
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "audio/mpeg"
            with av.open(io.BytesIO(answer.content), "r") as sound:
                assert sum(frame.samples for frame in sound.decode(sound.streams.audio[0])) > 8_000
        samples = [said for said in mouth.spoken if "I am Marin" in said]
        assert len(samples) == 1, "it is made once"
        assert (await st.post("/session", {"voice": "bm_george"}))["voice"] == "bm_george"


async def test_a_page_on_the_call_can_talk_and_change_nothing(tmp_path: Path) -> None:
    async with embedded(tmp_path) as st:
        session = await st.post("/session")
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await line.send("session.update", session={"type": "realtime", "tools": []})
            assert (await line.until("error"))["error"]["code"] == "not_allowed"


async def test_a_tool_of_the_server_answers_the_engines_call(tmp_path: Path) -> None:
    script = Script(
        rules=(
            Rule(when="six times seven", calls=(ToolUse("calculate", {"expression": "6*7"}),)),
            Rule(result_of="calculate", say="That makes {output}."),
        )
    )
    ears = ScriptedEars(["what is six times seven"])
    async with embedded(tmp_path, ears=ears, script=script) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await watcher.wait_for("tool.completed")
            await line.until("response.done")
            await line.until("response.done")
            said = line.all("response.output_audio_transcript.done")[-1]
            assert said["transcript"] == "That makes 42."


async def test_other_providers_have_no_calls_by_websocket(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session = await st.post("/session")
        headers = {"authorization": f"Bearer {session['client_secret']['value']}"}
        answer = await st.http.post("/audio", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


async def test_a_whole_call_by_webrtc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with embedded(tmp_path, ears=ScriptedEars(["good evening"])) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await watcher.wait_for("session.started")
            browser.send("session.update", session={"type": "realtime"})
            assert (await browser.until("error"))["error"]["code"] == "not_allowed"
            browser.microphone.speak(0.7)
            await browser.until("output_audio_buffer.started")
            await browser.until("output_audio_buffer.stopped")
            assert max(loud for _, loud in browser.loud) > 3000, "the answer was heard"
            trace = await watcher.wait_for("turn.traced")
            assert trace["outcome"] == "completed"
        await watcher.wait_for("session.ended")


async def test_speech_over_the_answer_stops_it_and_history_is_what_was_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ears = ScriptedEars(["tell me a story", "stop"])
    async with embedded(tmp_path, ears=ears, brain=STORY, mouth=HummingMouth(40)) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_webrtc(st, session["client_secret"]["value"], monkeypatch) as browser:
            await watcher.wait_for("session.started")
            browser.microphone.speak(0.7)
            await browser.until("output_audio_buffer.started")
            await browser.hear(1.0)  # of the story
            browser.microphone.speak(0.7)
            cut = await browser.until("conversation.item.truncated")
            assert 0 < cut["audio_end_ms"] < 20_000
            await browser.until("output_audio_buffer.cleared")
            await watcher.wait_for("turn.traced")
            shown = await st.get(f"/sessions/{session['session_id']}")
            story = next(e for e in shown["transcript"] if "Once" in (e.get("text") or ""))
            assert len(story["text"]) < 600, "of 1,440 characters only what was played"
            assert shown["turns"][0]["outcome"] == "interrupted"


async def test_when_the_server_stops_its_calls_end_in_order(tmp_path: Path) -> None:
    async with embedded(tmp_path) as st:
        session = await st.post("/session")
        await st.watch(session["session_id"])
        opened = by_websocket(st, session["client_secret"]["value"])
        line = await opened.__aenter__()
        await line.speak()
    await opened.__aexit__(None, None, None)


async def test_a_full_engine_is_told_in_its_own_words(tmp_path: Path) -> None:
    async with embedded(tmp_path, engine_sessions=1) as st:
        session = await st.post("/session")
        async with by_websocket(st, session["client_secret"]["value"]):
            answer = await st.http.post("/session")
            assert answer.status_code == 503
            assert "as many as it serves at once" in answer.json()["error"]["message"]
            assert answer.headers["retry-after"]


async def test_a_busy_machine_takes_nobody_new_and_lets_everyone_go_on(tmp_path: Path) -> None:
    async with embedded(tmp_path, crowded=lambda: "The mouth is behind.") as st:
        first = await st.post("/session")  # alone, whatever the machine does
        async with by_websocket(st, first["client_secret"]["value"]):
            answer = await st.http.post("/session")
            assert answer.status_code == 503
            assert answer.json()["error"]["message"] == "The mouth is behind."
            assert answer.headers["retry-after"]
            again = await st.get(f"/session/reconnect?session_id={first['session_id']}")
            async with by_websocket(st, again["ephemeral_key"]):
                pass
