"""How the server and the speech process talk: a header, a little JSON, and raw bytes.

Both ends of the pipe use this module. Sound goes as it is, and nothing is longer than
both sides agreed on beforehand. The first frame says which models to load, and from
where (`SpeechFiles`); what else is said is not known here.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from vivavoce.errors import ModelUnavailable
from vivavoce.wire.values import Value

_HEADER = struct.Struct("<II")
LONGEST_WORDS = 1 << 20
LONGEST_SOUND = 64 << 20
"""A quarter of an hour of speech at 16 kHz."""
KINDS = {
    "moonshine-base": "vivavoce.engine.ears.moonshine:MoonshineEars",
    "moonshine-tiny": "vivavoce.engine.ears.moonshine:MoonshineEars",
    "whisper-small": "vivavoce.engine.ears.whisper:WhisperEars",
    "smart-turn": "vivavoce.engine.ears.detecting:SmartTurn",
    "by-voice": "vivavoce.engine.mouth.hibari:MouthByVoice",
    "hibari": "vivavoce.engine.mouth.hibari:HibariMouth",
    "kokoro": "vivavoce.engine.mouth.kokoro:KokoroMouth",
    "piper-joe": "vivavoce.engine.mouth.piper:PiperMouth",
}


class BadFrame(Exception):
    """Not what we agreed on; there is no way to find the next frame."""


class Frame(Value):
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


# --- What to load


class SpeechPart(Value):
    """A model: what kind it is, and its folder (the judge: its file; the mouth by voice: the folder
    of all models)."""

    kind: str
    path: Path

    def load(self) -> Any:
        """Import it and load it. Blocks; raises `ModelUnavailable`."""
        module, _, name = KINDS.get(self.kind, self.kind).partition(":")
        try:
            make = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as fault:
            raise ModelUnavailable(f"There is nothing to run {self.kind} with.") from fault
        return make(self.path)


class SpeechFiles(Value):
    ears: SpeechPart
    mouth: SpeechPart
    judge: SpeechPart | None = None
    device: str = "cpu"
    """`auto`, `cpu` or `gpu`."""

    def to_words(self) -> dict[str, Any]:
        parts = {"ears": self.ears, "mouth": self.mouth, "judge": self.judge}
        told = {
            role: [part.kind, str(part.path)] for role, part in parts.items() if part is not None
        }
        return {**told, "device": self.device}

    @classmethod
    def from_words(cls, words: Mapping[str, Any]) -> SpeechFiles:
        device = str(words.get("device", "cpu"))
        told = ((role, part) for role, part in words.items() if role != "device")
        parts = {role: SpeechPart(kind, Path(path)) for role, (kind, path) in told}
        return cls(**parts, device=device)
