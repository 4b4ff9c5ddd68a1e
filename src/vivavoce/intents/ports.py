"""What the intent service needs of others in and around this package, as small protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.records.plans import Intent, Submission
from vivavoce.wire.records.talk import Change, Conversation, LogEvent

Action = Literal["submit", "amend", "retract"]


class IntentStore(AgendaStore, Protocol):
    """What is read; writes go through the journal."""

    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None: ...


class Journal(Protocol):
    """Durable first, announced after."""

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]: ...


@dataclass(frozen=True, slots=True)
class Done:
    """The intent as it is stored now, and what the model is told besides."""

    intent: Intent
    told: Mapping[str, Any] = field(default_factory=dict)


class Acting(Protocol):
    """Carries an intent out and stores it. Raises `IntentRefused`, `OrchestratorUnavailable`.

    `intent` is as it will be when it goes well, `before` as it is stored now.
    """

    async def act(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Done: ...

    async def holds(self, known: Intent, given: Submission, *, asked: bool) -> bool:
        """Is what it says in force, so that saying it again is the same? `asked`: the user has
        spoken of it again since."""
        ...

    async def standing(self, known: Intent, given: Submission) -> Mapping[str, Any]:
        """What the model is told of one that is there already."""
        ...
