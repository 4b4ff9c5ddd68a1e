"""One run of one tool: its deadline, its progress, and what came of it.

Whatever a tool does ends here as text or as a fault. Whether it may run, and
what is recorded before and after, is `desk.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from vivavoce.errors import VivavoceError
from vivavoce.logs import failure
from vivavoce.runtime.calls.outcomes import ToolRequest, fault_of, timed_out
from vivavoce.runtime.calls.records import progressed
from vivavoce.runtime.ports import (
    Approving,
    Asking,
    Clock,
    Report,
    Toolbox,
    ToolContext,
    ToolOutput,
    no_approval,
    nobody,
)
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import Change, LogEvent, ToolCall

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 1.0  # durable progress, at most this often a call


class Journal(Protocol):
    """Where calls are written: durable first, announced after."""

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]: ...


async def attempt(
    tools: Toolbox,
    request: ToolRequest,
    arguments: Mapping[str, Any],
    call: ToolCall,
    report: Report,
    ask: Asking = nobody,
    approve: Approving = no_approval,
) -> str | ToolOutput | VivavoceError:
    """Its output, or what went wrong; raises only when this task is cancelled."""
    seconds = tools.definition(request.name).timeout
    if request.timeout is not None:
        seconds = min(seconds, request.timeout)
    context = ToolContext(
        user_id=call.user_id,
        session_id=call.session_id,
        conversation_id=call.conversation_id,
        call_id=request.call_id,
        origin=call.origin,
        report=report,
        ask=ask,
        approve=approve,
        task_id=request.task_id,
    )
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return await tools.run(request.name, arguments, context)
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return fault_of(exc, call.tool)  # the tool's own, not ours
    except Exception as exc:  # another's code: anything may come
        if deadline.expired() and isinstance(exc, TimeoutError):
            return timed_out(call.tool, seconds)
        _note(exc, call)
        return fault_of(exc, call.tool)


class Progress:
    """Durable progress of one call, at most once a second; what comes between is dropped."""

    def __init__(self, journal: Journal, clock: Clock, call: ToolCall) -> None:
        self._journal = journal
        self._clock = clock
        self._call = call
        self._last: float | None = None
        self._open = True

    async def report(self, message: str, percentage: int | None = None) -> None:
        now = self._clock.monotonic()
        early = self._last is not None and now - self._last < PROGRESS_SECONDS
        # A report after the end would put a settled call back to started.
        if early or not self._open:
            return
        self._last = now
        self._call = replace(self._call, progress=clean_line(message))
        share = None if percentage is None else min(100, max(0, percentage))
        await self._journal.commit(progressed(self._call, share, self._clock.now()))

    def close(self) -> ToolCall:
        """No more of it; the call as it stands."""
        self._open = False
        return self._call


def _note(exc: Exception, call: ToolCall) -> None:
    if not isinstance(exc, VivavoceError):
        log.error("Tool failed", extra=failure(exc, tool=call.tool, call_id=call.id))
