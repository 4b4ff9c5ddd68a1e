"""What comes from a server, before the SDK sees it: counted, and rid of what would spoil the rest.

The SDK refuses a whole listing for one malformed tool and starts a task for
every notification. Here a bad tool is left out and told of, notifications that
come too fast are dropped, and a flood is the end of the connection.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

import anyio
from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    JSONRPCError,
    JSONRPCResponse,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import OutputKind, Picture, ToolOutput
from vivavoce.tools.mcp.schemas import plain_text

MAX_TOOLS = 100
MAX_COMPLAINTS = 20
_ANSWERS = (JSONRPCResponse, JSONRPCError)


class Flooded(Exception):
    """More came than anyone can read."""


class Pace:
    """`burst` at once and `rate` a second after that fit; `most` beyond, and it is a flood."""

    def __init__(self, rate: float = 500.0, burst: float = 1000.0, most: int = 10_000) -> None:
        self._rate, self._burst, self._most = rate, burst, most
        self._left, self._at, self._beyond = burst, 0.0, 0

    def fits(self) -> bool:
        """Raises `Flooded`."""
        now = asyncio.get_running_loop().time()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left == self._burst:
            self._beyond = 0
        if self._left >= 1:
            self._left -= 1
            return True
        self._beyond += 1
        if self._beyond > self._most:
            raise Flooded
        return False


class Sieve:
    """A read stream around another; `ended` once there is nothing more to come."""

    def __init__(
        self, inner: ReadStream[SessionMessage | Exception], heard: Callable[[str], None]
    ) -> None:
        self._inner, self._heard = inner, heard
        self._pace = Pace()
        self.ended = asyncio.Event()
        self.complaints: dict[str, None] = {}

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            while True:
                item = await self._inner.receive()
                answer = isinstance(item, SessionMessage) and isinstance(item.message, _ANSWERS)
                if self._pace.fits() or answer:
                    return self._cleaned(item)
        except Flooded:
            self._heard("sends more than anyone can read")
            self.ended.set()
            raise anyio.EndOfStream from None
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self.ended.set()
            raise

    def _cleaned(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            found = item.message.result.get("tools")
            if isinstance(found, list):
                item.message.result["tools"] = self._fit(found)
        return item

    def _fit(self, found: list[Any]) -> list[Any]:
        kept: list[Any] = []
        for tool in found:
            match tool:
                case {"name": str(name), "inputSchema": {"type": "object"} as schema} if name:
                    if len(kept) == MAX_TOOLS:
                        self._complain(f"more than {MAX_TOOLS} tools; the rest is left out")
                        break
                    # Without its outputSchema: we pass on text, and a wrong one spoils every call.
                    fit = {
                        k: tool[k] for k in ("title", "description") if isinstance(tool.get(k), str)
                    }
                    hints = tool.get("annotations")
                    if isinstance(hints, dict) and isinstance(hints.get("readOnlyHint"), bool):
                        fit["annotations"] = {"readOnlyHint": hints["readOnlyHint"]}
                    kept.append(fit | {"name": name, "inputSchema": schema})
                case {"name": str(name)}:
                    self._complain(f"tool '{plain_text(name, 64)}': its schema is no object's")
                case _:
                    self._complain("a tool without a name")
        return kept

    def _complain(self, words: str) -> None:
        if len(self.complaints) < MAX_COMPLAINTS:
            self.complaints[words] = None

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Sieve:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Sieve:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


# --- What a tool gave back ----------------------------------------------------------

MAX_BLOCKS = 200
MAX_PICTURES = 4
MAX_FAULT = 2000
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def output(result: CallToolResult) -> ToolOutput:
    """Raises `ToolFailed` with the tool's own words where it says that it failed."""
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
