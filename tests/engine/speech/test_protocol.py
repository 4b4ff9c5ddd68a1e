"""Frames: what goes in comes out, and what is not one ends the talk."""

from __future__ import annotations

import asyncio
import struct
import subprocess
import sys

import pytest

from vivavoce.engine.speech import protocol
from vivavoce.engine.speech.protocol import BadFrame, Frame

CHILD = (sys.executable, "-P", "-m", "vivavoce.engine.speech.child")


def reader(data: bytes) -> asyncio.StreamReader:
    stream = asyncio.StreamReader()
    stream.feed_data(data)
    stream.feed_eof()
    return stream


async def test_frames_come_back_as_they_went_one_after_the_other() -> None:
    sent = [Frame({"text": "é\n", "id": 1}, bytes(range(256))), Frame({}), Frame({"a": [1]}, b"")]
    stream = reader(b"".join(map(protocol.encode, sent)))
    assert [await protocol.read(stream) for _ in range(4)] == [*sent, None]


@pytest.mark.parametrize("cut", [1, 7, 8, 10, -1])
async def test_a_frame_that_is_cut_off_is_the_end(cut: int) -> None:
    data = protocol.encode(Frame({"text": "hello"}, b"sound"))
    assert await protocol.read(reader(data[:cut])) is None


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<II", protocol.LONGEST_WORDS + 1, 0),
        struct.pack("<II", 2, protocol.LONGEST_SOUND + 1),
        struct.pack("<II", 4, 0) + b"{{{{",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 0, 0),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_too_long_or_no_frame_at_all_is_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        await protocol.read(reader(data))


def test_what_is_too_long_to_send_is_refused_before_it_goes() -> None:
    with pytest.raises(BadFrame, match="too long"):
        protocol.encode(Frame({"text": "x" * protocol.LONGEST_WORDS}))


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "is announced"),
        (protocol.encode(Frame({"do": "judge"})), "without a number"),
    ],
)
def test_a_process_that_is_talked_to_badly_ends_and_says_why(after: bytes, words: str) -> None:
    part = ["tests.engine.speech.fakes:TellingEars", "."]
    load = protocol.encode(Frame({"ears": part, "mouth": part}))
    ended = subprocess.run(CHILD, input=load + after, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert words in ended.stderr.decode()
