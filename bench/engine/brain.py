"""A brain elsewhere: OpenAI's `/chat/completions` on loopback, its first token after 100 ms, then
fifty a second.

Stands for a model on a good machine. `python -m bench.engine.brain` prints its
port and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import socket
import sys
import zlib
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

FIRST_TOKEN = 0.1
A_TOKEN = 1 / 50
ANSWERS = (
    "Most people would say that it depends on the weather.",
    "There are seven of them, if you count the small one.",
    "Blue, with a little green at the edges.",
    "The oldest one that we know of stands in Turkey.",
)
RESULT = "The result is {}, as far as anybody can tell."
WANTED = {
    "current_time": (r"\btime\b|\bday\b|\bdate\b", {}),
    "calculate": (r"\btimes\b|\bplus\b|\bminus\b|\bdivided\b", {"expression": "7 * 8"}),
    "get_weather": (r"\bweather\b|\brain\b|\bcold\b", {"city": "Berlin"}),
    "read_file": (r"\bread\b|\bfile\b", {"path": "notes.txt"}),
}

Json = dict[str, Any]


def deltas(body: Json) -> list[Json]:
    """What is said to a request, a token each."""
    last = body["messages"][-1]
    said = _text(last.get("content"))
    if last.get("role") == "tool":
        return [{"content": piece} for piece in _pieces(RESULT.format(said[:40]))]
    offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
    for name, (pattern, arguments) in WANTED.items():
        if name in offered and re.search(pattern, said.lower()):
            call = {"name": name, "arguments": json.dumps(arguments)}
            begun = {
                "index": 0,
                "id": f"call_{secrets.token_hex(6)}",
                "type": "function",
                "function": call,
            }
            return [{"tool_calls": [begun]}]
    chosen = ANSWERS[zlib.crc32(said.encode()) % len(ANSWERS)]
    return [{"content": piece} for piece in _pieces(chosen)]


def _pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return str(content or "")


async def complete(request: Request) -> Response:
    body = await request.json()
    made = deltas(body)
    await asyncio.sleep(FIRST_TOKEN)
    reason = "tool_calls" if "tool_calls" in made[0] else "stop"
    if not body.get("stream"):
        whole = {"role": "assistant", "content": "".join(d.get("content", "") for d in made)}
        return JSONResponse(_chunk(message=whole, finish_reason=reason))
    return StreamingResponse(_stream(made, reason), media_type="text/event-stream")


async def _stream(made: list[Json], reason: str) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number, delta in enumerate(made):
        await asyncio.sleep(began + number * A_TOKEN - loop.time())
        first = {"role": "assistant"} if number == 0 else {}
        yield _line(_chunk(delta=first | delta, finish_reason=None))
    yield _line(_chunk(delta={}, finish_reason=reason))
    counted = {"prompt_tokens": 100, "completion_tokens": len(made)}
    yield _line(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "choices": [],
            "created": 0,
            "model": "elsewhere",
            "usage": {**counted, "total_tokens": 100 + len(made)},
        }
    )
    yield "data: [DONE]\n\n"


def _chunk(**choice: Any) -> Json:
    kind = "chat.completion.chunk" if "delta" in choice else "chat.completion"
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 0,
        "model": "elsewhere",
        "choices": [{"index": 0, **choice}],
    }


def _line(event: Json) -> str:
    return f"data: {json.dumps(event)}\n\n"


async def models(request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": "elsewhere", "object": "model"}]})


async def main() -> None:
    routes = [
        Route("/v1/chat/completions", complete, methods=["POST"]),
        Route("/v1/models", models),
    ]
    config = uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        async with asyncio.TaskGroup() as group:
            group.create_task(server._serve([bound]))
            print(bound.getsockname()[1], flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
            server.should_exit = True


if __name__ == "__main__":
    asyncio.run(main())
