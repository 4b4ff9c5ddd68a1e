"""How soon a first clause is sound: Kokoro beside its plain graph, Piper beside Kokoro.

The plain graph draws the silence around the speech as well, which is then cut
off. Runs alternate, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Callable

from bench import report as report_line
from bench import size
from vivavoce.app.settings import Settings
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.engine.mouth.piper import PiperMouth
from vivavoce.engine.mouth.speaking import SpeakingMouth
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
    ours = KokoroMouth(store.folder / "kokoro")
    plain = KokoroMouth(store.folder / "kokoro", plain=True)
    piper = PiperMouth(store.folder / "piper-joe") if store.have("piper-joe") else None
    try:
        for name, text in CLAUSES.items():
            report(f"Kokoro: {name}, beside the plain graph", *await _both(ours, plain, text), "ms")
            if piper:
                report(f"Piper: {name}, beside Kokoro", *await _both(piper, ours, text), "ms")
        await _prepared(report, ours)
    finally:
        for mouth in filter(None, (ours, plain, piper)):
            mouth.close()


async def _both(one: SpeakingMouth, other: SpeakingMouth, text: str) -> tuple[float, float]:
    ours, peer = [], []
    for _ in range(ROUNDS):
        ours.append(await _ms(one, text))
        peer.append(await _ms(other, text))
    return statistics.median(ours), statistics.median(peer)


async def _prepared(report: Report, mouth: SpeakingMouth) -> None:
    await mouth.prepare("marin", ["Of course."])
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await mouth.speak("Of course.", voice="marin")
    ready = (time.perf_counter() - began) * 1000 / ROUNDS
    made = statistics.median([await _ms(mouth, "Of course.") for _ in range(ROUNDS)])
    report("Kokoro: a prepared opening, beside making it", ready, made, "ms")


async def _ms(mouth: SpeakingMouth, text: str) -> float:
    # At a speed never used before: otherwise it would be ready the second time.
    speed = 1.0 + next(_fresh) / 1e5
    began = time.perf_counter()
    await mouth.speak(text, voice="marin", speed=speed)
    return (time.perf_counter() - began) * 1000


_fresh = itertools.count(1)


if __name__ == "__main__":
    run(report_line)
