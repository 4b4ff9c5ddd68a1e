"""What lies between a live session and the work beyond it: news in, answers out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from vivavoce.errors import VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.calls.approvals import Approvals
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.session import effects as fx
from vivavoce.session.events import ApprovalAsked, TaskStarted

log = logging.getLogger(__name__)


class WorkOffice:
    """Fills `live.Office`. A fault here costs a message, never the session."""

    def __init__(
        self,
        tasks: Tasks,
        approvals: Approvals,
        questions: Questions | None = None,
        others: Callable[[str], Sequence[LiveSession]] = lambda user_id: (),
    ) -> None:
        """`others`: the live sessions of a user."""
        self._tasks, self._approvals, self._questions = tasks, approvals, questions
        self._others = others

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

    def _told_elsewhere(self, live: LiveSession, user_id: str) -> set[str]:
        """What another session of theirs is about to say: it is told once, and not in two rooms."""
        others = [one for one in self._others(user_id) if one is not live and one.vitals.line_up]
        return {key for one in others for key in one.machine.state.work.news}

    async def welcome(self, live: LiveSession) -> None:
        """Everything that waits for this user, into their new call."""
        user_id = live.books.session.user_id
        try:
            for task in await self._tasks.list(user_id, open_only=True):
                if task.conversation_id == live.books.session.conversation_id:
                    await live.post(TaskStarted(task.id))
            elsewhere = self._told_elsewhere(live, user_id)
            for news in await self._tasks.waiting_for(user_id):
                if news.key not in elsewhere:
                    await live.post(news)
        except VivavoceError:
            log.exception("What waits for the user could not be read")
        for question in self._questions.waiting_for(user_id) if self._questions else ():
            await live.post(question)
        for approval in self._approvals.pending(user_id):
            await live.post(ApprovalAsked(approval.id, approval.question))
