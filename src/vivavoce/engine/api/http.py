"""The Realtime API over HTTP: client secrets, calls, hang-ups, models; errors in OpenAI's shape.

Mounted at `/v1`. The gate in front has checked Host and Origin; keys are
checked here, since clients of this API bring them as they bring OpenAI's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from vivavoce.engine.api.answers import (
    answer,
    key_of,
    not_there,
    parsed,
    refused,
    unexpected,
    unknown,
)
from vivavoce.engine.api.audio import Speeches, Transcriptions
from vivavoce.engine.api.chat import Chat
from vivavoce.engine.api.control import MAX_MODEL_NAME, MODEL, Engine
from vivavoce.engine.api.keys import DEFAULT_SECONDS, MAX_SECONDS, MIN_SECONDS, Access
from vivavoce.engine.api.socket import RealtimeSocket
from vivavoce.errors import VivavoceError
from vivavoce.wire.realtime.refusal import Refused

SDP = "application/sdp"
RESUMED = "x-vivavoce-resumed"


def build_door(engine: Engine) -> Starlette:
    """The ASGI app for `/v1`."""
    door = _Door(engine)
    return Starlette(
        routes=[
            Route("/models", door.models),
            Route("/models/{model}", door.model),
            Route("/realtime/client_secrets", door.client_secret, methods=["POST"]),
            Route("/realtime/calls", door.create_call, methods=["POST"]),
            Route("/realtime/calls/{call_id}/hangup", door.hang_up, methods=["POST"]),
            Route("/chat/completions", Chat(engine).complete, methods=["POST"]),
            Route("/audio/transcriptions", Transcriptions(engine).create, methods=["POST"]),
            Route("/audio/speech", Speeches(engine).create, methods=["POST"]),
            WebSocketRoute("/realtime", RealtimeSocket(engine).serve),
        ],
        exception_handlers={
            Refused: refused,
            VivavoceError: refused,
            HTTPException: not_there,
            Exception: unexpected,
        },
    )


class _Door:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def _access(self, request: Request) -> Access:
        return self._engine.keys.access(key_of(request))

    # --- Endpoints ------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        self._access(request)
        return answer({"object": "list", "data": [_model(MODEL)]})

    async def model(self, request: Request) -> Response:
        """Whichever is asked for: it is the one engine, under that name."""
        self._access(request)
        return answer(_model(request.path_params["model"][:MAX_MODEL_NAME]))

    async def client_secret(self, request: Request) -> Response:
        access = self._engine.keys.whole(key_of(request))
        body = await _object(request)
        _only(body, ("expires_after", "session"))
        seconds = _lifetime(body.get("expires_after"))
        value, until, shown = self._engine.mint(_mapping(body, "session"), access, seconds)
        return answer({"value": value, "expires_at": until, "session": shown})

    async def create_call(self, request: Request) -> Response:
        self._access(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            return await self._websocket_call(request)
        if kind == SDP:
            offer, session = _text(await request.body()), _from_query(request)
        elif kind == "multipart/form-data":
            offer, session = await _form(request)
        else:
            raise Refused(
                "Send the offer as 'application/sdp', or as 'multipart/form-data' with the parts "
                "'sdp' and 'session'.",
                code="unsupported_content_type",
            )
        with self._engine.keys.opening(key_of(request)) as access:
            resumed = _resumed(request, access)
            call_id, sdp = await self._engine.webrtc_call(offer, access, session, resumed=resumed)
        return Response(sdp, 201, {"Location": _location(call_id)}, media_type=SDP)

    async def _websocket_call(self, request: Request) -> Response:
        """Ours alone: a call whose sound comes over a WebSocket, with a sideband beside it."""
        access = self._engine.keys.whole(key_of(request))
        body = await _object(request)
        _only(body, ("transport", "session"))
        if body.get("transport") != "websocket":
            raise Refused(
                "A call without an SDP offer has 'transport': 'websocket'.", param="transport"
            )
        session = _mapping(body, "session")
        call_id, value, until = self._engine.websocket_call(
            access, session, resumed=_resumed(request, access)
        )
        made = {
            "id": call_id,
            "transport": "websocket",
            "client_secret": {"value": value, "expires_at": until},
        }
        return answer(made, 201, {"Location": _location(call_id)})

    async def hang_up(self, request: Request) -> Response:
        self._engine.keys.whole(key_of(request))
        self._engine.call(request.path_params["call_id"]).session.end("hung up")
        return Response(status_code=200)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vivavoce"}


# --- Reading requests ---------------------------------------------------------------------


async def _object(request: Request) -> dict[str, Any]:
    return parsed(await request.body())


def _only(body: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in body:
        if name not in names:
            raise unknown(name)


def _mapping(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise Refused(f"'{name}' should be an object.", code="invalid_type", param=name)
    return value or {}


def _lifetime(raw: Any) -> int:
    if raw is None:
        return DEFAULT_SECONDS
    if not isinstance(raw, dict) or raw.get("anchor", "created_at") != "created_at":
        raise Refused("'expires_after' has 'anchor': 'created_at'.", param="expires_after")
    seconds = raw.get("seconds", DEFAULT_SECONDS)
    if (
        not isinstance(seconds, int)
        or isinstance(seconds, bool)
        or not MIN_SECONDS <= seconds <= MAX_SECONDS
    ):
        raise Refused(
            f"'expires_after.seconds' should be between {MIN_SECONDS} and {MAX_SECONDS}.",
            code="invalid_value",
            param="expires_after.seconds",
        )
    return seconds


def _resumed(request: Request, access: Access) -> bool:
    """Our own server says that a call goes on with a conversation; nobody else may."""
    return access.ours and request.headers.get(RESUMED) == "true"


def _from_query(request: Request) -> Mapping[str, Any]:
    query = request.query_params
    model = query.get("model") or query.get("deployment")
    return {"model": model} if model else {}


async def _form(request: Request) -> tuple[str, Mapping[str, Any]]:
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


def _location(call_id: str) -> str:
    return f"/v1/realtime/calls/{call_id}"
