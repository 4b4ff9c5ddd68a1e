"""What the assistant says: generated text, its sound, and how much of it was heard.

Knows nothing of entries or events; it keeps the figures and answers for them.
Our own engine says itself how far each answer was heard, in words: then nothing is
reckoned here. Of other providers the sound goes past us on WebRTC and only its start and
end are reported; on a WebSocket we see its length instead. What is reckoned is marked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

# An unhurried English voice; replaced by the measured rate once an answer was played whole.
_SENTENCE_END = re.compile(r"[.!?…]['\")]*\s+")
DEFAULT_CHARS_PER_SECOND = 15.0


def heard_text(
    generated: str,
    played_ms: float,
    *,
    total_ms: float | None = None,
    chars_per_second: float = DEFAULT_CHARS_PER_SECOND,
) -> str:
    """The words of `generated` that fit in `played_ms`; a word cut in half was not heard.

    `total_ms` is the length of the whole sound where it is known, else the
    rate of speech decides.
    """
    if played_ms <= 0 or not generated:
        return ""
    if total_ms and total_ms > 0:
        reach = len(generated) * played_ms / total_ms
    else:
        reach = played_ms / 1000 * chars_per_second
    if reach >= len(generated):
        return generated
    cut = int(reach)
    if cut <= 0:
        return ""
    if not generated[cut].isspace():
        cut = max(generated.rfind(" ", 0, cut + 1), generated.rfind("\n", 0, cut + 1), 0)
    return generated[:cut].rstrip()


def sentences(text: str) -> list[str]:
    """Those that are whole, with what parts them from the next."""
    ends = [at.end() for at in _SENTENCE_END.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _same(one: str, other: str) -> bool:
    return one.split() == other.split()


@dataclass(slots=True)
class Utterance:
    """One item of the assistant's."""

    item_id: str
    response_id: str
    ordinal: float
    generated: str = ""
    spoken: bool = True  # False for answers in text: they are read, not heard
    complete: bool = False  # all text is there, and the entry was recorded
    audio_ms: float = 0.0  # sound that passed by us
    playing_since: float | None = None
    played_ms: float | None = None  # final, once it stopped
    cut_ms: float | None = None  # where it was cut
    reported: tuple[str, float] | None = None  # so far it was heard, the provider says
    estimated: bool = False  # how far it was heard is reckoned: by us, or by the provider
    missed: bool = False  # nobody was there to hear the rest of it
    kept_at: datetime | None = None  # when it was last stored how far it was heard
    told: tuple[str, bool] | None = None  # what watchers last heard of it, and whether cut
    written_at: datetime | None = None  # when its entry was first recorded

    @property
    def interrupted(self) -> bool:
        return self.cut_ms is not None

    @property
    def open(self) -> bool:
        """May more of it be heard?"""
        began = self.playing_since is not None or self.reported is not None
        return self.spoken and began and self.played_ms is None and not self.interrupted

    @property
    def heard_whole(self) -> bool:
        """Every word, by the provider's own account."""
        return self.reported is not None and _same(self.reported[0], self.generated)

    def elapsed(self, now_ms: float) -> float:
        """How much was played until now, never more than there was."""
        if self.played_ms is not None:
            return self.played_ms
        if self.playing_since is None:
            return 0.0
        elapsed = max(0.0, now_ms - self.playing_since)
        return min(elapsed, self.audio_ms) if self.audio_ms else elapsed


@dataclass(slots=True)
class Piece:
    """What a client reads out at once: a part of an utterance, which begins there in it."""

    item_id: str
    start: int
    text: str
    began_ms: float = 0.0

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(slots=True)
class Aloud:
    """What a client is reading out, and what is to come. `fresh`: utterances of which there may
    be more; `given`: how many characters of one were taken; `cut`: those that the provider still
    has as a whole."""

    now: Piece | None = None
    handed: bool = False
    waiting: list[Piece] = field(default_factory=list)
    fresh: dict[str, None] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        return self.now is not None or bool(self.waiting)


class Speech:
    """All utterances of a call, and the one that is sounding."""

    def __init__(self) -> None:
        self._items: dict[str, Utterance] = {}
        self._of_response: dict[str, list[Utterance]] = {}
        self.sounding: str | None = None
        self._rate = DEFAULT_CHARS_PER_SECOND

    def get(self, item_id: str) -> Utterance | None:
        return self._items.get(item_id)

    def begin(self, item_id: str, response_id: str, ordinal: float) -> Utterance:
        if item_id not in self._items:
            item = self._items[item_id] = Utterance(item_id, response_id, ordinal)
            self._of_response.setdefault(response_id, []).append(item)
        return self._items[item_id]

    def of_response(self, response_id: str) -> list[Utterance]:
        return self._of_response.get(response_id, [])

    @property
    def rate(self) -> float:
        """Characters a second."""
        return self._rate

    @property
    def has_sounded(self) -> bool:
        return any(item.playing_since is not None for item in self._items.values())

    @property
    def plays_until(self) -> float:
        """When the last sound that passed by us is over, where nobody reports it."""
        return max(
            (
                item.playing_since + item.audio_ms
                for item in self._items.values()
                if item.playing_since is not None and item.cut_ms is None
            ),
            default=0.0,
        )

    def start(self, item: Utterance, now_ms: float) -> bool:
        """The sound begins; False if it had begun already."""
        if item.playing_since is not None:
            return False
        item.playing_since = now_ms
        self.sounding = item.item_id
        return True

    def stop(self, item: Utterance, now_ms: float, *, cut: bool) -> float:
        """The sound ended, whole or cut; how long it was heard."""
        elapsed = item.elapsed(now_ms)
        item.played_ms = elapsed
        if self.sounding == item.item_id:
            self.sounding = None
        if cut and item.cut_ms is None:
            item.cut_ms = elapsed
        if not cut and item.complete and elapsed >= 1000:
            # Played whole: now we know how fast this voice speaks.
            self._rate = max(5.0, min(40.0, len(item.generated) / (elapsed / 1000)))
        return elapsed

    def heard(self, item: Utterance) -> str:
        """The words that reached the user."""
        if not item.interrupted or not item.spoken:
            return item.generated
        if item.reported is not None:
            return item.reported[0]
        return self._until(item, item.cut_ms or 0.0)

    def heard_by(self, item: Utterance, now_ms: float) -> str:
        """The words that have reached the user by now."""
        if item.reported is not None:
            return item.reported[0]
        return self._until(item, item.elapsed(now_ms)) if item.spoken else item.generated

    def unsettled(self) -> list[Utterance]:
        """All of which not everything is known: what they say, or how much of it was heard."""
        return [item for item in self._items.values() if not item.complete or item.open]

    def begun(self) -> list[Utterance]:
        """All of which somebody was told that they sound, and not that they ended."""
        every = self._items.values()
        return [item for item in every if item.playing_since is not None and item.played_ms is None]

    def missed(self) -> str:
        """What was said last and not heard, from the sentence on in which it broke off."""
        last = next((item for item in reversed(self._items.values()) if item.generated), None)
        if last is None or not last.missed:
            return ""
        heard = self.heard(last)
        reach = len(heard) if last.generated.startswith(heard) else 0
        ends = [at.end() for at in _SENTENCE_END.finditer(last.generated, 0, reach + 1)]
        return last.generated[ends[-1] if ends else 0 :].strip()

    def cut(self, item: Utterance, now_ms: float) -> None:
        """No more of it will be heard: it ends where it is."""
        if item.reported is None:
            item.estimated = item.spoken
            ms = item.elapsed(now_ms)
        else:
            ms = item.reported[1]
        if item.spoken and not item.heard_whole:
            item.cut_ms = ms
        item.played_ms = ms
        if self.sounding == item.item_id:
            self.sounding = None

    def _until(self, item: Utterance, ms: float) -> str:
        return heard_text(
            item.generated,
            ms,
            total_ms=item.audio_ms if item.complete else None,
            chars_per_second=self._rate,
        )
