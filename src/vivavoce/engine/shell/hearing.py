"""The user's sound on its way in: kept for the ears, watched for speech, and written down while
it comes.

`Intake` owns the buffer and the detector of one session and turns sound into
milestones for the machine; `Partials` has one speech heard again and again.
Neither decides anything about turns.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np

from vivavoce.engine.ears.noise import Suppressor
from vivavoce.engine.media.audio import Inbound, Resampler, to_pcm
from vivavoce.engine.ports import EAR_RATE, FRAME, Detector, Pcm, Samples, Transcript
from vivavoce.engine.turn import endpoint, facts
from vivavoce.engine.turn.configuration import Configuration
from vivavoce.errors import VivavoceError
from vivavoce.language.en.dictation import dictated, settled
from vivavoce.language.en.ending import Ending
from vivavoce.wire.realtime.refusal import Refused
from vivavoce.wire.realtime.session import NoiseReductionType

log = logging.getLogger(__name__)

MAX_SECONDS = 600
"""Of sound that nobody commits: after that an append is refused."""
_QUIET_SECONDS = 30
"""Of sound without speech that are kept, where we look for speech ourselves."""
_PER_MS = EAR_RATE // 1000

EVERY_S = 0.4
"""Between two hearings of a speech that goes on."""
_LEAST = int(0.7 * EAR_RATE)
"""Of speech, with what the detector keeps in front of it: less is half a word."""
_SILENCE = int(0.2 * EAR_RATE)
_AUDIBLE = 0.01
"""Of a speech's power: what is 20 dB below it may be a soft syllable, or noise."""
_WORD = re.compile(r"\S+\s*")


class Intake:
    """`post` takes facts; `judge` is asked to find out whether a turn is over."""

    def __init__(
        self,
        configuration: Configuration,
        detector: Detector,
        *,
        post: Callable[[facts.Fact], None],
        judge: Callable[[int], None],
    ) -> None:
        self._detector, self._post, self._judge = detector, post, judge
        self._pieces: deque[Pcm] = deque()
        self._start = self._end = 0  # of the buffer, in samples of the session
        self._rest: Samples = np.zeros(0, np.float32)
        self._inbound = Inbound(configuration.input_format.type)
        self._track: tuple[int, Resampler] | None = None
        self._noise: NoiseReductionType | None = None
        self._suppressor: Suppressor | None = None
        self._endpointer: endpoint.Endpointer | None = None
        self.configure(configuration)

    # --- Settings -----------------------------------------------------------------------

    def configure(self, configuration: Configuration) -> None:
        if configuration.input_format.type != self._inbound.form:
            self._inbound = Inbound(configuration.input_format.type)
        if configuration.noise_reduction != self._noise:
            self._noise = configuration.noise_reduction
            far = self._noise == "far_field"
            self._suppressor = Suppressor(far=far) if self._noise is not None else None
        wanted = configuration.turn_detection
        if wanted is None:
            self._endpointer = None
        elif self._endpointer is None or self._endpointer.settings != wanted:
            self._endpointer = endpoint.Endpointer(wanted)
            self.restart()

    def restart(self) -> None:
        """Whatever was being heard is off; listen afresh from here."""
        self._detector.reset()
        self._rest = np.zeros(0, np.float32)
        if self._endpointer is not None:
            self._endpointer = endpoint.Endpointer(self._endpointer.settings, self.end_ms)

    # --- Sound --------------------------------------------------------------------------

    def feed_wire(self, data: bytes) -> None:
        """An append. Raises `Refused` when the buffer is full, and the client's to empty."""
        if self._endpointer is None and self.buffered_ms >= MAX_SECONDS * 1000:
            words = f"The input audio buffer holds {MAX_SECONDS} seconds: commit or clear it."
            raise Refused(words, code="input_audio_buffer_full")
        self._feed(self._inbound.feed(data))

    def finish_wire(self) -> None:
        """All that was appended is here now; the resampler keeps up to 60 ms of it back."""
        self._feed(self._inbound.finish())

    def feed_track(self, pcm: Pcm, rate: int) -> None:
        """The next piece of a call's sound."""
        if self._track is None or self._track[0] != rate:
            self._track = (rate, Resampler(rate, EAR_RATE))
        self._feed(self._track[1].feed(pcm))

    def _feed(self, samples: Samples) -> None:
        if not len(samples):
            return
        if self.buffered_ms >= MAX_SECONDS * 1000:  # a turn without end: its beginning goes
            self.forget(self.end_ms - MAX_SECONDS * 1000 // 2)
        if self._suppressor is not None:
            samples = self._suppressor.feed(samples)
        self._pieces.append(to_pcm(samples))
        self._end += len(samples)
        watching = self._endpointer
        if watching is None:
            return
        rest = np.concatenate((self._rest, samples)) if len(self._rest) else samples
        whole = len(rest) - len(rest) % FRAME
        self._rest = rest[whole:]
        for at in range(0, whole, FRAME):
            self._tell(watching.feed(self._detector.feed(rest[at : at + FRAME])))
            if self._endpointer is not watching:  # what was just told changed the settings
                return
        if not watching.speaking:
            self.forget(self.end_ms - _QUIET_SECONDS * 1000)

    def verdict(self, probability: float, asked_ms: int) -> None:
        """The judge's answer to `judge(asked_ms)`."""
        if self._endpointer is not None:
            self._tell(self._endpointer.verdict(probability, asked_ms))

    def heard(self, heard: Transcript, ending: Ending, pause_ms: int) -> None:
        """What the words before the pause of `pause_ms` look like."""
        if self._endpointer is not None:
            looks = endpoint.Heard(ending, heard.closed)
            self._tell(self._endpointer.heard(looks, pause_ms))

    def _tell(self, milestones: list[facts.Milestone]) -> None:
        for milestone in milestones:
            if isinstance(milestone, endpoint.Judge):
                self._judge(milestone.at_ms)
            else:
                self._post(milestone)

    # --- The buffer ---------------------------------------------------------------------

    @property
    def end_ms(self) -> int:
        return self._end // _PER_MS

    @property
    def buffered_ms(self) -> int:
        return (self._end - self._start) // _PER_MS

    def span(self, start_ms: int, end_ms: int | None = None) -> Samples:
        """The sound between two times, or until now, as far as it is still there."""
        first = max(self._start, start_ms * _PER_MS)
        last = self._end if end_ms is None else min(self._end, end_ms * _PER_MS)
        if last <= first:
            return np.zeros(0, np.float32)
        kept: list[Pcm] = []
        end = self._end
        for piece in reversed(self._pieces):  # what is asked for is nearly always the newest
            begin = end - len(piece)
            if begin < last:
                kept.append(piece[max(0, first - begin) : last - begin])
            if begin <= first:
                break
            end = begin
        whole = np.concatenate(kept[::-1])
        samples: Samples = np.multiply(whole, np.float32(1 / 32768), dtype=np.float32)
        return samples

    def recent(self, seconds: float) -> Samples:
        """The last of it, for the judge."""
        return self.span(self.end_ms - int(seconds * 1000))

    def forget(self, before_ms: int) -> None:
        before = min(self._end, before_ms * _PER_MS)
        while self._pieces and self._start + len(self._pieces[0]) <= before:
            self._start += len(self._pieces.popleft())
        if self._pieces and self._start < before:
            self._pieces[0] = self._pieces[0][before - self._start :]
            self._start = before


# --- Words while somebody still speaks ------------------------------------------------------


def ending(speech: Samples) -> Samples:
    """With a little silence behind it: sound that is cut off in the middle makes ears say it
    again from the beginning."""
    return np.concatenate((speech, np.zeros(_SILENCE, np.float32)))


def goes_on(speech: Samples, first: int) -> bool:
    """Is there more to hear behind the first so many samples? In noise the detector lets go
    before the last syllable does."""
    power = np.square(speech[: len(speech) - len(speech) % FRAME]).reshape(-1, FRAME).mean(axis=1)
    known = -(-first // FRAME)
    if not 0 < known < len(power):
        return False
    return bool(power[known:].max() > power[:known].mean() * _AUDIBLE)


def written(heard: Transcript) -> Transcript:
    """As it is told to everybody but the ears, whose hints are what they heard."""
    return replace(heard, text=dictated(heard.text))


class Partials:
    """One for each speech. `tell` gets the newest hearing and what of it is certain: what two
    hearings in a row agree on, but for the last word, which may be half said."""

    def __init__(
        self,
        item_id: str,
        ears: Callable[[Samples, str], Awaitable[Transcript]],
        sound: Callable[[], Samples],
        tell: Callable[[Transcript, str], None],
    ) -> None:
        self.item_id = item_id
        self.newest = ""
        self._ears, self._sound, self._tell = ears, sound, tell
        self._certain = ""

    async def run(self) -> None:
        """Until it is cancelled; ears that fail are left alone until the turn is over."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            speech = self._sound()
            if len(speech) >= _LEAST:
                try:
                    heard = await self._ears(ending(speech), self.newest)
                except VivavoceError as fault:
                    log.debug("No words while somebody speaks: %s", fault)
                    return
                except Exception:  # the boundary of this task
                    log.exception("No words while somebody speaks")
                    return
                self._took(heard)
            # Never more than half of the ears' time: others want to be heard too.
            took = loop.time() - began
            await asyncio.sleep(max(EVERY_S - took, took))

    def _took(self, heard: Transcript) -> None:
        agreed = agreement(self.newest, heard.text)
        self.newest = heard.text
        certain = dictated(settled(agreed))
        if len(certain) > len(self._certain) and certain.startswith(self._certain):
            self._certain = certain
        self._tell(written(heard), self._certain)


def agreement(before: str, now: str) -> str:
    """The words that both begin with, as the newer has them, without the last word of either.

    Stops and capitals do not count: they change while a sentence grows. A stop
    at the end is left out, since the sentence may go on.
    """
    older, newer = _WORD.findall(before), _WORD.findall(now)
    same = 0
    for old, new in zip(older[:-1], newer[:-1], strict=False):
        if _bare(old) != _bare(new):
            break
        same += 1
    return "".join(newer[:same]).rstrip().rstrip(".,!?;:…")


def _bare(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())
