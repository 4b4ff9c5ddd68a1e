"""What was read of a prompt's beginning, kept on disk: which file helps, and which may go.

A file is the model's memory of a text, written and read by llama.cpp; beside
it lies the text. A later prompt seldom is that text, but often begins like it
(the agent's prompt and its tools, with another date at the end).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

MOST = 8
_WORTH = 200
"""Letters; reading fewer anew is as quick."""


@dataclass(frozen=True, slots=True)
class Kept:
    file: str
    text: str


class Shelf:
    """The kept beginnings of one model. All of it is small, and at a start or on a miss only."""

    def __init__(self, folder: Path, model: str) -> None:
        """`model` names everything that a memory depends on: its file, its settings."""
        self._folder = folder
        self._model = hashlib.sha256(model.encode()).hexdigest()[:12]
        self._kept = [self._load(path) for path in sorted(folder.glob(f"{self._model}-*.txt"))]
        for stale in folder.glob("live-*.kv"):
            stale.unlink(missing_ok=True)  # of conversations of an earlier process

    def _load(self, path: Path) -> Kept:
        return Kept(path.with_suffix(".kv").name, path.read_text(errors="replace"))

    def best(self, prompt: str, beside: str = "") -> Kept | None:
        """What saves most reading, if it saves more than a slot does that holds `beside`."""
        least = alike(prompt, beside) + _WORTH
        found = None
        for kept in self._kept:
            if (same := alike(prompt, kept.text)) >= least:
                found, least = kept, same + 1
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(self._text(found.file))
        return found

    def name(self, prompt: str) -> str:
        return f"{self._model}-{hashlib.sha256(prompt.encode()).hexdigest()[:20]}.kv"

    def live_name(self, live: str) -> str:
        return f"live-{hashlib.sha256(live.encode()).hexdigest()[:20]}.kv"

    def put(self, prompt: str) -> None:
        """Its memory has been saved as `name`. The one not used for longest makes place."""
        kept = Kept(self.name(prompt), prompt)
        with contextlib.suppress(OSError):
            self._text(kept.file).write_text(prompt)
            self._kept = [*(one for one in self._kept if one.file != kept.file), kept]
            self._kept.sort(key=lambda one: self._text(one.file).stat().st_mtime)
        while len(self._kept) > MOST:
            self.drop(self._kept[0])

    def drop(self, kept: Kept) -> None:
        if kept not in self._kept:
            return  # two found it damaged at once
        self._kept.remove(kept)
        self._text(kept.file).unlink(missing_ok=True)
        self.remove(kept.file)

    def remove(self, file: str) -> None:
        (self._folder / file).unlink(missing_ok=True)

    def _text(self, file: str) -> Path:
        return self._folder / file.replace(".kv", ".txt")


def alike(one: str, other: str) -> int:
    """How many letters they begin with in common. By halves: comparing slices is quick."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
