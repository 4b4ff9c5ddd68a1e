"""The reads of `SqlStore` about people, goals, tasks, intents and the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vivavoce.store.clean import canonical_uuid
from vivavoce.store.codec import plans as codec
from vivavoce.store.queries import plans as queries
from vivavoce.store.reader import Reader, within
from vivavoce.wire.records.plans import Delivery, Goal, Intent, Milestone, Person, Todo


class AgendaReads:
    """A part of the store; the store says where to read."""

    @property
    def _read(self) -> Reader:
        raise NotImplementedError

    async def person(self, user_id: str) -> Person | None:
        return await self._read.one(codec.to_person, queries.PERSON, id=user_id)

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        if canonical_uuid(goal_id) is None:
            return None
        return await self._read.one(codec.to_goal, queries.GOAL, id=goal_id, user_id=user_id)

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        given: dict[str, object] = {"limit": within(limit), "offset": within(offset)}
        if status is not None:
            given["status"] = str(status)
        query = queries.goals_of_user(status=status is not None)
        return await self._read.all(codec.to_goal, query, user_id=user_id, **given)

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        ids = [uuid for each in goal_ids if (uuid := canonical_uuid(each))]
        query = queries.MILESTONES
        return await self._read.all(codec.to_milestone, query, goal_ids=ids, user_id=user_id)

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        if canonical_uuid(todo_id) is None:
            return None
        return await self._read.one(codec.to_todo, queries.TODO, id=todo_id, user_id=user_id)

    async def todos(
        self,
        *,
        user_id: str,
        open_only: bool = False,
        until: datetime | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Todo]:
        given: dict[str, object] = {"limit": within(limit), "offset": within(offset)}
        if until is not None:
            given["until"] = until
        query = queries.todos_of_user(open_only=open_only, until=until is not None)
        return await self._read.all(codec.to_todo, query, user_id=user_id, **given)

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None:
        query = queries.INTENT
        return await self._read.one(codec.to_intent, query, id=intent_id, user_id=user_id)

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        given: dict[str, object] = {"limit": within(limit)}
        if conversation_id is not None:
            if canonical_uuid(conversation_id) is None:
                return []
            given["conversation_id"] = conversation_id
        query = queries.intents_of_user(conversation=conversation_id is not None)
        return await self._read.all(codec.to_intent, query, user_id=user_id, **given)

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        given: dict[str, object] = {"before": before, "limit": within(limit)}
        if after is not None:
            given |= {"created_at": after.created_at, "id": after.id}
        query = queries.due_deliveries(mark=after is not None)
        return await self._read.all(codec.to_delivery, query, **given)

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        return await self._read.all(codec.to_delivery, queries.DELIVERIES, intent_id=intent_id)
