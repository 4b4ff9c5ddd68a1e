"""A session's configuration as clients see it, field for field as the real service shows its
own. What it means is the business of `configuration_session`.
"""

from __future__ import annotations

from typing import Any

from vivavoce.engine.turn.configuration.answer import shown_tool_choice
from vivavoce.engine.turn.configuration.session import Configuration


def session_object(
    configuration: Configuration, *, session_id: str, expires_at: int
) -> dict[str, Any]:
    """The `session` of `session.created`, `session.updated` and a client secret."""
    c = configuration
    turns = c.turn_detection
    hearing: dict[str, Any] = {
        "format": c.input_format.shown(),
        "transcription": c.transcription and c.transcription.shown(),
        "noise_reduction": {"type": c.noise_reduction} if c.noise_reduction else None,
        "turn_detection": turns and turns.shown(),
    }
    if c.kind == "transcription":
        return _transcription_object(hearing, session_id, expires_at)
    shown: dict[str, Any] = {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": c.model,
        "output_modalities": [c.output_modalities],
        "instructions": c.instructions,
        "tools": [tool.shown() for tool in c.tools],
        "tool_choice": shown_tool_choice(c.tool_choice),
        "max_output_tokens": c.max_output_tokens,
        "tracing": c.tracing,
        "truncation": c.truncation if isinstance(c.truncation, str) else c.truncation.shown(),
        "prompt": None,
        "expires_at": expires_at,
        "audio": {
            "input": hearing,
            "output": {"format": c.output_format.shown(), "voice": c.voice, "speed": c.speed},
        },
        "include": None,
    }
    if c.parallel_tool_calls is not None:
        shown["parallel_tool_calls"] = c.parallel_tool_calls
    return shown


def _transcription_object(
    hearing: dict[str, Any], session_id: str, expires_at: int
) -> dict[str, Any]:
    turns = hearing["turn_detection"]
    if turns is not None:  # nobody answers here, so what is said about answers is not shown
        kept = ("type", "threshold", "prefix_padding_ms", "silence_duration_ms", "eagerness")
        hearing = {**hearing, "turn_detection": {k: v for k, v in turns.items() if k in kept}}
    return {
        "type": "transcription",
        "object": "realtime.transcription_session",
        "id": session_id,
        "expires_at": expires_at,
        "audio": {"input": hearing},
        "include": None,
    }
