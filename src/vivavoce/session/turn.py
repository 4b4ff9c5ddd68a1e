"""One turn, timed: a question and its answer, with the moment at which each stage was seen.

Owns the marks of one turn and what it still waits for. Knows no other turn and
nothing of effects; `session.tracing` keeps the turns of a call. It holds times,
ids and tool names, never words.

- `speech_end`: where the user fell silent. Of typed text it is the text itself, of a
  response that nobody's words led to it is the moment at which it was asked for.
- `end_of_turn`: the provider took the words as a turn.
- `transcript`: they were transcribed, or it was known that they would not be.
- `first_token`: the first word of the answer, or a call of a tool.
- `first_clause`: enough words to speak: up to the first comma or full stop.
- `first_sound`, `last_sound`: what the user heard begins and ends.

`transcript` runs beside the answer: it may come after any of the others. The rest
never goes backwards: end of turn, token, clause; end of turn, token, sounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

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

    def respond(self, response_id: str) -> None:
        """It has a response, its first or one after a tool."""
        self.responses.append(response_id)
        self.active.add(response_id)
        self.calls = {call: has for call, has in self.calls.items() if not has}
        self.rested = None

    def token(self, now: datetime) -> None:
        if self.first_token is None:
            self.first_token = now

    def clause(self, now: datetime) -> None:
        self.token(now)
        if self.first_clause is None:
            self.first_clause = now

    def sound(self, item_id: str, response_id: str, now: datetime) -> None:
        self.token(now)  # there is no sound without a word
        if self.first_sound is None:
            self.first_sound = now
        self.sounding.add(item_id)
        self.unheard.discard(response_id)

    def quiet(self, item_id: str, now: datetime) -> None:
        if item_id in self.sounding:
            self.sounding.discard(item_id)
            self.last_sound = now

    def plays_on(self, until: datetime) -> None:
        """All of the sound went by us; it is heard until then."""
        self.plays_until = self.last_sound = max(until, self.last_sound or until)

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
