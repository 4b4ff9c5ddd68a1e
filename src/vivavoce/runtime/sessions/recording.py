"""What a session goes through, kept in parts, so that it can be played again.

A part is written with what the session stores anyway, and only where nothing is being said:
a secret that comes in pieces is whole then, and can be cut out. It never holds the session up:
what does not fit is not recorded, and the recording says so.
"""

from __future__ import annotations

import logging
from datetime import datetime

from vivavoce.session.machine import Machine
from vivavoce.session.replay import Json, Step, beginning, said_on, written
from vivavoce.wire.records.talk import Change, Put, Recording

log = logging.getLogger(__name__)

ENOUGH = 200  # steps that make a part of their own, where nothing is stored otherwise
MOST_STEPS = 5_000  # that may wait while something is being said
MOST = 60_000  # of one session


class Recorder:
    """Of one session; made with its machine, before that is told anything."""

    def __init__(self, machine: Machine) -> None:
        state = machine.state
        self._who = state.identity
        self._began: Json | None = beginning(
            state.identity, state.policy, state.setup, state.clock.started_at
        )
        self._steps: list[Step] = []
        self._under_way = dict[str, str]()
        self._number = self._count = 0
        self._full = False

    def add(self, step: Step) -> None:
        if self._full:
            return
        if len(self._steps) >= MOST_STEPS or self._count >= MOST:
            self._full = True
            if self._under_way:  # half of it may be half a secret
                self._steps.clear()
            return
        self._count += 1
        self._steps.append(step)
        said_on(step.event, self._under_way)

    def take(self, now: datetime, *, beside: bool, over: bool = False) -> list[Change]:
        """What is to be stored now, `beside` something else or in a commit of its own."""
        due = beside or over or len(self._steps) >= ENOUGH
        if not self._steps or not due or (self._under_way and not over):
            return []
        steps, self._steps = self._steps, []
        try:
            data: Json = {"steps": written(steps)}
        except Exception:  # whatever is wrong with the recording, the conversation goes on
            log.exception("Recording failed", extra={"session_id": self._who.session_id})
            self._full = True
            return []
        if self._began is not None:
            data, self._began = {"began": self._began, **data}, None
        if self._full:
            data["full"] = True
        # Another process may go on with the session: its parts come after ours.
        self._number = max(self._number + 1, int(now.timestamp() * 1000))
        part = Recording(
            session_id=self._who.session_id,
            user_id=self._who.user_id,
            number=self._number,
            saved_at=now,
            data=data,
        )
        return [Put(part)]
