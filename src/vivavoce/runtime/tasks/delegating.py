"""Delegation as the model meets it: in words, about the user's own tasks and calls."""

from __future__ import annotations

from collections.abc import Callable

from vivavoce.errors import Conflict, NotFound
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.ports import Store, ToolContext
from vivavoce.runtime.tasks import records as words
from vivavoce.runtime.tasks.service import Order, Tasks
from vivavoce.wire.records.work import Task

SAID = 6  # entries of the conversation that go along with the work
LISTED = 8


class Delegating:
    """Fills what `tools.tasks` asks for."""

    def __init__(
        self,
        tasks: Tasks,
        questions: Questions,
        store: Store,
        stop_calls: Callable[[str | None, str], int],
    ) -> None:
        self._tasks, self._questions, self._store = tasks, questions, store
        self._stop_calls = stop_calls

    async def delegate(self, context: ToolContext, instruction: str, agent: str) -> str:
        task = await self._tasks.start(
            Order(
                user_id=context.user_id,
                description=instruction,
                agent=agent,
                context=await self._said(context),
                session_id=context.session_id,
                conversation_id=context.conversation_id,
                call_id=context.call_id or None,
            )
        )
        return (
            f"Task started: {task.id} with agent '{task.agent}'. It goes on in the background; "
            "the result comes by itself. Tell the user in a few words that it is under way."
        )

    async def standing(self, context: ToolContext) -> str:
        found = await self._tasks.list(context.user_id, limit=LISTED)
        return "\n".join(map(words.standing, found)) or "There are no tasks."

    async def stop(self, context: ToolContext, task_id: str) -> str:
        if not task_id:
            stopped = self._stop_calls(context.session_id, context.call_id)
            if stopped:
                return "Stopped the tool that was running."
            running = await self._tasks.list(context.user_id, open_only=True, limit=1)
            if not running:
                return "Nothing is running."
            task_id = running[0].id
        task = await self._tasks.cancel(task_id, context.user_id)
        return f'Cancelled "{task.title}".' if task.status == "cancelled" else words.standing(task)

    async def answer(self, context: ToolContext, answer: str, task_id: str) -> str:
        waiting = self._questions.open_for(context.user_id)
        if task_id in waiting or (not task_id and waiting):
            self._questions.answer(task_id or waiting[0], context.user_id, answer)
            return "Passed on. The work goes on."
        task = await self._asking(context.user_id, task_id)
        await self._tasks.answer(task.id, context.user_id, answer)
        return f'Passed on to "{task.title}". The work goes on.'

    async def _asking(self, user_id: str, task_id: str) -> Task:
        """A small model may get the id wrong; where only one asks, that is the one."""
        if task_id:
            try:
                return await self._tasks.get(task_id, user_id)
            except NotFound:
                pass
        found = await self._tasks.list(user_id, open_only=True)
        asking = [task for task in found if task.question is not None]
        if not asking:
            raise Conflict("No task waits for an answer.")
        if len(asking) > 1:
            which = ", ".join(f'{task.id} ("{task.title}")' for task in asking)
            raise Conflict(f"Several tasks wait for an answer. Say which: {which}")
        return asking[0]

    async def _said(self, context: ToolContext) -> str:
        """What was said last, so that "it" means something to whoever does the work."""
        if context.conversation_id is None:
            return ""
        said, _ = await self._store.messages_before(
            context.conversation_id, user_id=context.user_id, limit=2 * SAID, said_only=True
        )
        spoken = [entry for entry in said if entry.text.strip()]
        return "\n".join(f"{entry.kind}: {entry.text[:300]}" for entry in spoken[-SAID:])
