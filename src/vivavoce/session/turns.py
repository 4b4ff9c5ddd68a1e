"""A trace for every turn of a call, from what the sideband shows: the same for any provider.

Owns the marks of a turn, which turn an event belongs to and when a turn is over. It holds
times, ids and tool names, never words, and every mark is the time at which we saw it.

What a turn is: what the user said or typed, with every response that it led to.
A tool's result is answered within the turn of its call. A response to nothing
that the user said (a greeting, a question after silence, the result of a task)
is a turn of its own, from the moment at which we asked for it. Words that lead
to no response are no turn; they count with the next that do.

Where the speech ended: `speech_stopped` comes once the silence was long enough.
With `server_vad` that length is in our configuration (`silence_duration_ms`), so
it is taken off, though never to before the speech began. With `semantic_vad`
nobody tells how long was waited: the arrival itself counts, and the figures after
it are too small by the wait. `audio_end_ms` is not used: it is on a clock of the
provider's, and providers differ in what they start it with. Speech that was
committed by hand ends with the commit.

When it is over: its last sound ended, nothing of it is generated or run, and the
transcript is there, or was waited for in vain. A turn that the user cut off, whose
sideband was lost or whose session ended is told as far as it came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from vivavoce.session.ids import Ids
from vivavoce.wire.clean import clean_line

GRACE = timedelta(seconds=2)
"""How long a turn that is over waits for a transcript or a sound that is still to come."""
LISTED = 32  # ids and names in a report, of each kind

BeganWith = Literal["speech", "text", "request"]
Outcome = Literal["completed", "interrupted", "incomplete", "failed"]

# A mark with a space after it, or at the end where it cannot be a decimal point;
# scripts that have no spaces have marks of their own.
_CLAUSE = re.compile(r"""[,.;:!?…—][)\]"'»”’]*\s|[^\d\s][,.;:!?…—][)\]"'»”’]*$|[。！？，、；：]""")
_MILLISECOND = timedelta(milliseconds=1)


def has_clause(words: str) -> bool:
    """Is there a whole clause in it?"""
    return _CLAUSE.search(words) is not None


@dataclass(slots=True, eq=False)
class Turn:
    """What was seen of it so far."""

    began_with: BeganWith
    speech_end: datetime
    end_of_turn: datetime | None = None
    transcript: datetime | None = None
    first_token: datetime | None = None
    first_clause: datetime | None = None
    first_sound: datetime | None = None
    last_sound: datetime | None = None
    outcome: Outcome = "completed"
    items: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)

    # What it waits for
    active: set[str] = field(default_factory=set)  # responses that are not done
    calls: dict[str, bool] = field(default_factory=dict)  # unanswered; True: has its result
    sounding: set[str] = field(default_factory=set)
    plays_until: datetime | None = None  # where only the length of the sound is known
    unheard: set[str] = field(default_factory=set)  # spoken responses without a sound so far
    unwritten: set[str] = field(default_factory=set)  # items without a transcript so far
    rested: datetime | None = None

    def token(self, now: datetime) -> None:
        self.first_token = self.first_token or now

    def hush(self, now: datetime) -> bool:
        """No sound of this turn is heard any more; was there one?"""
        playing = self.plays_until is not None and self.plays_until > now
        if not self.sounding and not playing:
            return False
        self.sounding.clear()
        self.plays_until, self.last_sound = None, now
        return True

    def became(self, outcome: Outcome) -> None:
        """The first thing that went wrong is what became of it."""
        if self.outcome == "completed":
            self.outcome = outcome

    def give_way(self) -> None:
        """The floor is somebody else's: what it waited for does not come any more."""
        if self.active or self.calls:
            self.became("interrupted")
            self.active.clear()
            self.calls.clear()

    def cut(self, now: datetime) -> None:
        """It ends here, whole or not."""
        self.give_way()
        if self.hush(now):
            self.became("interrupted")

    def due(self, now: datetime) -> datetime | None:
        """From when on it can be told; None while nobody knows."""
        if self.active or self.calls or self.sounding:
            return None
        if self.rested is None:
            self.rested = now
        due = max(now, self.plays_until or now)
        if self.outcome == "completed" and (self.unheard or self.unwritten):
            due = max(due, self.rested + GRACE)
        return due

    def report(self) -> dict[str, Any]:
        """The fields of `turn.traced`."""
        ended = self._after(self.end_of_turn, 0)
        token = self._after(self.first_token, ended)
        sound = self._after(self.first_sound, token)
        return {
            "began_with": self.began_with,
            "outcome": self.outcome,
            "speech_end": self.speech_end,
            "end_of_turn_ms": ended,
            "transcript_ms": self._after(self.transcript, ended),
            "first_token_ms": token,
            "first_clause_ms": self._after(self.first_clause, token),
            "first_sound_ms": sound,
            "last_sound_ms": self._after(self.last_sound, sound),
            "response_ids": self.responses[:LISTED],
            "item_ids": self.items[:LISTED],
            "tools": self.tools[:LISTED],
        }

    def _after(self, mark: datetime | None, floor: int | None) -> int | None:
        """Milliseconds after the speech; a wall clock that was set back shows nowhere."""
        if mark is None:
            return None
        return max(floor or 0, round((mark - self.speech_end) / _MILLISECOND))


TIMER = "trace"
MOST_OPEN = 8
_OUTCOMES: dict[str, Outcome] = {
    "cancelled": "interrupted",
    "incomplete": "incomplete",
    "failed": "failed",
}


class Turns:
    """The turns of one call that are not told yet."""

    def __init__(self) -> None:
        self.open: list[Turn] = []
        self.wake: datetime | None = None
        self._next: Turn | None = None  # the user's, without a response so far
        self._asked: datetime | None = None
        self._spoke_at: datetime | None = None
        self._of: dict[str, Turn] = {}  # response → its turn, while that is open
        self._seen = Ids()  # every response is in one turn at most

    # --- The user -----------------------------------------------------------------------

    def speech_started(self, now: datetime) -> None:
        self._spoke_at = now

    def speech_stopped(self, item_id: str, now: datetime, silence: timedelta) -> None:
        ended = max(now - silence, self._spoke_at or now)
        self._said(item_id, Turn("speech", min(ended, now), end_of_turn=now))

    def committed(self, item_id: str, now: datetime, *, transcribed: bool) -> None:
        if self._next is None or item_id not in self._next.items:
            if any(item_id in turn.items for turn in self.open):
                return
            self._said(item_id, Turn("speech", now))
        assert self._next is not None
        self._next.end_of_turn = now
        if transcribed and self._next.transcript is None:
            self._next.unwritten.add(item_id)

    def typed(self, item_id: str, now: datetime) -> None:
        self._said(item_id, Turn("text", now, end_of_turn=now))

    def _said(self, item_id: str, turn: Turn) -> None:
        """Somebody who goes on before there was an answer is still in the same turn."""
        if self._next is not None:
            turn.items = [each for each in self._next.items if each != item_id]
            turn.unwritten = self._next.unwritten
        turn.items.append(item_id)
        self._next = turn

    def transcript(self, item_id: str, now: datetime) -> None:
        turns = self.open if self._next is None else [*self.open, self._next]
        for turn in reversed(turns):
            if item_id in turn.items:
                turn.transcript = now
                turn.unwritten.discard(item_id)
                return

    def unsaid(self, item_id: str) -> None:
        """Its words never come: they come with the next."""
        turns = self.open if self._next is None else [*self.open, self._next]
        for turn in turns:
            turn.unwritten.discard(item_id)

    # --- Responses ----------------------------------------------------------------------

    def asked(self, now: datetime, *, unprompted: bool) -> None:
        """We ask for a response; `unprompted`, for words of our own choice."""
        self._asked = now
        if unprompted:
            self._next = None

    def nothing_came(self) -> None:
        """The response that was to follow a tool."""
        self._asked = None
        for turn in self.open:
            if turn.calls and not turn.active and all(turn.calls.values()):
                turn.became("failed")
                turn.calls.clear()

    def created(self, response_id: str, now: datetime) -> None:
        if response_id in self._seen:
            return
        self._seen.add(response_id)
        turn = self._of[response_id] = self._answered(now)
        turn.responses.append(response_id)
        turn.active.add(response_id)
        turn.calls = {call: has for call, has in turn.calls.items() if not has}
        turn.rested = self._asked = None

    def _answered(self, now: datetime) -> Turn:
        """Whose response is it that begins now?"""
        if self._next is not None:
            for other in self.open:
                other.give_way()
            turn, self._next = self._next, None
        else:
            waiting = [turn for turn in self.open if turn.calls]
            if waiting:
                return waiting[-1]
            turn = Turn("request", self._asked or now)
        if len(self.open) >= MOST_OPEN:
            self.open[0].cut(now)
        self.open.append(turn)
        return turn

    def item(self, response_id: str, item_id: str, now: datetime, *, call: bool) -> None:
        if turn := self._of.get(response_id):
            turn.items.append(item_id)
            if call:
                turn.token(now)

    def words(self, response_id: str, before: str, delta: str, now: datetime) -> None:
        turn = self._of.get(response_id)
        if turn is None or turn.first_clause is not None:
            return
        turn.token(now)
        # The mark may be the last of what was there, a quote between it and the space.
        if has_clause(before[-3:] + delta):
            turn.first_clause = now

    def complete(self, response_id: str, now: datetime, *, spoken: bool) -> None:
        """All words of an item are there."""
        if turn := self._of.get(response_id):
            turn.token(now)
            turn.first_clause = turn.first_clause or now
            if spoken and turn.first_sound is None:
                turn.unheard.add(response_id)

    def called(self, response_id: str, call_id: str, name: str, now: datetime) -> None:
        if turn := self._of.get(response_id):
            turn.token(now)
            turn.calls[call_id] = False
            turn.tools.append(clean_line(name, 64))

    def finished(self, call_id: str) -> None:
        for turn in self.open:
            if call_id in turn.calls:
                turn.calls[call_id] = True

    def done(self, response_id: str, status: str) -> None:
        if turn := self._of.get(response_id):
            turn.active.discard(response_id)
            if status in _OUTCOMES:
                turn.became(_OUTCOMES[status])

    # --- Sound --------------------------------------------------------------------------

    def sound(self, item_id: str, response_id: str, now: datetime) -> None:
        turn = self._of.get(response_id)
        if turn is None:
            return
        for other in self.open:
            if other is not turn:
                other.hush(now)  # one sounds at a time: its end was not reported
        turn.token(now)  # there is no sound without a word
        turn.first_sound = turn.first_sound or now
        turn.sounding.add(item_id)
        turn.unheard.discard(response_id)

    def quiet(self, item_id: str, response_id: str, now: datetime, *, cut: bool) -> None:
        if turn := self._of.get(response_id):
            if item_id in turn.sounding:
                turn.sounding.discard(item_id)
                turn.last_sound = now
            if cut:
                turn.became("interrupted")

    def plays_on(self, response_id: str, until: datetime) -> None:
        """All of the sound went by us; it is heard until then."""
        if turn := self._of.get(response_id):
            turn.plays_until = turn.last_sound = max(until, turn.last_sound or until)

    def cut(self, response_id: str, now: datetime) -> None:
        turn = self._of.get(response_id)
        if turn is not None and turn.hush(now):
            turn.became("interrupted")

    # --- The end ------------------------------------------------------------------------

    def cut_all(self, now: datetime) -> None:
        """The sideband or the call is gone: what is not seen now is never seen."""
        self._next = self._asked = None
        for turn in self.open:
            turn.cut(now)
            turn.unheard.clear()
            turn.unwritten.clear()

    def take(self, now: datetime) -> tuple[list[Turn], datetime | None]:
        """Those that are over, each once, and when to look at the next."""
        over: list[Turn] = []
        wake: datetime | None = None
        for turn in self.open:  # after every event, and mostly one that goes on
            due = turn.due(now)
            if due is None:
                continue
            if due <= now:
                over.append(turn)
            elif wake is None or due < wake:
                wake = due
        for turn in over:
            self.open.remove(turn)
            for response_id in turn.responses:
                self._of.pop(response_id, None)
        return over, wake
