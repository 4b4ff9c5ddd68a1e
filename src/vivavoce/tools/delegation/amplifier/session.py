"""An Amplifier session wired to a task, and the children that its agents become.

Owns the wiring that `amplifier-core` leaves to its host: who approves, where
messages are shown, which tools there are, how a child is made, and how all of
it is stopped. A child's events do not reach its parent, so each session is
wired by itself. `tool.execute()` fires no hooks, and an orchestrator may forget
to: each tool looks whether `tool:pre` was fired for this very call, and does it
itself if not, so hooks that guard something are never skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vivavoce.errors import VivavoceError
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import GaveUp
from vivavoce.tools.delegation.amplifier.plan import Approvals, Display, LocalSources, for_child
from vivavoce.tools.delegation.briefs import told
from vivavoce.tools.delegation.narration import narrate
from vivavoce.tools.delegation.own_tools import ASK, OWN, fault, text, texts
from vivavoce.tools.delegation.window import Closed, Window
from vivavoce.wire.hints import bare

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
        self.name, self.description = name, description
        self.input_schema, self.scene = dict(schema), scene

    async def execute(self, input: dict[str, Any]) -> ToolResult:  # noqa: A002 - its protocol
        if self.scene.take(self.name, input):
            return await self._done(input)
        return await self._with_hooks(input)

    async def _done(self, given: dict[str, Any]) -> ToolResult:
        """What it gave, or the refusal as a result."""
        try:
            return await self.do(given)
        except VivavoceError as refusal:
            return failed(refusal.message)
        except Closed:
            return failed("The work is being stopped")

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
        result = await self._done(changed if isinstance(changed, dict) else given)
        after = await coordinator.hooks.emit("tool:post", {**data, "result": result.model_dump()})
        await coordinator.process_hook_result(after, "tool:post", self.name)
        return result


class OurTool(_Hooked):
    """One of our own tools, with the same policy and records as any call of it."""

    def __init__(self, tool: ToolDefinition, scene: Scene) -> None:
        super().__init__(tool.name, tool.description, bare(tool.parameters), scene)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        from amplifier_core import ToolResult

        self.scene.window.say(narrate(self.name, given), None, self.scene.phase)
        output = await self.scene.window.call(self.name, given)
        if (why := fault(output)) is not None:
            return failed(why, output)
        if self.name in _WRITING:
            self.scene.changed(given.get("path"))
        return ToolResult(success=True, output=output)


class AskTool(_Hooked):
    """The user, asked in the middle (seed 001 §4.3)."""

    def __init__(self, scene: Scene) -> None:
        ask = next(tool for tool in OWN if tool.name == ASK)
        super().__init__(ask.name, ask.description, bare(ask.parameters), scene)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        from amplifier_core import ToolResult

        question = text(given, "question")
        if not question:
            return failed("There is no question")
        answer = await self.scene.window.ask(question, texts(given, "choices"))
        return ToolResult(success=True, output=answer)


class TheirTool(_Hooked):
    """A tool of a module that the operator's plan mounts: asked for before it runs, under its
    own name. What its own approval hook waves through, ours does not."""

    def __init__(self, inner: Any, name: str, scene: Scene) -> None:
        super().__init__(name, inner.description, getattr(inner, "input_schema", None) or {}, scene)
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def do(self, given: dict[str, Any]) -> ToolResult:
        what, window = narrate(self.name, given), self.scene.window
        if not await window.approve(self.name, given, f"{self.scene.phase}: {what}"):
            return failed("The user said no to this")
        window.say(what, None, self.scene.phase)
        result: ToolResult = await self._inner.execute(given)
        return result


def failed(message: str, output: str | None = None) -> ToolResult:
    from amplifier_core import ToolResult

    return ToolResult(success=False, output=output or message, error={"message": message})


def _written(given: Any) -> str:
    return json.dumps(given, sort_keys=True, default=str)


T = TypeVar("T")

MAX_DEPTH = 3
STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Wiring:
    """What a session and its children have in common."""

    window: Window
    tools: Sequence[ToolDefinition]
    workspace: Path
    folder: Path
    files: list[str] = field(default_factory=list)


class _Watched:
    """The orchestrator, and the task it runs in: cancelling `execute` does not reach it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.task: asyncio.Task[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        self.task = asyncio.current_task()
        return await self._inner.execute(*args, **kwargs)


async def uncut(doing: Awaitable[T]) -> T:
    """To its end even when we are cancelled: a call into the kernel that is merely cancelled goes
    on by itself, with nobody who knows of it."""

    async def outcome() -> T | Exception:
        try:
            return await doing
        except Exception as exc:
            return exc

    async with asyncio.TaskGroup() as group:
        task = group.create_task(outcome())
        try:
            value = await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=STOP_SECONDS)
            raise
    if isinstance(value, Exception):
        raise value
    return value


@dataclass(frozen=True)
class Worker:
    """A session that is ready to work."""

    _session: Any
    _watched: _Watched

    async def execute(self, prompt: str) -> str:
        try:
            return str(await self._session.execute(prompt))
        except asyncio.CancelledError:
            await self._stop()
            raise
        except Exception as exc:  # whatever a module raises
            why = told(str(exc).removeprefix("Execution failed: "), type(exc).__name__, 300)
            raise GaveUp(f"The Amplifier session failed: {why}") from exc

    async def _stop(self) -> None:
        task = self._watched.task
        with contextlib.suppress(Exception):
            await self._session.coordinator.request_cancel(immediate=True)
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_SECONDS)


@asynccontextmanager
async def opened(
    plan: Mapping[str, Any],
    wiring: Wiring,
    phase: str,
    *,
    parent_id: str | None = None,
    session_id: str | None = None,
    depth: int = 0,
) -> AsyncIterator[Worker]:
    from amplifier_core import AmplifierSession

    try:
        session = AmplifierSession(
            dict(plan),
            session_id=session_id,
            parent_id=parent_id,
            approval_system=Approvals(wiring.window, phase),
            display_system=Display(wiring.window, phase),
        )
    except ValueError as exc:
        raise GaveUp(f"The plan is not one of Amplifier's: {told(str(exc), '', 200)}") from None
    coordinator = session.coordinator
    lost: list[Mapping[str, Any]] = []
    _hear(coordinator, "module:load_failed", lost.append)
    sources = LocalSources(wiring.folder)
    try:
        await coordinator.mount("module-source-resolver", sources)
        _introduce(session, plan, wiring, depth)
        try:
            await uncut(session.initialize())
        except Exception as exc:  # whatever a module raises
            why = told(str(exc), type(exc).__name__, 300)
            raise GaveUp(f"The Amplifier session could not be set up: {why}") from None
        _report(coordinator, lost, wiring.window, phase)
        yield Worker(session, await equipped(coordinator, wiring, phase))
    finally:
        sources.close()
        with contextlib.suppress(Exception):
            await session.cleanup()


def _introduce(session: Any, plan: Mapping[str, Any], wiring: Wiring, depth: int) -> None:
    """What modules ask their host for."""

    async def spawn(
        agent_name: str,
        instruction: str,
        parent_session: Any = None,
        agent_configs: Mapping[str, Any] | None = None,
        sub_session_id: str | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        known = {**(plan.get("agents") or {}), **(agent_configs or {})}
        overlay = {} if agent_name == "self" else known.get(agent_name)
        if overlay is None or depth >= MAX_DEPTH:
            why = "nested too deep" if overlay is not None else f"there is no agent {agent_name}"
            raise ValueError(f"It cannot be delegated: {why}")
        wiring.window.say(f"{agent_name} is at work", None, agent_name)
        child = opened(
            for_child(plan, overlay),
            wiring,
            agent_name,
            parent_id=session.session_id,
            session_id=sub_session_id,
            depth=depth + 1,
        )
        async with child as worker:
            output = await worker.execute(instruction)
        return {"output": output, "session_id": sub_session_id or ""}

    session.coordinator.register_capability("session.working_dir", str(wiring.workspace))
    session.coordinator.register_capability("session.spawn", spawn)


async def equipped(coordinator: Any, wiring: Wiring, phase: str) -> _Watched:
    """With our tools in the place of its own of the same name, and the rest behind our policy."""
    scene = Scene(coordinator, wiring.window, phase, wiring.files)
    _hear(coordinator, "tool:pre", scene.fired)
    _hear(
        coordinator,
        "user:notification",
        lambda data: wiring.window.say(str(data.get("message") or ""), None, phase),
    )
    ours = {ASK, *(tool.name for tool in wiring.tools)}
    for name, tool in dict(coordinator.get("tools") or {}).items():
        if name not in ours:
            await coordinator.mount("tools", TheirTool(tool, name, scene), name=name)
    for definition in wiring.tools:
        await coordinator.mount("tools", OurTool(definition, scene), name=definition.name)
    await coordinator.mount("tools", AskTool(scene), name=ASK)
    watched = _Watched(coordinator.get("orchestrator"))
    await coordinator.mount("orchestrator", watched)
    return watched


def _hear(coordinator: Any, event: str, do: Any) -> None:
    from amplifier_core import HookResult

    async def heard(event: str, data: dict[str, Any]) -> HookResult:
        do(data)
        return HookResult(action="continue")

    coordinator.hooks.register(event, heard, priority=0, name=f"vivavoce:{event}")


def _report(
    coordinator: Any, lost: Sequence[Mapping[str, Any]], window: Window, phase: str
) -> None:
    """Amplifier goes on without a module that failed, and says nothing. A missing tool can be done
    without; a missing hook may have been the one that guards something."""
    for data in lost:
        kind, module = data.get("module_type"), data.get("module_id")
        why = told(str(data.get("error")), "", 200)
        words = f"The {kind} module {module} could not be loaded: {why}"
        if kind == "hook" or (kind == "provider" and not coordinator.get("providers")):
            raise GaveUp(words, suggestions=[f"Install {module}, or take it out of the plan"])
        window.say(words, None, phase)
    if not coordinator.get("providers"):
        raise GaveUp("The plan mounts no provider")
