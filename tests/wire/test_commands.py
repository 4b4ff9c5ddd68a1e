"""What we send is what the protocol takes: checked against the SDK's own types."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.realtime import RealtimeClientEvent
from pydantic import TypeAdapter

from vivavoce.wire.realtime import client as cmd

SESSION = {
    "instructions": "Be brief.",
    "output_modalities": ["audio"],
    "audio": {
        "input": {
            "transcription": {"model": "gpt-4o-mini-transcribe"},
            "turn_detection": {"type": "server_vad", "create_response": True},
        },
        "output": {"voice": "marin"},
    },
    "tools": [{"type": "function", "name": "t", "description": "d", "parameters": {}}],
    "tool_choice": "auto",
    "max_output_tokens": "inf",
}
COMMANDS: list[cmd.ClientEvent] = [
    cmd.UpdateSession(SESSION, "evt_1"),
    cmd.CreateItem(cmd.message_item("i1", "user", "Hello"), "evt_2"),
    cmd.CreateItem(cmd.message_item("i2", "assistant", "Hello"), "evt_3"),
    cmd.CreateItem(cmd.message_item("i3", "system", "Hello"), "evt_4"),
    cmd.CreateItem(cmd.call_item("i4", "call_1", "t", "{}"), "evt_5"),
    cmd.CreateItem(cmd.output_item("i5", "call_1", "42"), "evt_6"),
    cmd.DeleteItem("i1", "evt_7"),
    cmd.Truncate("i2", 1200, "evt_8"),
    cmd.CreateResponse("evt_9"),
    cmd.CreateResponse.of("evt_10", instructions="Say hello."),
    cmd.CreateResponse.of("evt_13", say="Hello."),
    cmd.CancelResponse("evt_11"),
    cmd.ClearOutput("evt_12"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{type(c).__name__} {c.event_id}")
def test_a_command_is_a_valid_client_event(command: cmd.ClientEvent) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(RealtimeClientEvent)
    payload = command.payload()
    event = adapter.validate_python(payload)
    assert event.type == payload["type"]
    assert event.event_id == command.event_id
    # Nothing of ours is a field that the protocol does not know.
    assert not event.model_extra
