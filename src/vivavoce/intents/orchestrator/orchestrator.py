"""The orchestrator inside: goals, tasks and reschedules in our own database.

It decides and returns changes; its caller commits them with the intent. Each
route has a handler. Another route is a YAML entry and a URL, or a YAML entry and
a handler: an entry point of the group `vivavoce.intents`, named for the route,
that makes a `Handler` of an `AgendaStore`. A route without one is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import entry_points

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.goals import Goals
from vivavoce.intents.orchestrator.moves import Moves
from vivavoce.intents.orchestrator.ports import Handler, HandlerFactory
from vivavoce.intents.orchestrator.tasks import Tasks
from vivavoce.logs import failure
from vivavoce.runtime.people.intents import Accepted
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.wire.records.plans import Intent, Submission

log = logging.getLogger(__name__)

GROUP = "vivavoce.intents"
OWN: Mapping[str, HandlerFactory] = {"GOAL": Goals, "NEW_TASK": Tasks, "RESCHEDULE_TASK": Moves}


def installed_handlers(store: AgendaStore) -> dict[str, Handler]:
    """Ours, and those of installed packages; a package may take over a route of ours. One that
    does not load is told and left out: its route is refused, the others work."""
    handlers = {route: make(store) for route, make in OWN.items()}
    for point in entry_points(group=GROUP):
        try:
            handlers[point.name] = point.load()(store)
        except Exception as exc:  # somebody else's code
            log.error("A handler does not load", extra=failure(exc, route=point.name))
            handlers.pop(point.name, None)
    return handlers


def known_routes() -> list[str]:
    """What there is a handler for, by name: without loading any."""
    return sorted({*OWN, *(point.name for point in entry_points(group=GROUP))})


class EmbeddedOrchestrator:
    """Fills `runtime.intent_ports.Orchestrator`."""

    def __init__(self, store: AgendaStore, handlers: Mapping[str, Handler] | None = None) -> None:
        self.handlers = dict(installed_handlers(store) if handlers is None else handlers)

    async def submit(self, submission: Submission) -> Accepted:
        return await self._handler(submission.route).submit(submission)

    async def amend(self, intent: Intent, submission: Submission) -> Accepted:
        return await self._handler(intent.route).amend(intent, submission)

    async def retract(self, intent: Intent, submission: Submission) -> Accepted:
        return await self._handler(intent.route).retract(intent, submission)

    def _handler(self, route: str) -> Handler:
        handler = self.handlers.get(route)
        if handler is None:
            raise IntentRefused(
                f"There is no handler for {route}",
                suggestion="Say that this cannot be done here",
                route=route,
            )
        return handler
