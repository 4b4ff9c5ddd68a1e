"""What the workspace remembers, for the start of a session (seed 000 §5.1, §7.2).

Files changed and by what, tasks and how they stand, and `DISCOVERIES.md`: what
the project should remember. All of it is read from what is kept anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from vivavoce.errors import VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.calls.outside import tells
from vivavoce.runtime.ports import Store
from vivavoce.runtime.tasks.records import under_way
from vivavoce.wire.records.talk import CallStatus, ToolCall
from vivavoce.wire.records.work import Role, at_least
from vivavoce.wire.values import Record, Value

log = logging.getLogger(__name__)

DISCOVERIES = "DISCOVERIES.md"
MOST_DISCOVERIES = 1_200  # characters: the newest are at the end
MOST_FILES = 5
MOST_TASKS = 20
LOOKED_AT = 40
_NAMING = ("path", "file", "file_path")


class Memory(Record):
    """What a session may know from the beginning."""

    active_files: tuple[str, ...] = ()
    """Newest first, with what was done to them."""
    running_tasks: tuple[str, ...] = ()
    discoveries: str = ""
    folder: str = ""
    """Where this user's tools work."""


class Place(Value):
    """A user's part of the workspace: where it is, and the end of its discoveries."""

    folder: str
    discoveries: str = ""


class WorkspaceMemory:
    """`look` gives a user's own place."""

    def __init__(self, store: Store, look: Callable[[str], Place]) -> None:
        self._store, self._look = store, look

    async def of(self, user_id: str, role: Role) -> Memory:
        """For a session of this role. What cannot be read is forgotten, not fatal."""
        try:
            calls = await self._store.recent_calls(user_id=user_id, limit=LOOKED_AT)
            tasks = await self._store.tasks(user_id=user_id, open_only=True, limit=MOST_TASKS)
            place = await asyncio.to_thread(self._look, user_id)
            return Memory(
                active_files=files_of(calls),
                running_tasks=tuple(
                    # What a lesser token asked for is nothing that whoever talks here has said.
                    under_way(one, titled=at_least(one.role, role))
                    for one in tasks
                ),
                discoveries=latest(place.discoveries),
                folder=place.folder,
            )
        except (VivavoceError, OSError) as fault:
            log.warning("The workspace's memory cannot be read", extra=fields(reason=str(fault)))
            return Memory()


def files_of(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """Which files were changed or read last, and by which tool. A name that says something to
    somebody is not told: here nobody would know whose words it is."""
    found: dict[str, str] = {}
    for call in calls:
        name = next((call.arguments[key] for key in _NAMING if key in call.arguments), None)
        if call.status is CallStatus.COMPLETED and isinstance(name, str) and not tells(name):
            found.setdefault(name[:120], call.tool)
    return tuple(f"{name} ({tool})" for name, tool in list(found.items())[:MOST_FILES])


def latest(discoveries: str) -> str:
    """The end of the file, from the beginning of a line."""
    text = discoveries.strip()
    if len(text) <= MOST_DISCOVERIES:
        return text
    return "…" + text[-MOST_DISCOVERIES:].partition("\n")[2]
