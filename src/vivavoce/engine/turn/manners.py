"""What a polite listener says when it is slow, or did not understand (seed 004, rules 11-12).

Pure. An acknowledgement is said at most once a turn, and not the same one
twice in a row; it is no part of what the brain is told it said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vivavoce.wire.realtime.session import Courtesies
from vivavoce.wire.values import Value

SLOW = ("One moment.", "Let me see.", "Just a second.")
UNHEARD = (
    "Sorry, I didn't catch that. Could you say that again?",
    "I'm having trouble hearing you. Could you say it once more?",
)
OPENINGS = (
    *SLOW,
    *UNHEARD,
    *("Sure.", "Sure!", "Sure,", "Okay.", "Okay,", "Yes.", "Yes,", "No.", "No,", "Let me check."),
    *("Of course.", "Of course!", "Certainly!", "Hello!", "Hi!", "Hi there!", "Great!", "Got it."),
    *("Done.", "I see.", "You're welcome!", "Thank you.", "Goodbye!", "I'm sorry,", "Sorry,"),
    *("Unfortunately,", "Well,", "Hello! How can I help you?", "How can I help you?"),
    *("How can I assist you today?", "I'm doing well,", "I'm not sure.", "I don't know."),
    *("Here you go.", "Here it is:"),
)
"""Our own phrases and the first clauses of a small instruct model, as the clauses are cut, for a
mouth to have ready: about half a second of work each, once a voice."""


class Manners(Value):
    slow_after: float = 1.5
    """Seconds of silence after a turn that want an acknowledgement."""
    slow: tuple[str, ...] = SLOW
    unheard: tuple[str, ...] = UNHEARD
    """The first time, and from the second time on."""
    least_sure: float = 0.3
    """Ears that are less sure of their words than this have heard something garbled."""

    def worded(self, words: Courtesies) -> Manners:
        """The same in an agent's own words."""
        slow, unheard = tuple(words.slow or self.slow), tuple(words.unheard or self.unheard)
        return replace(self, slow=slow, unheard=unheard)

    def acknowledgement(self, said_before: int) -> str:
        return self.slow[said_before % len(self.slow)]

    def apology(self, times: int) -> str:
        """`times` in a row that nothing was understood, this one included."""
        return self.unheard[min(times, len(self.unheard)) - 1]

    def understood(self, text: str, confidence: float) -> bool:
        return any(letter.isalnum() for letter in text) and confidence >= self.least_sure


def without_acknowledgement(text: str, slow: Sequence[str] = SLOW) -> str:
    """What the assistant said, but for the "One moment." in front: a model that reads its own
    courtesies begins every answer with them."""
    for phrase in slow:
        if text.startswith(phrase + " "):
            return text[len(phrase) :].lstrip()
        if text == phrase:
            return ""
    return text
