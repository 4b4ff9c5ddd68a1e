"""What was said around a call: read from the store, and waited for where a transcript is late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from vivavoce.intents import evidence
from vivavoce.intents.grounding import grounds
from vivavoce.intents.ports import IntentStore
from vivavoce.runtime.ports import Clock, ToolContext
from vivavoce.wire.records.plans import Intent
from vivavoce.wire.records.talk import Entry

ENTRIES = 200
INTENTS = 50
_STEP_SECONDS = 0.25
_STEPS = 6


@dataclass(frozen=True, slots=True)
class Scene:
    """One conversation as it is now: what was said, and what was submitted, newest first."""

    entries: Sequence[Entry]
    intents: Sequence[Intent]

    @property
    def last(self) -> datetime | None:
        return evidence.last_submitted(self.intents)

    @property
    def words(self) -> str:
        """What values may come from."""
        return grounds(self.entries)

    @property
    def said(self) -> str:
        return evidence.last_words(self.entries)


class Hearing:
    """Reads scenes."""

    def __init__(self, store: IntentStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def scene(
        self, conversation_id: str, context: ToolContext, content: Callable[[Scene], bool]
    ) -> Scene:
        """The scene, once it explains the call (`content`), or after a moment's patience.

        With some providers the model calls before the transcript of what it answers is
        there; only then is there anything to wait for.
        """
        intents = await self._store.intents(
            user_id=context.user_id, conversation_id=conversation_id, limit=INTENTS
        )
        scene = Scene(await self._entries(conversation_id, context), intents)
        for _ in range(_STEPS if context.origin in ("model", "webhook") else 0):
            if content(scene) or not evidence.unheard(scene.entries):
                break
            await self._clock.sleep(_STEP_SECONDS)
            scene = Scene(await self._entries(conversation_id, context), intents)
        return scene

    async def _entries(self, conversation_id: str, context: ToolContext) -> list[Entry]:
        entries, _ = await self._store.messages_before(
            conversation_id, user_id=context.user_id, limit=ENTRIES, said_only=True
        )
        return entries
