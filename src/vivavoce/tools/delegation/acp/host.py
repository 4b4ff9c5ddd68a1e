"""What an ACP agent may ask of us while it works: permission, and files of the workspace.

Everything it asks for passes the desk's policy under the name of our own tool
that does the same, so that one rule holds for all agents. Terminals are not
offered: an agent runs commands itself, and asks for each.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vivavoce.errors import VivavoceError
from vivavoce.tools.delegation.acp.account import Account
from vivavoce.tools.delegation.narration import narrate, short
from vivavoce.tools.delegation.window import Closed, Window
from vivavoce.tools.workspace.root import Workspace
from vivavoce.tools.workspace.writing import write

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


class Host:
    """Fills the SDK's `Client`, as far as it is offered."""

    def __init__(self, name: str, workspace: Workspace, window: Window, account: Account) -> None:
        self._name = name
        self._workspace = workspace
        self._window = window
        self._account = account

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
        except (Closed, VivavoceError):
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = _option(options, yes)
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
