"""Human clips joined into dialogues whose turns, and the pauses inside them, are known.

A turn is one to three sentences of one speaker, with 0.2 to 1.2 s between
them; every second sentence hesitates as long in its middle, at its quietest
place. After a turn there are 2.5 s of silence. Pauses that the speaker made
stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vivavoce.engine.ports import EAR_RATE, Samples

PAUSES = (0.2, 1.2)
ENDING = 2.5
MOST_SENTENCES = 3
_STEP = EAR_RATE // 50
_MIDDLE = (0.3, 0.7)


@dataclass(frozen=True, slots=True)
class Clip:
    speaker: str
    samples: Samples
    """From the first word to the last."""
    text: str


@dataclass(frozen=True, slots=True)
class Pause:
    """In milliseconds, up to where the speaker goes on."""

    begins: int
    ends: int
    kind: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    sound: Samples
    turns: tuple[tuple[int, int], ...]
    """The first and the last word of each, in milliseconds."""
    pauses: tuple[Pause, ...]
    """Inside the turns, by us."""
    number: int = 0


def human(spoken: Callable[[Samples], Samples]) -> list[Clip]:
    """Every recording there is, of each what is `spoken`. Not from a running loop."""
    # Late: it fetches what is not there yet, and tests bring clips of their own.
    from bench.material.recordings import recordings

    return [Clip(speaker(one.name), spoken(one.speech), one.words) for one in recordings()]


def of_folder(folder: Path, spoken: Callable[[Samples], Samples]) -> list[Clip]:
    """Other people's sentences, `SPEAKER/*.wav`, each from its first word to its last."""
    from bench.material.recordings import read

    return [
        Clip(path.parent.name, spoken(read(path)), "") for path in sorted(folder.glob("*/*.wav"))
    ]


def speaker(name: str) -> str:
    """Who says it, by the name of the file."""
    plain = name.rpartition("/")[2]
    if found := re.match(r"(spk\d+)_|(sense_and_sensibility)", plain):
        return str(found[0])
    return "cards" if re.fullmatch(r"\d{3}\.wav", plain) else plain


def dialogues(clips: Sequence[Clip], rounds: int, seed: int = 7) -> list[Dialogue]:
    """So many of each speaker, of all that this speaker says; the same ones every time."""
    dice = np.random.default_rng(seed)
    made: list[Dialogue] = []
    for _ in range(rounds):
        for one in sorted({clip.speaker for clip in clips}):
            said = [clip.samples for clip in clips if clip.speaker == one]
            shuffled = [said[i] for i in dice.permutation(len(said))]
            made.append(replace(_dialogue(shuffled, dice), number=len(made)))
    return made


class _Tape:
    def __init__(self, dice: np.random.Generator) -> None:
        self._dice = dice
        self.parts: list[Samples] = []
        self.pauses: list[Pause] = []

    @property
    def ms(self) -> int:
        return sum(map(len, self.parts)) * 1000 // EAR_RATE

    def quiet(self, seconds: float) -> None:
        # No room is without any noise, and none of the models has heard one that was.
        noise = self._dice.normal(0.0, 0.0005, int(seconds * EAR_RATE))
        self.parts.append(noise.astype(np.float32))

    def pause(self, kind: str) -> None:
        begins = self.ms
        self.quiet(float(self._dice.uniform(*PAUSES)))
        self.pauses.append(Pause(begins, self.ms, kind))

    def sentence(self, samples: Samples, *, hesitates: bool) -> None:
        at = _quietest(samples)
        if not hesitates:
            self.parts.append(samples)
            return
        self.parts.append(samples[:at])
        self.pause("in a sentence")
        self.parts.append(samples[at:])


def _dialogue(said: list[Samples], dice: np.random.Generator) -> Dialogue:
    tape = _Tape(dice)
    tape.quiet(1.0)
    turns: list[tuple[int, int]] = []
    number = 0
    while number < len(said):
        many = int(dice.integers(1, MOST_SENTENCES + 1))
        begins = tape.ms
        for place, samples in enumerate(said[number : number + many]):
            if place:
                tape.pause("after a sentence")
            tape.sentence(samples, hesitates=(number + place) % 2 == 1)
        number += many
        turns.append((begins, tape.ms))
        tape.quiet(ENDING)
    tape.quiet(4.0)  # so that the last turn has all the time it wants
    return Dialogue(np.concatenate(tape.parts), tuple(turns), tuple(tape.pauses))


def _quietest(samples: Samples) -> int:
    """Where a breath would fit, near the middle."""
    steps = len(samples) // _STEP
    power = np.square(samples[: steps * _STEP].reshape(steps, _STEP)).mean(axis=1)
    smooth = np.convolve(power, np.ones(3) / 3, mode="same")
    low, high = (int(steps * share) for share in _MIDDLE)
    return (low + int(np.argmin(smooth[low:high]))) * _STEP + _STEP // 2
