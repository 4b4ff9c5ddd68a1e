"""What an ACP agent may ask of us while it works (permission, files of the workspace), and what it
tells of its work (progress, its last words, changed files).

Everything it asks for passes the policy under the name of our own tool that
does the same, so that one rule holds for all agents. Terminals are not
offered: an agent runs commands itself, and asks for each. Updates are read as
plain JSON, since agents send kinds that no schema knows yet.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vivavoce.errors import VivavoceError
from vivavoce.tools.delegation.narration import narrate, short
from vivavoce.tools.delegation.window import Closed, Window
from vivavoce.tools.workspace.root import Workspace
from vivavoce.tools.workspace.writing import write
from vivavoce.wire.values import Value

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


if TYPE_CHECKING:
    from acp import (
        CreateTerminalResponse,
        ReadTextFileResponse,
        RequestPermissionResponse,
        WriteTextFileResponse,
    )
    from acp.schema import PermissionOption, ToolCallUpdate

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
