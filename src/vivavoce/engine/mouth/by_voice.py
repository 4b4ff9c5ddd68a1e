"""The mouth that the voice asks for: hibari for the one it has, Kokoro for all others.

Kokoro takes 300 MB and seconds to load, and many servers never need it: it is loaded when
the first session wants one of its voices, which is told before it speaks (`prepare`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vivavoce.engine.mouth.hibari import HibariMouth
from vivavoce.engine.mouth.kokoro import KokoroMouth, voice_names
from vivavoce.engine.mouth.speaking import SpeakingMouth
from vivavoce.engine.ports import Utterance
from vivavoce.engine.speech.inference import be_nice
from vivavoce.errors import ModelUnavailable, MouthError

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
