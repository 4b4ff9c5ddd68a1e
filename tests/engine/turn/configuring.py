"""Updates that are right and updates that are wrong, as tables, and the few words to try them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from vivavoce.engine.turn.configuration import Configuration, applied, initial, session_object
from vivavoce.wire.realtime.refusal import Refused
from vivavoce.wire.realtime.session import (
    AudioFormat,
    FunctionTool,
    Reasoning,
    RetentionRatio,
    SemanticVad,
    ServerVad,
    TokenLimits,
    TracingConfiguration,
    Transcription,
)

VOICES = ("alloy", "marin")
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "look_up",
    "description": "Looks things up.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
}


def fresh(kind: str = "realtime") -> Configuration:
    if kind == "transcription":
        return initial("vivavoce", voice="alloy", voices=VOICES, kind="transcription")
    return initial("vivavoce", voice="alloy", voices=VOICES)


def change(patch: Any, before: Configuration | None = None, **more: Any) -> Configuration:
    """All of it or nothing."""
    wanted, lacking = applied(before or fresh(), patch, **{"voices": VOICES, **more})
    if lacking:
        raise lacking[0]
    return wanted


def refusal(patch: Any, before: Configuration | None = None, **more: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        change(patch, before, **more)
    return caught.value


def shown(configuration: Configuration) -> dict[str, Any]:
    return session_object(configuration, session_id="sess_1", expires_at=1_785_217_650)


def hearing(**fields: Any) -> dict[str, Any]:
    return {"audio": {"input": fields}}


def speaking(**fields: Any) -> dict[str, Any]:
    return {"audio": {"output": fields}}


def same_shape(ours: Any, theirs: Any) -> bool:
    """The same fields in the same order at every depth."""
    if isinstance(theirs, Mapping):
        return list(ours) == list(theirs) and all(same_shape(ours[k], theirs[k]) for k in theirs)
    return isinstance(ours, Mapping) is False


TAKEN: list[tuple[dict[str, Any], str, Any]] = [
    ({"instructions": "Be brief."}, "instructions", "Be brief."),
    ({"instructions": ""}, "instructions", ""),
    ({"output_modalities": ["text"]}, "output_modalities", "text"),
    (
        {"tools": [TOOL]},
        "tools",
        (FunctionTool.model_validate(TOOL),),
    ),
    ({"tools": [{"type": "function", "name": "now"}]}, "tools", (FunctionTool(name="now"),)),
    ({"tool_choice": "none"}, "tool_choice", "none"),
    (
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "look_up"}},
        "tool_choice",
        "function:look_up",
    ),
    ({"max_output_tokens": 4096}, "max_output_tokens", 4096),
    ({"max_output_tokens": "inf"}, "max_output_tokens", "inf"),
    ({"parallel_tool_calls": False}, "parallel_tool_calls", False),
    ({"truncation": "disabled"}, "truncation", "disabled"),
    (
        {"truncation": {"type": "retention_ratio", "retention_ratio": 0.8}},
        "truncation",
        RetentionRatio(retention_ratio=0.8),
    ),
    (
        {
            "truncation": {
                "type": "retention_ratio",
                "retention_ratio": 1,
                "token_limits": {"post_instructions": 800},
            }
        },
        "truncation",
        RetentionRatio(retention_ratio=1.0, token_limits=TokenLimits(post_instructions=800)),
    ),
    ({"tracing": "auto"}, "tracing", "auto"),
    ({"model": "vivavoce"}, "model", "vivavoce"),
    (hearing(format={"type": "audio/pcmu"}), "input_format", AudioFormat(type="audio/pcmu")),
    (hearing(format={"type": "audio/pcm", "rate": 24000}), "input_format", AudioFormat()),
    (
        hearing(transcription={"model": "whisper-1"}),
        "transcription",
        Transcription(model="whisper-1"),
    ),
    (
        hearing(transcription={"model": "whisper-1", "language": "en-GB", "prompt": ""}),
        "transcription",
        Transcription(model="whisper-1", language="en-GB"),
    ),
    (
        hearing(transcription={"prompt": "Keywords: Marcelo, Zoë"}),
        "transcription",
        Transcription(prompt="Keywords: Marcelo, Zoë"),
    ),
    (hearing(transcription=None), "transcription", None),
    (hearing(turn_detection=None), "turn_detection", None),
    (hearing(turn_detection={"type": "server_vad"}), "turn_detection", ServerVad()),
    (
        hearing(turn_detection={"type": "server_vad", "threshold": 1, "idle_timeout_ms": 5000}),
        "turn_detection",
        ServerVad(threshold=1.0, idle_timeout_ms=5000),
    ),
    (
        hearing(turn_detection={"type": "semantic_vad", "eagerness": "high"}),
        "turn_detection",
        SemanticVad(eagerness="high"),
    ),
    (speaking(format={"type": "audio/pcma"}), "output_format", AudioFormat(type="audio/pcma")),
    (speaking(voice="marin"), "voice", "marin"),
    (speaking(speed=1.5), "speed", 1.5),
    ({"include": [], "prompt": None, "reasoning": None, "tracing": None}, "tracing", None),
    (hearing(noise_reduction=None), "noise_reduction", None),
    # Null is a field not given, wherever it has no meaning of its own.
    ({"instructions": None, "tools": None, "tool_choice": None, "model": None}, "tools", ()),
    ({"max_output_tokens": None, "truncation": None}, "truncation", "auto"),
    (
        hearing(turn_detection={"type": "server_vad", "threshold": None, "create_response": None}),
        "turn_detection",
        ServerVad(),
    ),
    (hearing(format=None), "input_format", AudioFormat()),
    (speaking(voice=None, speed=None, format=None), "voice", "alloy"),
    # Any model is this engine, under the name that was asked for.
    ({"model": "gpt-realtime-2.1"}, "model", "gpt-realtime-2.1"),
    # Hints are taken.
    (
        {"tracing": {"workflow_name": "x"}},
        "tracing",
        TracingConfiguration(workflow_name="x"),
    ),
    ({"reasoning": {"effort": "low"}}, "reasoning", Reasoning(effort="low")),
    (
        {"include": ["item.input_audio_transcription.logprobs"]},
        "include",
        ("item.input_audio_transcription.logprobs",),
    ),
    (
        hearing(transcription={"keywords": ["Marcelo"], "languages": ["en", "de"], "delay": "low"}),
        "transcription",
        Transcription(keywords=["Marcelo"], languages=["en", "de"], delay="low"),
    ),
    ({"safety_identifier": "user-1", "prompt_cache_key": "k"}, "model", "vivavoce"),
    ({"vivavoce_manners": True}, "manners", True),
    (hearing(noise_reduction={"type": "far_field"}), "noise_reduction", "far_field"),
]

REFUSED: list[tuple[Any, str, str]] = [
    ({"model": ""}, "session.model", "invalid_value"),
    ({"model": "m" * 129}, "session.model", "string_above_max_length"),
    ({"reasoning": {"effort": "hard"}}, "session.reasoning.effort", "invalid_value"),
    ({"include": ["everything"]}, "session.include[0]", "invalid_value"),
    (
        hearing(transcription={"languages": ["de", "fr"]}),
        "session.audio.input.transcription.languages",
        "unsupported_parameter",
    ),
    ({"temperature": None}, "session.temperature", "unknown_parameter"),
    ("brief", "session", "invalid_type"),
    ({"voice": "alloy"}, "session.voice", "unknown_parameter"),
    ({"id": "sess_1"}, "session.id", "unknown_parameter"),
    ({"type": "transcription"}, "session.type", "invalid_value"),
    ({"type": "party"}, "session.type", "invalid_value"),
    ({"instructions": "half \ud800"}, "session.instructions", "invalid_value"),
    ({"output_modalities": ["audio", "text"]}, "session.output_modalities", "invalid_value"),
    ({"output_modalities": []}, "session.output_modalities", "invalid_value"),
    ({"output_modalities": ["video"]}, "session.output_modalities[0]", "invalid_value"),
    ({"output_modalities": "audio"}, "session.output_modalities", "invalid_type"),
    ({"tools": [{"name": "x"}]}, "session.tools[0].type", "missing_required_parameter"),
    ({"tools": [{"type": "function"}]}, "session.tools[0].name", "missing_required_parameter"),
    ({"tools": [TOOL | {"name": "a b"}]}, "session.tools[0].name", "invalid_value"),
    ({"tools": [TOOL | {"name": "a" * 65}]}, "session.tools[0].name", "invalid_value"),
    ({"tools": [TOOL | {"meta": 1}]}, "session.tools[0].meta", "unknown_parameter"),
    ({"tools": [TOOL, TOOL]}, "session.tools[1].name", "invalid_value"),
    ({"tools": [TOOL] * 129}, "session.tools", "invalid_value"),
    ({"tools": [TOOL | {"parameters": []}]}, "session.tools[0].parameters", "invalid_type"),
    (
        {"tools": [TOOL | {"parameters": {"type": "string"}}]},
        "session.tools[0].parameters",
        "invalid_value",
    ),
    (
        {"tools": [TOOL | {"parameters": {"title": "x" * 70_000}}]},
        "session.tools[0].parameters",
        "invalid_value",
    ),
    ({"tools": [{"type": "mcp"}]}, "session.tools[0].type", "unsupported_parameter"),
    ({"tool_choice": "sometimes"}, "session.tool_choice", "invalid_value"),
    (
        {"tool_choice": {"type": "function"}},
        "session.tool_choice.name",
        "missing_required_parameter",
    ),
    (
        {"tool_choice": {"type": "function", "name": "x"}},
        "session.tool_choice.name",
        "invalid_value",
    ),
    ({"tool_choice": {"type": "mcp"}}, "session.tool_choice.type", "unsupported_parameter"),
    ({"max_output_tokens": 0}, "session.max_output_tokens", "invalid_value"),
    ({"max_output_tokens": 4097}, "session.max_output_tokens", "invalid_value"),
    ({"max_output_tokens": True}, "session.max_output_tokens", "invalid_type"),
    ({"parallel_tool_calls": 1}, "session.parallel_tool_calls", "invalid_type"),
    ({"truncation": "later"}, "session.truncation", "invalid_value"),
    (
        {"truncation": {"type": "retention_ratio", "retention_ratio": 2}},
        "session.truncation.retention_ratio",
        "invalid_value",
    ),
    ({"prompt": {"id": "pmpt_1"}}, "session.prompt", "unsupported_parameter"),
    ({"audio": {"foo": 1}}, "session.audio.foo", "unknown_parameter"),
    (hearing(foo=1), "session.audio.input.foo", "unknown_parameter"),
    (hearing(format="pcm16"), "session.audio.input.format", "invalid_type"),
    (
        hearing(format={"type": "audio/pcm", "rate": 16000}),
        "session.audio.input.format.rate",
        "invalid_value",
    ),
    (hearing(format={"type": "audio/opus"}), "session.audio.input.format.type", "invalid_value"),
    (
        hearing(noise_reduction={"type": "everywhere"}),
        "session.audio.input.noise_reduction.type",
        "invalid_value",
    ),
    (
        hearing(transcription={"model": "whisper-1", "language": "de"}),
        "session.audio.input.transcription.language",
        "unsupported_parameter",
    ),
    (
        hearing(transcription={"prompt": ["Marcelo"]}),
        "session.audio.input.transcription.prompt",
        "invalid_type",
    ),
    (
        hearing(transcription={"prompt": "a, " * 3_000}),
        "session.audio.input.transcription.prompt",
        "string_above_max_length",
    ),
    (
        hearing(turn_detection={"threshold": 0.5}),
        "session.audio.input.turn_detection.type",
        "missing_required_parameter",
    ),
    (
        hearing(turn_detection={"type": "server_vad", "threshold": float("nan")}),
        "session.audio.input.turn_detection.threshold",
        "invalid_value",
    ),
    (
        hearing(turn_detection={"type": "server_vad", "eagerness": "low"}),
        "session.audio.input.turn_detection.eagerness",
        "unknown_parameter",
    ),
    (
        hearing(turn_detection={"type": "server_vad", "idle_timeout_ms": 4999}),
        "session.audio.input.turn_detection.idle_timeout_ms",
        "invalid_value",
    ),
    (
        hearing(turn_detection={"type": "server_vad", "silence_duration_ms": 0.5}),
        "session.audio.input.turn_detection.silence_duration_ms",
        "invalid_type",
    ),
    (
        hearing(turn_detection={"type": "semantic_vad", "idle_timeout_ms": 6000}),
        "session.audio.input.turn_detection.idle_timeout_ms",
        "unknown_parameter",
    ),
    (speaking(voice="nobody"), "session.audio.output.voice", "invalid_value"),
    (speaking(voice={"id": "voice_1"}), "session.audio.output.voice", "unsupported_parameter"),
    (speaking(speed=2), "session.audio.output.speed", "invalid_value"),
    (speaking(speed="fast"), "session.audio.output.speed", "invalid_type"),
]
