"""One connection to a server: what tools it has, calls, and word of what changed.

On the official client, of either generation: since 2026-07-28 a call that needs
the user comes back with questions and is entered again with the answers; before,
the server asks by itself while the call runs. A link does not mend itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import mcp_types as t
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from vivavoce import __version__
from vivavoce.errors import ToolFailed, ToolTimeout
from vivavoce.processes.piped import Piped, piped
from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.runtime.ports import Report, ToolContext
from vivavoce.tools.mcp.asking import elicit
from vivavoce.tools.mcp.schemas import plain_text
from vivavoce.tools.mcp.sieve import MAX_TOOLS, Flooded, Pace, Sieve

MAX_MESSAGE = 4 * 1024 * 1024
CONNECT_SECONDS, READ_SECONDS = 10.0, 300.0


@asynccontextmanager
async def over_stdio(
    server: McpServer, *, started: Callable[[int], None], heard: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """`heard` is told each line of its stderr. Raises `OSError` where it cannot be started."""
    assert server.command is not None
    async with piped(
        server.command,
        server.args,
        env=server.env,
        cwd=server.cwd,
        heard=heard,
        longest=MAX_MESSAGE,
    ) as pipes:
        started(pipes.pid)
        to_us, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(_read, pipes, to_us, heard)
            group.start_soon(_write, pipes, from_us)
            try:
                yield inbox, outbox
            finally:
                group.cancel_scope.cancel()
                for stream in (to_us, inbox, outbox, from_us):
                    stream.close()


async def _read(
    pipes: Piped,
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
    heard: Callable[[str], None],
) -> None:
    pace = Pace()
    with to_us:  # closing it is how the session learns of the end
        while (line := await pipes.line()) is not None:
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                # Banners and prints: passed over, but one may explain a failure.
                with contextlib.suppress(Flooded):
                    if pace.fits():
                        heard(line[:200].decode(errors="replace"))
                    continue
                return heard("sends more than anyone can read")
            try:
                await to_us.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return None
    return None


async def _write(pipes: Piped, from_us: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with from_us, contextlib.suppress(OSError):
        async for item in from_us:
            await pipes.send(
                item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            )


@asynccontextmanager
async def over_http(server: McpServer) -> AsyncIterator[TransportStreams]:
    assert server.url is not None
    client = httpx2.AsyncClient(
        headers=dict(server.headers),
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS),
        event_hooks={"response": [_bound]},
    )
    async with (
        client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MAX_MESSAGE
        ) as streams,
    ):
        yield streams


async def _bound(response: httpx2.Response) -> None:
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """Event streams have no end, and a bound for each event; all else is read as a whole."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for piece in self._inner:
            seen += len(piece)
            if seen > MAX_MESSAGE:
                raise httpx2.ReadError(f"an answer of more than {MAX_MESSAGE} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


SELDOM = 0.1
"""Seconds between two reports; what comes in between is superseded anyway."""


class Progress:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._busy = False
        self._last = -math.inf

    async def heard(self, progress: float, total: float | None, message: str | None) -> None:
        now = asyncio.get_running_loop().time()
        done = total is not None and progress >= total
        if self._busy or (now - self._last < SELDOM and not done):
            return
        self._busy, self._last = True, now
        try:
            whole = {} if total is None else {"total": total}
            await self._report(*told(progress, total, message), {"done": progress, **whole})
        finally:
            self._busy = False


def told(progress: float, total: float | None, message: str | None) -> tuple[str, int | None]:
    """The words, and a percentage where the whole is known."""
    known = total is not None and total > 0 and math.isfinite(total) and math.isfinite(progress)
    share = max(0, min(100, round(100 * progress / total))) if known and total else None
    if message and (words := plain_text(message, 200)):
        return words, share
    return (f"{progress:g} of {total:g}" if known else f"{progress:g}"), share


# What a stranger's server sends must not fill our log, with tracebacks at that.
logging.getLogger("client").setLevel(logging.CRITICAL)
logging.getLogger("mcp").setLevel(logging.CRITICAL)

LIST_SECONDS = 30.0
MAX_PAGES = 20
MAX_ROUNDS = 10


class LinkLost(Exception):
    """The connection went while a call was on its way; how that ended, nobody knows."""


@dataclass(eq=False, slots=True)
class _Call:
    context: ToolContext
    limit: asyncio.Timeout

    async def elicit(self, server: str, form: t.ElicitRequestParams) -> t.ElicitResult:
        """The clock of the call stands still while the user thinks."""
        loop = asyncio.get_running_loop()
        ends = self.limit.when()
        left = None if ends is None else max(0.0, ends - loop.time())
        self.limit.reschedule(None)
        try:
            return await elicit(server, form, self.context.ask)
        finally:
            if left is not None:
                self.limit.reschedule(loop.time() + left)


class Link:
    """Made by `connected`, and of use inside it."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._calls: set[_Call] = set()
        self.session: ClientSession | None = None
        self._news = asyncio.Event()
        self.sieve: Sieve | None = None

    @property
    def protocol(self) -> str:
        return (self.session.protocol_version if self.session else None) or ""

    @property
    def lost(self) -> bool:
        return self.sieve is not None and self.sieve.ended.is_set()

    async def news(self, seconds: float | None) -> None:
        """Until something changed or was lost, or the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    async def tools(self) -> list[t.Tool]:
        assert self.session is not None
        found: list[t.Tool] = []
        cursor: str | None = None
        async with asyncio.timeout(LIST_SECONDS):
            for _ in range(MAX_PAGES):
                params = t.PaginatedRequestParams(cursor=cursor)
                page = await self.session.list_tools(params=params)
                found += page.tools
                cursor = page.next_cursor
                if cursor is None or len(found) >= MAX_TOOLS:
                    break
        return found[:MAX_TOOLS]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> t.CallToolResult:
        """Raises `ToolFailed`, `ToolTimeout` or `LinkLost`."""
        call: _Call | None = None
        try:
            async with asyncio.timeout(self._server.timeout) as limit:
                call = _Call(context, limit)
                self._calls.add(call)
                return await self._rounds(tool, dict(arguments), call)
        except TimeoutError:
            seconds = f"{self._server.timeout:g}"
            raise ToolTimeout(f"The tool gave no answer within {seconds} seconds") from None
        except MCPError as exc:
            self._news.set()  # over HTTP that may be a session which the server has forgotten
            if exc.code == t.CONNECTION_CLOSED:
                raise LinkLost from None
            raise ToolFailed(f"The server said: {plain_text(exc.message, 500)}") from None
        except (ValueError, RuntimeError) as exc:  # an answer that is none, by the SDK's checks
            words = f"The server's answer cannot be read ({type(exc).__name__})"
            raise ToolFailed(words) from None
        finally:
            if call is not None:
                self._calls.discard(call)

    async def _rounds(self, tool: str, arguments: dict[str, Any], call: _Call) -> t.CallToolResult:
        assert self.session is not None
        responses: dict[str, Any] | None = None
        state: str | None = None
        progress = Progress(call.context.report)
        for _ in range(MAX_ROUNDS):
            result = await self.session.call_tool(
                tool,
                arguments,
                progress_callback=progress.heard,
                input_responses=responses,
                request_state=state,
                allow_input_required=True,
            )
            if isinstance(result, t.CallToolResult):
                return result
            responses, state = None, result.request_state
            if result.input_requests:
                # One after another: two questions at once cannot be answered by voice.
                responses = {
                    key: await self._response(request, call)
                    for key, request in list(result.input_requests.items())[:MAX_ROUNDS]
                }
            else:
                await asyncio.sleep(0.1)  # it wants only to be asked again
        raise ToolFailed(f"The tool asked more than {MAX_ROUNDS} times")

    async def _response(self, request: t.InputRequest, call: _Call) -> t.InputResponse:
        if isinstance(request, t.ElicitRequest):
            return await call.elicit(self._server.name, request.params)
        raise ToolFailed(f"The tool wants {request.method}, which is not offered here")

    async def elicited(
        self, context: ClientRequestContext, params: t.ElicitRequestParams
    ) -> t.ElicitResult:
        """A question outside of any answer (before 2026-07-28): for the call that runs.

        Nothing on the wire says which that is. Where several people wait, none is asked:
        a question must never reach another's ears.
        """
        people = {(call.context.user_id, call.context.session_id) for call in self._calls}
        if len(people) != 1:
            return t.ElicitResult(action="cancel")
        call = next(iter(self._calls))
        return await call.elicit(self._server.name, params)

    async def heard(self, message: IncomingMessage) -> None:
        if isinstance(message, t.ToolListChangedNotification):
            self._news.set()

    async def watch(self, client: Client) -> None:
        """Wakes `news` at the end, and at changes that are only told to those who subscribe."""
        tools = client.server_capabilities.tools
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if modern and tools is not None and tools.list_changed:
            with suppress(MCPError, SubscriptionLost, TimeoutError):
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._news.set()
        assert self.sieve is not None
        await self.sieve.ended.wait()
        self._news.set()


@asynccontextmanager
async def connected(
    server: McpServer,
    *,
    legacy: bool,
    start_seconds: float,
    started: Callable[[int], None],
    heard: Callable[[str], None],
) -> AsyncIterator[Link]:
    """Anything may be raised: what a server does wrong, the SDK tells in many ways."""
    link = Link(server)

    @asynccontextmanager
    async def transport() -> AsyncIterator[TransportStreams]:
        over = over_http(server) if server.url else over_stdio(server, started=started, heard=heard)
        async with over as (incoming, outgoing):
            link.sieve = Sieve(incoming, heard)
            yield link.sieve, outgoing

    client = Client(
        transport(),
        mode="legacy" if legacy else "auto",
        elicitation_callback=link.elicited,
        message_handler=link.heard,
        client_info=t.Implementation(name="vivavoce", version=__version__),
        cache=None,
    )
    async with asyncio.timeout(start_seconds) as limit, client:
        limit.reschedule(None)
        link.session = client.session
        async with anyio.create_task_group() as group:
            group.start_soon(link.watch, client)
            try:
                yield link
            finally:
                group.cancel_scope.cancel()
