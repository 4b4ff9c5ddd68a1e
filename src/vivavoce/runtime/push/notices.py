"""What a notice says, made from what is stored at the moment it is sent. No I/O but reading.

A reminder, a question, a request for a yes or the end of some work becomes a `Notice`, or nothing
where it is over, was told otherwise, or takes a higher role than the browser's to answer.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Literal

from vivavoce.errors import NotFound
from vivavoce.language.en import notices as words
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.people import due
from vivavoce.runtime.people.due import zone_or
from vivavoce.runtime.ports import Store
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.records.reach import PushMessage
from vivavoce.wire.records.talk import iso
from vivavoce.wire.records.work import ApprovalStatus, Role, TaskStatus, at_least
from vivavoce.wire.values import Value

Kind = Literal["reminder", "question", "approval", "task"]
VERSION = 1
ANSWER = "answer-"
_TITLE, _BODY = 120, 400  # characters: some systems show less, and none shows more
_BUTTONS = 2  # as many as browsers show


class Notice(Value):
    """`actions`: what its buttons do, and what is on them. `expires_at`: then it is no use."""

    kind: Kind
    title: str
    body: str
    about: str
    at: datetime
    expires_at: datetime
    url: str
    actions: tuple[tuple[str, str], ...] = ()
    urgent: bool = True
    ids: tuple[tuple[str, str], ...] = ()

    def payload(self, message_id: str, key: str) -> dict[str, Any]:
        """As the page's service worker gets it (`docs/push.md`)."""
        return {
            "v": VERSION,
            "id": message_id,
            "kind": self.kind,
            "tag": self.about,
            "title": self.title,
            "body": self.body,
            "at": iso(self.at),
            "url": self.url,
            **dict(self.ids),
            "actions": [{"action": name, "title": title} for name, title in self.actions],
            "key": key,
            "expires_at": iso(self.expires_at),
        }


class Notices:
    """`of`: what there is to tell now of what a message is about."""

    def __init__(self, store: Store, work: Tasks, questions: Questions, *, time_zone: str) -> None:
        self._store, self._work, self._questions = store, work, questions
        self._time_zone = time_zone

    async def of(self, message: PushMessage, role: Role, now: datetime) -> Notice | None:
        kind, _, name = message.about.partition(":")
        match kind:
            case "due":
                return await self._reminder(message, name, now)
            case "approval":
                return await self._approval(message, name, role, now)
            case "question":
                return await self._question(message, name, role)
            case "task":
                return await self._ended(message, name, role)
            case _:
                return None

    async def zone(self, user_id: str) -> str:
        person = await self._store.person(user_id)
        return zone_or(person.time_zone if person else None, self._time_zone)

    async def _reminder(self, message: PushMessage, name: str, now: datetime) -> Notice | None:
        found = await self._store.reminders_named([name])
        # One that was told into a text that nobody had open is not told yet.
        told = ("waiting", "told") if message.data.get("alone") else ("waiting",)
        if not found or found[0].status not in told or found[0].user_id != message.user_id:
            return None
        reminder = found[0]
        todo = await self._store.todo(reminder.task_id, user_id=message.user_id)
        if todo is None or not await asyncio.to_thread(
            due.still_due, todo, reminder.due_at, self._time_zone
        ):
            return None
        zone, late = await self.zone(message.user_id), now - reminder.due_at > due.LATE
        return Notice(
            kind="reminder",
            title=clean_line(todo.title, _TITLE) or words.SOMETHING,
            body=words.was_due(reminder.due_at, now=now, time_zone=zone, late=late),
            about=message.about,
            at=reminder.due_at,
            expires_at=message.expires_at,
            url=f"/?task_id={todo.id}",
            actions=(("done", words.DONE), ("snooze", words.LATER)),
            ids=(("task_id", todo.id), ("reminder_id", reminder.id)),
        )

    async def _approval(
        self, message: PushMessage, name: str, role: Role, now: datetime
    ) -> Notice | None:
        asked = await self._store.approval(name, user_id=message.user_id)
        if asked is None or asked.status is not ApprovalStatus.PENDING:
            return None
        if asked.expires_at <= now or not at_least(role, asked.role):
            return None
        by = f"{clean_line(asked.asked_by, _TITLE)}: " if asked.asked_by else ""
        return Notice(
            kind="approval",
            title=words.WANTS_A_YES,
            body=clean_text(by + asked.question, _BODY),
            about=message.about,
            at=asked.requested_at,
            expires_at=min(asked.expires_at, message.expires_at),
            url=f"/?approval_id={asked.id}",
            actions=(("yes", words.YES), ("no", words.NO)),
            ids=_ids(approval_id=asked.id, conversation_id=asked.conversation_id),
        )

    async def _question(self, message: PushMessage, name: str, role: Role) -> Notice | None:
        task_id = str(message.data.get("task_id", ""))
        asked_here = self._questions.open_as(task_id, message.user_id)
        title, conversation_id = "", None
        if asked_here is not None:  # a tool that runs asks it
            open_id, needed = asked_here
        else:
            try:
                task = await self._work.get(task_id, message.user_id)
            except NotFound:
                return None  # over, or at another server, which tells it
            title, conversation_id = clean_line(task.title, _TITLE), task.conversation_id
            open_id, needed = task.question.id if task.question else "", task.role
        if open_id != name or not at_least(role, needed):
            return None
        choices = [clean_line(str(one), 40) for one in message.data.get("choices", ())]
        answers = enumerate(choices if len(choices) <= _BUTTONS else ())
        return Notice(
            kind="question",
            title=words.asks(title),
            body=clean_text(str(message.data.get("question", "")), _BODY),
            about=message.about,
            at=message.created_at,
            expires_at=message.expires_at,
            url=f"/?work_id={task_id}",
            actions=tuple((f"{ANSWER}{n}", choice) for n, choice in answers),
            ids=_ids(work_id=task_id, question_id=name, conversation_id=conversation_id),
        )

    async def _ended(self, message: PushMessage, name: str, role: Role) -> Notice | None:
        try:
            task = await self._work.get(name, message.user_id)
        except NotFound:
            return None
        told = task.told_at is not None and not message.data.get("alone")
        if not task.status.over or told or not at_least(role, task.role):
            return None
        failed = task.status is not TaskStatus.COMPLETED
        said = task.error if failed else task.result
        return Notice(
            kind="task",
            title=words.ended(clean_line(task.title, _TITLE), failed=failed),
            body=clean_text(said or "", _BODY),
            about=message.about,
            at=task.finished_at or task.updated_at,
            expires_at=message.expires_at,
            url=f"/?work_id={task.id}",
            urgent=False,
            ids=_ids(work_id=task.id, conversation_id=task.conversation_id),
        )


def lasts(kind: str) -> timedelta:
    """How long a notice of this kind is of use, at most."""
    return timedelta(minutes=5) if kind == "approval" else timedelta(hours=12)


def _ids(**named: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in named.items() if value)
