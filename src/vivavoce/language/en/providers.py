"""Providers in words: why another one speaks now, and a user's wish for one by its name. Pure.

A wish is a short request that names a provider we have, and says to use it, to switch, or to go
back; or to go back to the voice that spoke first, which may have no name that anybody can say.
Talk about a provider is none, nor is a question or a no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPOKEN = {"openai": "OpenAI", "azure": "Azure", "embedded": "the voice of this server"}
_ALSO = {
    "openai": ("openai", "open ai", "chatgpt"),
    "embedded": (
        *("embedded", "own engine", "built in", "built-in", "offline", "local", "this server"),
        *("voice of this server", "server's voice", "servers voice"),
    ),
}
_BECAUSE = {
    "insufficient_quota": "{before} has no quota left",
    "rate_limit_exceeded": "{before} asks us to slow down",
    "invalid_api_key": "{before} does not let us in",
    "context_length_exceeded": "{before} can't take in any more of this",
    "refused": "{before} refuses us",
    "busy": "{before} has no room just now",
}
_MOST_WORDS = 14
_WANTS = re.compile(
    r"\b(?:use|using|switch|change|go|going|come|move|return|try|take|put|hand|talk|speak|continue|"
    r"connect|reconnect|back)\b"
)
_NOT = re.compile(
    r"\b(?:not|never|no|nope|without|instead of|stop using)\b|n't\b|"
    r"^(?:what|why|who|when|where|how|is|are|was|were|did|does|do|tell)\b|"
    r"\b(?:about|because|file|code|page|account|key|article)\b"
)


_FIRST = re.compile(
    r"\b(?:old|other|first|former|previous|usual|normal|original|earlier|real|proper)\s+"
    r"(?:voice|provider|voice service|service|model|speaker|assistant)\b|"
    r"\b(?:voice|provider|service|model|speaker|assistant)\s+"
    r"(?:from before|(?:that )?(?:we|i) had|you had|before)\b"
)
_BACK = re.compile(r"\b(?:back|again|return)\b")


def called(name: str) -> str:
    """A provider as one speaks of it."""
    return _SPOKEN.get(name, name.replace("_", " ").replace("-", " "))


def taken_over(name: str, before: str, because: str) -> str:
    """One sentence: who speaks now, in whose place, and why."""
    why = _BECAUSE.get(because, "{before} does not answer").format(before=called(before))
    return f"{_capital(why)}, so I go on with {called(name)}."


def handed_back(name: str, before: str, because: str) -> str:
    """To whom the user wanted."""
    return f"This is {called(name)} now."


def going(name: str) -> str:
    return f"One moment, I go over to {called(name)}."


def stays(name: str, wanted: str) -> str:
    return f"{_capital(called(wanted))} still does not take us, so I stay with {called(name)}."


def trying(name: str, before: str, because: str) -> str:
    """For the eye, while nobody can speak."""
    why = _BECAUSE.get(because, "{before} does not answer").format(before=called(before))
    return f"{_capital(why)}. One moment, I try {called(name)}."


def wanted(words: str, names: Iterable[str], first: str = "") -> str | None:
    """The provider that the user wants to be spoken to by, if these words ask for one. `first` is
    whose place another one has taken."""
    said = " ".join(re.sub(r"[^\w' -]", " ", words.lower()).split())
    if len(said.split()) > _MOST_WORDS or (words.strip().endswith("?") and not _polite(said)):
        return None
    if _NOT.search(said) or not _WANTS.search(said):
        return None
    found = [name for name in names if any(_has(said, one) for one in _heard_as(name))]
    if first and not found and _FIRST.search(said) and _BACK.search(said):
        return first
    return found[0] if len(found) == 1 else None


def _polite(said: str) -> bool:
    return said.startswith(("can you", "could you", "would you", "will you", "please"))


def _heard_as(name: str) -> tuple[str, ...]:
    return _ALSO.get(name, ()) or (name.lower(), called(name).lower())


def _has(said: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said) is not None


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
