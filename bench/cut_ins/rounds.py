"""False cut-ins on human speech: our turn taking beside Smart Turn alone and a fixed silence.

Dialogues are those of `bench.cut_ins.clips`, and what happens in them is that of
`bench.cut_ins.room`. A turn that is taken before its last word is a false cut-in; it is
*noticed* where an answer was heard before the user's turn was over. The delay is from the
end of the last word (by the detector, on the clip alone) to the moment the turn is taken,
and to the first sound of an answer. All have the same detector, judge and answer.

Whole speakers are kept apart: what is tuned is tuned on the open ones, and the figures
that count are those of the closed ones.
`python -m bench.cut_ins.rounds [--rounds N] [--speakers open|closed|all] [--seeds N]`.

Sixty turns are few: how long the pauses are is a matter of luck. With `--seeds` the dice
are thrown so many times, for `auto` alone, the first time as ever, and the mean is told
with its spread.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bench import report as report_line
from bench import size
from bench.cut_ins.clips import Clip, Dialogue, dialogues, human
from bench.cut_ins.room import LATE_FRAMES, Course, Finder, OncePerPause, Room, Talk, ours
from vivavoce.app.settings import load_settings
from vivavoce.engine.ears.detecting import SmartTurn, load_silero
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.turn.endpoint import FRAME_MS
from vivavoce.models.store import ModelStore
from vivavoce.wire.realtime.session import Eagerness, SemanticVad, ServerVad

Report = Callable[[str, float, float, str], None]
Speakers = Literal["open", "closed", "all"]

ROUNDS = size(6, quick=1)
OPEN = frozenset({"spk1_", "cards", "example1.wav", "LJ050-0131.wav", "jfk.wav", "goforward.raw"})
"""The speakers that may be looked at. All others are closed."""
EAGERNESS: tuple[Eagerness, ...] = ("low", "medium", "auto", "high")
PEER = "Smart Turn alone"
DEFAULT = "semantic_vad, auto"
SEED = 7
KINDS = ("in a sentence", "after a sentence", "the speaker's own")


# --- Counting -------------------------------------------------------------------------


@dataclass
class Tally:
    false: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    pauses: int = 0
    missed: int = 0
    """Turns that nobody took before the next one began."""
    backs: int = 0
    delays: list[int] = field(default_factory=list)
    sounds: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Noticed, of a hundred turns; never quite none, since it is divided by."""
        return max(0.1, 100 * self.noticed.total() / max(1, self.turns))


def middle(values: Sequence[int], share: float = 50) -> float:
    return float(np.percentile(values, share)) if values else float("nan")


def count(tally: Tally, dialogue: Dialogue, course: Course) -> None:
    """Inside a turn it is a false cut-in, and the first one after it is its end."""
    tally.turns += len(dialogue.turns)
    tally.pauses += len(dialogue.pauses)
    tally.backs += course.backs
    next_begins = [begins for begins, _ in dialogue.turns[1:]] + [1 << 31]
    for (begins, ends), following in zip(dialogue.turns, next_begins, strict=True):
        tally.false.update(_kind(dialogue, ms) for ms in course.taken if begins <= ms < ends)
        tally.noticed.update(_kind(dialogue, ms) for ms in course.sounds if begins <= ms < ends)
        after = [ms - ends for ms in course.taken if ends <= ms < following]
        tally.delays += after[:1]
        tally.missed += not after
        tally.sounds += [ms - ends for ms in course.sounds if ends <= ms < following][:1]


def _kind(dialogue: Dialogue, ms: int) -> str:
    # An end that is told a few frames into the next word was found in the pause before.
    late = LATE_FRAMES * FRAME_MS
    inside = [pause.kind for pause in dialogue.pauses if pause.begins <= ms <= pause.ends + late]
    return inside[0] if inside else KINDS[-1]


def contestants() -> dict[str, tuple[Callable[[], Finder], dict[str, str]]]:
    """Who finds the end, and what the machine is told of it."""
    semantic: dict[str, tuple[Callable[[], Finder], dict[str, str]]] = {
        f"semantic_vad, {one}": (
            ours(SemanticVad(eagerness=one)),
            {"type": "semantic_vad", "eagerness": one},
        )
        for one in EAGERNESS
    }
    plain = {"type": "server_vad"}
    return {
        PEER: (OncePerPause, plain),
        **semantic,
        "server_vad, 500 ms": (ours(ServerVad()), plain),
    }


def measure(
    room: Room,
    clips: Sequence[Clip],
    rounds: int,
    seed: int = SEED,
    only: frozenset[str] | None = None,
) -> dict[str, Tally]:
    """Everybody, or only those."""
    asked = {n: one for n, one in contestants().items() if only is None or n in only}
    tallies = {name: Tally() for name in asked}
    for dialogue in dialogues(clips, rounds, seed):
        speech = room.probabilities(dialogue.sound)
        for name, (make, detection) in asked.items():
            course = Talk(room, dialogue, make(), detection).run(speech)
            count(tallies[name], dialogue, course)
    return tallies


def throws(
    room: Callable[[], Room], clips: Sequence[Clip], rounds: int, seeds: int
) -> Iterator[Tally]:
    """`auto` alone, with other dice each time. Each in a room of its own: a room remembers by the
    number of a dialogue."""
    for seed in range(SEED, SEED + seeds):
        tally = measure(room(), clips, rounds, seed, frozenset({DEFAULT}))[DEFAULT]
        false, heard = ([counts[kind] for kind in KINDS] for counts in (tally.false, tally.noticed))
        print(
            f"   seed {seed}: {false} false, {heard} heard, {middle(tally.delays):.0f} ms",
            flush=True,
        )
        yield tally


# --- Telling --------------------------------------------------------------------------


@contextmanager
def rooms() -> Iterator[Callable[[], Room]]:
    """Makes rooms on the same models. Fetches what is not there; not from a running loop."""
    store = ModelStore(load_settings().models_dir)
    asyncio.run(store.pull(["silero-vad", "smart-turn", "moonshine-base"]))
    judge = SmartTurn(store.path("smart-turn", "smart_turn.onnx"))
    ears = MoonshineEars(store.folder / "moonshine-base")
    detector = load_silero(store.path("silero-vad", "silero_vad.onnx"))()
    try:
        yield lambda: Room(detector, judge, ears)
    finally:
        judge.close()
        ears.close()


def run(report: Report, rounds: int = ROUNDS, speakers: Speakers = "all", seeds: int = 0) -> None:
    with rooms() as room:
        clips = chosen(human(room().spoken), speakers)
        if seeds:
            show_many(list(throws(room, clips, rounds, seeds)))
            return
        tallies = measure(room(), clips, rounds)
    show(tallies, speakers)
    peer = tallies[PEER]
    for name, tally in tallies.items():
        if tally is not peer:
            what = f"cut-ins, {name}"
            report(f"{what}: noticed, of 100 turns", tally.share, peer.share, "cut-ins")
            delays = middle(tally.delays), middle(peer.delays)
            report(f"{what}: delay of a true end, p50", *delays, "ms")


def chosen(clips: Sequence[Clip], speakers: Speakers) -> list[Clip]:
    wanted = {"all": (True, False), "open": (True,), "closed": (False,)}[speakers]
    return [clip for clip in clips if (clip.speaker in OPEN) in wanted]


def show(tallies: dict[str, Tally], speakers: Speakers = "all") -> None:
    first = next(iter(tallies.values()))
    print(f"   {speakers} speakers: {first.turns} turns with {first.pauses} pauses put into them")
    print("   false cut-ins, in brackets those in which an answer was heard; delays p50 / p95:")
    heads = ("all", *KINDS)
    print(
        f"   {'':<21}"
        + "".join(f"{head:>19}" for head in heads)
        + f"{'taken':>16}{'first sound':>16}"
    )
    for name, tally in tallies.items():
        figures = [(tally.false.total(), tally.noticed.total())]
        figures += [(tally.false[kind], tally.noticed[kind]) for kind in KINDS]
        cells = "".join(f"{f'{taken} ({heard})':>19}" for taken, heard in figures)
        for delays in (tally.delays, tally.sounds):
            cells += f"{middle(delays):>9,.0f} /{middle(delays, 95):>5,.0f}"
        missed = f", {tally.missed} never taken" if tally.missed else ""
        back = f", {tally.backs} taken back" if tally.backs else ""
        print(f"   {name:<21}{cells}{back}{missed}")


def show_many(tallies: Sequence[Tally]) -> None:
    """The mean of all throws of the dice, and how far one is from another."""

    def tell(what: str, values: Sequence[float]) -> None:
        print(f"   {what:<40}{np.mean(values):>8,.1f}  ± {np.std(values):.1f}")

    tell("turns", [tally.turns for tally in tallies])
    tell("pauses put into them", [tally.pauses for tally in tallies])
    for kind in KINDS:
        tell(f"false, {kind}", [tally.false[kind] for tally in tallies])
        tell(f"heard, {kind}", [tally.noticed[kind] for tally in tallies])
    tell("heard", [tally.noticed.total() for tally in tallies])
    tell("delay of a true end, p50, ms", [middle(tally.delays) for tally in tallies])
    tell("its first sound, p50, ms", [middle(tally.sounds) for tally in tallies])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.cut_ins.rounds")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="dialogues of each speaker")
    parser.add_argument("--speakers", choices=("open", "closed", "all"), default="all")
    parser.add_argument("--seeds", type=int, default=0, help="so many throws of the dice")
    asked = parser.parse_args()
    run(report_line, asked.rounds, asked.speakers, asked.seeds)
