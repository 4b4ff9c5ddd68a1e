"""From records to what the Conversations API shows. No decisions, only shapes."""

from __future__ import annotations

from typing import Any

from vivavoce.runtime.sessions.conversations import Visit
from vivavoce.server.doors.v1_events import shown
from vivavoce.server.schemas import v1 as s
from vivavoce.server.schemas import views
from vivavoce.server.services import Services
from vivavoce.wire.records.plans import ConversationSummary, Hit
from vivavoce.wire.records.talk import Conversation, Entry, Kind

_FUNCTION = (Kind.TOOL_CALL, Kind.TOOL_RESULT)


def visit(here: Services, visit: Visit) -> s.VoiceSessionResponse:
    """The answer that lets a browser connect: our key, never the provider's."""
    session = visit.opened.session
    ticket = here.tickets.issue(session_id=session.id, user_id=session.user_id)
    return s.VoiceSessionResponse(
        session_id=session.id,
        conversation_id=session.conversation_id,
        ephemeral_key=ticket.value,
        prior_messages=[s.PriorMessage(**_said(entry)) for entry in visit.prior],
        expires_at=int(ticket.expires_at.timestamp()),
        stream_token=views.stream_token(here, session),
        last_event_id=here.journal.position,
    )


def message(entry: Entry) -> s.Message:
    kind = {"entry_kind": entry.kind.value} if entry.kind in _FUNCTION else {}
    return s.Message(**_said(entry), metadata=entry.data | kind)


def _said(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "role": "function" if entry.kind in _FUNCTION else entry.kind.value,
        "content": shown(entry.text, entry.kind),
        "input_modality": entry.modality,
        "created_at": entry.created_at,
    }


def listed(summary: ConversationSummary) -> s.ConversationInfo:
    return s.ConversationInfo(
        id=summary.id,
        context_type=summary.context_type,
        title=summary.title,
        created_at=summary.created_at,
        last_message_at=summary.last_message_at,
        ended_at=summary.ended_at,
        extracted_intent=summary.extracted_intent,
        preview=summary.preview,
        message_count=summary.messages,
    )


def begun(conversation: Conversation) -> s.ConversationInfo:
    """One with nothing in it yet."""
    return listed(
        ConversationSummary(
            id=conversation.id,
            context_type=conversation.context_type,
            created_at=conversation.created_at,
            title=conversation.title,
        )
    )


def hit(found: Hit) -> s.SearchHit:
    return s.SearchHit(
        message_id=found.message_id,
        conversation_id=found.conversation_id,
        role=found.role,
        created_at=found.created_at,
        snippet=found.snippet,
    )
