"""What the intent service needs of others in and around this package, as small protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from vivavoce.runtime.people.elsewhere import Elsewhere
from vivavoce.runtime.ports import AgendaStore, ToolContext
from vivavoce.wire.records.plans import Intent, Submission
from vivavoce.wire.records.talk import Change, Conversation, LogEvent
from vivavoce.wire.values import Record, Value

Action = Literal["submit", "amend", "retract"]


class IntentStore(AgendaStore, Protocol):
    """What is read; writes go through the journal."""

    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None: ...


class Journal(Protocol):
    """Durable first, announced after."""

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]: ...


class KnowsPlans(Protocol):
    """Where a user's plans are, if that is elsewhere."""

    async def of(self, context: ToolContext) -> Elsewhere | None:
        """None: nobody tells them. Raises `OrchestratorUnavailable` where they cannot be had
        now."""
        ...

    def forget(self, user_id: str) -> None:
        """Something was submitted: what was known is over."""
        ...


class Done(Value):
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


# --- Who makes goals and tasks of what was understood
#
# The one inside (goals, tasks and reschedules in our own database), or one behind HTTP. Deciding
# and storing are apart: an orchestrator inside returns the changes that its caller commits together
# with the intent, so that an accepted intent and what came of it are there together or not at all.


class Accepted(Record):
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
