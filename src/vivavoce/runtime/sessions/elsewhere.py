"""Sessions that this process did not open: others on the same store run them, or did until they
were gone, or the one before a restart did.

Of others, the end is asked for in the log: every process reads there which ends others ask
for, and ends those of its own; who asked waits until that is stored. Where nobody answers
the owner is gone: what is left of the session is closed here. Knows nothing of who may ask.

After a restart, or the loss of another server: a call between the browser and its provider does
not notice that nobody was there. Its sideband is attached again; what had started and never ended
is answered as unknown, never run again. A session without a call is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from datetime import datetime

import orjson

from vivavoce.errors import Fenced, VivavoceError
from vivavoce.language.en.gist import gist_of
from vivavoce.runtime.calls.outcomes import recalled
from vivavoce.runtime.calls.records import wire_id
from vivavoce.runtime.journal.keeping import kept, there
from vivavoce.runtime.provider.providers import at
from vivavoce.runtime.sessions.admission import Admission
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.making import Maker
from vivavoce.runtime.sessions.options import remembered
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.records import closed
from vivavoce.runtime.sessions.sideband import hang_up
from vivavoce.runtime.sessions.texting import is_written
from vivavoce.session.context import gathered, item_of, seeded_items, spoken_items
from vivavoce.session.events import TAKEN_OVER, CallSurvived, End
from vivavoce.wire.events import SessionEndRequested, SessionMoved, announce
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    LogEvent,
    Status,
    ToolCall,
    VoiceSession,
)
from vivavoce.wire.records.work import Role

log = logging.getLogger(__name__)

PATIENCE = 4.0  # seconds for the owner to end a session
MAX_RESENT = 8  # outcomes; what is older has long been spoken of
_LOOK_SECONDS = 0.1
_STORE_SECONDS = 120.0  # that a call is not given up for want of a store
_EARLY = 64


class Elsewhere:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Asked for while it was still being made here: by one that was opened after it.
        self._early: deque[LogEvent] = deque(maxlen=_EARLY)
        registry = parts.registry
        parts.journal.heed(SessionEndRequested.type, self._asked, registry.expecting)
        registry.at_start(self._started)

    # --- Asking -----------------------------------------------------------------------

    async def end(self, session: VoiceSession, how: End, *, goes_on: bool = False) -> bool:
        """True once its owner has ended it; False where it has none that answers. Its call is
        over either way."""
        if session.status is not Status.ACTIVE or session.metadata.get("tracked"):
            return False
        if await self._parts.store.is_held(session.owner, session.epoch):
            event = SessionEndRequested(
                session_id=session.id,
                timestamp=self._parts.clock.now(),
                reason=how.reason,
                status=str(how.status),
                goes_on=goes_on,
            )
            await self._parts.journal.commit([announce(event, session)])
            if await self._ended(session):
                return True
            log.warning("Who runs a session does not answer", extra={"session_id": session.id})
        # Nobody listens in any more, but the call may still be up at the provider.
        if session.call_id:
            await hang_up(self._parts.providers.of(session), session.call_id, session.id)
        return False

    async def take_over(self, session: VoiceSession) -> None:
        """Of two that open one conversation at the same time, the later has it."""
        for old in await self._parts.active(session.user_id, session.conversation_id):
            if (
                old.metadata.get("tracked")
                or _age(old) >= _age(session)
                or self._parts.registry.get(old.id) is not None
            ):
                continue
            how = End(TAKEN_OVER)
            if not await self.end(old, how, goes_on=True):
                await self._parts.journal.commit(closed(old, self._parts.clock.now(), how))

    async def _ended(self, session: VoiceSession) -> bool:
        clock = self._parts.clock
        until = clock.monotonic() + PATIENCE
        while clock.monotonic() < until:
            await clock.sleep(_LOOK_SECONDS)
            found = await self._parts.store.session(session.id, user_id=session.user_id)
            if found is None or found.status is not Status.ACTIVE:
                return True
        return False

    # --- Being asked ------------------------------------------------------------------

    def _asked(self, event: LogEvent) -> None:
        live = self._parts.registry.get(event.session_id or "")
        if live is None:
            self._early.append(event)
        else:
            self._obey(live, event)

    def _started(self, live: LiveSession) -> None:
        """It runs now; somebody may have asked for its end before."""
        for event in [each for each in self._early if each.session_id == live.id]:
            self._early.remove(event)
            self._obey(live, event)

    def _obey(self, live: LiveSession, event: LogEvent) -> None:
        if live.records.session.user_id != event.user_id:
            return
        # Emptied, if the conversation was deleted meanwhile.
        wanted = orjson.loads(event.data or b"{}")
        if wanted.get("goes_on"):
            live.records.goes_on = True
        status = Status(wanted.get("status", Status.COMPLETED))
        self._parts.registry.end_soon(live, End(wanted.get("reason", "user_ended"), status))


def _age(session: VoiceSession) -> tuple[datetime, str]:
    return session.created_at, session.id


class Recovery:
    """Picks up or closes what this server left before a restart, or another one for good."""

    def __init__(self, parts: Parts, maker: Maker, admission: Admission) -> None:
        self._parts, self._maker, self._admission = parts, maker, admission
        self._store, self._registry, self._clock = parts.store, parts.registry, parts.clock

    async def take(self, sessions: Sequence[VoiceSession]) -> list[tuple[Conversation, Role]]:
        """Those that are this server's since a moment ago, as whoever left them had them. Whose
        written sessions died, and the role they had: something may wait for its answer there."""
        written: list[tuple[Conversation, Role]] = []
        if self._parts.instance.draining:
            return written  # they stay as they are: with the end of this life they are anybody's
        async with asyncio.TaskGroup() as group:  # each asks the store a dozen times
            taking = [group.create_task(self._recovered(one, written)) for one in sessions]
        count = sum(task.result() for task in taking)
        if count:
            log.info("Sessions picked up", extra={"count": count})
        return written

    async def _recovered(
        self, session: VoiceSession, written: list[tuple[Conversation, Role]]
    ) -> bool:
        """Was it picked up?"""
        if session.metadata.get("tracked") or self._registry.get(session.id) is not None:
            return False  # a client's own record ends when the client says so
        try:
            return await self._pick_up(session, written)
        except Fenced:  # it is another server's by now, and so is its call
            return False
        except Exception:  # the boundary of one session: the next may be well
            if self._parts.instance.draining:
                return False  # others may do better
            log.exception("A session cannot be picked up", extra={"session_id": session.id})
            await self._give_up(session)
            return False

    async def _give_up(self, session: VoiceSession) -> None:
        """Its tools or its voice are gone: nobody would watch its call."""
        if session.call_id:
            await hang_up(self._parts.providers.of(session), session.call_id, session.id)
        changes = closed(session, self._clock.now(), End("error", Status.ERROR))
        try:
            await self._parts.journal.commit(changes)
        except VivavoceError:
            log.exception("Nor can it be closed", extra={"session_id": session.id})

    async def _pick_up(
        self, session: VoiceSession, written: list[tuple[Conversation, Role]]
    ) -> bool:
        left: dict[str, ToolCall] = {}

        async def read() -> tuple[LiveSession, Conversation, CallSurvived | None] | None:
            return None if self._parts.instance.draining else await self._read(session, left)

        # A call must not be hung up because the store is away just then.
        found = await there(self._clock, read, _STORE_SECONDS, session_id=session.id)
        if found is None:
            return False
        live, conversation, survived = found
        self._registry.start(live)
        if survived is None:  # its connection was all it had
            await live.post(End("error", Status.ERROR))
            if remembered(session).offered is not None:
                return False  # its client goes on with it when it is back
            written.append((conversation, session.role))
            return False
        if beside := session.metadata.get("beside"):
            # It was to take over, and knows nothing of what was said since: another is wanted.
            provider = self._parts.providers.at(str(beside["provider"]))
            await hang_up(provider, str(beside["call_id"]), session.id)
        await self._tell(session)
        await live.post(survived)
        await self._parts.notifier.welcome(live)  # what nobody had heard when we died
        return True

    async def _read(
        self, session: VoiceSession, left: dict[str, ToolCall]
    ) -> tuple[LiveSession, Conversation, CallSurvived | None] | None:
        """The session as it goes on, and what its call has survived, where it has one; None where
        it does not go on here. Settles the calls that it left open, and adds them to `left`."""
        conversation = await self._store.conversation(
            session.conversation_id, user_id=session.user_id
        )
        if conversation is None:
            return None
        options = remembered(session)
        settled = await self._parts.executor.interrupted(session.id, options.offered or ())
        left |= {call.id: call for call, _ in settled}
        _, _, setup = await self._maker.wanted(session.user_id, options)
        setup = at(setup, self._parts.providers.of(session))
        budget = await self._admission.budget(session)
        live = self._maker.assemble(session, conversation, setup, budget)
        survived: CallSurvived | None = None
        if session.call_id is not None and not options.text:
            # A client that called `/execute` has had its answer, delegated work asks again by
            # itself; the model asked for neither.
            asked = [call for call in left.values() if call.origin in ("model", "webhook")]
            orphans = tuple(map(wire_id, asked))
            survived = await self._survived(session, conversation, session.call_id, orphans)
        if self._parts.instance.draining:
            return None  # what lives is being handed over already
        return live, conversation, survived

    async def _tell(self, session: VoiceSession) -> None:
        """Its client hears that another server looks after it."""
        us = self._parts.instance
        if session.owner == us.name:
            return  # a restart, or a record from before there were owners: nothing moved
        moved = SessionMoved(
            session_id=session.id,
            timestamp=self._clock.now(),
            reason="drained" if session.owner is None else "lost",
            owner=us.name,
            left_by=session.owner,
        )
        told = [announce(moved, session)]
        await kept(self._parts.journal, self._clock, told, session_id=session.id)

    async def _survived(
        self,
        session: VoiceSession,
        conversation: Conversation,
        call_id: str,
        orphans: tuple[str, ...],
    ) -> CallSurvived:
        placed = session.metadata.get("called_at")
        since = datetime.fromisoformat(placed) if isinstance(placed, str) else session.created_at
        entries = await self._store.entries(session.conversation_id, user_id=session.user_id)
        ours = [e for e in entries if e.session_id == session.id and e.created_at >= since]
        calls = [str(e.data.get("tool_call_id")) for e in ours if e.kind is Kind.TOOL_RESULT]
        told = tuple(str(item) for item in session.metadata.get("seeded") or ())
        own = {entry.id for entry in ours}
        before = [entry for entry in entries if entry.id not in own]
        provider = self._parts.providers.of(session)
        return CallSurvived(
            call_id=call_id,
            orphans=orphans,
            outcomes=await self._outcomes(session, [c for c in calls if c not in orphans]),
            typed=unheard(ours),
            known_items=tuple(
                (str(e.data["item_id"]), e.ordinal) for e in ours if e.data.get("item_id")
            ),
            known_calls=tuple(calls),
            seeded=told,
            items=(*seeded_items(before, told), *spoken_items(ours)),
            gist=gathered(
                gist_of(conversation.gist), [e for e in before if item_of(e) not in told]
            ),
            age=(self._clock.now() - since).total_seconds(),
            provider=provider.name,
            sounding=tuple(entry for entry in ours if entry.data.get("playing")),
            over=provider.ours,
        )

    async def _outcomes(
        self, session: VoiceSession, calls: list[str]
    ) -> tuple[tuple[str, str], ...]:
        """The last results: stored, but perhaps never sent."""
        found = []
        for call_id in calls[-MAX_RESENT:]:
            # Under the id of the conversation's own, where another has a call of that name.
            for name in (f"{call_id}@{session.conversation_id}", call_id):
                call = await self._store.tool_call(name, user_id=session.user_id)
                if call is not None:
                    break
            if call is None or call.conversation_id != session.conversation_id:
                continue
            if call.origin != "http":
                found.append((call_id, recalled(call).for_model))
        return tuple(found)


def unheard(entries: list[Entry]) -> tuple[tuple[str, str], ...]:
    """What was written on the call since somebody last answered there."""
    found: list[tuple[str, str]] = []
    for entry in entries:
        if entry.kind is Kind.ASSISTANT and entry.text:
            found.clear()
        elif is_written(entry):
            found.append((str(entry.data["item_id"]), entry.text))
    return tuple(found[-MAX_RESENT:])
