"""The tools of a client beside a session: offered to the model with the server's own, checked like
those, and run by the client.

Owns what they are called. A client's names may have dots, a model's may not, and none is taken
that the server has. Where a provider takes no tools of others, all of them are behind one:
`tool_call {name, arguments, call_id}`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import orjson

from vivavoce.errors import InvalidRequest, ToolNotFound
from vivavoce.runtime.ports import (
    APP,
    OWN_TOOLS,
    Toolbox,
    ToolContext,
    ToolDefinition,
    ToolOutput,
    Unwrapped,
)
from vivavoce.tools.checks import Checker
from vivavoce.tools.mcp.schemas import MAX_DESCRIPTION, MAX_NAME, parameters, plain_text, size_of
from vivavoce.wire.conductor.kinds import CONFIRM, SET_STATE, SPEAK, Tool

WRAPPER = "tool_call"
MOST_SCHEMAS = 64_000
"""Characters of all their schemas: they are in front of the model with each question."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")

Run = Callable[[str, str, str], Awaitable[str | ToolOutput]]
"""A call by its id, the client's name for the tool, and its arguments as JSON."""


async def offer(
    own: Toolbox, tools: Sequence[Tool], run: Run, *, wrapped: bool, seconds: float, trusted: bool
) -> RemoteTools:
    """A runtime's. What the server calls by itself is no tool of the model's. Off the event loop:
    a hundred schemas take half a second. Raises `InvalidRequest` for one that cannot be used."""
    reserved = (SET_STATE, SPEAK, CONFIRM)
    theirs = [one for one in tools if one.name not in reserved]
    schemas = await asyncio.to_thread(_schemas, theirs) if theirs else {}
    return RemoteTools(
        own,
        tools,
        schemas,
        run,
        wrapped=wrapped,
        seconds=seconds,
        trusted=trusted,
        reserved=reserved,
    )


class RemoteTools:
    """The server's tools and a client's, as one toolbox."""

    def __init__(
        self,
        own: Toolbox,
        tools: Sequence[Tool],
        schemas: Mapping[str, dict[str, Any]],
        run: Run,
        *,
        wrapped: bool,
        seconds: float,
        trusted: bool = False,
        reserved: Collection[str] = (),
    ) -> None:
        """`schemas`: those of the tools, looked at. `trusted`: what the client says of them counts,
        that one only reads above all. `reserved` are names that are not the model's
        to call."""
        self._own, self._run, self._wrapped = own, run, wrapped
        self._theirs: dict[str, str] = {}
        self._known: dict[str, tuple[ToolDefinition, Checker]] = {}
        taken = {tool.name for tool in own.definitions()} | OWN_TOOLS
        self.reserved = frozenset(tool.name for tool in tools) & frozenset(reserved)
        for tool in tools:
            if tool.name not in reserved:
                made = _definition(tool, schemas[tool.name], taken, seconds, trusted)
                taken.add(made.name)
                self._theirs[made.name] = tool.name
                self._known[made.name] = made, Checker(made.name, made.parameters, known=True)
        if wrapped and self._known:
            made = _wrapper([one for one, _ in self._known.values()], seconds, trusted)
            self._known[WRAPPER] = made, Checker(WRAPPER, made.parameters)

    @property
    def names(self) -> frozenset[str]:
        """As the model and the records have them."""
        return frozenset(self._theirs)

    @property
    def offered(self) -> tuple[ToolDefinition, ...]:
        """What the model is shown of them."""
        if self._wrapped:
            return tuple(one for name, (one, _) in self._known.items() if name == WRAPPER)
        return tuple(one for one, _ in self._known.values())

    def unwrapped(self, name: str, arguments: str) -> Unwrapped | None:
        """What is in a call of the wrapper; None where that is not one, or none that can be."""
        if name != WRAPPER or not self._wrapped:
            return None
        try:
            told = orjson.loads(arguments)
            inner = told.get("arguments", {})
            given = inner if isinstance(inner, str) else orjson.dumps(inner).decode()
            named = self._named(told["name"])
        except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError):
            return None
        call_id = told.get("call_id")
        return Unwrapped(named, given, call_id if isinstance(call_id, str) else "")

    def _named(self, name: object) -> str:
        """By the client's name or by ours."""
        ours = {theirs: our for our, theirs in self._theirs.items()}
        return ours.get(str(name), str(name))

    # --- Toolbox --------------------------------------------------------------------

    def definitions(self, names: Sequence[str] | None = None) -> list[ToolDefinition]:
        if names is None:
            return [*self._own.definitions(), *(one for one, _ in self._known.values())]
        return [self.definition(name) for name in names]

    def definition(self, name: str) -> ToolDefinition:
        if name in self._known:
            return self._known[name][0]
        try:
            return self._own.definition(name)
        except ToolNotFound:
            raise ToolNotFound(f"There is no tool '{name[:64]}' here", tool=name[:64]) from None

    def check(self, name: str, arguments: object) -> dict[str, Any]:
        if name in self._known:
            return self._known[name][1].check(arguments)
        return self._own.check(name, arguments)

    def describe(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name in self._known:
            return f"Running {self._theirs.get(name, name)}"
        return self._own.describe(name, arguments)

    def wants(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name in self._known:
            wanted = f"use {self._theirs.get(name, name)} on your device"
            return f"{wanted}, with {_aloud(arguments)}" if arguments else wanted
        return self._own.wants(name, arguments)

    def changes(self, name: str, arguments: Mapping[str, Any]) -> bool:
        return self._known[name][0].changes if name in self._known else True

    async def place(self, name: str, arguments: Mapping[str, Any], user_id: str) -> str | None:
        return None

    async def run(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> str | ToolOutput:
        if name not in self._theirs:
            raise ToolNotFound(f"There is no tool '{name[:64]}' here", tool=name[:64])
        given = orjson.dumps(arguments).decode()
        return await self._run(context.call_id, self._theirs[name], given)


def _schemas(tools: Sequence[Tool]) -> dict[str, dict[str, Any]]:
    try:
        if sum(size_of(tool.name, tool.input_schema) for tool in tools) > MOST_SCHEMAS:
            raise ValueError(f"The tools' schemas have more than {MOST_SCHEMAS} characters.")
        return {tool.name: parameters(tool.name, dict(tool.input_schema)) for tool in tools}
    except ValueError as fault:
        raise InvalidRequest(str(fault)[:300]) from None


def _definition(
    tool: Tool, schema: Mapping[str, Any], taken: Collection[str], seconds: float, trusted: bool
) -> ToolDefinition:
    hints = tool.annotations or {}
    words = plain_text(tool.description or tool.title or tool.name, MAX_DESCRIPTION)
    return ToolDefinition(
        name=_name(tool.name, taken),
        description=words,
        parameters=schema,
        category="app",
        timeout=seconds,
        changes=not (trusted and hints.get("readOnlyHint") is True),
        server=APP,
        trusted=trusted,
    )


def _name(theirs: str, taken: Collection[str]) -> str:
    plain = _UNFIT.sub("_", theirs)[:MAX_NAME]
    number, name = 1, plain
    while name in taken:
        number += 1
        end = f"_{number}"
        name = plain[: MAX_NAME - len(end)] + end
    return name


def _aloud(arguments: Mapping[str, Any]) -> str:
    """Whoever only listens hears what they say yes to."""
    return ", ".join(
        f"{name} {given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)}"
        for name, given in arguments.items()
    )


def _wrapper(tools: Sequence[ToolDefinition], seconds: float, trusted: bool) -> ToolDefinition:
    lines = [
        f"- {one.name}: {one.description} Arguments: {json.dumps(dict(one.parameters))}"
        for one in tools
    ]
    return ToolDefinition(
        name=WRAPPER,
        description="\n".join(["Calls a tool of the user's device. There are:", *lines]),
        parameters={
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": [one.name for one in tools]},
                "arguments": {"type": "object"},
                "call_id": {"type": "string"},
            },
            "required": ["name", "arguments"],
        },
        category="app",
        timeout=seconds,
        changes=True,
        server=APP,
        trusted=trusted,
    )
