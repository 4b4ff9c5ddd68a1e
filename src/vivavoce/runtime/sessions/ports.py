"""What a live session needs of others, and what those who only look see of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from vivavoce.runtime.calls.outcomes import ToolOutcome, ToolRequest
from vivavoce.session import effects as fx
from vivavoce.session.state import Phase
from vivavoce.wire.events import TurnTraced, VoiceEvent
from vivavoce.wire.records.talk import Change, LogEvent

if TYPE_CHECKING:
    from vivavoce.runtime.sessions.live import LiveSession

Traced = Callable[[TurnTraced], None]


def untold(turn: TurnTraced) -> None:
    """For those who do not count turns."""


class Journal(Protocol):
    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]: ...
    def publish_ephemeral(
        self, event: VoiceEvent, *, user_id: str, conversation_id: str | None = None
    ) -> None: ...


class Desk(Protocol):
    async def run(self, request: ToolRequest) -> ToolOutcome: ...


class Office(Protocol):
    """What a session passes on about work beyond its own calls."""

    async def resolve(self, user_id: str, effect: fx.Resolve) -> None: ...
    async def told(self, user_id: str, key: str) -> None: ...
    async def welcome(self, live: LiveSession) -> None:
        """A new call: tell it what the user has not heard yet."""
        ...


class NoOffice:
    """Where nothing is delegated."""

    async def resolve(self, user_id: str, effect: fx.Resolve) -> None: ...
    async def told(self, user_id: str, key: str) -> None: ...
    async def welcome(self, live: LiveSession) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """How a session is, for those who only look; the defaults are of one that is over."""

    state: str = str(Phase.TERMINATED)
    line_up: bool = False
    pending_tasks: int = 0
    context_tokens: int = 0
