"""What the intent service needs of others in and around this room, as small protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.wire.records.talk import Change, Conversation, LogEvent


class Parameter(Protocol):
    """One parameter of an intent. `grounded`: its value has to come from what the user said."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def grounded(self) -> bool: ...
    @property
    def kind(self) -> Literal["time", "place", "repeat"] | None: ...


class Definition(Protocol):
    """One intent of `intents.yaml`. With a `url` it goes there, whoever acts on the others."""

    @property
    def name(self) -> str: ...
    @property
    def route(self) -> str: ...
    @property
    def url(self) -> str | None: ...
    @property
    def parameters(self) -> Sequence[Parameter]: ...

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The payload, or `InvalidArguments`."""
        ...


class Definitions(Protocol):
    """The intents there are."""

    def get(self, name: str) -> Definition | None: ...


class IntentStore(AgendaStore, Protocol):
    """What is read; writes go through the journal."""

    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None: ...


class Journal(Protocol):
    """Durable first, announced after."""

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]: ...
