"""Which models the speech process loads, and from where. Owns the names of the kinds.

A kind is one of `KINDS`, or `module:Class` for a part of somebody else's; a
class takes the path and fills the port. It is imported in the speech process
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from vivavoce.errors import ModelUnavailable

KINDS = {
    "moonshine-base": "vivavoce.engine.ears.moonshine:MoonshineEars",
    "moonshine-tiny": "vivavoce.engine.ears.moonshine:MoonshineEars",
    "whisper-small": "vivavoce.engine.ears.whisper:WhisperEars",
    "smart-turn": "vivavoce.engine.ears.smart_turn:SmartTurn",
    "kokoro": "vivavoce.engine.mouth.kokoro:KokoroMouth",
    "piper-joe": "vivavoce.engine.mouth.piper:PiperMouth",
}


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """A model: what kind it is, and its folder (the judge: its file)."""

    kind: str
    path: Path

    def load(self) -> Any:
        """Import it and load it. Blocks; raises `ModelUnavailable`."""
        module, _, name = KINDS.get(self.kind, self.kind).partition(":")
        try:
            make = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as fault:
            raise ModelUnavailable(f"There is nothing to run {self.kind} with.") from fault
        return make(self.path)


@dataclass(frozen=True, slots=True)
class SpeechFiles:
    ears: SpeechPart
    mouth: SpeechPart
    judge: SpeechPart | None = None

    def to_words(self) -> dict[str, Any]:
        parts = {"ears": self.ears, "mouth": self.mouth, "judge": self.judge}
        return {
            role: [part.kind, str(part.path)] for role, part in parts.items() if part is not None
        }

    @classmethod
    def from_words(cls, words: Mapping[str, Any]) -> SpeechFiles:
        parts = {role: SpeechPart(kind, Path(path)) for role, (kind, path) in words.items()}
        return cls(**parts)
