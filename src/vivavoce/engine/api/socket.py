"""The Realtime API's WebSocket: a session of its own (`?model=`), or a seat on a call
(`?call_id=`), where a key watches and commands and the call's own secret has the microphone.
"""

from __future__ import annotations

import asyncio

import orjson
from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from vivavoce.engine.api.answers import answer, key_of, refusal, unknown
from vivavoce.engine.api.control import Engine
from vivavoce.engine.api.keys import Access, Secret
from vivavoce.engine.shell.calls import Call
from vivavoce.engine.shell.clients import SocketClient
from vivavoce.engine.shell.session import new_id
from vivavoce.errors import Conflict, Forbidden, VivavoceError
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.refusal import Refused

_QUERY = ("model", "call_id", "intent", "api-version", "deployment")
_BETA = "openai-beta.realtime-v1"
MAX_FRAME = 21 * 1024 * 1024
"""Characters of an event: 15 MiB of sound, as base64. One that is larger is refused in an event;
what the listener does not take at all (`app.listen`) closes the connection."""


class RealtimeSocket:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def serve(self, socket: WebSocket) -> None:
        try:
            with self._engine.keys.opening(key_of(socket)) as access:
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
        await _converse(socket, client, call)

    def _admit(self, socket: WebSocket, access: Access) -> tuple[SocketClient, Call]:
        engine, query = self._engine, socket.query_params
        _check(socket)
        call_id = query.get("call_id")
        if call_id is not None:
            client = self._seat(access, call_id)
            call = engine.call(call_id)
            call.join(client)
            return client, call
        locked = access.secret is not None and access.secret.locked
        if access.secret is not None and access.secret.call_id is not None:
            raise Forbidden("This client secret is for its call: connect with '?call_id='.")
        if access.secret is not None:
            _agree(query, access.secret)
        client = SocketClient(peer=True, locked=locked)
        model = query.get("model") or query.get("deployment")
        return client, engine.websocket_session(
            client, access, model, query.get("intent", "realtime")
        )

    def _seat(self, access: Access, call_id: str) -> SocketClient:
        secret = access.secret
        if secret is None:
            return SocketClient(peer=False)
        if secret.call_id != call_id:
            raise Forbidden("This client secret is for another call.")
        call = self._engine.call(call_id)
        if call.has_peer:
            raise Conflict("Somebody is on this call already.")
        return call.seat(locked=secret.locked)


def _check(socket: WebSocket) -> None:
    for name in socket.query_params:
        if name not in _QUERY:
            raise unknown(name)
    if socket.query_params.get("intent", "realtime") not in ("realtime", "transcription"):
        raise Refused("'intent' is 'transcription' or absent.", param="intent")
    if socket.query_params.get("intent") == "transcription" and "model" in socket.query_params:
        raise Refused(
            "A transcription session has no 'model' in its address: name one in its "
            "'audio.input.transcription'.",
            code="invalid_value",
            param="model",
        )
    beta = "realtime=v1" in socket.headers.get("openai-beta", "")
    if beta or _BETA in socket.scope.get("subprotocols", ()):
        raise Refused(
            "The beta shape of the Realtime API is gone: leave the 'OpenAI-Beta' header and the "
            f"subprotocol '{_BETA}' out.",
            code="beta_api_shape_disabled",
        )


def _agree(query: QueryParams, secret: Secret) -> None:
    """A client secret has its session; what the address says of it must not be another."""
    if "intent" in query and query["intent"] != secret.configuration.kind:
        raise Refused(
            f"This client secret is for a {secret.configuration.kind} session.",
            code="invalid_value",
            param="intent",
        )


async def _converse(socket: WebSocket, client: SocketClient, call: Call) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(_write(socket, client), name="socket writer")
            try:
                await _read(socket, client, call)
            finally:
                call.session.leave(client)
                client.close(1000, "")
            await writer
    except* (WebSocketDisconnect, OSError):
        pass  # the far end went away in the middle of a word


async def _read(socket: WebSocket, client: SocketClient, call: Call) -> None:
    while client.closed is None:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        if text is None:
            _refuse(client, Refused("Events are JSON in text frames.", code="invalid_json"))
        elif len(text) > MAX_FRAME:
            words = f"An event has at most {MAX_FRAME:,} characters; this one has {len(text):,}."
            _refuse(client, Refused(words, code="event_too_large"))
        else:
            for _ in call.session.receive(client, text):
                await asyncio.sleep(0)


def _refuse(client: SocketClient, fault: Refused) -> None:
    client.push(orjson.dumps({**server.Error.of(fault).frame(), "event_id": new_id("event")}))


async def _write(socket: WebSocket, client: SocketClient) -> None:
    while (frame := await client.next()) is not None:
        if socket.client_state is not WebSocketState.CONNECTED:
            return  # nobody is left to send it to
        await socket.send({"type": "websocket.send", "text": frame.decode()})
    code, reason = client.closed or (1000, "")
    if socket.client_state is WebSocketState.CONNECTED:
        await socket.close(code, reason[:120])


async def _deny(socket: WebSocket, fault: Refused | VivavoceError) -> None:
    status, body, headers = refusal(fault)
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(answer(body, status, headers))
    else:
        await socket.close(1008, body["error"]["message"][:120])
