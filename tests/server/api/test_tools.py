"""`/tools` and `/execute`: what there is, and running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import MOMENT, doors, refused
from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolOutput
from vivavoce.testing import ManualClock
from vivavoce.tools.functions import tool

AGENT = "name: narrow\ntools: [calculate]\n"


@tool(category="test")
async def verbose(size: int) -> str:
    """As many characters as you want."""
    return "x" * size


@tool(category="test")
async def stubborn() -> str:
    """Fails, and says why."""
    raise ToolFailed("The printer is on fire.")


@tool(category="test")
async def broken() -> str:
    """Fails, and nobody meant it to."""
    raise RuntimeError("password=hunter2")


@tool(category="test")
async def failing() -> ToolOutput:
    """A command that ends badly."""
    words = "Failed (exit code 2)."
    return ToolOutput(f"{words}\nno such option", "log", failed=words, exit_code=2)


TOOLS = (verbose, stubborn, broken, failing)


# --- GET /tools ---------------------------------------------------------------------------


async def test_tools_are_listed_as_functions_and_by_category(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=TOOLS) as d:
        listed = await d.get("/tools")
        assert set(listed) == {"tools", "count", "categories"}
        names = [found["name"] for found in listed["tools"]]
        assert listed["count"] == len(names) == 20
        for found in listed["tools"]:
            assert set(found) == {"type", "name", "description", "parameters"}
            assert found["type"] == "function"
        assert {"name": "test", "tools": ["verbose", "stubborn", "broken", "failing"]} in listed[
            "categories"
        ]
        sorted_in = [name for category in listed["categories"] for name in category["tools"]]
        assert sorted(sorted_in) == sorted(names)


async def test_a_tool_is_told_with_examples_and_true_statistics(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=TOOLS) as d:
        before = await d.get("/tools/calculate")
        assert set(before) == {"tool", "execution_stats", "examples"}
        assert before["execution_stats"] == {
            "total_calls": 0,
            "avg_duration_ms": 0.0,
            "success_rate": 0.0,
        }
        assert set(before["examples"][0]) == {"description", "arguments", "expected_output"}
        await d.post("/execute/calculate", {"arguments": {"expression": "1+1"}})
        await d.post("/execute/calculate", {"arguments": {"expression": "2+2"}})
        await d.http.post("/execute/calculate", json={"arguments": {"expression": "1/0"}})
        stats = (await d.get("/tools/calculate"))["execution_stats"]
        assert stats["total_calls"] == 3
        assert stats["success_rate"] == pytest.approx(2 / 3)
        assert MOMENT.fullmatch(stats["last_called"])


async def test_a_tool_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        missing = refused(await d.http.get("/tools/teleport"), 404, "tool_not_found")
        assert missing["details"] == {"tool": "teleport"}
        response = await d.http.post("/execute/teleport", json={"arguments": {}})
        refused(response, 404, "tool_not_found")


async def test_an_agents_tools_are_all_there_is(tmp_path: Path) -> None:
    folder = tmp_path / "narrow"
    folder.mkdir()
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "prompt.md").write_text("Calculate.")
    async with doors(tmp_path, agent=str(folder)) as d:
        assert [found["name"] for found in (await d.get("/tools"))["tools"]] == ["calculate"]
        refused(await d.http.get("/tools/wait"), 404, "tool_not_found")
        response = await d.http.post("/execute/wait", json={"arguments": {"seconds": 0}})
        refused(response, 404, "tool_not_found")
        assert (await d.get("/health"))["amplifier"]["tools_count"] == 1
        wider = await d.http.post("/session", json={"tools_filter": ["wait"]})
        refused(wider, 400, "invalid_request")


# --- POST /execute --------------------------------------------------------------------------


async def test_a_tool_is_run_and_its_output_returned(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        body = {"arguments": {"expression": "6*7"}, "call_id": "call_abc123"}
        done = await d.post("/execute/calculate", body)
        assert isinstance(done.pop("duration_ms"), int)
        assert done == {
            "success": True,
            "output": "42",
            "truncated": False,
            "call_id": "call_abc123",
        }
        nameless = await d.post("/execute/calculate", {"arguments": {"expression": "1"}})
        assert nameless["call_id"].startswith("call_")


async def test_a_call_in_a_session_is_told_and_becomes_part_of_its_transcript(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        body = {"arguments": {"expression": "6*7"}, "call_id": "call_1"}
        await d.post("/execute/calculate", body, headers={"x-session-id": session_id})
        started = await d.until(session_id, "tool.started")
        assert started["description"] == "Calculating 6*7"
        completed = await d.until(session_id, "tool.completed")
        assert (completed["success"], completed["output_preview"]) == (True, "42")
        kinds = [entry["entry_type"] for entry in await d.transcript(session_id)]
        assert kinds == ["tool_call", "tool_result"]
        assert (await d.get("/tasks/call_1"))["session_id"] == session_id


async def test_missing_arguments_are_named(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.post("/execute/calculate", json={"arguments": {}})
        error = refused(response, 400, "invalid_arguments")
        assert error["message"] == "Missing required parameter 'expression' for tool 'calculate'"
        assert error["details"] == {"tool": "calculate", "missing_params": ["expression"]}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("calculate", {"expression": 5}),
        ("calculate", {"expression": "1", "precision": 3}),
        ("wait", {"seconds": -1}),
        ("wait", {"seconds": 2**70}),
        ("current_time", {"time_zone": "\ud800"}),
    ],
)
async def test_wrong_arguments_are_refused_before_anything_runs(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.post(
            f"/execute/{name}",
            content=json.dumps({"arguments": arguments}),
            headers={"content-type": "application/json"},
        )
        assert refused(response, 400, "invalid_arguments")["details"]["tool"] == name


async def test_a_slow_tool_is_stopped_when_its_time_is_up(tmp_path: Path) -> None:
    async with doors(tmp_path, clock=ManualClock()) as d:
        body = {"arguments": {"seconds": 5}, "timeout_ms": 20, "call_id": "call_slow"}
        error = refused(await d.http.post("/execute/wait", json=body), 408, "tool_timeout")
        assert error["details"] == {"tool": "wait", "timeout_ms": 20}
        task = await d.get("/tasks/call_slow")
        assert task["status"] == "failed"


async def test_output_that_no_wire_carries_is_mended(tmp_path: Path) -> None:
    @tool()
    async def listing() -> str:
        """A file whose name is no UTF-8."""
        return b"caf\xe9.txt".decode("utf-8", "surrogateescape")

    async with doors(tmp_path, tools=[listing]) as d:
        session_id, call = await d.talk()
        await call.calls_tool("listing", call_id="call_1")
        output = await call.expect(
            "conversation.item.create", where={"item": {"type": "function_call_output"}}
        )
        assert output["item"]["output"] == "caf?.txt"
        done = await d.post("/execute/listing", {"arguments": {}})
        assert done["output"] == "caf?.txt"
        assert (await d.state(session_id))["status"] == "active"


async def test_long_output_is_cut_and_says_so(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=TOOLS) as d:
        body = {"arguments": {"size": 10_000}, "call_id": "call_long"}
        done = await d.post("/execute/verbose", body)
        assert done["truncated"] is True
        assert len(done["output"]) <= 4000
        assert "...[truncated, 10000 characters, 1 lines in all" in done["output"]
        assert (await d.get("/tasks/call_long"))["output"] == "x" * 10_000


async def test_a_tool_that_fails_or_breaks_is_an_answer_and_the_same_one_again(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, tools=TOOLS) as d:
        failed = await d.post("/execute/stubborn", {"arguments": {}})
        assert (failed["success"], failed["output"]) == (False, "")
        assert "The printer is on fire." in failed["error"]
        for _ in range(2):
            response = await d.http.post("/execute/broken", json={"call_id": "call_1"})
            assert response.status_code == 200
            assert response.json()["success"] is False
            assert "hunter2" not in response.text


async def test_a_command_that_fails_is_no_success_anywhere_and_can_be_read(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=TOOLS) as d:
        session_id, call = await d.talk()
        await call.calls_tool("failing", call_id="call_1")
        output = await call.expect(
            "conversation.item.create", where={"item": {"type": "function_call_output"}}
        )
        assert output["item"]["output"].startswith("Failed (exit code 2).\nno such option")
        told = await d.until(session_id, "tool.error")
        assert (told["code"], told["exit_code"]) == ("command_failed", 2)
        assert "no such option" in told["output_preview"]
        body = {"arguments": {}, "call_id": "call_2"}
        for done in (
            await d.post("/execute/failing", body),
            await d.post("/execute/failing", body),
        ):
            assert (done["success"], done["error"]) == (False, "Failed (exit code 2).")
            assert "no such option" in done["output"]
        assert (await d.get("/tasks/call_2"))["status"] == "failed"
        assert (await d.get("/tools/failing"))["execution_stats"]["success_rate"] == 0.0
        assert 'tool_failures_total{tool="failing"} 2.0' in (await d.http.get("/metrics")).text
        [result] = [e for e in await d.transcript(session_id) if e["entry_type"] == "tool_result"]
        assert result["tool_result"]["success"] is False
        assert result["tool_result"]["exit_code"] == 2


async def test_a_failure_has_the_code_of_its_cause(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=TOOLS) as d:
        session_id, call = await d.talk()
        await call.calls_tool("read_file", {"path": "nowhere.txt"}, call_id="call_1")
        assert (await d.until(session_id, "tool.error", 1))["code"] == "not_found"
        await call.calls_tool("stubborn", call_id="call_2")
        assert (await d.until(session_id, "tool.error", 2))["code"] == "tool_failed"
        await call.calls_tool("broken", call_id="call_3")
        assert (await d.until(session_id, "tool.error", 3))["code"] == "internal_error"


async def test_nobody_is_offered_work_that_nobody_can_do(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        names = [found["name"] for found in (await d.get("/tools"))["tools"]]
        assert "task" not in names
        opened = await d.post("/session")
        assert "task" not in {one["name"] for one in opened["tools"]}
        asked = {"arguments": {"agent": "foundation:explorer", "task": "Find all Python files"}}
        refused(await d.http.post("/execute/task", json=asked), 404, "tool_not_found")


async def test_the_example_of_seed_003_is_taken(tmp_path: Path) -> None:
    """`task` is what seed 003 calls the instruction."""
    brain: dict[str, Any] = {"brain": "http://127.0.0.1:9/v1", "brain_model": "any"}
    async with doors(tmp_path, **brain) as d:
        asked = {
            "arguments": {"agent": "foundation:explorer", "task": "Find all Python files"},
            "call_id": "call_abc123",
        }
        done = await d.post("/execute/task", asked)
        assert done["success"], done
        [task] = (await d.get("/tasks"))["tasks"]
        assert (task["agent"], task["description"]) == (
            "foundation:explorer",
            "Find all Python files",
        )
        await d.post(f"/tasks/{task['id']}/cancel")
        both = {"arguments": {"instruction": "Find them", "task": "Find them"}}
        refused(await d.http.post("/execute/task", json=both), 400, "invalid_arguments")


async def test_a_session_that_is_over_runs_nothing_any_more(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        await d.post(f"/sessions/{session_id}/end")
        here = {"x-session-id": session_id}
        refused(await d.http.post("/execute/current_time", json={}, headers=here), 409, "conflict")
        relayed = {"call_id": "call_1", "name": "current_time", "arguments": "{}"}
        over = await d.http.post("/webhook/tool-call", json=relayed, headers=here)
        refused(over, 409, "conflict")


async def test_the_same_call_id_is_the_same_call(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        body = {"arguments": {"expression": "6*7"}, "call_id": "call_1"}
        first = await d.post("/execute/calculate", body)
        assert await d.post("/execute/calculate", body) == first
        assert (await d.get("/tools/calculate"))["execution_stats"]["total_calls"] == 1
        other = {"arguments": {"expression": "1+1"}, "call_id": "call_1"}
        refused(await d.http.post("/execute/calculate", json=other), 409, "conflict")


@pytest.mark.parametrize(
    "body",
    [
        {"arguments": "{}"},
        {"arguments": {}, "timeout_ms": 0},
        {"arguments": {}, "timeout_ms": True},
        {"arguments": {}, "call_id": "with space"},
        {"arguments": {}, "shell": True},
    ],
)
async def test_a_request_that_is_no_call_is_invalid(tmp_path: Path, body: dict[str, Any]) -> None:
    async with doors(tmp_path) as d:
        refused(await d.http.post("/execute/calculate", json=body), 400, "invalid_request")


async def test_a_session_allows_only_what_its_model_was_offered(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session", {"tools_filter": ["calculate"]}))["session_id"]
        here = {"x-session-id": session_id}
        allowed = {"arguments": {"expression": "1"}}
        await d.post("/execute/calculate", allowed, headers=here)
        response = await d.http.post("/execute/current_time", json={"arguments": {}}, headers=here)
        refused(response, 404, "tool_not_found")
        await d.post("/execute/current_time", {"arguments": {}})


async def test_calls_of_the_model_and_of_clients_share_one_limit(tmp_path: Path) -> None:
    async with doors(tmp_path, executions_per_minute=2) as d:
        session_id, call = await d.talk()
        await call.calls_tool("calculate", {"expression": "1"}, call_id="call_1")
        await d.until(session_id, "tool.completed")
        here = {"x-session-id": session_id}
        body = {"arguments": {"expression": "2"}}
        await d.post("/execute/calculate", body, headers=here)
        response = await d.http.post("/execute/calculate", json=body, headers=here)
        error = refused(response, 429, "rate_limited")
        assert error["details"]["limit"] == 2
        wait = error["details"]["retry_after_ms"]
        assert 0 < wait <= 60_000
        assert int(response.headers["retry-after"]) == -(-wait // 1000)
        hook = {"call_id": "call_2", "name": "calculate", "arguments": '{"expression": "3"}'}
        relayed = await d.http.post("/webhook/tool-call", json=hook, headers=here)
        refused(relayed, 429, "rate_limited")
        refused(await d.http.get("/tasks/call_2"), 404, "not_found")
        await call.calls_tool("calculate", {"expression": "4"}, call_id="call_3")
        assert "slow down" in (await d.until(session_id, "tool.error"))["error"]
