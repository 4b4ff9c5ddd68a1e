"""What a session and its responses are set to: one door to the `configuration_*` modules.

`initial` and `updated` make a `Configuration`, `session_object` shows it;
`response_settings` and `response_object` do the same for one response. All
pure; what is wrong raises `Refused`.
"""

from __future__ import annotations

from vivavoce.engine.turn.configuration.answer import FunctionTool, RetentionRatio, Truncation
from vivavoce.engine.turn.configuration.audio import (
    AudioFormat,
    NoiseReduction,
    SemanticVad,
    ServerVad,
    Transcription,
    TurnDetection,
)
from vivavoce.engine.turn.configuration.response import (
    Reference,
    ResponseSettings,
    response_object,
    response_settings,
)
from vivavoce.engine.turn.configuration.session import Configuration, Kind, initial, updated
from vivavoce.engine.turn.configuration.shown import session_object

__all__ = [
    "AudioFormat",
    "Configuration",
    "FunctionTool",
    "Kind",
    "NoiseReduction",
    "Reference",
    "ResponseSettings",
    "RetentionRatio",
    "SemanticVad",
    "ServerVad",
    "Transcription",
    "Truncation",
    "TurnDetection",
    "initial",
    "response_object",
    "response_settings",
    "session_object",
    "updated",
]
