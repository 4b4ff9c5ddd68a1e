"""Between live sessions and the work beyond them: news goes to the one session in which the user
should hear it, and what the user says to it goes back. That session may be at another server."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from vivavoce.errors import VivavoceError
from vivavoce.language.en.telling import still_running
from vivavoce.logs import fields
from vivavoce.runtime.calls.approvals import Approvals, Concern
from vivavoce.runtime.calls.outside import tells
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.people.reminders import Reminders
from vivavoce.runtime.ports import Store
from vivavoce.runtime.relay import Relay
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.runtime.tasks.ports import Place
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.session import effects as fx
from vivavoce.session.events import (
    ApprovalAsked,
    ApprovalSettled,
    News,
    NewsOver,
    SessionEvent,
    TaskFinished,
    TaskStarted,
    Update,
)
from vivavoce.session.state import Phase
from vivavoce.wire.records.talk import Status, ToolCall, VoiceSession
from vivavoce.wire.records.work import Role, at_least
from vivavoce.wire.values import Record

_NAME = re.compile(r"[\w.@+/-]{1,160}")
_MOST_FILES = 10

_ALOUD = {kind.__name__: kind for kind in (News, ApprovalAsked)}
_QUIET = {kind.__name__: kind for kind in (ApprovalSettled, TaskFinished)}
"""What the sessions of other servers hear of, too."""

log = logging.getLogger(__name__)

Json = dict[str, Any]


Home = tuple[str, int]
"""A server, and its epoch."""


class About(Record):
    """What news of another server is about."""

    user_id: str
    conversation_id: str | None
    session_id: str | None


class SessionNotifier:
    """Fills `Notifier` for those who have news, and `live.Answers` for the sessions.

    News goes to where the user is: the session in which they said something last; where they
    said nothing, the one it came from, else one of its conversation, else any. A session whose
    sideband is down for a moment keeps it until that is back. A fault here costs a message,
    never the session.

    Where the user has sessions at other servers those are asked how near they are, and the
    nearest of all tells it.
    """

    def __init__(self, registry: Registry, store: Store, relay: Relay) -> None:
        self._registry, self._store, self._relay = registry, store, relay
        relay.serve("near", self._near_here)
        relay.serve("news", self._told_here)

    def serve(
        self, tasks: Tasks, approvals: Approvals, questions: Questions, reminders: Reminders
    ) -> None:
        """Who has news, and takes the user's answers to it: before the first session."""
        self._tasks, self._approvals, self._questions = tasks, approvals, questions
        self._reminders = reminders

    async def tell(self, event: SessionEvent, about: Concern, role: Role = "user") -> bool:
        """Was there anyone? What nobody hears waits in the store for the next call."""
        kind = type(event).__name__
        if kind == ApprovalAsked.__name__ and (there := self._at_its_client(about, role)):
            await there.post(event)
            return True
        others = await self._others(about.user_id) if kind in (_ALOUD | _QUIET) else []
        homes = list(dict.fromkeys(home for _, home in others))
        nearest = None
        if kind in _ALOUD and homes:
            nearest = await self._nearest(homes, about, role)
            if nearest is not None:
                nearest = await self._pass_on(event, about, role, nearest)
        heard = await self._tell_here(event, about, role, aloud=nearest is None)
        quietly = _ended(event)
        for home in homes:
            if quietly is not None and home != nearest:
                with suppress(VivavoceError):  # it waits a little longer for what is over
                    given = _given(quietly, about, role)
                    await self._relay.tell("news", home, about.user_id, given)
        return heard or nearest is not None

    async def _tell_here(
        self, event: SessionEvent, about: Concern, role: Role, *, aloud: bool
    ) -> bool:
        """Not `aloud`, the sessions here only learn what is over."""
        mine = self._going_on(about.user_id)
        nearest = self._nearest_here(about, role) if aloud else None
        quietly = _ended(event)
        for live in mine:
            if live is nearest:
                await live.post(event)
            elif quietly is not None:
                await live.post(quietly)
        return nearest is not None

    def _at_its_client(self, about: Concern, role: Role) -> LiveSession | None:
        """The session that something came from, where a client is beside it: what that is about to
        do is asked there, and not in another talk of the user's, who may have many clients."""
        for live in self._going_on(about.user_id):
            beside = live.companion
            if (
                live.records.session.id == about.session_id
                and beside is not None
                and not beside.away
                and live.vitals.sideband_up
                and at_least(_role(live), role)
            ):
                return live
        return None

    def _nearest_here(self, about: Concern, role: Role) -> LiveSession | None:
        able = [one for one in self._going_on(about.user_id) if at_least(_role(one), role)]
        return max(able, key=lambda live: _nearness(live, about), default=None)

    # --- At other servers ---------------------------------------------------------------

    async def _others(self, user_id: str) -> list[tuple[VoiceSession, Home]]:
        """The user's sessions at other servers that are there, the newest first."""
        found: list[tuple[VoiceSession, Home]] = []
        try:
            for seen in await self._store.sessions(user_id=user_id, status=Status.ACTIVE):
                owner, epoch = seen.session.owner, seen.session.epoch
                here = self._registry.get(seen.session.id) is not None
                if not here and owner and epoch and await self._relay.held(owner, epoch):
                    found.append((seen.session, (owner, epoch)))
        except VivavoceError:
            log.exception("Where else the user is could not be read")
        return found

    async def _nearest(self, homes: Sequence[Home], about: Concern, role: Role) -> Home | None:
        """Where another server's session is nearer than all here."""
        mine = self._nearest_here(about, role)
        best = None if mine is None else list(_nearness(mine, about))
        found = None
        for home in homes:
            try:
                given = _given(None, about, role)
                told, _ = await self._relay.ask("near", home, about.user_id, given)
            except VivavoceError:
                continue  # it does not answer: somebody else is nearer
            if told["near"] is not None and (best is None or told["near"] > best):
                best, found = told["near"], home
        return found

    async def _pass_on(
        self, event: SessionEvent, about: Concern, role: Role, home: Home
    ) -> Home | None:
        """None where they did not hear it there after all."""
        try:
            given = _given(event, about, role)
            told, _ = await self._relay.ask("news", home, about.user_id, given)
        except VivavoceError:
            return None
        return home if told["heard"] else None

    async def _near_here(self, user_id: str, given: Json, plain: str) -> tuple[Json, str]:
        about = About(**given["about"])
        live = self._nearest_here(about, given["role"])
        return {"near": None if live is None else _nearness(live, about)}, ""

    async def _told_here(self, user_id: str, given: Json, plain: str) -> tuple[Json, str]:
        event = (_ALOUD | _QUIET)[given["kind"]](**given["event"])
        about = About(**given["about"])
        heard = await self._tell_here(event, about, given["role"], aloud=given["kind"] in _ALOUD)
        return {"heard": heard}, ""

    async def where(self, about: Concern) -> Place | None:
        """The session in which its user is now, where that is not the one it came from: what
        happens to their work is seen there."""
        if about.session_id is None:
            return None
        mine = self._going_on(about.user_id)
        if mine:
            session = max(mine, key=lambda live: _nearness(live, about)).records.session
        else:
            others = [session for session, _ in await self._others(about.user_id)]
            if not others or about.session_id in {one.id for one in others}:
                return None
            session = others[0]
        if session.id == about.session_id:
            return None
        return Place(session_id=session.id, conversation_id=session.conversation_id)

    async def changed(self, call: ToolCall, files: Sequence[str], role: Role) -> None:
        """Files were changed by delegated work or by a client: whoever talks about them learns of
        it, at once where they have read one of them. A name is told only if it is plainly one, and
        nobody puts anything into a talk that has a higher role."""
        plain = (name for name in files if _NAME.fullmatch(name) and not tells(name))
        names = list(plain)[:_MOST_FILES]
        more = len(files) - len(names)
        told = ", ".join([*names, *([f"{more} more"] if more else [])])
        who = "delegated work" if call.origin == "task" else "the user, by hand"
        words = f"For information: files of the workspace were changed meanwhile by {who}: {told}."
        for live in self._going_on(call.user_id):
            if at_least(role, _role(live)):
                await live.post(Update(f"files:{call.origin}:{told}", words, tuple(files)))

    async def resolve(self, user_id: str, effect: fx.Resolve, role: Role) -> None:
        """The user's spoken yes or no, in a session of this role. One that comes too late changes
        nothing."""
        try:
            await self._approvals.resolve(
                effect.approval_id,
                user_id,
                granted=effect.granted,
                by="voice",
                words=effect.words,
                reach=effect.reach,
                role=role,
            )
        except VivavoceError as fault:
            log.info("An answer did not count", extra=fields(reason=fault.message))

    async def told(self, user_id: str, key: str) -> None:
        """The user heard that piece of news."""
        try:
            await self._tasks.told(key, user_id)
            await self._reminders.told(key, user_id)
        except VivavoceError:
            # It may be told once more: better than never.
            log.exception("Could not note that news was told")

    async def waiting(self, live: LiveSession) -> Sequence[News]:
        """What nobody heard yet. What comes after this was read finds the session by itself."""
        user_id = live.records.session.user_id
        try:
            done = await self._tasks.waiting_for(user_id, _role(live))
            due = await self._reminders.waiting_for(user_id, self._on_its_way(user_id))
            return [*done, *due]
        except VivavoceError:
            log.exception("What waits for the user could not be read")
            return ()

    async def running(self, live: LiveSession) -> str:
        """Which work of this conversation goes on, to be said to who comes back."""
        session = live.records.session
        try:
            tasks = await self._tasks.list(session.user_id, open_only=True)
        except VivavoceError:
            log.exception("What goes on for the user could not be read")
            return ""
        return still_running(
            [
                (task.title, task.percentage)
                for task in tasks
                if task.conversation_id == session.conversation_id
                and task.question is None  # that is put to them in any case
                and at_least(_role(live), task.role)
            ]
        )

    async def welcome(self, live: LiveSession, waiting: Sequence[News] | None = None) -> None:
        """Everything that waits for this user, into their new call."""
        session, user_id = live.records.session, live.records.session.user_id
        news = await self.waiting(live) if waiting is None else waiting
        elsewhere = self._told_elsewhere(live, user_id)
        for one in news:
            if one.key not in elsewhere:
                await live.post(one)
        try:
            # Read only now: one that ended meanwhile must not be taken for one that goes on.
            for task in await self._tasks.list(user_id, open_only=True):
                if task.conversation_id == session.conversation_id:
                    await live.post(TaskStarted(task.id))
        except VivavoceError:
            log.exception("What goes on for the user could not be read")
        for question in self._questions.waiting_for(user_id, _role(live)):
            await live.post(question)
        try:
            for approval in await self._approvals.waiting(user_id, _role(live)):
                if self._at_its_client(approval, approval.role) not in (None, live):
                    continue
                await live.post(ApprovalAsked(approval.id, approval.question))
        except VivavoceError:
            log.exception("What waits for the user's yes could not be read")

    def in_call_here(self, user_id: str) -> bool:
        """Can this user be told something aloud?"""
        return any(
            bool(one.records.session.voice) and one.vitals.sideband_up
            for one in self._going_on(user_id)
        )

    async def in_call(self, user_id: str) -> bool:
        """Here, or at another server that is there."""
        if self.in_call_here(user_id):
            return True
        return any(session.voice for session, _ in await self._others(user_id))

    def there(self) -> Sequence[str]:
        """The users who have a session that can tell them something now."""
        live = (one for one in self._registry.everyone() if one.vitals.sideband_up)
        return list({one.records.session.user_id: None for one in live})

    async def remind(self, user_id: str) -> None:
        """What is due and waits, into the session in which they are: in a call before a written
        one, and where they said something last."""
        here = [one for one in self._going_on(user_id) if one.vitals.sideband_up]
        if not here:
            return
        on_its_way = self._on_its_way(user_id)
        found = await self._reminders.waiting_for(user_id, on_its_way)
        for key in await self._reminders.dropped(on_its_way):
            for live in here:
                await live.post(NewsOver(key))
        for news in found:
            nearest = max(
                here,
                key=lambda one: (bool(one.records.session.voice), one.vitals.user_heard),
            )
            await nearest.post(news)

    def _on_its_way(self, user_id: str) -> set[str]:
        """The keys of what their sessions here are about to say, or have said."""
        near = [one for one in self._going_on(user_id) if one.vitals.sideband_up]
        return {key for one in near for key in one.machine.state.work.news}

    def _told_elsewhere(self, live: LiveSession, user_id: str) -> set[str]:
        """What another session of theirs is about to say: it is told once, and not in two."""
        others = self._going_on(user_id)
        near = [one for one in others if one is not live and one.vitals.sideband_up]
        return {key for one in near for key in one.machine.state.work.news}

    def _going_on(self, user_id: str) -> list[LiveSession]:
        """Without those that ended and are being put away: they say nothing any more."""
        every = self._registry.of_user(user_id)
        return [live for live in every if live.phase is not Phase.TERMINATED]


def _nearness(live: LiveSession, about: Concern) -> tuple[bool, float, bool, bool]:
    session = live.records.session
    same = session.conversation_id == about.conversation_id
    up, heard = live.vitals.sideband_up, live.vitals.user_heard
    return up, heard, session.id == about.session_id, same


def _given(event: SessionEvent | None, about: Concern, role: Role) -> Json:
    whose = About(
        user_id=about.user_id,
        conversation_id=about.conversation_id,
        session_id=about.session_id,
    )
    told = {} if event is None else {"kind": type(event).__name__, "event": asdict(event)}
    return {"about": asdict(whose), "role": role, **told}


def _role(live: LiveSession) -> Role:
    return live.records.session.role


def _ended(event: SessionEvent) -> SessionEvent | None:
    """What the user's other sessions need to know of it: that they need not wait any more."""
    match event:
        case ApprovalSettled():
            return event
        case News(settles=str(task_id)) | TaskFinished(task_id=task_id):
            return TaskFinished(task_id)
        case _:
            return None
