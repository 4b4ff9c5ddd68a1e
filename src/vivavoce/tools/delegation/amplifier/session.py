"""An Amplifier session wired to a desk's window, and the children that its agents become.

Owns the wiring that `amplifier-core` leaves to its host: who approves, where
messages are shown, which tools there are, how a child is made, and how all of
it is stopped. A child's events do not reach its parent, so each session is
wired by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import GaveUp
from vivavoce.tools.delegation.amplifier.host import Approvals, Display
from vivavoce.tools.delegation.amplifier.plan import LocalSources, for_child
from vivavoce.tools.delegation.amplifier.tools import AskTool, OurTool, Scene, TheirTool
from vivavoce.tools.delegation.briefs import told
from vivavoce.tools.delegation.own_tools import ASK
from vivavoce.tools.delegation.window import Window

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


class Worker:
    """A session that is ready to work."""

    def __init__(self, session: Any, watched: _Watched) -> None:
        self._session = session
        self._watched = watched

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
    lost: list[tuple[str, str, str]] = []
    _hear(coordinator, "module:load_failed", lambda data: lost.append(_lost(data)))
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


def _lost(data: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(data.get("module_type")), str(data.get("module_id")), str(data.get("error"))


def _report(
    coordinator: Any, lost: Sequence[tuple[str, str, str]], window: Window, phase: str
) -> None:
    """Amplifier goes on without a module that failed, and says nothing. A missing tool can be done
    without; a missing hook may have been the one that guards something."""
    for kind, module, error in lost:
        words = f"The {kind} module {module} could not be loaded: {told(error, '', 200)}"
        if kind == "hook" or (kind == "provider" and not coordinator.get("providers")):
            raise GaveUp(words, suggestions=[f"Install {module}, or take it out of the plan"])
        window.say(words, None, phase)
    if not coordinator.get("providers"):
        raise GaveUp("The plan mounts no provider")
