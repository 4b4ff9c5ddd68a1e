"""Somebody to talk to the server and to tell what it answered: a mouth and ears of our own."""

from __future__ import annotations

import hashlib
import os
from functools import cached_property

import numpy as np
import soxr

from tests.browser.sound import RATE
from vivavoce.app.settings import Settings
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.engine.ports import EAR_RATE, Samples


class Voice:
    """Loaded when first used; what was said once is kept, beside the models."""

    def __init__(self) -> None:
        self._models = Settings().models_dir
        self._said: dict[str, bytes] = {}

    @cached_property
    def _mouth(self) -> KokoroMouth:
        return KokoroMouth(self._models / "kokoro")

    @cached_property
    def _ears(self) -> MoonshineEars:
        return MoonshineEars(self._models / "moonshine-base")

    async def say(self, text: str) -> bytes:
        """PCM16 at 24 kHz, by another voice than the server's."""
        if text not in self._said:
            kept = self._models / "test-voice" / hashlib.sha256(text.encode()).hexdigest()[:24]
            if not kept.exists():
                pcm = (await self._mouth.speak(text, voice="am_michael")).pcm
                kept.parent.mkdir(parents=True, exist_ok=True)
                own = kept.with_suffix(f".{os.getpid()}")  # others may say the same just now
                own.write_bytes(pcm)
                own.replace(kept)
            self._said[text] = kept.read_bytes()
        return self._said[text]

    async def hear(self, pcm: bytes) -> str:
        """The words in PCM16 at 24 kHz."""
        samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / np.float32(32768)
        speech = soxr.resample(_speech(samples), RATE, EAR_RATE).astype(np.float32)
        return (await self._ears.transcribe(speech)).text


def _speech(samples: Samples) -> Samples:
    """Without the silence around it, which makes the ears hear nothing at all."""
    (loud,) = np.nonzero(np.abs(samples) > 0.01)
    if not len(loud):
        return samples
    margin = RATE // 5
    return samples[max(0, loud[0] - margin) : loud[-1] + margin]
