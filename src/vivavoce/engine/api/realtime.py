"""The Realtime API over HTTP and WebSocket, and with its neighbours all of `/v1`.

The gate in front has checked Host and Origin; keys are checked here, since
clients of this API bring them as they bring OpenAI's. A WebSocket is a session
of its own (`?model=`), or a seat on a call (`?call_id=`), where a key watches
and commands and the call's own secret has the microphone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from vivavoce.engine.api.answers import (
    answer,
    key_of,
    not_there,
    parsed,
    refusal,
    refused,
    unexpected,
)
from vivavoce.engine.api.audio import Speeches, Transcriptions
from vivavoce.engine.api.chat import Chat
from vivavoce.engine.api.control import MAX_MODEL_NAME, MODEL, Engine
from vivavoce.engine.api.keys import DEFAULT_SECONDS, MAX_SECONDS, MIN_SECONDS, Access
from vivavoce.engine.shell.calls import CLIENT_SILENT, SOCKET_RESET, Call, SocketClient
from vivavoce.engine.shell.session import new_id
from vivavoce.errors import Conflict, Forbidden, Unauthorized, VivavoceError
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.model import Model, Whole
from vivavoce.wire.realtime.refusal import Refused, reading

SDP = "application/sdp"
RESUMED = "x-vivavoce-resumed"
"""With a key of our own server: the session goes on with a conversation."""
MAX_FRAME = 21 * 1024 * 1024
"""Characters of an event: 15 MiB of sound, as base64. One that is larger is refused in an event;
what the listener does not take at all (`app.listen`) closes the connection."""
_GAP, _STEADY = 1.0, 5.0  # seconds: sound without such gaps, for so long
_SILENT = 10.0
_LOOK, _LOOKS = 2.0, 15.0
"""Seconds between two looks whether a key is still good: while events come, and while none do."""
_BETA = "openai-beta.realtime-v1"


def build_door(engine: Engine) -> Starlette:
    """The ASGI app for `/v1`."""
    door = _Door(engine)
    return Starlette(
        routes=[
            Route("/models", door.models),
            Route("/models/{model:path}", door.model),
            Route("/realtime/client_secrets", door.client_secret, methods=["POST"]),
            Route("/realtime/calls", door.create_call, methods=["POST"]),
            Route("/realtime/calls/{call_id}/hangup", door.hang_up, methods=["POST"]),
            WebSocketRoute("/realtime", door.connect),
            Route("/chat/completions", Chat(engine).complete, methods=["POST"]),
            Route("/audio/transcriptions", Transcriptions(engine).create, methods=["POST"]),
            Route("/audio/speech", Speeches(engine).create, methods=["POST"]),
        ],
        exception_handlers={
            Refused: refused,
            VivavoceError: refused,
            HTTPException: not_there,
            Exception: unexpected,
        },
    )


class _Lifetime(Model):
    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[Whole, Field(ge=MIN_SECONDS, le=MAX_SECONDS)] = DEFAULT_SECONDS


class _Secret(Model):
    expires_after: _Lifetime = _Lifetime()
    session: dict[str, Any] = Field(default_factory=dict)


class _Call(Model):
    """Without an SDP offer."""

    transport: Literal["websocket"]
    session: dict[str, Any] = Field(default_factory=dict)


class _Door:
    def __init__(self, engine: Engine) -> None:
        self._engine, self._keys = engine, engine.keys

    # --- HTTP -------------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        self._keys.access(key_of(request))
        return answer({"object": "list", "data": [_model(MODEL)]})

    async def model(self, request: Request) -> Response:
        """Whichever is asked for: it is the one engine, under that name."""
        self._keys.access(key_of(request))
        return answer(_model(request.path_params["model"][:MAX_MODEL_NAME]))

    async def client_secret(self, request: Request) -> Response:
        access = self._keys.whole(key_of(request))
        _no_beta(request)
        wanted = reading(_Secret.model_validate, parsed(await request.body()))
        resumed, seconds = request.headers.get(RESUMED) == "true", wanted.expires_after.seconds
        value, until, shown = self._engine.mint(wanted.session, access, seconds, resumed=resumed)
        return answer({"value": value, "expires_at": until, "session": shown})

    async def create_call(self, request: Request) -> Response:
        self._keys.access(key_of(request))
        _no_beta(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            return await self._websocket_call(request)
        if kind == SDP:
            offer, session = _text(await request.body()), {"model": _model_in(request)}
        elif kind == "multipart/form-data":
            offer, session = await _form(request)
        else:
            words = "Send 'application/sdp', or 'multipart/form-data' with 'sdp' and 'session'."
            raise Refused(words, code="unsupported_content_type")
        with self._keys.opening(key_of(request)) as access:
            call_id, sdp = await self._engine.webrtc_call(offer, access, session)
        return Response(sdp, 201, {"Location": _location(call_id)}, media_type=SDP)

    async def _websocket_call(self, request: Request) -> Response:
        """Ours alone: a call whose sound comes over a WebSocket, with a sideband beside it."""
        access = self._keys.whole(key_of(request))
        wanted = reading(_Call.model_validate, parsed(await request.body()))
        call_id, value, until = self._engine.websocket_call(access, wanted.session)
        made = {
            "id": call_id,
            "transport": "websocket",
            "client_secret": {"value": value, "expires_at": until},
        }
        return answer(made, 201, {"Location": _location(call_id)})

    async def hang_up(self, request: Request) -> Response:
        self._keys.whole(key_of(request))
        self._engine.call(request.path_params["call_id"]).session.end("hung up")
        return Response(status_code=200)

    # --- WebSocket --------------------------------------------------------------------------

    async def connect(self, socket: WebSocket) -> None:
        try:
            with self._keys.opening(key_of(socket)) as access:
                _check(socket)
                client, call = self._admit(socket, access)
        except (Refused, VivavoceError) as fault:
            await _deny(socket, fault)
            return
        offered = [name.strip() for name in socket.scope.get("subprotocols", ())]
        try:
            await socket.accept("realtime" if "realtime" in offered else None)
        except BaseException:  # gone before it was let in: its session must not wait for it
            call.session.leave(client)
            raise
        await _converse(socket, client, call, _Key(socket))

    def _admit(self, socket: WebSocket, access: Access) -> tuple[SocketClient, Call]:
        query, secret = socket.query_params, access.secret
        if (call_id := query.get("call_id")) is not None:
            return self._seat(access, call_id)
        if secret is not None and secret.call_id is not None:
            raise Forbidden("This client secret is for its call: connect with '?call_id='.")
        intent = query.get("intent", "realtime")
        if secret is not None and intent != secret.configuration.kind and "intent" in query:
            words = f"This client secret is for a {secret.configuration.kind} session."
            raise Refused(words, code="invalid_value", param="intent")
        client = SocketClient(peer=True, locked=secret is not None and secret.locked)
        return client, self._engine.websocket_session(client, access, _model_in(socket), intent)

    def _seat(self, access: Access, call_id: str) -> tuple[SocketClient, Call]:
        secret = access.secret
        if secret is not None and secret.call_id != call_id:
            raise Forbidden("This client secret is for another call.")
        call = self._engine.call(call_id)
        if secret is None:
            client = SocketClient(peer=False, ours=access.own)
        elif call.has_peer or call.awaited is None:
            raise Conflict("Somebody is on this call already.")
        else:
            client = call.awaited
        call.join(client)
        return client, call


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vivavoce"}


def _location(call_id: str) -> str:
    return f"/v1/realtime/calls/{call_id}"


# --- Reading requests ---------------------------------------------------------------------


def _model_in(conn: HTTPConnection) -> str | None:
    """In the address; Azure calls it a deployment."""
    return conn.query_params.get("model") or conn.query_params.get("deployment")


def _only(body: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in body:
        if name not in names:
            words = f"Unknown parameter: '{name[:80]}'."
            raise Refused(words, code="unknown_parameter", param=name[:80])


async def _form(request: Request) -> tuple[str, dict[str, Any]]:
    async with request.form(max_files=4, max_fields=4) as form:
        sdp, session = await _part(form.get("sdp")), await _part(form.get("session"))
        _only(dict(form), ("sdp", "session"))
    if sdp is None:
        raise Refused("Missing required parameter: 'sdp'.", param="sdp")
    return _text(sdp), parsed(session or b"{}")


async def _part(part: UploadFile | str | None) -> bytes | None:
    if part is None or isinstance(part, str):
        return None if part is None else part.encode()
    return await part.read()


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Refused("The SDP offer is not UTF-8 text.", param="sdp") from None


# --- A connection ---------------------------------------------------------------------------


def _check(socket: WebSocket) -> None:
    intent = socket.query_params.get("intent", "realtime")
    if intent not in ("realtime", "transcription"):
        raise Refused("'intent' is 'transcription' or absent.", param="intent")
    if intent == "transcription" and "model" in socket.query_params:
        words = "A transcription session names its model in 'audio.input.transcription'."
        raise Refused(words, code="invalid_value", param="model")
    _no_beta(socket)


def _no_beta(asked: HTTPConnection) -> None:
    beta = "realtime=v1" in asked.headers.get("openai-beta", "")
    if beta or _BETA in asked.scope.get("subprotocols", ()):
        words = f"The beta API is gone: leave 'OpenAI-Beta' and the subprotocol '{_BETA}' out."
        raise Refused(words, code="beta_api_shape_disabled")


async def _deny(socket: WebSocket, fault: Refused | VivavoceError) -> None:
    status, body, headers = refusal(fault)
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(answer(body, status, headers))
    else:
        await socket.close(1008, body["error"]["message"][:120])


async def _converse(socket: WebSocket, client: SocketClient, call: Call, key: _Key) -> None:
    lost: str | None = SOCKET_RESET
    stream = _Stream()
    try:
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(_write(socket, client), name="socket writer")
            watching = group.create_task(key.watch(client), name="socket key")
            try:
                lost = await _read(socket, client, call, stream, key)
            finally:
                watching.cancel()
                call.session.leave(client, lost, stream.silent)
                client.close(1000, "")
            await writer
    except* (WebSocketDisconnect, OSError):
        pass  # the far end went away in the middle of a word


class _Key:
    """What a socket was opened with, asked again while it is open: by whoever let it in, who
    leaves the way to ask in the connection's state. A key that ends ends what it opened."""

    def __init__(self, socket: WebSocket) -> None:
        ask: Callable[[], Awaitable[object]] | None = getattr(socket.state, "asks_again", None)
        self._ask, self._asked = ask, time.monotonic()

    async def ended(self, client: SocketClient) -> bool:
        """Closes the client's connection where it has."""
        if self._ask is None or time.monotonic() - self._asked < _LOOK:
            return client.closed is not None
        self._asked = time.monotonic()
        try:
            await self._ask()
        except (Unauthorized, Forbidden) as fault:
            client.close(4401, fault.message[:120])
            return True
        except VivavoceError:
            pass  # nobody can say now
        return False

    async def watch(self, client: SocketClient) -> None:
        while self._ask is not None:
            await asyncio.sleep(_LOOKS)
            if await self.ended(client):
                return


async def _read(
    socket: WebSocket, client: SocketClient, call: Call, stream: _Stream, key: _Key
) -> str | None:
    """Until the connection is over: None if somebody closed it, else how it was lost."""
    while client.closed is None:
        try:
            async with asyncio.timeout(stream.patience if client.peer else None):
                message = await socket.receive()
        except TimeoutError:
            return CLIENT_SILENT
        if message["type"] == "websocket.disconnect":
            # A close frame has a reason, if an empty one; a socket that broke has none.
            closed = message.get("reason") is not None or message.get("code") in (1000, 1001)
            return None if closed else SOCKET_RESET
        stream.came()
        if await key.ended(client):
            return None
        text = message.get("text")
        if text is None:
            _refuse(client, Refused("Events are JSON in text frames.", code="invalid_json"))
        elif len(text) > MAX_FRAME:
            words = f"An event has at most {MAX_FRAME:,} characters; this one has {len(text):,}."
            _refuse(client, Refused(words, code="event_too_large"))
        else:
            for _ in call.session.receive(client, text):
                await asyncio.sleep(0)
    return None


class _Stream:
    """Whether a client sends all the time, as an open microphone does. One that did, and then
    says nothing at all, sleeps or is cut off: its socket may look open for a quarter of an hour."""

    def __init__(self) -> None:
        self._since = self._last = time.monotonic()

    def came(self) -> None:
        now = time.monotonic()
        if now - self._last > _GAP:
            self._since = now
        self._last = now

    @property
    def patience(self) -> float | None:
        return _SILENT if self._steady else None

    @property
    def silent(self) -> float:
        """Seconds in which nothing came, of one that sends all the time."""
        return time.monotonic() - self._last if self._steady else 0.0

    @property
    def _steady(self) -> bool:
        return self._last - self._since > _STEADY


def _refuse(client: SocketClient, fault: Refused) -> None:
    client.push(orjson.dumps({**server.error(fault), "event_id": new_id("event")}))


async def _write(socket: WebSocket, client: SocketClient) -> None:
    while (frame := await client.next()) is not None:
        if socket.client_state is not WebSocketState.CONNECTED:
            return  # nobody is left to send it to
        await socket.send({"type": "websocket.send", "text": frame.decode()})
    code, reason = client.closed or (1000, "")
    if socket.client_state is WebSocketState.CONNECTED:
        await socket.close(code, reason[:120])
