"""How the server and the speech process talk: a header, a little JSON, and raw bytes.

Both ends of the pipe use this module; it knows nothing of what is said. Sound
goes as it is, and nothing is longer than both sides agreed on beforehand.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

_HEADER = struct.Struct("<II")
LONGEST_WORDS = 1 << 20
LONGEST_SOUND = 64 << 20
"""A quarter of an hour of speech at 16 kHz."""


class BadFrame(Exception):
    """Not what we agreed on; there is no way to find the next frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    words: Mapping[str, Any]
    sound: bytes = b""


def encode(frame: Frame) -> bytes:
    """As it goes over the pipe. Raises `BadFrame` before the other side has to."""
    words = orjson.dumps(frame.words)
    if len(words) > LONGEST_WORDS or len(frame.sound) > LONGEST_SOUND:
        raise BadFrame(f"A frame of {len(words)} and {len(frame.sound)} bytes is too long.")
    return b"".join((_HEADER.pack(len(words), len(frame.sound)), words, frame.sound))


async def read(stream: asyncio.StreamReader) -> Frame | None:
    """The next frame; None when the other side is gone. Raises `BadFrame`."""
    try:
        words, sound = _HEADER.unpack(await stream.readexactly(_HEADER.size))
        if words > LONGEST_WORDS or sound > LONGEST_SOUND:
            raise BadFrame(f"A frame of {words} and {sound} bytes is announced.")
        told = orjson.loads(await stream.readexactly(words))
        if not isinstance(told, dict):
            raise BadFrame("A frame without fields.")
        return Frame(told, await stream.readexactly(sound) if sound else b"")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None  # cut in the middle or between two frames: gone is gone
    except orjson.JSONDecodeError as fault:
        raise BadFrame("A frame that cannot be read.") from fault
