"""The runtimes of this server: who is at which conversation, and what they say.

What is said goes the way of everything written (`sessions.texting`), into a session in text mode
with the runtime beside it: one agent loop, one machine, one executor. A runtime that only waits has
no session, and takes no seat at the provider.

After a restart, or at another server, a runtime comes back to what is stored: calls that were left
open are run to their end under their own ids, an answer that was being read out is asked for again,
and what has no answer gets it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import orjson

from vivavoce.errors import (
    EngineFault,
    Forbidden,
    InvalidRequest,
    ModelUnavailable,
    ProviderError,
    RateLimited,
    SaidOtherwise,
    SessionNotFound,
    Unauthorized,
    Unavailable,
    VivavoceError,
)
from vivavoce.runtime.calls.approvals import Approvals
from vivavoce.runtime.calls.outcomes import ToolRequest
from vivavoce.runtime.calls.records import wire_id
from vivavoce.runtime.conductor.left import heard, owed, unread
from vivavoce.runtime.conductor.line import Line
from vivavoce.runtime.conductor.link import Link, Unread
from vivavoce.runtime.conductor.showing import Screens
from vivavoce.runtime.limits import Pace
from vivavoce.runtime.ports import ClientTools
from vivavoce.runtime.sessions.live import ELSEWHERE, LiveSession
from vivavoce.runtime.sessions.making import Company
from vivavoce.runtime.sessions.options import remembered
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.records import begun, closed
from vivavoce.runtime.sessions.voice import Voice
from vivavoce.session.events import End, Interrupted, News, Overheard, Reconfigure, Spoken
from vivavoce.wire.conductor.codes import Close, ServerCode
from vivavoce.wire.conductor.confirm import Click
from vivavoce.wire.conductor.event import Event
from vivavoce.wire.conductor.kinds import SessionStart, Tool, session_id_of
from vivavoce.wire.events import TranscriptionCompleted, announce
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    PutConversation,
    PutEntry,
    ToolCall,
)
from vivavoce.wire.records.work import ROLES, Role
from vivavoce.wire.values import Record

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOOKED_AT = 50  # of the last entries
_SESSIONS = 5  # of a conversation: in which calls may have been left open
_TRIES = 3
_LOADS, _LOOKS = 120.0, 2.0
"""Seconds for which an engine that still loads its models is waited for, and at most between two
looks."""
A_SECOND, AT_ONCE = 300.0, 1_000.0  # events of one user's runtimes
CHARACTERS_A_SECOND, CHARACTERS_AT_ONCE = 500_000.0, 8_000_000.0  # of those events
SCHEMAS_A_SECOND, SCHEMAS_AT_ONCE = 6_000.0, 200_000.0
"""Characters of what tools one user's runtimes have: they take ten thousand times as long."""
A_TOOL = 200  # characters at least, whatever it says
MOST_SAID = 20  # sentences of a runtime that wait for their turn


class NotYours(VivavoceError):
    """The session is somebody else's."""


def _weight(tool: Tool) -> int:
    """Raises `InvalidRequest`."""
    try:
        return max(A_TOOL, len(orjson.dumps(dict(tool.input_schema))))
    except TypeError:  # how orjson says that it is too deep
        told = f"The schema of the tool '{tool.name}' is nested too deeply."
        raise InvalidRequest(told) from None


def code_of(fault: VivavoceError) -> ServerCode:
    """As the protocol has it."""
    match fault:
        case ProviderError() | EngineFault():
            return "bedrock_error"
        case InvalidRequest() | SaidOtherwise():
            return "invalid_event"
        case Unauthorized() | Forbidden():
            return "no_session"
        case _:
            return "conductor_error"


class Rules(Record):
    """What runtimes may have. Seconds; 0 of a number is no limit."""

    connections: int = 500
    of_user: int = 20
    idle: float = 60.0
    """So long after the last word the provider's session is kept."""
    tool: float = 60.0
    """For a tool of the runtime's."""
    trust: bool = False
    """What runtimes say of their tools counts."""


class Offer(Protocol):
    """Makes a toolbox of the server's tools and a runtime's."""

    async def __call__(
        self,
        tools: Sequence[Tool],
        run: Callable[[str, str, str], Any],
        *,
        wrapped: bool,
        seconds: float,
        trusted: bool,
    ) -> ClientTools: ...


class Conductor:
    def __init__(
        self, parts: Parts, voice: Voice, approvals: Approvals, offer: Offer, rules: Rules
    ) -> None:
        self._parts, self._voice, self._texting = parts, voice, voice.texting
        self._approvals, self._offer, self.rules = approvals, offer, rules
        self._links: dict[tuple[str, str], Link] = {}
        self._screens = Screens(parts.store, parts.journal, parts.clock)
        self._lines: Counter[str] = Counter()  # by user
        self._pace = (
            Pace(A_SECOND, AT_ONCE, clock=parts.clock),
            Pace(CHARACTERS_A_SECOND, CHARACTERS_AT_ONCE, clock=parts.clock),
        )
        self._schemas = Pace(SCHEMAS_A_SECOND, SCHEMAS_AT_ONCE, clock=parts.clock)
        self._looking = asyncio.Lock()  # at schemas: one runtime's at a time
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        parts.relay.serve("conductor", self._taken_elsewhere)
        parts.registry.at_start(self._began)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                self.close(Close.RESTART)
                for task in tuple(self._tasks):
                    task.cancel()

    def close(self, code: Close) -> None:
        """Every connection."""
        for link in list(self._links.values()):
            if link.line is not None:
                link.line.close(code)

    @property
    def connections(self) -> int:
        return self._lines.total()

    # --- Coming and going -----------------------------------------------------------------

    def connected(self, user_id: str) -> bool:
        """Has this user an app connected here?"""
        return self._lines[user_id] > 0

    @asynccontextmanager
    async def connection(self, user_id: str) -> AsyncIterator[Line]:
        """A place for one. Raises `Unavailable`, `RateLimited`."""
        rules = self.rules
        if self._group is None:
            raise Unavailable("The server is shutting down.", retry_after_ms=5000)
        if 0 < rules.connections <= self.connections:
            raise Unavailable(
                f"All {rules.connections} connections of runtimes are taken.", retry_after_ms=5000
            )
        if 0 < rules.of_user <= self._lines[user_id]:
            raise RateLimited(
                f"You have {rules.of_user} runtimes connected, as many as one user may have.",
                limit=rules.of_user,
                retry_after_ms=5000,
            )
        self._lines[user_id] += 1
        try:
            yield Line()
        finally:
            self._lines[user_id] -= 1
            self._lines += Counter()  # forgets who has none

    async def paced(self, user_id: str, characters: int) -> None:
        """Before anything is made of what came: whoever sends more than others waits, and the line
        with them."""
        events, sizes = self._pace
        await self._wait(max(events.take(user_id, 1), sizes.take(user_id, characters)))

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self._parts.clock.sleep(seconds)

    async def start(self, line: Line, user_id: str, role: Role, start: SessionStart) -> Link:
        """The connection is this session's from now on. Raises `NotYours`, `InvalidRequest`,
        `Forbidden`."""
        conversation_id = session_id_of(start.session_id)
        agent = self._parts.profile.agent.name
        if start.agent not in (None, agent):
            raise InvalidRequest(f"The agent here is '{agent}'.")
        conversation = await self._conversation(user_id, conversation_id)
        if conversation is not None:
            await self._voice.admission.check_led(conversation_id, user_id, role)
        reach: list[Link] = []
        tools = await self._tools((user_id, conversation_id), role, start, reach)
        # From here to where it has its line nobody else comes in between.
        if conversation is None:
            self._check_free(user_id, conversation_id)
        before = self._links.get((user_id, conversation_id))
        link = before
        if link is None or link.role != role:
            link = self._made(user_id, conversation_id, role, instead_of=before)
        reach.append(link)
        if link.line is not None and link.line is not line:
            link.line.close(Close.TAKEN_OVER)
        link.line = line
        await self._equip(link, start, tools)
        if before is not None and before is not link and before.live is not None:
            await self._parts.registry.end(before.live, End("completed"))
        if conversation is None:
            return link
        link.known = True
        if link.live is None and not (link.catching_up or link.hearing):
            await self._catch_up(link, conversation)
        else:
            link.again()
        return link

    async def show(self, link: Link, line: Line, *, whole: bool) -> None:
        """What it shows beside the talk, for as long as it is connected; `whole` where it may
        show something already."""
        await self._screens.show(link, line, whole=whole)

    async def leave(self, link: Link, line: Line) -> None:
        """Its connection is gone; what it was asked waits for another."""
        if link.line is line:
            link.line = None
            self._forget(link)

    def _made(
        self, user_id: str, conversation_id: str, role: Role, *, instead_of: Link | None
    ) -> Link:
        """One link has one role, and what stands beside it: whoever comes with another role has
        nothing of what was there. Raises `Forbidden` where somebody with a higher one is there."""
        if instead_of is not None and instead_of.line is not None:
            if ROLES.index(instead_of.role) > ROLES.index(role):
                raise Forbidden("A runtime with a higher role has this session.", role=role)
            instead_of.line.close(Close.TAKEN_OVER)
            instead_of.line = None
        link = Link(
            user_id,
            conversation_id,
            role,
            store=self._parts.store,
            confirmed=self._confirmed,
            gone=self._over,
        )
        self._links[user_id, conversation_id] = link
        return link

    def _forget(self, link: Link) -> None:
        """One that nobody is at, and for which nothing goes on."""
        if link.line is None and link.live is None and not (link.catching_up or link.hearing):
            key = (link.user_id, link.conversation_id)
            if self._links.get(key) is link:
                del self._links[key]
                self._texting.company.pop(key, None)

    def _over(self, link: Link, live: LiveSession) -> None:
        if live.records.session.end_reason == ELSEWHERE and link.line is not None:
            link.line.close(Close.TAKEN_OVER)
        self._forget(link)

    async def _conversation(self, user_id: str, conversation_id: str) -> Conversation | None:
        store = self._parts.store
        found = await store.conversation(conversation_id, user_id=user_id)
        if found is None and await store.has_conversation(conversation_id):
            # It may have begun between the two questions, and be theirs.
            found = await store.conversation(conversation_id, user_id=user_id)
            if found is None:
                raise NotYours("This session is not yours.")
        if found is None:
            self._check_free(user_id, conversation_id)
        return found

    def _check_free(self, user_id: str, conversation_id: str) -> None:
        """Raises `NotYours` for an id that somebody else is at, who has not said anything yet."""
        if any(of == conversation_id and user != user_id for user, of in self._links):
            raise NotYours("This session is not yours.")

    async def _tools(
        self, of: tuple[str, str], role: Role, start: SessionStart, reach: Sequence[Link]
    ) -> ClientTools | None:
        """Those that the runtime has now; None where they are those that it had. `reach` has the
        link that runs them, once there is one."""
        link = self._links.get(of)
        same = link is not None and link.role == role and link.tools is not None
        if link is not None and same and start.tools in (None, link.wanted):
            return None
        tools = start.tools or ()
        await self._wait(self._schemas.take(of[0], sum(map(_weight, tools))))
        can = self._parts.provider.capabilities
        async with self._looking:
            return await self._offer(
                tools,
                lambda *call: reach[0].call(*call),
                wrapped=can.wrapped_tools,
                seconds=self.rules.tool,
                trusted=self.rules.trust,
            )

    async def _equip(self, link: Link, start: SessionStart, tools: ClientTools | None) -> None:
        """With the tools that the runtime has now; whoever says nothing of them has the same."""
        before = None if link.tools is None else link.tools.offered
        if tools is not None:
            link.tools, link.wanted = tools, start.tools
        assert link.tools is not None
        link.sentences = start.clauses is True
        self._texting.company[link.user_id, link.conversation_id] = Company(
            companion=link,
            role=link.role,
            tools=link.tools.offered,
            sentences=link.sentences,
            idle=self.rules.idle,
        )
        live = link.live
        if live is not None and before is not None and before != link.tools.offered:
            own = self._voice.maker.offered(live)
            user = await self._voice.maker.about(live.records.session)
            told = self._parts.profile.tools([*own, *link.tools.offered], user)
            await live.post(Reconfigure({"tools": told}, ("tools",)))

    # --- Saying ---------------------------------------------------------------------------

    def hear(self, link: Link, event: Event, text: str) -> None:
        """As `said`, beside whatever else the runtime tells: it may take a while until there is a
        session. It is done also if the connection goes meanwhile."""
        if self._group is None:
            return
        if link.hearing >= MOST_SAID:
            told = f"{MOST_SAID} sentences wait already. Please wait for an answer."
            link.refuse("conductor_error", told, event.id)
            return
        link.hearing += 1
        self._start(self._hear(link, event, text))

    async def _hear(self, link: Link, event: Event, text: str) -> None:
        try:
            await self.said(link, event, text)
        except NotYours as fault:
            link.refuse("no_session", fault.message, event.id)
            if link.line is not None:
                link.line.close(Close.NOT_YOURS)
        except VivavoceError as fault:
            link.refuse(code_of(fault), fault.message, event.id)
        except Exception:  # the boundary of one sentence
            log.exception("What was said failed")
            link.refuse("handler_error", "Something went wrong here. It is in the log.", event.id)
        finally:
            link.hearing -= 1
            self._forget(link)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        assert self._group is not None
        task = self._group.create_task(work, name="runtime")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def said(self, link: Link, event: Event, text: str) -> None:
        """What the user said; the same event once more is the same sentence. Raises whatever
        keeps it from being answered."""
        async with link.inbox:
            self._check_current(link)
            link.expect()
            try:
                conversation = await self._begun(link)
                of = (conversation.id, link.user_id)
                await self._voice.admission.check_led(*of, link.role)
                self._check_current(link)
                await self._alone(link)
                self._check_current(link)
                exchange = None
                if not (link.catching_up and await self._texting.has(conversation, event.id)):
                    say = partial(self._texting.say, conversation, text, wait=0.0)
                    exchange = await self._once_loaded(lambda: say(role=link.role, once=event.id))
            except BaseException:
                link.settled()
                raise
            if exchange is not None and exchange.reply is not None:
                link.settled()  # it was answered before

    def _check_current(self, link: Link) -> None:
        """What was said by one role is not said with the role of who came after it."""
        if self._links.get((link.user_id, link.conversation_id)) is not link:
            raise Forbidden("A runtime with another role has this session now.")

    async def _once_loaded(self, ask: Callable[[], Awaitable[T]]) -> T:
        """A server that was just started loads its models while its runtimes come back. They have
        said what they had to say, and wait for the answer."""
        clock, pause = self._parts.clock, 0.2
        until = clock.monotonic() + _LOADS
        while True:
            try:
                return await ask()
            except ModelUnavailable as fault:
                if fault.retry_after_ms is None or clock.monotonic() > until:
                    raise  # they cannot be loaded, or not in time
            await clock.sleep(pause)
            pause = min(_LOOKS, pause * 1.5)

    async def overheard(self, link: Link) -> None:
        """The user is saying something."""
        link.show("listening")
        if link.live is not None:
            await link.live.post(Overheard())

    async def nothing(self, link: Link) -> None:
        """They said nothing after all."""
        link.settled()
        if link.live is not None:
            await link.live.post(Overheard(over=True))

    async def _begun(self, link: Link) -> Conversation:
        """The conversation: its id is the session's. It begins with the first word."""
        parts, of = self._parts, (link.user_id, link.conversation_id)
        found = await self._conversation(*of)
        if found is None:
            made = begun(
                link.user_id,
                parts.clock.now(),
                conversation_id=link.conversation_id,
                context_type=parts.profile.agent.context_type,
            )
            room = parts.shares.more(link.user_id, conversation=True)
            await parts.journal.commit([PutConversation(made), *room])
            found = await self._conversation(*of)
            if found is None:
                raise NotYours("This session is not yours.")
        link.known = True
        return found

    async def _alone(self, link: Link, *, calls: bool = True) -> bool:
        """Whoever speaks last has the conversation: a call of the browser's, a session without
        the runtime, or one at another server ends. Without `calls` only runtimes' do, and it is
        False where another goes on."""
        registry, of = self._parts.registry, (link.user_id, link.conversation_id)
        active = await self._parts.active(*of)
        if not calls and any(remembered(one).offered is None for one in active):
            return False
        for live in registry.of_conversation(link.conversation_id):
            if live.companion is not link:
                live.records.goes_on = True
                await registry.end(live, End("completed"))
        for one in active:
            if registry.get(one.id) is not None or one.metadata.get("tracked"):
                continue
            how = End(ELSEWHERE)
            if not await self._voice.elsewhere.end(one, how, goes_on=True):
                await self._parts.journal.commit(closed(one, self._parts.clock.now(), how))
        return True

    def _began(self, live: LiveSession) -> None:
        if isinstance(live.companion, Link):
            live.companion.live = live

    async def _confirmed(self, link: Link, approval_id: str, click: Click) -> bool:
        """Does nobody wait for an answer any more?"""
        try:
            await self._approvals.resolve(
                approval_id,
                link.user_id,
                granted=click.granted,
                by="click",
                reach=click.reach,
                role=link.role,
            )
        except VivavoceError as fault:
            log.info("An answer did not count: %s", type(fault).__name__)
            return False
        return True

    # --- After a restart, or from another server ------------------------------------------

    async def _catch_up(self, link: Link, conversation: Conversation) -> None:
        """What was left, as it is stored."""
        await self._tell_others(link)
        async with link.inbox:
            if not await self._alone(link, calls=False):
                link.again()  # the browser has it; the next word takes it back
                return
            calls = await self._open_calls(conversation)
            entries, _ = await self._parts.store.messages_before(
                conversation.id, user_id=link.user_id, limit=_LOOKED_AT
            )
            owing = bool(calls) or owed(entries, self._parts.clock.now()) is not None
            reading = None if (last := unread(entries)) is None else self._unread(last)
            link.resume(reading, owing=owing)
            link.again()
            if owing and self._group is not None:
                link.catching_up = True
                self._start(self._bring_to_an_end(link, conversation, calls))

    def _unread(self, entry: Entry) -> Unread:
        whole = str(entry.data.get("generated") or entry.text)
        item_id = str(entry.data.get("item_id"))
        return Unread(entry.id, item_id, whole, partial(self._read_out, entry))

    async def _tell_others(self, link: Link) -> None:
        """Of several servers: a connection to another one is not this runtime's any more."""
        for home in await self._parts.relay.others():
            given = {"conversation": link.conversation_id}
            await self._parts.relay.tell("conductor", home, link.user_id, given)

    async def _taken_elsewhere(
        self, user_id: str, given: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        link = self._links.get((user_id, str(given["conversation"])))
        if link is not None and link.line is not None:
            link.line.close(Close.TAKEN_OVER)
        return {}, ""

    async def _open_calls(self, conversation: Conversation) -> list[ToolCall]:
        found: list[ToolCall] = []
        sessions = await self._parts.store.sessions_of(
            conversation.id, user_id=conversation.user_id
        )
        for session in sessions[:_SESSIONS]:
            found += await self._parts.store.open_calls(session.id)
        running = {call.id for call in self._parts.executor.running()}
        return [call for call in found if call.id not in running and call.origin == "model"]

    async def _bring_to_an_end(
        self, link: Link, conversation: Conversation, calls: Sequence[ToolCall]
    ) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self._run_again(link, call))
            async with link.inbox:
                if link.live is None:
                    await self._go_on(link, conversation)
                else:
                    await self._tell_late(link.live, calls)
        except VivavoceError as fault:
            log.warning("What was left could not be brought to its end", exc_info=True)
            link.refuse("conductor_error", fault.message)
        except Exception:  # the boundary of this task: the next word goes on
            log.exception("What was left could not be brought to its end")
            link.refuse("handler_error", "Something went wrong. Please say it again.")
        finally:
            link.catching_up = False
            if link.live is None:
                link.settled()
            self._forget(link)

    async def _run_again(self, link: Link, call: ToolCall) -> None:
        tools = link.tools
        if tools is None or call.tool not in tools.names:
            await self._parts.executor.give_up(call)
            return
        await self._parts.executor.run(
            ToolRequest(
                name=call.tool,
                arguments=call.arguments,
                call_id=wire_id(call),
                user_id=call.user_id,
                session_id=call.session_id,
                conversation_id=call.conversation_id,
                origin=call.origin,
                role=link.role,
                tools=tools,
                again=True,
                left_open=lambda: True,
            )
        )

    async def _go_on(self, link: Link, conversation: Conversation) -> None:
        """The answer that is owed."""
        now = self._parts.clock.now()
        entries, _ = await self._parts.store.messages_before(
            conversation.id, user_id=link.user_id, limit=_LOOKED_AT
        )
        if (left := owed(entries, now)) is None:
            return
        for attempt in range(_TRIES):
            try:
                await self._once_loaded(lambda: self._texting.go_on(conversation, left, link.role))
            except (Unavailable, ProviderError, SessionNotFound):
                if attempt == _TRIES - 1:
                    raise
                await self._parts.clock.sleep(1.0 + attempt)
            else:
                return

    async def _tell_late(self, live: LiveSession, calls: Sequence[ToolCall]) -> None:
        """The user went on meanwhile: what came of the calls is news."""
        for call in calls:
            known = await self._parts.store.tool_call(call.id, user_id=call.user_id)
            if known is not None:
                told = known.output or known.error or ""
                words = f"A tool that was still running has finished. Its result: {told[:4_000]}"
                await live.post(News(f"late:{call.id}", words))

    async def _read_out(self, entry: Entry, event: Spoken | Interrupted) -> None:
        """What a session before a restart wrote is heard now."""
        known = heard(entry, event)
        told = TranscriptionCompleted(
            session_id=entry.session_id,
            timestamp=self._parts.clock.now(),
            item_id=str(entry.data.get("item_id")),
            transcript=known.text,
            role="assistant",
            entry_id=entry.id,
            interrupted=known.data.get("interrupted"),
            modality="text" if known.modality == "text" else None,
            created_at=entry.created_at,
            replaces=entry.id,
        )
        await self._parts.journal.commit([PutEntry(known), announce(told, known)])
