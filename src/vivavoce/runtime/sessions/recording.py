"""What a session goes through, kept in parts, so that it can be played again.

A part is written with what the session stores anyway, and only where nothing is being said:
a secret that comes in pieces is whole then, and can be cut out. It never holds the session up:
what does not fit is not recorded, and the recording says so.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from datetime import date, datetime

from vivavoce.session.effects import Effect
from vivavoce.session.events import SessionEvent
from vivavoce.session.machine import Machine
from vivavoce.session.replay import Steps, beginning
from vivavoce.wire.records.talk import Change, Put, Recording

log = logging.getLogger(__name__)

ENOUGH = 200  # steps that make a part of their own, where nothing is stored otherwise
MOST_STEPS = 5_000  # that may wait while something is being said
MOST = 60_000  # of one session
MOST_BYTES = 16_000_000  # likewise
OF_USER = 64_000_000  # bytes of one user in a day, at this server
_USERS = 10_000


class Room:
    """How much of the disk recordings take: nobody asked for them, and no limit of what a user has
    stored counts them."""

    def __init__(self) -> None:
        self._taken: OrderedDict[str, tuple[date, int]] = OrderedDict()

    def take(self, user_id: str, size: int, today: date) -> bool:
        day, taken = self._taken.pop(user_id, (today, 0))
        taken = taken + size if day == today else size
        self._taken[user_id] = today, taken
        if len(self._taken) > _USERS:
            self._taken.popitem(last=False)
        return taken <= OF_USER


class Recorder:
    """Of one session; made with its machine, before that is told anything."""

    def __init__(self, machine: Machine, room: Room | None = None) -> None:
        state = machine.state
        self._room, self._bytes = room or Room(), 0
        self._who = state.identity
        # With the first part.
        self._began = [beginning(state.identity, state.policy, state.setup, state.clock.started_at)]
        self._steps = Steps(self._who.session_id)
        self._number = self._count = 0
        self._full = False

    def add(
        self,
        at: datetime,
        event: SessionEvent,
        effects: Sequence[Effect],
        frame: bytes | None = None,
    ) -> None:
        """`frame` is the provider's, where the event came from there."""
        if self._full:
            return
        if self._count >= MOST or len(self._steps) >= MOST_STEPS:
            self._full = True
            if self._steps.saying:  # half of it may be half a secret
                self._steps.clear()
            return
        self._count += 1
        try:
            self._steps.add(at, event, effects, frame)
        except Exception:
            self._give_up()

    def take(self, now: datetime, *, beside: bool, over: bool = False) -> list[Change]:
        """What is to be stored now, `beside` something else or in a commit of its own."""
        due = beside or over or len(self._steps) >= ENOUGH
        if not len(self._steps) or not due or (self._steps.saying and not over):
            return []
        try:
            steps = self._steps.take()
        except Exception:
            self._give_up()
            return []
        size = sum(map(len, steps))
        self._bytes += size
        if self._bytes > MOST_BYTES or not self._room.take(self._who.user_id, size, now.date()):
            self._full, steps = True, []
        lines = [*self._began, *steps]
        self._began = []
        if self._full:
            lines.append(b'{"full":true}')
        # Another process may go on with the session: its parts come after ours.
        self._number = max(self._number + 1, int(now.timestamp() * 1000))
        part = Recording(
            session_id=self._who.session_id,
            user_id=self._who.user_id,
            number=self._number,
            saved_at=now,
            data=b"\n".join(lines),
        )
        return [Put(part)]

    def _give_up(self) -> None:
        """Whatever is wrong with the recording, the conversation goes on."""
        log.exception("Recording failed", extra={"session_id": self._who.session_id})
        self._full = True
        self._steps.clear()
