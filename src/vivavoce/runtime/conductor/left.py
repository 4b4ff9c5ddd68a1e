"""What a conversation with a runtime is left with when its server went away: what was being read
out, and what has no answer yet. From the stored entries. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from vivavoce.runtime.sessions.texting import LEFT_SECONDS, is_written
from vivavoce.session.events import Interrupted, Spoken
from vivavoce.session.speech import heard_text
from vivavoce.wire.records.talk import Entry, Kind


def unread(entries: Sequence[Entry]) -> Entry | None:
    """The last answer, if it was being read out."""
    said = [one for one in entries if one.kind is Kind.ASSISTANT]
    last = said[-1] if said else None
    return last if last is not None and last.data.get("playing") else None


def owed(entries: Sequence[Entry], now: datetime) -> Entry | None:
    """What the user said last, if nothing was said to it, or nothing to what came of a tool."""
    resulted = False
    for entry in reversed(entries):
        if entry.kind is Kind.TOOL_RESULT:
            resulted = True
        elif entry.kind is Kind.ASSISTANT and not entry.data.get("aside"):
            if not resulted and (entry.text or entry.data.get("playing")):
                return None
        elif entry.kind is Kind.USER:
            late = (now - entry.created_at).total_seconds() > LEFT_SECONDS
            return entry if is_written(entry) and not late else None
    return None


def heard(entry: Entry, event: Spoken | Interrupted) -> Entry:
    """The entry once it was read out, or was cut off: as the session would have written it."""
    whole = str(entry.data.get("generated") or entry.text)
    known = ("playing", "generated", "estimated", "interrupted", "audio_end_ms")
    data = {name: value for name, value in entry.data.items() if name not in known}
    if isinstance(event, Spoken):
        return replace(entry, text=whole, data=data)
    if event.characters is not None:
        words, sure = heard_text(whole, event.characters, total_ms=len(whole)), True
    elif event.ms is not None:
        words, sure = heard_text(whole, event.ms), False
    else:
        words, sure = entry.text, False  # as far as was known
    if words == whole:
        return replace(entry, text=whole, data=data)
    data |= {"generated": whole, "interrupted": True}
    data |= {"audio_end_ms": event.ms} if event.ms is not None else {}
    return replace(entry, text=words, data=data if sure else {**data, "estimated": True})
