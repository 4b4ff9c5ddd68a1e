"""`vivavoce mcp`: the tools and the task inbox of a running server, for other MCP hosts.

An MCP server over stdio that holds nothing itself: every call goes through the
HTTP doors, with their checks and limits, as any other client's does. Only the
protocol is on stdout; what there is to say to people goes to stderr.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import mcp_types as t
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from vivavoce import __version__
from vivavoce.errors import InvalidRequest

CALL_SECONDS = 600.0
CONNECT_SECONDS = 5.0
MAX_ERROR = 2000

_ID = {"type": "string", "description": "As list_tasks tells it"}


def _inbox_tool(name: str, words: str, *, changes: bool, **properties: Any) -> t.Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    hints = t.ToolAnnotations(read_only_hint=not changes)
    return t.Tool(name=name, description=words, input_schema=schema, annotations=hints)


_LIST = "The work that was delegated: how it is going, what is asked, what came of it."
_GET = "One delegated task, with its progress, its open question and its result."
_ANSWER = "Answer the question that a task waits for."
_WORDS = {"type": "string", "minLength": 1}
INBOX = {
    tool.name: tool
    for tool in (
        _inbox_tool("list_tasks", _LIST, changes=False),
        _inbox_tool("get_task", _GET, changes=False, task_id=_ID),
        _inbox_tool("answer_task", _ANSWER, changes=True, task_id=_ID, answer=_WORDS),
        _inbox_tool("cancel_task", "End a task.", changes=True, task_id=_ID),
    )
}
"""Our own rather than the tools of those names: they tell everything, not what fits an ear."""


def _fault(words: str) -> MCPError:
    return MCPError(code=t.INTERNAL_ERROR, message=words[:MAX_ERROR])


def _words(body: Any) -> str | None:
    match body:
        case {"error": {"message": str(words)}}:
            return words
        case _:
            return None


class Bridge:
    """What hosts ask for, through the HTTP doors. Every failure of those is an `MCPError` whose
    words help whoever reads them."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client, self._url = client, url

    async def get(self, path: str) -> Any:
        return await self._send("GET", path)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self._send("POST", path, json=dict(body))

    async def _send(self, method: str, path: str, **more: Any) -> Any:
        try:
            response = await self._client.request(method, path, **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            raise _fault(
                f"No Vivavoce server answers at {self._url}. Start one with `vivavoce serve`, "
                "or say with --url where it is."
            ) from None
        except httpx2.HTTPError as exc:
            words = f"The Vivavoce server at {self._url} gave no answer ({type(exc).__name__})."
            raise _fault(words) from None
        if response.status_code == 401:
            raise _fault(
                f"The Vivavoce server at {self._url} wants a token: give it with --token or "
                "VIVAVOCE_AUTH_TOKEN."
            )
        try:
            body = response.json()
        except ValueError:
            raise _fault(f"What answers at {self._url} is no Vivavoce server.") from None
        if response.is_success:
            return body
        raise _fault(_words(body) or f"The server answered with {response.status_code}.")

    async def list_tools(
        self, context: ServerRequestContext[Any], params: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        found = await self.get("/tools")
        theirs = [
            t.Tool(
                name=tool["name"],
                description=tool["description"],
                input_schema={"type": "object"} | tool["parameters"],
            )
            for tool in found["tools"]
            if tool["name"] not in INBOX
        ]
        return t.ListToolsResult(tools=[*theirs, *INBOX.values()])

    async def call_tool(
        self, context: ServerRequestContext[Any], params: t.CallToolRequestParams
    ) -> t.CallToolResult:
        """What goes wrong is an answer: hosts show those to their model, and errors to nobody."""
        arguments = params.arguments or {}
        try:
            if params.name in INBOX:
                return _said(json.dumps(await self._inbox(params.name, arguments), indent=1))
            name = quote(params.name, safe="")
            done = await self.post(f"/execute/{name}", {"arguments": arguments})
        except MCPError as exc:
            return _said(exc.message, failed=True)
        if done["success"]:
            return _said(done["output"])
        return _said(done.get("error") or done["output"], failed=True)

    async def _inbox(self, name: str, arguments: Mapping[str, Any]) -> Any:
        for needed in INBOX[name].input_schema["required"]:
            if not isinstance(arguments.get(needed), str) or not arguments[needed]:
                raise _fault(f"{name} needs {needed}")
        task = quote(arguments.get("task_id", ""), safe="")
        match name:
            case "list_tasks":
                return await self.get("/tasks")
            case "get_task":
                return await self.get(f"/tasks/{task}")
            case "answer_task":
                return await self.post(f"/tasks/{task}/answer", {"answer": arguments["answer"]})
            case _:
                return await self.post(f"/tasks/{task}/cancel", {})


def _said(text: str, *, failed: bool = False) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=text)], is_error=failed)


async def serve(url: str, token: str | None = None) -> None:
    """Until stdin ends. A server that is not there yet is told of, and asked again at each call."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest(f"--url: '{url}' is no http or https address")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    client = httpx2.AsyncClient(
        base_url=url.rstrip("/"),
        headers={"Authorization": f"Bearer {token}"} if token else {},
        timeout=httpx2.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS),
        trust_env=False,  # a proxy has no business between us and our own server
    )
    async with client:
        bridge = Bridge(client, url)
        server: Server[Any] = Server(
            "vivavoce",
            version=__version__,
            instructions="Tools of a voice agent, and the work that was delegated to it.",
            on_list_tools=bridge.list_tools,
            on_call_tool=bridge.call_tool,
        )
        async with stdio_server() as (incoming, outgoing):
            try:
                await bridge.get("/health")
            except MCPError as exc:
                print(f"vivavoce: {exc.message}", file=sys.stderr)
            await server.run(incoming, outgoing, server.create_initialization_options())
