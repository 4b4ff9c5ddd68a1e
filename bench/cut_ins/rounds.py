"""False cut-ins on human speech, our endpointing beside Smart Turn alone.

Dialogues are those of `bench.cut_ins.clips`. A turn that is taken before its
last word is a false cut-in; the delay is from the end of that word (by the
detector, on the clip alone) to the moment the turn is taken. The peer asks Smart
Turn the usual way: once, 200 ms into a pause, takes the turn at 0.5, and else
waits for 3 s of silence. Both have the same detector and the same judge.
Offline: sound goes to the objects directly, and the judge's answer comes two
frames after the question.
`python -m bench.cut_ins.rounds [--rounds N]`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from bench import report as report_line
from bench import size
from bench.cut_ins.clips import Clip, Dialogue, dialogues, human
from vivavoce.app.settings import load_settings
from vivavoce.engine.ears.detecting import SileroVad, SmartTurn, load_silero
from vivavoce.engine.ports import EAR_RATE, FRAME, Samples
from vivavoce.engine.turn.endpoint import FRAME_MS, Endpointer, Judge
from vivavoce.engine.turn.facts import SpeechStopped
from vivavoce.models.store import ModelStore
from vivavoce.wire.realtime.session import Eagerness, SemanticVad, ServerVad

Report = Callable[[str, float, float, str], None]
Ask = Callable[[int], float]
"""How probable is it that the turn is over, at this millisecond?"""

ROUNDS = size(6, quick=1)
LATE_FRAMES = 2
"""What the judge takes: 46 ms, and the way there and back."""
EAGERNESS: tuple[Eagerness, ...] = ("low", "medium", "auto", "high")
PEER = "Smart Turn alone"
_WINDOW_MS = 8_000
_PER_MS = EAR_RATE // 1000


class Watcher(Protocol):
    """Hears probabilities of speech, and says when a turn is over."""

    def feed(self, probability: float, ask: Ask) -> bool: ...


class Ours:
    def __init__(self, settings: ServerVad | SemanticVad) -> None:
        self._endpointer = Endpointer(settings)
        self._due: list[tuple[int, int]] = []
        """When each answer of the judge is there, and when it was asked for."""

    def feed(self, probability: float, ask: Ask) -> bool:
        told = self._endpointer.feed(probability)
        now = self._endpointer.now_ms
        late = LATE_FRAMES * FRAME_MS
        self._due += [(now + late, one.at_ms) for one in told if isinstance(one, Judge)]
        while self._due and self._due[0][0] <= now:
            asked_ms = self._due.pop(0)[1]
            told = [*told, *self._endpointer.verdict(ask(asked_ms), asked_ms)]
        return any(isinstance(one, SpeechStopped) for one in told)


class OncePerPause:
    """The peer."""

    BEGIN, STOP, LONGEST, SURE = 200, 200, 3000, 0.5

    def __init__(self) -> None:
        self._speaking = self._turn = False
        self._changed_ms = self._quiet_ms = self._now = 0
        self._due: tuple[int, int] | None = None

    def feed(self, probability: float, ask: Ask) -> bool:
        self._now += FRAME_MS
        loud = probability >= 0.5
        self._quiet_ms = 0 if loud else self._quiet_ms + FRAME_MS
        self._changed_ms = self._changed_ms + FRAME_MS if loud != self._speaking else 0
        if self._changed_ms >= (self.STOP if self._speaking else self.BEGIN):
            self._speaking, self._changed_ms = loud, 0
            self._turn = self._turn or loud
            late = LATE_FRAMES * FRAME_MS
            self._due = None if loud else (self._now + late, self._now)
        return self._turn and not self._speaking and self._over(ask)

    def _over(self, ask: Ask) -> bool:
        over = self._quiet_ms >= self.LONGEST
        if self._due is not None and self._now >= self._due[0]:
            over = over or ask(self._due[1]) >= self.SURE
            self._due = None
        self._turn = not over
        return over


# --- Listening and counting -----------------------------------------------------------


@dataclass
class Tally:
    false: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    pauses: int = 0
    missed: int = 0
    """Turns that nobody took before the next one began."""
    delays: list[int] = field(default_factory=list)

    @property
    def cut_ins(self) -> int:
        return self.false.total()

    @property
    def share(self) -> float:
        """Of a hundred turns; never quite none, since it is divided by."""
        return max(0.1, 100 * self.cut_ins / max(1, self.turns))

    def delay(self, share: float) -> float:
        return float(np.percentile(self.delays, share)) if self.delays else float("nan")


class Room:
    """The models, and what they said of a dialogue: asked once, told to every watcher."""

    def __init__(self, detector: SileroVad, judge: SmartTurn) -> None:
        self._detector, self._judge = detector, judge
        self._said: dict[tuple[int, int, int], float] = {}

    def probabilities(self, sound: Samples) -> list[float]:
        self._detector.reset()
        whole = len(sound) - len(sound) % FRAME
        return [self._detector.feed(sound[at : at + FRAME]) for at in range(0, whole, FRAME)]

    def spoken(self, sound: Samples) -> Samples:
        """From the first word to the last, by the detector: some rooms are loud in between."""
        (speech,) = np.nonzero(np.array(self.probabilities(np.pad(sound, (0, FRAME)))) >= 0.5)
        return sound[max(0, speech[0] - 1) * FRAME : (speech[-1] + 1) * FRAME]

    def finished(self, dialogue: Dialogue, from_ms: int, at_ms: int) -> float:
        """Like the engine, the judge hears the last eight seconds since the turn before."""
        begin = max(from_ms, at_ms - _WINDOW_MS)
        key = (id(dialogue), begin, at_ms)
        if key not in self._said:
            heard = dialogue.sound[begin * _PER_MS : at_ms * _PER_MS]
            self._said[key] = asyncio.run(self._judge.finished(heard))
        return self._said[key]


def taken(room: Room, dialogue: Dialogue, speech: Sequence[float], watcher: Watcher) -> list[int]:
    """When a turn is taken, in milliseconds."""
    found: list[int] = []

    def ask(ms: int) -> float:
        return room.finished(dialogue, found[-1] if found else 0, ms)

    for number, probability in enumerate(speech, 1):
        if watcher.feed(probability, ask):
            found.append(number * FRAME_MS)
    return found


def count(tally: Tally, dialogue: Dialogue, found: Sequence[int]) -> None:
    """Inside a turn it is a false cut-in, and the first one after it is its end."""
    tally.turns += len(dialogue.turns)
    tally.pauses += len(dialogue.pauses)
    next_begins = [begins for begins, _ in dialogue.turns[1:]] + [1 << 31]
    for (begins, ends), following in zip(dialogue.turns, next_begins, strict=True):
        tally.false.update(_kind(dialogue, ms) for ms in found if begins <= ms < ends)
        after = [ms - ends for ms in found if ends <= ms < following]
        tally.delays += after[:1]
        tally.missed += not after


def _kind(dialogue: Dialogue, ms: int) -> str:
    # An end that is told a few frames into the next word was found in the pause before.
    late = LATE_FRAMES * FRAME_MS
    inside = [pause.kind for pause in dialogue.pauses if pause.begins <= ms <= pause.ends + late]
    return inside[0] if inside else "the speaker's own"


def watchers() -> dict[str, Callable[[], Watcher]]:
    ours = {f"semantic_vad, {one}": partial(Ours, SemanticVad(eagerness=one)) for one in EAGERNESS}
    return {PEER: OncePerPause, **ours, "server_vad, 500 ms": partial(Ours, ServerVad())}


def measure(room: Room, clips: Sequence[Clip], rounds: int) -> dict[str, Tally]:
    tallies = {name: Tally() for name in watchers()}
    for dialogue in dialogues(clips, rounds):
        speech = room.probabilities(dialogue.sound)
        for name, make in watchers().items():
            count(tallies[name], dialogue, taken(room, dialogue, speech, make()))
    return tallies


# --- Telling --------------------------------------------------------------------------


def run(report: Report, rounds: int = ROUNDS) -> None:
    store = ModelStore(load_settings().models_dir)
    asyncio.run(store.pull(["silero-vad", "smart-turn"]))
    judge = SmartTurn(store.path("smart-turn", "smart_turn.onnx"))
    detector = load_silero(store.path("silero-vad", "silero_vad.onnx"))()
    try:
        room = Room(detector, judge)
        tallies = measure(room, human(room.spoken), rounds)
    finally:
        judge.close()
    show(tallies)
    peer = tallies[PEER]
    for name, tally in tallies.items():
        if tally is not peer:
            what = f"cut-ins, {name}"
            report(f"{what}: false, of 100 turns", tally.share, peer.share, "cut-ins")
            report(f"{what}: delay of a true end, p50", tally.delay(50), peer.delay(50), "ms")


def show(tallies: dict[str, Tally]) -> None:
    kinds = ("in a sentence", "after a sentence", "the speaker's own")
    first = next(iter(tallies.values()))
    print(f"   {first.turns} turns with {first.pauses} pauses put into them; false cut-ins:")
    print(
        f"   {'':<24}{'all':>6}" + "".join(f"{k:>19}" for k in kinds) + f"{'delay p50 / p95':>20}"
    )
    for name, tally in tallies.items():
        cells = "".join(f"{tally.false[kind]:>19}" for kind in kinds)
        delay = f"{tally.delay(50):>12,.0f} /{tally.delay(95):>6,.0f}"
        missed = f", {tally.missed} never taken" if tally.missed else ""
        print(f"   {name:<24}{tally.cut_ins:>6}{cells}{delay}{missed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.cut_ins.rounds")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="dialogues of each speaker")
    run(report_line, parser.parse_args().rounds)
