"""Questions of a running call to the user: asked aloud and shown, answered by words.

They live as long as their call. A task's questions outlive the process and
are `tasks.py`'s; both are answered at one place, `/tasks/{id}/answer` or by voice. An answer may
arrive at another server than the one where the call runs: nothing says which that is, so all
are asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from vivavoce.errors import Conflict, OwnedElsewhere, ToolFailed
from vivavoce.runtime.calls.approvals import Notifier, check_role
from vivavoce.runtime.journal.keeping import kept
from vivavoce.runtime.ports import Clock, Journal
from vivavoce.runtime.relay import Relay
from vivavoce.session.events import News
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.events import TaskQuestion, announce
from vivavoce.wire.records.talk import ToolCall, new_id
from vivavoce.wire.records.work import Role, at_least

PATIENCE = 300.0


class Questions:
    """The open ones of this process, one a call."""

    def __init__(
        self, *, journal: Journal, clock: Clock, notifier: Notifier, relay: Relay | None = None
    ) -> None:
        self._journal, self._clock, self._notifier = journal, clock, notifier
        self._relay = relay
        if relay is not None:
            relay.serve("answer", self._answered_here)
        self._open: dict[tuple[str, str], tuple[str, asyncio.Future[str], News, Role]] = {}

    async def ask(
        self,
        call: ToolCall,
        question: str,
        choices: Sequence[str] = (),
        *,
        role: Role = "operator",
    ) -> str:
        """`role` is of whoever made the call: nobody with a lesser one answers."""
        key = call.user_id, call.id
        if key in self._open:
            raise ToolFailed("One question at a time")
        question, question_id = clean_text(question, 500), f"q_{new_id()}"
        options = [clean_line(choice, 100) for choice in choices[:20]]
        event = TaskQuestion(
            session_id=call.session_id,
            timestamp=self._clock.now(),
            task_id=call.id,
            question_id=question_id,
            question=question,
            choices=options,
        )
        news = News(f"question:{question_id}", _words(call, question, options), say=question)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open[key] = question_id, answer, news, role
        try:
            await kept(self._journal, self._clock, [announce(event, call)], call_id=call.id)
            await self._notifier.tell(news, call, role)
            async with asyncio.timeout(PATIENCE):
                return await answer
        except TimeoutError:
            raise ToolFailed("The user did not answer in time") from None
        finally:
            del self._open[key]

    def open_for(self, user_id: str) -> list[str]:
        """The calls that wait for words, oldest first."""
        return [call_id for owner, call_id in self._open if owner == user_id]

    def open_as(self, call_id: str, user_id: str) -> tuple[str, Role] | None:
        """The question that this call waits for here, and the least role to answer it."""
        found = self._open.get((user_id, call_id))
        return None if found is None else (found[0], found[3])

    def waiting_for(self, user_id: str, role: Role = "operator") -> list[News]:
        """What is to be asked again on a new call of somebody with this role."""
        mine = [held for (owner, _), held in self._open.items() if owner == user_id]
        return [news for _, _, news, needed in mine if at_least(role, needed)]

    def answer(
        self,
        call_id: str,
        user_id: str,
        words: str,
        *,
        question_id: str | None = None,
        role: Role = "operator",
    ) -> None:
        """Raises `Conflict`, or `Forbidden` for a role that is not enough."""
        found = self._open.get((user_id, call_id))
        if found is None or question_id not in (None, found[0]) or found[1].done():
            raise Conflict("Nobody waits for this answer any more.")
        check_role(role, found[3])
        found[1].set_result(clean_text(words, 2000))

    async def answer_elsewhere(
        self,
        call_id: str,
        user_id: str,
        words: str,
        *,
        question_id: str | None = None,
        role: Role = "operator",
    ) -> bool:
        """Is it a call that asks at another server? Raises as `answer` does there, or
        `OwnedElsewhere` where one that might know says nothing."""
        silent: OwnedElsewhere | None = None
        said = {"call": call_id, "words": words, "question": question_id, "role": role}
        relay = self._relay
        for other in () if relay is None else await relay.others():
            assert relay is not None
            try:
                done, _ = await relay.ask("answer", other, user_id, said)
            except OwnedElsewhere as fault:
                silent = fault
            else:
                if done["asked"]:
                    return True
        if silent is not None:
            raise silent
        return False

    async def _answered_here(
        self, user_id: str, said: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        """What arrived at another server."""
        asked = (user_id, said["call"]) in self._open
        if asked:
            how = {"question_id": said["question"], "role": said["role"]}
            self.answer(said["call"], user_id, said["words"], **how)
        return {"asked": asked}, ""


def _words(call: ToolCall, question: str, choices: Sequence[str]) -> str:
    among = f" (choices: {', '.join(choices)})" if choices else ""
    return (
        f"The running tool '{call.tool}' asks the user: {question}{among} They are being asked "
        f'aloud. When they have answered, call answer_task with task_id "{call.id}" and their '
        "words. Do not answer for them."
    )
