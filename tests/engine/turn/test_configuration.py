"""What a session may be set to: whole updates or none, and nothing accepted and ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.strict import strict
from tests.engine.turn.configuring import (
    REFUSED,
    TAKEN,
    TOOL,
    VOICES,
    change,
    fresh,
    hearing,
    refusal,
    same_shape,
    shown,
    speaking,
)
from tests.recordings import frames
from vivavoce.engine.turn.configuration import initial
from vivavoce.wire.realtime.refusal import Refused
from vivavoce.wire.realtime.session import AudioFormat, ServerVad

# --- What is taken ----------------------------------------------------------------


@pytest.mark.parametrize(("patch", "field", "value"), TAKEN)
def test_a_field_that_is_right_is_set_and_shown(
    patch: dict[str, Any], field: str, value: Any
) -> None:
    after = change({"type": "realtime", **patch})

    assert getattr(after, field) == value
    strict({"type": "session.updated", "event_id": "event_1", "session": shown(after)})


@pytest.mark.parametrize(("patch", "field", "value"), TAKEN)
def test_what_is_shown_can_be_sent_back(patch: dict[str, Any], field: str, value: Any) -> None:
    after = change(patch)
    again = {k: v for k, v in shown(after).items() if k not in ("id", "object", "expires_at")}

    assert change(json.loads(json.dumps(again)), after) == after


def test_an_update_changes_only_the_fields_it_names() -> None:
    before = change(
        {
            "instructions": "Be brief.",
            **hearing(transcription={"model": "whisper-1"}, turn_detection=None),
        }
    )

    after = change(hearing(format={"type": "audio/pcma"}), before)

    assert after.input_format == AudioFormat(type="audio/pcma")
    assert after.transcription == before.transcription
    assert after.turn_detection is None
    assert after.instructions == "Be brief."


def test_a_session_that_is_written_has_no_rules_for_speech() -> None:
    assert "talk" in change({}).guidance
    assert "talk" not in change({"output_modalities": ["text"]}).guidance
    assert change({"output_modalities": ["text"], "instructions": ""}).guidance == ""


def test_sound_that_is_null_is_left_as_it_is() -> None:
    before = change(hearing(turn_detection=None))

    assert change({"audio": None}, before) == before
    assert change({"audio": {"input": None, "output": None}}, before) == before


def test_a_named_part_is_replaced_whole() -> None:
    before = change(hearing(turn_detection={"type": "server_vad", "threshold": 0.9}))

    after = change(hearing(turn_detection={"type": "server_vad", "prefix_padding_ms": 100}), before)

    assert after.turn_detection == ServerVad(prefix_padding_ms=100)


# --- What is refused --------------------------------------------------------------


@pytest.mark.parametrize(("patch", "param", "code"), REFUSED)
def test_a_field_that_is_wrong_is_refused_by_its_path(patch: Any, param: str, code: str) -> None:
    fault = refusal(patch)

    assert (fault.param, fault.code, fault.type) == (param, code, "invalid_request_error")
    assert param in fault.message
    strict({"type": "error", "event_id": "event_1", "error": fault.error("event_2")})


def test_what_is_missing_here_is_called_unsupported_in_words() -> None:
    fault = refusal({"prompt": {"id": "pmpt_1"}})

    assert "this engine keeps no prompt templates" in fault.message


def test_the_voice_is_locked_once_it_was_heard() -> None:
    fault = refusal(speaking(voice="marin"), audio_started=True)

    assert (fault.code, fault.param) == ("cannot_update_voice", "session.audio.output.voice")
    assert change(speaking(voice="alloy"), audio_started=True) == fresh()


def test_a_forced_tool_cannot_be_taken_away() -> None:
    before = change({"tools": [TOOL], "tool_choice": {"type": "function", "name": "look_up"}})

    assert refusal({"tools": []}, before).param == "session.tool_choice.name"
    assert change({"tools": [], "tool_choice": "auto"}, before).tools == ()


def test_a_default_voice_that_does_not_exist_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="nobody"):
        initial("vivavoce", voice="nobody", voices=VOICES)


GOOD = [patch for patch, _, _ in TAKEN]
BAD = [patch for patch, _, _ in REFUSED if isinstance(patch, dict)]


def merged(patches: list[dict[str, Any]]) -> dict[str, Any]:
    """Beside one another; a part (a format, a turn detection) is the last one's whole."""
    whole: dict[str, Any] = {}
    for patch in patches:
        for key, value in patch.items():
            if key in ("audio", "input", "output") and isinstance(whole.get(key), dict):
                whole[key] = merged([whole[key], value])
            else:
                whole[key] = value
    return whole


@given(st.lists(st.sampled_from(GOOD), max_size=4), st.sampled_from(BAD))
def test_an_update_with_one_mistake_changes_nothing(
    good: list[dict[str, Any]], bad: dict[str, Any]
) -> None:
    before = fresh()
    patch = merged([*good, bad])
    untouched = json.dumps(patch)

    with pytest.raises(Refused):
        change(patch, before)

    assert before == fresh()
    assert json.dumps(patch) == untouched


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "audio", "input", "output", "turn_detection", "format", "tools", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(anything)
def test_whatever_a_client_sends_is_taken_or_refused(patch: Any) -> None:
    try:
        after = change(patch)
    except Refused:
        return
    strict({"type": "session.updated", "event_id": "event_1", "session": shown(after)})


# --- What it looks like -----------------------------------------------------------


def test_a_session_looks_as_the_service_shows_its_own() -> None:
    recorded = [
        frame["session"]
        for name in ("test_audio_in_server_vad_turn", "test_webrtc_sideband_text_turn")
        for frame in frames(name)
        if frame["type"] in ("session.created", "session.updated")
    ]
    for theirs in recorded:
        patch = hearing(
            transcription={"model": "w"} if theirs["audio"]["input"]["transcription"] else None
        )
        assert same_shape(shown(change(patch)), theirs)


def test_whether_calls_may_be_parallel_is_shown_only_to_who_asked() -> None:
    assert "parallel_tool_calls" not in shown(fresh())
    assert shown(change({"parallel_tool_calls": True}))["parallel_tool_calls"] is True
