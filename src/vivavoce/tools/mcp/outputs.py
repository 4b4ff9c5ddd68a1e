"""What an MCP tool gave back, as our models take it: text and pictures. No I/O."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import OutputKind, Picture, ToolOutput
from vivavoce.tools.mcp.schemas import plain_text

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
