"""The tools that run for one session: each call once, each with its one output, also when the
user says stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from vivavoce.errors import VivavoceError
from vivavoce.runtime.calls.outcomes import RunsTools, ToolRequest
from vivavoce.runtime.sessions.records import SessionRecords
from vivavoce.session import effects as fx
from vivavoce.session.events import SessionEvent, ToolFinished

log = logging.getLogger(__name__)

_UNSTORED = '{"success": false, "error": "The call could not be recorded.", "recoverable": true}'
_CANCELLED = (
    '{"success": false, "error": "The user stopped this before it was done.", '
    '"recoverable": true, "suggestion": "Say so in a word, and do not start it again"}'
)


class ToolRuns:
    """`allowed` is what the model was offered; `pictures`, whether it can look at images."""

    def __init__(
        self,
        executor: RunsTools,
        records: SessionRecords,
        post: Callable[[SessionEvent], Awaitable[None]],
        allowed: Callable[[], Collection[str]],
        *,
        pictures: bool,
    ) -> None:
        self._executor, self._records, self._post = executor, records, post
        self._allowed, self._pictures = allowed, pictures
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._stopped: set[str] = set()  # by the user, not by the end of the session

    def start(self, effect: fx.RunTool, group: asyncio.TaskGroup) -> None:
        group.create_task(self._run(effect), name=f"{self._records.session.id} {effect.name}")

    def stop(self, but: str = "") -> int:
        """End those that run; how many there were."""
        running = {call_id: task for call_id, task in self._calls.items() if call_id != but}
        for call_id, task in running.items():
            if call_id not in self._stopped:  # a second time would take its output away
                self._stopped.add(call_id)
                task.cancel()
        return len(running)

    def never_start(self, call_ids: Collection[str]) -> None:
        """Stopped before they began."""
        self._stopped.update(set(call_ids) - self._calls.keys())

    async def _run(self, effect: fx.RunTool) -> None:
        pictures: tuple[str, ...] = ()
        task = asyncio.current_task()
        assert task is not None
        if effect.call_id in self._stopped:  # before it began
            self._stopped.discard(effect.call_id)
            await self._post(ToolFinished(effect.call_id, _CANCELLED))
            return
        self._calls[effect.call_id] = task
        try:
            outcome = await self._executor.run(self._request(effect))
            output = outcome.for_model
            if self._pictures:
                pictures = tuple(f"data:{p.mime_type};base64,{p.data}" for p in outcome.pictures)
        except VivavoceError:
            session_id = self._records.session.id
            log.exception("A call could not be recorded", extra={"session_id": session_id})
            output = _UNSTORED
        except asyncio.CancelledError:
            if effect.call_id not in self._stopped or task.uncancel():
                raise  # the session is over
            output = _CANCELLED
        finally:
            self._calls.pop(effect.call_id, None)
            self._stopped.discard(effect.call_id)
        await self._post(ToolFinished(effect.call_id, output, pictures))

    def _request(self, effect: fx.RunTool) -> ToolRequest:
        who = self._records.session
        return ToolRequest(
            name=effect.name,
            arguments=effect.arguments,
            call_id=effect.call_id,
            user_id=who.user_id,
            session_id=who.id,
            conversation_id=who.conversation_id,
            ordinal=effect.ordinal,
            allowed=self._allowed(),
        )
