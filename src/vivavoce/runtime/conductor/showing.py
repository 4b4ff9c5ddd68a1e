"""What a runtime shows, as long as it is connected: the document of its conversation.

It is kept in the log and nowhere else: read from there when a runtime connects, and sent whole;
then each event changes it. What happens at once is sent as one change.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import closing

import orjson

from vivavoce.errors import ToolNotFound, Unavailable
from vivavoce.runtime.conductor.line import Line
from vivavoce.runtime.conductor.link import Link
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.journal.streams import Filter
from vivavoce.runtime.ports import Clock, Store
from vivavoce.session.effects import Confirm
from vivavoce.wire.conductor.cards.board import OF_TOOLS, OF_WORK, PROGRESS, Board
from vivavoce.wire.conductor.kinds import AssistantUIPatch
from vivavoce.wire.events import ApprovalRequested, ApprovalResolved, StreamReset
from vivavoce.wire.records.talk import LogEvent

log = logging.getLogger(__name__)

PAUSE = 0.1  # seconds between two changes
AGAIN = 1.0  # seconds until the log is asked again
_SESSIONS = 10  # of the conversation, and of the user: in which what is still shown may have been
_PARTS: Sequence[tuple[Collection[str], int]] = ((OF_WORK, 200), (OF_TOOLS, 100), (PROGRESS, 50))
_QUIET = ("intents", "delegation", "app")
"""Tools that have cards of another type, and those of the runtime itself."""


async def show(
    store: Store, journal: Journal, clock: Clock, link: Link, line: Line, *, whole: bool
) -> None:
    """Until the journal closes. Not `whole`: the runtime has nothing yet, and neither have we.
    Raises `RateLimited` where the user has as many streams as they may."""
    while True:
        try:
            await _Showing(store, journal, clock, link, line).run(whole=whole)
            return
        except Unavailable:
            whole = True
            await clock.sleep(AGAIN)


class _Showing:
    def __init__(
        self, store: Store, journal: Journal, clock: Clock, link: Link, line: Line
    ) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self._link, self._line = link, line
        self._board = Board(link.conversation_id, self._quiet)

    def _quiet(self, tool: str) -> bool:
        tools = self._link.tools
        try:
            return tools is not None and tools.definition(tool).category in _QUIET
        except ToolNotFound:
            return False

    async def run(self, *, whole: bool) -> None:
        types = tuple(kind for part, _ in _PARTS for kind in part)
        only = Filter(user_id=self._link.user_id, types=types, tell=_tell)
        with closing(self._journal.subscribe(only)) as stream:
            # What comes while it is read comes once more, and is known by its position.
            await self._read()
            if not whole:
                self._board.changes()
            self._send()
            while frames := await stream.take():
                for frame in frames:
                    await self._hear(frame)
                if self._send():
                    await self._clock.sleep(PAUSE)

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
            self._board.hear(event.type, event.data, event.position, event.conversation_id)
        self._ask()
        if self._board.unread:
            log.warning("Events of another version are not shown")

    async def _hear(self, frame: bytes) -> None:
        head, _, data = frame.partition(b"\n")
        kind, position, conversation_id = orjson.loads(head)
        if kind == StreamReset.type:
            self._board = Board(self._link.conversation_id, self._quiet)
            await self._read()
            return
        self._board.hear(kind, data, position, conversation_id)
        if kind == ApprovalRequested.type:
            self._ask()
        elif kind == ApprovalResolved.type:
            self._link.confirm(Confirm(orjson.loads(data)["approval_id"], None))

    def _ask(self) -> None:
        """For a yes by hand, once each. A session that is there asks as well, and it is the same
        call; a runtime that only waits has none."""
        for approval_id, question in self._board.waiting.items():
            self._link.confirm(Confirm(approval_id, question))


def _tell(event: LogEvent) -> bytes:
    """For us: its data as it is, behind what else we need of it."""
    return orjson.dumps([event.type, event.position, event.conversation_id]) + b"\n" + event.data
