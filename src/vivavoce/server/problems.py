"""Errors on the wire: the one place where a fault becomes an answer (seed 003 §8.1).

Every `VivavoceError` says itself what may be told. Anything else is
`internal_error`, logged with the request's id and told to nobody.
"""

from __future__ import annotations

import http
import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketState

from vivavoce.errors import InternalError, InvalidRequest, VivavoceError
from vivavoce.logs import fields
from vivavoce.wire.records.talk import iso, utc_now

log = logging.getLogger(__name__)


class ErrorBody(BaseModel):
    """What went wrong, for a program and for a person."""

    code: str = Field(description="Machine-readable error code", examples=["invalid_arguments"])
    message: str = Field(description="Human-readable message")
    details: dict[str, Any] | None = Field(default=None, description="Additional context")
    request_id: str | None = Field(default=None, description="For support and debugging")
    timestamp: str = Field(description="ISO 8601, UTC")


class ErrorResponse(BaseModel):
    """The shape of every error."""

    error: ErrorBody


CODES: dict[int, str] = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    500: "internal_error",
    502: "openai_error",
    503: "service_unavailable",
}
# Not as `model`: FastAPI would make one of each for each route, which takes a tenth of a second.
RESPONSES: dict[int, dict[str, Any]] = {
    status: {"description": f"{http.HTTPStatus(status).phrase} (`{code}`)"}
    for status, code in CODES.items()
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_ALWAYS = (400, 401, 403, 408, 413, 500)  # the gate, or a fault of ours, in front of any route


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a router: the named ones, and those that every route can give."""
    return {status: RESPONSES[status] for status in sorted({*_ALWAYS, *statuses})}


def request_id_of(scope: Scope) -> str | None:
    value = scope.get("state", {}).get("request_id")
    return value if isinstance(value, str) else None


def answer(
    status: int,
    code: str,
    message: str,
    request_id: str | None,
    *,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Any error in the one shape."""
    body: dict[str, Any] = {"code": code, "message": message}
    if details:
        body["details"] = details
    if request_id:
        body["request_id"] = request_id
    body["timestamp"] = iso(utc_now())
    content = _encoded({"error": body})
    return Response(content, status, headers, media_type="application/json")


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body, default=str)
    except TypeError:
        # It quotes half of a surrogate pair, which JSON can carry and UTF-8 cannot.
        return json.dumps(body, default=str).encode()


def problem(error: VivavoceError, request_id: str | None) -> Response:
    """The answer for an error of ours: it says itself what may be told."""
    headers = {}
    if error.retry_after_ms is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after_ms / 1000))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return answer(
        error.status,
        error.code,
        error.message,
        request_id,
        details=error.details,
        headers=headers,
    )


class Faults:
    """Pure ASGI, around the router: what no handler knows becomes `internal_error`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as fault:
            if started:
                raise  # too late for an answer: the server cuts the connection
            await _answer_for(fault, scope)(scope, receive, send)


def _answer_for(fault: Exception, scope: Scope) -> Response:
    while isinstance(fault, ExceptionGroup) and len(fault.exceptions) == 1:
        fault = fault.exceptions[0]  # a task group around one failure adds nothing
    request_id = request_id_of(scope)
    if isinstance(fault, VivavoceError):
        note(fault, scope)
        return problem(fault, request_id)
    log.error("A request failed", exc_info=fault, extra=fields(**_of(scope)))
    return problem(InternalError("Something went wrong on our side"), request_id)


def note(error: VivavoceError, scope: Scope) -> None:
    """One line for the log. A traceback only where there is something inside to find."""
    found = error.code == "internal_error" and error.__cause__ is not None
    # What is wrong with a request may quote it, and with it what someone said.
    words = {"text" if error.status == 400 else "reason": error.message}
    log.log(
        logging.WARNING if error.status >= 500 else logging.INFO,
        "A request could not be served" if error.status >= 500 else "A request was refused",
        exc_info=error if found or log.isEnabledFor(logging.DEBUG) else None,
        extra=fields(**_of(scope), code=error.code, **words),
    )


def _of(scope: Scope) -> dict[str, Any]:
    names = {"method": scope.get("method"), "path": scope.get("path")}
    return {"request_id": request_id_of(scope), **names}


async def _on_error(conn: HTTPConnection, error: VivavoceError) -> Response | None:
    note(error, conn.scope)
    response = problem(error, request_id_of(conn.scope))
    if isinstance(conn, WebSocket):
        await _end(conn, response)
        return None
    return response


async def _end(socket: WebSocket, response: Response) -> None:
    if socket.application_state is WebSocketState.CONNECTED:
        await socket.close(1011 if response.status_code >= 500 else 1008)
    elif "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(response)
    else:
        await socket.close(1008)  # before the handshake: a 403


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    """Of Starlette and FastAPI: no such path, no such method, a body that is no JSON."""
    status = error.status_code
    told = error.detail if status < 500 and isinstance(error.detail, str) else None
    headers = dict(error.headers or {})
    if status == 405:
        headers["Allow"] = _allowed(request)
    return answer(
        status,
        CODES.get(status, "invalid_request" if status < 500 else "internal_error"),
        told or http.HTTPStatus(status).phrase,
        request_id_of(request.scope),
        headers=headers,
    )


def _allowed(request: Request) -> str:
    """Every method of the path: Starlette names those of the first route that has it."""
    scope, routes = request.scope, request.app.router.routes
    return ", ".join(
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    )


async def _on_invalid(request: Request, error: RequestValidationError) -> Response:
    wrong = InvalidRequest("The request is not valid", fields=_fields(error.errors(), error.body))
    return problem(wrong, request_id_of(request.scope))


def _fields(found: Sequence[Mapping[str, Any]], body: object) -> list[dict[str, str]]:
    # Not the input: it may be a secret, or what someone said.
    told = [
        {"field": _field(item, body), "message": _message(item), "type": item["type"]}
        for item in found[:20]
    ]
    # Of several shapes that were tried, the one that came furthest is what was meant.
    return [
        one
        for at, one in enumerate(told)
        if not any(other["field"].startswith(f"{one['field']}.") for other in told)
        and one["field"] not in [before["field"] for before in told[:at]]
    ]


def _field(item: Mapping[str, Any], body: object) -> str:
    """Where it is in what was sent. The validator names its own choices on the way (which of
    several shapes it tried): those are nowhere in the request."""
    steps = item["loc"]
    if not steps or steps[0] != "body":
        return ".".join(str(step) for step in steps if "[" not in str(step))
    path, here = ["body"], body
    for at, step in enumerate(steps[1:], 2):
        inside = isinstance(here, Mapping) and step in here
        if inside or (isinstance(here, list) and isinstance(step, int) and step < len(here)):
            here = here[step]  # type: ignore[index]
        elif item["type"] != "missing" or at < len(steps):
            continue
        path.append(str(step))
    return ".".join(path)


def _message(item: Mapping[str, Any]) -> str:
    if item["type"] == "union_tag_invalid":
        return f"Its type should be one of {item['ctx']['expected_tags']}"
    if item["type"] == "union_tag_not_found":
        return "Input should be an object that says its type"
    said = str(item["msg"]).removeprefix("Value error, ")
    return said[:1].upper() + said[1:]


def install(app: FastAPI) -> None:
    """Every error of this app in our shape. Add the gate afterwards: it goes outside."""
    app.add_exception_handler(VivavoceError, _on_error)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _on_http_exception)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _on_invalid)  # type: ignore[arg-type]
    app.add_middleware(Faults)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        return _as_they_are(generate())

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to adapt it


def _as_they_are(schema: dict[str, Any]) -> dict[str, Any]:
    """The errors as we give them. FastAPI promises a 422 everywhere, which here is a 400 in
    our shape, and any error in the media type of the route's success."""
    told = {str(status): response["description"] for status, response in RESPONSES.items()}
    ours = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}
    for path in schema.get("paths", {}).values():
        for operation in path.values():
            responses = operation.get("responses", {}) if isinstance(operation, dict) else {}
            responses.pop("422", None)
            for status, response in responses.items():
                if response.get("description") == told.get(status):
                    response["content"] = ours
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        components.pop(name, None)
    error = ErrorResponse.model_json_schema(ref_template="#/components/schemas/{model}")
    components |= error.pop("$defs") | {"ErrorResponse": error}
    for field in components["ErrorBody"]["properties"].values():
        field.pop("default", None)  # FastAPI leaves a default of null out, too
    return schema
