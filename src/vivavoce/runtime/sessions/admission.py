"""Whether a user may have another session, and what it may take.

The limits are the agent's and are kept by the store: a new session is counted
and stored in one transaction, so that two requests at once, or two processes
on one database, cannot both be the last. Only what was admitted is minted,
and only then does an older session give way. What comes to nothing after all
is taken back: ended, and not counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from weakref import WeakValueDictionary

from vivavoce.errors import Conflict, RateLimited, SessionNotFound, VivavoceError, found
from vivavoce.runtime.ids import SessionIds
from vivavoce.runtime.provider.known_models import Budget
from vivavoce.runtime.sessions.options import began_at, check_steering, remembered
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.records import ours
from vivavoce.session.events import BudgetSpent, End
from vivavoce.session.state import Phase
from vivavoce.wire.records.plans import NEVER_BEGAN, SessionLimits
from vivavoce.wire.records.talk import (
    DEFAULT_USER,
    Change,
    Conversation,
    DropConversation,
    PutConversation,
    PutSession,
    Status,
    VoiceSession,
    Within,
)
from vivavoce.wire.records.work import Role

log = logging.getLogger(__name__)

_ID_TRIES = 5
UNCONNECTED_SECONDS = 20.0
"""A session that nobody connected to for so long gives way to another of the same user."""
LOOK_SECONDS = 60.0
"""So often the store is asked what was spent elsewhere."""
_DAY = timedelta(days=1)


class Admission:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ids = SessionIds(parts.clock.now)
        # Weak: a lock is there as long as somebody holds or wants it.
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # By user, as long as a session of theirs is live.
        self._budgets: WeakValueDictionary[str, Budget] = WeakValueDictionary()

    @asynccontextmanager
    async def unopened(self, conversation_id: str) -> AsyncIterator[None]:
        """While nobody else opens a session of this conversation, here."""
        lock = self._opening.setdefault(conversation_id, asyncio.Lock())
        async with lock:
            yield

    @asynccontextmanager
    async def alone(self, conversation: Conversation, *, new: bool = False) -> AsyncIterator[None]:
        """The same with a seat, for one that was not deleted while we waited."""
        async with self.unopened(conversation.id):
            if not new:
                found(await self._there(conversation), "Conversation", conversation.id)
            async with self._parts.registry.seat(conversation.id, conversation.user_id):
                yield

    async def check_led(self, conversation_id: str, user_id: str, role: Role) -> None:
        """Raises `Forbidden` for a token that is lesser than one that this conversation was led
        with: all tokens are one user, and what was said with one counts for the others."""
        if user_id != DEFAULT_USER or role == "operator":
            return
        for session in await self._parts.store.sessions_of(conversation_id, user_id=user_id):
            check_steering(session, role)

    async def _there(self, conversation: Conversation) -> Conversation | None:
        of = {"user_id": conversation.user_id}
        return await self._parts.store.conversation(conversation.id, **of)

    async def _admit(
        self, session: VoiceSession, conversation: Conversation, *, new: bool
    ) -> VoiceSession:
        shares = self._parts.shares
        limits = shares.of_sessions(self._parts.profile.agent.session_limits())
        limits = replace(limits, one_of_many=session.user_id == DEFAULT_USER)
        room = shares.more(session.user_id, conversation=new)
        if remembered(session).text:  # it has a rate of its own, and the same budget
            limits = replace(limits, per_10_minutes=0, per_day=0, concurrent=0)
            session = replace(session, counted=False)
        elif (old := await self._taken_over(session)) is not None:
            known = {**session.metadata, "began_at": began_at(old).isoformat()}
            session = replace(session, counted=False, metadata=known)
        try:
            return await self._store(session, conversation, limits, room)
        except RateLimited as fault:
            if fault.details.get("what") != "concurrent" or not await self._evict(session):
                raise
        return await self._store(session, conversation, limits, room)

    async def _taken_over(self, session: VoiceSession) -> VoiceSession | None:
        """The session of its conversation that is live, here or in another process."""
        longest = self._parts.profile.agent.cap_seconds
        for one in await self._parts.active(session.user_id, session.conversation_id):
            age = (session.created_at - began_at(one)).total_seconds()
            if one.voice and (not longest or age < longest):  # else nobody closed it
                return one
        return None

    async def _evict(self, session: VoiceSession) -> bool:
        """Whoever closed the page before the call was there must not be locked out for it, nor
        whoever wrote a message a minute ago."""
        before = self._parts.clock.now() - timedelta(seconds=UNCONNECTED_SECONDS)
        waiting = [
            live
            for live in self._parts.registry.of_user(session.user_id)
            if not live.records.session.voice
            or (live.phase is Phase.DISCONNECTED and live.records.session.created_at <= before)
        ]
        for live in waiting:
            await self._parts.registry.end(live, End("timeout"))
        return bool(waiting)

    async def _store(
        self,
        session: VoiceSession,
        conversation: Conversation,
        limits: SessionLimits,
        room: Sequence[Within],
    ) -> VoiceSession:
        """Stored before it is promised; four digits may be taken, so try others."""
        for attempt in range(_ID_TRIES):
            named = replace(session, id=self._ids())
            try:
                await self._parts.journal.commit(
                    [
                        PutConversation(ours(conversation)),
                        PutSession(named, new=True, limits=limits),
                        *room,
                    ]
                )
            except Conflict:
                if attempt == _ID_TRIES - 1:
                    raise
            else:
                break
        return named

    async def still_wanted(self, session: VoiceSession) -> None:
        """Before it runs: another process may have ended it, or deleted its conversation."""
        stored = await self._parts.store.session(session.id, user_id=session.user_id)
        if stored is None or stored.status is not Status.ACTIVE:
            raise SessionNotFound(f"Session '{session.id}' ended while it was being opened.")

    @asynccontextmanager
    async def admitted(
        self,
        record: VoiceSession,
        conversation: Conversation,
        *,
        before: Conversation,
        new: bool = False,
    ) -> AsyncIterator[VoiceSession]:
        """The session, stored with its id. What comes to nothing after all is taken back, and the
        conversation is as `before`. Raises `RateLimited`, and then nothing has happened."""
        session = await self._admit(record, conversation, new=new)
        try:
            yield session
        except BaseException:
            await asyncio.shield(self._take_back(session, before, new=new))
            raise

    async def _take_back(
        self, session: VoiceSession, conversation: Conversation, *, new: bool = False
    ) -> None:
        """It came to nothing: it is over, does not count, and the conversation is as it was, or
        gone if it was `new`."""
        now = self._parts.clock.now()
        ended = replace(
            session,
            status=Status.ERROR,
            end_reason=NEVER_BEGAN,
            ended_at=now,
            updated_at=now,
            counted=False,
        )
        try:
            if await self._there(conversation) is None:
                return  # deleted, and its sessions with it: what we write would bring it back
            before: Change = PutConversation(ours(conversation))
            if new:
                before = DropConversation(conversation.id, conversation.user_id)
            await self._parts.journal.commit([PutSession(ended), before])
        except VivavoceError:
            # It lapses by itself; what went wrong before is what the caller should hear of.
            log.exception("A session could not be taken back", extra={"session_id": session.id})

    # --- The day's budget ---------------------------------------------------------------

    async def budget(self, session: VoiceSession) -> Budget:
        """What the user may take in a day: one for all their sessions."""
        budget = self._budgets.setdefault(session.user_id, Budget())
        await self._look(session.user_id, budget)
        return budget

    async def _look(self, user_id: str, budget: Budget) -> None:
        limits = self._parts.profile.agent.session_limits()
        budget.tokens = limits.tokens_per_day or None
        budget.micros = limits.cost_micros_per_day or None
        if budget.tokens is None and budget.micros is None:
            return
        mark, since = budget.mark, self._parts.clock.now() - _DAY
        spent = await self._parts.store.spent(user_id=user_id, since=since)
        budget.found(spent.input_tokens + spent.output_tokens, spent.cost_micros, mark)

    async def watch_budgets(self) -> None:
        """For ever: what a user's sessions take in other processes ends those here too, and
        what one of several took ends the others."""
        while True:
            await self._parts.clock.sleep(LOOK_SECONDS)
            for user_id, budget in list(self._budgets.items()):
                try:
                    await self._look(user_id, budget)
                except Exception:  # the boundary of this task: it looks again in a minute
                    log.warning("What was spent could not be read", exc_info=True)
                if budget.spent:
                    for live in self._parts.registry.of_user(user_id):
                        await live.post(BudgetSpent())
