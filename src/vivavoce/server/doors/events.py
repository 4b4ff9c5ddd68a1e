"""`GET /events`: the tail of the event log as Server-Sent Events (seed 003 §5)."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request

from vivavoce.errors import SessionNotFound
from vivavoce.runtime.journal.streams import Filter, patterns
from vivavoce.server.gate.auth import token_session
from vivavoce.server.problems import errors
from vivavoce.server.services import Here, MaybeSession, User
from vivavoce.server.sse import EventStream, last_event_id
from vivavoce.wire.events import CATALOGUE

router = APIRouter(tags=["Events"])

# The types there are, their groups, and all.
_NAMES = {re.escape(kind) for kind in CATALOGUE}
_GROUPS = {re.escape(kind.partition(".")[0]) + r"\.\*" for kind in CATALOGUE if "." in kind}
_ONE = rf"\s*({'|'.join(sorted(_NAMES | _GROUPS))}|\*)?\s*"
_EVENT = {
    "description": "One event of the stream",
    "type": "object",
    "properties": {
        "event": {"type": "string", "examples": ["tool.started"]},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"type": "object", "required": ["timestamp"]},
        },
        "id": {"type": "string", "description": "Log position; only durable events have one"},
        "retry": {"type": "integer"},
    },
}


@router.get(
    "/events",
    operation_id="eventStream",
    response_class=EventStream,
    status_code=200,  # FastAPI reads it from constructors, and fails where one has none
    responses=errors(404, 503)
    | {
        200: {
            "description": "SSE stream; ids are log positions",
            "content": {"text/event-stream": {"schema": _EVENT}},
        }
    },
)
async def events(
    here: Here,
    user: User,
    request: Request,
    session_id: MaybeSession,
    bound: Annotated[str | None, Depends(token_session)],
    subscribe: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="Patterns, such as `tool.*,session.*`",
            json_schema_extra={"pattern": rf"^{_ONE}(,{_ONE})*$"},
        ),
    ] = None,
    follow: Annotated[
        bool, Query(description="False: what is stored, then the end of the stream")
    ] = True,
    last_event_id_query: Annotated[
        int | None,
        Query(alias="last_event_id", ge=0, le=2**62, description="As `Last-Event-ID`"),
    ] = None,
    _last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=32)] = None,
) -> EventStream:
    """Every step of a session, or of all your sessions. After `Last-Event-ID` nothing is
    missing and nothing comes twice; a position that is gone is told with `stream.reset`."""
    if bound is not None:
        if session_id not in (None, bound):
            raise SessionNotFound(f"Session '{session_id}' not found.")
        session_id = bound
    if session_id is not None:
        await here.library.summary(session_id, user)
    after = last_event_id(request)
    only = Filter(user_id=user, session_id=session_id, types=patterns(subscribe))
    return EventStream(
        here.journal.subscribe(
            only, after=last_event_id_query if after is None else after, follow=follow
        )
    )
