"""Server events, as the recordings of the real service have them. Builders only.

`event_id` is added where an event leaves: it is not the machine's business.
"""

from __future__ import annotations

from typing import Any

from vivavoce.wire.realtime.refusal import Refused

Event = dict[str, Any]


def error(fault: Refused, event_id: str | None) -> Event:
    return {
        "type": "error",
        "error": {
            "type": fault.type,
            "code": fault.code,
            "message": fault.message,
            "param": fault.param,
            "event_id": event_id,
        },
    }


def session(kind: str, shown: dict[str, Any]) -> Event:
    """`kind`: created or updated."""
    return {"type": f"session.{kind}", "session": shown}


# --- The user's side ------------------------------------------------------------------


def speech_started(item_id: str, at_ms: int) -> Event:
    return {
        "type": "input_audio_buffer.speech_started",
        "audio_start_ms": at_ms,
        "item_id": item_id,
    }


def speech_stopped(item_id: str, at_ms: int) -> Event:
    return {
        "type": "input_audio_buffer.speech_stopped",
        "audio_end_ms": at_ms,
        "item_id": item_id,
    }


def timeout_triggered(item_id: str, start_ms: int, end_ms: int) -> Event:
    return {
        "type": "input_audio_buffer.timeout_triggered",
        "audio_start_ms": start_ms,
        "audio_end_ms": end_ms,
        "item_id": item_id,
    }


def committed(item_id: str, previous: str | None) -> Event:
    return {
        "type": "input_audio_buffer.committed",
        "previous_item_id": previous,
        "item_id": item_id,
    }


def input_cleared() -> Event:
    return {"type": "input_audio_buffer.cleared"}


def _transcription(kind: str, item_id: str, **more: Any) -> Event:
    name = f"conversation.item.input_audio_transcription.{kind}"
    return {"type": name, "item_id": item_id, "content_index": 0, **more}


def transcript_delta(item_id: str, text: str) -> Event:
    return _transcription("delta", item_id, delta=text)


def transcript_completed(item_id: str, text: str, usage: dict[str, Any]) -> Event:
    return _transcription("completed", item_id, transcript=text, usage=usage)


def transcript_failed(item_id: str, message: str) -> Event:
    fault = {
        "type": "transcription_error",
        "code": "audio_unintelligible",
        "message": message,
        "param": None,
    }
    return _transcription("failed", item_id, error=fault)


# --- The conversation -----------------------------------------------------------------


def item(kind: str, shown: dict[str, Any], previous: str | None) -> Event:
    """`kind`: added or done."""
    return {"type": f"conversation.item.{kind}", "previous_item_id": previous, "item": shown}


def item_retrieved(shown: dict[str, Any]) -> Event:
    return {"type": "conversation.item.retrieved", "item": shown}


def item_deleted(item_id: str) -> Event:
    return {"type": "conversation.item.deleted", "item_id": item_id}


def item_truncated(item_id: str, content_index: int, audio_end_ms: int) -> Event:
    return {
        "type": "conversation.item.truncated",
        "item_id": item_id,
        "content_index": content_index,
        "audio_end_ms": audio_end_ms,
    }


# --- The assistant's side ---------------------------------------------------------------


def response(kind: str, shown: dict[str, Any]) -> Event:
    """`kind`: created or done."""
    return {"type": f"response.{kind}", "response": shown}


def output_item(kind: str, response_id: str, index: int, shown: dict[str, Any]) -> Event:
    """`kind`: added or done."""
    return {
        "type": f"response.output_item.{kind}",
        "response_id": response_id,
        "output_index": index,
        "item": shown,
    }


def part(kind: str, place: dict[str, Any], shown: dict[str, Any]) -> Event:
    """`kind`: added or done; `place` says which part of which item."""
    return {"type": f"response.content_part.{kind}", **place, "part": shown}


def output(kind: str, place: dict[str, Any], **more: Any) -> Event:
    """`kind`: output_text.delta, output_audio.done, function_call_arguments.delta …"""
    return {"type": f"response.{kind}", **place, **more}


def playback(kind: str, response_id: str) -> Event:
    """`kind`: started, stopped or cleared."""
    return {"type": f"output_audio_buffer.{kind}", "response_id": response_id}


def rate_limits(limits: list[dict[str, Any]]) -> Event:
    return {"type": "rate_limits.updated", "rate_limits": limits}
