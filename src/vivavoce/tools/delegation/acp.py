"""Local coding agents by the Agent Client Protocol (Claude Code, Codex, Gemini CLI and others),
each a command.

An agent is the operator's choice and runs with the operator's rights, in the
workspace, each attempt in a process of its own. After a restart the agent's own
session is loaded where it can do that, else a new one is told to look at what
is done already.

Everything it asks for passes the policy under the name of our own tool that
does the same, so that one rule holds for all agents. Terminals are not
offered: an agent runs commands itself, and asks for each. Updates are read as
plain JSON, since agents send kinds that no schema knows yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import shlex
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vivavoce.errors import VivavoceError
from vivavoce.logs import fields
from vivavoce.processes.piped import Piped, piped
from vivavoce.processes.programs import find, taken_from
from vivavoce.processes.starting import environment
from vivavoce.runtime.agents.work import AcpAgent
from vivavoce.runtime.tasks.ports import Done, GaveUp, StepValue, TaskContext, Work
from vivavoce.tools.delegation.briefs import brief, told
from vivavoce.tools.delegation.named import Named
from vivavoce.tools.delegation.narration import narrate, short
from vivavoce.tools.delegation.window import Closed, Window, attempted
from vivavoce.tools.workspace.root import Workspace, Workspaces
from vivavoce.tools.workspace.writing import write
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    from acp import (
        Client,
        CreateTerminalResponse,
        ReadTextFileResponse,
        RequestPermissionResponse,
        WriteTextFileResponse,
    )
    from acp.client import ClientSideConnection
    from acp.schema import PermissionOption, ToolCallUpdate


_MAX_WORDS = 16_000
_MAX_FILES = 200
_MAX_CALLS = 1_000
_CHANGING = frozenset({"edit", "delete", "move"})

Say = Callable[[str, int | None], None]


class Account:
    def __init__(self, say: Say, relative: Callable[[str], str]) -> None:
        """`relative`: a path as the user knows it."""
        self._say = say
        self._relative = relative
        self._words = ""
        self._before = ""
        self._touched: dict[str, list[str]] = {}
        self._changing: set[str] = set()
        self.files: list[str] = []
        self.replaying = False
        """A loaded session tells its past: what was changed counts, what was said does not."""

    @property
    def summary(self) -> str:
        """What it said last; what comes before a tool is used is only on the way there."""
        return (self._words.strip() or self._before.strip())[-_MAX_WORDS:]

    def update(self, update: Any) -> None:
        match update:
            case {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": str() as text},
            }:
                if not self.replaying:
                    self._words = (self._words + text)[-_MAX_WORDS:]
            case {"sessionUpdate": "tool_call", "toolCallId": str() as id_}:
                self._call(id_, update, new=True)
            case {"sessionUpdate": "tool_call_update", "toolCallId": str() as id_}:
                self._call(id_, update, new=False)
            case {"sessionUpdate": "plan", "entries": list() as entries}:
                self._plan(entries)
            case _:
                pass

    def wrote(self, path: str) -> None:
        name = self._relative(path)
        if name not in self.files and len(self.files) < _MAX_FILES:
            self.files.append(name)

    def _call(self, id_: str, update: Mapping[str, Any], *, new: bool) -> None:
        title = update.get("title")
        if new and not self.replaying:
            if self._words.strip():
                self._before, self._words = self._words, ""
            if isinstance(title, str):
                self._say(title, None)
        if update.get("kind") in _CHANGING and len(self._changing) < _MAX_CALLS:
            self._changing.add(id_)
        paths = _paths(update.get("content"), "diff")
        if id_ in self._changing:
            paths += _paths(update.get("locations"))
        if paths and (id_ in self._touched or len(self._touched) < _MAX_CALLS):
            self._touched[id_] = paths
        # A diff is also shown before the user said yes to it.
        match update.get("status"):
            case "completed":
                for path in self._touched.pop(id_, ()):
                    self.wrote(path)
            case "failed":
                self._touched.pop(id_, None)

    def _plan(self, entries: list[Any]) -> None:
        known = [e for e in entries if isinstance(e, dict) and isinstance(e.get("content"), str)]
        if not known or self.replaying:
            return
        done = sum(entry.get("status") == "completed" for entry in known)
        now = next((e for e in known if e.get("status") == "in_progress"), None)
        if now is not None:
            self._say(now["content"], 100 * done // len(known))
        elif done == 0:
            self._say(f"A plan of {len(known)} steps", 0)


def _paths(listed: Any, kind: str | None = None) -> list[str]:
    """Of an update's `locations`, or of those of its `content` that are of this kind."""
    return [
        each["path"]
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict)
        and kind in (None, each.get("type"))
        and isinstance(each.get("path"), str)
    ][:_MAX_FILES]


_MAX_ARGUMENT = 1_000_000
"""What is longer is refused: nobody can say yes to what is not shown whole."""
_MAX_TITLE = 500


class Host(Value):
    """Fills the SDK's `Client`, as far as it is offered."""

    _name: str
    _workspace: Workspace
    _window: Window
    _account: Account

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        from acp import RequestPermissionResponse
        from acp.schema import AllowedOutcome, DeniedOutcome

        tool, arguments = self._as_ours(tool_call)
        question = f"{self._name}: {self._described(tool, arguments, tool_call.title)}"
        try:
            yes = _fits(arguments) and await self._window.approve(tool, arguments, question)
            chosen = _option(options, yes)
        except (Closed, VivavoceError):
            chosen = None
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        selected = AllowedOutcome(outcome="selected", option_id=chosen)
        return RequestPermissionResponse(outcome=selected)

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> ReadTextFileResponse:
        from acp import ReadTextFileResponse, RequestError

        try:
            data = await asyncio.to_thread(self._workspace.read, path)
        except VivavoceError as refusal:
            raise RequestError.invalid_params({"details": refusal.message}) from None
        lines = data.decode(errors="replace").splitlines(keepends=True)
        first = max(0, (line or 1) - 1)
        last = len(lines) if limit is None else first + max(0, limit)
        return ReadTextFileResponse(content="".join(lines[first:last]))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> WriteTextFileResponse | None:
        from acp import RequestError, WriteTextFileResponse

        arguments = {"path": self.relative(path), "content": content}
        question = f"{self._name}: {narrate('write_file', arguments)}"
        try:
            if not _fits(arguments) or not await self._window.approve(
                "write_file", arguments, question
            ):
                raise RequestError.invalid_params({"details": "This change is not allowed"})
            where, _ = await asyncio.to_thread(write, self._workspace, path, content.encode())
        except VivavoceError as refusal:
            raise RequestError.invalid_params({"details": refusal.message}) from None
        except (Closed, UnicodeEncodeError):
            raise RequestError.invalid_params({"details": "It cannot be written now"}) from None
        self._account.wrote(where)
        return WriteTextFileResponse()

    async def create_terminal(
        self, session_id: str, command: str, **kwargs: Any
    ) -> CreateTerminalResponse:
        from acp import RequestError

        raise RequestError.method_not_found("terminal/create")

    def relative(self, path: str) -> str:
        """As the user knows it; one outside of the workspace stays as it is."""
        root = f"{self._workspace.root}/"
        return path.removeprefix(root)

    def _as_ours(self, call: ToolCallUpdate) -> tuple[str, dict[str, str]]:
        given = call.raw_input if isinstance(call.raw_input, dict) else {}
        places = [place.path for place in call.locations or ()]
        title = (call.title or "")[:_MAX_TITLE]
        match call.kind:
            case "execute":
                return "bash", {"command": _command(given) or title}
            case "edit" | "read" | "delete" | "move" as kind:
                path = _text(given, "file_path", "path", "abs_path") or next(iter(places), title)
                tool = {"edit": "edit_file", "read": "read_file"}.get(kind, f"{kind}_file")
                return tool, {"path": self.relative(path)}
            case "fetch":
                return "web_fetch", {"url": _text(given, "url") or title}
            case kind:
                return f"{self._name}_{kind or 'other'}", {"title": title}

    def _described(self, tool: str, arguments: Mapping[str, Any], title: str | None) -> str:
        """What the policy was told, not what the agent calls it, where the two can differ."""
        if tool in ("bash", "edit_file", "read_file", "web_fetch"):
            return narrate(tool, arguments)
        return short(title or tool)


def _fits(arguments: Mapping[str, str]) -> bool:
    return sum(map(len, arguments.values())) <= _MAX_ARGUMENT


def _option(options: Sequence[PermissionOption], yes: bool) -> str | None:
    """Never one that would answer for what is asked later too."""
    wanted = "allow_once" if yes else "reject_once"
    return next((each.option_id for each in options if each.kind == wanted), None)


def _command(given: Mapping[str, Any]) -> str:
    command = given.get("command")
    if isinstance(command, list) and all(isinstance(each, str) for each in command):
        command = shlex.join(command)
    return command if isinstance(command, str) else ""


def _text(given: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        if isinstance(given.get(key), str) and given[key]:
            return str(given[key])
    return ""


log = logging.getLogger(__name__)

MAX_LINE = 8 * 1024 * 1024
MAX_REQUESTS = 32
"""That it may have open with us at once; the next one is not read before."""
_AUTH_REQUIRED = -32000


@dataclass(frozen=True, slots=True)
class Bounds:
    start_seconds: float = 120.0
    """A launcher such as npx may fetch the agent first."""
    work_seconds: float = 4 * 3600.0
    stop_seconds: float = 2.0
    """For an agent to stop by itself when it is told to."""


def found(agent: AcpAgent, workspace: Path) -> str | None:
    """Never in the workspace: that is where it is to work, not where it comes from."""
    if taken_from(workspace, agent.args, agent.env, Path.home()) is not None:
        return None
    return find(agent.command, workspace, environment(agent.env).get("PATH"))


@dataclass(eq=False)
class Visit:
    _order: Work
    _agent: AcpAgent
    _window: Window
    _workspace: Workspace
    _bounds: Bounds
    _stack: AsyncExitStack
    _pipes: Piped | None = None
    _link: ClientSideConnection | None = None

    def __post_init__(self) -> None:
        self._account = Account(self._say, lambda path: self._host.relative(path))
        self._host = Host(self._order.agent, self._workspace, self._window, self._account)
        self._last_words: deque[str] = deque(maxlen=20)

    def _say(self, message: str, percentage: int | None) -> None:
        self._window.say(message, percentage, self._order.agent)

    async def begin(self, died: Sequence[StepValue]) -> StepValue:
        """The agent's session, new or loaded: where it can go on after a crash."""
        try:
            async with asyncio.timeout(self._bounds.start_seconds):
                can_load = await self._connect()
                session = await self._load(died[-1]["session"]) if died and can_load else None
                if session is not None:
                    return {"session": session, "loaded": True, "again": True}
                session = await self._new()
                return {"session": session, "loaded": False, "again": bool(died)}
        except TimeoutError:
            raise self._gave_up("did not start in time") from None
        except OSError as exc:  # the connection's end is one too
            log.warning("An agent could not be started", extra=fields(error=str(exc)))
            raise self._gave_up(self._ended()) from None

    async def _connect(self) -> bool:
        from acp import PROTOCOL_VERSION, RequestError
        from acp.client import ClientSideConnection
        from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation

        command = found(self._agent, self._workspace.root)
        if command is None:
            raise self._gave_up(f"is not here: there is no command {self._agent.command}")
        self._pipes = await self._stack.enter_async_context(
            piped(
                command,
                self._agent.args,
                env=self._agent.env,
                # Not in the workspace, which its session names: a launcher such as npx would take a
                # program of that name from there.
                cwd=Path.home(),
                heard=self._last_words.append,
                longest=MAX_LINE,
            )
        )
        transport = _Transport(self._pipes, self._account.update)
        link = ClientSideConnection(cast("Client", self._host), transport)
        self._link = await self._stack.enter_async_context(link)
        files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        try:
            answer = await link.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(fs=files, terminal=False),
                client_info=Implementation(name="vivavoce", version="1"),
            )
        except (RequestError, ValueError) as exc:
            raise self._gave_up("did not understand us", exc) from None
        if answer.protocol_version != PROTOCOL_VERSION:
            raise self._gave_up(f"speaks version {answer.protocol_version} of ACP, which we do not")
        return bool(answer.agent_capabilities and answer.agent_capabilities.load_session)

    async def _load(self, session: str) -> str | None:
        from acp import RequestError

        assert self._link is not None
        self._account.replaying = True
        try:
            await self._link.load_session(cwd=str(self._workspace.root), session_id=session)
        except (RequestError, ValueError):
            return None  # it has forgotten it: a new one, then
        finally:
            self._account.replaying = False
        return session

    async def _new(self) -> str:
        from acp import RequestError

        assert self._link is not None
        try:
            return (await self._link.new_session(cwd=str(self._workspace.root))).session_id
        except (RequestError, ValueError) as exc:
            if getattr(exc, "code", None) == _AUTH_REQUIRED:
                name = self._order.agent
                hint = f"Log in to {name} in a terminal, and start the work again"
                raise GaveUp(f"The agent {name} is not logged in", suggestions=[hint]) from None
            raise self._gave_up("did not open a session", exc) from None

    async def work(self, begun: StepValue) -> StepValue:
        from acp import RequestError, text_block

        link, session = self._link, begun["session"]
        assert link is not None
        text = brief(self._order, again=begun["again"], remembers=begun["loaded"])
        try:
            async with (
                asyncio.timeout(self._bounds.work_seconds),
                self._window.open(),
                asyncio.TaskGroup() as group,
            ):
                ask = group.create_task(_safely(link.prompt(session, [text_block(text)])))
                try:
                    answer = await asyncio.shield(ask)
                except asyncio.CancelledError:
                    await self._stop(session, ask)
                    raise
        except TimeoutError:
            raise self._gave_up("did not finish in time") from None
        if isinstance(answer, RequestError):
            raise self._gave_up("failed", answer)
        if isinstance(answer, Exception):
            raise self._gave_up(self._ended())
        return self._outcome(answer.stop_reason)

    async def _stop(self, session: str, ask: asyncio.Task[Any]) -> None:
        """It is told, and may put things in order; then it is ended like all it started."""
        assert self._link is not None
        self._window.dismiss()  # it may be waiting for a permission
        try:
            async with asyncio.timeout(self._bounds.stop_seconds):
                await self._link.cancel(session)
                await asyncio.wait({ask})
        except (TimeoutError, OSError):
            pass
        finally:
            ask.cancel()

    def _outcome(self, reason: str) -> StepValue:
        summary = self._account.summary
        if reason == "end_turn":
            return {"summary": told(summary, "It is done."), "files": self._account.files}
        words = {
            "max_tokens": "ran out of room for its answer",
            "max_turn_requests": "used all the steps it may take",
            "refusal": "refused to do it",
            "cancelled": "was stopped",
        }
        hints = [] if reason == "refusal" else ["Ask for a smaller part of it"]
        raise GaveUp(
            f"The agent {self._order.agent} {words.get(reason, 'stopped')}",
            tried=[told(summary, "", 300)] if summary else [],
            suggestions=hints,
        )

    def _ended(self) -> str:
        code = self._pipes.exit_code if self._pipes is not None else None
        told_ = fields(agent=self._order.agent, exit_code=code, output="\n".join(self._last_words))
        log.warning("An agent's process ended", extra=told_)
        return "ended unexpectedly" if code is None else f"ended unexpectedly, with code {code}"

    def _gave_up(self, what: str, cause: Exception | None = None) -> GaveUp:
        detail = f": {told(str(cause), '', 200)}" if cause is not None else ""
        return GaveUp(
            f"The agent {self._order.agent} {what}{detail}",
            tried=[told(self._account.summary, "", 300)] if self._account.summary else [],
            suggestions=[f"See whether {self._agent.command} works in a terminal"],
        )


class _Transport:
    """The SDK's `Transport`. Progress is taken out here, in the order in which it was sent: the
    SDK would check it against a schema that agents are ahead of."""

    def __init__(self, pipes: Piped, update: Callable[[Any], None]) -> None:
        self._pipes, self._update = pipes, update
        self._room = asyncio.Semaphore(MAX_REQUESTS)

    async def send(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._room.release()
        await self._pipes.send(json.dumps(message, separators=(",", ":")).encode())

    async def receive(self) -> dict[str, Any] | None:
        while (line := await self._pipes.line()) is not None:
            message: Any = None
            with contextlib.suppress(ValueError, RecursionError):  # a banner, a print
                message = json.loads(line)
            match message:
                case {"method": str(), "id": _}:
                    await self._room.acquire()
                    return dict(message)
                case {"method": "session/update", "params": {"update": update}}:
                    self._update(update)
                case {"method": _}:
                    pass  # a notification that is not for us
                case dict():
                    return message
        return None

    async def close(self) -> None:
        """The process is ended by whoever started it."""


async def _safely(asking: Any) -> Any:
    """An answer, or the failure as one: raised in a group it would take the rest with it."""
    from acp import RequestError

    try:
        return await asking
    except (RequestError, OSError, ValueError) as exc:
        return exc


class AcpBackend(Named[AcpAgent]):
    name, module, package = "acp", "acp", "agent-client-protocol"

    def __init__(
        self,
        agents: Mapping[str, AcpAgent],
        *,
        workspaces: Workspaces,
        bounds: Bounds | None = None,
    ) -> None:
        super().__init__(agents)
        self._workspaces = workspaces
        self._bounds = bounds or Bounds()

    def described(self, agent: AcpAgent) -> str:
        return f"A coding agent: {Path(agent.command).name}"

    def why_not(self, agent: AcpAgent) -> str:
        return (
            ""
            if found(agent, self._workspaces.root)
            else f"there is no command {agent.command} here"
        )

    async def work(self, work: Work, agent: AcpAgent, context: TaskContext) -> Done:
        async with AsyncExitStack() as stack:
            workspace = await asyncio.to_thread(self._workspaces.of, work.user_id)
            visit = Visit(work, agent, Window(context), workspace, self._bounds, stack)
            end = await attempted(context, visit.begin, visit.work)
        return Done(summary=end["summary"], files_changed=tuple(end["files"]))
