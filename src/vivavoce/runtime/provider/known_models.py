"""What the models we know can do and what they cost, as data: context, cap of a session, voices;
prices by family of models, in dollars per million, with the day they were read.

A dollar per million is a millionth of a dollar per token, so no figure needs
a unit. The embedded engine and servers we do not know cost nothing here; a
model of OpenAI's that is newer than this table is taken for the dearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from vivavoce.runtime.ports import Capabilities, Voice
from vivavoce.wire.realtime.facts import Usage
from vivavoce.wire.values import Value

T = TypeVar("T")

VOICES: tuple[Voice, ...] = (
    Voice("marin", "Marin", "Natural and warm; the best quality", recommended=True),
    Voice("cedar", "Cedar", "Natural and calm; the best quality", recommended=True),
    Voice("ash", "Ash", "Clear and direct"),
    Voice("coral", "Coral", "Friendly and bright"),
    Voice("sage", "Sage", "Thoughtful and even"),
    Voice("alloy", "Alloy", "Neutral and balanced"),
    Voice("echo", "Echo", "Soft and steady"),
    Voice("shimmer", "Shimmer", "Light and lively"),
    Voice("ballad", "Ballad", "Expressive, a storyteller"),
    Voice("verse", "Verse", "Versatile and animated"),
)

SESSION_SECONDS = 60 * 60.0
DEFAULT_CONTEXT = 32_000

CONTEXT_BY_PREFIX: dict[str, int] = {
    "vivavoce": 8_000,  # the embedded engine's, until its brain is loaded and tells
    "gpt-realtime": 32_000,
    "gpt-realtime-mini": 32_000,
    "gpt-realtime-2": 128_000,
    # Dated snapshots of the first model (gpt-realtime-2025-08-28) begin like the second one.
    "gpt-realtime-20": 32_000,
}


def _by_name(table: Mapping[str, T], model: str, otherwise: T) -> T:
    known = [prefix for prefix in table if model.startswith(prefix)]
    return table[max(known, key=len)] if known else otherwise


def capabilities_of(model: str) -> Capabilities:
    """Of a model by the longest prefix of its name we know; cautious where we know none."""
    return Capabilities(
        context_tokens=_by_name(CONTEXT_BY_PREFIX, model, DEFAULT_CONTEXT),
        session_seconds=SESSION_SECONDS,
        voices=VOICES,
        pictures=model.startswith("gpt-realtime"),
    )


AS_OF = "2026-11-15"
"""When the prices below were read from OpenAI's model pages."""


class Price(Value):
    """Dollars per million tokens. `cached` is input that the provider still had."""

    text: float = 0.0
    text_cached: float = 0.0
    text_out: float = 0.0
    audio: float = 0.0
    audio_cached: float = 0.0
    audio_out: float = 0.0
    image: float = 0.0
    image_cached: float = 0.0
    second: float = 0.0
    """Dollars per million seconds of sound, where a transcription is billed by them."""


FREE = Price()

# text: fresh, cached, out; sound: fresh, cached, out; pictures: fresh, cached
_FULL = Price(4, 0.4, 16, 32, 0.4, 64, 5, 0.5)
_MINI = Price(0.6, 0.06, 2.4, 10, 0.3, 20, 0.8, 0.08)
_SECOND = Price(4, 0.4, 24, 32, 0.4, 64, 5, 0.5)
_PREVIEW = Price(5, 2.5, 20, 40, 2.5, 80)
_MINI_PREVIEW = Price(0.6, 0.3, 2.4, 10, 0.3, 20)

PRICES: dict[str, Price] = {
    "gpt-": _PREVIEW,
    "gpt-realtime": _FULL,
    # Dated snapshots of the first model (gpt-realtime-2025-08-28) begin like the second one.
    "gpt-realtime-20": _FULL,
    "gpt-realtime-mini": _MINI,
    "gpt-realtime-2": _SECOND,
    "gpt-realtime-2.1-mini": _MINI,
    "gpt-4o-realtime": _PREVIEW,
    "gpt-4o-mini-realtime": _MINI_PREVIEW,
    # Who writes down what the user says; seconds by the price of a minute.
    "whisper-": Price(second=100),
    "gpt-4o-transcribe": Price(text=2.5, audio=2.5, text_out=10, second=100),
    "gpt-4o-mini-transcribe": Price(text=1.25, audio=1.25, text_out=5, second=50),
}


def price_of(model: str) -> Price:
    """By the longest beginning of its name that we know."""
    return _by_name(PRICES, model, FREE)


def cost_micros(usage: Usage, price: Price) -> int:
    """Millionths of a dollar. Parts that are more than their whole count as the whole."""
    cached_text = _rest(usage.cached, usage.cached_audio, usage.cached_image)
    fresh_audio = _rest(usage.input_audio, usage.cached_audio)
    fresh_image = _rest(usage.input_image, usage.cached_image)
    text = _rest(usage.input, usage.input_audio, usage.input_image)
    return round(
        _rest(text, cached_text) * price.text
        + cached_text * price.text_cached
        + fresh_audio * price.audio
        + usage.cached_audio * price.audio_cached
        + fresh_image * price.image
        + usage.cached_image * price.image_cached
        + _rest(usage.output, usage.output_audio) * price.text_out
        + usage.output_audio * price.audio_out
        + usage.seconds * price.second
    )


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class Budget:
    """One user's day, shared by all their sessions of this process: what they may take (None is
    no limit), and what was taken. Others' sessions are in it as of the last look at the store."""

    tokens: int | None = None
    micros: int | None = None
    used_tokens: int = 0
    used_micros: int = 0
    _added: tuple[int, int] = (0, 0)  # by us, ever
    _looked: tuple[int, int] = (0, 0)  # of that, until the last look

    def add(self, tokens: int, micros: int) -> None:
        self.used_tokens += tokens
        self.used_micros += micros
        self._added = (self._added[0] + tokens, self._added[1] + micros)

    @property
    def mark(self) -> tuple[int, int]:
        """To be taken before a look at the store."""
        return self._added

    def found(self, tokens: int, micros: int, mark: tuple[int, int]) -> None:
        """What the store had at `mark`. What came since may be in it or not: it is counted
        rather twice, until the next look, than not at all. What came between the last look and
        the mark may still be on its way there: what was known before is not lowered by it."""
        added, looked, self._looked = self._added, self._looked, mark
        self.used_tokens = _between(
            tokens + added[0] - mark[0], self.used_tokens, tokens + added[0] - looked[0]
        )
        self.used_micros = _between(
            micros + added[1] - mark[1], self.used_micros, micros + added[1] - looked[1]
        )

    @property
    def spent(self) -> bool:
        return (self.tokens is not None and self.used_tokens >= self.tokens) or (
            self.micros is not None and self.used_micros >= self.micros
        )


def _between(least: int, value: int, most: int) -> int:
    return min(max(least, value), most)


def _rest(whole: int, *parts: int) -> int:
    return max(0, whole - sum(parts))
