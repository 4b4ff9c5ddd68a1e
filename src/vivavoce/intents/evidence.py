"""Which entries an intent came from: what was said since the last one, and before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from vivavoce.language.en.words import content, shares
from vivavoce.wire.records.plans import Intent, IntentStatus
from vivavoce.wire.records.talk import Entry, Kind

MOST = 40
_RELATED = 8  # of earlier entries


def last_submitted(intents: Iterable[Intent], but: str = "") -> datetime | None:
    """When the newest that went through was submitted; a refused one is still being made."""
    times = [i.created_at for i in intents if i.status is not IntentStatus.FAILED and i.id != but]
    return max(times, default=None)


def since(entries: Sequence[Entry], last: datetime | None) -> list[Entry]:
    """What was said after the last submission, from the user's first words on."""
    after = [e for e in entries if last is None or e.ordinal > last.timestamp() * 1000]
    first = next((at for at, e in enumerate(after) if e.kind is Kind.USER), len(after))
    final = max((at for at, e in enumerate(after) if e.kind is Kind.USER), default=-1)
    return after[first : final + 1]


def gather(
    entries: Sequence[Entry], last: datetime | None, payload: Mapping[str, Any]
) -> tuple[str, ...]:
    """Ids in the order of the conversation: the user's words since the last submission with the
    questions between them, and the earlier words of the user that the payload shares
    ("… and remind me to buy shoes", two turns ago)."""
    recent = since(entries, last)
    known = {entry.id for entry in recent}
    heard = frozenset().union(*(content(v) for v in payload.values() if isinstance(v, str)))
    earlier = [
        e
        for e in entries
        if e.kind is Kind.USER and e.id not in known and shares(content(e.text), heard)
    ]
    chosen = {e.id for e in earlier[-_RELATED:]} | {e.id for e in recent[-MOST + _RELATED :]}
    return tuple(e.id for e in entries if e.id in chosen)


def extended(known: Sequence[str], entries: Sequence[Entry], last: datetime) -> tuple[str, ...]:
    """With what was said after it, for a correction."""
    more = [entry.id for entry in since(entries, last)]
    return tuple(dict.fromkeys((*known, *more)))[-MOST:]


def last_words(entries: Sequence[Entry]) -> str:
    return next((e.text for e in reversed(entries) if e.kind is Kind.USER), "")


def unheard(entries: Sequence[Entry]) -> bool:
    """The call answers words that are not here: their transcript is still on its way."""
    return not entries or entries[-1].kind is not Kind.USER
