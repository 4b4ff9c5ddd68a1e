"""When does somebody speak, pause, and finish? Probabilities in, milestones out; no I/O.

    quiet ──over threshold──▶ maybe ──three frames over──▶ speech ◀──over──▶ pause
      ▲                         │ dismissed                                    │ stopped
      └─────────────────────────┴──────────────────────────────────────────────┘

Server VAD ends a turn after a fixed silence. Semantic VAD asks a judge at a
pause (`Judge`), hears its answer (`verdict`) and what the words look like
(`heard`), and waits for as much silence as the two together ask for. Where they
leave a doubt the turn is over all the same, and `SpeechStopped` tells for how
long it may still turn out not to be. All times are milliseconds of the session's
audio. Knows nothing of sound, models or responses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, auto

from vivavoce.engine.turn import facts
from vivavoce.language.en.ending import Ending
from vivavoce.wire.realtime.session import Eagerness, SemanticVad, ServerVad
from vivavoce.wire.values import Value

FRAME_MS = 32

_CONFIRM_FRAMES = 3
"""Speech for 96 ms: clicks and knocks are shorter."""
_DOUBT_FRAMES = 8
"""After that many frames that are neither one nor the other it was nothing."""
_PAUSE_FRAMES = 2
"""Closed lips in the middle of a word look like silence for a frame."""
_HYSTERESIS = 0.15
"""Speech goes on at probabilities that would not have begun it."""
_LATE_MS = 46
"""How much later than the ear the detector notices that speech has ended: the median over people
and voices. A silence is counted from where it began, to the nearest frame."""

_SEMANTIC = ServerVad()
"""Semantic VAD hears speech as server VAD does, where it has no words of its own for it."""


class Patience(Value):
    """What an eagerness means: the probability that satisfies the judge, the longest wait, and how
    much longer or shorter than usual everything takes.

    `least_ms` is the silence that ends a turn of which nobody knows the words.
    """

    sure: float
    least_ms: int
    longest_ms: int
    pace: float = 1.0


PATIENCE: dict[Eagerness, Patience] = {
    "low": Patience(0.9, 900, 8_000, 1.6),
    "medium": Patience(0.7, 600, 4_000),
    "auto": Patience(0.7, 600, 4_000),
    "high": Patience(0.5, 400, 2_000, 0.75),
}


class Silences(Value):
    """What words ask for, in milliseconds of silence since the last of them."""

    sure: int
    """Ends the turn where the judge is sure too."""
    unsure: int
    """Ends it where the judge is sure of the contrary; in between, in between."""
    heard: int
    """Before that nothing of the answer is heard, though it is made."""
    settled: int
    """Until then whoever goes on has never stopped."""


SILENCES: dict[Ending, Silences] = {
    "whole": Silences(200, 1_400, 0, 800),
    "told": Silences(200, 1_400, 1_300, 1_500),
    "unclear": Silences(200, 1_450, 1_500, 1_700),
    "unfinished": Silences(1_500, 2_000, 0, 0),
}
"""Who tells something and goes on does so within a second or a little more; after that people take
a silence for the end, or for a question. Who asks or wants something waits for an answer."""
_DOUBTED_MS = 1_300
"""Nothing is heard earlier where the judge has any doubt."""


_BEFORE, _JUDGED, _CLOSED, _LONG = -2.8, 0.22, 0.5, 0.6
_LOOKS: dict[Ending, float] = {"whole": 1.8, "told": 1.4, "unclear": 0.8, "unfinished": 1.4}
"""That somebody has finished, as odds that add up: before anything is known, by the judge, by the
mark that the ears find behind the last word, by how long the turn is, and by what the words look
like. Fitted to the open speakers of `bench.cut_ins` and to 32 people who read, tell and are
interviewed, by their own pauses and by some that were put into their sentences; then whole words
were given a little more, and unclear ones a little less. (An unfinished sentence has silences of
its own; that it was the last one all the same is for the others to say.)"""
_NEUTRAL = 0.97
"""For ears that cannot tell a full stop."""
_USUAL_MS, _SHORT_MS, _LONG_MS = 3_000, 500, 8_000
"""Who has told little has rather more to tell. Questions and requests are whole however short."""
_PLAIN, _BAND = 0.70, 0.13
"""Whoever is that likely to have finished is answered soon; whoever is so much less likely, as
late as can be."""
_USUAL_SURE, _MATTERS = PATIENCE["auto"].sure, 0.15
"""How much of what an eagerness asks of the judge is asked of all of them together."""
_LONGER_MS = 250
_HABIT_MS = 1_600
"""Who went on after a long pause in this turn does so again: nothing is heard before there is a
silence that much longer, up to a limit."""
ASK_MS = (96, 192, 1216, 2016, 3008, 4512, 6016)
"""The judge is asked when a pause has lasted so long: twice at its beginning, since its verdicts
jump, and then as the silence grows, which it takes for the end sooner or later."""


class Heard(Value):
    """What the words before a pause look like, and how likely, by the ears, the mark there ends the
    sentence."""

    ending: Ending
    closed: float | None = None


class Judge(facts.Milestone):
    """Somebody should tell `verdict` whether the speaker has finished."""


class _State(Enum):
    QUIET = auto()
    MAYBE = auto()
    SPEECH = auto()
    PAUSE = auto()


class Endpointer:
    """One for each stream of sound. Feed it every frame, in order."""

    def __init__(self, settings: ServerVad | SemanticVad | None = None, start_ms: int = 0) -> None:
        self.settings = settings or ServerVad()
        detection = self.settings if isinstance(self.settings, ServerVad) else _SEMANTIC
        self._threshold, self._padding_ms = detection.threshold, detection.prefix_padding_ms
        self.now_ms = start_ms
        """The end of the last frame."""
        self._paused_ms = 0
        """The longest pause after which this turn went on."""
        self._began_ms = start_ms
        """Where this turn began, the parts that were taken back with it."""
        self._open: tuple[int, int] | None = None
        """A turn that was taken: where its last silence began, and until when it is open."""
        self.reset()

    def _forget(self) -> None:
        self._state = _State.QUIET
        self._since_ms = self.now_ms
        """Where this maybe, this speech or this silence began."""
        self._frames = self._over = self._silent = 0
        self._questions = 0
        self._asked_ms: int | None = None
        self._verdicts: list[float] = []
        """What the judge said of this pause."""
        self._heard: Heard | None = None
        """What its words look like."""

    @property
    def speaking(self) -> bool:
        """Between `SpeechStarted` and `SpeechStopped`."""
        return self._state in (_State.SPEECH, _State.PAUSE)

    def reset(self) -> None:
        """The audio so far is committed or cleared: a turn under way is forgotten without a word,
        and no turn begins before now."""
        self._floor_ms = self.now_ms
        self._forget()

    def feed(self, probability: float) -> list[facts.Milestone]:
        """The next frame's probability of speech."""
        begin_ms = self.now_ms
        self.now_ms += FRAME_MS
        match self._state:
            case _State.QUIET:
                return self._quiet(probability, begin_ms)
            case _State.MAYBE:
                return self._maybe(probability)
            case _State.SPEECH:
                return self._speech(probability, begin_ms)
            case _State.PAUSE:
                return self._pause(probability, begin_ms)

    def verdict(self, probability: float, asked_ms: int) -> list[facts.Milestone]:
        """The judge's answer to the question of `asked_ms`; too late, it counts for nothing."""
        if self._asked_ms != asked_ms or not isinstance(self.settings, SemanticVad):
            return []
        self._asked_ms = None
        self._verdicts.append(probability)
        return self._if_over(self.settings)

    def heard(self, heard: Heard, pause_ms: int) -> list[facts.Milestone]:
        """What the words before the pause of `pause_ms` look like; too late, it counts for
        nothing."""
        here = self._state is _State.PAUSE and self._since_ms == pause_ms
        if not here or not isinstance(self.settings, SemanticVad):
            return []
        self._heard = heard
        return self._if_over(self.settings)

    # --- States ---------------------------------------------------------------------

    def _quiet(self, probability: float, begin_ms: int) -> list[facts.Milestone]:
        if probability < self._threshold:
            return []
        self._state, self._since_ms = _State.MAYBE, begin_ms
        self._frames = self._over = 1
        return [facts.SpeechSuspected(begin_ms)]

    def _maybe(self, probability: float) -> list[facts.Milestone]:
        self._frames += 1
        self._over += probability >= self._threshold
        if self._over >= _CONFIRM_FRAMES:
            self._state, self._silent = _State.SPEECH, 0
            self._begin()
            return [facts.SpeechStarted(max(self._floor_ms, self._since_ms - self._padding_ms))]
        if self._under(probability) or self._frames >= _DOUBT_FRAMES:
            self._forget()
            return [facts.SpeechDismissed(self.now_ms)]
        return []

    def _speech(self, probability: float, begin_ms: int) -> list[facts.Milestone]:
        if not self._under(probability):
            self._silent = 0
            return []
        self._silent += 1
        if self._silent < _PAUSE_FRAMES:
            return []
        self._state = _State.PAUSE
        self._since_ms = begin_ms - (self._silent - 1) * FRAME_MS
        self._questions, self._asked_ms = 0, None
        self._verdicts, self._heard = [], None
        return [facts.SpeechPaused(self._since_ms), *self._wait()]

    def _pause(self, probability: float, begin_ms: int) -> list[facts.Milestone]:
        if probability >= self._threshold:
            self._state, self._silent, self._asked_ms = _State.SPEECH, 0, None
            self._paused_ms = max(self._paused_ms, begin_ms - self._since_ms)
            return [facts.SpeechResumed(begin_ms)]
        return self._wait()

    def _begin(self) -> None:
        """Another turn, unless it is the last one that goes on."""
        silence_ms, until_ms = self._open or (0, -1)
        going_on = self._since_ms <= until_ms
        self._paused_ms = max(self._paused_ms, self._since_ms - silence_ms) if going_on else 0
        if not going_on:
            self._began_ms = self._since_ms
        self._open = None

    # --- Endings --------------------------------------------------------------------

    def _wait(self) -> list[facts.Milestone]:
        """Is the silence long enough, or is it time to ask?"""
        silence_ms = self.now_ms - self._since_ms
        if isinstance(self.settings, ServerVad):
            counted_ms = silence_ms + _LATE_MS + FRAME_MS // 2
            return self._stop() if counted_ms >= self.settings.silence_duration_ms else []
        if over := self._if_over(self.settings):
            return over
        due = sum(silence_ms >= ask_ms for ask_ms in ASK_MS)
        if due <= self._questions:
            return []
        self._questions, self._asked_ms = due, self.now_ms
        return [Judge(self.now_ms)]

    def _if_over(self, settings: SemanticVad) -> list[facts.Milestone]:
        patience = PATIENCE[settings.eagerness]
        silence_ms = self.now_ms - self._since_ms + _LATE_MS
        if self._heard is None:
            sure = bool(self._verdicts) and min(self._verdicts) >= patience.sure
            enough = patience.least_ms if sure else patience.longest_ms
            return self._stop() if silence_ms >= enough else []
        wanted = SILENCES[self._heard.ending]
        doubt = _doubt(self._verdicts, self._heard, self._since_ms - self._began_ms, patience)
        enough = int((wanted.sure + doubt * (wanted.unsure - wanted.sure)) * patience.pace)
        if silence_ms < min(enough, patience.longest_ms):
            return []
        quiet_ms = max(wanted.heard, _DOUBTED_MS) if doubt and wanted.settled else wanted.heard
        habit_ms = (
            min(self._paused_ms + _LONGER_MS, _HABIT_MS) if self._paused_ms > _LONGER_MS else 0
        )
        quiet_ms = max(int(quiet_ms * patience.pace), habit_ms)
        open_ms = max(quiet_ms, int(wanted.settled * patience.pace))
        return self._stop(max(0, quiet_ms - silence_ms), max(0, open_ms - silence_ms))

    def _stop(self, hold_ms: int = 0, open_ms: int = 0) -> list[facts.Milestone]:
        self._open = (self._since_ms, self.now_ms + open_ms)
        self.reset()
        return [facts.SpeechStopped(self.now_ms, hold_ms, open_ms)]

    def _under(self, probability: float) -> bool:
        # A threshold near zero must still leave room for silence below it.
        low = max(self._threshold - _HYSTERESIS, self._threshold / 2)
        return probability < low


def _doubt(verdicts: Sequence[float], heard: Heard, lasted_ms: int, patience: Patience) -> float:
    """From none to complete. Single verdicts jump, and one that is too sure costs more than one
    that is not: the least sure counts most. A judge who was not heard yet doubts everything."""
    if not verdicts:
        return 1.0
    judged = (sum(verdicts) / len(verdicts) + min(verdicts)) / 2
    closed = _NEUTRAL if heard.closed is None else heard.closed
    odds = _BEFORE + _LOOKS[heard.ending] + _JUDGED * _odds(judged) + _CLOSED * _odds(closed, 0.002)
    if heard.ending != "whole":
        odds += _LONG * math.log(min(max(lasted_ms, _SHORT_MS), _LONG_MS) / _USUAL_MS)
    likely = 1 / (1 + math.exp(-odds))
    plain = _PLAIN + (patience.sure - _USUAL_SURE) * _MATTERS
    return min(1.0, max(0.0, (plain - likely) / _BAND))


def _odds(likely: float, least: float = 0.02) -> float:
    most = min(max(likely, least), 1 - least)
    return math.log(most / (1 - most))
