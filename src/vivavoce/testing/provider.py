"""A Realtime provider for tests: real HTTP and WebSocket on loopback, no model behind it.

Owns the listener, its calls, its secrets and the faults of HTTP. What is
said on a call is `ScriptedCall`'s.

    async with ScriptedProvider() as provider:
        ...  # point something at provider.base_url, with provider.key
        call = await provider.next_call()
        await call.user_says("What time is it?")
"""

from __future__ import annotations

import asyncio
import email.parser
import json
import secrets
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.call import TIMEOUT, Connection, ScriptedCall
from vivavoce.testing.realtime.faults import HttpError, NoLocation, ProviderFault, RefuseAttach
from vivavoce.testing.realtime.ledger import Json, new_session
from vivavoce.testing.realtime.script import Script
from vivavoce.wire.values import Value

F = TypeVar("F", bound=ProviderFault)


class Exchange(Value):
    """A request that was answered, in `ScriptedProvider.requests`."""

    method: str
    path: str
    content_type: str
    status: int
    shown: str = ""
    """The key or secret that it came with."""


class Denied(Exception):
    """An answer in OpenAI's error shape."""

    def __init__(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        super().__init__(message)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        self.response = JSONResponse({"error": error}, status, headers)


def multipart(content_type: str, body: bytes) -> dict[str, str]:
    """The parts by name. The standard library reads it, so that no dependency has to."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + body)
    parts: dict[str, str] = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(payload, bytes):
            parts[name] = payload.decode()
    return parts


def parsed(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


_ANSWER_HEAD = """v=0
o=- 4596005847736977740 1784852417 IN IP4 0.0.0.0
s=-
t=0 0
a=msid-semantic:WMS *
a=group:BUNDLE {mids}
a=ice-lite
"""
_ANSWER_AUDIO = """m=audio 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=mid:{mid}
a=sendrecv
a=rtcp-mux
a=rtpmap:96 opus/48000/2
a=fmtp:96 minptime=10;useinbandfec=1
"""
_ANSWER_DATA = """m=application 9 UDP/DTLS/SCTP webrtc-datachannel
c=IN IP4 0.0.0.0
a=mid:{mid}
a=sctp-port:5000
a=max-message-size:1073741823
"""
_ANSWER_TRANSPORT = """a=ice-ufrag:HqBApb/u2/3oMrw2
a=ice-pwd:y1UgIcaK8DKd7LDygYbnTV12DYsMEWCA
a=fingerprint:sha-256 {fingerprint}
a=setup:active
a=candidate:1 1 udp 2130706431 127.0.0.1 9 typ host
"""


async def canned_answer(offer: str) -> str:
    """A well-formed answer to any offer of audio and data; nobody listens behind it."""
    sections: list[tuple[str, str]] = []
    for line in offer.splitlines():
        if line.startswith("m="):
            sections.append((line, str(len(sections))))
        elif line.startswith("a=mid:") and sections:
            sections[-1] = (sections[-1][0], line.removeprefix("a=mid:"))
    head = _ANSWER_HEAD.format(mids=" ".join(mid for _, mid in sections))
    transport = _ANSWER_TRANSPORT.format(fingerprint=":".join(["7E"] * 32))
    bodies = (
        (_ANSWER_DATA if media.startswith("m=application") else _ANSWER_AUDIO).format(mid=mid)
        + transport
        for media, mid in sections
    )
    return (head + "".join(bodies)).replace("\n", "\r\n")


MAX_CALLS = 1000
MAX_FRAME = 16 * 1024 * 1024


class ScriptedProvider:
    """An async context manager; nothing of it is left once it is closed.

    `key=None` lets everybody in; `models` are the ones it knows (None: all);
    `client_secrets=False` makes it a server that has none. `answer` turns an
    offer into an answer: give it a real peer to have real media. `port=0` takes
    a free one.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        key: str | None = "sk-scripted-key",
        models: Sequence[str] | None = None,
        client_secrets: bool = True,
        answer: Callable[[str], Awaitable[str]] | None = None,
        faults: Sequence[ProviderFault] = (),
        clock: Clock | None = None,
        port: int = 0,
    ) -> None:
        self.key, self.models, self.client_secrets = key, models, client_secrets
        self.calls: dict[str, ScriptedCall] = {}
        self.requests: deque[Exchange] = deque(maxlen=10_000)
        self._script = script
        self._port = port
        self._clock = clock or SystemClock()
        self._answer = answer or canned_answer
        self._faults: list[ProviderFault] = []
        for fault in faults:
            self.inject(fault)
        self._secrets: dict[str, tuple[Mapping[str, Any], float]] = {}
        self._fresh: asyncio.Queue[ScriptedCall] = asyncio.Queue(MAX_CALLS)
        self._players: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, str] = {}
        self._failures: list[AssertionError] = []

    # --- For tests ----------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def next_call(self, *, timeout: float = TIMEOUT) -> ScriptedCall:
        """Each call once, in the order they were created."""
        try:
            async with asyncio.timeout(timeout):
                return await self._fresh.get()
        except TimeoutError:
            raise AssertionError("nobody has created another call") from None

    def inject(self, fault: ProviderFault) -> None:
        """Misbehave with the next requests; `ScriptedCall.inject` is for a call."""
        self._faults += [fault] * fault.times

    async def finished(self, call: ScriptedCall, *, timeout: float = 30.0) -> None:
        """Return once the script has been played on this call; raise what went wrong."""
        await call.attached(timeout=timeout)
        await asyncio.wait([self._players[call.id]], timeout=timeout)
        self._judge()

    # --- Life -----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self._port))
        # asyncio does this only for sockets it made itself; without it each answer takes 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = listener.getsockname()[1]
        doors = _Doors(self)
        config = uvicorn.Config(
            Starlette(
                routes=[
                    WebSocketRoute("/v1/realtime", doors.websocket),
                    Route("/{path:path}", doors.http, methods=["GET", "POST"]),
                ]
            ),
            ws="websockets-sansio",
            ws_max_size=MAX_FRAME,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        # Not `serve()`: it takes over the signals of the process, and stops in steps of 0.1 s.
        await self._server.startup(sockets=[listener])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for listener in self._server.servers:
            listener.close()
        state = self._server.server_state
        for connection in list(state.connections):
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.abort()
        if state.tasks:
            await asyncio.wait(set(state.tasks), timeout=TIMEOUT)
        for player in self._players.values():
            player.cancel()
        # Without the body's error: a TaskGroup would wrap it into a group.
        await self._tasks.__aexit__(None, None, None)
        if error is None:
            self._judge(over=True)

    def _judge(self, *, over: bool = False) -> None:
        if self._failures:
            raise self._failures[0]
        if over and self._progress:
            waiting = ", ".join(f"{call} at {step}" for call, step in self._progress.items())
            raise AssertionError(f"the script was not played to its end: {waiting}")

    # --- For the doors --------------------------------------------------------------------

    def take(self, kind: type[F], path: str = "") -> F | None:
        """The next fault of this kind that is still to go wrong."""
        for fault in self._faults:
            if isinstance(fault, kind) and (not isinstance(fault, HttpError) or fault.path in path):
                self._faults.remove(fault)
                return fault
        return None

    def issue(self, session: Mapping[str, Any], seconds: float) -> str:
        """A client secret: like OpenAI's, usable until it expires."""
        value = f"ek_{secrets.token_hex(16)}"
        self._secrets[value] = session, self._clock.monotonic() + seconds
        return value

    def carried(self, secret: str) -> Mapping[str, Any] | None:
        """The session that such a secret is for."""
        session, until = self._secrets.get(secret, (None, 0.0))
        return session if self._clock.monotonic() < until else None

    async def create_call(self, offer: str, session: Mapping[str, Any], by: str) -> tuple[str, str]:
        """The new call's id and the SDP answer."""
        call = self._new_call(session, offer=offer, authorised_by=by)
        answer = await self._answer(offer)
        self._fresh.put_nowait(call)
        return call.id, answer

    def open_session(self, session: Mapping[str, Any]) -> ScriptedCall:
        """A session over WebSocket alone, without a call."""
        call = self._new_call(session, webrtc=False)
        self._fresh.put_nowait(call)
        return call

    async def serve(self, call: ScriptedCall, connection: Connection) -> None:
        if self._script is not None and call.id not in self._players:
            self._progress[call.id] = "its beginning"
            self._players[call.id] = self._tasks.create_task(self._play(self._script, call))
        await call.serve(connection)

    def abort(self, client: object) -> None:
        """Cut the connection that comes from this address and port, without a word."""
        for connection in list(self._server.server_state.connections):
            transport = getattr(connection, "transport", None)
            if getattr(connection, "client", None) == client and transport is not None:
                transport.abort()

    def _new_call(self, session: Mapping[str, Any], **rest: Any) -> ScriptedCall:
        assert len(self.calls) < MAX_CALLS, "too many calls for one scripted provider"
        call_id = f"rtc_{secrets.token_hex(10)}"
        script = self._script or Script()
        rest |= {"defaults": script.defaults, "timeout": script.timeout}
        call = ScriptedCall(call_id, session, clock=self._clock, **rest)
        self.calls[call_id] = call
        return call

    async def _play(self, script: Script, call: ScriptedCall) -> None:
        for number, step in enumerate(script.steps, 1):
            self._progress[call.id] = f"step {number}: {step.name}"
            try:
                await step.play(call)
            except AssertionError as failure:
                failure.add_note(f"in {self._progress.pop(call.id)}")
                self._failures.append(failure)
                return
        self._progress.pop(call.id, None)


class _Doors:
    """OpenAI's paths."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider

    async def http(self, request: Request) -> Response:
        """Every request: faults first, then who asks, then what."""
        path = request.url.path
        try:
            if (fault := self._provider.take(HttpError, path)) is not None:
                wait = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
                raise Denied(fault.status, fault.message, fault.code, **wait)
            response = await self._route(request, self._admit(request))
        except Denied as denied:
            response = denied.response
        kind = request.headers.get("content-type", "")
        shown = request.headers.get("authorization", "").removeprefix("Bearer ")
        exchange = Exchange(request.method, path, kind, response.status_code, shown)
        self._provider.requests.append(exchange)
        return response

    def _admit(self, connection: HTTPConnection) -> Mapping[str, Any] | None:
        """The session of the secret that was shown, or None for the key. Raises `Denied`."""
        shown = connection.headers.get("authorization", "").removeprefix("Bearer ")
        if (session := self._provider.carried(shown)) is not None:
            return session
        if self._provider.key is not None and shown != self._provider.key:
            # The real one repeats (most of) the key: whoever logs this must scrub it.
            raise Denied(401, f"Incorrect API key provided: {shown}.", "invalid_api_key")
        return None

    def _session(self, given: object) -> Mapping[str, Any]:
        if not isinstance(given, Mapping) or given.get("type") != "realtime":
            message = "Missing required parameter: 'session.type'."
            raise Denied(400, message, "missing_required_parameter")
        model, models = given.get("model"), self._provider.models
        if models is not None and model not in models:
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise Denied(400, message, "model_not_found")
        return given

    async def _route(self, request: Request, carried: Mapping[str, Any] | None) -> Response:
        match request.url.path.removeprefix("/v1/").split("/"):
            case ["models"]:
                return JSONResponse({"object": "list", "data": []})
            case ["realtime", "client_secrets"] if self._provider.client_secrets:
                return await self._mint(request)
            case ["realtime", "calls"]:
                return await self._call(request, carried)
            case ["realtime", "calls", call_id, "hangup"]:
                return await self._hang_up(call_id)
            case _:
                raise Denied(404, f"Invalid URL ({request.method} {request.url.path})")

    async def _mint(self, request: Request) -> Response:
        body = await request.json()
        session = self._session(body.get("session"))
        seconds = body.get("expires_after", {}).get("seconds", 600)
        value = self._provider.issue(session, seconds)
        shown = {**new_session(session), "expires_at": 0}
        expires = int(time.time()) + seconds
        return JSONResponse({"value": value, "expires_at": expires, "session": shown})

    async def _call(self, request: Request, carried: Mapping[str, Any] | None) -> Response:
        kind, body = request.headers.get("content-type", ""), await request.body()
        session: object
        if kind.startswith("multipart/form-data"):
            parts = multipart(kind, body)
            offer, session = parts.get("sdp", ""), parsed(parts.get("session", ""))
        elif kind.startswith("application/sdp"):
            offer, session = body.decode(), carried or {"type": "realtime"}
        else:
            raise Denied(400, f"Unsupported content type '{kind}'.", "unsupported_content_type")
        by = "key" if carried is None else "secret"
        if not offer.startswith("v=0"):
            raise Denied(400, "The SDP offer is not valid.", "invalid_offer")
        call_id, answer = await self._provider.create_call(offer, self._session(session), by)
        headers = {"Location": f"/v1/realtime/calls/{call_id}"}
        if self._provider.take(NoLocation) is not None:
            headers = {}
        return Response(answer, 201, headers, media_type="application/sdp")

    async def _hang_up(self, call_id: str) -> Response:
        call = self._provider.calls.get(call_id)
        if call is None or call.over:
            raise Denied(404, f"No session found for call_id {call_id}", "call_id_not_found")
        await call.hang_up()
        return Response(status_code=200)

    async def websocket(self, ws: WebSocket) -> None:
        try:
            self._admit(ws)
            if (refuse := self._provider.take(RefuseAttach)) is not None:
                raise Denied(refuse.status, "No session found for call_id", "call_id_not_found")
            call_id = ws.query_params.get("call_id")
            if call_id is None:
                session = {"type": "realtime", "model": ws.query_params.get("model")}
                call = self._provider.open_session(self._session(session))
            elif (known := self._provider.calls.get(call_id)) is None or known.over:
                raise Denied(404, f"No session found for call_id {call_id}", "call_id_not_found")
            else:
                call = known
        except Denied as denied:
            await ws.send_denial_response(denied.response)
            return
        await ws.accept()
        client = ws.scope["client"]
        await self._provider.serve(call, Connection(ws, lambda: self._provider.abort(client)))
