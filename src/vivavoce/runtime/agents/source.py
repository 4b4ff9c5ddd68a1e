"""The agent of a running server: read again when its files change, for the next session.

A change with mistakes in it is told once, and the last good agent stays. What
was built from the agent at the start (MCP servers, delegates, permissions, the
orchestrator, the rate of tool calls) stays as it was until a restart, which is
told too. How intents are read is given by the caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from vivavoce.logs import fields
from vivavoce.runtime.agents.agent import Agent, together
from vivavoce.runtime.agents.yaml_file import FileProblems

log = logging.getLogger(__name__)

FILES = ("agent.yaml", "prompt.md", "intents.yaml", "examples.yaml", "flows.yaml")
FIXED = ("name", "mcp", "delegation", "approval", "orchestrator")
"""Keys of an agent's file that take a restart, beside one of its limits."""
_RATE = "executions_per_minute"


class IntentBook(Protocol):
    """The intents of an agent, as far as the runtime cares."""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that are there because of them."""
        ...


T = TypeVar("T", bound=IntentBook)
Stamp = tuple[tuple[int, int] | None, ...]


def load_whole(
    load: Callable[[], Agent], intents: Callable[[Path], T], folder: Path
) -> tuple[Agent, T]:
    """Both, with the agent knowing which tools its intents are. Raises `FileProblems` with what is
    wrong in any of the files."""
    agent, book = together(load, lambda: intents(folder))
    return agent.model_copy(update={"intents": book.tool_names}), book


class AgentSource(Generic[T]):
    """`current` and `intents` are of the same reading of the folder."""

    def __init__(
        self, load: Callable[[], Agent], intents: Callable[[Path], T], *, folder: Path
    ) -> None:
        """Raises `FileProblems`."""
        self._load, self._read_intents, self.folder = load, intents, folder
        self._stamp = _stamp(folder)  # before reading: a change meanwhile is read again
        self.current, self.intents = load_whole(load, intents, folder)
        self._checks: list[Callable[[Agent, T], None]] = []
        self._listeners: list[Callable[[], None]] = []
        self._lock = asyncio.Lock()

    def check(self, check: Callable[[Agent, T], None]) -> None:
        """Look at the agent now and at each one to come. Raises what it raises: `FileProblems`."""
        check(self.current, self.intents)
        self._checks.append(check)

    def listen(self, listener: Callable[[], None]) -> None:
        """Called, on the event loop, when there is a new agent."""
        self._listeners.append(listener)

    async def refresh(self) -> bool:
        """Before a session: is there a new agent? Files are looked at off the event loop."""
        async with self._lock:
            found = await asyncio.to_thread(self._look)
            if found is None:
                return False
            self.current, self.intents = found
        log.info("The agent was read again", extra=fields(agent=self.current.name))
        for listener in self._listeners:
            listener()
        return True

    def _look(self) -> tuple[Agent, T] | None:
        stamp = _stamp(self.folder)
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            agent, intents = load_whole(self._load, self._read_intents, self.folder)
            agent = self._keep_fixed(agent)
            for check in self._checks:
                check(agent, intents)
        except FileProblems as exc:
            for problem in exc.problems:
                log.error("The agent stays as it was: %s", problem)
            return None
        return agent, intents

    def _keep_fixed(self, agent: Agent) -> Agent:
        old = self.current
        rate = getattr(old.limits, _RATE)
        changed = [key for key in FIXED if getattr(agent, key) != getattr(old, key)]
        if getattr(agent.limits, _RATE) != rate:
            changed.append(f"limits.{_RATE}")
        if changed:
            log.warning("Takes effect after a restart: %s", ", ".join(changed))
        limits = agent.limits.model_copy(update={_RATE: rate})
        kept = {key: getattr(old, key) for key in FIXED}
        return agent.model_copy(update={**kept, "limits": limits})


def _stamp(folder: Path) -> Stamp:
    """What tells that a file is another one; None where there is none."""
    stamps: list[tuple[int, int] | None] = []
    for name in FILES:
        try:
            found = (folder / name).stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((found.st_mtime_ns, found.st_size))
    return tuple(stamps)
