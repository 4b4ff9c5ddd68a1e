"""The doors of the scripted provider: OpenAI's paths, checks and error shapes."""

from __future__ import annotations

import email.parser
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.lines import Line
from vivavoce.testing.realtime.script import HttpError, NoLocation, ProviderFault, RefuseAttach
from vivavoce.testing.realtime.session import Json, new_session

if TYPE_CHECKING:
    from vivavoce.testing.provider import ScriptedProvider


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was answered, in `ScriptedProvider.requests`."""

    method: str
    path: str
    content_type: str
    status: int


@dataclass(frozen=True, slots=True)
class Secret:
    value: str
    session: Mapping[str, Any]
    until: float


class Denied(Exception):
    """An answer in OpenAI's error shape."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.headers: dict[str, str] = {}

    def response(self) -> JSONResponse:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": None, "code": self.code}
        return JSONResponse({"error": error}, self.status, self.headers)


class Faults:
    """What is still to go wrong."""

    def __init__(self, faults: Sequence[ProviderFault]) -> None:
        self._left: list[tuple[ProviderFault, list[int]]] = []
        for fault in faults:
            self.add(fault)

    def add(self, fault: ProviderFault) -> None:
        self._left.append((fault, [fault.times]))

    def take(self, kind: type[ProviderFault], path: str = "") -> ProviderFault | None:
        for fault, left in self._left:
            fits = not isinstance(fault, HttpError) or fault.path in path
            if isinstance(fault, kind) and left[0] > 0 and fits:
                left[0] -= 1
                return fault
        return None


class Secrets:
    """Client secrets: like OpenAI's, usable until they expire."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._issued: dict[str, Secret] = {}

    def issue(self, session: Mapping[str, Any], seconds: float) -> Secret:
        value = f"ek_{secrets.token_hex(16)}"
        self._issued[value] = Secret(value, session, self._clock.monotonic() + seconds)
        return self._issued[value]

    def find(self, value: str) -> Secret | None:
        secret = self._issued.get(value)
        return secret if secret is not None and self._clock.monotonic() < secret.until else None


@dataclass(frozen=True, slots=True)
class Front:
    """Who may come in, and what they may ask for."""

    key: str | None
    models: Sequence[str] | None
    client_secrets: bool
    secrets: Secrets
    faults: Faults

    def admit(self, connection: HTTPConnection) -> Secret | None:
        """The secret that was shown, or None for the key. Raises `Denied`."""
        shown = connection.headers.get("authorization", "").removeprefix("Bearer ")
        if (secret := self.secrets.find(shown)) is not None:
            return secret
        if self.key is not None and shown != self.key:
            # The real one repeats (most of) the key: whoever logs this must scrub it.
            raise Denied(401, f"Incorrect API key provided: {shown}.", "invalid_api_key")
        return None

    def session(self, given: object) -> Mapping[str, Any]:
        if not isinstance(given, Mapping) or given.get("type") != "realtime":
            message = "Missing required parameter: 'session.type'."
            raise Denied(400, message, "missing_required_parameter")
        model = given.get("model")
        if self.models is not None and model not in self.models:
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise Denied(400, message, "model_not_found")
        return given

    def misbehave(self, path: str) -> None:
        fault = self.faults.take(HttpError, path)
        if isinstance(fault, HttpError):
            denied = Denied(fault.status, fault.message, fault.code)
            if fault.retry_after is not None:
                denied.headers["Retry-After"] = str(fault.retry_after)
            raise denied


class Doors:
    """The handlers."""

    def __init__(self, front: Front, provider: ScriptedProvider) -> None:
        self._front = front
        self._provider = provider

    async def http(self, request: Request) -> Response:
        """Every request: faults first, then who asks, then what."""
        path = request.url.path
        try:
            self._front.misbehave(path)
            secret = self._front.admit(request)
            response = await self._route(request, secret)
        except Denied as denied:
            response = denied.response()
        kind = request.headers.get("content-type", "")
        exchange = Exchange(request.method, path, kind, response.status_code)
        self._provider.requests.append(exchange)
        return response

    async def _route(self, request: Request, secret: Secret | None) -> Response:
        match request.url.path.removeprefix("/v1/").split("/"):
            case ["models"]:
                return JSONResponse({"object": "list", "data": []})
            case ["realtime", "client_secrets"] if self._front.client_secrets:
                return await self._mint(request)
            case ["realtime", "calls"]:
                return await self._call(request, secret)
            case ["realtime", "calls", call_id, "hangup"]:
                return await self._hang_up(call_id)
            case _:
                raise Denied(404, f"Invalid URL ({request.method} {request.url.path})")

    async def _mint(self, request: Request) -> Response:
        body = await request.json()
        session = self._front.session(body.get("session"))
        seconds = body.get("expires_after", {}).get("seconds", 600)
        secret = self._front.secrets.issue(session, seconds)
        shown = {**new_session(session), "expires_at": 0}
        expires = int(time.time()) + seconds
        return JSONResponse({"value": secret.value, "expires_at": expires, "session": shown})

    async def _call(self, request: Request, secret: Secret | None) -> Response:
        kind, body = request.headers.get("content-type", ""), await request.body()
        session: object
        if kind.startswith("multipart/form-data"):
            parts = _multipart(kind, body)
            offer, session = parts.get("sdp", ""), _json(parts.get("session", ""))
        elif kind.startswith("application/sdp"):
            offer, session = body.decode(), secret.session if secret else {"type": "realtime"}
        else:
            raise Denied(400, f"Unsupported content type '{kind}'.", "unsupported_content_type")
        by = "key" if secret is None else "secret"
        if not offer.startswith("v=0"):
            raise Denied(400, "The SDP offer is not valid.", "invalid_offer")
        call_id, answer = await self._provider.create_call(offer, self._front.session(session), by)
        headers = {"Location": f"/v1/realtime/calls/{call_id}"}
        if self._front.faults.take(NoLocation) is not None:
            headers = {}
        return Response(answer, 201, headers, media_type="application/sdp")

    async def _hang_up(self, call_id: str) -> Response:
        call = self._provider.calls.get(call_id)
        if call is None or call.over:
            raise Denied(404, f"No session found for call_id {call_id}", "call_id_not_found")
        await call.hang_up()
        return Response(status_code=200)

    async def websocket(self, socket: WebSocket) -> None:
        try:
            self._front.admit(socket)
            refuse = self._front.faults.take(RefuseAttach)
            if isinstance(refuse, RefuseAttach):
                raise Denied(refuse.status, "No session found for call_id", "call_id_not_found")
            call_id = socket.query_params.get("call_id")
            if call_id is None:
                session = {"type": "realtime", "model": socket.query_params.get("model")}
                call = self._provider.open_session(self._front.session(session))
            elif (known := self._provider.calls.get(call_id)) is None or known.over:
                raise Denied(404, f"No session found for call_id {call_id}", "call_id_not_found")
            else:
                call = known
        except Denied as denied:
            await socket.send_denial_response(denied.response())
            return
        await socket.accept()
        client = socket.scope["client"]
        await self._provider.serve(call, Line(socket, lambda: self._provider.abort(client)))


def application(front: Front, provider: ScriptedProvider) -> Starlette:
    doors = Doors(front, provider)
    return Starlette(
        routes=[
            WebSocketRoute("/v1/realtime", doors.websocket),
            Route("/{path:path}", doors.http, methods=["GET", "POST"]),
        ]
    )


def _multipart(content_type: str, body: bytes) -> dict[str, str]:
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


def _json(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
