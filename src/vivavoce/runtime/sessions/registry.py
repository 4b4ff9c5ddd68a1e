"""The live sessions of this process, each with its task under one parent."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from vivavoce.errors import RateLimited, Unavailable
from vivavoce.logs import fields
from vivavoce.runtime.ports import Clock
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.options import auto_approves, remembered
from vivavoce.session.events import End
from vivavoce.session.state import Phase

log = logging.getLogger(__name__)

MOST_WRITTEN = 2  # sessions a user
_PAUSE = 0.05  # seconds between looks
_SOON = (0.0, 0.05, 0.2, 0.5)  # the provider notices a moment later that a session is gone

T = TypeVar("T")


class Registry:
    """Who is live. `running` is the parent of every session's task."""

    def __init__(
        self, *, max_sessions: int = 100, user_seats: int = 0, shutdown_seconds: float = 5.0
    ) -> None:
        self._max, self._user_max = max_sessions, user_seats
        self._patience = shutdown_seconds
        self._live: dict[str, LiveSession] = {}
        self._reserved: Counter[str] = Counter()  # user → sessions in the making
        self._opening: Counter[str] = Counter()  # user → written sessions in the making
        self._group: asyncio.TaskGroup | None = None
        self._open = True
        self._hooks: list[Callable[[LiveSession], None]] = []
        self.total = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the server is up; on the way out every session is ended, in order."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                await self.stop()

    async def stop(self) -> None:
        """No new ones, and an end to those there are, all at once; again does no harm. Who does
        not end in time is cancelled with the group."""
        self._group = None
        lives = list(self._live.values())
        try:
            async with asyncio.timeout(self._patience), asyncio.TaskGroup() as group:
                for live in lives:
                    group.create_task(self._leave(live))
        except TimeoutError:
            log.warning("Sessions did not end in time", extra={"count": len(self._live)})
            for live in lives:
                live.cancel()

    def close(self) -> None:
        """No new ones from now on; what there is goes on."""
        self._open = False

    async def hand_over(
        self, live: LiveSession, release: Callable[[str], Awaitable[object]], until: float
    ) -> None:
        """To whichever server claims it: at the next pause, or when the time is up."""
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            if live.pausing:
                break
            await asyncio.sleep(_PAUSE)
        if live.id in self._live:
            await live.let_go()
            await release(live.id)

    async def abandon(self) -> None:
        """All of them are another server's by now: their calls go on there."""
        async with asyncio.TaskGroup() as group:
            for live in self.every():
                group.create_task(live.let_go())

    async def _leave(self, live: LiveSession) -> None:
        if owes(live):
            # It stays as a crash would leave it: after the restart its message is found, and
            # half an answer does not pass for one.
            live.cancel()
            await live.over()
        else:
            await self.end(live, End("completed"))

    def __len__(self) -> int:
        return len(self._live)

    def expecting(self) -> bool:
        """Is any session live, or in the making?"""
        return bool(self._live) or self._reserved.total() > 0

    def get(self, session_id: str, user_id: str | None = None) -> LiveSession | None:
        """`user_id=None` is for the server itself, never for a door."""
        live = self._live.get(session_id)
        return live if live and user_id in (None, live.records.session.user_id) else None

    def active(self, user_id: str, session_id: str | None) -> bool:
        """Is the named session of this user live, or any?"""
        return any(session_id in (None, live.id) for live in self.of_user(user_id))

    def every(self) -> list[LiveSession]:
        return list(self._live.values())

    def of_user(self, user_id: str) -> list[LiveSession]:
        """Oldest first."""
        return [live for live in self._live.values() if live.records.session.user_id == user_id]

    def everyone(self) -> list[LiveSession]:
        return list(self._live.values())

    def told_with(self, session_id: str, user_id: str) -> Mapping[str, Any] | None:
        """What its client told of the user, with a session that is live."""
        live = self.get(session_id, user_id)
        return None if live is None else remembered(live.records.session).context

    def of_conversation(self, conversation_id: str) -> list[LiveSession]:
        return [
            live
            for live in self._live.values()
            if live.records.session.conversation_id == conversation_id
        ]

    def with_call(self, call_id: str) -> LiveSession | None:
        """The session whose call this is."""
        for live in self._live.values():
            if call_id in (live.records.session.call_id, *live.machine.state.calls):
                return live
        return None

    def at(self, provider: str) -> int:
        """How many sessions this provider has."""
        return sum(live.provider.name == provider for live in self._live.values())

    def auto_approves(self, session_id: str | None) -> bool:
        """Did its user say that nothing need be asked?"""
        live = self._live.get(session_id or "")
        return live is not None and auto_approves(live.records.session)

    def stop_calls(self, session_id: str | None, but: str) -> int:
        """End the tools that run in it, all but one; how many there were."""
        live = self._live.get(session_id or "")
        return live.tools.stop(but) if live is not None else 0

    # --- Seats ------------------------------------------------------------------------

    @asynccontextmanager
    async def seat(self, conversation_id: str, user_id: str) -> AsyncIterator[None]:
        """A place for a session in the making; a clear refusal before anything is promised.
        A session of the same conversation gives up its own, a written one that rests its too."""
        if self._group is None or not self._open:
            raise Unavailable("The server is shutting down.", retry_after_ms=5000)
        while self._user_max and self._seats(user_id, but=conversation_id) >= self._user_max:
            if not await self.give_way(user_id, but=conversation_id):
                raise RateLimited(
                    f"You have {self._user_max} sessions here, as many as one user may have.",
                    what="seats",
                    limit=self._user_max,
                    retry_after_ms=5000,
                )
        while (
            len(self) - len(self.of_conversation(conversation_id)) + self._reserved.total()
            >= self._max
        ):
            if not await self.give_way(but=conversation_id):
                raise Unavailable(
                    f"All {self._max} sessions are taken. Please try again in a moment.",
                    retry_after_ms=15_000,
                )
        self._reserved[user_id] += 1
        try:
            yield
        finally:
            self._reserved[user_id] -= 1
            self._reserved += Counter()  # forgets who has none

    def _seats(self, user_id: str, *, but: str) -> int:
        """What a user's sessions take of the provider, those of one conversation aside."""
        others = [
            live
            for live in self.of_user(user_id)
            if live.records.session.conversation_id != but and live.phase is not Phase.TERMINATED
        ]
        return len(others) + self._reserved[user_id]

    @asynccontextmanager
    async def written_seat(self, user_id: str) -> AsyncIterator[None]:
        """A place for a written session in the making: a user has few, so that nobody's many
        conversations keep the others out. The one that rested longest goes."""
        if not self._open:
            raise Unavailable("The server is shutting down.", retry_after_ms=5000)
        while self._writing(user_id) >= MOST_WRITTEN:
            if not await self.give_way(user_id):
                raise RateLimited(
                    f"At most {MOST_WRITTEN} conversations are answered in writing at once.",
                    retry_after_ms=2000,
                    limit=MOST_WRITTEN,
                )
        self._opening[user_id] += 1
        try:
            yield
        finally:
            self._opening[user_id] -= 1
            self._opening += Counter()  # forgets who has none

    def _writing(self, user_id: str) -> int:
        written = [
            live
            for live in self.of_user(user_id)
            if live.companion is None
            and not live.records.session.voice
            and live.phase is not Phase.TERMINATED
        ]
        return len(written) + self._opening[user_id]

    async def give_way(self, user_id: str | None = None, *, but: str = "") -> bool:
        """The written session that has rested longest ends, of this user or of all, if there is
        one: whoever writes there again gets another."""
        resting = [
            (since, live)
            for live in self._live.values()
            if (since := live.resting_since) is not None
            and user_id in (None, live.records.session.user_id)
            and live.records.session.conversation_id != but
        ]
        if not resting:
            return False
        _, longest = min(resting, key=lambda one: one[0])
        await self.end(longest, End("timeout"))
        return True

    async def with_room(self, clock: Clock, ask: Callable[[], Awaitable[T]]) -> T:
        """What the provider answers; where it is full, a written session that rests gives way.
        Its own refusal, where nobody can."""
        try:
            return await ask()
        except Unavailable as fault:
            # Not where its models are missing: that is no question of room.
            if type(fault) is not Unavailable or not await self.give_way():
                raise
        for delay in _SOON:
            await clock.sleep(delay)
            try:
                return await ask()
            except Unavailable as fault:
                refusal = fault
        raise refusal

    # --- Life -------------------------------------------------------------------------

    def start(self, live: LiveSession) -> None:
        if self._group is None:
            raise Unavailable("The server is shutting down.", retry_after_ms=5000)
        self._live[live.id] = live
        self.total += 1
        session = live.records.session
        log.info("Session began", extra=fields(session_id=live.id, agent=session.agent))
        self._group.create_task(self._watch(live), name=live.id)
        for hook in self._hooks:
            hook(live)

    def at_start(self, hook: Callable[[LiveSession], None]) -> None:
        """Called with every session that starts, however it came to be."""
        self._hooks.append(hook)

    async def _watch(self, live: LiveSession) -> None:
        try:
            await live.run()
        except Exception:  # the boundary of a session: the others live on
            log.exception("A session broke", extra={"session_id": live.id})
        finally:
            self._live.pop(live.id, None)
            session = live.records.session
            log.info(
                "Session ended",
                extra=fields(
                    session_id=live.id,
                    agent=session.agent,
                    reason=session.end_reason or "broken off",
                    seconds=round(session.duration_ms(session.updated_at) / 1000, 1),
                ),
            )

    async def end(self, live: LiveSession, how: End) -> None:
        """End one, and wait until that is stored."""
        await live.post(how)
        await live.over()

    def end_soon(self, live: LiveSession, how: End) -> None:
        """For who cannot wait."""
        if self._group is not None:  # else all of them end anyway
            self._group.create_task(self.end(live, how), name=f"{live.id} end")


def owes(live: LiveSession) -> bool:
    """Was something written there that has no answer yet, or an answer that is not read out?"""
    talk = live.machine.state.talk
    owed = talk.aloud.busy or any(not question.over for question in talk.typed.values())
    return not live.records.session.voice and owed
