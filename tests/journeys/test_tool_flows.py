"""Seed 001 §3 and §5.1 with real tools in a real workspace, through the engine's own line."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import Stage
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.testing.engine import ScriptedEars

CONFIG = "PORT = 8080\nHOST = '127.0.0.1'\n"
# A plug-in of a package that happens to be installed beside us wants another that is not.
INI = "[pytest]\naddopts = -p no:amplifier_module -p no:cacheprovider\n"
SUITE = """
import time, pytest

@pytest.mark.parametrize("n", range(50))
def test_one(n):
    time.sleep(0.05)
"""


def said(line: Any) -> list[str]:
    done = line.all("response.output_audio_transcript.done")
    return [event["transcript"] for event in done]


async def heard(line: Any, words: str) -> str:
    """Until something with these words was said."""
    found: list[str] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(60):
            while not (found := [text for text in said(line) if words in text]):
                await line.next(60)
    assert found, f"{words!r} was not said, but {said(line)}: {line.types()}"
    return found[0]


async def until_answerable(st: Stage, session_id: str, *, granted: bool) -> None:
    """Who agrees has listened: a yes in the first moments of a request is not one to it."""
    live = st.here.registry.get(session_id)
    assert live is not None
    (asked,) = live.machine.state.work.approvals.values()
    async with asyncio.timeout(60):
        while not asked.answered_by(time.time() * 1000, granted=granted):
            await asyncio.sleep(0.01)


def workspace(folder: Path) -> Path:
    root = folder / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "config.py").write_text(CONFIG)
    (root / "tests").mkdir()
    (root / "pytest.ini").write_text(INI)
    (root / "tests" / "test_fifty.py").write_text(SUITE)
    return root


async def test_3_1_a_slow_tool_gets_a_word_and_then_its_answer(tmp_path: Path) -> None:
    """ "Search for Python async patterns": interim words while it runs, then the result."""
    script = Script(
        rules=(
            Rule(when="count slowly", calls=(ToolUse("bash", {"command": "pytest -q"}),)),
            Rule(result_of="bash", when="50 passed", say="All fifty tests passed."),
        )
    )
    root = workspace(tmp_path)
    async with embedded(
        tmp_path, script=script, workspace=root, ears=ScriptedEars(["count slowly"])
    ) as st:
        session = await st.post("/session", {"auto_approve": True})
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await line.speak()
            await heard(line, "All fifty tests passed")
            assert said(line)[0] == "Running that now, one moment."


async def test_3_2_a_chain_of_tools_finds_reads_and_explains(tmp_path: Path) -> None:
    script = Script(
        rules=(
            Rule(when="explain config", calls=(ToolUse("glob", {"pattern": "**/config.py"}),)),
            Rule(
                result_of="glob",
                when="src/config.py",
                calls=(ToolUse("read_file", {"path": "src/config.py"}),),
            ),
            Rule(result_of="read_file", when="PORT = 8080", say="It sets the port and the host."),
        )
    )
    ears = ScriptedEars(["read config dot py and explain config"])
    async with embedded(tmp_path, script=script, workspace=workspace(tmp_path), ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await heard(line, "It sets the port and the host")
            shown = await st.get(f"/sessions/{session['session_id']}")
            called = [e["tool_name"] for e in shown["transcript"] if e["entry_type"] == "tool_call"]
            assert called == ["glob", "read_file"]


async def test_3_3_the_runners_own_progress_is_shown(tmp_path: Path) -> None:
    """ "Run the tests": so many of fifty, from pytest's own output."""
    script = Script(
        rules=(
            Rule(when="run the tests", calls=(ToolUse("bash", {"command": "pytest -v"}),)),
            Rule(result_of="bash", when="50 passed", say="All fifty tests passed."),
        )
    )
    ears = ScriptedEars(["run the tests"])
    async with embedded(tmp_path, script=script, workspace=workspace(tmp_path), ears=ears) as st:
        session = await st.post("/session", {"auto_approve": True})
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await heard(line, "All fifty tests passed")
            progress = [event for event in watcher.all("tool.progress") if event["percentage"]]
            assert "of 50" in progress[0]["message"]
            assert 0 < progress[0]["percentage"] <= 100


async def test_5_1_a_tool_that_fails_is_told_plainly(tmp_path: Path) -> None:
    script = Script(
        rules=(
            Rule(when="secret", calls=(ToolUse("read_file", {"path": "/secret/path"}),)),
            Rule(result_of="read_file", when="permission", say="I can't: {output.error}"),
        )
    )
    ears = ScriptedEars(["read the config from slash secret"])
    async with embedded(tmp_path, script=script, workspace=workspace(tmp_path), ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            error = await watcher.wait_for("tool.error")
            assert error["tool_name"] == "read_file"
            assert "permission" in await heard(line, "I can't")


@pytest.mark.parametrize(("answer", "told"), [("yes go ahead", "Gone."), ("no", "I left it.")])
async def test_what_needs_a_yes_is_asked_aloud_and_answered_by_voice(
    tmp_path: Path, answer: str, told: str
) -> None:
    script = Script(
        rules=(
            Rule(when="throw it away", calls=(ToolUse("bash", {"command": "rm src/config.py"}),)),
            Rule(result_of="bash", when="Succeeded", say="Gone."),
            Rule(result_of="bash", when="not allow", say="I left it."),
            Rule(when="^(yes go ahead|no)$", say="Okay."),
        )
    )
    root = workspace(tmp_path)
    ears = ScriptedEars(["throw it away", answer])
    async with embedded(tmp_path, script=script, workspace=root, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            asked = await watcher.wait_for("approval.requested")
            assert asked["arguments"] == {"command": "rm src/config.py"}
            question = "I want to delete src/config.py. May I? Yes or no?"
            assert asked["question"] == question
            assert "delete" in await heard(line, "I want to")
            assert (root / "src" / "config.py").exists()
            assert watcher.all("tool.started") == [], "it runs when somebody said yes"
            await until_answerable(st, session["session_id"], granted=answer != "no")
            await line.speak()
            resolved = await watcher.wait_for("approval.resolved")
            assert (resolved["granted"], resolved["by"]) == (answer != "no", "voice")
            await heard(line, told)
            assert (root / "src" / "config.py").exists() == (answer == "no")
            assert len(watcher.all("tool.started")) == (answer != "no")


async def test_the_tests_are_asked_about_once_a_session_and_one_yes_is_enough(
    tmp_path: Path,
) -> None:
    script = Script(
        rules=(
            Rule(when="run the tests", calls=(ToolUse("bash", {"command": "pytest -q"}),)),
            Rule(result_of="bash", when="1 passed", say="All green."),
            Rule(when="^yes$", say="Okay."),
        )
    )
    root = workspace(tmp_path)
    (root / "tests" / "test_fifty.py").write_text("def test_one():\n    pass\n")
    ears = ScriptedEars(["run the tests", "yes", "run the tests again"])
    async with embedded(tmp_path, script=script, workspace=root, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            asked = await watcher.wait_for("approval.requested")
            assert asked["question"] == (
                "I want to run the tests with pytest. "
                "May I, for the rest of this session? Yes or no?"
            )
            await heard(line, "I want to run the tests")
            await until_answerable(st, session["session_id"], granted=True)
            await line.speak()
            resolved = await watcher.wait_for("approval.resolved")
            assert (resolved["granted"], resolved["reach"]) == (True, "session")
            await heard(line, "All green.")
            await line.speak()
            await watcher.wait_for("tool.completed", 2)
            assert len(watcher.all("approval.requested")) == 1


async def test_stop_ends_a_tool_that_runs_and_the_call_has_one_output(tmp_path: Path) -> None:
    script = Script(
        rules=(
            Rule(when="wait long", calls=(ToolUse("bash", {"command": "pytest -v"}),)),
            Rule(result_of="bash", when="stopped", say="Stopped."),
            Rule(when="never mind", say="Okay."),
        )
    )
    root = workspace(tmp_path)
    (root / "tests" / "test_fifty.py").write_text(SUITE.replace("0.05", "1.0"))
    ears = ScriptedEars(["wait long", "never mind"])
    async with embedded(tmp_path, script=script, workspace=root, ears=ears) as st:
        session = await st.post("/session", {"auto_approve": True})
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await watcher.wait_for("tool.progress")
            await line.speak()
            ended = await watcher.wait_for("tool.error")
            assert "stopped" in ended["error"]
            await heard(line, "Stopped.")
