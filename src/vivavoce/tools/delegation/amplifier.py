"""Agents of `amplifier-core`: sessions in our own process, one for each task.

A session is made from a mount plan in the agent folder, or from a bundle of
foundation's where that is installed. Its modules are the operator's choice and
run with our rights; what its tools do passes the context.

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
import importlib
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import yaml

from vivavoce.errors import VivavoceError
from vivavoce.runtime.agents.work import AmplifierAgent
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import Done, GaveUp, StepValue, TaskContext, Work
from vivavoce.tools.delegation.briefs import brief, told
from vivavoce.tools.delegation.named import Named
from vivavoce.tools.delegation.narration import narrate
from vivavoce.tools.delegation.own_tools import ASK, OWN, fault, text, texts
from vivavoce.tools.delegation.window import Closed, Window, attempted
from vivavoce.tools.workspace.root import Workspaces
from vivavoce.wire.clean import clean_line
from vivavoce.wire.hints import bare
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    from amplifier_core import ToolResult


_YES = ("allow once", "allow", "yes", "approve", "ok")
_NO = ("deny", "no", "reject")


class Approvals(Value):
    """Its `ApprovalSystem`. The timeout and the default are ours, and the default is no."""

    window: Window
    phase: str

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> str:
        question = f"{self.phase}: {clean_line(prompt)}"
        try:
            yes = await self.window.approve("amplifier", {"prompt": clean_line(prompt)}, question)
        except Closed:
            yes = False
        return _option(options, _YES if yes else _NO) or ("Allow" if yes else "Deny")


class Display(Value):
    """Its `DisplaySystem`. May be called from a thread of its runtime."""

    window: Window
    phase: str
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        self.loop.call_soon_threadsafe(self.window.say, message, None, self.phase)


def _option(options: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Never one that would answer for what is asked later too."""
    once = [each for each in options if "always" not in each.lower()]
    fitting = (each for word in wanted for each in once if each.lower().startswith(word))
    return next(fitting, None)


_MAX_PLAN = 1024 * 1024
_LISTS = ("providers", "tools", "hooks")


def plan_file(folder: Path, name: str) -> Path | None:
    """A file of the agent folder; None for one that is elsewhere, or is not."""
    path = (folder / name).resolve()
    return path if path.is_file() and path.is_relative_to(folder.resolve()) else None


def read_plan(folder: Path, name: str) -> dict[str, Any]:
    path = plan_file(folder, name)
    if path is None or path.stat().st_size > _MAX_PLAN:
        raise GaveUp(f"There is no plan {name} in the agent's folder")
    try:
        plan = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        raise GaveUp(f"The plan {name} is not readable YAML") from None
    session = plan.get("session") if isinstance(plan, dict) else None
    if not isinstance(session, dict) or not {"orchestrator", "context"} <= set(session):
        raise GaveUp(f"The plan {name} names no session.orchestrator and session.context")
    return dict(plan)


def for_child(plan: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of an agent that the plan names: its own modules first, then its parent's."""
    child = dict(plan)
    child["session"] = {**plan["session"], **(overlay.get("session") or {})}
    for key in _LISTS:
        own = list(overlay.get(key) or [])
        named = {each.get("module") for each in own}
        child[key] = [*own, *(e for e in plan.get(key) or [] if e.get("module") not in named)]
    return child


class LocalSources:
    """Finds a module whose `source` is a folder of the agent folder; all else is an installed
    package's. A loader of our own is ignored by the session, so this is how it is told.

    The session puts such folders first on `sys.path` and leaves them there: `close` takes them off.
    """

    _in_use: ClassVar[Counter[str]] = Counter()

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._found: set[str] = set()

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
        from amplifier_core.module_sources import ModuleNotFoundError as NotFound

        if not isinstance(source_hint, str) or not source_hint.startswith("."):
            raise NotFound(f"{module_id} is not installed")
        path = (self._folder / source_hint).resolve()
        if not path.is_relative_to(self._folder) or not path.is_dir():
            raise FileNotFoundError(f"{module_id} has no folder {source_hint}")
        if str(path) not in self._found:
            self._found.add(str(path))
            self._in_use[str(path)] += 1
        return SimpleNamespace(resolve=lambda: path)

    def close(self) -> None:
        for path in self._found:
            self._in_use[path] -= 1
            if not self._in_use[path] and path in sys.path:
                sys.path.remove(path)
        self._found.clear()


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


NOT_OFFERED = frozenset({"task", "ask_user", "cancel_task", "list_tasks"})
"""Nobody delegates what was delegated to them; a question of theirs goes its own way."""
WORK_SECONDS = 4 * 3600.0


class AmplifierBackend(Named[AmplifierAgent]):
    name, module, package = "amplifier", "amplifier_core", "amplifier-core"

    def __init__(
        self,
        agents: Mapping[str, AmplifierAgent],
        *,
        workspaces: Workspaces,
        folder: Path,
        tools: Callable[[], Sequence[ToolDefinition]],
    ) -> None:
        """`folder`: where the plans are. `tools`: what the workspace offers now."""
        super().__init__(agents)
        self._workspaces = workspaces
        self._folder = folder
        self._tools = tools

    def described(self, agent: AmplifierAgent) -> str:
        return "An Amplifier session"

    def why_not(self, agent: AmplifierAgent) -> str:
        if agent.bundle and find_spec("amplifier_foundation") is None:
            return (
                f"the bundle {agent.bundle} needs amplifier-foundation, "
                "which is installed from its repository"
            )
        if not agent.bundle and not agent.config:
            return "it names neither a config nor a bundle"
        if agent.config and plan_file(self._folder, agent.config) is None:
            return f"there is no {agent.config} in the agent's folder"
        return ""

    async def work(self, work: Work, agent: AmplifierAgent, context: TaskContext) -> Done:
        async def begin(died: Sequence[StepValue]) -> StepValue:
            return {"again": bool(died)}

        async def do(begun: StepValue) -> StepValue:
            return await self._work(work, agent, Window(context), again=begun["again"])

        end = await attempted(context, begin, do)
        return Done(summary=end["summary"], files_changed=tuple(end["files"]))

    async def _work(
        self, work: Work, agent: AmplifierAgent, window: Window, *, again: bool
    ) -> StepValue:
        offered = [tool for tool in self._tools() if tool.name not in NOT_OFFERED]
        workspace = await asyncio.to_thread(self._workspaces.of, work.user_id)
        wiring = Wiring(window, offered, workspace.root, self._folder)
        if agent.bundle:
            ready = _from_bundle(agent.bundle, wiring, work.agent)
        else:
            plan = await asyncio.to_thread(read_plan, self._folder, agent.config)
            ready = opened(plan, wiring, work.agent)
        try:
            async with (
                asyncio.timeout(WORK_SECONDS),
                window.open(),
                ready as worker,
            ):
                answer = await worker.execute(brief(work, again=again))
        except TimeoutError:
            raise GaveUp(f"The agent {work.agent} did not finish in time") from None
        return {"summary": told(answer, "It is done."), "files": wiring.files}


@asynccontextmanager
async def _from_bundle(bundle: str, wiring: Wiring, phase: str) -> AsyncIterator[Worker]:
    """Foundation makes it, with all that a bundle brings; then it is wired as any other."""
    foundation = await asyncio.to_thread(importlib.import_module, "amplifier_foundation")
    try:
        prepared = await (await foundation.load_bundle(bundle)).prepare()
        session = await uncut(
            prepared.create_session(
                approval_system=Approvals(wiring.window, phase),
                display_system=Display(wiring.window, phase),
                session_cwd=wiring.workspace,
            )
        )
    except Exception as exc:  # another's code, and the network's
        why = told(str(exc), type(exc).__name__, 300)
        raise GaveUp(f"The bundle {bundle} could not be set up: {why}") from None
    try:
        yield Worker(session, await equipped(session.coordinator, wiring, phase))
    finally:
        with contextlib.suppress(Exception):
            await session.cleanup()
