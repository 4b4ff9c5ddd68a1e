"""What agents of others are told at the beginning, and what is kept of their last words. Pure."""

from __future__ import annotations

from vivavoce.runtime.tasks.ports import Work
from vivavoce.tools.delegation.recall import clip
from vivavoce.wire.clean import clean_text

_MAX_TEXT = 8_000
_MAX_SUMMARY = 4_000
_ALOUD = (
    "Your last words are read aloud to the user: end with one to three plain sentences that say "
    "what came of it, without lists and without code."
)
_FORGOT = (
    "This work was begun before and broke off. Look at what is done already, and go on from "
    "there: do not do anything twice."
)
_REMEMBERS = "You were interrupted. Look at how far you had come, and go on from there."


def brief(work: Work, *, again: bool = False, remembers: bool = False) -> str:
    """`again`: an earlier attempt died; `remembers`: it is the same session as then."""
    parts = [_REMEMBERS if remembers else _FORGOT] if again else []
    parts.append(clip(work.description, _MAX_TEXT))
    if work.context:
        parts.append(f"What was said before:\n{clip(work.context, _MAX_TEXT)}")
    return "\n\n".join([*parts, _ALOUD])


def told(text: str, otherwise: str, longest: int = _MAX_SUMMARY) -> str:
    """An agent's words, fit to be shown and said."""
    return clip(clean_text(text).strip(), longest) or otherwise
