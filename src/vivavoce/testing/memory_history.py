"""Conversations as people read them, and what sessions took, in `MemoryStore`."""

from __future__ import annotations

from datetime import datetime

from vivavoce.store import finding
from vivavoce.store.clean import canonical_uuid, clean_text, told
from vivavoce.testing.memory_tables import Tables
from vivavoce.wire.records.plans import ConversationSummary, Hit, Spent
from vivavoce.wire.records.talk import Conversation, Entry, Kind

_SAID = (Kind.USER, Kind.ASSISTANT)


class HistoryReads:
    """The part of `MemoryStore` that lists, pages and searches."""

    _tables: Tables

    def _check(self) -> None:
        """Is the store open?"""
        raise NotImplementedError

    async def entries(self, conversation_id: str, *, user_id: str) -> list[Entry]:
        self._check()
        scope = (canonical_uuid(conversation_id), user_id)
        found = [
            entry
            for entry in self._tables.entries.values()
            if (entry.conversation_id, entry.user_id) == scope
        ]
        return sorted(found, key=lambda entry: (entry.ordinal, entry.created_at, entry.id))

    async def conversation_list(
        self, *, user_id: str, context_type: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[list[ConversationSummary], int]:
        self._check()
        found = [
            await self._shown(each)
            for each in self._tables.conversations.values()
            if each.user_id == user_id and context_type in (None, each.context_type)
        ]
        found.sort(key=_recent, reverse=True)
        return found[max(0, offset) :][: max(0, limit)], len(found)

    async def _shown(self, conversation: Conversation) -> ConversationSummary:
        entries = await self.entries(conversation.id, user_id=conversation.user_id)
        said = [entry for entry in entries if entry.kind in _SAID]
        return ConversationSummary(
            id=conversation.id,
            context_type=conversation.context_type,
            created_at=conversation.created_at,
            title=conversation.title,
            last_message_at=max((entry.created_at for entry in said), default=None),
            ended_at=conversation.ended_at,
            extracted_intent=conversation.extracted_intent,
            preview=finding.preview(_told(said[-1])[:400]) if said else None,
            messages=len(said),
        )

    async def messages_before(
        self,
        conversation_id: str,
        *,
        user_id: str,
        before: str | None = None,
        limit: int = 100,
        said_only: bool = False,
    ) -> tuple[list[Entry], bool]:
        found = await self.entries(conversation_id, user_id=user_id)
        if before is not None:
            ids = [entry.id for entry in found]
            mark = canonical_uuid(before)
            found = found[: ids.index(mark)] if mark in ids else []
        if said_only:
            found = [entry for entry in found if entry.kind in _SAID]
        start = max(0, len(found) - max(0, limit))
        return found[start:], start > 0

    async def has_message(self, message_id: str, *, conversation_id: str, user_id: str) -> bool:
        found = await self.entries(conversation_id, user_id=user_id)
        return canonical_uuid(message_id) in {entry.id for entry in found}

    async def search(self, query: str, *, user_id: str, limit: int = 20) -> list[Hit]:
        self._check()
        wanted = finding.words(clean_text(query))
        if not wanted:
            return []
        found = [
            entry
            for entry in self._tables.entries.values()
            if entry.user_id == user_id
            and entry.kind in _SAID
            and finding.matches(_told(entry), wanted)
        ]
        found.sort(key=lambda entry: entry.created_at, reverse=True)
        shown = [
            finding.Found(
                entry.id, entry.conversation_id, entry.kind.value, _told(entry), entry.created_at
            )
            for entry in found[: finding.CANDIDATES]
        ]
        return finding.rank(shown, wanted, limit)

    async def spent(self, *, user_id: str, since: datetime) -> Spent:
        self._check()
        found = [
            each
            for each in (*self._tables.sessions.values(), *self._tables.dropped.values())
            if each.user_id == user_id and each.created_at >= since
        ]
        return Spent(
            sessions=sum(each.counted for each in found),
            input_tokens=sum(each.input_tokens for each in found),
            output_tokens=sum(each.output_tokens for each in found),
            cost_micros=sum(each.cost_micros for each in found),
            since=min((each.created_at for each in found if each.counted), default=None),
        )


def _told(entry: Entry) -> str:
    return told(entry.text, spoken=entry.spoken)


def _recent(shown: ConversationSummary) -> tuple[datetime, str]:
    return max(shown.last_message_at or shown.created_at, shown.created_at), shown.id
