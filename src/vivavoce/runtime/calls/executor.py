"""The tool executor: the one way every call takes, from the model, `/execute` and `/webhook`.

    known already? ─► admit ─► check ─► record ─► permit ─► run ─► record ─► answer
         │              └──── refused ──────────────┴───────────────┘
         └─► the same answer once more

A call is durable before it runs, and its outcome before anyone is told. A
call id that is running or done is never run again: whoever asks once more
gets the same outcome, and a call that a restart interrupted is answered as
such. It does not know what tools there are, nor how a model is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

from vivavoce.errors import (
    Conflict,
    InvalidArguments,
    InvalidRequest,
    PayloadTooLarge,
    RateLimited,
    ToolFailed,
    ToolNotFound,
    Unavailable,
    VivavoceError,
)
from vivavoce.logs import failure, fields
from vivavoce.runtime.calls import records as write
from vivavoce.runtime.calls.approvals import Gatekeeper
from vivavoce.runtime.calls.outcomes import (
    CANCELLED,
    INTERRUPTED,
    ToolOutcome,
    ToolRequest,
    answered,
    failed,
    fault_of,
    parse_arguments,
    recalled,
    timed_out,
)
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.calls.shaping import MODEL_LIMIT
from vivavoce.runtime.ids import is_call_id
from vivavoce.runtime.journal.keeping import kept, there
from vivavoce.runtime.journal.log import ASKING
from vivavoce.runtime.limits import Window
from vivavoce.runtime.ports import (
    Clock,
    Journal,
    Level,
    Store,
    Toolbox,
    ToolContext,
    ToolOutput,
    nobody,
)
from vivavoce.runtime.waiting import Flag
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.records.talk import CallStatus, Change, ToolCall
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 1.0  # durable progress, at most this often a call
_BESIDE = ("http", "task")  # calls that no talk made
QUIET_SECONDS = 5.0  # for the last words of a cancelled call
LEAVE_SECONDS = 10.0  # for a call whose user goes
MOST_DISPLAYS = 20  # messages for the screen that one call may have
_LATELY, _ENOUGH, _ALIKE, _PACES = 20, 3, 4, 500


class Pace:
    """How long calls of a tool took lately. The same call again is the best guess; where those of
    its tool differ much (a shell's do), another call is none."""

    def __init__(self) -> None:
        self._same: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._of_tool: dict[str, deque[int]] = {}

    def took(self, tool: str, description: str, duration_ms: int) -> None:
        key = (tool, description)
        self._same[key] = duration_ms
        self._same.move_to_end(key)
        if len(self._same) > _PACES:
            self._same.popitem(last=False)
        self._of_tool.setdefault(tool, deque(maxlen=_LATELY)).append(duration_ms)

    def guess(self, tool: str, description: str) -> int | None:
        """In milliseconds; None where nobody knows."""
        if (same := self._same.get((tool, description))) is not None:
            return same
        lately = self._of_tool.get(tool, ())
        if len(lately) < _ENOUGH:
            return None
        middle = round(median(lately))
        return middle if max(lately) <= _ALIKE * max(1, min(lately)) else None


class Progress:
    """Durable progress of one call, at most once a second; what comes between is dropped."""

    def __init__(
        self, journal: Journal, clock: Clock, call: ToolCall, over: Flag | None = None
    ) -> None:
        """`over`: nothing is reported from then on."""
        self._journal, self._clock, self._call = journal, clock, call
        self._last: float | None = None
        self._open, self._over = True, over or Flag()
        self._displays = MOST_DISPLAYS

    async def report(
        self,
        message: str,
        percentage: int | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        now = self._clock.monotonic()
        early = self._last is not None and now - self._last < PROGRESS_SECONDS
        # A report after the end would put a settled call back to started.
        if early or not self._open or self._over.is_set():
            return
        self._last = now
        self._call = replace(self._call, progress=clean_line(message))
        share = None if percentage is None else min(100, max(0, percentage))
        await self._tell(write.progressed(self._call, share, self._clock.now(), details))

    async def display(self, message: str, level: Level = "info") -> None:
        """Each is kept, the first few of a call."""
        if not self._displays or not self._open or self._over.is_set():
            return
        self._displays -= 1
        told, now = clean_text(message, 2_000), self._clock.now()
        await self._tell(write.displayed(self._call, told, level, now))

    async def _tell(self, changes: Sequence[Change]) -> None:
        """No tool fails because nobody could be told how far it is."""
        try:
            await self._journal.commit(changes)
        except Unavailable:
            log.warning("Progress could not be stored", extra=fields(call_id=self._call.id))

    def close(self) -> ToolCall:
        """No more of it; the call as it stands."""
        self._open = False
        return self._call


Changed = Callable[[ToolCall, Sequence[str], Role], Awaitable[None]]


class _Running(Value):
    call: ToolCall
    answer: asyncio.Future[ToolOutcome]
    durable: Flag  # the call is recorded, or was answered without running
    held: asyncio.Timeout  # without an end, until its user is forgotten
    forgotten: Flag  # from then on nothing is written of it


class ToolExecutor:
    """Runs calls, each once. Cancelling the task that runs one cancels the call.

    `settled` is told of every call that ran, once its outcome is durable, `changed` of the files
    that one changed which no live talk asked for; `room` says what a user may have stored with
    one more.
    """

    def __init__(
        self,
        *,
        tools: Toolbox,
        calls: Store,
        journal: Journal,
        clock: Clock,
        per_user: Window,
        per_session: Window,
        settled: Callable[[ToolCall], None] | None = None,
        gate: Gatekeeper | None = None,
        questions: Questions | None = None,
        most: Callable[[], int] | None = None,
        room: Callable[[str], Sequence[Change]] = lambda user_id: (),
        changed: Changed | None = None,
    ) -> None:
        self._tools, self._calls, self._journal, self._clock = tools, calls, journal, clock
        self._per_user, self._per_session = per_user, per_session
        self._settled, self._changed = settled, changed
        self._gate, self._questions = gate, questions
        self._most = most or (lambda: MODEL_LIMIT)
        self._room = room
        self._running: dict[tuple[str, str], _Running] = {}
        self._leaving: Counter[str] = Counter()
        self._pace = Pace()

    def running(self, session_id: str | None = None) -> list[ToolCall]:
        """The calls under way, of one session or of all."""
        calls = [item.call for item in self._running.values()]
        return calls if session_id is None else [c for c in calls if c.session_id == session_id]

    @asynccontextmanager
    async def without(self, user_id: str) -> AsyncIterator[None]:
        """While all that is theirs is deleted: their calls are ended, whatever those have still
        to say is written nowhere, and none begins."""
        self._leaving[user_id] += 1
        try:
            ended = [one for one in self._running.values() if one.call.user_id == user_id]
            now = asyncio.get_running_loop().time()
            for one in ended:
                one.forgotten.set()
                one.held.reschedule(now)
            if ended:
                _, left = await asyncio.wait([one.answer for one in ended], timeout=LEAVE_SECONDS)
                if left:  # another's code; whatever it does, nothing of it is written
                    log.warning("Calls of a user do not end", extra=fields(calls=len(left)))
            yield
        finally:
            self._leaving[user_id] -= 1
            self._leaving += Counter()  # without those of nobody

    async def run(
        self, request: ToolRequest, *, admitted: asyncio.Future[None] | None = None
    ) -> ToolOutcome:
        """The outcome, whatever it is; raises only what the store raises.

        `admitted` is for one who answers earlier: it is done as soon as the call
        is recorded or known, or has the fault with which it was refused.
        """
        try:
            outcome = await self._run(request, admitted)
        except Exception as exc:
            _tell(admitted, exc)
            raise
        except asyncio.CancelledError:
            _tell(admitted, Unavailable("The server is shutting down.", retry_after_ms=5000))
            raise
        # A known call that failed is known, not refused.
        _tell(admitted, None if isinstance(outcome.fault, ToolFailed) else outcome.fault)
        return outcome

    async def _run(
        self, request: ToolRequest, admitted: asyncio.Future[None] | None
    ) -> ToolOutcome:
        if not is_call_id(request.call_id):
            return failed(InvalidRequest("A call id is 1 to 128 printable characters"))
        asked = self._asked(request)
        if asked.user_id in self._leaving:
            return failed(Conflict("All that is kept of this user is being deleted."))
        held = self._running.get(_key(asked))
        if held is not None and write.elsewhere(held.call, asked):
            asked = write.scoped(asked)
            held = self._running.get(_key(asked))
        if held is not None:
            if (conflict := _conflict(held.call, asked)) is not None:
                return conflict
            await held.durable.wait()
            if not held.answer.done():
                _tell(admitted)  # recorded, and running; otherwise its outcome says the rest
            # Shielded: one who stops waiting must not take the answer from the others.
            return await asyncio.shield(held.answer)
        return await self._hold(request, asked, admitted)

    async def interrupted(
        self, session_id: str, but: Collection[str] = ()
    ) -> list[tuple[ToolCall, ToolOutcome]]:
        """Settle what a restart left open in a session, so that nothing waits for it for ever;
        without calls of these tools, which somebody will run again."""
        left = [
            call
            for call in await self._calls.open_calls(session_id)
            if _key(call) not in self._running and call.tool not in but
        ]
        return [(call, await self._interrupted(call)) for call in left]

    async def give_up(self, call: ToolCall) -> None:
        """One that nobody can run again."""
        await self._interrupted(call)

    def _asked(self, request: ToolRequest) -> ToolCall:
        try:
            arguments = parse_arguments(request.name, request.arguments)
        except InvalidArguments:
            arguments = None  # `_check` refuses it, with the reason
        return write.new_call(request, arguments, self._clock.now())

    async def _hold(
        self, request: ToolRequest, asked: ToolCall, admitted: asyncio.Future[None] | None
    ) -> ToolOutcome:
        """Keep a seat for those who ask for the same call while it runs."""
        answer: asyncio.Future[ToolOutcome] = asyncio.get_running_loop().create_future()
        until, forgotten = asyncio.timeout(None), Flag()
        running = _Running(asked, answer, Flag(), until, forgotten)
        self._running[_key(asked)] = running

        def recorded() -> None:
            """Only now may anyone be told: what is acknowledged is stored."""
            running.durable.set()
            _tell(admitted)

        try:
            try:
                async with until:
                    outcome = await self._once(request, asked, recorded, forgotten)
            except TimeoutError:
                if not forgotten.is_set():
                    raise
                outcome = _forgotten(asked)
            answer.set_result(outcome)
            return outcome
        except asyncio.CancelledError:
            answer.set_result(_cancelled(asked, 0))
            raise
        except Exception as exc:
            answer.set_exception(exc)
            answer.exception()  # marks it as seen: often nobody else waits
            raise
        finally:
            self._running.pop(_key(asked)).durable.set()

    async def _once(
        self,
        request: ToolRequest,
        asked: ToolCall,
        recorded: Callable[[], None],
        forgotten: Flag,
    ) -> ToolOutcome:
        known = await self._known(request, asked)
        if known is not None and write.elsewhere(known, asked):
            asked = write.scoped(asked)
            known = await self._known(request, asked)
        if known is not None:
            if (conflict := _conflict(known, asked)) is not None:
                return conflict
            if known.status is not CallStatus.STARTED:
                return recalled(known)
            if not request.again:
                return await self._interrupted(known)
            recorded()
            return await self._perform(request, known, known.arguments, recorded, forgotten)
        try:
            # Before the check, so that wrong calls cannot flood the log either.
            self._per_user.check(asked.user_id)
            if asked.session_id is not None:
                self._per_session.check(asked.session_id)
            arguments = self._check(request, asked)
        except VivavoceError as fault:
            return await self._refuse(request, asked, fault)
        return await self._perform(request, asked, arguments, recorded, forgotten)

    async def _known(self, request: ToolRequest, asked: ToolCall) -> ToolCall | None:
        look = partial(self._calls.tool_call, asked.id, user_id=asked.user_id)
        return await (there(self._clock, look, call_id=asked.id) if _waits(request) else look())

    async def _interrupted(self, call: ToolCall) -> ToolOutcome:
        outcome = failed(ToolFailed(INTERRUPTED.message), words=INTERRUPTED)
        await self._settle(call, outcome, write.milliseconds(call.started_at), CallStatus.UNKNOWN)
        return outcome

    def _check(self, request: ToolRequest, asked: ToolCall) -> dict[str, Any]:
        if request.allowed is not None and request.name not in request.allowed:
            raise ToolNotFound(f"There is no tool '{asked.tool}' here", tool=asked.tool)
        tools = request.tools or self._tools
        tools.definition(request.name)
        return tools.check(request.name, parse_arguments(request.name, request.arguments))

    async def _refuse(
        self, request: ToolRequest, asked: ToolCall, fault: VivavoceError
    ) -> ToolOutcome:
        """A refusal to the model is part of the conversation; one to a client is its answer.

        `/webhook` answers before the call is settled, so its client has to read
        the refusal as an event too, unless it asks too often.
        """
        outcome = failed(fault)
        told = request.origin == "webhook" and not isinstance(fault, RateLimited)
        if request.origin == "model" or told:
            ordinal = self._ordinal(request, asked)
            before = write.call_entry(asked, asked.tool, ordinal)
            await self._settle(asked, outcome, ordinal, before=before, ran=False)
        return outcome

    async def _perform(
        self,
        request: ToolRequest,
        call: ToolCall,
        arguments: Mapping[str, Any],
        recorded: Callable[[], None],
        forgotten: Flag,
    ) -> ToolOutcome:
        ordinal, tools = self._ordinal(request, call), request.tools or self._tools
        description = clean_line(tools.describe(request.name, arguments))
        progress = Progress(self._journal, self._clock, call, forgotten)
        begun = first = self._clock.monotonic()
        result: str | ToolOutput | VivavoceError | None
        try:
            try:
                permit = self._permit(request, call, arguments, description, ordinal, recorded)
                result = await permit
            except PayloadTooLarge as fault:  # the user has stored what they may
                return await self._refuse(request, call, fault)
            ran = result is None
            if result is None:
                begun = self._clock.monotonic()
                left = self._left(request, begun - first)
                result = await self._attempt(request, arguments, call, progress, left)
        except asyncio.CancelledError:
            outcome = _cancelled(call, self._since(begun))
            if forgotten.is_set() or (request.left_open is not None and request.left_open()):
                raise
            # The start may not have been written yet: the entry goes in once more.
            before = write.call_entry(call, description, ordinal)
            try:  # on the way out, which a failing store must not hold up
                async with asyncio.timeout(QUIET_SECONDS):
                    await self._settle(progress.close(), outcome, ordinal, before=before)
            except Exception:
                log.exception("Cancelled call not recorded", extra=fields(call_id=call.id))
            raise
        duration = self._since(begun) if ran else 0  # a wait for a yes is no work
        if isinstance(result, VivavoceError):
            outcome, output, status = failed(result, duration), "", CallStatus.FAILED
        else:
            outcome = answered(result, duration, write.wire_id(call), self._most())
            output = result if isinstance(result, str) else result.text
            status = CallStatus.COMPLETED if outcome.success else CallStatus.FAILED
            self._pace.took(call.tool, description, duration)
        if forgotten.is_set():  # it did not let itself be ended
            return outcome
        done = await self._settle(progress.close(), outcome, ordinal, status, output, ran=ran)
        if self._gate is not None and request.task_id is not None and ran:
            # What a command that failed has printed was read as well.
            told, said = output or outcome.error or "", bool(outcome.success or output)
            self._gate.noted(done, told, request.task_id, success=said)
        if self._settled is not None:
            self._settled(done)
        if self._changed is not None and outcome.files_changed and request.origin in _BESIDE:
            await self._changed(done, outcome.files_changed, request.role)
        return outcome

    async def _permit(
        self,
        request: ToolRequest,
        call: ToolCall,
        arguments: Mapping[str, Any],
        description: str,
        ordinal: float,
        recorded: Callable[[], None],
    ) -> VivavoceError | None:
        """None: it runs now, and that is told. It is stored before anyone is asked: a yes may take
        a minute, and after a crash in it the call has its end."""
        tools, asked = request.tools or self._tools, False

        async def store(*told: Change) -> None:
            nonlocal asked
            changes = list(told)
            if not (asked or request.again):
                asked_for = write.asked_for(call, description, ordinal)
                changes = [*asked_for, *self._room(call.user_id), *told]
            if changes:
                await self._stored(changes, call, lasting=_waits(request))
            asked = True
            recorded()

        fault: VivavoceError | None = None
        if self._gate is not None:
            admit = partial(
                self._gate.admit,
                call,
                tools.changes(request.name, arguments),
                arguments,
                tools.wants(request.name, arguments),
                request.task_id,
                request.role,
                request.tools or request.beside,
                asking=store,
            )
            fault = await (
                there(self._clock, admit, call_id=call.id) if _waits(request) else admit()
            )
        if fault is not None or (request.again and not asked):
            await store()
        else:
            estimate = self._pace.guess(call.tool, description)
            await store(write.started(call, description, estimate, self._clock.now()))
        return fault

    def _left(self, request: ToolRequest, waited: float) -> float:
        """Seconds for the tool, of what the caller gives the whole. Who waited longer than that
        for a yes knows by now that it waits: the call is not theirs any more."""
        seconds = (request.tools or self._tools).definition(request.name).timeout
        if request.timeout is None or waited >= request.timeout:
            return seconds
        return min(seconds, request.timeout - waited)

    async def _attempt(
        self,
        request: ToolRequest,
        arguments: Mapping[str, Any],
        call: ToolCall,
        progress: Progress,
        seconds: float,
    ) -> str | ToolOutput | VivavoceError:
        """Its output, or what went wrong; raises only when this task is cancelled."""
        context = ToolContext(
            user_id=call.user_id,
            session_id=call.session_id,
            conversation_id=call.conversation_id,
            call_id=request.call_id,
            origin=call.origin,
            report=progress.report,
            display=progress.display,
            ask=nobody
            if self._questions is None
            else partial(self._questions.ask, call, role=request.role),
            task_id=request.task_id,
            role=request.role,
        )
        deadline = asyncio.timeout(seconds)
        asking = ASKING.set(replace(ASKING.get(), role=request.role))  # of what it writes
        try:
            async with deadline:
                return await (request.tools or self._tools).run(request.name, arguments, context)
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return fault_of(exc, call.tool)  # the tool's own, not ours
        except Exception as exc:  # another's code: anything may come
            if deadline.expired() and isinstance(exc, TimeoutError):
                return timed_out(call.tool, seconds)
            if not isinstance(exc, VivavoceError):
                log.error("Tool failed", extra=failure(exc, tool=call.tool, call_id=call.id))
            return fault_of(exc, call.tool)
        finally:
            ASKING.reset(asking)

    async def _settle(
        self,
        call: ToolCall,
        outcome: ToolOutcome,
        ordinal: float,
        status: CallStatus = CallStatus.FAILED,
        output: str = "",
        before: Sequence[Change] = (),
        *,
        ran: bool = True,
    ) -> ToolCall:
        now = self._clock.now()
        done = write.concluded(call, outcome, output, status, now)
        written = write.settled(done, outcome, ordinal, now, ran=ran)
        # What was done nobody can do again to learn how it ended.
        lasting = ran and status is not CallStatus.UNKNOWN
        await self._stored([*before, *written], call, lasting=lasting)
        return done

    async def _stored(self, changes: Sequence[Change], call: ToolCall, *, lasting: bool) -> None:
        """`lasting`: however long that takes."""
        if lasting:
            await kept(self._journal, self._clock, changes, call_id=call.id)
        else:
            await self._journal.commit(changes)

    def _ordinal(self, request: ToolRequest, call: ToolCall) -> float:
        given = request.ordinal
        return write.milliseconds(call.started_at) if given is None else given

    def _since(self, begun: float) -> int:
        return max(0, round((self._clock.monotonic() - begun) * 1000))


def _tell(waiting: asyncio.Future[None] | None, fault: Exception | None = None) -> None:
    if waiting is None or waiting.done():
        return
    if fault is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(fault)


def _waits(request: ToolRequest) -> bool:
    """For a store that is away: a talk or a task waits for that too. A client is told, and asks
    again."""
    return request.origin in ("model", "task")


def _key(call: ToolCall) -> tuple[str, str]:
    return call.user_id, call.id


def _cancelled(call: ToolCall, duration_ms: int) -> ToolOutcome:
    return failed(ToolFailed(f"The call of '{call.tool}' was cancelled"), duration_ms, CANCELLED)


def _forgotten(call: ToolCall) -> ToolOutcome:
    words = f"The call of '{call.tool}' was ended: all that is kept of its user is deleted"
    return failed(ToolFailed(words), 0, CANCELLED)


def _conflict(known: ToolCall, asked: ToolCall) -> ToolOutcome | None:
    """An id that means one call cannot mean another."""
    if (known.tool, known.arguments) == (asked.tool, asked.arguments):
        return None
    return failed(Conflict(f"The call id '{write.wire_id(known)}' belongs to another call"))
