"""`/api/v1/conversations`: what was said, and a way to go on in writing (seed 004 §9, §18); and
`/api/v1/voice/session`: a way to go on by voice (§9)."""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Response

from vivavoce.runtime.people.data import Format
from vivavoce.runtime.sessions.options import Options
from vivavoce.server.doors.sessions import (
    EXCHANGE,
    Key,
    Offer,
    SdpResponse,
    client_context,
    stream_token,
)
from vivavoce.server.problems import errors
from vivavoce.server.schemas import conversations as s
from vivavoce.server.services import (
    AsRole,
    Here,
    Rank,
    SessionPath,
    User,
    exchanged,
    json_only,
    paced,
    told,
)

router = APIRouter(
    prefix="/api/v1/conversations", tags=["Conversations"], dependencies=[Depends(json_only)]
)
voice = APIRouter(prefix="/api/v1/voice", tags=["Conversations: voice"])

ConversationPath = Annotated[UUID, Path(description="Conversation ID")]
Once = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,128}$",
        description="A name for this message, such as a UUID. Sent again under it, where no answer "
        "came, it is the same message, and no second one.",
    ),
]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]


@router.get("", operation_id="listConversations", responses=errors())
async def conversations(
    here: Here,
    user: User,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    offset: Offset = 0,
    context_type: s.ContextType | None = None,
) -> s.ConversationListResponse:
    """Your conversations, the one with the newest message first."""
    found, total = await here.store.conversation_list(
        user_id=user, context_type=context_type, limit=limit, offset=offset
    )
    return s.ConversationListResponse.of({"conversations": found, "total": total})


@router.post(
    "",
    operation_id="createConversation",
    status_code=201,
    responses=errors(415, 429),
    dependencies=[Depends(paced)],
)
async def create(
    here: Here, user: User, body: s.CreateConversationRequest | None = None
) -> s.ConversationInfo:
    """A conversation to write to. One by voice begins with `POST /api/v1/voice/session`."""
    body = body or s.CreateConversationRequest()
    begun = await here.library.begin(user, context_type=body.context_type, title=body.title)
    return s.ConversationInfo.of(begun, last_message_at=None, preview=None, message_count=0)


@router.get("/search", operation_id="searchMessages", responses=errors(429))
async def search(
    here: Here,
    user: User,
    q: Annotated[str, Query(min_length=1, max_length=200, examples=["learn spanish"])],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> s.SearchResponse:
    """Messages with all these words, whole or begun, best first."""
    with here.reads.held(user):
        found = await here.library.search(q, user, limit=limit)
    return s.SearchResponse(results=[s.SearchHit.of(one) for one in found])


@router.get("/{conversation_id:uuid}", operation_id="getConversation", responses=errors(404))
async def conversation(
    here: Here, user: User, conversation_id: ConversationPath
) -> s.ConversationInfo:
    """One conversation, as the list shows it."""
    return s.ConversationInfo.of(await here.library.listed(str(conversation_id), user))


@router.patch(
    "/{conversation_id:uuid}",
    operation_id="renameConversation",
    responses=errors(404, 415, 429),
    dependencies=[Depends(paced)],
)
async def rename(
    here: Here,
    user: User,
    rank: Rank,
    conversation_id: ConversationPath,
    body: s.ConversationChange,
) -> s.ConversationInfo:
    """Give it another title. Yours stays: none that is made of the talk takes its place."""
    renamed = await here.library.rename(str(conversation_id), user, body.title, rank)
    return s.ConversationInfo.of(renamed)


_FILE_TYPES = {"json": "application/json", "markdown": "text/markdown; charset=utf-8"}
_ENDINGS = {"json": "json", "markdown": "md"}
_NO_NAME = re.compile(r"[^a-z0-9]+")


@router.get(
    "/{conversation_id}/export",
    operation_id="exportConversation",
    response_class=Response,
    responses=errors(404, 429)
    | {200: {"content": {"application/json": {}, "text/markdown": {"schema": {"type": "string"}}}}},
)
async def export(
    here: Here,
    user: User,
    conversation_id: ConversationPath,
    form: Annotated[Format, Query(alias="format", description="Of the file")] = "markdown",
) -> Response:
    """This conversation as a file: `markdown` is what people read; `json` has what was said,
    called and returned, and what was submitted."""
    with here.reads.held(user):
        talk, body = await here.data.conversation(str(conversation_id), user, form)
    # Of the title only what is a name everywhere.
    named = _NO_NAME.sub("-", (talk.title or "conversation").lower()).strip("-")[:60]
    name = f"{talk.created_at:%Y-%m-%d}-{named or 'conversation'}.{_ENDINGS[form]}"
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(body, media_type=_FILE_TYPES[form], headers=headers)


@router.delete(
    "/{conversation_id:uuid}",  # `/search` is beside it, and cannot be deleted
    operation_id="deleteConversation",
    status_code=204,
    responses=errors(404, 429),
    dependencies=[Depends(paced)],
)
async def delete(here: Here, user: User, rank: Rank, conversation_id: ConversationPath) -> Response:
    """Delete a conversation with all that was said in it, for good.

    A session of it that is live is ended first. Goals and tasks that came of it stay.
    """
    for session_id in await here.library.delete(str(conversation_id), user, rank):
        here.tickets.revoke(session_id)
    return Response(status_code=204)


@router.get(
    "/{conversation_id}/messages",
    operation_id="listMessages",
    response_model=s.MessageListResponse,
    responses=errors(404, 429),
)
async def messages(
    here: Here,
    user: User,
    conversation_id: ConversationPath,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[
        UUID | None, Query(description="Those before this message; without: the last ones")
    ] = None,
) -> Response:
    """A page of a conversation, oldest first; go back with `before` the first of it."""
    with here.reads.held(user):
        found, more = await here.library.messages(
            str(conversation_id), user, before=str(before) if before else None, limit=limit
        )
        return await told(
            lambda: s.MessageListResponse(messages=[s.Message.of(e) for e in found], has_more=more)
        )


@router.post(
    "/{conversation_id}/messages",
    operation_id="sendMessage",
    status_code=201,
    responses=errors(404, 409, 415, 429, 502, 503),
)
async def send(
    here: Here,
    user: User,
    role: AsRole,
    conversation_id: ConversationPath,
    body: s.SendMessageRequest,
    once: Once = None,
) -> s.SendMessageResponse:
    """Write to the agent. The same one answers, and knows what was said by voice.

    While a voice session of the conversation is live, it is said there.
    """
    exchange = await here.voice.say(
        str(conversation_id), user, body.content, wait=body.wait_seconds, role=role, once=once
    )
    return s.SendMessageResponse(
        message=s.Message.of(exchange.message),
        reply=s.Message.of(exchange.reply) if exchange.reply else None,
        session_id=exchange.session.id,
        stream_token=stream_token(here, exchange.session),
    )


# --- By voice


@voice.post(
    "/session",
    operation_id="createVoiceSession",
    responses=errors(404, 415, 429, 502, 503),
    dependencies=[Depends(json_only)],
)
async def create_session(
    here: Here,
    user: User,
    role: AsRole,
    body: s.CreateVoiceSessionRequest | None = None,
) -> s.VoiceSessionResponse:
    """Begin a voice session: of a new conversation, or of an old one, which then goes on.

    Answers with a key for `POST …/sdp`, and with what was said before. 429 with `Retry-After`
    where the user has had enough sessions.
    """
    body = body or s.CreateVoiceSessionRequest()
    opened, prior = await here.library.open(
        user,
        Options(
            task_id=str(body.task_id) if body.task_id else None,
            can_type=body.can_type,
            role=role,
            context=client_context(body.context),
        ),
        conversation_id=str(body.conversation_id) if body.conversation_id else None,
    )
    session = opened.session
    ticket = here.tickets.issue(session_id=session.id, user_id=session.user_id)
    return s.VoiceSessionResponse(
        session_id=session.id,
        conversation_id=session.conversation_id,
        ephemeral_key=ticket.value,
        prior_messages=[s.PriorMessage.of(entry) for entry in prior],
        expires_at=int(ticket.expires_at.timestamp()),
        stream_token=stream_token(here, session),
        last_event_id=here.journal.position,
    )


@voice.delete(
    "/session/{session_id}",
    operation_id="endVoiceSession",
    status_code=204,
    responses=errors(404),
)
async def end_session(here: Here, user: User, rank: Rank, session_id: SessionPath) -> Response:
    """End a session; what was said is kept. Ending twice is ending once."""
    await here.library.end(session_id, user, rank)
    here.tickets.revoke(session_id)
    return Response(status_code=204)


@voice.post(
    "/session/{session_id}/sdp",
    operation_id="exchangeVoiceSdp",
    **EXCHANGE,
)
async def exchange_session_sdp(
    here: Here, session_id: SessionPath, key: Key, offer: Offer
) -> SdpResponse:
    """Exchange the browser's offer for the provider's answer, with the session's own key."""
    return SdpResponse(await exchanged(here, key, offer, session_id))


@voice.post(
    "/session/{session_id}/call",
    operation_id="attachVoiceCall",
    status_code=204,
    responses=errors(404, 409, 415, 502, 503),
    dependencies=[Depends(json_only)],
)
async def attach(
    here: Here, user: User, role: AsRole, session_id: SessionPath, body: s.CallRequest
) -> Response:
    """A client that went to the provider itself says which call it has: we listen in on it."""
    await here.library.check_led((await here.library.summary(session_id, user)).session, role)
    await here.voice.connector.attach(session_id, user, body.call_id)
    return Response(status_code=204)
