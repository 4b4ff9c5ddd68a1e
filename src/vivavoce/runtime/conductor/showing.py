"""What runtimes show, as long as they are connected: each the document of its conversation.

It is kept in the log and nowhere else: read from there when a runtime connects, and sent whole;
then each event changes it. What happens at once is sent as one change. Events are handed out by
conversation: one user may have many runtimes, and each sees its own.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import orjson

from vivavoce.errors import ToolNotFound, Unavailable
from vivavoce.runtime.conductor.line import Line
from vivavoce.runtime.conductor.link import Link
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.waiting import Flag
from vivavoce.session.effects import Confirm
from vivavoce.wire.conductor.cards.board import OF_TOOLS, OF_WORK, PROGRESS, Board
from vivavoce.wire.conductor.kinds import AssistantUIPatch
from vivavoce.wire.events import ApprovalRequested, ApprovalResolved, TaskDue
from vivavoce.wire.records.talk import LogEvent
from vivavoce.wire.records.work import at_least

log = logging.getLogger(__name__)

PAUSE = 0.1  # seconds between two changes
AGAIN = 1.0  # seconds until the log is asked again
MOST_WAITING = 256  # events
_SESSIONS = 10  # of the conversation, and of the user: in which what is still shown may have been
_PARTS: Sequence[tuple[Collection[str], int]] = ((OF_WORK, 200), (OF_TOOLS, 100), (PROGRESS, 50))
_EVERYWHERE = frozenset(k for k in (*OF_WORK, *PROGRESS) if k.startswith(("task.", "approval.")))
"""They may be about what is shown in another conversation than the one that they come in."""
_OF_A_ROLE = _EVERYWHERE - {TaskDue.type}  # that is of the list, which all have
_REMEMBERED = 500
_QUIET = ("intents", "delegation", "app")
"""Tools that have cards of another type, and those of the runtime itself."""


class Screens:
    """Of the runtimes at this server."""

    def __init__(self, store: Store, journal: Journal, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._by_user: dict[str, dict[str, set[Screen]]] = {}
        for kinds, _ in _PARTS:
            for kind in kinds:
                journal.heed(kind, self._heard, self._needed)

    def _needed(self) -> bool:
        return bool(self._by_user)

    def _heard(self, event: LogEvent) -> None:
        if (theirs := self._by_user.get(event.user_id)) is None:
            return
        if event.type in _EVERYWHERE:
            for screens in theirs.values():
                for screen in screens:
                    screen.offer(event)
        elif event.conversation_id is not None:
            for screen in theirs.get(event.conversation_id, ()):
                screen.offer(event)

    @contextmanager
    def _listening(self, screen: Screen, link: Link) -> Iterator[None]:
        user_id, conversation_id = link.user_id, link.conversation_id
        self._by_user.setdefault(user_id, {}).setdefault(conversation_id, set()).add(screen)
        try:
            yield
        finally:
            theirs = self._by_user[user_id]
            theirs[conversation_id].discard(screen)
            if not theirs[conversation_id]:
                del theirs[conversation_id]
            if not theirs:
                del self._by_user[user_id]

    async def show(self, link: Link, line: Line, *, whole: bool) -> None:
        """For ever. Not `whole`: the runtime has nothing yet, and neither have we."""
        screen = Screen(self._store, self._clock, link, line)
        with self._listening(screen, link):
            while True:
                try:
                    await screen.run(whole=whole)
                except Unavailable:
                    await self._clock.sleep(AGAIN)
                whole = True


class Screen:
    """Of one runtime."""

    def __init__(self, store: Store, clock: Clock, link: Link, line: Line) -> None:
        self._store, self._clock = store, clock
        self._link, self._line = link, line
        self._board = Board(link.conversation_id, self._quiet)
        self._events: list[LogEvent] = []
        self._lost = False
        self._roles: OrderedDict[str, bool] = OrderedDict()
        """Of approvals and tasks: is what they are about for the link's role?"""
        self._changed = Flag()

    def _quiet(self, tool: str) -> bool:
        tools = self._link.tools
        try:
            return tools is not None and tools.definition(tool).category in _QUIET
        except ToolNotFound:
            return False

    def offer(self, event: LogEvent) -> None:
        """Never waits: of what is too much at once, the log has the end."""
        if len(self._events) >= MOST_WAITING:
            self._events.clear()
            self._lost = True
        if not self._lost:
            self._events.append(event)
        self._changed.set()

    async def run(self, *, whole: bool) -> None:
        """Until it could not keep up."""
        self._board = Board(self._link.conversation_id, self._quiet)
        self._lost = False
        if not whole:
            self._board.changes()  # of nothing
        # What comes while it is read comes once more, and is known by its position.
        await self._read()
        self._send()
        while not self._lost:
            while self._events:
                await self._hear(self._events.pop(0))
            if self._send():
                await self._clock.sleep(PAUSE)
            elif not self._lost:
                self._changed.clear()
                await self._changed.wait()

    def _send(self) -> bool:
        if not (operations := self._board.changes()):
            return False
        told = operations[0] if len(operations) == 1 else operations
        self._line.push(AssistantUIPatch(patch=orjson.dumps(told).decode()))
        return True

    async def _read(self) -> None:
        user_id = self._link.user_id
        ours = await self._store.sessions_of(self._link.conversation_id, user_id=user_id)
        last = await self._store.sessions(user_id=user_id, limit=_SESSIONS)
        sessions = {one.id for one in ours[:_SESSIONS]} | {one.session.id for one in last}
        found: list[LogEvent] = []
        for kinds, limit in _PARTS:
            found += await self._store.last_events(
                tuple(kinds), session_ids=tuple(sessions), user_id=user_id, limit=limit
            )
        for event in sorted(found, key=lambda event: event.position):
            if not await self._may_see(event):
                continue
            self._board.hear(event.type, event.data, event.position, event.conversation_id)
        self._ask()
        if self._board.unread:
            log.warning("Events of another version are not shown")

    async def _may_see(self, event: LogEvent) -> bool:
        """What is asked or done with a higher role is not shown to a token of a lesser one, though
        both are one user."""
        if event.type not in _OF_A_ROLE or self._link.role == "operator":
            return True
        told = orjson.loads(event.data)
        approval = event.type.startswith("approval.")
        named = str(told.get("approval_id" if approval else "task_id"))
        if (known := self._roles.get(named)) is not None:
            return known
        of = {"user_id": self._link.user_id}
        found = await (self._store.approval if approval else self._store.task)(named, **of)
        may = found is not None and at_least(self._link.role, found.role)
        self._roles[named] = may
        while len(self._roles) > _REMEMBERED:
            self._roles.popitem(last=False)
        return may

    async def _hear(self, event: LogEvent) -> None:
        if not await self._may_see(event):
            return
        self._board.hear(event.type, event.data, event.position, event.conversation_id)
        if event.type == ApprovalRequested.type:
            self._ask()
        elif event.type == ApprovalResolved.type:
            approval_id = orjson.loads(event.data)["approval_id"]
            self._link.confirm(Confirm(approval_id, None))

    def _ask(self) -> None:
        """For a yes by hand, once each. A session that is there asks as well, and it is the same
        call; a runtime that only waits has none."""
        for approval_id, question in self._board.waiting.items():
            self._link.confirm(Confirm(approval_id, question))
