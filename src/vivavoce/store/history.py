"""The reads of `SqlStore` about conversations as people read them, and what sessions took."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from vivavoce.store import finding, search
from vivavoce.store.clean import canonical_uuid, clean_text
from vivavoce.store.codec.plans import to_spent
from vivavoce.store.codec.talk import to_entry
from vivavoce.store.queries import history as queries
from vivavoce.store.reader import Reader, within
from vivavoce.wire.records.plans import ConversationSummary, Hit, Spent
from vivavoce.wire.records.talk import Entry


class HistoryReads:
    """A part of the store; the store says where to read, and from what."""

    @property
    def _read(self) -> Reader:
        raise NotImplementedError

    @property
    def _dialect(self) -> str:
        raise NotImplementedError

    async def conversation_list(
        self, *, user_id: str, context_type: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[list[ConversationSummary], int]:
        given: dict[str, object] = {"limit": within(limit), "offset": within(offset)}
        query = queries.CONVERSATIONS
        if context_type is not None:
            query, given["context_type"] = queries.CONVERSATIONS_OF_TYPE, context_type
        found = await self._read.all(_to_summary, query, user_id=user_id, **given)
        return [each for each, _ in found if each is not None], found[0][1]

    async def messages_before(
        self,
        conversation_id: str,
        *,
        user_id: str,
        before: str | None = None,
        limit: int = 100,
        said_only: bool = False,
    ) -> tuple[list[Entry], bool]:
        uuid = canonical_uuid(conversation_id)
        if uuid is None:
            return [], False
        given: dict[str, object] = {"conversation_id": uuid, "user_id": user_id}
        if before is not None:
            if canonical_uuid(before) is None:
                return [], False
            # An entry keeps its place, so two reads are as good as one.
            mark = await self._read.one(_to_fields, queries.MARK, id=before, **given)
            if mark is None:
                return [], False
            given |= mark
        wanted = max(0, min(limit, 1_000_000))
        query = queries.messages_before(mark=before is not None, said_only=said_only)
        found = await self._read.all(to_entry, query, limit=wanted + 1, **given)
        return found[:wanted][::-1], len(found) > wanted

    async def has_message(self, message_id: str, *, conversation_id: str, user_id: str) -> bool:
        of = canonical_uuid(conversation_id)
        if of is None or canonical_uuid(message_id) is None:
            return False
        given = {"id": message_id, "conversation_id": of, "user_id": user_id}
        return await self._read.one(_to_fields, queries.MARK, **given) is not None

    async def search(self, query: str, *, user_id: str, limit: int = 20) -> list[Hit]:
        wanted, owner = finding.words(clean_text(query)), clean_text(user_id)
        if not wanted:
            return []
        given = {"user_id": owner, "match": search.match(self._dialect, wanted, owner)}
        found: list[finding.Found] = []
        for way in search.find(self._dialect):
            if len(found) < finding.CANDIDATES:
                enough = finding.CANDIDATES
                found = await self._read.all(_to_found, way, candidates=enough, **given)
        # Off the loop: hundreds of texts are looked through.
        return await asyncio.to_thread(finding.rank, found, wanted, limit)

    async def spent(self, *, user_id: str, since: datetime) -> Spent:
        return await self._read.row(to_spent, queries.SPENT, user_id=user_id, since=since)


def _to_found(row: Row[Any]) -> finding.Found:
    return finding.Found(row.id, row.conversation_id, row.role, row.content, row.created_at)


def _to_fields(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping)


def _to_summary(row: Row[Any]) -> tuple[ConversationSummary | None, int]:
    if row.id is None:
        return None, row.total
    summary = ConversationSummary(
        id=row.id,
        context_type=row.context_type,
        created_at=row.created_at,
        title=row.title,
        last_message_at=row.last_message_at,
        ended_at=row.ended_at,
        extracted_intent=row.extracted_intent,
        preview=finding.preview(row.preview),
        messages=row.said,
    )
    return summary, row.total
