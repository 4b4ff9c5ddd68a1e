"""The flows of seed 001 that a voice server without an engine can show."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.stage import stage
from vivavoce.testing.realtime.response import ToolUse

AGENT = """\
name: hurried
tools: [current_time, wait]
greeting: Say hello in two words.
timeouts:
  idle_minutes: {idle}
  warning_seconds: {warning}
"""


def agent(folder: Path, *, idle: float, warning: float) -> str:
    home = folder / "hurried"
    home.mkdir()
    (home / "agent.yaml").write_text(AGENT.format(idle=idle / 60, warning=warning))
    (home / "prompt.md").write_text("Be quick.\n")
    return str(home)


async def test_speaking_over_the_assistant_keeps_only_what_was_heard(tmp_path: Path) -> None:
    """Seed 001 §7.3."""
    words = "The auth system uses JWT tokens with a two-step verification process. First, the user"
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Explain how the auth system works")
        await call.assistant_starts(words)
        await watcher.wait_for("assistant.speaking")
        await call.user_says("Wait, what's a JWT?", heard_ms=2500)
        await watcher.until(lambda: len(watcher.all("transcription.completed")) >= 3)
        await call.assistant_says("JWT stands for JSON Web Token.")
        await watcher.until(lambda: len(watcher.all("assistant.done")) >= 2)
        transcript = (await st.get(f"/sessions/{session['session_id']}"))["transcript"]
        cut = transcript[1]
        assert cut["interrupted"] is True
        assert cut["generated_text"] == words
        assert words.startswith(cut["text"])
        assert 0 < len(cut["text"]) < len(words)
        assert [entry["entry_type"] for entry in transcript] == ["user", "assistant"] * 2


async def test_silence_is_warned_of_ends_the_session_and_it_can_be_restored(
    tmp_path: Path,
) -> None:
    """Seed 001 §6.1 and §6.2."""
    hurried = agent(tmp_path, idle=1.0, warning=0.5)
    async with stage(tmp_path, agent=hurried) as st:
        session, call, watcher = await st.talk()
        greeting = await call.expect("response.create")
        assert greeting["response"]["instructions"].endswith("\n\nSay hello in two words.")
        await call.assistant_says("Hello there.")
        await call.user_says("We were fixing the login page.")
        await watcher.wait_for("transcription.completed", 2)
        await call.assistant_says("Yes.")
        await watcher.wait_for("session.warning")
        await watcher.wait_for("session.expired")
        assert (await watcher.wait_for("session.ended"))["reason"] == "timeout"
        await call.ended()

        restored = await st.post("/session/restore", {"prev_session_id": session["session_id"]})
        assert restored["new_session_id"] != session["session_id"]
        again = await st.connect(restored["ephemeral_key"])
        greeting = await again.expect("response.create")
        assert "Welcome the user back" in greeting["response"]["instructions"]
        told = [f["item"] for f in again.received if f["type"] == "conversation.item.create"]
        assert "We were fixing the login page." in str(told)


async def test_a_tool_that_fails_is_explained_not_hidden(tmp_path: Path) -> None:
    """Seed 001 §5.1."""
    async with stage(tmp_path) as st:
        _, call, watcher = await st.talk()
        await call.calls_tool("calculate", {"expression": "1/0"}, call_id="call_1")
        output = await call.expect(
            "conversation.item.create", where=lambda f: f["item"].get("call_id") == "call_1"
        )
        told = output["item"]["output"]
        assert '"success":false' in told
        assert '"recoverable"' in told
        assert (await watcher.wait_for("tool.error"))["tool_name"] == "calculate"
        await call.expect("response.create")


async def test_several_tools_of_one_answer_run_at_once_and_are_spoken_of_together(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        _, call, watcher = await st.talk()
        await call.calls_tools(
            ToolUse("calculate", {"expression": "2+2"}, "call_1"),
            ToolUse("current_time", {}, "call_2"),
            ToolUse("wait", {"seconds": 1}, "call_3"),
            saying="Let me look.",
        )
        await call.expect("response.create")
        outputs = [
            frame["item"]["call_id"]
            for frame in call.received
            if frame["type"] == "conversation.item.create"
            and frame["item"]["type"] == "function_call_output"
        ]
        assert sorted(outputs) == ["call_1", "call_2", "call_3"]
        asked = [frame for frame in call.received if frame["type"] == "response.create"]
        assert len(asked) == 1
        await watcher.until(lambda: len(watcher.all("tool.completed")) == 3)


async def test_what_happened_meanwhile_is_there_for_a_client_that_was_away(
    tmp_path: Path,
) -> None:
    """Seed 001 §6.3: the connection is lost while a tool works."""
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.calls_tool("wait", {"seconds": 2}, call_id="call_1")
        await watcher.wait_for("tool.started")
        headers = {"x-session-id": session["session_id"]}
        again = await st.get("/session/reconnect", headers=headers)
        second = await st.connect(again["ephemeral_key"])
        await watcher.wait_for("tool.completed")
        result = await second.expect(
            "conversation.item.create", where=lambda f: f["item"].get("role") == "system"
        )
        assert "has finished" in result["item"]["content"][0]["text"]
        missed = await st.get("/session/pending_updates", headers=headers)
        kinds = [update["event"] for update in missed["queued_updates"]]
        assert {"tool.started", "tool.progress", "tool.completed"} <= set(kinds)
        task = await st.get("/tasks/call_1")
        assert task["status"] == "completed"
