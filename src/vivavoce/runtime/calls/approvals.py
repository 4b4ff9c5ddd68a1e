"""Requests for the user's yes: asked once, stored with who answered and when, never guessed.

An answer comes from the user: their own words on the call, or a click. Nothing
that a model, a tool or a page says reaches `resolve`. No answer in time is a
no, and so is a restart in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol

import orjson

from vivavoce.errors import Conflict, NotFound
from vivavoce.runtime.ports import Clock, Journal, Store
from vivavoce.session.events import ApprovalAsked, ApprovalSettled, SessionEvent
from vivavoce.wire.clean import clean_line, unseen
from vivavoce.wire.events import About, ApprovalRequested, ApprovalResolved, announce
from vivavoce.wire.records.talk import Put, new_id
from vivavoce.wire.records.work import Approval, ApprovalStatus, By

log = logging.getLogger(__name__)

MAX_PENDING = 100  # of all users; more than that is a flood, and a flood gets no yes
MAX_OWN = 20  # of one user, who must not take the others' places
QUESTION_LENGTH = 300


class Concern(About, Protocol):
    """What news is about, and the session it came from."""

    @property
    def session_id(self) -> str | None: ...


class Notifier(Protocol):
    """Reaches the user's live session, if there is one."""

    async def tell(self, event: SessionEvent, about: Concern) -> bool: ...


class Approvals:
    """The open requests of this process."""

    def __init__(self, *, store: Store, journal: Journal, clock: Clock, notifier: Notifier) -> None:
        self._store, self._journal, self._clock, self._notifier = store, journal, clock, notifier
        self._open: dict[str, tuple[Approval, asyncio.Future[bool]]] = {}
        self._settling: dict[str, asyncio.Event] = {}

    async def recover(self) -> None:
        """What was open when the process died is a no: whoever asked is gone."""
        left = await self._store.pending_approvals()
        # Work that goes on may have asked already.
        for approval in [one for one in left if one.id not in self._open]:
            await self._settle(approval, ApprovalStatus.EXPIRED, "restart")

    def pending(self, user_id: str) -> list[Approval]:
        return [one for one, _ in self._open.values() if one.user_id == user_id]

    async def ask(
        self,
        about: Concern,
        tool: str,
        arguments: Mapping[str, Any],
        question: str,
        *,
        timeout: float,
        call_id: str | None = None,
        task_id: str | None = None,
    ) -> bool:
        """Until the user says yes or no, or the time is up."""
        crowded = len(self._open) >= MAX_PENDING or len(self.pending(about.user_id)) >= MAX_OWN
        if crowded or not _showable(dict(arguments)):
            return False  # nobody can say yes to what cannot be seen
        now = self._clock.now()
        approval = Approval(
            id=f"apr_{new_id()}",
            user_id=about.user_id,
            tool=tool,
            question=clean_line(question, QUESTION_LENGTH),
            arguments=dict(arguments),  # exactly what will run: the rest was refused
            requested_at=now,
            expires_at=now + timedelta(seconds=timeout),
            conversation_id=about.conversation_id,
            session_id=about.session_id,
            call_id=call_id,
            task_id=task_id,
        )
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        try:
            await self._journal.commit([Put(approval), announce(_requested(approval), approval)])
            self._open[approval.id] = (approval, answer)
            await self._notifier.tell(ApprovalAsked(approval.id, approval.question), approval)
            async with asyncio.timeout(timeout):
                return await asyncio.shield(answer)
        except TimeoutError:
            return await self._too_late(approval, answer)
        except asyncio.CancelledError:
            if answer.cancel():
                await asyncio.shield(self._settle(approval, ApprovalStatus.DENIED, "cancel"))
            raise
        finally:
            self._open.pop(approval.id, None)
            # Not by `resolve`: a session that passes on a yes must not wait for its own inbox.
            await self._notifier.tell(ApprovalSettled(approval.id), approval)

    async def _too_late(self, approval: Approval, answer: asyncio.Future[bool]) -> bool:
        """The time is up; an answer that is being stored came before."""
        while (under_way := self._settling.get(approval.id)) is not None:
            await under_way.wait()
        if answer.done():
            return answer.result()
        answer.cancel()
        await self._settle(approval, ApprovalStatus.EXPIRED, "timeout")
        return False

    async def resolve(
        self, approval_id: str, user_id: str, *, granted: bool, by: By, words: str | None = None
    ) -> Approval:
        """The user's answer. The first one counts; the same again is no error."""
        found = self._open.get(approval_id)
        if found is None or found[0].user_id != user_id:
            return await self._late(approval_id, user_id, granted)
        approval, answer = found
        if approval_id in self._settling or answer.done():
            raise Conflict("This was answered already.")
        stored = self._settling[approval_id] = asyncio.Event()
        status = ApprovalStatus.GRANTED if granted else ApprovalStatus.DENIED
        try:
            settled = await self._settle(approval, status, by, words)
            if not answer.done():
                answer.set_result(granted)
            return settled
        finally:
            del self._settling[approval_id]
            stored.set()

    async def _late(self, approval_id: str, user_id: str, granted: bool) -> Approval:
        known = await self._store.approval(approval_id, user_id=user_id)
        if known is None:
            raise NotFound(f"There is no request '{clean_line(approval_id, 64)}'.")
        over = known.status is not ApprovalStatus.PENDING
        if over and (known.status is ApprovalStatus.GRANTED) == granted:
            return known
        raise Conflict("This was answered already, or nobody waits for it any more.")

    async def _settle(
        self, approval: Approval, status: ApprovalStatus, by: By, words: str | None = None
    ) -> Approval:
        now = self._clock.now()
        settled = replace(
            approval,
            status=status,
            resolved_at=now,
            resolved_by=by,
            words=clean_line(words, QUESTION_LENGTH) if words else None,
        )
        event = ApprovalResolved(
            session_id=approval.session_id,
            timestamp=now,
            approval_id=approval.id,
            tool_name=approval.tool,
            granted=status is ApprovalStatus.GRANTED,
            by=by,
        )
        await self._journal.commit([Put(settled), announce(event, settled)])
        return settled


def _showable(arguments: dict[str, Any]) -> bool:
    """Can it be written down as it is, and read? What is nested too deeply can not."""
    try:
        orjson.dumps(arguments)
        return not unseen(arguments)
    except (TypeError, ValueError, RecursionError):
        return False


def _requested(approval: Approval) -> ApprovalRequested:
    return ApprovalRequested(
        session_id=approval.session_id,
        timestamp=approval.requested_at,
        approval_id=approval.id,
        tool_name=approval.tool,
        question=approval.question,
        arguments=approval.arguments,
        expires_at=approval.expires_at,
        call_id=approval.call_id,
        task_id=approval.task_id,
    )
