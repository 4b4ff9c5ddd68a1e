"""People, goals, to-dos, intents and deliveries as `MemoryStore` gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from vivavoce.store.clean import canonical_uuid, clean_text
from vivavoce.testing.memory_tables import Tables
from vivavoce.wire.records.plans import Delivery, Goal, Intent, Milestone, Person, Todo

_NEVER = datetime.max.replace(tzinfo=UTC)


class AgendaReads:
    """The part of `MemoryStore` that knows plans."""

    _tables: Tables

    def _check(self) -> None:
        """Is the store open?"""
        raise NotImplementedError

    async def person(self, user_id: str) -> Person | None:
        self._check()
        return self._tables.people.get(clean_text(user_id))

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        self._check()
        found = self._tables.goals.get(canonical_uuid(goal_id) or "")
        return found if found is not None and found.user_id == user_id else None

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        self._check()
        found = [
            goal
            for goal in self._tables.goals.values()
            if goal.user_id == user_id and status in (None, goal.status)
        ]
        found.sort(key=lambda goal: (goal.created_at, goal.id), reverse=True)
        return found[max(0, offset) :][: max(0, limit)]

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        self._check()
        ids = {canonical_uuid(each) for each in goal_ids}
        found = [
            each
            for each in self._tables.milestones.values()
            if each.user_id == user_id and each.goal_id in ids
        ]
        return sorted(found, key=lambda each: (each.goal_id, each.position, each.id))

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        self._check()
        found = self._tables.todos.get(canonical_uuid(todo_id) or "")
        return found if found is not None and found.user_id == user_id else None

    async def todos(
        self,
        *,
        user_id: str,
        open_only: bool = False,
        until: datetime | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Todo]:
        self._check()
        found = [
            todo
            for todo in self._tables.todos.values()
            if todo.user_id == user_id
            and (todo.status.open or not open_only)
            and (until is None or _comes_before(todo, until))
        ]
        found.sort(key=lambda each: (each.scheduled_at or _NEVER, each.created_at, each.id))
        return found[max(0, offset) :][: max(0, limit)]

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None:
        self._check()
        found = self._tables.intents.get(clean_text(intent_id))
        return found if found is not None and found.user_id == user_id else None

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        self._check()
        of = None if conversation_id is None else canonical_uuid(conversation_id) or ""
        found = [
            each
            for each in self._tables.intents.values()
            if each.user_id == user_id and of in (None, each.conversation_id)
        ]
        found.sort(key=lambda each: (each.created_at, each.id), reverse=True)
        return found[: max(0, limit)]

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        self._check()
        oldest: dict[str, Delivery] = {}
        for each in sorted(self._tables.deliveries.values(), key=_age):
            if each.status == "pending":
                oldest.setdefault(each.intent_id, each)
        found = [each for each in oldest.values() if each.due_at <= before]
        if after is not None:
            found = [each for each in found if _age(each) > _age(after)]
        return sorted(found, key=_age)[: max(0, limit)]

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        self._check()
        found = [d for d in self._tables.deliveries.values() if d.intent_id == intent_id]
        return sorted(found, key=_age)


def _comes_before(todo: Todo, until: datetime) -> bool:
    recurs = todo.recurrence_rule is not None
    return recurs or todo.scheduled_at is None or todo.scheduled_at < until


def _age(delivery: Delivery) -> tuple[datetime, str]:
    return delivery.created_at, delivery.id
