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
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Literal, Protocol

import orjson

from vivavoce.errors import Conflict, Forbidden, NotFound, RateLimited, ToolNotFound, VivavoceError
from vivavoce.language.en.addresses import read as read_address
from vivavoce.language.en.said import Said
from vivavoce.runtime.agents.work import Permissions
from vivavoce.runtime.calls.outside import (
    WRITING,
    Facts,
    Read,
    Source,
    concerns,
    described_by,
    of_conversation,
    placed,
    read_by,
    source_to_name,
)
from vivavoce.runtime.calls.reading import facts_of
from vivavoce.runtime.journal.keeping import kept
from vivavoce.runtime.ports import Clock, Journal, Store, Toolbox, ToolDefinition
from vivavoce.runtime.relay import Relay
from vivavoce.session.events import ApprovalAsked, ApprovalSettled, SessionEvent
from vivavoce.wire.clean import clean_line, unseen
from vivavoce.wire.events import About, ApprovalRequested, ApprovalResolved, announce
from vivavoce.wire.records.talk import Change, Origin, Put, Settle, ToolCall, Within, new_id
from vivavoce.wire.records.work import (
    Approval,
    ApprovalStatus,
    By,
    Reach,
    Role,
    Task,
    at_least,
)

_SHOWN = 120  # characters of what a call is about to do, in the question
_WORK = 1_000  # tasks whose reading is remembered
_UNFIT, _LONGEST_NAME = re.compile(r"[^A-Za-z0-9_-]+"), 64
"""Of names of tools, as function calling has them."""
_PIN = "mcp:"
"""Before a server's name: what it says of its tools, as the user agreed to it. No tool has it."""


class NotPermitted(Forbidden):
    """The policy forbids it, or the user did not say yes."""


Asking = Callable[[], Awaitable[None]]


async def _nothing() -> None: ...


class Gatekeeper:
    """One policy for every way in.

    `tools` tells which tool is of whom; without them there are no servers.
    """

    def __init__(
        self,
        permissions: Permissions,
        approvals: Approvals,
        *,
        tools: Toolbox | None = None,
        auto_approve: Callable[[str | None], bool] = lambda session_id: False,
    ) -> None:
        self._permissions, self._approvals, self._tools = permissions, approvals, tools
        self._auto_approve = auto_approve
        self._store = approvals.store
        self._work: dict[str, tuple[Read, ...]] = {}
        """What delegated work has read, of that which began here; of other nobody knows."""

    async def admit(
        self,
        call: ToolCall,
        changes: bool,
        arguments: Mapping[str, Any],
        wants: str,
        task_id: str | None,
        role: Role = "operator",
        others: Toolbox | None = None,
        *,
        asking: Asking = _nothing,
    ) -> VivavoceError | None:
        """None: it may run. `wants` is what it is about to do: "run the tests"; `role` is of
        whoever wants it; `others` has the tools of a client beside the server's own, where there
        is one: what it says of them was read. `asking` is done before somebody is asked."""
        try:
            verdict = await self._verdict(
                call,
                call.tool,
                arguments,
                wants,
                changes=changes,
                origin=call.origin,
                call_id=call.id,
                task_id=task_id,
                role=role,
                others=others,
                asking=asking,
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
        """For what an agent does with tools of its own; they are taken to change things. They are
        called whatever somebody else called them."""
        tool = _UNFIT.sub("_", tool)[:_LONGEST_NAME] or "_"
        wants = f"do this: {question}" if question else f"use {tool}"
        if self._tools is not None and self._definition(tool) is not None:
            wants = self._tools.wants(tool, arguments)  # one of ours, under our words
        try:
            verdict = await self._verdict(
                task,
                tool,
                arguments,
                wants,
                changes=True,
                origin="task",
                task_id=task.id,
                role=task.role,
            )
        except RateLimited:
            return False
        if verdict == "allow" and task.id in self._work:
            # What it reads with that, nobody but the agent sees.
            self._reads(task.id, (*self._work[task.id], Read(Source("tool", tool))))
        return verdict == "allow"

    def begun(self, task_id: str) -> None:
        """Work that begins now, here: it has read nothing yet."""
        self._reads(task_id, ())

    def noted(self, call: ToolCall, output: str, task_id: str, *, success: bool) -> None:
        """What delegated work has read by this call. Of a conversation the store knows."""
        read = read_by(call.tool, call.arguments, output, self._definition, success=success)
        # Of what did not begin here it is not known what it read before: one more is nothing new.
        if read is not None and task_id in self._work:
            self._reads(task_id, (*self._work[task_id], read))

    def _reads(self, task_id: str, read: tuple[Read, ...]) -> None:
        self._work.pop(task_id, None)
        self._work[task_id] = read
        if len(self._work) > _WORK:
            del self._work[next(iter(self._work))]

    async def _verdict(
        self,
        about: Concern,
        tool: str,
        arguments: Mapping[str, Any],
        wants: str,
        *,
        changes: bool,
        origin: Origin,
        call_id: str | None = None,
        task_id: str | None = None,
        role: Role = "operator",
        others: Toolbox | None = None,
        asking: Asking = _nothing,
    ) -> Literal["allow", "deny", "refused"]:
        """The policy's, or the user's where it says so."""
        auto = self._auto_approve(about.session_id)
        decision = self._permissions.decide(
            tool, arguments, changes=changes, origin=origin, auto_approve=auto
        )
        if decision == "deny" or (decision == "allow" and auto):
            return decision
        definition = self._definition(tool, others)
        task = None if task_id is None else await self._store.task(task_id, user_id=about.user_id)
        standing = (
            await self._approvals.standing(about.user_id, role)
            if concerns(tool, definition)
            else []
        )
        pins = _pins(standing)
        source = None
        if concerns(tool, definition) and origin != "http":
            facts = await self._facts(about, task, task_id, pins, role, others)
            hosts = self._permissions.hosts
            place = await self._place(tool, arguments, about.user_id)
            if place is not None and place != placed(str(arguments.get("path", ""))):
                wants = f"{wants}, which is {place}"  # a link, and this is what is written
            source = source_to_name(tool, arguments, definition, facts, hosts=hosts, place=place)
        outside = self._permissions.outside
        if source is not None and outside == "deny":
            return "deny"
        if source is not None and outside == "ask" and decision == "allow":
            decision = "ask"
        pin = self._unpinned(definition, pins, others)
        if decision == "allow" and pin is None:
            return "allow"
        if pin is None and await self._approvals.stands(about, tool, arguments, role):
            return "allow"
        await asking()
        granted = await self._approvals.ask(
            about,
            tool,
            arguments,
            _question(
                wants,
                _asker(origin, task),
                because=None if source is None else source.words,
                changed=pin is not None and pin[0] in pins,
                lasting=decision == "ask_once",
            ),
            timeout=self._permissions.timeout_seconds,
            call_id=call_id,
            task_id=task_id,
            asked_by=_asker(origin, task),
            because=None if source is None else source.words,
            reach="session" if decision == "ask_once" else "once",
            pin=pin,
            role=role,
        )
        return "allow" if granted else "refused"

    def _definition(self, tool: str, others: Toolbox | None = None) -> ToolDefinition | None:
        tools = others or self._tools
        try:
            return None if tools is None else tools.definition(tool)
        except ToolNotFound:
            return None

    async def _place(self, tool: str, arguments: Mapping[str, Any], user_id: str) -> str | None:
        """Where the file really is that it writes: a name may be a link to another. None where
        that cannot be told."""
        if tool not in WRITING:
            return None
        if self._tools is None or self._definition(tool) is None:
            return placed(str(arguments.get("path", "")))
        return await self._tools.place(tool, arguments, user_id)

    def _unpinned(
        self,
        definition: ToolDefinition | None,
        pins: Mapping[str, str],
        others: Toolbox | None = None,
    ) -> tuple[str, str] | None:
        """The server whose words about its tools the user has not agreed to as they are now, and
        the mark of those words."""
        tools = others or self._tools
        if tools is None or definition is None or not definition.server or definition.trusted:
            return None
        mark = described_by(definition.server, tools.definitions())
        named = _agreed_as(definition, mark)
        return None if pins.get(named) == mark else (named, mark)

    async def _facts(
        self,
        about: Concern,
        task: Task | None,
        task_id: str | None,
        pins: Mapping[str, str],
        role: Role,
        others: Toolbox | None = None,
    ) -> Facts:
        known = partial(self._definition, others=others)
        tools = others or self._tools
        every = [] if tools is None else tools.definitions()
        servers = {one.server: one for one in every if one.server and not one.trusted}
        marks = {name: described_by(name, every) for name in servers}
        agreed = {name: pins.get(_agreed_as(one, marks[name])) for name, one in servers.items()}
        described = [name for name, mark in marks.items() if agreed[name] != mark]
        if task_id is not None:
            read = self._work.get(task_id)
            if read is None:  # it began before a restart, at another server, or long ago
                read = (Read(Source("task", "" if task is None else task.title)),)
            words = tuple(Read(Source("described", name)) for name in described)
            said = Said(() if task is None else (task.description,))
            return Facts(said, (*words, *read), delegated=True)
        if about.conversation_id is None:
            return of_conversation((), (), known, described)
        return await facts_of(
            self._store, about.conversation_id, about.user_id, known, role, described
        )


def _pins(standing: Sequence[Approval]) -> dict[str, str]:
    """By server: the mark of what it said when the user agreed."""
    found: dict[str, str] = {}
    for one in standing:  # the newest first
        if one.tool.startswith(_PIN):
            found.setdefault(one.tool.removeprefix(_PIN), str(one.arguments.get("sha256")))
    return found


def _agreed_as(definition: ToolDefinition, mark: str) -> str:
    """Under which name it is kept that the user agreed to what a server says of its tools. A user
    has several devices, and each may have other apps: what one says is none of another's."""
    return f"{definition.server} {mark[:16]}" if definition.category == "app" else definition.server


def _asker(origin: Origin, task: Task | None) -> str | None:
    """Who wants it, in words; None is the voice itself."""
    if task is not None:
        return f'the task "{clean_line(task.title, 60)}"'
    return {"http": "a program that uses this server", "task": "a task"}.get(origin)


def _same(tool: str, arguments: Mapping[str, Any]) -> bytes | None:
    """What tells this call from another; None where it cannot be written down, and is then no
    other's. Of a page it is its host: who agreed to a site agreed to its pages."""
    whole = dict(arguments)
    if tool == "web_fetch":
        address = read_address(str(whole.get("url", "")))
        if address is None:
            return None
        whole = {"host": address.authority}
    try:
        return orjson.dumps([tool, whole], option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        return None


def _question(
    wants: str,
    asker: str | None = None,
    *,
    because: str | None = None,
    changed: bool = False,
    lasting: bool = False,
) -> str:
    """Who wants what, and why it is asked: a question that can be answered with yes or no."""
    shown = clean_line(wants, _SHOWN)
    # Who only listens must know that this is not all of it.
    cut = "\u2026" in shown or len(clean_line(wants, 4 * _SHOWN)) > len(shown)
    who, may = (
        ("I want", "May I")
        if asker is None
        else (f"{asker[:1].upper()}{asker[1:]} wants", "May it")
    )
    rest = ", and more that is on the screen" if cut else ""
    rest += f", having read {because}" if because else ""
    rest += ", which describes its tools in other words than before" if changed else ""
    long = ", for the rest of this session" if lasting else ""
    return f"{who} to {shown}{rest}. {may}{long}? Yes or no?"


log = logging.getLogger(__name__)

MAX_PENDING = 100  # of all users; more than that is a flood, and a flood gets no yes
MAX_OWN = 20  # of one user, at every server: they must not take the others' places
QUESTION_LENGTH = 400
_REACHES: Sequence[Reach] = ("once", "session", "always")


class Concern(About, Protocol):
    """What news is about, and the session it came from."""

    @property
    def session_id(self) -> str | None: ...


class Notifier(Protocol):
    """Reaches the user's live session, if there is one."""

    async def tell(self, event: SessionEvent, about: Concern, role: Role = "user") -> bool:
        """`role`: only where a session has at least this, since its user may answer."""
        ...


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
        relay: Relay | None = None,
    ) -> None:
        self.store, self._journal, self.clock, self._notifier = store, journal, clock, notifier
        self._most_own, self._relay = most_own, relay
        if relay is not None:
            relay.serve("approval", self._answered_there)
        self._open: dict[str, tuple[Approval, asyncio.Future[bool]]] = {}
        self._pins: dict[str, tuple[str, str]] = {}
        """By request: the server whose tools are agreed to with its yes, and how it says them."""
        self._settling: dict[str, asyncio.Event] = {}

    async def lapse(self, left: Sequence[Approval]) -> None:
        """What was open when a server died is a no: whoever asked is gone."""
        for approval in [one for one in left if one.id not in self._open]:
            with suppress(Conflict):  # it has its answer
                await self._settle(approval, ApprovalStatus.EXPIRED, "restart")

    async def standing(self, user_id: str, role: Role = "user") -> list[Approval]:
        """Each yes of theirs that goes on, the newest first; for whoever has this role, none that
        somebody with a lesser one may have given."""
        every = await self.store.standing_approvals(user_id=user_id)
        return [one for one in every if at_least(one.role, role)]

    async def stands(
        self, about: Concern, tool: str, arguments: Mapping[str, Any], role: Role = "operator"
    ) -> bool:
        """Was a yes given to this very call that goes on until now?"""
        same = _same(tool, arguments)
        return same is not None and any(
            one.tool == tool
            and (one.session_id is not None or one.reach == "always")
            and (one.reach == "always" or one.session_id == about.session_id)
            and _same(tool, one.arguments) == same
            for one in await self.standing(about.user_id, role)
        )

    async def revoke(self, approval_id: str, user_id: str) -> Approval:
        """From now on it is asked again. Whatever role somebody has: it takes nothing but a yes."""
        for one in await self.standing(user_id):
            if one.id == approval_id:
                revoked = replace(one, revoked_at=self.clock.now())
                await self._journal.commit([Put(revoked)])
                return revoked
        raise NotFound(f"There is no yes '{clean_line(approval_id, 64)}' that goes on.")

    def pending(self, user_id: str, role: Role = "operator") -> list[Approval]:
        """What somebody with this role may answer."""
        mine = [one for one, _ in self._open.values() if one.user_id == user_id]
        return [one for one in mine if at_least(role, one.role)]

    async def waiting(self, user_id: str, role: Role = "operator") -> list[Approval]:
        """As `pending`, with what waits at other servers, oldest first."""
        found = self.pending(user_id, role)
        if self._relay is not None:
            for one in await self.store.pending_approvals(user_id=user_id):
                there = one.id not in self._open and at_least(role, one.role)
                if there and await self._relay.held(one.owner, one.epoch):
                    found.append(one)
        return sorted(found, key=lambda one: one.requested_at)

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
        asked_by: str | None = None,
        because: str | None = None,
        reach: Reach = "once",
        pin: tuple[str, str] | None = None,
        role: Role = "operator",
    ) -> bool:
        """Until the user says yes or no, or the time is up. A yes goes at least as far as `reach`;
        `pin` is a server and the mark of how it describes its tools, which it agrees to. Raises
        `RateLimited` where too many questions wait."""
        if not _showable(dict(arguments)):
            return False  # nobody can say yes to what cannot be seen
        if len(self._open) >= MAX_PENDING:
            words = f"{MAX_PENDING} questions of all users wait for a yes already."
            raise RateLimited(words, what="approvals", limit=MAX_PENDING, retry_after_ms=5000)
        now = self.clock.now()
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
            asked_by=asked_by,
            because=because,
            reach=reach,
            role=role,
        )
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        try:
            room = Within(about.user_id, approvals=self._most_own)
            told = announce(_requested(approval), approval)
            await kept(self._journal, self.clock, [Put(approval), told, room], call_id=call_id)
            self._open[approval.id] = (approval, answer)
            if pin is not None:
                self._pins[approval.id] = pin
            asked = ApprovalAsked(approval.id, approval.question)
            await self._notifier.tell(asked, approval, role)
            async with asyncio.timeout(timeout):
                return await asyncio.shield(answer)
        except TimeoutError:
            return await self._too_late(approval, answer)
        except asyncio.CancelledError:
            if answer.cancel():
                with suppress(Conflict):
                    await asyncio.shield(self._settle(approval, ApprovalStatus.DENIED, "cancel"))
            raise
        finally:
            self._open.pop(approval.id, None)
            self._pins.pop(approval.id, None)
            # Not by `resolve`: a session that passes on a yes must not wait for its own inbox.
            await self._notifier.tell(ApprovalSettled(approval.id), approval)

    async def _too_late(self, approval: Approval, answer: asyncio.Future[bool]) -> bool:
        """The time is up; an answer that is being stored came before."""
        while (under_way := self._settling.get(approval.id)) is not None:
            await under_way.wait()
        if answer.done():
            return answer.result()
        answer.cancel()
        with suppress(Conflict):  # a no already
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
        reach: Reach = "once",
        role: Role = "operator",
    ) -> Approval:
        """The user's answer. The first one counts; the same again is no error. `reach` is how far
        a yes goes. Raises `Forbidden` for who has a lesser role than whoever asked: several may
        be one user."""
        found = self._open.get(approval_id)
        said = {"approval": approval_id, "granted": granted, "by": by}
        said |= {"words": words, "reach": reach, "role": role}
        if found is None or found[0].user_id != user_id:
            return await self._late(approval_id, user_id, granted, said)
        approval, answer = found
        check_role(role, approval.role)
        while (settling := self._settling.get(approval_id)) is not None:
            await settling.wait()
        if answer.done():
            return await self._late(approval_id, user_id, granted, said)
        stored = self._settling[approval_id] = asyncio.Event()
        status = ApprovalStatus.GRANTED if granted else ApprovalStatus.DENIED
        try:
            furthest = max(reach, approval.reach or "once", key=_REACHES.index)
            approval = replace(approval, reach=furthest if granted else None)
            try:
                settled = await self._settle(approval, status, by, words)
            except Conflict:  # only a yes that won the row runs anything
                if not answer.done():
                    answer.set_result(False)
                raise
            if granted and (pin := self._pins.get(approval_id)) is not None:
                await self._agree(settled, *pin)
            if not answer.done():
                answer.set_result(granted)
            return settled
        finally:
            del self._settling[approval_id]
            stored.set()

    async def _agree(self, by: Approval, server: str, mark: str) -> None:
        """What the server says of its tools is as the user agreed to it; nothing else is."""
        name = _PIN + server
        before = [one for one in await self.standing(by.user_id) if one.tool == name]
        agreed = replace(
            by,
            id=f"apr_{new_id()}",
            tool=name,
            question=f"Use the tools of the server {server} as it describes them now",
            arguments={"sha256": mark},
            reach="always",
            call_id=None,
        )
        old = [Put(replace(one, revoked_at=self.clock.now())) for one in before]
        await self._journal.commit([*old, Put(agreed)])

    async def _answered_there(
        self, user_id: str, answer: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        """At another server, to what is asked here."""
        approval_id = answer.pop("approval")
        await self.resolve(approval_id, user_id, **answer)
        return {}, ""

    async def _late(
        self, approval_id: str, user_id: str, granted: bool, answer: dict[str, Any]
    ) -> Approval:
        known = await self.store.approval(approval_id, user_id=user_id)
        if known is None:
            raise NotFound(f"There is no request '{clean_line(approval_id, 64)}'.")
        relay, owner = self._relay, (known.owner, known.epoch)
        if known.status is ApprovalStatus.PENDING and relay and await relay.held(*owner):
            await relay.ask("approval", owner, user_id, answer)
            known = await self.store.approval(approval_id, user_id=user_id) or known
        over = known.status is not ApprovalStatus.PENDING
        if over and (known.status is ApprovalStatus.GRANTED) == granted:
            return known
        raise Conflict("This was answered already, or nobody waits for it any more.")

    async def _settle(
        self,
        approval: Approval,
        status: ApprovalStatus,
        by: By,
        words: str | None = None,
    ) -> Approval:
        now = self.clock.now()
        settled = replace(
            approval,
            status=status,
            reach=approval.reach if status is ApprovalStatus.GRANTED else None,
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
            reach=settled.reach,
        )
        changes: list[Change] = [Settle(settled), announce(event, settled)]
        if by in ("voice", "timeout"):  # a click can be made again
            await kept(self._journal, self.clock, changes, call_id=approval.call_id)
        else:
            await self._journal.commit(changes)
        return settled


def check_role(role: Role, needed: Role) -> None:
    """Raises `Forbidden`: whoever asked has more rights than who answers."""
    if not at_least(role, needed):
        raise Forbidden(
            f"This was asked for with the role '{needed}', and you have '{role}': somebody with "
            "that role has to answer.",
            role=role,
            needed=needed,
        )


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
        asked_by=approval.asked_by,
        because=approval.because,
        reach=approval.reach,
    )
