"""Sessions that only write down what they hear."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.strict import strict
from tests.engine.turn.configuring import change, fresh, hearing, refusal, shown, speaking
from vivavoce.wire.realtime.session import ServerVad


def test_a_transcription_session_hears_and_never_answers() -> None:
    patch = {
        "type": "transcription",
        **hearing(
            format={"type": "audio/pcmu"},
            transcription={"model": "gpt-4o-transcribe", "language": "en"},
            turn_detection={"type": "server_vad", "silence_duration_ms": 300},
        ),
    }

    after = change(patch, fresh("transcription"))

    assert after.turn_detection == ServerVad(
        silence_duration_ms=300, create_response=False, interrupt_response=False
    )
    assert shown(after) == {
        "type": "transcription",
        "object": "realtime.transcription_session",
        "id": "sess_1",
        "expires_at": 1_785_217_650,
        "audio": {
            "input": {
                "format": {"type": "audio/pcmu"},
                "transcription": {"model": "gpt-4o-transcribe", "language": "en", "prompt": None},
                "noise_reduction": None,
                "turn_detection": {
                    "type": "server_vad",
                    "threshold": 0.5,
                    "prefix_padding_ms": 300,
                    "silence_duration_ms": 300,
                },
            }
        },
        "include": None,
    }


@pytest.mark.parametrize(
    "patch", [{}, hearing(turn_detection=None), hearing(turn_detection={"type": "semantic_vad"})]
)
def test_a_transcription_session_is_shown_strictly(patch: dict[str, Any]) -> None:
    after = shown(change(patch, fresh("transcription")))

    strict({"type": "session.updated", "event_id": "event_1", "session": after})


@pytest.mark.parametrize(
    ("patch", "param"),
    [
        ({"type": "realtime"}, "session.type"),
        ({"instructions": "Hi."}, "session.instructions"),
        (speaking(voice="alloy"), "session.audio.output"),
        (hearing(transcription=None), "session.audio.input.transcription"),
        (
            hearing(turn_detection={"type": "server_vad", "idle_timeout_ms": 6000}),
            "session.audio.input.turn_detection.idle_timeout_ms",
        ),
        (
            hearing(turn_detection={"type": "server_vad", "create_response": True}),
            "session.audio.input.turn_detection.create_response",
        ),
    ],
)
def test_a_transcription_session_takes_nothing_about_answers(
    patch: dict[str, Any], param: str
) -> None:
    assert refusal(patch, fresh("transcription")).param == param
