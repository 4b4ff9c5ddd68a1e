"""The parts of a configuration about sound and turns: what each holds, how it is read, how
it is shown.

A part is replaced whole when a client names it: `turn_detection: {type:
server_vad, threshold: 0.7}` has the defaults for everything else. Which part
stands where is the business of `configuration_session`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from vivavoce.engine.turn.configuration import checks as check
from vivavoce.engine.turn.faults import unsupported, wrong_type

Json = dict[str, Any]

# --- Sound ------------------------------------------------------------------------

PCM, PCMU, PCMA = "audio/pcm", "audio/pcmu", "audio/pcma"


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """PCM16 at 24 kHz, or G.711 at 8 kHz (µ-law, A-law)."""

    type: str = PCM

    @property
    def rate(self) -> int:
        return 24_000 if self.type == PCM else 8_000

    def shown(self) -> Json:
        return {"type": PCM, "rate": 24_000} if self.type == PCM else {"type": self.type}


def read_format(raw: Any, where: str) -> AudioFormat:
    said = check.fields(raw, where, ("type", "rate"))
    form = AudioFormat(
        check.choice(check.required(said, "type", where), f"{where}.type", (PCM, PCMU, PCMA))
    )
    if "rate" in said:
        check.whole(said["rate"], f"{where}.rate", form.rate, form.rate)
    return form


NoiseReduction = Literal["near_field", "far_field"]
"""For a microphone at the mouth, or one across the room."""


def read_noise_reduction(raw: Any, where: str) -> NoiseReduction | None:
    if raw is None:
        return None
    said = check.fields(raw, where, ("type",))
    kind = check.required(said, "type", where)
    chosen = check.choice(kind, f"{where}.type", ("near_field", "far_field"))
    return "near_field" if chosen == "near_field" else "far_field"


@dataclass(frozen=True, slots=True)
class Transcription:
    """Who writes down what the user said. Our ears answer to any model's name."""

    model: str = "vivavoce"
    language: str | None = None
    prompt: str | None = None
    """Keywords, or anything else: see `keyterms`."""

    def shown(self) -> Json:
        return asdict(self)


_PROMPT = 8_000
_ENGLISH = re.compile(r"en([-_][A-Za-z]{2,4})?", re.IGNORECASE)
_TRANSCRIPTION_FIELDS = ("model", "language", "prompt", "languages", "keywords", "delay")


def read_transcription(raw: Any, where: str) -> Transcription | None:
    if raw is None:
        return None
    said = check.fields(raw, where, _TRANSCRIPTION_FIELDS)
    for name in ("languages", "keywords", "delay"):
        if said.get(name) not in (None, "", []):
            raise unsupported(f"{where}.{name}", "these ears take no hints: leave it out.")
    prompt = said.get("prompt") or None
    if prompt is not None:
        prompt = check.text(prompt, f"{where}.prompt", most=_PROMPT)
    language = said.get("language")
    if language is not None:
        language = check.text(language, f"{where}.language", most=100)
        if not _ENGLISH.fullmatch(language):
            raise unsupported(f"{where}.language", "these ears hear English only: 'en' or null.")
    if "model" not in said:
        return Transcription(language=language, prompt=prompt)
    model = check.text(said["model"], f"{where}.model", least=1, most=128)
    return Transcription(model, language, prompt)


# --- Turns ------------------------------------------------------------------------

Eagerness = Literal["low", "medium", "high", "auto"]


@dataclass(frozen=True, slots=True)
class ServerVad:
    """A turn is over after so much silence."""

    threshold: float = 0.5
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    idle_timeout_ms: int | None = None
    create_response: bool = True
    interrupt_response: bool = True

    def shown(self) -> Json:
        return {"type": "server_vad", **asdict(self)}


@dataclass(frozen=True, slots=True)
class SemanticVad:
    """A turn is over when it sounds finished."""

    eagerness: Eagerness = "auto"
    create_response: bool = True
    interrupt_response: bool = True

    def shown(self) -> Json:
        return {"type": "semantic_vad", **asdict(self)}


TurnDetection = ServerVad | SemanticVad | None

_EAGERNESS = ("low", "medium", "high", "auto")
_LONGEST_MS = 10_000


def read_turn_detection(raw: Any, where: str) -> TurnDetection:
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise wrong_type(where, "an object", raw)
    kinds = ("server_vad", "semantic_vad")
    kind = check.choice(check.required(raw, "type", where), f"{where}.type", kinds)
    shape: type[ServerVad] | type[SemanticVad] = ServerVad if kind == kinds[0] else SemanticVad
    said = check.fields(raw, where, ("type", *shape.__dataclass_fields__))
    return shape(**{k: _turn_field(k, v, f"{where}.{k}") for k, v in said.items() if k != "type"})


def _turn_field(name: str, value: Any, where: str) -> Any:
    match name:
        case "threshold":
            return check.number(value, where, 0.0, 1.0)
        case "prefix_padding_ms" | "silence_duration_ms":
            return check.whole(value, where, 0, _LONGEST_MS)
        case "idle_timeout_ms":
            return None if value is None else check.whole(value, where, 5_000, 30_000)
        case "eagerness":
            return check.choice(value, where, _EAGERNESS)
        case _:
            return check.flag(value, where)
