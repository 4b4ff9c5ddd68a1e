"""The provider's book of one call: its session, its items and their order, its ids.

Pure. Says nothing by itself but what follows at once from an entry. Where a
client leaves something open, the values are those OpenAI's servers answered
with in 2026.
"""

from __future__ import annotations

import copy
import itertools
import secrets
import time
from collections.abc import Mapping
from typing import Any

from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.events import held
from vivavoce.wire.realtime.session import AudioFormat, SemanticVad, ServerVad, Transcription

Json = dict[str, Any]

MS_PER_WORD = 400

_SERVER_VAD = ServerVad(silence_duration_ms=200).model_dump()
_SEMANTIC_VAD = SemanticVad().model_dump()
_TRANSCRIPTION = Transcription(model="gpt-realtime-whisper").shown()
_PCM = AudioFormat().shown()
_DEFAULTS: Json = {
    "type": "realtime",
    "object": "realtime.session",
    "model": "gpt-realtime",
    "output_modalities": ["audio"],
    "instructions": "You are a helpful assistant.",
    "tools": [],
    "tool_choice": "auto",
    "max_output_tokens": "inf",
    "tracing": None,
    "truncation": "auto",
    "prompt": None,
    "audio": {
        "input": {
            "format": _PCM,
            "transcription": None,
            "noise_reduction": None,
            "turn_detection": _SERVER_VAD,
        },
        "output": {"format": _PCM, "voice": "alloy", "speed": 1.0},
    },
    "include": None,
}


def new_session(asked: Mapping[str, Any], *, seconds: float = 3600) -> Json:
    """The effective session for what was asked when it was created."""
    session = copy.deepcopy(_DEFAULTS)
    session["id"] = f"sess_{secrets.token_hex(8)}"
    session["expires_at"] = int(time.time() + seconds)
    return updated_session(session, asked)


def updated_session(session: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """`session.update` replaces what it names and keeps the rest."""
    merged = _merge(session, patch)
    hearing, asked = merged["audio"]["input"], (patch.get("audio") or {}).get("input") or {}
    if turns := asked.get("turn_detection"):
        known = _SEMANTIC_VAD if turns.get("type") == "semantic_vad" else _SERVER_VAD
        hearing["turn_detection"] = known | turns
    if transcription := asked.get("transcription"):
        hearing["transcription"] = _TRANSCRIPTION | transcription
    return merged


def _merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    merged = copy.deepcopy(dict(base))
    for key, value in patch.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), dict):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


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

    def event(
        self, said: server.EventType | server.Frame, place: Json | None = None, **fields: Any
    ) -> Json:
        frame = said if isinstance(said, dict) else server.frame(said, place, **fields)
        return held({"type": frame["type"], "event_id": self.new_id("event"), **frame})

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
