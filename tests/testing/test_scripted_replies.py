"""How the scripted provider answers by itself: as strictly as the real one."""

from __future__ import annotations

from typing import Any

import pytest

from vivavoce.testing.realtime.call import Conversation, reply
from vivavoce.testing.realtime.response import ToolUse

Json = dict[str, Any]


def conversation() -> Conversation:
    return Conversation({"type": "realtime", "model": "gpt-realtime"}, webrtc=True)


def message(role: str, kind: str, **fields: Any) -> Json:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": "x"}], **fields}


def create(item: Json, **fields: Any) -> Json:
    return {"type": "conversation.item.create", "event_id": "mine", "item": item, **fields}


def test_an_update_is_answered_with_the_whole_configuration() -> None:
    update = {
        "type": "realtime",
        "instructions": "Be brief.",
        "audio": {
            "input": {
                "transcription": {"model": "whisper-1"},
                "turn_detection": {"type": "semantic_vad", "eagerness": "low"},
            },
            "output": {"voice": "marin"},
        },
    }
    (event,) = reply(conversation(), {"type": "session.update", "session": update})
    session = event["session"]
    assert event["type"] == "session.updated"
    assert session["instructions"] == "Be brief."
    assert session["tool_choice"] == "auto"
    assert session["audio"]["output"]["voice"] == "marin"
    assert session["audio"]["output"]["speed"] == 1.0
    transcription = {"model": "whisper-1", "language": None, "prompt": None}
    assert session["audio"]["input"]["transcription"] == transcription
    assert session["audio"]["input"]["turn_detection"] == {
        "type": "semantic_vad",
        "eagerness": "low",
        "create_response": True,
        "interrupt_response": True,
    }


def test_an_item_is_added_after_the_one_it_names() -> None:
    c = conversation()
    for name in ("one", "three"):
        reply(c, create(message("user", "input_text", id=name)))
    between = create(message("user", "input_text", id="two"), previous_item_id="one")
    added, done = reply(c, between)
    first = create(message("system", "input_text", id="zero"), previous_item_id="root")
    assert reply(c, first)[0]["previous_item_id"] is None
    assert added["previous_item_id"] == done["previous_item_id"] == "one"
    assert list(c.ledger.items) == ["zero", "one", "two", "three"]


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"type": "session.update", "session": {"voice": "marin"}}, "missing_required_parameter"),
        (create(message("user", "input_text", id="taken")), "item_create_duplicate_item_id"),
        (create(message("user", "input_text", id="x" * 33)), "string_above_max_length"),
        (create(message("assistant", "input_text")), "invalid_value"),
        (create(message("user", "output_text")), "invalid_value"),
        (
            create({"type": "function_call_output", "call_id": "nobody", "output": ""}),
            "invalid_tool_call_id",
        ),
        (
            create(message("user", "input_text"), previous_item_id="nobody"),
            "item_create_invalid_previous_item_id",
        ),
        ({"type": "conversation.item.delete", "item_id": "nobody"}, "item_delete_invalid_item_id"),
        (
            {"type": "conversation.item.truncate", "item_id": "taken", "audio_end_ms": 9000},
            "invalid_value",
        ),
        ({"type": "response.cancel"}, "response_cancel_not_active"),
        ({"type": "input_audio_buffer.commit"}, "input_audio_buffer_commit_empty"),
        ({"type": "no.such.event"}, "invalid_value"),
    ],
)
def test_what_the_real_one_refuses_is_refused_with_the_clients_event_id(
    event: Json, code: str
) -> None:
    c = conversation()
    c.ledger.add_item(message("user", "input_text", id="taken"))
    (error,) = reply(c, {**event, "event_id": "mine"})
    assert error["type"] == "error"
    assert error["error"]["code"] == code
    assert error["error"]["event_id"] == "mine"


def test_a_second_response_is_refused_while_one_is_active() -> None:
    c = conversation()
    (created,) = reply(c, {"type": "response.create"})
    (error,) = reply(c, {"type": "response.create", "event_id": "again"})
    assert error["error"]["code"] == "conversation_already_has_active_response"
    assert created["response"]["id"] in error["error"]["message"]
    done = reply(c, {"type": "response.cancel"})[-1]["response"]
    assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "client_cancelled")
    assert reply(c, {"type": "response.create"})[0]["type"] == "response.created"


def test_what_the_assistant_says_belongs_to_the_response_that_was_asked_for() -> None:
    c = conversation()
    (created,) = reply(c, {"type": "response.create"})
    events = c.assistant_says("Here I am")
    assert "response.created" not in [event["type"] for event in events]
    assert events[0]["response_id"] == created["response"]["id"]


def test_an_output_is_accepted_for_a_call_that_was_made() -> None:
    c = conversation()
    c.calls_tools(ToolUse("current_time", {}, "call_1"))
    output = {"type": "function_call_output", "call_id": "call_1", "output": "{}"}
    added, done = reply(c, create(output))
    assert (added["type"], done["type"]) == ("conversation.item.added", "conversation.item.done")


def test_a_truncation_within_the_audio_is_confirmed_and_counts() -> None:
    c = conversation()
    item_id = c.assistant_says("One two three")[1]["item"]["id"]
    cut = {"type": "conversation.item.truncate", "item_id": item_id, "content_index": 0}
    (done,) = reply(c, {**cut, "audio_end_ms": 500})
    assert (done["type"], done["audio_end_ms"]) == ("conversation.item.truncated", 500)
    assert reply(c, {**cut, "audio_end_ms": 600})[0]["type"] == "error"


def test_clearing_the_audio_buffer_is_confirmed_while_something_plays() -> None:
    c = conversation()
    c.assistant_says("A long story", played=False)
    assert [e["type"] for e in reply(c, {"type": "output_audio_buffer.clear"})] == [
        "output_audio_buffer.cleared"
    ]
    assert reply(c, {"type": "output_audio_buffer.clear"}) == []
