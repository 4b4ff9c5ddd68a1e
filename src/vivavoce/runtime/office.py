"""What lies between a live session and the work beyond it: news in, answers out."""

from __future__ import annotations

import logging

from vivavoce.errors import VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.approvals import Approvals
from vivavoce.runtime.live import LiveSession
from vivavoce.runtime.questions import Questions
from vivavoce.runtime.tasks import Tasks
from vivavoce.session import effects as fx
from vivavoce.session.events import ApprovalAsked, TaskStarted

log = logging.getLogger(__name__)


class WorkOffice:
    """Fills `live.Office`. A fault here costs a message, never the session."""

    def __init__(
        self, tasks: Tasks, approvals: Approvals, questions: Questions | None = None
    ) -> None:
        self._tasks, self._approvals, self._questions = tasks, approvals, questions

    async def resolve(self, user_id: str, effect: fx.Resolve) -> None:
        """The user's spoken yes or no. One that comes too late changes nothing."""
        try:
            await self._approvals.resolve(
                effect.approval_id, user_id, granted=effect.granted, by="voice", words=effect.words
            )
        except VivavoceError as fault:
            log.info("An answer came too late", extra=fields(reason=fault.message))

    async def told(self, user_id: str, key: str) -> None:
        try:
            await self._tasks.told(key, user_id)
        except VivavoceError:
            # It may be told once more: better than never.
            log.exception("Could not note that news was told")

    async def welcome(self, live: LiveSession) -> None:
        """Everything that waits for this user, into their new call."""
        user_id = live.books.session.user_id
        try:
            for task in await self._tasks.list(user_id, open_only=True):
                if task.conversation_id == live.books.session.conversation_id:
                    await live.post(TaskStarted(task.id))
            for news in await self._tasks.waiting_for(user_id):
                await live.post(news)
        except VivavoceError:
            log.exception("What waits for the user could not be read")
        for question in self._questions.waiting_for(user_id) if self._questions else ():
            await live.post(question)
        for approval in self._approvals.pending(user_id):
            await live.post(ApprovalAsked(approval.id, approval.question))
