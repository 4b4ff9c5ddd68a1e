"""`GET /events`, the tail of the event log as Server-Sent Events (seed 003 §5), and the same log in
the words of the Conversations API (seed 004 §9): `new_message`, `intent_submitted`, `error` and
`session_ended`.

Both have the log's positions, so both resume alike. One event of the log is at most one in the
other words, or an id would stand for two.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vivavoce.errors import SessionNotFound
from vivavoce.runtime.journal.streams import Filter, Subscription, patterns
from vivavoce.server.doors.sessions import stream_token
from vivavoce.server.gate.auth import current_user, key_ended, token_grant, token_session
from vivavoce.server.gate.gate import DIRECT_SEND
from vivavoce.server.gate.tickets import Grant
from vivavoce.server.problems import errors
from vivavoce.server.schemas.conversations import shown
from vivavoce.server.schemas.sessions import ClientSecret
from vivavoce.server.services import Here, MaybeSession, SessionPath, User
from vivavoce.wire.clean import clean_text
from vivavoce.wire.events import (
    CATALOGUE,
    ErrorOccurred,
    Heartbeat,
    IntentRetracted,
    IntentSubmitted,
    SessionEnded,
    StreamReset,
    ToolError,
    TranscriptionCompleted,
)
from vivavoce.wire.records.talk import LogEvent

Json = dict[str, Any]
_GRACE_SECONDS = 1.0
KEY_SECONDS = 15.0
"""Between two looks whether the key of a stream is still good, while nothing is sent."""
FRESH_SECONDS = 2.0
"""And while something is."""
_GARBAGE = -1  # never a position: the reader gets an explicit reset


class EventStream(Response):
    """Answers with a subscription until it ends or the client leaves."""

    media_type = "text/event-stream"

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(
            headers={
                "cache-control": "no-cache, no-transform",
                "x-accel-buffering": "no",
                "content-type": "text/event-stream; charset=utf-8",
            }
        )
        del self.headers["content-length"]  # of the empty body that we do not send
        self.subscription = subscription
        self._asked = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                writer = group.create_task(self._write(scope, send), name="sse.write")
                watcher = group.create_task(self._watch(receive), name="sse.watch")
                key = group.create_task(self._watch_key(scope), name="sse.key")
                await self.subscription.ended.wait()
                # A client that does not read would hold the writer, and the shutdown, for ever.
                await asyncio.wait({writer}, timeout=_GRACE_SECONDS)
                writer.cancel()
                watcher.cancel()
                key.cancel()
        finally:
            self.subscription.close()

    async def _write(self, scope: Scope, send: Send) -> None:
        body = self.subscription.opening
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await send({"type": "http.response.body", "body": body, "more_body": True})
        # What lies between here and the server looks only at how an answer starts.
        send = scope.get(DIRECT_SEND, send)
        while frames := await self.subscription.take():
            if time.monotonic() - self._asked >= FRESH_SECONDS and await self._key_ended(scope):
                break
            body = frames[0] if len(frames) == 1 else b"".join(frames)
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.subscription.close()

    async def _watch_key(self, scope: Scope) -> None:
        """A key that ends ends what it opened. A stream token is only for getting in."""
        while True:
            await asyncio.sleep(KEY_SECONDS)
            if await self._key_ended(scope):
                self.subscription.close()
                return

    async def _key_ended(self, scope: Scope) -> bool:
        self._asked = time.monotonic()
        state = scope.get("state", {})
        if (asks_again := state.get("asks_again")) is None:
            return False
        return await key_ended(asks_again, state["user_id"], state["role"]) is not None


def last_event_id(request: HTTPConnection) -> int | None:
    """Where the client wants to go on: the header, or `last_event_id` in the query.

    An EventSource that is answered with an error never comes back, so what is
    no number becomes a position that nobody has, and a reset.
    """
    text = request.headers.get("last-event-id") or request.query_params.get("last_event_id")
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else _GARBAGE


class _Bounded(APIRoute):
    """Whoever has too many streams is refused before anything else is looked at."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            request.app.state.services.journal.check_room(current_user(request))
            return await handle(request)

        return bounded


router = APIRouter(tags=["Events"])
v1 = APIRouter(prefix="/api/v1/voice", tags=["Conversations: voice"])

Follow = Annotated[bool, Query(description="False: what is stored, then the end of the stream")]
After = Annotated[
    int | None, Query(alias="last_event_id", ge=0, le=2**62, description="As `Last-Event-ID`")
]
Last = Annotated[str | None, Header(alias="Last-Event-ID", max_length=32)]
Bound = Annotated[str | None, Depends(token_session)]

# The types there are, their groups, and all.
_NAMES = {re.escape(kind) for kind in CATALOGUE}
_GROUPS = {re.escape(kind.partition(".")[0]) + r"\.\*" for kind in CATALOGUE if "." in kind}
_ONE = rf"\s*({'|'.join(sorted(_NAMES | _GROUPS))}|\*)?\s*"


def _event(names: Json, data: Json, place: str, **more: Any) -> Json:
    """One event, as the API's description has it."""
    properties = {
        "event": names,
        "data": {"type": "string", "contentMediaType": "application/json", **data},
        "id": {"type": "string", "description": place},
        "retry": {"type": "integer"},
    }
    told = {"description": "One event of the stream", "type": "object", "properties": properties}
    return told | more


_EVENT = _event(
    {"type": "string", "examples": ["tool.started"]},
    {"contentSchema": {"type": "object", "required": ["timestamp"]}},
    "Log position; only durable events have one",
)


def _stream(words: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """What the routes of streams say of themselves."""
    told = {"description": words, "content": {"text/event-stream": {"schema": event}}}
    return {
        "response_class": EventStream,
        "status_code": 200,  # FastAPI reads it from constructors, and fails where one has none
        "responses": errors(404, 429, 503) | {200: told},
    }


async def events(
    here: Here,
    user: User,
    request: Request,
    session_id: MaybeSession,
    bound: Bound,
    subscribe: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="Patterns, such as `tool.*,session.*`",
            json_schema_extra={"pattern": rf"^{_ONE}(,{_ONE})*$"},
        ),
    ] = None,
    follow: Follow = True,
    _after: After = None,
    _last: Last = None,
) -> EventStream:
    """Every step of a session, or of all your sessions. After `Last-Event-ID` nothing is
    missing and nothing comes twice; a position that is gone is told with `stream.reset`."""
    session_id = session_id or bound
    if session_id is not None:
        _own(session_id, bound)
        await here.library.summary(session_id, user)
    only = Filter(user_id=user, session_id=session_id, types=patterns(subscribe))
    after = last_event_id(request)
    return EventStream(here.journal.subscribe(only, after=after, follow=follow))


router.add_api_route(
    "/events",
    events,
    operation_id="eventStream",
    route_class_override=_Bounded,
    **_stream("SSE stream; ids are log positions", _EVENT),
)


# --- Of the Conversations API

_OVER = '{"reason":"user_ended","duration_seconds":93}'
_V1_EVENT = _event(
    {"enum": ["new_message", "intent_submitted", "error", "session_ended"]},
    {},
    "Position, for `Last-Event-ID`",
    examples=[{"event": "session_ended", "data": _OVER, "id": "57"}],
)


def _own(session_id: str, bound: str | None) -> None:
    if bound not in (None, session_id):
        raise SessionNotFound(f"Session '{session_id[:64]}' not found.")


async def session_events(
    here: Here,
    user: User,
    request: Request,
    session_id: SessionPath,
    bound: Bound,
    follow: Follow = True,
    _after: After = None,
    _last: Last = None,
) -> EventStream:
    """What was said, what was submitted, what went wrong, and the end.

    Every message as soon as it is stored, with the id that it has in the conversation; an
    answer that was cut short comes again with the same id and what was heard of it. After
    `Last-Event-ID` nothing is missing and nothing comes twice. With `?token=` and the
    session's stream token where no header can be sent.
    """
    _own(session_id, bound)
    await here.library.summary(session_id, user)
    only, after = watching(user, session_id), last_event_id(request)
    return EventStream(here.journal.subscribe(only, after=after, follow=follow))


v1.add_api_route(
    "/session/{session_id}/events",
    session_events,
    operation_id="voiceSessionEvents",
    route_class_override=_Bounded,
    **_stream("SSE stream; ids are positions", _V1_EVENT),
)


@v1.post(
    "/session/{session_id}/events/token",
    operation_id="renewStreamToken",
    responses=errors(404),
)
async def renew(
    here: Here,
    user: User,
    session_id: SessionPath,
    grant: Annotated[Grant | None, Depends(token_grant)],
) -> ClientSecret:
    """A fresh stream token, for who has a valid one (`?token=`) or may ask anyway.

    With nothing but the token: until ten minutes after the end of the session, and for a day at
    most.
    """
    _own(session_id, grant.session_id if grant else None)
    session = (await here.library.summary(session_id, user)).session
    if grant is None:
        return stream_token(here, session)
    return ClientSecret.of(here.streams.renew(grant, ended_at=session.ended_at))


# --- The log in its words

BEAT = b": heartbeat\n\n"  # a comment: seed 004 has no event for it


def watching(user_id: str, session_id: str) -> Filter:
    """The stream of one session, in these words."""
    return Filter(user_id=user_id, session_id=session_id, types=tuple(_WORDS), tell=tell)


def tell(event: LogEvent) -> bytes:
    """The frame, or nothing."""
    if event.type == Heartbeat.type:
        return BEAT
    words = _WORDS.get(event.type) or _RESETS.get(event.type)
    if words is None:
        return b""
    name, shape = words
    shaped = shape(orjson.loads(event.data))
    if shaped is None:
        return b""
    data = orjson.dumps(shaped)
    place = b"id: %d\n" % event.position if event.position else b""
    return b"event: %b\ndata: %b\n%b\n" % (name, data, place)


def _message(data: Json) -> Json | None:
    """An interrupted answer comes again with the same id: the latest is what was heard of it."""
    if not data.get("entry_id") and not data["transcript"]:
        return None  # only the beginning of what comes under another item
    return {
        "id": data.get("entry_id"),
        "role": data["role"],
        "content": shown(clean_text(data["transcript"]), data["role"]),
        "input_modality": data.get("modality") or "voice",
        "created_at": data.get("created_at") or data["timestamp"],
        "metadata": {"interrupted": True} if data.get("interrupted") else {},
    }


def _intent(data: Json) -> Json:
    named: Json = {name: data[name] for name in ("goal_id", "task_id", "error") if name in data}
    return {
        "intent": data["intent"],
        "payload": data["payload"],
        "status": data["status"],
        "intent_id": data["intent_id"],
        "revision": data.get("revision", 0),
        **named,
    }


def _retracted(data: Json) -> Json:
    return _intent({"payload": {}, "status": "retracted", **data})


def _error(data: Json) -> Json:
    return {"code": data["code"], "message": data["message"]}


def _tool_error(data: Json) -> Json | None:
    """A validation or the orchestrator said no; the model was told too, and asks again. What the
    intent service announced itself, by a code of its own, is told by that."""
    if data.get("announced"):
        return None
    return {"code": data.get("code") or "tool_error", "message": data["error"]}


def _ended(data: Json) -> Json:
    return {"reason": data["reason"], "duration_seconds": round(data["duration_ms"] / 1000)}


def _reset(data: Json) -> Json:
    told = "Some events are gone. Read the messages of the conversation anew."
    return {"code": "stream_reset", "message": told}


_WORDS: dict[str, tuple[bytes, Callable[[Json], Json | None]]] = {
    TranscriptionCompleted.type: (b"new_message", _message),
    IntentSubmitted.type: (b"intent_submitted", _intent),
    IntentRetracted.type: (b"intent_submitted", _retracted),
    ErrorOccurred.type: (b"error", _error),
    ToolError.type: (b"error", _tool_error),
    SessionEnded.type: (b"session_ended", _ended),
}
_RESETS = {StreamReset.type: (b"error", _reset)}
