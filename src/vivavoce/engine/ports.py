"""What the engine needs of its models and of its media, as small protocols.

Ears and mouths are shared by all sessions; a detector and a judge belong to
one. Audio inside the engine is mono: float32 at 16 kHz on the way in, PCM16
at 24 kHz on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from vivavoce.wire.values import Value

Samples: TypeAlias = npt.NDArray[np.float32]
Pcm: TypeAlias = npt.NDArray[np.int16]

EAR_RATE = 16_000
MOUTH_RATE = 24_000
FRAME = 512
"""Samples the detector takes at once: 32 ms."""


# --- Models -----------------------------------------------------------------------


class Detector(Protocol):
    """Is it speech? Quick enough for the event loop (0.13 ms a frame)."""

    def feed(self, frame: Samples) -> float:
        """The probability of speech in the next `FRAME` samples."""

    def reset(self) -> None: ...


class Transcript(Value):
    """What was said, and how sure the ears are of it: the geometric mean of the probabilities
    of what they wrote, 0 to 1. Silence is an empty text."""

    text: str
    confidence: float = 1.0
    closed: float | None = None
    """How likely the mark after the last word ends the sentence, rather than that it goes on as
    after a comma, by how it was said; None where the ears cannot tell."""


class Manner(TypedDict, total=False):
    """How somebody wants to be heard."""

    language: str | None
    hint: str
    """What was heard of the beginning of the same speech a moment ago: it may make the work
    shorter, and never changes the result."""
    urgent: bool
    """True where nothing is said. What is not, a partial, waits for what is."""
    keywords: Sequence[str]
    """Likely to be said: where one sounds nearly as right as something else, it is written."""


class Ears(Protocol):
    """Speech to text."""

    @property
    def name(self) -> str: ...

    async def transcribe(self, speech: Samples, **manner: Unpack[Manner]) -> Transcript:
        """Any length of speech; long speech is heard in segments, cut at pauses. Heavy work
        happens off the event loop; cancelling stops it soon. Raises `EarsError`."""


class Judge(Protocol):
    """Has the user finished, or only paused? (semantic VAD)"""

    async def finished(self, speech: Samples) -> float:
        """The probability that the turn is over, from its last seconds of audio."""


class Utterance(Value):
    """A clause as sound: PCM16 mono at `MOUTH_RATE`, and its words as they come in it.

    `words` are the pieces of the text, spaces included, with the millisecond
    of the sound at which each has been said; put together they are the text.
    """

    pcm: bytes
    words: tuple[tuple[str, int], ...]

    @property
    def ms(self) -> int:
        return len(self.pcm) // 2 * 1000 // MOUTH_RATE


class Mouth(Protocol):
    """Text to speech, a clause at a time."""

    @property
    def name(self) -> str: ...

    @property
    def voices(self) -> tuple[str, ...]:
        """The names that `speak` takes: OpenAI's and the model's own."""

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        """Silence at both ends trimmed; without sound where there is nothing to say.

        `lead_ms` is how much sound the listener still has in front of this
        clause: the one who has least is served first. Heavy work happens off
        the event loop; cancelling stops it soon. Raises `MouthError`.
        """


# --- Media ------------------------------------------------------------------------


class Position(Value):
    """How much of an item the listener has been sent, in milliseconds of its audio."""

    response_id: str
    item_id: str
    played_ms: int


class PeerEvents(Protocol):
    """What a media peer tells the session. Called on the event loop; must not block."""

    def audio(self, pcm: Pcm, rate: int) -> None:
        """The next piece of the user's sound, in order and without gaps."""

    def message(self, text: str) -> None:
        """A client event from the data channel."""

    def connected(self) -> None:
        """ICE and DTLS are up."""

    def channel_open(self) -> None:
        """The data channel can carry server events now."""

    def playing(self, response_id: str) -> None:
        """The first sound of a response went out."""

    def played(self, response_id: str) -> None:
        """The last sound of a finished response went out."""

    def gone(self, reason: str) -> None:
        """The peer hung up or was lost. Told once."""
