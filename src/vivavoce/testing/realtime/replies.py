"""How the scripted provider answers what a client sends, when no script says otherwise.

Pure: one client event in, the server's events out. Strict where the real
service is strict, so that a test fails here and not on someone's bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivavoce.testing.realtime.conversation import Conversation
from vivavoce.testing.realtime.ledger import Json
from vivavoce.wire.realtime import client, server
from vivavoce.wire.realtime.items import ROOT, FunctionCallOutput, read_item
from vivavoce.wire.realtime.refusal import Refused, reading, refused
from vivavoce.wire.realtime.response import ResponseCreate
from vivavoce.wire.realtime.session import RealtimeSession


def reply(conversation: Conversation, frame: Mapping[str, Any]) -> list[Json]:
    """The answer to one event of a client, or one `error`."""
    try:
        return _answer(conversation, client.read(dict(frame)))
    except Refused as fault:
        return [conversation.ledger.event(server.error(fault, frame.get("event_id")))]


def _answer(c: Conversation, event: client.ClientEvent) -> list[Json]:
    ledger = c.ledger
    match event:
        case client.UpdateSession(session):
            if session.get("type") != "realtime":
                raise refused("missing_required_parameter", "session.type")
            reading(RealtimeSession.model_validate, session, "session")
            return ledger.session_updated(session)
        case client.CreateItem():
            return _create(c, event)
        case client.DeleteItem(item_id):
            _known(c, item_id, "delete")
            del ledger.items[item_id]
            return [ledger.event("conversation.item.deleted", item_id=item_id)]
        case client.RetrieveItem(item_id):
            _known(c, item_id, "retrieve")
            return [ledger.event("conversation.item.retrieved", item=ledger.items[item_id])]
        case client.Truncate(item_id, end):
            _known(c, item_id, "truncate")
            if end > (have := ledger.audio_ms.get(item_id, 0)):
                words = f"Audio content of {have}ms is already shorter than {end}ms"
                raise Refused(words, code="invalid_value", param="audio_end_ms")
            ledger.audio_ms[item_id] = end
            where = {"item_id": item_id, "content_index": event.content_index}
            return [ledger.event("conversation.item.truncated", where, audio_end_ms=end)]
        case client.CreateResponse(_, params):
            # It begins; what it says is the test's to decide.
            reading(ResponseCreate.model_validate, params or {}, "response")
            if (active := c.assistant.active) is not None:
                raise Refused(
                    f"Conversation already has an active response in progress: {active.id}. "
                    "Wait until the response is finished before creating a new one.",
                    code="conversation_already_has_active_response",
                )
            return c.assistant.begin()
        case client.CancelResponse():
            if c.assistant.active is None:
                words = "Cancellation failed: no active response found"
                raise Refused(words, code="response_cancel_not_active")
            return c.assistant.cancel("client_cancelled")
        case client.AppendInput():
            c.audio_appended = True
            return []
        case client.CommitInput():
            if not c.audio_appended:
                words = "Error committing input audio buffer: buffer too small."
                raise Refused(words, code="input_audio_buffer_commit_empty")
            c.audio_appended = False
            return c.commit(ledger.new_id("item"))
        case client.ClearInput():
            c.audio_appended = False
            return [ledger.event("input_audio_buffer.cleared")]
        case client.ClearOutput():
            return c.assistant.stop_audio(cleared=True)


def _create(c: Conversation, event: client.CreateItem) -> list[Json]:
    items, item, previous = c.ledger.items, read_item(event.item), event.previous_item_id
    if item.id in items:
        words = f"Item with ID '{item.id}' already exists in the conversation."
        raise Refused(words, code="item_create_duplicate_item_id", param="item.id")
    if isinstance(item, FunctionCallOutput):
        calls = {one.get("call_id") for one in items.values() if one["type"] == "function_call"}
        if item.call_id not in calls:
            words = f"Tool call ID '{item.call_id}' not found in conversation."
            raise Refused(words, code="invalid_tool_call_id", param="item.call_id")
    if previous not in (None, ROOT) and previous not in items:
        words = f"Previous item with ID '{previous}' not found."
        code = "item_create_invalid_previous_item_id"
        raise Refused(words, code=code, param="previous_item_id")
    return c.ledger.add_item(event.item, previous)


def _known(c: Conversation, item_id: str, verb: str) -> None:
    if item_id not in c.ledger.items:
        words = f"Error in item.{verb}: item with ID '{item_id}' does not exist."
        raise Refused(words, code=f"item_{verb}_invalid_item_id", param="item_id")
