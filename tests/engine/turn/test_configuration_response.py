"""What one response may have of its own, over what the session has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.strict import strict
from tests.engine.turn.configuring import TOOL, VOICES, change, fresh, same_shape
from tests.engine.turn.scene import Scene
from tests.recordings import frames
from vivavoce.engine.turn import answering
from vivavoce.engine.turn.configuration import (
    ResponseSettings,
    response_settings,
)
from vivavoce.engine.turn.state import Draft, Response
from vivavoce.wire.realtime.items import Message, Part, Reference
from vivavoce.wire.realtime.refusal import Refused
from vivavoce.wire.realtime.session import AudioFormat


def shown(made: ResponseSettings) -> dict[str, Any]:
    """As the machine shows it."""
    draft = Draft(Scene().machine.state, 0.0, lambda phase, _: phase)
    return answering.response_object(Response("resp_1", made), "in_progress", draft)


def settings(params: Any = None, **more: Any) -> ResponseSettings:
    return response_settings(more.pop("session", fresh()), params, **{"voices": VOICES, **more})


def test_a_response_without_wishes_is_as_the_session_says() -> None:
    session = change({"tools": [TOOL], "max_output_tokens": 7, "parallel_tool_calls": False})

    made = settings(session=session)

    assert made.tools == session.tools
    assert (made.conversation, made.input, made.metadata) == ("auto", None, None)
    assert (made.max_output_tokens, made.max_tokens, made.parallel_tool_calls) == (7, 7, False)
    assert made.speaks


@pytest.mark.parametrize(
    ("params", "field", "value"),
    [
        ({"conversation": "none"}, "conversation", "none"),
        ({"input": []}, "input", ()),
        (
            {"input": [{"type": "item_reference", "id": "item_1"}]},
            "input",
            (Reference("item_1"),),
        ),
        (
            {
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Hi."}],
                    }
                ]
            },
            "input",
            (Message("", "user", (Part("input_text", "Hi."),)),),
        ),
        ({"instructions": "Whisper."}, "instructions", "Whisper."),
        ({"output_modalities": ["text"]}, "output_modalities", "text"),
        ({"max_output_tokens": 1}, "max_output_tokens", 1),
        ({"metadata": {"topic": "news"}}, "metadata", {"topic": "news"}),
        ({"metadata": None}, "metadata", None),
        # As LiveKit Agents asks for every answer.
        ({"instructions": None, "metadata": {"a": "b"}}, "metadata", {"a": "b"}),
        ({"instructions": None, "tools": None, "audio": None}, "tools", ()),
        ({"conversation": None, "input": None, "max_output_tokens": None}, "input", None),
        ({"reasoning": {"effort": "low"}}, "conversation", "auto"),
        ({"tools": []}, "tools", ()),
        (
            {"tools": [TOOL], "tool_choice": {"type": "function", "name": "look_up"}},
            "tool_choice",
            "function:look_up",
        ),
        ({"audio": {"output": {"voice": "marin"}}}, "voice", "marin"),
        (
            {"audio": {"output": {"format": {"type": "audio/pcmu"}}}},
            "output_format",
            AudioFormat(type="audio/pcmu"),
        ),
        ({"prompt": None, "audio": {}}, "conversation", "auto"),
    ],
)
def test_a_wish_that_is_right_holds_for_the_response(
    params: dict[str, Any], field: str, value: Any
) -> None:
    made = settings(params)

    assert getattr(made, field) == value
    strict({"type": "response.created", "event_id": "event_1", "response": shown(made)})


@pytest.mark.parametrize(
    ("params", "param", "code"),
    [
        ([], "response", "invalid_type"),
        ({"temperature": 0.8}, "response.temperature", "unknown_parameter"),
        ({"conversation": "conv_1"}, "response.conversation", "invalid_value"),
        ({"input": "Hi."}, "response.input", "invalid_type"),
        ({"input": [{"type": "nothing"}]}, "response.input[0].type", "invalid_value"),
        (
            {"input": [{"type": "item_reference"}]},
            "response.input[0].id",
            "missing_required_parameter",
        ),
        ({"metadata": {str(i): "" for i in range(17)}}, "response.metadata", "invalid_value"),
        ({"metadata": {"k" * 65: ""}}, "response.metadata", "string_above_max_length"),
        ({"metadata": {"k": "v" * 513}}, "response.metadata.k", "string_above_max_length"),
        ({"metadata": {"k": 1}}, "response.metadata.k", "invalid_type"),
        ({"metadata": "k"}, "response.metadata", "invalid_type"),
        (
            {"tool_choice": {"type": "function", "name": "x"}},
            "response.tool_choice.name",
            "invalid_value",
        ),
        ({"audio": {"input": {}}}, "response.audio.input", "unknown_parameter"),
        ({"audio": {"output": {"speed": 1}}}, "response.audio.output.speed", "unknown_parameter"),
        ({"audio": {"output": {"voice": "x"}}}, "response.audio.output.voice", "invalid_value"),
        ({"prompt": {"id": "p"}}, "response.prompt", "unsupported_parameter"),
        ({"parallel_tool_calls": "no"}, "response.parallel_tool_calls", "invalid_type"),
    ],
)
def test_a_wish_that_is_wrong_is_refused_by_its_path(params: Any, param: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        settings(params)

    assert (caught.value.param, caught.value.code) == (param, code)


def test_a_response_cannot_have_another_voice_once_one_was_heard() -> None:
    with pytest.raises(Refused) as caught:
        settings({"audio": {"output": {"voice": "marin"}}}, audio_started=True)

    assert caught.value.code == "cannot_update_voice"


def test_a_transcription_session_gives_no_responses() -> None:
    with pytest.raises(Refused, match="transcription"):
        settings(session=fresh("transcription"))


def test_a_response_beside_the_conversation_names_none() -> None:
    assert shown(settings())["conversation_id"] == "conv_1"
    assert shown(settings({"conversation": "none"}))["conversation_id"] is None


def test_a_response_looks_as_the_service_shows_its_own() -> None:
    recorded = [
        frame["response"]
        for frame in frames("test_webrtc_sideband_text_turn")
        if frame["type"] == "response.created"
    ]
    for theirs in recorded:
        assert same_shape(shown(settings()), theirs)
