"""The provider's book of one call: its session, its items and their order, its ids.

Pure. Says nothing by itself but what follows at once from an entry.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping
from typing import Any

from vivavoce.testing.realtime.session import Json, new_session, updated_session

MS_PER_WORD = 400


class Ledger:
    """What both sides of the conversation write to."""

    def __init__(self, session: Mapping[str, Any], *, webrtc: bool) -> None:
        self.session = new_session(session)
        self.webrtc = webrtc
        self.items: dict[str, Json] = {}
        self.audio_ms: dict[str, int] = {}
        self.conversation_id = f"conv_{secrets.token_hex(8)}"
        self._token = secrets.token_hex(4)
        self._count = itertools.count(1)

    @property
    def spoken(self) -> bool:
        return "audio" in self.session["output_modalities"]

    @property
    def last_item(self) -> str | None:
        return next(reversed(self.items), None)

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{self._token}{next(self._count):05d}"

    def event(self, kind: str, **fields: Any) -> Json:
        return {"type": kind, "event_id": self.new_id("event"), **fields}

    def session_created(self) -> list[Json]:
        return [self.event("session.created", session=self.session)]

    def session_updated(self, patch: Mapping[str, Any] | None = None) -> list[Json]:
        self.session = updated_session(self.session, patch or {})
        return [self.event("session.updated", session=self.session)]

    def insert(self, item: Json, previous: str | None = None) -> str | None:
        """Enter an item after `previous` ("root": first, None: last); what comes before it."""
        order = list(self.items)
        before = self.last_item if previous is None else previous if previous != "root" else None
        place = order.index(before) + 1 if before is not None else 0
        self.items[item["id"]] = item
        for later in order[place:]:
            self.items[later] = self.items.pop(later)
        return before

    def add_item(self, item: Mapping[str, Any], previous: str | None = None) -> list[Json]:
        """Enter an item that is complete."""
        done = {"status": "completed", **item, "id": item.get("id") or self.new_id("item")}
        before = self.insert(done, previous)
        return [
            self.event("conversation.item.added", previous_item_id=before, item=done),
            self.event("conversation.item.done", previous_item_id=before, item=done),
        ]


def pieces(text: str) -> list[str]:
    """As a model streams it: word by word, the spaces in front."""
    words = text.split(" ")
    return [word if i == 0 else f" {word}" for i, word in enumerate(words) if word or i]
