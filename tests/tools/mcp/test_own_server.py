"""`vivavoce mcp`, driven by the official client over stdio, in front of a whole server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from tests.server.doors import Doors, doors
from tests.server.serving import serving
from vivavoce.app.server import build_app
from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext
from vivavoce.tools.functions import tool
from vivavoce.wire.records.talk import Put, utc_now
from vivavoce.wire.records.work import Task

COMMAND = ("-m", "vivavoce", "mcp", "--url")


@tool(category="test")
async def stubborn() -> str:
    """Fails, and says why."""
    raise ToolFailed("The printer is on fire.")


@tool(category="test")
async def curious(context: ToolContext) -> str:
    """Asks the user."""
    return f"They said {await context.ask('Tea or coffee?', ['tea', 'coffee'])}"


@asynccontextmanager
async def host(url: str, folder: Path) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, url], cwd=folder, env={"VIVAVOCE_AUTH_TOKEN": ""}
    )
    with (folder / "stderr").open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            yield client


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_a_host_lists_calls_and_looks_after_tasks(tmp_path: Path) -> None:
    async with (
        doors(tmp_path, tools=[stubborn, curious]) as house,
        serving(build_app(house.here)) as served,
        host(f"http://127.0.0.1:{served.port}", tmp_path) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert len(names) == len(set(names))
        assert {"calculate", "list_tasks", "get_task", "answer_task", "cancel_task"} <= set(names)

        sum_ = await client.call_tool("calculate", {"expression": "6 * 7"})
        assert (sum_.is_error, text(sum_)) == (False, "42")
        wrong = await client.call_tool("calculate", {})
        assert wrong.is_error
        assert "Missing required parameter 'expression'" in text(wrong)
        failed = await client.call_tool("stubborn", {})
        assert failed.is_error
        assert "The printer is on fire" in text(failed)

        await _looks_after_tasks(client, house)


async def _looks_after_tasks(client: Client, house: Doors) -> None:
    now = utc_now()
    task = Task(
        id="task_1",
        user_id="local",
        description="Mend the gate",
        agent="coder",
        backend="test",
        created_at=now,
        updated_at=now,
        title="Mend the gate",
        progress="half way",
        percentage=50,
    )
    await house.here.store.commit([Put(task)])
    listed: dict[str, Any] = json.loads(text(await client.call_tool("list_tasks", {})))
    assert [one["title"] for one in listed["tasks"]] == ["Mend the gate"]
    got = json.loads(text(await client.call_tool("get_task", {"task_id": "task_1"})))
    assert (got["progress"], got["percentage"]) == ("half way", 50)
    unknown = await client.call_tool("get_task", {"task_id": "../session"})
    assert unknown.is_error
    lacking = await client.call_tool("answer_task", {"task_id": "task_1"})
    assert text(lacking) == "answer_task needs answer"
    nothing_asked = await client.call_tool("answer_task", {"task_id": "task_1", "answer": "tea"})
    assert nothing_asked.is_error

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(client.call_tool("curious", {}))
        async with asyncio.timeout(10):
            while not (waiting := house.here.questions.open_for("local")):
                await asyncio.sleep(0.01)
        told = await client.call_tool("answer_task", {"task_id": waiting[0], "answer": "tea"})
        assert not told.is_error
    assert text(asking.result()) == "They said tea"


def test_without_a_server_it_says_so_and_only_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    requests: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "calculate", "arguments": {}}},
    ]
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "http://127.0.0.1:9"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("VIVAVOCE_")},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for request in requests:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
    process.stdin.flush()
    answers = {}
    for _ in range(3):
        answer = json.loads(process.stdout.readline())
        answers[answer["id"]] = answer
    rest, errors = process.communicate(timeout=30)
    assert rest == ""
    words = "No Vivavoce server answers at http://127.0.0.1:9. Start one with `vivavoce serve`"
    assert words in errors
    assert words in answers[2]["error"]["message"]
    assert answers[3]["result"]["isError"]
    assert words in answers[3]["result"]["content"][0]["text"]
    assert process.returncode == 0
