"""What is counted adds up, in the shape that clients know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.turn.configuring import same_shape
from tests.recordings import frames
from vivavoce.wire.realtime.server import response_usage, transcription_usage

counts = st.integers(0, 10**6)
seconds = st.floats(0, 3600)


def test_text_is_counted_by_the_brain_and_sound_by_the_second() -> None:
    usage = response_usage(
        input_tokens=14,
        cached_tokens=10,
        output_tokens=28,
        input_seconds=2.7,
        output_seconds=6.8,
    )

    assert usage == {
        "total_tokens": 205,
        "input_tokens": 41,
        "output_tokens": 164,
        "input_token_details": {
            "text_tokens": 14,
            "audio_tokens": 27,
            "image_tokens": 0,
            "cached_tokens": 10,
            "cached_tokens_details": {"text_tokens": 10, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {"text_tokens": 28, "audio_tokens": 136},
    }


@given(counts, counts, counts, seconds, seconds)
def test_the_parts_add_up_and_the_cache_is_part_of_the_input(
    told: int, cached: int, made: int, heard: float, spoken: float
) -> None:
    usage = response_usage(
        input_tokens=told,
        cached_tokens=cached,
        output_tokens=made,
        input_seconds=heard,
        output_seconds=spoken,
    )
    into, out = usage["input_token_details"], usage["output_token_details"]

    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens"] == into["text_tokens"] + into["audio_tokens"]
    assert usage["output_tokens"] == out["text_tokens"] + out["audio_tokens"]
    assert into["cached_tokens"] <= usage["input_tokens"]
    assert into["cached_tokens"] == sum(into["cached_tokens_details"].values())


def test_usage_looks_as_the_service_shows_its_own() -> None:
    for frame in frames("test_audio_in_server_vad_turn"):
        if frame["type"] == "response.done":
            theirs = frame["response"]["usage"]
            assert same_shape(response_usage(input_tokens=1, output_tokens=1), theirs)


@pytest.mark.parametrize(("heard", "billed"), [(0.0, 0), (2.796, 3), (3.0, 3), (-1.0, 0)])
def test_a_transcript_costs_the_seconds_that_were_begun(heard: float, billed: int) -> None:
    assert transcription_usage(heard) == {"type": "duration", "seconds": billed}
