"""Parts for the speech process without models: what its tests load instead of ears and mouths.

They run in the other process; the folder they are given is how a test sees
them and holds them up.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from vivavoce.engine.ports import Samples, Transcript, Utterance
from vivavoce.engine.speech.inference import Worker
from vivavoce.errors import EarsError, ModelUnavailable, MouthError


class TellingEars:
    """Fills `Ears`: tells what it was given. Raises for the language `xx`."""

    def __init__(self, folder: Path) -> None:
        self.name = "telling"

    async def transcribe(
        self,
        speech: Samples,
        *,
        language: str | None = None,
        hint: str = "",
        urgent: bool = True,
        keywords: Sequence[str] = (),
    ) -> Transcript:
        match language:
            case "xx":
                raise EarsError("Nobody speaks that.")
            case "print":
                print("not a frame", flush=True)  # as a careless library does
            case "fail":
                raise ValueError("inside")
        peak = float(np.abs(speech).max()) if len(speech) else 0.0
        told = (len(speech), f"{peak:.3f}", language, hint, urgent, *keywords)
        return Transcript(" ".join(map(str, told)), 0.5)


class HeldMouth:
    """Fills `Mouth`. `hold` in the text: until cancelled, or `go` is in the folder.

    `die` kills the process. What was stopped and prepared is written down.
    """

    def __init__(self, folder: Path) -> None:
        if (folder / "broken").exists():
            raise ModelUnavailable("This mouth is broken.")
        self.name, self.voices = "held", ("marin",)
        self._folder = folder
        self._worker = Worker("held", MouthError)

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        stopped = threading.Event()
        work = partial(self._say, text, stopped)
        return await self._worker.run(work, rank=lead_ms, stop=stopped.set)

    async def prepare(self, voice: str, texts: Sequence[str], *, speed: float = 1.0) -> None:
        (self._folder / "prepared").write_text(f"{voice}: {', '.join(texts)}")

    def _say(self, text: str, stopped: threading.Event) -> Utterance:
        if text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        (self._folder / "begun").touch()
        while "hold" in text and not (self._folder / "go").exists():
            if stopped.is_set():
                (self._folder / "stopped").touch()
                break
            time.sleep(0.002)
        return Utterance(text.encode(), tuple((word, 10) for word in text.split()))


class LengthJudge:
    """Fills `Judge`: the more samples the surer."""

    def __init__(self, path: Path) -> None:
        pass

    async def finished(self, speech: Samples) -> float:
        return len(speech) / 1000
