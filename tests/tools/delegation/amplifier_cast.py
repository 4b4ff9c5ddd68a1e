"""Amplifier modules that need no language model: a script in the plan says what is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import ModuleType
from typing import Any

from amplifier_core import HookResult, ToolResult

RAN: list[tuple[str, dict[str, Any]]] = []
"""What tools of the modules themselves were run with."""
HOOKS: list[tuple[str, str]] = []
ASLEEP: list[str] = []
STOPPED: list[str] = []


class Context:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages(self) -> list[dict[str, Any]]:
        return self.messages

    async def get_messages_for_request(self, **_: Any) -> list[dict[str, Any]]:
        return self.messages

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages

    async def clear(self) -> None:
        self.messages = []


class Provider:
    """Says what comes next, as a model would."""

    name = "script"

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.lines = list(lines)

    async def complete(self, request: Any, **_: Any) -> dict[str, Any]:
        return self.lines.pop(0) if self.lines else {"say": "Nothing left."}


class Loop:
    """Runs what the provider says until it says something. `hooks: false`: it forgets them."""

    async def execute(
        self,
        prompt: str,
        context: Any,
        providers: dict[str, Any],
        tools: dict[str, Any],
        hooks: Any,
        coordinator: Any = None,
        **_: Any,
    ) -> str:
        provider, outputs = next(iter(providers.values())), [prompt.splitlines()[0]]
        while True:
            line = await provider.complete(outputs)
            if "say" in line:
                return str(line["say"]).format(outputs=" | ".join(outputs))
            if "raise" in line:
                raise RuntimeError(line["raise"])
            if "sleep" in line:
                await self.sleep()
            elif "spawn" in line:
                spawn = coordinator.get_capability("session.spawn")
                child = await spawn(line["spawn"], line["input"], coordinator.session, {})
                outputs.append(child["output"])
            else:
                outputs.append(await self.call(line, tools, hooks, coordinator))

    async def sleep(self) -> None:
        ASLEEP.append("loop")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            STOPPED.append("loop")
            raise

    async def call(self, line: dict[str, Any], tools: Any, hooks: Any, coordinator: Any) -> str:
        name, given = line["call"], line["input"]
        if line.get("hooks", True):
            before = await hooks.emit("tool:pre", {"tool_name": name, "tool_input": given})
            before = await coordinator.process_hook_result(before, "tool:pre", name)
            if before.action == "deny":
                return f"denied: {before.reason}"
        result = await tools[name].execute(given)
        if line.get("hooks", True):
            await hooks.emit("tool:post", {"tool_name": name, "tool_input": given})
        return str(result.output)


class Own:
    """A tool of a module. Its `read_file` would read anything."""

    description = "their own"
    input_schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012 - its protocol

    def __init__(self, name: str) -> None:
        self.name = name

    async def execute(self, input: dict[str, Any]) -> ToolResult:  # noqa: A002 - its protocol
        RAN.append((self.name, input))
        return ToolResult(output=f"{self.name} ran")


async def _loop(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("orchestrator", Loop())


async def _context(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("context", Context())


async def _provider(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("providers", Provider(config["lines"]), name="script")


async def _tools(coordinator: Any, config: dict[str, Any]) -> None:
    for name in ("read_file", "deploy"):
        await coordinator.mount("tools", Own(name), name=name)


async def _broken(coordinator: Any, config: dict[str, Any]) -> None:
    raise OSError("no such library")


async def _guard(coordinator: Any, config: dict[str, Any]) -> None:
    """Asks before `deploy`, and shows what it saw."""

    async def seen(event: str, data: dict[str, Any]) -> HookResult:
        HOOKS.append((event, data["tool_name"]))
        if event == "tool:post" or data["tool_name"] != "deploy":
            return HookResult(action="continue")
        coordinator.display_system.show_message("The guard looks at it", "info", "guard")
        return HookResult(
            action="ask_user",
            approval_prompt=f"Deploy to {data['tool_input'].get('to')}?",
            approval_options=["Allow always", "Allow once", "Deny"],
            approval_default="allow",
        )

    for event in ("tool:pre", "tool:post"):
        coordinator.hooks.register(event, seen, priority=5, name=f"guard {event}")


_MODULES: dict[str, Callable[..., Any]] = {
    "loop_script": _loop,
    "context_plain": _context,
    "provider_script": _provider,
    "tool_own": _tools,
    "tool_broken": _broken,
    "hooks_broken": _broken,
    "hooks_guard": _guard,
}


def modules() -> dict[str, ModuleType]:
    """By the names under which installed modules are imported."""
    found: dict[str, ModuleType] = {}
    for name, mount in _MODULES.items():
        module = ModuleType(f"amplifier_module_{name}")
        setattr(module, "mount", mount)  # noqa: B010 - a module has what it is given
        found[module.__name__] = module
    return found
