"""`/webhook/tool-call` and `/tasks/{id}`: a call that a client relays, and how it is going."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import MOMENT, Doors, Json, doors, refused, soon
from vivavoce.errors import InternalError
from vivavoce.testing import ManualClock
from vivavoce.tools.functions import tool


def hook(name: str, call_id: str = "call_1", **arguments: Any) -> Json:
    return {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


async def relay(d: Doors, session_id: str, body: Json) -> Any:
    headers = {"x-session-id": session_id}
    return await d.http.post("/webhook/tool-call", json=body, headers=headers)


async def test_a_relayed_call_is_accepted_and_its_result_is_told(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        response = await relay(d, session_id, hook("calculate", expression="6*7"))
        assert response.status_code == 200
        assert response.json() == {"accepted": True, "call_id": "call_1", "task_id": "call_1"}
        completed = await d.until(session_id, "tool.completed")
        assert (completed["call_id"], completed["output_preview"]) == ("call_1", "42")
        task = await d.get("/tasks/call_1")
        assert MOMENT.fullmatch(task.pop("started_at"))
        assert MOMENT.fullmatch(task.pop("finished_at"))
        assert isinstance(task.pop("duration_ms"), int)
        assert task == {
            "task_id": "call_1",
            "tool_name": "calculate",
            "status": "completed",
            "output": "42",
            "session_id": session_id,
        }
        kinds = [entry["entry_type"] for entry in await d.transcript(session_id)]
        assert kinds == ["tool_call", "tool_result"]


async def test_a_call_that_the_sideband_has_seen_too_runs_once(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        session_id, call = await d.talk()
        await call.calls_tool("wait", {"seconds": 1}, call_id="call_1")
        await d.until(session_id, "tool.started")
        body = hook("wait", seconds=1)
        assert (await relay(d, session_id, body)).status_code == 200  # while it runs
        await clock.advance(1)
        await d.until(session_id, "tool.completed")
        assert (await relay(d, session_id, body)).status_code == 200  # and afterwards
        outputs = [
            frame["item"]["output"]
            for frame in call.received
            if frame.get("item", {}).get("type") == "function_call_output"
        ]
        await soon(lambda: not d.here.background.tasks)
        assert len(outputs) == 1
        for kind in ("tool.started", "tool.completed"):
            assert len(await d.events(session_id, kind)) == 1
        assert (await d.get("/tools/wait"))["execution_stats"]["total_calls"] == 1


async def test_a_call_that_was_relayed_first_is_answered_to_the_model(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await relay(d, session_id, hook("calculate", expression="6*7"))
        await d.until(session_id, "tool.completed")
        await call.calls_tool("calculate", {"expression": "6*7"}, call_id="call_1")
        output = await call.expect(
            "conversation.item.create", where={"item": {"type": "function_call_output"}}
        )
        assert output["item"]["output"] == "42"
        assert len(await d.events(session_id, "tool.started")) == 1


async def test_a_relayed_call_passes_the_same_checks_as_any_other(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session", {"tools_filter": ["calculate"]}))["session_id"]
        missing = refused(await relay(d, session_id, hook("calculate")), 400, "invalid_arguments")
        assert missing["details"] == {"tool": "calculate", "missing_params": ["expression"]}
        no_json = hook("calculate", "call_2") | {"arguments": "{"}
        refused(await relay(d, session_id, no_json), 400, "invalid_arguments")
        refused(await relay(d, session_id, hook("teleport", "call_3")), 404, "tool_not_found")
        # It exists, but this session's model was not offered it.
        refused(
            await relay(d, session_id, hook("wait", "call_4", seconds=0)), 404, "tool_not_found"
        )
        await relay(d, session_id, hook("calculate", "call_5", expression="1"))
        await d.until(session_id, "tool.completed")
        other = hook("calculate", "call_5", expression="2")
        refused(await relay(d, session_id, other), 409, "conflict")


async def test_a_relayed_call_needs_a_session(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        body = hook("calculate", expression="1")
        unnamed = await d.http.post("/webhook/tool-call", json=body)
        refused(unnamed, 400, "invalid_request")
        refused(await relay(d, "nothing", body), 404, "session_not_found")
        for wrong in (body | {"call_id": ""}, body | {"arguments": {}}, {"name": "calculate"}):
            refused(await relay(d, "nothing", wrong), 400, "invalid_request")


async def test_a_task_that_is_not_there_or_not_yours_is_not_found(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        refused(await d.http.get("/tasks/call_1"), 404, "not_found")
        await d.post("/execute/calculate", {"arguments": {"expression": "1"}, "call_id": "call_1"})
        assert (await d.get("/tasks/call_1"))["status"] == "completed"
        theirs = await d.http.get("/tasks/call_1", headers={"x-user-id": "eve"})
        refused(theirs, 404, "not_found")


async def test_a_failed_task_says_what_went_wrong(tmp_path: Path) -> None:
    @tool()
    async def hopeless() -> str:
        """Finds nothing."""
        raise FileNotFoundError("/secret/path")

    async with doors(tmp_path, tools=[hopeless]) as d:
        session_id = (await d.post("/session"))["session_id"]
        await relay(d, session_id, hook("hopeless"))
        told = await d.until(session_id, "tool.error")
        assert told["recoverable"] is True
        task = await d.get("/tasks/call_1")
        assert (task["status"], task["error"]) == ("failed", told["error"])
        assert "/secret/path" not in task["error"]


async def test_a_store_that_fails_costs_the_call_and_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]

        async def commit(changes: object) -> None:
            raise InternalError("The store could not do this.")

        with monkeypatch.context() as patched:
            patched.setattr(d.here.store, "commit", commit)
            response = await relay(d, session_id, hook("calculate", expression="1"))
            refused(response, 500, "internal_error")
        again = await relay(d, session_id, hook("calculate", "call_2", expression="1"))
        assert again.status_code == 200
        await d.until(session_id, "tool.completed")
