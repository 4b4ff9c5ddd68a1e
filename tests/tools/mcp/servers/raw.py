"""An MCP server of before 2026-07-28 in plain Python, and all the ways in which one can be bad.

`python raw.py MODE`. It knows nothing of the SDK, so it starts quickly and can lie.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

MODE = sys.argv[1]
LOCK = threading.Lock()
OBJECT = {"type": "object", "properties": {}}


def tool(name: Any, schema: Any = OBJECT, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


READ_ONLY = {"annotations": {"readOnlyHint": True}}
FINE = [
    tool("echo", {"type": "object", "properties": {"text": {"type": "string"}}}, **READ_ONLY),
    tool("environment", **READ_ONLY),
    tool("spawn"),
    tool("die", **READ_ONLY),
    tool("die_changing"),
    tool("sleep"),
]


def _bomb() -> dict[str, Any]:
    """Each definition twice the one after it: evaluated, that takes for ever."""
    definitions: dict[str, Any] = {"d40": {"type": "string"}}
    for at in range(40):
        definitions[f"d{at}"] = {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


TOOLS: dict[str, list[Any]] = {
    "broken": [
        tool("no_schema", "nonsense"),
        tool("no_object", {"type": "array"}),
        tool("no_type", {"type": "object", "properties": {"a": {"type": "wibble"}}}),
        tool("fetches", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}),
        tool("bomb", _bomb()),
        tool("huge", {"type": "object", "properties": {"a": {"enum": ["x" * 20_000]}}}),
        tool(17),
        "no tool at all",
        tool(
            "regular",
            {"type": "object", "properties": {"pattern": {"type": "string", "pattern": "(a+)+$"}}},
        ),
        tool("wrong_output", outputSchema={"type": "wibble"}),
    ],
    "thousands": [tool(f"t{at}") for at in range(3000)],
    "collide": [tool("a.b"), tool("a b"), tool("time"), tool("x" * 200), tool("x" * 201)],
}


def say(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def flood() -> None:
    while True:
        for _ in range(50):
            say({"method": "notifications/tools/list_changed"})
        time.sleep(0.001)  # the lock is not fair, and calls want an answer too


def call(name: str, arguments: dict[str, Any]) -> Any:
    match name:
        case "environment":
            return json.dumps(dict(os.environ))
        case "spawn":  # one in our session, and one that leaves it
            first = subprocess.Popen(["sleep", "600"])
            second = subprocess.Popen(["sleep", "600"], start_new_session=True)
            return f"{first.pid} {second.pid}"
        case "die" | "die_changing":
            os._exit(1)
        case "wrong_output":
            return "fine all the same"
        case _:
            return arguments.get("text", "done")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS.get(MODE, FINE)}
        case "tools/call":
            if params["name"] == "sleep":
                return None
            text = call(params["name"], params.get("arguments") or {})
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return None


def main() -> None:
    if MODE == "crash":
        sys.exit("I cannot find my configuration")
    if MODE == "garbage":
        sys.stdout.write('hello, I am a banner\n{"half": \n[1,2,3]\n{"jsonrpc": "1.0"}\n\n')
        sys.stdout.buffer.write(b"\xff\xfe\x00\n")
        say({"id": 999, "result": {}})
        say({"id": "x", "method": "no/such"})
    if MODE == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    for line in sys.stdin:
        message = json.loads(line)
        if MODE == "hang" or "id" not in message or "method" not in message:
            continue
        if MODE == "picky" and message["method"] == "server/discover":
            sys.exit("what is that?")
        result = answer(message["method"], message.get("params") or {})
        if result is not None:
            say({"id": message["id"], "result": result})
        elif message["method"] != "tools/call":
            say({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        if MODE == "flood" and message["method"] == "initialize":
            threading.Thread(target=flood, daemon=True).start()


main()
