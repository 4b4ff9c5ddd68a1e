"""What is made before it is asked for, and what is kept for the next time.

`OPENINGS` are the first clauses of a small instruct model, as the clauses are cut,
and our own phrases: about half a second of work each, once a voice.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from vivavoce.engine.ports import Utterance

MANNERS = (
    "One moment.",
    "Let me see.",
    "Sorry, I didn't catch that. Could you say that again?",
    "I'm having trouble hearing you. You can also try typing your request.",
)
OPENINGS = (
    *MANNERS,
    "Sure.",
    "Sure!",
    "Sure,",
    "Okay.",
    "Okay,",
    "Yes.",
    "Yes,",
    "No.",
    "No,",
    "Let me check.",
    "Of course.",
    "Of course!",
    "Certainly!",
    "Hello!",
    "Hi!",
    "Hi there!",
    "Great!",
    "Got it.",
    "Done.",
    "I see.",
    "You're welcome!",
    "Thank you.",
    "Goodbye!",
    "I'm sorry,",
    "Sorry,",
    "Unfortunately,",
    "Well,",
    "Hello! How can I help you?",
    "How can I help you?",
    "How can I assist you today?",
    "I'm doing well,",
    "I'm not sure.",
    "I don't know.",
    "Here you go.",
    "Here it is:",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What makes two utterances the same."""

    text: str
    voice: str
    speed: float


class Ready:
    """A bounded store; what was not asked for the longest time goes first."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[Wanted, Utterance] = OrderedDict()

    def __contains__(self, wanted: Wanted) -> bool:
        return wanted in self._kept

    def get(self, wanted: Wanted) -> Utterance | None:
        found = self._kept.get(wanted)
        if found is not None:
            self._kept.move_to_end(wanted)
        return found

    def put(self, wanted: Wanted, utterance: Utterance) -> None:
        if wanted in self._kept:
            self._room += len(self._kept.pop(wanted).pcm)
        self._kept[wanted] = utterance
        self._room -= len(utterance.pcm)
        while self._room < 0:
            _, gone = self._kept.popitem(last=False)
            self._room += len(gone.pcm)
