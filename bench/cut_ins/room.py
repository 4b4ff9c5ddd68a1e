"""What happens in one dialogue: the real endpointer and the real turn machine, with a clock of
their own.

The models are asked at once and answer as late as they do in the engine: the judge
two frames after the question, the ears by the length of what they heard. The answer's
first sound is ready `ANSWER_MS` after the silence began, since the engine makes it
ahead; it goes out when the machine lets it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bench.cut_ins.clips import Dialogue
from vivavoce.engine.ears.detecting import SileroVad, SmartTurn
from vivavoce.engine.ports import EAR_RATE, FRAME, Ears, Samples, Transcript
from vivavoce.engine.shell.hearing import ending as with_silence
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.asking import awaited
from vivavoce.engine.turn.configuration import initial, updated
from vivavoce.engine.turn.endpoint import FRAME_MS, Endpointer, Heard, Judge
from vivavoce.engine.turn.machine import Machine
from vivavoce.engine.turn.state import Policy
from vivavoce.language.en.ending import ending
from vivavoce.wire import brain
from vivavoce.wire.realtime.session import SemanticVad, ServerVad

LATE_FRAMES = 2
"""What the judge takes: 46 ms, and the way there and back."""
EARS_MS = 15
EARS_MS_A_SECOND = 15
"""What Moonshine takes for each second, with what it heard so far as a hint: 10 ms on two idle
cores, and half as much again beside the brain."""
ANSWER_MS = 450
"""From the beginning of the silence to sound that could be heard: the engine's own aim."""
SOUND_MS = 600
_WINDOW_MS = 8_000
_PER_MS = EAR_RATE // 1000


class Room:
    """The models, and what they said of a dialogue: asked once, told to everybody."""

    def __init__(self, detector: SileroVad, judge: SmartTurn, ears: Ears) -> None:
        self._detector, self._judge, self._ears = detector, judge, ears
        self._finished: dict[tuple[int, int, int], float] = {}
        self._texts: dict[tuple[int, int, int], Transcript] = {}

    def probabilities(self, sound: Samples) -> list[float]:
        self._detector.reset()
        whole = len(sound) - len(sound) % FRAME
        return [self._detector.feed(sound[at : at + FRAME]) for at in range(0, whole, FRAME)]

    def spoken(self, sound: Samples) -> Samples:
        """From the first word to the last, by the detector: some rooms are loud in between."""
        over = np.pad(np.array(self.probabilities(np.pad(sound, (0, FRAME)))) >= 0.5, 2)
        three = over[:-2] & over[1:-1] & over[2:]  # clicks are shorter
        (speech,) = np.nonzero(three[:-2] | three[1:-1] | three[2:])
        return sound[max(0, speech[0] - 1) * FRAME : (speech[-1] + 1) * FRAME]

    def finished(self, dialogue: Dialogue, from_ms: int, at_ms: int) -> float:
        """Like the engine, the judge hears the last eight seconds since the turn before."""
        begin = max(from_ms, at_ms - _WINDOW_MS)
        key = (dialogue.number, begin, at_ms)
        if key not in self._finished:
            heard = dialogue.sound[begin * _PER_MS : at_ms * _PER_MS]
            self._finished[key] = asyncio.run(self._judge.finished(heard))
        return self._finished[key]

    def words(self, dialogue: Dialogue, from_ms: int, until_ms: int) -> Transcript:
        key = (dialogue.number, from_ms, until_ms)
        if key not in self._texts:
            heard = with_silence(dialogue.sound[from_ms * _PER_MS : until_ms * _PER_MS])
            self._texts[key] = asyncio.run(self._ears.transcribe(heard))
        return self._texts[key]


# --- Who finds the end ------------------------------------------------------------------


class Finder(Protocol):
    """Hears probabilities of speech, asks (`Judge`), and tells milestones."""

    now_ms: int

    def feed(self, probability: float) -> list[facts.Milestone]: ...

    def verdict(self, probability: float, asked_ms: int) -> list[facts.Milestone]: ...

    def heard(self, heard: Heard, pause_ms: int) -> list[facts.Milestone]: ...


class OncePerPause:
    """The peer: asks Smart Turn the usual way, once, 200 ms into a pause, takes the turn at 0.5,
    and else waits for 3 s of silence."""

    BEGIN, STOP, LONGEST, SURE = 200, 200, 3000, 0.5

    def __init__(self) -> None:
        self.now_ms = 0
        self._speaking = self._turn = False
        self._changed_ms = self._quiet_ms = 0
        self._asked_ms: int | None = None

    def feed(self, probability: float) -> list[facts.Milestone]:
        self.now_ms += FRAME_MS
        loud = probability >= 0.5
        self._quiet_ms = 0 if loud else self._quiet_ms + FRAME_MS
        self._changed_ms = self._changed_ms + FRAME_MS if loud != self._speaking else 0
        told: list[facts.Milestone] = []
        if self._changed_ms >= (self.STOP if self._speaking else self.BEGIN):
            told = self._change(loud)
        if self._turn and not self._speaking and self._quiet_ms >= self.LONGEST:
            told += self._stop()
        return told

    def _change(self, loud: bool) -> list[facts.Milestone]:
        began_ms, self._changed_ms, self._speaking = self.now_ms - self._changed_ms, 0, loud
        self._asked_ms = None if loud else self.now_ms
        if not loud:
            return [facts.SpeechPaused(began_ms), Judge(self.now_ms)]
        going_on, self._turn = self._turn, True
        if going_on:
            return [facts.SpeechResumed(began_ms)]
        return [facts.SpeechStarted(max(0, began_ms - 300))]

    def verdict(self, probability: float, asked_ms: int) -> list[facts.Milestone]:
        if self._asked_ms != asked_ms or not self._turn:
            return []
        return self._stop() if probability >= self.SURE else []

    def heard(self, heard: Heard, pause_ms: int) -> list[facts.Milestone]:
        return []

    def _stop(self) -> list[facts.Milestone]:
        self._turn, self._asked_ms = False, None
        return [facts.SpeechStopped(self.now_ms)]


def ours(settings: ServerVad | SemanticVad) -> Callable[[], Finder]:
    return lambda: Endpointer(settings)


# --- One dialogue -----------------------------------------------------------------------


@dataclass
class Course:
    """What a listener in the room would have noticed, in milliseconds."""

    taken: list[int] = field(default_factory=list)
    sounds: list[int] = field(default_factory=list)
    """Where each answer begins to be heard."""
    backs: int = 0
    """Turns that were taken back."""


class Talk:
    """A dialogue on its way through a finder and the machine."""

    def __init__(
        self, room: Room, dialogue: Dialogue, finder: Finder, detection: dict[str, str]
    ) -> None:
        self._room, self._dialogue, self._finder = room, dialogue, finder
        numbers = itertools.count(1)
        voices = frozenset({"marin"})
        first = initial("vivavoce", voice="marin", voices=voices)
        wanted = updated(first, {"audio": {"input": {"turn_detection": detection}}}, voices=voices)
        policy = Policy("sess_1", "conv_1", voices, 2_000_000_000)
        self._machine = Machine(policy, wanted, lambda prefix: f"{prefix}_{next(numbers)}")
        self.course = Course()
        self._due: list[tuple[int, int, str, Callable[[], None]]] = []
        self._order = itertools.count()
        self._texts: dict[str, str] = {}
        self._silence_ms = 0
        """Where the last pause began."""
        self._since_ms = 0
        """From where the judge and the ears hear."""
        self._sounding: set[str] = set()

    def run(self, speech: Sequence[float]) -> Course:
        for probability in speech:
            self._tell(self._finder.feed(probability))
            while self._due and self._due[0][0] <= self._now:
                self._due.pop(0)[3]()
        return self.course

    @property
    def _now(self) -> int:
        return self._finder.now_ms

    def _at(self, ms: int, name: str, do: Callable[[], None]) -> None:
        self._due.append((ms, next(self._order), name, do))
        self._due.sort(key=lambda one: one[:2])

    def _tell(self, milestones: list[facts.Milestone]) -> None:
        for milestone in milestones:
            if isinstance(milestone, Judge):
                self._ask(milestone.at_ms)
            else:
                if isinstance(milestone, facts.SpeechStopped):
                    self.course.taken.append(self._now)
                if isinstance(milestone, facts.SpeechPaused):
                    self._silence_ms = milestone.at_ms
                self._post(milestone)

    def _ask(self, asked_ms: int) -> None:
        said = self._room.finished(self._dialogue, self._since_ms, asked_ms)
        late = asked_ms + LATE_FRAMES * FRAME_MS
        self._at(late, "judge", lambda: self._tell(self._finder.verdict(said, asked_ms)))

    def _post(self, fact: facts.Fact) -> None:
        for order in self._machine.receive(fact, self._now / 1000):
            self._do(order)

    # --- What the shell would do --------------------------------------------------------

    def _do(self, order: orders.Order) -> None:
        match order:
            case orders.Guess(item_id, start_ms, end_ms, pause_ms):
                self._hear(item_id, start_ms, end_ms, pause_ms)
            case orders.Transcribe(item_id, start_ms, end_ms):
                text = self._texts.get(item_id) or self._words(start_ms, end_ms).text
                seconds = (end_ms - start_ms) / 1000
                self._at(
                    self._now, item_id, lambda: self._post(facts.HeardAll(item_id, text, seconds))
                )
            case orders.Answer(response_id):
                ready = max(self._now, self._silence_ms + ANSWER_MS)
                self._at(ready, response_id, lambda: self._speak(response_id))
            case orders.StopAnswer(response_id):
                self._due = [one for one in self._due if one[2] != response_id]
            case orders.StartTimer(name, seconds):
                due = self._now + round(seconds * 1000)
                self._at(due, name, lambda: self._post(facts.TimerFired(name)))
            case orders.StopTimer(name):
                self._due = [one for one in self._due if one[2] != name]
            case orders.Play(response_id):
                if response_id not in self._sounding:
                    self._sounding.add(response_id)
                    self.course.sounds.append(self._now)
            case orders.ForgetAudio(before_ms):
                self._since_ms = max(self._since_ms, before_ms)
            case orders.Send({"type": "conversation.item.deleted"}):
                self.course.backs += 1
            case _:
                pass

    def _words(self, start_ms: int, end_ms: int) -> Transcript:
        # Sound is heard as it was at that time; nobody has heard further.
        return self._room.words(self._dialogue, start_ms, end_ms)

    def _hear(self, item_id: str, start_ms: int, end_ms: int, pause_ms: int) -> None:
        took = EARS_MS + EARS_MS_A_SECOND * (end_ms - start_ms) // 1000

        def tell() -> None:
            words = self._words(start_ms, min(end_ms, self._now))
            self._texts[item_id] = words.text
            looks = ending(words.text, awaited(self._machine.state))
            heard = Heard(looks, words.closed)
            self._tell(self._finder.heard(heard, pause_ms))

        self._texts.pop(item_id, None)
        self._due = [one for one in self._due if one[2] != "words"]
        self._at(self._now + took, "words", tell)

    def _speak(self, response_id: str) -> None:
        text = "I see."
        self._post(facts.Thought(response_id, brain.Words(text)))
        self._post(facts.Spoken(response_id, text, bytes(48 * SOUND_MS), SOUND_MS))
        self._post(facts.Thought(response_id, brain.Finished()))
        self._post(facts.AllSpoken(response_id))
