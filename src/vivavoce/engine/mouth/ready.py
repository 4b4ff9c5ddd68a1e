"""Finished utterances kept for the next time: those used last, and no more than fit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from vivavoce.engine.ports import Utterance


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
