"""Conversations as people read and lead them (seed 004): lists, messages, search, and the ways
in by voice and by text.

Owns what the Conversations API decides. Sessions themselves are `voice.py`'s, what people plan
is `agenda.py`'s. Knows nothing of HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vivavoce.errors import NotFound
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.sessions.library import Library
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.voice import Exchange, Opened, Voice
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import ConversationSummary, Hit
from vivavoce.wire.records.talk import (
    Conversation,
    DropConversation,
    Entry,
    PutConversation,
    Status,
    VoiceSession,
    new_id,
)

PRIOR = 100  # messages that a resumed session begins with on the screen


@dataclass(frozen=True, slots=True)
class Visit:
    """A session that waits for its caller, and what was said before it."""

    opened: Opened
    prior: list[Entry]


class Conversations:
    """One user's conversations; another's are not there."""

    def __init__(
        self, store: Store, journal: Journal, clock: Clock, voice: Voice, library: Library
    ) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self._voice, self._library = voice, library

    # --- Leading them -------------------------------------------------------------------

    async def open(
        self, user_id: str, *, conversation_id: str | None = None, task_id: str | None = None
    ) -> Visit:
        """A voice session: of a new conversation, or of one that goes on."""
        if task_id is not None and await self._store.todo(task_id, user_id=user_id) is None:
            raise NotFound(f"Task '{task_id}' not found.")
        options = Options(task_id=task_id)
        if conversation_id is None:
            return Visit(await self._voice.create(user_id, options), [])
        opened = await self._voice.resume_conversation(conversation_id, user_id, options)
        # Read now: one that was live until a moment ago has written its last words.
        prior, _ = await self._store.messages_before(
            conversation_id, user_id=user_id, limit=PRIOR, said_only=True
        )
        return Visit(opened, prior)

    async def end(self, session_id: str, user_id: str) -> None:
        """Ends a session, once; what was said is kept. Raises `SessionNotFound`."""
        session = (await self._library.summary(session_id, user_id)).session
        live = await self._voice.end(session_id, user_id)
        if not live and session.status is Status.ACTIVE:
            await self._close(session)

    async def _close(self, session: VoiceSession) -> None:
        """One that nobody runs any more: of a process that is gone, or a client's own."""
        user_id = session.user_id
        await self._library.finish(session.id, user_id)
        conversation = await self._store.conversation(session.conversation_id, user_id=user_id)
        if conversation is not None:
            now = self._clock.now()
            ended = replace(conversation, ended_at=now, updated_at=now)
            await self._journal.commit([PutConversation(ended)])

    async def delete(self, conversation_id: str, user_id: str) -> list[str]:
        """All that was said and asked for in it goes, for good; the goals and tasks that came of
        it stay. Names its sessions that were live: they are ended first."""
        await self.get(conversation_id, user_id)
        async with self._voice.unopened(conversation_id):  # else it would come back with one
            active = [
                session
                for session in await self._store.active_sessions()
                if (session.conversation_id, session.user_id) == (conversation_id, user_id)
            ]
            for session in active:
                if not await self._voice.end_unopened(session.id, user_id):
                    await self._close(session)
            await self._journal.commit([DropConversation(conversation_id, user_id)])
        return [session.id for session in active]

    async def begin(
        self, user_id: str, *, context_type: str = "voice", title: str | None = None
    ) -> Conversation:
        """A conversation with nothing in it yet, to be written to."""
        now = self._clock.now()
        conversation = Conversation(
            id=new_id(),
            user_id=user_id,
            created_at=now,
            updated_at=now,
            context_type=context_type,
            title=(clean_line(title) or None) if title else None,
        )
        await self._journal.commit([PutConversation(conversation)])
        return conversation

    async def say(self, conversation_id: str, user_id: str, text: str, *, wait: float) -> Exchange:
        """Written words, answered by the same agent with the same history."""
        return await self._voice.say(conversation_id, user_id, text, wait=wait)

    # --- Reading them -------------------------------------------------------------------

    async def get(self, conversation_id: str, user_id: str) -> Conversation:
        found = await self._store.conversation(conversation_id, user_id=user_id)
        if found is None:
            raise NotFound(f"Conversation '{conversation_id}' not found.")
        return found

    async def page(
        self, user_id: str, *, context_type: str | None, limit: int, offset: int
    ) -> tuple[list[ConversationSummary], int]:
        return await self._store.conversation_list(
            user_id=user_id, context_type=context_type, limit=limit, offset=offset
        )

    async def messages(
        self, conversation_id: str, user_id: str, *, before: str | None, limit: int
    ) -> tuple[list[Entry], bool]:
        """The last ones before a message, oldest first, and whether there are more."""
        await self.get(conversation_id, user_id)
        found, more = await self._store.messages_before(
            conversation_id, user_id=user_id, before=before, limit=limit
        )
        if not found and before is not None:  # at the beginning, or nowhere
            of = {"conversation_id": conversation_id, "user_id": user_id}
            if not await self._store.has_message(before, **of):
                raise NotFound(f"Message '{before}' not found.")
        return found, more

    async def search(self, query: str, user_id: str, *, limit: int) -> list[Hit]:
        return await self._store.search(clean_line(query), user_id=user_id, limit=limit)
