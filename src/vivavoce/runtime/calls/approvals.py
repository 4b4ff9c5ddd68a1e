"""May this call run? As the agent's policy says, and where it says so, as the user does.

Every call passes here, whoever asks: the model, `/execute`, the webhook, an
MCP host, delegated work. A yes is asked for once, stored with who answered and
when, never guessed: the user's own words on the call, or a click. Nothing that
a model, a tool or a page says reaches `resolve`. No answer in time is a no, and
so is a restart in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, Protocol

import orjson

from vivavoce.errors import Conflict, Forbidden, NotFound, RateLimited, VivavoceError
from vivavoce.runtime.agents.work import Permissions
from vivavoce.runtime.ports import Clock, Journal, Store
from vivavoce.session.events import ApprovalAsked, ApprovalSettled, SessionEvent
from vivavoce.wire.clean import clean_line, unseen
from vivavoce.wire.events import About, ApprovalRequested, ApprovalResolved, announce
from vivavoce.wire.records.talk import Origin, Put, ToolCall, Within, new_id
from vivavoce.wire.records.work import Approval, ApprovalStatus, By, Task

_REMEMBERED = 1_000
_LASTING = "for the rest of the session"
_SHOWN = 120  # characters of what a call is about to do, in the question


class NotPermitted(Forbidden):
    """The policy forbids it, or the user did not say yes."""


class Gatekeeper:
    """One policy for every way in."""

    def __init__(
        self,
        permissions: Permissions,
        approvals: Approvals,
        *,
        auto_approve: Callable[[str | None], bool] = lambda session_id: False,
    ) -> None:
        self._permissions, self._approvals = permissions, approvals
        self._auto_approve = auto_approve

    async def admit(
        self,
        call: ToolCall,
        changes: bool,
        arguments: Mapping[str, Any],
        description: str,
        task_id: str | None,
    ) -> VivavoceError | None:
        """None: it may run."""
        try:
            verdict = await self._verdict(
                call,
                call.tool,
                arguments,
                description,
                changes=changes,
                origin=call.origin,
                call_id=call.id,
                task_id=task_id,
            )
        except RateLimited as fault:
            return fault
        if verdict == "allow":
            return None
        who = "policy does" if verdict == "deny" else "user did"
        return NotPermitted(f"The {who} not allow this call of '{call.tool}'.")

    async def permitted(
        self, tool: str, arguments: Mapping[str, Any], question: str, task: Task
    ) -> bool:
        """For what an agent does with tools of its own; they are taken to change things."""
        asked = question or f"Use {tool}"
        try:
            verdict = await self._verdict(
                task, tool, arguments, asked, changes=True, origin="task", task_id=task.id
            )
        except RateLimited:
            return False
        return verdict == "allow"

    async def _verdict(
        self,
        about: Concern,
        tool: str,
        arguments: Mapping[str, Any],
        description: str,
        *,
        changes: bool,
        origin: Origin,
        call_id: str | None = None,
        task_id: str | None = None,
    ) -> Literal["allow", "deny", "refused"]:
        """The policy's, or the user's where it says so."""
        auto = self._auto_approve(about.session_id)
        decision = self._permissions.decide(
            tool, arguments, changes=changes, origin=origin, auto_approve=auto
        )
        if decision in ("allow", "deny"):
            return decision
        if self._approvals.stands(about, tool, arguments):
            return "allow"
        granted = await self._approvals.ask(
            about,
            tool,
            arguments,
            _question(description),
            timeout=self._permissions.timeout_seconds,
            call_id=call_id,
            task_id=task_id,
        )
        if granted and decision == "ask_once":
            self._approvals.let_stand(about, tool, arguments)
        return "allow" if granted else "refused"


def _same(about: Concern, tool: str, arguments: Mapping[str, Any]) -> bytes | None:
    """What tells this call from another; None where there is no session it could be the same in,
    or it cannot be written down."""
    if about.session_id is None:
        return None
    try:
        whole = [about.user_id, about.session_id, tool, dict(arguments)]
        return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        return None


def _question(description: str) -> str:
    """ "Running pytest -q" becomes a question that can be answered with yes or no."""
    shown = clean_line(description, _SHOWN)
    # Who only listens must know that this is not all of it.
    cut = "\u2026" in shown or len(clean_line(description, 4 * _SHOWN)) > len(shown)
    rest = ", and more that is on the screen" if cut else ""
    return f"May I do this: {shown}{rest}? Please say yes or no."


log = logging.getLogger(__name__)

MAX_PENDING = 100  # of all users; more than that is a flood, and a flood gets no yes
MAX_OWN = 20  # of one user, at every server: they must not take the others' places
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

    def __init__(
        self,
        *,
        store: Store,
        journal: Journal,
        clock: Clock,
        notifier: Notifier,
        most_own: int = MAX_OWN,
    ) -> None:
        self._store, self._journal, self._clock, self._notifier = store, journal, clock, notifier
        self._most_own = most_own
        self._open: dict[str, tuple[Approval, asyncio.Future[bool]]] = {}
        self._settling: dict[str, asyncio.Event] = {}
        self._standing: dict[bytes, None] = {}
        """Calls that were said yes to for the rest of their session, the oldest first."""

    async def recover(self) -> None:
        """What was open when the process died is a no: whoever asked is gone."""
        left = await self._store.pending_approvals()
        # Work that goes on may have asked already.
        for approval in [one for one in left if one.id not in self._open]:
            await self._settle(approval, ApprovalStatus.EXPIRED, "restart")

    def stands(self, about: Concern, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Was a yes given to this very call that is for the rest of the session?"""
        same = _same(about, tool, arguments)
        return same is not None and same in self._standing

    def let_stand(self, about: Concern, tool: str, arguments: Mapping[str, Any]) -> None:
        if (same := _same(about, tool, arguments)) is not None:
            self._standing[same] = None
            if len(self._standing) > _REMEMBERED:
                del self._standing[next(iter(self._standing))]

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
        """Until the user says yes or no, or the time is up. Raises `RateLimited` where too many
        questions wait."""
        if not _showable(dict(arguments)):
            return False  # nobody can say yes to what cannot be seen
        if len(self._open) >= MAX_PENDING:
            words = f"{MAX_PENDING} questions of all users wait for a yes already."
            raise RateLimited(words, what="approvals", limit=MAX_PENDING, retry_after_ms=5000)
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
            room = Within(about.user_id, approvals=self._most_own)
            told = announce(_requested(approval), approval)
            await self._journal.commit([Put(approval), told, room])
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
        self,
        approval_id: str,
        user_id: str,
        *,
        granted: bool,
        by: By,
        words: str | None = None,
        for_session: bool = False,
    ) -> Approval:
        """The user's answer. The first one counts; the same again is no error. `for_session`: a
        yes that is for the same call in the rest of the session."""
        found = self._open.get(approval_id)
        if found is None or found[0].user_id != user_id:
            return await self._late(approval_id, user_id, granted)
        approval, answer = found
        if approval_id in self._settling or answer.done():
            raise Conflict("This was answered already.")
        stored = self._settling[approval_id] = asyncio.Event()
        status = ApprovalStatus.GRANTED if granted else ApprovalStatus.DENIED
        try:
            lasting = granted and for_session
            settled = await self._settle(approval, status, by, words or (lasting and _LASTING))
            if lasting:
                self.let_stand(approval, approval.tool, approval.arguments)
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
        self,
        approval: Approval,
        status: ApprovalStatus,
        by: By,
        words: str | Literal[False] | None = None,
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
