"""How the scripted provider answers what a client sends, when no script says otherwise.

Pure: one client event in, the server's events out. Strict where the real
service is strict, so that a test fails here and not on someone's bill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vivavoce.testing.realtime.events import Conversation
from vivavoce.testing.realtime.session import Json

MAX_ITEM_ID = 32  # "Expected a string with maximum length 32"
_CONTENT = {
    "user": {"input_text", "input_audio", "input_image"},
    "assistant": {"output_text", "output_audio"},
    "system": {"input_text"},
}


class Rejected(Exception):
    """Becomes an `error` event that carries the client's event id."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.param = code, message, param


def reply(conversation: Conversation, event: Mapping[str, Any]) -> list[Json]:
    """The answer to one event of a client, or one `error`."""
    try:
        answer = _ANSWERS.get(str(event.get("type")))
        if answer is None:
            message = f"Invalid value: '{event.get('type')}'. It is no client event."
            raise Rejected("invalid_value", message, "type")
        return answer(conversation, event)
    except Rejected as rejected:
        error = {
            "type": "invalid_request_error",
            "code": rejected.code,
            "message": rejected.message,
            "param": rejected.param,
            "event_id": event.get("event_id"),
        }
        return [conversation.ledger.event("error", error=error)]


def _session_update(conversation: Conversation, event: Mapping[str, Any]) -> list[Json]:
    session = event.get("session")
    if not isinstance(session, Mapping) or session.get("type") != "realtime":
        param = "session.type"
        message = f"Missing required parameter: '{param}'."
        raise Rejected("missing_required_parameter", message, param)
    return conversation.ledger.session_updated(session)


def _item_create(conversation: Conversation, event: Mapping[str, Any]) -> list[Json]:
    items, item = conversation.ledger.items, event.get("item")
    if not isinstance(item, Mapping):
        raise Rejected("missing_required_parameter", "Missing required parameter: 'item'.", "item")
    _check_item(items, item)
    previous = event.get("previous_item_id")
    if previous not in (None, "root") and previous not in items:
        message = f"Previous item with ID '{previous}' not found."
        raise Rejected("item_create_invalid_previous_item_id", message, "previous_item_id")
    return conversation.ledger.add_item(item, previous)


def _check_item(items: Mapping[str, Json], item: Mapping[str, Any]) -> None:
    item_id = item.get("id") or ""
    if len(item_id) > MAX_ITEM_ID:
        message = f"Invalid 'item.id': string too long. Maximum length is {MAX_ITEM_ID}."
        raise Rejected("string_above_max_length", message, "item.id")
    if item_id in items:
        message = f"Item with ID '{item_id}' already exists in the conversation."
        raise Rejected("item_create_duplicate_item_id", message, "item.id")
    if item.get("type") == "function_call_output":
        calls = {one.get("call_id") for one in items.values() if one["type"] == "function_call"}
        if item.get("call_id") not in calls:
            message = f"Tool call ID '{item.get('call_id')}' not found in conversation."
            raise Rejected("invalid_tool_call_id", message, "item.call_id")
    if item.get("type") == "message":
        allowed = _CONTENT.get(item.get("role", ""), set())
        for index, part in enumerate(item.get("content", [])):
            if part.get("type") not in allowed:
                message = f"Invalid value: '{part.get('type')}' for role '{item.get('role')}'."
                raise Rejected("invalid_value", message, f"item.content[{index}].type")


def _known(conversation: Conversation, event: Mapping[str, Any], verb: str) -> str:
    item_id = event.get("item_id")
    if not isinstance(item_id, str) or item_id not in conversation.ledger.items:
        message = f"Error in item.{verb}: item with ID '{item_id}' does not exist."
        raise Rejected(f"item_{verb}_invalid_item_id", message, "item_id")
    return item_id


def _item_delete(conversation: Conversation, event: Mapping[str, Any]) -> list[Json]:
    item_id = _known(conversation, event, "delete")
    del conversation.ledger.items[item_id]
    return [conversation.ledger.event("conversation.item.deleted", item_id=item_id)]


def _item_retrieve(conversation: Conversation, event: Mapping[str, Any]) -> list[Json]:
    item = conversation.ledger.items[_known(conversation, event, "retrieve")]
    return [conversation.ledger.event("conversation.item.retrieved", item=item)]


def _item_truncate(conversation: Conversation, event: Mapping[str, Any]) -> list[Json]:
    item_id = _known(conversation, event, "truncate")
    end, have = event.get("audio_end_ms", 0), conversation.ledger.audio_ms.get(item_id, 0)
    if end > have:
        message = f"Audio content of {have}ms is already shorter than {end}ms"
        raise Rejected("invalid_value", message, "audio_end_ms")
    conversation.ledger.audio_ms[item_id] = end
    where = {"item_id": item_id, "content_index": event.get("content_index", 0)}
    kind = "conversation.item.truncated"
    return [conversation.ledger.event(kind, **where, audio_end_ms=end)]


def _response_create(conversation: Conversation, _: Mapping[str, Any]) -> list[Json]:
    """The response begins; what it says is the test's to decide."""
    if (active := conversation.assistant.active) is not None:
        message = (
            f"Conversation already has an active response in progress: {active.id}. "
            "Wait until the response is finished before creating a new one."
        )
        raise Rejected("conversation_already_has_active_response", message)
    return conversation.assistant.begin()


def _response_cancel(conversation: Conversation, _: Mapping[str, Any]) -> list[Json]:
    if conversation.assistant.active is None:
        message = "Cancellation failed: no active response found"
        raise Rejected("response_cancel_not_active", message)
    return conversation.assistant.cancel("client_cancelled")


def _audio_append(conversation: Conversation, _: Mapping[str, Any]) -> list[Json]:
    conversation.audio_appended = True
    return []


def _audio_commit(conversation: Conversation, _: Mapping[str, Any]) -> list[Json]:
    if not conversation.audio_appended:
        message = "Error committing input audio buffer: buffer too small."
        raise Rejected("input_audio_buffer_commit_empty", message)
    conversation.audio_appended = False
    return conversation.commit(conversation.ledger.new_id("item"))


def _audio_clear(conversation: Conversation, _: Mapping[str, Any]) -> list[Json]:
    conversation.audio_appended = False
    return [conversation.ledger.event("input_audio_buffer.cleared")]


def _output_clear(conversation: Conversation, _: Mapping[str, Any]) -> list[Json]:
    return conversation.assistant.stop_audio("cleared")


_ANSWERS: dict[str, Callable[[Conversation, Mapping[str, Any]], list[Json]]] = {
    "session.update": _session_update,
    "conversation.item.create": _item_create,
    "conversation.item.delete": _item_delete,
    "conversation.item.retrieve": _item_retrieve,
    "conversation.item.truncate": _item_truncate,
    "response.create": _response_create,
    "response.cancel": _response_cancel,
    "input_audio_buffer.append": _audio_append,
    "input_audio_buffer.commit": _audio_commit,
    "input_audio_buffer.clear": _audio_clear,
    "output_audio_buffer.clear": _output_clear,
}
