"""What the weights of `engine/turn/endpoint.py` are fitted with: every pause is heard out once,
with all that the models said of it, and then decided as often as one likes, in no time.

Pauses are those of `bench.cut_ins.clips`, of the open speakers or of other people's sentences in a
folder (`SPEAKER/*.wav`), never of the closed ones. What was heard is kept in a file; another seed
adds to it. A logistic regression tells what each sign is worth, with the speakers kept apart; the
real endpointer, asked pause by pause, tells what comes of the weights it has.
`python -m bench.cut_ins.fitting KEPT [--clips FOLDER] [--rounds N] [--seed N]`; with no seed
nothing new is heard.
"""

from __future__ import annotations

import argparse
import math
import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.cut_ins.clips import Dialogue, dialogues, human, of_folder
from bench.cut_ins.room import Room, Talk
from bench.cut_ins.rounds import KINDS, chosen, rooms
from vivavoce.engine.turn import endpoint, facts
from vivavoce.engine.turn.endpoint import FRAME_MS, Endpointer, Heard, Judge
from vivavoce.language.en.ending import Ending
from vivavoce.wire.realtime.session import SemanticVad

END = "the end"
_HEARD_OUT_MS = 1_700
_LONGEST_MS = 3_000
_COUNTS_MS = 240
"""What is over before anybody could decide says nothing."""
_PARTS = 8
_NEAR_MS = 400
LOOKS: tuple[Ending, ...] = ("whole", "told", "unclear")
Floats = npt.NDArray[np.float64]


@dataclass
class Pause:
    """All that is known of one, and what it was."""

    at_ms: int
    lasted_ms: int
    """The turn, until then."""
    silence_ms: int = _LONGEST_MS
    verdicts: dict[int, float] = field(default_factory=dict)
    """By the silence after which the judge was asked."""
    heard: Heard | None = None
    heard_ms: int = 0
    kind: str = ""
    speaker: str = ""


class Patient(Endpointer):
    """Interrupts nobody, and keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(SemanticVad())
        self.pauses: list[Pause] = []

    def _if_over(self, settings: SemanticVad) -> list[facts.Milestone]:
        return self._stop() if self.now_ms - self._since_ms >= _HEARD_OUT_MS else []

    def feed(self, probability: float) -> list[facts.Milestone]:
        told = super().feed(probability)
        for one in told:
            if isinstance(one, facts.SpeechPaused):
                self.pauses.append(Pause(one.at_ms, one.at_ms - self._began_ms))
            if isinstance(one, facts.SpeechResumed):
                self.pauses[-1].silence_ms = one.at_ms - self.pauses[-1].at_ms
        return told

    def verdict(self, probability: float, asked_ms: int) -> list[facts.Milestone]:
        if self._asked_ms == asked_ms:
            self.pauses[-1].verdicts[asked_ms - self.pauses[-1].at_ms] = probability
        return super().verdict(probability, asked_ms)

    def heard(self, heard: Heard, pause_ms: int) -> list[facts.Milestone]:
        if self.pauses and self.pauses[-1].at_ms == pause_ms:
            self.pauses[-1].heard, self.pauses[-1].heard_ms = heard, self.now_ms - pause_ms
        return super().heard(heard, pause_ms)


def heard_out(room: Room, dialogue: Dialogue, speaker: str) -> list[Pause]:
    patient = Patient()
    detection = {"type": "semantic_vad", "eagerness": "auto"}
    Talk(room, dialogue, patient, detection).run(room.probabilities(dialogue.sound))
    for pause in patient.pauses:
        pause.kind, pause.speaker = _kind(dialogue, pause), speaker
    return [pause for pause in patient.pauses if pause.heard is not None]


def _kind(dialogue: Dialogue, pause: Pause) -> str:
    ends = pause.at_ms + pause.silence_ms
    if any(abs(pause.at_ms - last) <= _NEAR_MS and ends > last for _, last in dialogue.turns):
        return END
    put = [p.kind for p in dialogue.pauses if p.begins - _NEAR_MS // 2 <= pause.at_ms <= p.ends]
    return put[0] if put else KINDS[-1]


# --- What each sign is worth ------------------------------------------------------------


def fitted(pauses: Sequence[Pause]) -> None:
    """The end of a turn against what is inside a sentence; a pause between two sentences is
    neither."""
    known = [p for p in pauses if p.silence_ms >= _COUNTS_MS and p.kind != KINDS[1] and p.verdicts]
    signs = np.array([_signs(pause) for pause in known])
    ends = np.array([float(pause.kind == END) for pause in known])
    names = ["before", "judged", "closed", "long", *LOOKS]
    print(
        "   "
        + ", ".join(f"{n} {w:.2f}" for n, w in zip(names, _regressed(signs, ends), strict=True))
    )
    apart = sorted({pause.speaker for pause in known})
    part = np.array([apart.index(pause.speaker) % _PARTS for pause in known])
    odds = np.zeros(len(known))
    for one in range(_PARTS):
        if (part == one).any() and (part != one).any():
            odds[part == one] = signs[part == one] @ _regressed(
                signs[part != one], ends[part != one]
            )
    over, under = odds[ends == 1][:, np.newaxis], odds[ends == 0][np.newaxis]
    ranked = float(np.mean((over > under) + 0.5 * (over == under)))
    print(
        f"   an end is likelier than what is none {100 * ranked:.0f} times of 100, of other people"
    )


def _signs(pause: Pause) -> list[float]:
    heard = pause.heard or Heard("unclear")
    early = [pause.verdicts[ms] for ms in sorted(pause.verdicts)[:2]]
    judged = (sum(early) / len(early) + min(early)) / 2
    closed = 0.5 if heard.closed is None else heard.closed
    lasted = 1.0 if heard.ending == "whole" else min(max(pause.lasted_ms, 500), 8_000) / 3_000
    return [1.0, _odds(judged, 0.02), _odds(closed, 0.002), math.log(lasted)] + [
        float(heard.ending == looks) for looks in LOOKS
    ]


def _odds(likely: float, least: float) -> float:
    most = min(max(likely, least), 1 - least)
    return math.log(most / (1 - most))


def _regressed(signs: Floats, ends: Floats) -> Floats:
    """By Newton, with a weak pull to nothing."""
    weights = np.zeros(signs.shape[1])
    pull = np.diag([1e-6] + [1.0] * (signs.shape[1] - 1))
    for _ in range(50):
        likely = 1 / (1 + np.exp(-signs @ weights))
        slope = signs.T @ (likely - ends) + pull @ weights
        bend = (signs.T * (likely * (1 - likely))) @ signs + pull
        weights = weights - np.linalg.solve(bend, slope)
    return weights


# --- What comes of it -------------------------------------------------------------------


def decided(pause: Pause) -> int | None:
    """After how much silence the endpointer takes the turn; None if the speaker goes on first."""
    points = Endpointer(SemanticVad())
    for _ in range(max(4, pause.lasted_ms // FRAME_MS)):
        points.feed(1.0)
    since, told, due = points.now_ms, list[facts.Milestone](), dict[int, int]()
    while points.now_ms - since < pause.silence_ms:
        told = points.feed(0.0)
        due |= {one.at_ms: points.now_ms + 2 * FRAME_MS for one in told if isinstance(one, Judge)}
        silence = points.now_ms - since
        if pause.heard is not None and silence - FRAME_MS < pause.heard_ms <= silence:
            told += points.heard(pause.heard, since)
        for asked, ms in due.items():
            if ms == points.now_ms:
                known = min(pause.verdicts, key=lambda at: abs(at - (asked - since)), default=None)
                told += points.verdict(pause.verdicts[known] if known else 0.5, asked)
        if any(isinstance(one, facts.SpeechStopped) for one in told):
            return silence
    return None


def replayed(pauses: Iterable[Pause]) -> None:
    """For more and less caution than there is."""
    usual, pauses = endpoint._PLAIN, list(pauses)
    try:
        for plain in np.arange(usual - 0.12, usual + 0.1, 0.04):
            endpoint._PLAIN = float(plain)
            taken = {
                kind: [decided(pause) for pause in pauses if pause.kind == kind]
                for kind in (*KINDS, END)
            }
            ends = [one for one in taken.pop(END) if one is not None]
            shares = ", ".join(
                f"{kind} {sum(one is not None for one in some)} of {len(some)}"
                for kind, some in taken.items()
            )
            print(f"   {plain:.2f}: {shares}; ends after {np.percentile(ends, [25, 50, 75])} ms")
    finally:
        endpoint._PLAIN = usual


# --- Running it -------------------------------------------------------------------------


def hear(kept: Path, clips: Path | None, rounds: int, seed: int) -> None:
    with rooms() as make:
        room = make()
        spoken = room.spoken
        said = chosen(human(spoken), "open") if clips is None else of_folder(clips, spoken)
        pauses = _kept(kept)
        speakers = sorted({clip.speaker for clip in said})
        for dialogue in dialogues(said, rounds, seed):
            speaker = speakers[dialogue.number % len(speakers)]
            pauses += heard_out(room, dialogue, speaker)
            kept.write_bytes(pickle.dumps(pauses))


def _kept(path: Path) -> list[Pause]:
    return list(pickle.loads(path.read_bytes())) if path.is_file() else []  # our own


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.cut_ins.fitting")
    parser.add_argument("kept", type=Path, help="what was heard is kept there")
    parser.add_argument("--clips", type=Path, help="sentences of others, SPEAKER/*.wav")
    parser.add_argument("--rounds", type=int, default=1, help="dialogues of each speaker")
    parser.add_argument("--seed", type=int, help="hear the dialogues of these dice")
    asked = parser.parse_args()
    if asked.seed is not None:
        hear(asked.kept, asked.clips, asked.rounds, asked.seed)
    fitted(_kept(asked.kept))
    replayed(_kept(asked.kept))
