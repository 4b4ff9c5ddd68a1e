"""The tools of one server in the registry: which, under what names, what is wrong with them, what
they gave back as our models take it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from vivavoce.errors import ToolFailed, ToolNotFound
from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.runtime.ports import OutputKind, Picture, ToolContext, ToolDefinition, ToolOutput
from vivavoce.tools.functions import Tool
from vivavoce.tools.mcp import schemas
from vivavoce.tools.mcp.schemas import plain_text
from vivavoce.tools.registry import Registry

if TYPE_CHECKING:
    import mcp_types as t
    from mcp_types import CallToolResult, ImageContent

MAX_BLOCKS = 200
MAX_PICTURES = 4
MAX_FAULT = 2000
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def output(result: CallToolResult) -> ToolOutput:
    """Raises `ToolFailed` with the tool's own words where it says that it failed."""
    from mcp_types import ImageContent  # a fifth of a second, and only where there are servers

    texts: list[str] = []
    pictures: list[Picture] = []
    for block in result.content[:MAX_BLOCKS]:
        if isinstance(block, ImageContent) and (picture := _picture(block)) is not None:
            if len(pictures) < MAX_PICTURES:
                pictures.append(picture)
            else:
                texts.append("[one more picture, left out]")
        else:
            texts.append(_words(block))
    text = "\n".join(texts)
    if result.is_error:
        raise ToolFailed(plain_text(text, MAX_FAULT) or "The tool failed and did not say why")
    kind: OutputKind = "json" if result.structured_content is not None else "text"
    if not texts and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    if not text:
        text = f"{len(pictures)} picture{'s' if len(pictures) > 1 else ''}" if pictures else "Done."
    return ToolOutput(text, kind=kind, pictures=tuple(pictures))


def _picture(block: ImageContent) -> Picture | None:
    if block.mime_type not in PICTURES:
        return None
    try:
        base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Picture(block.mime_type, block.data)


def _words(block: Any) -> str:
    from mcp_types import (
        AudioContent,
        EmbeddedResource,
        ImageContent,
        ResourceLink,
        TextContent,
        TextResourceContents,
    )

    match block:
        case TextContent(text=text):
            return text
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case ResourceLink(name=name, uri=uri, description=description):
            about = f": {plain_text(description, 300)}" if description else ""
            return f"{plain_text(name, 200)} ({plain_text(str(uri), 500)}){about}"
        case EmbeddedResource(resource=resource):
            return f"[{plain_text(str(resource.uri), 500)}, not text]"
        case ImageContent(mime_type=kind) | AudioContent(mime_type=kind):
            return f"[{plain_text(kind, 60)}, cannot be shown]"
        case _:
            return "[something that cannot be shown]"


QUESTION_SECONDS = 180.0
"""What a question to the user may add to the time of a call."""

Caller = Callable[[str, bool, Mapping[str, Any], ToolContext], Awaitable[ToolOutput]]
"""The server's name of the tool, whether it changes anything, the arguments, who calls."""


class Listing:
    def __init__(self, config: McpServer, registry: Registry, call: Caller) -> None:
        self._config, self._registry, self._call = config, registry, call
        self._ours: dict[str, ToolDefinition] = {}
        """By the server's name of the tool."""
        self.problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._ours)

    def clear(self) -> None:
        for definition in self._ours.values():
            self._registry.remove(definition.name)
        self._ours.clear()

    async def update(self, found: Sequence[t.Tool], complaints: Iterable[str] = ()) -> None:
        """Make the registry say what the server says now; what stayed the same is not touched."""
        wanted = self._config.tools
        problems = dict.fromkeys(complaints)
        tools = {tool.name: tool for tool in found if wanted is None or tool.name in wanted}
        for name in wanted or ():
            if name not in tools:
                problems[f"there is no tool '{name}'"] = None
        # Off the loop: a hundred schemas take a hundred times some milliseconds.
        checked = await asyncio.to_thread(_checked, self._config, list(tools.values()), problems)
        for gone in [name for name in self._ours if name not in checked]:
            self._registry.remove(self._ours.pop(gone).name)
        for name, definition in checked.items():
            if (problem := self._put(name, definition)) is not None:
                problems[problem] = None
        self.problems = tuple(problems)

    def _put(self, tool: str, definition: ToolDefinition) -> str | None:
        old = self._ours.get(tool)
        if old is not None and replace(definition, name=old.name) == old:
            return None
        try:
            name = old.name if old else schemas.tool_name(self._config.name, tool, self._taken)
            if old is not None:
                self._registry.remove(name)
            named = replace(definition, name=name)
            self._registry.add(
                Tool(
                    named,
                    partial(self._call, tool, named.changes),
                    lambda given: f"Asking {self._config.name}: {tool[:64]}",
                )
            )
        except ValueError as exc:
            return str(exc)
        self._ours[tool] = named
        return None

    def _taken(self, name: str) -> bool:
        try:
            self._registry.definition(name)
        except ToolNotFound:
            return False
        return True


def _checked(
    config: McpServer, tools: Sequence[t.Tool], problems: dict[str, None]
) -> dict[str, ToolDefinition]:
    """Their definitions, not yet named; those that are no good go to the problems."""
    fine: dict[str, ToolDefinition] = {}
    for tool in tools:
        try:
            fine[tool.name] = _definition(config, tool)
        except ValueError as exc:
            problems[str(exc)] = None
    return fine


def _definition(config: McpServer, tool: t.Tool) -> ToolDefinition:
    shown = schemas.plain_text(tool.name, 64)
    words = schemas.plain_text(tool.description or tool.title or shown, schemas.MAX_DESCRIPTION)
    hints = tool.annotations
    return ToolDefinition(
        name="",
        description=words,
        parameters=schemas.parameters(shown, tool.input_schema),
        category="mcp",
        timeout=config.timeout + QUESTION_SECONDS,
        # A hint, and believed only where it makes us more careful or is harmless to get wrong:
        # it decides whether a call may be run again, never whether it is allowed.
        changes=not (hints is not None and hints.read_only_hint is True),
    )
