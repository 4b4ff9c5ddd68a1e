"""What a session is allowed and how long it may wait: data, given at its start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from typing import Any, Literal

from vivavoce.wire.values import Record

SILENCE_MS = 500  # what the protocol means when nobody says


class Identity(Record):
    """Whose session it is."""

    session_id: str
    conversation_id: str
    user_id: str


class Window(Record):
    """How much the session's model reads, in tokens."""

    tokens: int
    fixed: int = 0
    """Of it, what instructions and tools take."""
    again: int | None = None
    """Of the talk, what the model can read anew before somebody waits for it; None: all of it."""
    turns: int = 10
    """So many of the last are kept word for word, as long as they fit at all."""


class Policy(Record):
    """Times in seconds; None is no limit. `idle_question` is said word for word with the
    warning, and is itself no sign of life."""

    idle: float | None = 15 * 60
    idle_warning: float = 30
    idle_question: str | None = None
    cap: float | None = 60 * 60
    """The provider's, for one call: before it the browser may move to another."""
    longest: float | None = None
    """The agent's, for the session from its start, whatever calls it has: nothing lifts it."""
    cap_warning: float = 60
    """Before either cap; before the provider's at most a quarter of it."""
    providers: tuple[str, ...] = ()
    """Who may answer, in the order in which they are asked."""
    failover: float = 60
    """So long a session without a call waits for its client to place one at another provider."""
    connect: float = 120
    attach_tries: int = 5
    attach_delay: float = 3.0
    turn_patience: float = 10.0
    peer_text: Literal["deny", "allow"] = "deny"
    interim_after: float | None = 1.2
    """A tool that runs longer gets a word, unless something was said in this turn."""
    interim_words: str = "One moment, I'm on it."
    interim: Mapping[str, str] = field(default_factory=dict)
    """By tool: "Let me look…"."""
    fault_words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The agent's own, by the code of a row in `errors.SPOKEN`: first while it is tried again,
    last when it is not."""
    overdue_after: float | None = 45.0
    """A tool that runs longer is owned up to."""
    abandon_after: float = 900.0
    """From then on it is not waited for: whatever limits a tool has of its own have failed."""
    unhurried: frozenset[str] = frozenset()
    """Tools that wait for somebody, and are never late."""
    one_connection: bool = False
    """The connection is the session (text without a call): once it is lost there is nothing to
    go back to."""
    aloud: Literal["", "answers", "sentences"] = ""
    """Of a written session: its client reads out what the assistant writes, an answer at a time
    or a sentence."""
    window: Window | None = None
    """None: nobody knows, and nothing is taken out of a call."""
    budget_words: str = (
        "I'm sorry, what you may use in a day is used up, so I have to stop here. "
        "Everything we said is kept."
    )
    budget_grace: float = 20
    """So long the end may wait for those words."""

    @property
    def cap_lead(self) -> float:
        """So long before the provider's cap another call is wanted."""
        return min(self.cap_warning, (self.cap or 0.0) / 4)


class Setup(Record):
    """The GA session configuration, ready for `session.update`."""

    session: Mapping[str, Any] = field(default_factory=dict)

    @property
    def voice(self) -> str:
        return str(_dig(self.session, "audio", "output", "voice") or "")

    @property
    def tools_count(self) -> int:
        return len(self.session.get("tools") or ())

    @property
    def turn_detection(self) -> Mapping[str, Any] | None:
        """None where turns are ended by hand, and where nothing is heard at all."""
        detection = _dig(self.session, "audio", "input", "turn_detection")
        return detection if isinstance(detection, Mapping) else None

    @property
    def answers_by_itself(self) -> bool:
        """Does the provider create a response when the user's turn ends?"""
        detection = self.turn_detection
        return detection is not None and detection.get("create_response") is not False

    @property
    def transcribes(self) -> bool:
        """Will there be a transcript of what the user says?"""
        return bool(_dig(self.session, "audio", "input", "transcription"))

    @property
    def transcriber(self) -> str:
        """The model that writes down what the user says."""
        return str(_dig(self.session, "audio", "input", "transcription", "model") or "")

    @property
    def silence(self) -> timedelta:
        """How much silence passes before the provider says that speech has stopped;
        nothing where only the provider knows."""
        detection = self.turn_detection
        if detection is None or detection.get("type") != "server_vad":
            return timedelta()
        wait = detection.get("silence_duration_ms")
        return timedelta(milliseconds=wait if isinstance(wait, int | float) else SILENCE_MS)

    def merged(self, changes: Mapping[str, Any]) -> Setup:
        return Setup(session=_merge(self.session, changes))


def _dig(tree: Any, *path: str) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for name, value in changes.items():
        old = out.get(name)
        # Turn detection is one choice, not a set of independent fields.
        if isinstance(old, Mapping) and isinstance(value, Mapping) and name != "turn_detection":
            out[name] = _merge(old, value)
        else:
            out[name] = value
    return out
