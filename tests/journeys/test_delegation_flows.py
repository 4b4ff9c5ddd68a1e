"""Seed 001 §4, §5.2 and §6.3: delegated work through the engine's line, with real tools.

The scripted brain thinks for the voice and for the agents: a rule whose tools
are not offered does not fit, so `task` is the voice's and `done` the agents'.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import Stage, Watcher
from tests.journeys.test_tool_flows import heard, said
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.testing.engine import ScriptedEars

DELEGATED = Rule(result_of="task", say="I'll delegate this to the coding agent.")
NEWS = Rule(note=True, when=r"is done\b.*instruction: (.*)", say="Good news: {1}")


def delegate(words: str, agent: str = "coder") -> Rule:
    return Rule(when=words, calls=(ToolUse("task", {"instruction": "{text}", "agent": agent}),))


def finish(summary: str) -> ToolUse:
    return ToolUse("done", {"summary": summary})


async def over(st: Stage, watcher: Watcher, kind: str = "task.completed") -> dict[str, Any]:
    await watcher.until(lambda: bool(watcher.all(kind)), 40)
    shown: dict[str, Any] = await st.get(f"/tasks/{watcher.all(kind)[0]['task_id']}")
    return shown


async def test_4_1_a_task_goes_on_in_the_background_and_its_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "auth.py").write_text("def login():\n    pass\n")
    edit = {"path": "auth.py", "old_string": "    pass", "new_string": "    print('login')"}
    script = Script(
        rules=(
            delegate("add logging"),
            DELEGATED,
            NEWS,
            Rule(when="add logging", calls=(ToolUse("read_file", {"path": "auth.py"}),)),
            Rule(result_of="read_file", when="def login", calls=(ToolUse("edit_file", edit),)),
            Rule(result_of="edit_file", calls=(finish("I added logging to one function."),)),
        )
    )
    ears = ScriptedEars(["add logging to the auth module"])
    async with embedded(tmp_path, script=script, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await heard(line, "I'll delegate this")
            task = await over(st, watcher)
            assert task["result"] == "I added logging to one function."
            assert task["files_changed"] == ["auth.py"]
            await heard(line, "Good news: I added logging")
            progress = [event["message"] for event in watcher.all("task.progress")]
            assert any("Reading auth.py" in message for message in progress)
            assert "print('login')" in (tmp_path / "auth.py").read_text()
            async with asyncio.timeout(5):
                while not (await st.get(f"/tasks/{task['id']}"))["told"]:
                    await asyncio.sleep(0.02)


async def test_4_2_several_agents_follow_each_other_and_the_phase_is_shown(tmp_path: Path) -> None:
    write = ToolUse("write_file", {"path": "login.py", "content": "ok = True\n"})
    script = Script(
        rules=(
            delegate("implement user authentication", "team"),
            DELEGATED,
            NEWS,
            Rule(when="implement user authentication", calls=(write,)),
            Rule(result_of="write_file", calls=(finish("Implemented, one file."),)),
            Rule(when="implement user authentication", calls=(finish("Looked at and fine."),)),
        )
    )
    ears = ScriptedEars(["implement user authentication"])
    async with embedded(tmp_path, script=script, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            task = await over(st, watcher)
            phases = [event["agent"] for event in watcher.all("task.progress")]
            assert list(dict.fromkeys(phases)) == ["planner", "coder", "reviewer"]
            assert task["files_changed"] == ["login.py"]
            await heard(line, "Good news")


async def test_4_3_a_question_in_the_middle_waits_for_the_users_words(tmp_path: Path) -> None:
    ask = {"question": "REST or GraphQL?", "choices": ["REST", "GraphQL"]}
    script = Script(
        rules=(
            delegate("create a new endpoint"),
            DELEGATED,
            NEWS,
            Rule(note=True, when="waits for an answer", say="Should I create a REST or GraphQL?"),
            Rule(when="use rest", calls=(ToolUse("answer_task", {"answer": "REST"}),)),
            Rule(result_of="answer_task", say="Got it, creating it."),
            Rule(when="create a new endpoint", calls=(ToolUse("ask_user", ask),)),
            Rule(result_of="ask_user", when="REST", calls=(finish("The REST endpoint is there."),)),
        )
    )
    ears = ScriptedEars(["create a new endpoint", "use rest"])
    async with embedded(tmp_path, script=script, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            question = await watcher.wait_for("task.question")
            assert question["choices"] == ["REST", "GraphQL"]
            await heard(line, "Should I create a REST")
            waiting = await st.get(f"/tasks/{question['task_id']}")
            assert waiting["status"] == "waiting"
            await line.speak()
            await heard(line, "Got it")
            assert (await over(st, watcher))["result"] == "The REST endpoint is there."
            await heard(line, "Good news: The REST endpoint")


async def test_5_2_a_failure_is_told_with_what_was_tried_and_a_new_task_follows(
    tmp_path: Path,
) -> None:
    failed = {
        "error": "3 tests are failing",
        "tried": ["fixed the obvious one", "ran them again"],
        "suggestions": ["fix them first"],
    }
    script = Script(
        rules=(
            delegate("deploy to prod"),
            delegate("fix them"),
            DELEGATED,
            NEWS,
            Rule(note=True, when=r"failed: (.*?)\.", say="It failed: {1}. Should I fix them?"),
            Rule(when="fix them", calls=(finish("All tests pass now."),)),
            Rule(when="deploy to prod", calls=(ToolUse("give_up", failed),)),
        )
    )
    ears = ScriptedEars(["deploy to prod", "yes fix them"])
    async with embedded(tmp_path, script=script, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            task = await over(st, watcher, "task.failed")
            assert task["details"] == ["fixed the obvious one", "ran them again"]
            assert task["suggestions"] == ["fix them first"]
            await heard(line, "It failed: 3 tests are failing")
            await line.speak()
            await heard(line, "Good news: All tests pass now")
            assert len((await st.get("/tasks"))["tasks"]) == 2


async def test_6_3_a_task_outlives_its_call_and_is_told_once_at_the_next(tmp_path: Path) -> None:
    """The user hangs up in the middle; what happened meanwhile waits for them."""
    script = Script(
        rules=(
            delegate("long work"),
            DELEGATED,
            NEWS,
            Rule(when="long work", calls=(ToolUse("ask_user", {"question": "Go on?"}),)),
            Rule(result_of="ask_user", calls=(finish("The long work is over."),)),
        )
    )
    ears = ScriptedEars(["long work"])
    async with embedded(tmp_path, script=script, ears=ears) as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            task_id = (await watcher.wait_for("task.question"))["task_id"]
        await watcher.wait_for("session.ended")
        await st.post(f"/tasks/{task_id}/answer", {"answer": "yes"})
        async with asyncio.timeout(20):
            while (await st.get(f"/tasks/{task_id}"))["status"] != "completed":
                await asyncio.sleep(0.02)
        assert (await st.get(f"/tasks/{task_id}"))["told"] is False
        again = await st.post("/session/restore", {"prev_session_id": session["session_id"]})
        async with by_websocket(st, again["ephemeral_key"]) as line:
            await heard(line, "Good news: The long work is over")
        async with asyncio.timeout(10):
            while not (await st.get(f"/tasks/{task_id}"))["told"]:
                await asyncio.sleep(0.02)
        third = await st.post("/session")
        watcher = await st.watch(third["session_id"])
        async with by_websocket(st, third["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            await line.speak()
            await line.until("response.done")
            assert not [text for text in said(line) if "Good news" in text]
