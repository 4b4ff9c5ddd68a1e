"""Runtimes at a whole server, answered by the engine inside with a scripted brain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.docs_text import ROOT
from tests.journeys.embedded import embedded
from tests.journeys.runtime import Runtime
from vivavoce.brain.script.script import Rule, Script, ToolUse

FLOWS = ROOT / "docs" / "conductor" / "examples"
BATTERY = {
    "name": "battery.level",
    "description": "How full the battery is, in percent.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}
SCRIPT = Script(
    rules=(
        Rule(when="^Hello$", say="Hi there!"),
        Rule(when="battery", calls=(ToolUse("battery_level", {}),)),
        Rule(result_of="battery_level", say="The battery is at 80 percent."),
    )
)


def shape(kind: str, body: dict[str, Any]) -> tuple[str, ...]:
    """What of an event the flow is about."""
    if kind == "toolCall":
        return kind, body["name"], body["arguments"]
    return kind, body.get("text", "")


async def walk(runtime: Runtime, name: str) -> None:
    """The flow of an example, message by message; what is said so far may come in between."""
    flow = json.loads((FLOWS / f"{name}.flow.json").read_text())
    calls: dict[str, str] = {}
    async with runtime.connected(start=False):
        for step in flow:
            ((kind, body),) = step["event"]["kind"].items()
            if step["from"] == "client":
                if "sessionId" in body:
                    body = {**body, "sessionId": runtime.session_id}
                if "callId" in body:
                    body = {**body, "callId": calls[body["callId"]]}
                await runtime.send(kind, **body)
                continue
            got, told = await runtime.next()
            while got == "assistantSpeechPartial":
                got, told = await runtime.next()
            assert shape(got, told) == shape(kind, body)
            if "callId" in body:
                calls[body["callId"]] = told["callId"]
        assert not runtime.unread


async def test_the_flow_of_the_document_message_by_message(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url)
        runtime.holds = {"convo.setState", "tts.speak"}  # answered by the flow
        await walk(runtime, "hello")


async def test_the_tool_loop_of_the_document_message_by_message(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url)
        runtime.holds = {"convo.setState", "tts.speak", "battery.level"}
        await walk(runtime, "tool")
