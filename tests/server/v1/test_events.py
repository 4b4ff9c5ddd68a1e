"""The log in the words of seed 004, one event at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.server.v1.client import Told, frames
from vivavoce.server.doors.events import tell, watching
from vivavoce.wire.events import (
    AssistantDone,
    ErrorOccurred,
    Heartbeat,
    IntentRetracted,
    IntentSubmitted,
    SessionEnded,
    StreamReset,
    ToolError,
    TranscriptionCompleted,
    VoiceEvent,
    to_log,
)
from vivavoce.wire.records.talk import LogEvent

NOW = datetime(2026, 1, 31, 14, 30, 22, 120_000, tzinfo=UTC)
AT = "2026-01-31T14:30:22.120Z"


def logged(kind: type[VoiceEvent], **fields: Any) -> LogEvent:
    event = kind(session_id="vs_1", timestamp=NOW, **fields)
    return to_log(event, user_id="ana", conversation_id="c")


def said(kind: type[VoiceEvent], position: int = 7, **fields: Any) -> Told:
    event = logged(kind, **fields)
    (only,) = frames(
        tell(LogEvent(**{n: getattr(event, n) for n in _NAMES}, position=position)).decode()
    )
    return only


_NAMES = ("type", "data", "user_id", "at", "conversation_id", "session_id")


def test_a_transcript_is_a_new_message() -> None:
    words: dict[str, Any] = {
        "item_id": "i",
        "transcript": "Hola\x00",
        "role": "user",
        "entry_id": "e",
    }
    assert said(TranscriptionCompleted, **words) == (
        "new_message",
        {
            "id": "e",
            "role": "user",
            "content": "Hola",
            "input_modality": "voice",
            "created_at": AT,
            "metadata": {},
        },
        7,
    )


def test_an_answer_that_was_cut_comes_again_as_it_was_first_dated() -> None:
    earlier = datetime(2026, 1, 31, 14, 30, tzinfo=UTC)
    _, data, _ = said(
        TranscriptionCompleted,
        item_id="i",
        transcript="Great",
        role="assistant",
        entry_id="e",
        interrupted=True,
        modality="text",
        created_at=earlier,
    )
    assert data["metadata"] == {"interrupted": True}
    assert data["created_at"] == "2026-01-31T14:30:00.000Z"
    assert data["input_modality"] == "text"


def test_an_intent_has_what_the_table_says_and_only_the_ids_there_are() -> None:
    name, data, _ = said(
        IntentSubmitted,
        intent_id="x",
        intent="GOAL",
        payload={"goal_statement": "Learn Spanish"},
        status="accepted",
        goal_id="g",
    )
    assert name == "intent_submitted"
    assert data == {
        "intent": "GOAL",
        "payload": {"goal_statement": "Learn Spanish"},
        "status": "accepted",
        "intent_id": "x",
        "revision": 0,
        "goal_id": "g",
    }


def test_a_retraction_is_an_intent_that_is_retracted() -> None:
    name, data, _ = said(IntentRetracted, intent_id="x", intent="NEW_TASK", task_id="t")
    assert (name, data["status"], data["task_id"]) == ("intent_submitted", "retracted", "t")
    assert data["payload"] == {}


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ErrorOccurred, {"code": "transcription_failed", "message": "m"}, "transcription_failed"),
        (ToolError, {"call_id": "c", "tool_name": "t", "error": "m"}, "tool_error"),
        (
            ToolError,
            {"call_id": "c", "tool_name": "t", "error": "m", "code": "invalid_arguments"},
            "invalid_arguments",
        ),
    ],
)
def test_what_goes_wrong_has_a_code_and_a_message(
    kind: type[VoiceEvent], fields: dict[str, Any], code: str
) -> None:
    assert said(kind, recoverable=True, **fields) == ("error", {"code": code, "message": "m"}, 7)


def test_what_was_announced_by_itself_is_not_told_again_by_its_call() -> None:
    words: dict[str, Any] = {"call_id": "c", "tool_name": "t", "error": "m", "recoverable": True}
    assert tell(logged(ToolError, **words, code="intent_refused", announced=True)) == b""


def test_the_end_says_why_and_how_many_seconds_it_took() -> None:
    ended = said(SessionEnded, reason="timeout", duration_ms=92_600)
    assert ended == ("session_ended", {"reason": "timeout", "duration_seconds": 93}, 7)


def test_a_heartbeat_is_a_comment() -> None:
    assert tell(logged(Heartbeat, session_active=True)) == b": heartbeat\n\n"


def test_a_position_that_is_gone_is_an_error_with_what_to_do() -> None:
    name, data, position = said(
        StreamReset, position=0, reason="position_gone", requested=1, oldest=5, latest=9
    )
    assert (name, data["code"], position) == ("error", "stream_reset", None)
    assert "messages" in data["message"]


def test_what_seed_004_has_no_word_for_is_not_told() -> None:
    done = logged(AssistantDone, item_id="i", duration_ms=1)
    assert tell(done) == b""
    assert not watching("ana", "vs_1").accepts(done.type)


def test_half_a_sentence_that_was_gone_on_with_is_no_message() -> None:
    words: dict[str, Any] = {"item_id": "i", "transcript": "", "role": "user"}
    assert tell(logged(TranscriptionCompleted, **words)) == b""
    assert tell(logged(TranscriptionCompleted, **words, entry_id="e")) != b"", "never written down"
