"""What was said around a call, and which of it led to an intent: read from the store, and waited
for where a transcript is late."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from vivavoce.intents.checking import grounds
from vivavoce.intents.ports import IntentStore
from vivavoce.language.en.words import content, shares
from vivavoce.runtime.ports import Clock, ToolContext
from vivavoce.wire.records.plans import Intent, IntentStatus
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.values import Value

ENTRIES = 200
INTENTS = 50
_STEP_SECONDS = 0.25
_STEPS = 6
_EVIDENCE = 40
_RELATED = 8  # of earlier entries


class Scene(Value):
    """One conversation as it is now: what was said, and what was submitted, newest first."""

    entries: Sequence[Entry]
    intents: Sequence[Intent]

    @property
    def words(self) -> str:
        """What values may come from."""
        return grounds(self.entries)

    @property
    def said(self) -> str:
        """The user's last words."""
        return next((e.text for e in reversed(self.entries) if e.kind is Kind.USER), "")

    @property
    def unheard(self) -> bool:
        """The call answers words that are not here: their transcript is still on its way."""
        return not self.entries or self.entries[-1].kind is not Kind.USER

    def after(self, last: datetime | None) -> list[Entry]:
        """What was said since then, from the user's first words to their last."""
        entries = [e for e in self.entries if last is None or e.ordinal > last.timestamp() * 1000]
        spoken = [at for at, e in enumerate(entries) if e.kind is Kind.USER]
        return entries[spoken[0] : spoken[-1] + 1] if spoken else []

    @property
    def fresh(self) -> list[Entry]:
        """What was said since the newest submission that went through; a refused one is still
        being made."""
        times = [i.created_at for i in self.intents if i.status is not IntentStatus.FAILED]
        return self.after(max(times, default=None))

    def evidence(self, payload: Mapping[str, Any]) -> tuple[str, ...]:
        """Ids in the order of the conversation: the user's words since the last submission with the
        questions between them, and the earlier words of the user that the payload shares
        ("… and remind me to buy shoes", two turns ago)."""
        recent = self.fresh
        known = {entry.id for entry in recent}
        heard = frozenset().union(*(content(v) for v in payload.values() if isinstance(v, str)))
        earlier = [
            e
            for e in self.entries
            if e.kind is Kind.USER and e.id not in known and shares(content(e.text), heard)
        ]
        chosen = {e.id for e in (*earlier[-_RELATED:], *recent[-_EVIDENCE + _RELATED :])}
        return tuple(e.id for e in self.entries if e.id in chosen)

    def more_evidence(self, intent: Intent) -> tuple[str, ...]:
        """With what was said after it, for a correction."""
        more = [entry.id for entry in self.after(intent.created_at)]
        return tuple(dict.fromkeys((*intent.evidence, *more)))[-_EVIDENCE:]


async def scene_of(
    store: IntentStore,
    clock: Clock,
    conversation_id: str,
    context: ToolContext,
    explains: Callable[[Scene], bool] = lambda scene: False,
) -> Scene:
    """The scene, once the user has spoken last or it explains the call, or after a moment.

    With some providers the model calls before the transcript of what it answers is there; only
    then is there anything to wait for.
    """
    intents = await store.intents(
        user_id=context.user_id, conversation_id=conversation_id, limit=INTENTS
    )

    async def now() -> Scene:
        entries, _ = await store.messages_before(
            conversation_id, user_id=context.user_id, limit=ENTRIES, said_only=True
        )
        return Scene(entries, intents)

    scene = await now()
    for _ in range(_STEPS if context.origin in ("model", "webhook") else 0):
        if explains(scene) or not scene.unheard:
            break
        await clock.sleep(_STEP_SECONDS)
        scene = await now()
    return scene
