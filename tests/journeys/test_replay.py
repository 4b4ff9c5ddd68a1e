"""`vivavoce replay`: what a session on a real server went through, played again by the command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import Stage, stage
from vivavoce.cli import main
from vivavoce.session import saying
from vivavoce.testing.engine import ScriptedEars

CARD = "4111 1111 1111 1111"


async def talk(st: Stage) -> str:
    """With a tool, an interruption, a lost sideband and something that must not be kept."""
    session, call, watcher = await st.talk(can_type=True)
    session_id = str(session["session_id"])
    await call.user_says("What is six times seven?")
    await call.calls_tool("calculate", {"expression": "6*7"}, call_id="call_42")
    await call.expect("response.create")
    await call.assistant_starts("Forty-two, which is the answer to everything.")
    await call.user_says(f"My card is {CARD}.", heard_ms=900)
    await call.assistant_says("I did not keep that.")
    await watcher.wait_for("assistant.done", 2)
    await st.post(f"/sessions/{session_id}/end")
    await watcher.wait_for("session.ended")
    return session_id


async def _replay(*args: str) -> int:
    """As somebody types it, in a process of its own but for the process."""
    return await asyncio.to_thread(main, ["replay", *args])


async def test_a_session_is_played_again_saved_and_its_first_difference_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = ("--data-dir", str(tmp_path)), tmp_path / "case.json"
    async with stage(tmp_path) as st:
        session_id = await talk(st)
        assert await _replay(session_id, *data, "--save", str(file)) == 0
    told = capsys.readouterr().out
    assert "steps, all the same" in told
    assert int(told.split(" ", 1)[0]) > 25
    kept = file.read_text()
    assert file.stat().st_mode & 0o077 == 0, "for its owner's eyes only"
    assert "six times seven" in kept
    assert "[redacted: card number]" in kept
    assert "1111" not in kept
    (run,) = json.loads(kept)["runs"]
    assert any("frame" in step for step in run["steps"])

    assert await _replay(str(file)) == 0
    assert await _replay(str(file), "--save", str(file)) == 2
    assert "is there already" in capsys.readouterr().err

    monkeypatch.setattr(saying, "truncated", lambda event, draft: None)
    assert await _replay(str(file)) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("Step ")
    assert "conversation.item.truncated" in shown
    assert "then: " in shown
    assert "now:  nothing" in shown


async def test_a_conversation_with_our_own_engine_goes_the_same_way_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with embedded(tmp_path, ears=ScriptedEars(["good morning"])) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await line.until("response.done")
            await watcher.wait_for("turn.traced")
        await watcher.wait_for("session.ended")
    assert await _replay(session["session_id"], "--data-dir", str(tmp_path)) == 0
    assert "all the same" in capsys.readouterr().out


async def test_what_cannot_be_played_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("--data-dir", str(tmp_path))
    async with stage(tmp_path, recording=False) as st:
        session_id = await talk(st)
    assert await _replay(session_id, *data) == 2
    assert f"nothing is recorded of session '{session_id}'" in capsys.readouterr().err
    assert await _replay("vs_20200101_000000_0000", *data) == 2
    assert "there is no session 'vs_20200101_000000_0000'" in capsys.readouterr().err
    other = tmp_path / "other.json"
    for wrong in ("[1]", "[" * 100_000, '{"runs":' * 50_000, "1" * 5_000):
        other.write_text(wrong)
        assert await _replay(str(other)) == 2
        assert "is no file that `vivavoce replay --save` made" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        await _replay("--help")
    assert "Exit code 0: all is the same" in " ".join(capsys.readouterr().out.split())
