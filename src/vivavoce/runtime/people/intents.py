"""The orchestrator's port: who makes goals and tasks of what was understood.

The package `intents` decides what is submitted and keeps the records; who acts on it
fills this: the one inside (goals, tasks and reschedules in our own database), or
one behind HTTP. Deciding and storing are apart: an orchestrator inside returns
the changes that its caller commits together with the intent, so that an
accepted intent and what came of it are there together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from vivavoce.wire.records.plans import Intent, Submission
from vivavoce.wire.records.talk import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What came of a submission."""

    goal_id: str | None = None
    task_id: str | None = None
    changes: tuple[Change, ...] = ()
    """To be committed with the intent."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """For the model, so that it can confirm: "when": "Friday, November 20 at 6:00 PM"."""
    previous: Mapping[str, Any] | None = None
    """What taking it back has to put back."""


class Orchestrator(Protocol):
    """Raises `IntentRefused` with words for the model where it will not (a task that is not there,
    a time that cannot be understood), `OrchestratorUnavailable` where it cannot now."""

    async def submit(self, submission: Submission) -> Accepted: ...

    async def amend(self, intent: Intent, submission: Submission) -> Accepted:
        """The same intent with a new payload: what came of it is changed, nothing is added."""
        ...

    async def retract(self, intent: Intent, submission: Submission) -> Accepted: ...
