"""Ears, mouth and detector without models: what the engine's tests and benchmarks run on.

Sound is honest, only simple: a detector that takes loud for speech, ears that
know what will be said, a mouth that hums as long as the words would take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Unpack

import numpy as np

from vivavoce.engine.ports import MOUTH_RATE, Manner, Samples, Transcript, Utterance
from vivavoce.errors import EarsError, MouthError

VOICES = ("marin", "cedar", "alloy", "ash", "ballad", "coral", "echo", "sage", "shimmer", "verse")


class LoudnessDetector:
    """Fills `Detector`."""

    def __init__(self, threshold: float = 0.02) -> None:
        self._threshold = threshold

    def feed(self, frame: Samples) -> float:
        return 1.0 if float(np.sqrt(np.mean(frame * frame))) >= self._threshold else 0.0

    def reset(self) -> None:
        """It remembers nothing."""


class ScriptedEars:
    """Fills `Ears`: the given texts, one for each speech; an `EarsError` where None is given."""

    name = "scripted"

    def __init__(self, texts: Iterable[str | None] = (), otherwise: str = "hello") -> None:
        self.texts = deque(texts)
        self.otherwise = otherwise
        self.heard_seconds: list[float] = []
        self.keywords: Sequence[str] = ()
        """Those of the last speech."""

    async def transcribe(self, speech: Samples, **manner: Unpack[Manner]) -> Transcript:
        self.keywords = manner.get("keywords", ())
        if not manner.get(
            "urgent", True
        ):  # in the middle of it: the beginning of what will have been said
            ahead = (self.texts[0] if self.texts else self.otherwise) or ""
            return Transcript(" ".join(ahead.split()[:2]))
        self.heard_seconds.append(len(speech) / 16_000)
        text = self.texts.popleft() if self.texts else self.otherwise
        if text is None:
            raise EarsError("These ears heard nothing they understood.")
        return Transcript(text)


class HummingMouth:
    """Fills `Mouth`: a tone, so many milliseconds for each character."""

    name = "humming"
    voices: tuple[str, ...] = VOICES

    def __init__(self, ms_a_character: int = 60, loudness: float = 0.3) -> None:
        self._ms, self._loudness = ms_a_character, loudness
        self.spoken: list[str] = []

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        if voice not in self.voices:
            raise MouthError(f"There is no voice {voice!r}. There are: {', '.join(self.voices)}.")
        if not 0.25 <= speed <= 4.0:
            raise MouthError(f"The speed is between 0.25 and 4.0, not {speed}.")
        self.spoken.append(text)
        samples = int(len(text.strip()) * self._ms * MOUTH_RATE / 1000 / speed)
        wave = np.sin(np.arange(samples) * (2 * np.pi * 220 / MOUTH_RATE)) * self._loudness
        pcm: bytes = (wave * 32767).astype("<i2").tobytes()
        return Utterance(pcm, ((text, samples * 1000 // MOUTH_RATE),))


class SureJudge:
    """Fills `Judge`: always of the same opinion."""

    def __init__(self, probability: float = 1.0) -> None:
        self.probability = probability
        self.asked = 0

    async def finished(self, speech: Samples) -> float:
        self.asked += 1
        return self.probability
