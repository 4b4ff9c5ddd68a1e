"""Tools inside an Amplifier session: ours, through the desk, and its own, behind our policy.

`tool.execute()` fires no hooks by itself, and an orchestrator may forget to.
So each tool looks whether `tool:pre` was fired for this very call, and does it
itself if not: hooks that guard something are never skipped.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vivavoce.errors import VivavoceError
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.tools.delegation.narration import narrate
from vivavoce.tools.delegation.own_tools import ASK, OWN, parsed, text, texts
from vivavoce.tools.delegation.window import Closed, Window

if TYPE_CHECKING:
    from amplifier_core import ToolResult

_WRITING = frozenset({"write_file", "edit_file"})
_MAX_FILES = 200
_MAX_FIRED = 100


@dataclass
class Scene:
    """What the tools of one session share."""

    coordinator: Any
    window: Window
    phase: str
    files: list[str] = field(default_factory=list)
    _fired: list[tuple[str, str]] = field(default_factory=list)

    def fired(self, data: Mapping[str, Any]) -> None:
        call = (str(data.get("tool_name")), _written(data.get("tool_input")))
        self._fired = [*self._fired, call][-_MAX_FIRED:]

    def take(self, name: str, given: Any) -> bool:
        """Were the hooks fired for it? Of the same tool if not for the very same arguments: a hook
        may have changed them in between."""
        exact = (name, _written(given))
        found = [call for call in self._fired if call[0] == name]
        if not found:
            return False
        self._fired.remove(exact if exact in found else found[0])
        return True

    def changed(self, path: Any) -> None:
        if isinstance(path, str) and path not in self.files and len(self.files) < _MAX_FILES:
            self.files.append(path)


class _Hooked:
    """A tool whose hooks are fired, by whoever runs it or by itself."""

    def __init__(
        self, name: str, description: str, schema: Mapping[str, Any], scene: Scene
    ) -> None:
        self.name = name
        self.description = description
        self.input_schema = dict(schema)
        self.scene = scene

    async def execute(self, input: dict[str, Any]) -> ToolResult:  # noqa: A002 - its protocol
        if self.scene.take(self.name, input):
            return await self.do(input)
        return await self._with_hooks(input)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        raise NotImplementedError

    async def _with_hooks(self, given: dict[str, Any]) -> ToolResult:
        coordinator = self.scene.coordinator
        data = {"tool_name": self.name, "tool_input": given}
        before = await coordinator.hooks.emit("tool:pre", dict(data))
        self.scene.take(self.name, given)
        before = await coordinator.process_hook_result(before, "tool:pre", self.name)
        if before.action == "deny":
            return failed(before.reason or "It was not allowed")
        changed = (before.data or {}).get("tool_input") if before.action == "modify" else None
        result = await self.do(changed if isinstance(changed, dict) else given)
        after = await coordinator.hooks.emit("tool:post", {**data, "result": result.model_dump()})
        await coordinator.process_hook_result(after, "tool:post", self.name)
        return result


class OurTool(_Hooked):
    """One of our own tools, with the same policy and records as any call of it."""

    def __init__(self, tool: ToolDefinition, scene: Scene) -> None:
        super().__init__(tool.name, tool.description, tool.parameters, scene)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        from amplifier_core import ToolResult

        self.scene.window.say(narrate(self.name, given), None, self.scene.phase)
        output = await _or_failed(lambda: self.scene.window.call(self.name, given))
        if not isinstance(output, str):
            return output
        answer = parsed(output) if output.startswith("{") else None
        if answer is not None and answer.get("success") is False:
            return failed(str(answer.get("error", "failed")), output)
        if self.name in _WRITING:
            self.scene.changed(given.get("path"))
        return ToolResult(success=True, output=output)


class AskTool(_Hooked):
    """The user, asked in the middle (seed 001 §4.3)."""

    def __init__(self, scene: Scene) -> None:
        ask = next(tool for tool in OWN if tool.name == ASK)
        super().__init__(ask.name, ask.description, ask.parameters, scene)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        from amplifier_core import ToolResult

        question = text(given, "question")
        if not question:
            return failed("There is no question")
        answer = await _or_failed(lambda: self.scene.window.ask(question, texts(given, "choices")))
        return ToolResult(success=True, output=answer) if isinstance(answer, str) else answer


class TheirTool(_Hooked):
    """A tool of a module that the operator's plan mounts: asked for before it runs, under its
    own name. What its own approval hook waves through, ours does not."""

    def __init__(self, inner: Any, name: str, scene: Scene) -> None:
        super().__init__(name, inner.description, getattr(inner, "input_schema", None) or {}, scene)
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        what = narrate(self.name, given)
        window = self.scene.window
        yes = await _or_failed(
            lambda: window.approve(self.name, given, f"{self.scene.phase}: {what}")
        )
        if not isinstance(yes, bool):
            return yes
        if not yes:
            return failed("The user said no to this")
        window.say(what, None, self.scene.phase)
        result: ToolResult = await self._inner.execute(given)
        return result


async def _or_failed(do: Callable[[], Awaitable[Any]]) -> Any:
    """What it gave, or the refusal as a result."""
    try:
        return await do()
    except VivavoceError as fault:
        return failed(fault.message)
    except Closed:
        return failed("The work is being stopped")


def failed(message: str, output: str | None = None) -> ToolResult:
    from amplifier_core import ToolResult

    return ToolResult(success=False, output=output or message, error={"message": message})


def _written(given: Any) -> str:
    return json.dumps(given, sort_keys=True, default=str)
