"""A server event is what its model says, to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from vivavoce.wire.realtime.events import held

STARTED = {
    "type": "input_audio_buffer.speech_started",
    "event_id": "event_1",
    "item_id": "item_1",
    "audio_start_ms": 0,
}
ITEM = {"id": "item_1", "type": "message", "status": "completed", "role": "user", "content": []}
DONE = {
    "type": "conversation.item.done",
    "event_id": "event_1",
    "previous_item_id": None,
    "item": ITEM,
}


def test_what_is_right_comes_back_as_it_is() -> None:
    assert held(STARTED) is STARTED
    assert held(DONE) is DONE


@pytest.mark.parametrize(
    "wrong",
    [
        {name: value for name, value in STARTED.items() if name != "item_id"},
        STARTED | {"audio_start_ms": "0"},
        STARTED | {"audio_start_ms": -1},
        STARTED | {"item_id": ""},
        STARTED | {"note": "mine"},
        DONE | {"item": ITEM | {"role": "narrator"}},
        DONE | {"item": ITEM | {"content": [{"type": "input_text"}]}},
        DONE | {"item": ITEM | {"type": "mcp_call"}},
    ],
)
def test_what_is_missing_coerced_or_unknown_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        held(wrong)
