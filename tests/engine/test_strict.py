"""The strict check takes all that the real service sent, and nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from openai.types.realtime import RealtimeErrorEvent

from tests.engine.strict import NotStrict, known_types, strict
from tests.recordings import FOLDER, frames

ITEM = {
    "id": "item_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_audio", "transcript": "Hello."}],
}
ADDED = {
    "type": "response.output_item.added",
    "event_id": "event_1",
    "response_id": "resp_1",
    "output_index": 0,
    "item": ITEM,
}
SPEECH = {
    "type": "input_audio_buffer.speech_started",
    "event_id": "event_1",
    "audio_start_ms": 0,
    "item_id": "item_1",
}
CREATED = {
    "type": "session.created",
    "event_id": "event_1",
    "session": {
        "type": "realtime",
        "object": "realtime.session",
        "id": "sess_1",
        "expires_at": 1,
        "output_modalities": ["audio"],
        "audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 0.5}}},
    },
}
GOOD = (ADDED, SPEECH, CREATED)


def changed(event: dict[str, Any], path: str, value: Any = None) -> dict[str, Any]:
    """The event with one field set, at any depth; removed if the value is `...`."""
    copy: Any = deepcopy(event)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = copy
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    whole: dict[str, Any] = copy
    return whole


def test_every_recorded_frame_of_the_real_service_passes() -> None:
    for path in FOLDER.glob("*.yaml"):  # none where a clone has no recordings beside it
        for frame in frames(path.stem):
            strict(frame)


@pytest.mark.parametrize("event", GOOD, ids=lambda event: event["type"])
def test_a_valid_event_passes(event: dict[str, Any]) -> None:
    strict(event)


@pytest.mark.parametrize(
    ("event", "path", "value"),
    [
        (SPEECH, "type", "input_audio_buffer.speech_began"),
        (SPEECH, "type", 7),
        (SPEECH, "type", ...),
        (SPEECH, "event_id", ...),
        (SPEECH, "event_id", None),
        (SPEECH, "item_id", ...),
        (SPEECH, "audio_start_ms", "0"),
        (SPEECH, "audio_start_ms", 0.5),
        (SPEECH, "audio_start_ms", True),
        (SPEECH, "obfuscation", "padding belongs to deltas"),
        (SPEECH, "shoe_size", 42),
        (ADDED, "item", ...),
        (ADDED, "item.type", "massage"),
        (ADDED, "item.role", ...),
        (ADDED, "item.role", "narrator"),
        (ADDED, "item.shoe_size", 42),
        (ADDED, "item.content", {}),
        (ADDED, "item.content.0.type", "output_smell"),
        (ADDED, "item.content.0.transcript", 5),
        (ADDED, "item.content.0.shoe_size", 42),
        (CREATED, "session.type", "seance"),
        (CREATED, "session.id", 5),
        (CREATED, "session.audio.input.turn_detection.type", "telepathy"),
        (CREATED, "session.audio.input.turn_detection.threshold", "0.5"),
        (CREATED, "session.audio.input.turn_detection.shoe_size", 42),
        (CREATED, "session.output_modalities", ["smell"]),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) and "type" in value else repr(value),
)
def test_an_event_with_one_thing_wrong_is_refused(
    event: dict[str, Any], path: str, value: Any
) -> None:
    with pytest.raises(NotStrict):
        strict(changed(event, path, value))


def test_a_recorded_frame_is_refused_with_any_required_field_missing_or_one_too_many() -> None:
    for path in FOLDER.glob("*.yaml"):
        for frame in frames(path.stem):
            for name in ("event_id", "type"):
                with pytest.raises(NotStrict):
                    strict(changed(frame, name, ...))
            with pytest.raises(NotStrict):
                strict(changed(frame, "shoe_size", 42))


def test_a_refusal_says_where_and_why() -> None:
    with pytest.raises(NotStrict, match=r"response\.output_item\.added: item\..*role"):
        strict(changed(ADDED, "item.role", "narrator"))


def test_an_error_with_nothing_to_blame_passes_as_the_sdk_writes_it() -> None:
    whole = {"type": "error", "event_id": "event_1", "error": {"message": "no", "type": "x"}}
    event = RealtimeErrorEvent.model_validate(whole)
    strict(event.model_dump(mode="json"))


def test_all_the_types_of_the_api_are_known() -> None:
    assert {"error", "session.created", "response.done", "rate_limits.updated"} <= known_types()
    assert "session.update" not in known_types(), "that is for clients to send"
