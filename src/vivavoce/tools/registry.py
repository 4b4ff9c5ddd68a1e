"""The tools there are: built-ins, plug-ins, and whatever else registers itself.

Fills the runtime's `Toolbox`. It knows names, schemas and handlers; limits,
records and time-outs are the executor's, and come before a handler is called.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any

from vivavoce.errors import ToolNotFound, VivavoceError
from vivavoce.logs import failure
from vivavoce.processes.threads import SHARED
from vivavoce.runtime.plugins import entry_points
from vivavoce.runtime.ports import ToolContext, ToolDefinition, ToolOutput
from vivavoce.tools.checks import Checker
from vivavoce.tools.functions import Describe, Handler, Tool

log = logging.getLogger(__name__)

ENTRY_POINTS = "vivavoce.tools"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what function calling allows


class Registry:
    """Tools in the order they came; a name is taken once."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, tuple[Tool, Checker]] = {}
        self.problems: list[str] = []
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        """Raises `ValueError` for a name that is wrong or taken, or a schema that is none."""
        name = tool.definition.name
        if not _NAME.fullmatch(name):
            raise ValueError(f"tool '{name}': a name is 1 to 64 letters, digits, '_' or '-'")
        if name in self._tools:
            raise ValueError(f"tool '{name}': there is one of that name already")
        told = tool.definition.parameters
        # What a server says of its tools was looked at off the event loop, which takes its time.
        known = bool(tool.definition.server)
        self._tools[name] = (tool, Checker(name, told, known=known))

    def register(
        self,
        definition: ToolDefinition,
        handler: Handler,
        describe: Describe | None = None,
        wants: Describe | None = None,
    ) -> None:
        """For tools that are made otherwise than from a function."""
        self.add(Tool(definition, handler, describe, wants=wants))
        self._tools[definition.name][1].compile()  # a foreign schema: told now, not at a call

    def remove(self, name: str) -> None:
        """For those whose source went away; an unknown one is gone already."""
        self._tools.pop(name, None)

    def load_plugins(self, found: Iterable[EntryPoint] | None = None) -> None:
        """Tools of installed packages: each entry point is a `Tool`, or several.

        One that is broken does not keep the others, or the server, from
        starting; it is told in the log and in `problems`.
        """
        for point in entry_points(ENTRY_POINTS) if found is None else found:
            try:
                for tool in _tools_of(point.load()):
                    self.add(tool)
                    self._tools[tool.definition.name][1].compile()
            except Exception as exc:  # another's code: anything may come
                problem = f"plug-in '{point.name}' ({point.value}): {exc}"
                self.problems.append(problem)
                # All of it in the message: `agent check` shows no fields.
                log.error("Tool %s", problem, exc_info=log.isEnabledFor(logging.DEBUG))

    # --- Toolbox --------------------------------------------------------------------

    def definitions(self, names: Sequence[str] | None = None) -> list[ToolDefinition]:
        for name in names or ():
            self._find(name)
        ready = [tool for tool, _ in self._tools.values() if tool.ready is None or tool.ready()]
        found = [tool.definition for tool in ready]
        return found if names is None else [one for one in found if one.name in names]

    def known(self) -> list[ToolDefinition]:
        """Those that can do nothing now too: an agent may name them."""
        return [tool.definition for tool, _ in self._tools.values()]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def definition(self, name: str) -> ToolDefinition:
        return self._find(name)[0].definition

    def check(self, name: str, arguments: object) -> dict[str, Any]:
        tool, checker = self._find(name)
        if tool.spelled and isinstance(arguments, Mapping):
            ours = tool.spelled
            renamed = {ours.get(key, key): value for key, value in arguments.items()}
            # Both names at once are one too many, and the check says so.
            arguments = renamed if len(renamed) == len(arguments) else arguments
        return checker.check(arguments)

    def describe(self, name: str, arguments: Mapping[str, Any]) -> str:
        return self._told(name, self._find(name)[0].describe, arguments) or f"Running {name}"

    def wants(self, name: str, arguments: Mapping[str, Any]) -> str:
        return self._told(name, self._find(name)[0].wants, arguments) or f"use {name}"

    def _told(
        self, name: str, describe: Describe | None, arguments: Mapping[str, Any]
    ) -> str | None:
        try:
            return None if describe is None else describe(arguments)
        except Exception as exc:  # a nicety: it must not cost the call
            log.warning("Describing a call failed", extra=failure(exc, tool=name))
            return None

    def changes(self, name: str, arguments: Mapping[str, Any]) -> bool:
        tool, _ = self._find(name)
        if tool.definition.changes and tool.reads_only is not None:
            return not tool.reads_only(arguments)
        return tool.definition.changes

    async def place(self, name: str, arguments: Mapping[str, Any], user_id: str) -> str | None:
        found = self._find(name)[0].place
        try:
            return None if found is None else await SHARED.run(found, arguments, user_id)
        except VivavoceError:  # the tool will say why
            return None

    async def run(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> str | ToolOutput:
        return await self._find(name)[0].handler(arguments, context)

    def _find(self, name: str) -> tuple[Tool, Checker]:
        try:
            return self._tools[name]
        except KeyError:
            raise ToolNotFound(f"There is no tool '{name[:64]}'", tool=name[:64]) from None


def _tools_of(made: object) -> list[Tool]:
    """What an entry point names: a tool, or several."""
    tools: list[Tool] = []
    for one in made if isinstance(made, Iterable) else [made]:
        if not isinstance(one, Tool):
            name = getattr(one, "__name__", type(one).__name__)
            hint = ": decorate it with @tool()" if callable(one) else ""
            raise TypeError(f"{name} is not a tool{hint}")
        tools.append(one)
    return tools
