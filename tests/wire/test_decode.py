"""Frames become facts; nothing that a provider can send is a crash."""

from __future__ import annotations

from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recordings import frames
from tests.session.scene import Scene
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.server import KNOWN_TYPES, Malformed, decode

RECORDED = [
    "test_audio_in_server_vad_turn",
    "test_text_in_audio_out_turn",
    "test_webrtc_sideband_text_turn",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


FIELDS = ("item", "response", "session", "error", "rate_limits", "item_id", "response_id", "delta")


def attempt(frame: bytes) -> None:
    """Decoded and decided upon, in a session that is up; or malformed."""
    scene = Scene().connect()
    with suppress(Malformed):
        scene.send(decode(frame))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_fact_or_malformed(frame: bytes) -> None:
    attempt(frame)


@given(
    st.sampled_from(sorted(KNOWN_TYPES)),
    st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, json_values)),
)
def test_fields_of_the_wrong_kind_harm_neither_the_decoder_nor_the_machine(
    kind: str, fields: dict[str, object]
) -> None:
    attempt(orjson.dumps({**fields, "type": kind}))


@given(st.sampled_from(sorted(KNOWN_TYPES)), json_values, json_values)
def test_nor_do_nested_ones(kind: str, one: object, other: object) -> None:
    item = {"id": "i", "type": "message", "role": "user", "content": [one, {"type": other}]}
    response = {"id": "r", "output": [item, one], "status_details": other, "usage": one}
    fields = {"item": item, "response": response, "session": {"tools": one, "audio": other}}
    attempt(orjson.dumps({**fields, "item_id": "i", "response_id": "r", "type": kind}))


def test_an_unknown_type_is_not_an_error() -> None:
    assert decode(b'{"type": "response.video.delta"}') == rt.Unhandled("response.video.delta")


def test_audio_becomes_its_length() -> None:
    # 48 bytes are a millisecond of PCM16 at 24 kHz, 64 characters of base64.
    frame = orjson.dumps(
        {"type": "response.output_audio.delta", "item_id": "a", "delta": "A" * 6400}
    )
    assert decode(frame) == rt.AudioReceived("a", 100.0)


def test_cached_tokens_are_a_part_of_the_input() -> None:
    usage = {"input_tokens": 9, "output_tokens": 4, "input_token_details": {"cached_tokens": 3}}
    frame = orjson.dumps({"type": "response.done", "response": {"id": "r", "usage": usage}})
    done = decode(frame)
    assert isinstance(done, rt.ResponseDone)
    assert done.usage == rt.Usage(input=9, output=4, cached=3)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_frame_is_understood(name: str) -> None:
    for frame in frames(name):
        fact = decode(orjson.dumps(frame))
        assert isinstance(fact, rt.Unhandled) == (frame["type"] not in KNOWN_TYPES)
