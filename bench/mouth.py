"""How soon text is sound, and how well it is understood: hibari beside Kokoro, and what is inside.

First clauses: Kokoro beside its plain graph (which draws the silence around the speech as
well), hibari and Piper beside Kokoro. Then every sentence of `bench.material.sentences` by
hibari and by Kokoro in the same voice: milliseconds, share of real time, words that the ears
did not understand, how loud, and how far the times of words lie from Kokoro's. Runs
alternate, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bench import report as report_line
from bench import size
from bench.material.sentences import SENTENCES
from bench.round_trip import Trip, share, transcribed, trip
from vivavoce.app.settings import Settings
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.hibari import HibariMouth
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.engine.mouth.piper import PiperMouth
from vivavoce.engine.mouth.speaking import SpeakingMouth
from vivavoce.engine.ports import Utterance
from vivavoce.models.store import ModelStore

ROUNDS = size(5, quick=1)
CLAUSES = {
    "“Sure.”": "Sure.",
    "“I found three files,”": "I found three files,",
    "a clause of 12 words": "The newest one is a report about the weather in the north,",
}

Report = Callable[[str, float, float, str], None]


def run(report: Report) -> None:
    asyncio.run(_run(report))


async def _run(report: Report) -> None:
    store = ModelStore(Settings().models_dir)
    hibari = HibariMouth(store.folder / "hibari")
    kokoro = KokoroMouth(store.folder / "kokoro")
    plain = KokoroMouth(store.folder / "kokoro", plain=True)
    piper = PiperMouth(store.folder / "piper-joe") if store.have("piper-joe") else None
    ears = MoonshineEars(store.folder / "moonshine-base")
    try:
        for name, text in CLAUSES.items():
            of_plain = await _both(kokoro, plain, text)
            report(f"Kokoro: {name}, beside the plain graph", *of_plain, "ms")
            report(f"hibari: {name}, beside Kokoro", *await _both(hibari, kokoro, text), "ms")
            if piper:
                report(f"Piper: {name}, beside Kokoro", *await _both(piper, kokoro, text), "ms")
        await _prepared(report, kokoro)
        await _sentences(report, hibari, kokoro, ears)
    finally:
        ears.close()
        for mouth in filter(None, (hibari, kokoro, plain, piper)):
            mouth.close()


async def _both(one: SpeakingMouth, other: SpeakingMouth, text: str) -> tuple[float, float]:
    ours, peer = [], []
    for _ in range(ROUNDS):
        ours.append((await _timed(one, text))[0])
        peer.append((await _timed(other, text))[0])
    return statistics.median(ours), statistics.median(peer)


async def _prepared(report: Report, mouth: SpeakingMouth) -> None:
    await mouth.prepare("marin", ["Of course."])
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await mouth.speak("Of course.", voice="marin")
    ready = (time.perf_counter() - began) * 1000 / ROUNDS
    made = statistics.median([(await _timed(mouth, "Of course."))[0] for _ in range(ROUNDS)])
    report("Kokoro: a prepared opening, beside making it", ready, made, "ms")


async def _timed(mouth: SpeakingMouth, text: str) -> tuple[float, Utterance]:
    # At a speed never used before: otherwise it would be ready the second time.
    speed = 1.0 + next(_fresh) / 1e5
    began = time.perf_counter()
    utterance = await mouth.speak(text, voice="marin", speed=speed)
    return (time.perf_counter() - began) * 1000, utterance


_fresh = itertools.count(1)


# --- Whole sentences


@dataclass(slots=True)
class Run:
    """What one mouth made of all sentences."""

    ms: list[float] = field(default_factory=list)
    sound_ms: float = 0.0
    trips: list[Trip] = field(default_factory=list)
    loudness: list[float] = field(default_factory=list)
    clipped: int = 0

    def add(self, took: float, said: Utterance) -> None:
        sound = np.frombuffer(said.pcm, dtype="<i2").astype(np.float64) / 32768
        self.ms.append(took)
        self.sound_ms += said.ms
        self.loudness.append(float(np.sqrt(np.mean(sound * sound))))
        self.clipped += int(np.sum(np.abs(sound) > 0.999))


async def _sentences(
    report: Report, hibari: SpeakingMouth, kokoro: SpeakingMouth, ears: MoonshineEars
) -> None:
    ours, peer = Run(), Run()
    apart: list[float] = []
    for kind, some in SENTENCES.items():
        for written, said in list(some.items())[: size(None, quick=1)]:
            made = []
            for run, mouth in ((ours, hibari), (peer, kokoro)):
                took, utterance = await _timed(mouth, written)
                run.add(took, utterance)
                run.trips.append(trip(kind, written, said, await transcribed(ears, utterance)))
                made.append(utterance)
            apart += _apart(*made)
    median = statistics.median
    name = f"hibari: the median of {len(ours.trips)} sentences, beside Kokoro"
    report(name, median(ours.ms), median(peer.ms), "ms")
    report(
        "hibari: work for a second of sound, beside Kokoro",
        sum(ours.ms) / ours.sound_ms * 1000,
        sum(peer.ms) / peer.sound_ms * 1000,
        "ms",
    )
    fair, raw = "hibari: words not understood", "hibari: spellings not forgiven"
    report(f"{fair}, beside Kokoro", share(ours.trips, "fair"), share(peer.trips, "fair"), "%")
    report(f"{raw}, beside Kokoro", share(ours.trips, "raw"), share(peer.trips, "raw"), "%")
    report("hibari: loudness, beside Kokoro", _decibels(ours), _decibels(peer), "dB")
    apart.sort()
    print(f"   samples at the limit: {ours.clipped} and {peer.clipped}")
    print(
        f"   word times beside Kokoro's, at the same pace: p50 {median(apart):.0f} ms, "
        f"p90 {apart[len(apart) * 9 // 10]:.0f} ms over {len(apart)} words",
        flush=True,
    )
    for who, run in (("hibari", ours), ("Kokoro", peer)):
        for each in run.trips:
            if each.fair:
                print(f"   ✗ {who}: {each.written!r} heard as {each.heard!r} ({each.fair})")


def _decibels(run: Run) -> float:
    """Below full scale, as a positive number: the report divides by it."""
    return float(-20 * np.log10(statistics.median(run.loudness)))


def _apart(ours: Utterance, peer: Utterance) -> list[float]:
    """How far each word's end lies from the other's, in the milliseconds of ours."""
    pace = ours.ms / peer.ms
    pairs = zip(ours.words[:-1], peer.words[:-1], strict=True)
    return [abs(one - other * pace) for (_, one), (_, other) in pairs]


if __name__ == "__main__":
    run(report_line)
