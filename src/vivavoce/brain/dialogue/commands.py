"""What an utterance can mean, as the model writes it: a short list of commands. Values only.

The model translates, it never decides: it copies words and leaves numbers, times and the user's
things to the manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from vivavoce.wire.values import Value


class Begin(Value):
    """A new wish. `slots` by short name, in the user's own words. `said`: the stretch of the
    utterance that it was understood from, where others were understood from the rest."""

    wish: str
    slots: Mapping[str, str]
    said: str = ""
    sure: bool = False
    """Its words were marked by who was trained for it: nothing is read into it besides."""


class Fill(Value):
    """An answer to what was asked, or a correction of what is open or was submitted last."""

    slots: Mapping[str, str]
    sure: bool = False


class Plain(Value):
    """Everything that has no slots. `undo`: take back what was just done. `drop`: what was begun.
    `cannot`: something that this agent does not do. `unclear`: broken off, nothing to go by."""

    kind: Literal["yes", "no", "undo", "drop", "thanks", "cannot", "chat", "unclear"]


Command = Begin | Fill | Plain
