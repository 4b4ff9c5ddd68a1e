"""Ears, judge and mouth as the engine knows them, whose models are in another process.

They fill the ports of `engine.ports` with questions to that process, and put
its faults into the words of each port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from vivavoce.engine.ports import EAR_RATE, Samples, Transcript, Utterance
from vivavoce.engine.speech.frames import Frame
from vivavoce.engine.speech.load import PRESSING_MS
from vivavoce.errors import EarsError, EngineFault, MouthError

_JUDGED = 10 * EAR_RATE
"""No judge listens to more than that of the end; a long speech need not be sent whole."""


class Asking(Protocol):
    """How the process is asked. `presses` names the model whose load this is."""

    async def __call__(
        self,
        fault: type[EngineFault],
        words: Mapping[str, Any],
        sound: bytes = b"",
        *,
        presses: str | None = None,
        awaited: bool = False,
    ) -> Frame: ...


class FarEars:
    """Fills `Ears`."""

    def __init__(self, name: str, ask: Asking) -> None:
        self.name = name
        self._ask = ask

    async def transcribe(
        self,
        speech: Samples,
        *,
        language: str | None = None,
        hint: str = "",
        urgent: bool = True,
        keywords: Sequence[str] = (),
    ) -> Transcript:
        words = {
            "do": "transcribe",
            "language": language,
            "hint": hint,
            "urgent": urgent,
            "keywords": list(keywords),
        }
        presses = "ears" if urgent else None
        answer = await self._ask(EarsError, words, _raw(speech), presses=presses, awaited=urgent)
        return Transcript(answer.words["text"], answer.words["confidence"])


class FarJudge:
    """Fills `Judge`. One serves all sessions."""

    def __init__(self, ask: Asking) -> None:
        self._ask = ask

    async def finished(self, speech: Samples) -> float:
        answer = await self._ask(EarsError, {"do": "judge"}, _raw(speech[-_JUDGED:]))
        return float(answer.words["value"])


class FarMouth:
    """Fills `Mouth`. Its voices are known once the process is ready."""

    def __init__(self, name: str, ask: Asking) -> None:
        self.name = name
        self.voices: tuple[str, ...] = ()
        self._ask = ask

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        words = {"do": "speak", "text": text, "voice": voice, "speed": speed, "lead_ms": lead_ms}
        presses = "mouth" if lead_ms < PRESSING_MS else None
        answer = await self._ask(MouthError, words, presses=presses, awaited=lead_ms <= 0)
        return Utterance(answer.sound, tuple((word, ms) for word, ms in answer.words["words"]))

    async def prepare(self, voice: str, texts: Sequence[str], *, speed: float = 1.0) -> None:
        """Have these ready, for when they are wanted; again after the process was lost."""
        words = {"do": "prepare", "voice": voice, "texts": list(texts), "speed": speed}
        await self._ask(MouthError, words)


def _raw(speech: Samples) -> bytes:
    return np.ascontiguousarray(speech, dtype="<f4").tobytes()
