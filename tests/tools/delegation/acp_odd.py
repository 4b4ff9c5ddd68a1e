"""An ACP agent in a few plain lines that misbehaves as its first argument says."""

from __future__ import annotations

import json
import sys
from typing import Any


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(**what: Any) -> None:
    send(method="session/update", params={"sessionId": "s", "update": what})


def answer(how: str, method: str) -> dict[str, Any]:
    match method:
        case "initialize":
            return {"result": {"protocolVersion": 99 if how == "version" else 1}}
        case "session/new" if how == "auth":
            return {"error": {"code": -32000, "message": "Authentication required"}}
        case "session/new":
            return {"result": {"sessionId": "s"}}
        case _:
            reason = {"refusal": "refusal", "tokens": "max_tokens"}.get(how, "end_turn")
            return {"result": {"stopReason": reason}}


def main(how: str) -> None:
    print("Welcome to the agent!", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if request["method"] == "session/prompt":
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Well."})
            if how == "crash":
                print("Traceback: no such thing", file=sys.stderr, flush=True)
                sys.exit(3)
            if how == "fails":
                send(id=request["id"], error={"code": -32603, "message": "The model is away"})
                continue
            if how == "noise":
                print("[1, 2]", "{", "null", sep="\n", flush=True)
                update(sessionUpdate="from_the_future", entries=7)
                update(sessionUpdate="plan", entries=[None, {"content": 3}])
                update(sessionUpdate="tool_call", toolCallId="x", title=5, locations="no")
                send(method="session/update", params=[])
                send(method="unheard/of", params={})
        send(id=request["id"], **answer(how, request["method"]))


main(sys.argv[1])
