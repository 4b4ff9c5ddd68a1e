"""Seed 001 §2: "What time is it?", event by event."""

from __future__ import annotations

import re
from pathlib import Path

from tests.journeys.stage import stage


async def test_a_question_is_answered_aloud_and_every_step_is_seen_and_stored(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk(voice="marin")
        assert re.fullmatch(r"vs_\d{8}_\d{6}_[0-9a-f]{4,}", session["session_id"])
        assert session["client_secret"]["value"].startswith("ek_")

        await call.user_says("What time is it?")
        await watcher.until(lambda: len(watcher.all("transcription.completed")) >= 1)
        await call.assistant_says("It's 2:30 PM.")
        await watcher.wait_for("turn.traced")

        assert watcher.types() == [
            "connection.status",
            "context.updated",
            "session.started",
            "connection.status",
            "speech.started",
            "speech.stopped",
            "transcription.completed",
            "assistant.speaking",
            "transcription.completed",
            "assistant.done",
            "turn.traced",
        ]
        states = [data["state"] for data in watcher.all("session.status")]
        assert states == ["initializing", "ready", "listening", "processing", "speaking", "ready"]
        detail = await st.get(f"/sessions/{session['session_id']}")
        spoken = [(entry["entry_type"], entry["text"]) for entry in detail["transcript"]]
        assert spoken == [("user", "What time is it?"), ("assistant", "It's 2:30 PM.")]
        assert detail["session"]["turn_count"] == 1
        assert detail["session"]["title"] == "What time is it?"

        ended = await st.post(f"/sessions/{session['session_id']}/end")
        assert ended["session"]["status"] == "completed"
        assert (await watcher.wait_for("session.ended"))["reason"] == "user_ended"


async def test_the_model_knows_the_time_without_a_tool(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        _, call, _ = await st.talk()
        update = await call.expect("session.update")
        assert "(Europe/Rome)" in update["session"]["instructions"]
        assert update["session"]["audio"]["output"]["voice"] == "marin"


async def test_a_tool_is_run_over_the_sideband_and_its_result_is_spoken(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("What is six times seven?")
        await call.calls_tool("calculate", {"expression": "6*7"}, call_id="call_42")
        output = await call.expect(
            "conversation.item.create",
            where=lambda frame: frame["item"]["type"] == "function_call_output",
        )
        assert output["item"]["call_id"] == "call_42"
        assert "42" in output["item"]["output"]
        await call.expect("response.create")
        await call.assistant_says("Forty-two.")
        await watcher.wait_for("assistant.done")
        assert watcher.all("tool.started")[0]["call_id"] == "call_42"
        assert watcher.all("tool.completed")[0]["success"] is True

        detail = await st.get(f"/sessions/{session['session_id']}")
        kinds = [entry["entry_type"] for entry in detail["transcript"]]
        assert kinds == ["user", "tool_call", "tool_result", "assistant"]
        stats = (await st.get("/tools/calculate"))["execution_stats"]
        assert (stats["total_calls"], stats["success_rate"]) == (1, 1.0)
