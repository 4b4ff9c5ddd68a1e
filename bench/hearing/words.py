"""How well the ears hear: human recordings with known words, clean and in real noise.

`python -m bench.hearing.words [name …]` runs the ears themselves, every model that
is here, with and without noise suppression, and with a hint as partial
transcripts give it. `python -m bench.hearing.words engine` sends the same recordings through a
running server, as a client would.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import report as report_line
from bench import size
from bench.hearing.engine import through_engine
from bench.material.recordings import Recording, noisy, recordings
from bench.material.wording import errors
from vivavoce.app.settings import Settings
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.ears.noise import Suppressor, available
from vivavoce.engine.ears.whisper import WhisperEars
from vivavoce.engine.ports import EAR_RATE, Ears, Samples
from vivavoce.models.store import ModelStore

EARS: dict[str, type[MoonshineEars] | type[WhisperEars]] = {
    "moonshine-base": MoonshineEars,
    "moonshine-tiny": MoonshineEars,
    "whisper-small": WhisperEars,
}
CLEAN, NOISY = 5.0, 8.0
"""The most words in a hundred that may be wrong: clean, and in noise 10 dB below the speech."""

Report = Callable[[str, float, float, str], None]


@dataclass(frozen=True, slots=True)
class Heard:
    """One recording: what was made of it, and in what time."""

    recording: Recording
    text: str
    ms: float

    @property
    def errors(self) -> tuple[int, int]:
        return errors(self.recording.words, self.text)


def run(report: Report, *names: str) -> None:
    """Ours beside the plain way: the limit that was set, the work without a hint."""
    store = ModelStore(Settings().models_dir)
    for name, kind in EARS.items():
        if names and name not in names:
            continue
        if not store.have(name):
            print(f"  {name} is not here: `vivavoce models pull {name}`")
            continue
        ears = kind(store.folder / name)
        try:
            _measure(ears, report)
        finally:
            ears.close()


def _measure(ears: Ears, report: Report) -> None:
    clean = listen(ears, "clean", lambda _, speech: speech)
    report(f"{ears.name}: words wrong, clean", wrong(clean), CLEAN, "%")
    for decibels in (10.0, 5.0):
        plain = listen(ears, f"{decibels:.0f} dB", partial(noisy, decibels=decibels))
        report(f"{ears.name}: words wrong, noise at {decibels:.0f} dB", wrong(plain), NOISY, "%")
        if available():
            quiet = listen(ears, "suppressed", partial(without_noise, decibels=decibels))
            title = f"{ears.name}: words wrong, {decibels:.0f} dB, noise suppressed and not"
            report(title, wrong(quiet), wrong(plain), "%")
    if isinstance(ears, WhisperEars):
        return  # it takes no hints
    hinted = listen(ears, "hinted", lambda _, speech: speech, hints=_all_but_the_end(clean))
    assert [heard.text for heard in hinted] == [heard.text for heard in clean]
    quick, plainly = (statistics.median(heard.ms for heard in every) for every in (hinted, clean))
    report(f"{ears.name}: a recording, with a hint and without, p50", quick, plainly, "ms")


def listen(
    ears: Ears,
    title: str,
    change: Callable[[int, Samples], Samples],
    hints: Sequence[str] = (),
) -> list[Heard]:
    found = []
    for number, recording in enumerate(recordings()[: size(None, quick=3)]):
        speech = change(number, recording.speech)
        hint = hints[number] if hints else ""
        began = time.perf_counter()
        transcript = asyncio.run(ears.transcribe(speech, hint=hint))
        found.append(Heard(recording, transcript.text, (time.perf_counter() - began) * 1000))
    if not hints:
        failures(f"{ears.name}, {title}", found)
    return found


def wrong(found: Sequence[Heard]) -> float:
    """Words in a hundred, over all recordings together."""
    counts = np.array([heard.errors for heard in found]).sum(axis=0)
    return float(100.0 * counts[0] / counts[1])


def failures(title: str, found: Sequence[Heard]) -> None:
    for heard in found:
        if heard.errors[0]:
            print(f"  {title}: {heard.recording.words!r} was heard as {heard.text!r}")


def without_noise(number: int, speech: Samples, decibels: float) -> Samples:
    return suppressed(noisy(number, speech, decibels))


def suppressed(speech: Samples) -> Samples:
    """As in a call: the noise was there before the first word, and the sound comes in pieces."""
    before = speech[: EAR_RATE // 2][::-1]
    whole = np.concatenate([before, speech, np.zeros(EAR_RATE // 50, dtype=np.float32)])
    suppressor = Suppressor()
    pieces = [suppressor.feed(whole[at : at + 512]) for at in range(0, len(whole), 512)]
    return np.concatenate(pieces)[len(before) :]


def _all_but_the_end(found: Sequence[Heard]) -> list[str]:
    """What a partial knew some 400 ms before the end."""
    return [" ".join(heard.text.split()[:-1]) for heard in found]


def engine(report: Report, name: str = "moonshine-base") -> None:
    """The whole engine: sound over the socket, its own detector, its own turns."""
    for title, change, limit in (
        ("clean", lambda _, speech: speech, CLEAN),
        ("noise at 10 dB", lambda number, speech: noisy(number, speech, 10.0), NOISY),
    ):
        clips = [change(number, r.speech) for number, r in enumerate(recordings())]
        texts = asyncio.run(through_engine(clips, VIVAVOCE_EARS=name))
        found = [Heard(r, text, 0.0) for r, text in zip(recordings(), texts, strict=True)]
        failures(f"engine, {name}, {title}", found)
        report(f"engine with {name}: words wrong, {title}", wrong(found), limit, "%")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["engine", *names]:
            engine(report_line, *names)
        case names:
            run(report_line, *names)
