"""Text to speech with hibari (English): Kokoro's voice af_heart in a twentieth of the time.

The network draws no waves but what they are made of, for every 12.5 ms: how loud the
voice's harmonics are and how they are turned, how loud the breath is, a part that is
neither, and the pitch. The sound is put together here: a train of pulses at the pitch,
filtered by the harmonics, and shaped noise, by one inverse Fourier transform a frame.

It has one voice. `MouthByVoice` takes it for that, and Kokoro for all others: Kokoro takes
300 MB and seconds to load, and many servers never need it, so it is loaded when the first
session wants one of its voices, which is told before it speaks (`prepare`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from vivavoce.engine.mouth import graph
from vivavoce.engine.mouth.kokoro import (
    KokoroMouth,
    PhonemeMouth,
    read_vocabulary,
    spread,
    voice_names,
)
from vivavoce.engine.mouth.speaking import SpeakingMouth, heard
from vivavoce.engine.ports import MOUTH_RATE, Samples, Utterance
from vivavoce.engine.speech.inference import be_nice, open_model
from vivavoce.errors import ModelUnavailable, MouthError
from vivavoce.runtime.provider.known_models import OPENAI_VOICES

VOICE = "af_heart"
"""The one it was taught."""
_LONGEST = 400
"""Phonemes at once; its author goes no further."""
_FRAME = 600
"""Samples of a frame in which durations are counted, as Kokoro's are."""
_EARLY = 1
"""Frames by which phonemes sound before the durations say so (measured at pauses)."""
_LOUDER = 1.47
"""By which Kokoro says the same louder (measured)."""
_HOP, _WINDOW = 300, 1200
"""Samples from one drawn frame to the next, and under its window."""
_OVERLAP = _WINDOW // _HOP
_HANN: Samples = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)).astype(np.float32)
_VOICED = 40.0
"""Hertz; a lower pitch is none."""
_HIGHEST = 11_000.0
"""Hertz; harmonics above are left out."""
_LOUDEST = 7.0
_SEED = 5
"""Of the breath: the same text is the same sound."""

Table: TypeAlias = npt.NDArray[np.float32]
Spectrum: TypeAlias = npt.NDArray[np.complex64]


class HibariMouth(PhonemeMouth):
    """A `Mouth` on a folder with model.onnx and vocab.json.

    Loading blocks for a moment; one object serves all sessions. `only` says that there is
    no other mouth: then every name of OpenAI's is its one voice.
    """

    def __init__(self, folder: Path, *, threads: int = 1, only: bool = True) -> None:
        self._session = open_model(
            folder / "model.onnx", threads=threads, edit=graph.edited(graph.hibari)
        )
        self._timed = any(out.name == graph.DURATIONS for out in self._session.get_outputs())
        names = (name for name, voice in OPENAI_VOICES.items() if only or voice == VOICE)
        super().__init__(
            folder.name,
            {**dict.fromkeys(names, VOICE), VOICE: VOICE},
            vocabulary=read_vocabulary(folder / "vocab.json"),
            longest=_LONGEST,
        )

    def _draw(
        self, ids: Sequence[int], voice: str, speed: float, options: ort.RunOptions
    ) -> tuple[Samples, list[int]]:
        inputs = {
            "ids": np.array([ids], dtype=np.int64),
            "speed": np.array([speed], dtype=np.float32),
        }
        parts: list[Any] = self._session.run(None, inputs, options)
        harmonics, turned, breath, rest, phase, pitch = (part[0] for part in parts[:6])
        spectrum = _frames(_pulses(pitch))
        spectrum *= _polar(harmonics, np.pi * np.tanh(turned))
        spectrum += _noise(breath.shape) * _loud(breath)
        spectrum += _polar(rest, phase)
        sound = _overlapped(spectrum) * np.float32(_LOUDER)
        place = heard(sound)
        speech = sound[place]
        if not self._timed:
            return speech, spread(len(speech), len(ids) - 2)
        ends = (np.cumsum(parts[6].reshape(-1))[1:-1] - _EARLY) * _FRAME - place.start
        return speech, np.clip(ends, 0, len(speech)).astype(int).tolist()


# --- From what it drew to sound


def _loud(logarithm: Table) -> Table:
    return np.asarray(np.exp(np.minimum(logarithm, _LOUDEST)))


def _polar(logarithm: Table, angle: Table) -> Spectrum:
    found = np.empty(angle.shape, np.complex64)
    np.cos(angle, out=found.real)
    np.sin(angle, out=found.imag)
    found *= _loud(logarithm)
    return found


def _noise(shape: tuple[int, ...]) -> Spectrum:
    bins, frames = shape
    noise = np.random.default_rng(_SEED).standard_normal((bins, 2 * frames), dtype=np.float32)
    return noise.view(np.complex64)


def _pulses(pitch: Table) -> Samples:
    """Every harmonic up to `_HIGHEST`, all as loud as each other; silence where there is no pitch.

    The sum of cos(h t) for h from 1 to H is sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2.
    """
    frames = np.arange(len(pitch) * _HOP, dtype=np.float64)
    middle = (frames + 0.5) / _HOP - 0.5
    hertz = np.interp(middle, np.arange(len(pitch)), pitch)
    voiced = hertz > _VOICED
    hertz = np.maximum(hertz, _VOICED)
    time = (2 * np.pi * np.modf(np.cumsum(hertz) / MOUTH_RATE)[0]).astype(np.float32)
    count = np.floor(_HIGHEST / hertz).astype(np.float32) + np.float32(0.5)
    below = 2 * np.sin(time / 2)
    at_zero = np.abs(below) <= 2e-3
    below[at_zero] = 1
    sound = np.where(at_zero, count, np.sin(count * time) / below) - np.float32(0.5)
    return np.asarray(np.where(voiced, sound, 0), dtype=np.float32)


def _frames(sound: Samples) -> Spectrum:
    """The spectrum around each frame; a harmonic of loudness 1 is 1 in it."""
    padded = np.pad(sound, _WINDOW // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP]
    windows = windows[: len(sound) // _HOP] * (_HANN / (_WINDOW / 4))
    return np.asarray(np.fft.rfft(windows, axis=1).T, dtype=np.complex64)


def _overlapped(spectrum: Spectrum) -> Samples:
    """Each frame back to sound, laid over its neighbours."""
    count = spectrum.shape[1]
    frames = np.fft.irfft(spectrum.T, _WINDOW, axis=1).astype(np.float32, copy=False)
    pieces = (frames * _HANN).reshape(count, _OVERLAP, _HOP)
    sound = np.zeros((count + _OVERLAP - 1, _HOP), np.float32)
    for at in range(_OVERLAP):
        sound[at : at + count] += pieces[:, at]
    sound /= _weights(count)
    return sound.reshape(-1)[_WINDOW // 2 :][: count * _HOP]


@lru_cache(maxsize=8)
def _weights(count: int) -> Table:
    """How much of the windows lies over each sample."""
    squares = np.square(_HANN).reshape(_OVERLAP, _HOP)
    found = np.zeros((count + _OVERLAP - 1, _HOP), np.float32)
    for at in range(_OVERLAP):
        found[at : at + count] += squares[at]
    return np.maximum(found, 1e-11)


QUICK, FULL = "hibari", "kokoro"
"""Their folders in that of all models."""
_NICE = 1
"""Loaded among talks, and as nice as mouths are."""


class MouthByVoice:
    """A `Mouth` on the folder of all models, with hibari and Kokoro in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FULL
        self._quick = HibariMouth(folder / QUICK, only=False)
        self._full: asyncio.Future[KokoroMouth] | None = None
        self.name = self._quick.name
        self.voices = tuple(dict.fromkeys((*voice_names(self._folder), *self._quick.voices)))

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        mouth = await self._mouth(voice)
        return await mouth.speak(text, voice=voice, speed=speed, lead_ms=lead_ms)

    async def prepare(self, voice: str, texts: Iterable[str]) -> None:
        await (await self._mouth(voice)).prepare(voice, texts)

    def close(self) -> None:
        self._quick.close()
        if self._full is not None and self._full.done() and not self._full.exception():
            self._full.result().close()

    async def _mouth(self, voice: str) -> SpeakingMouth:
        if voice in self._quick.voices:
            return self._quick
        if voice not in self.voices:
            raise MouthError(f"There is no voice {voice!r}. There are: {', '.join(self.voices)}.")
        if self._full is None:
            loader = ThreadPoolExecutor(1)
            self._full = asyncio.get_running_loop().run_in_executor(loader, self._load)
            loader.shutdown(wait=False)
        loading = self._full
        try:
            # Who hangs up meanwhile must not stop it for the others.
            return await asyncio.shield(loading)
        except ModelUnavailable as fault:
            if self._full is loading:
                self._full = None
            raise MouthError(fault.message) from fault

    def _load(self) -> KokoroMouth:
        be_nice(_NICE)
        return KokoroMouth(self._folder)
