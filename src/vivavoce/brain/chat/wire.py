"""The bytes of a chat server's answer, as the chunks that are in them.

Everything has a largest size, since what is at the other end is not ours.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import httpx

from vivavoce.brain.chat import faults
from vivavoce.errors import BrainError

LONGEST_LINE = 4 * 2**20
LONGEST_REFUSAL = 64 * 2**10
LAST_BYTES = 0.25
"""Seconds for the end of a stream that is over, so that its connection can be used again."""


async def chunks(response: httpx.Response) -> AsyncGenerator[dict[str, Any] | None, None]:
    """The events of the stream, or the whole answer of a server that does not stream.

    None for the mark at the end.
    """
    if response.headers.get("content-type", "").startswith("application/json"):
        yield _parsed(await read(response, LONGEST_LINE))
        return
    async with aclosing(_lines(response)) as lines:
        async for line in lines:
            field, _, value = line.partition(b":")
            # `error:` is what some servers write where the events' field would be `data`.
            if field not in (b"data", b"error") or not value.strip():
                continue
            if value.strip() == b"[DONE]":
                await _to_the_end(lines)
                yield None
                return
            parsed = _parsed(value)
            yield parsed if field == b"data" else {"error": parsed.get("error", parsed)}


async def _to_the_end(lines: AsyncGenerator[bytes, None]) -> None:
    """Everything was said: if the end does not come now, only the connection is lost."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(LAST_BYTES):
            async for _ in lines:
                pass


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Split at line feeds only: a JSON string may hold any other kind of line's end."""
    held = b""
    async for piece in response.aiter_bytes():
        *lines, held = (held + piece).split(b"\n")
        if len(held) > LONGEST_LINE:
            raise BrainError(faults.GARBLED)
        for line in lines:
            yield line
    if held:
        yield held


def _parsed(text: bytes | str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        raise BrainError(faults.GARBLED) from None
    if not isinstance(parsed, dict):
        raise BrainError(faults.GARBLED)
    return parsed


async def read(response: httpx.Response, most: int) -> str:
    """An answer that is short, or the beginning of one that is not."""
    text = b""
    async for piece in response.aiter_bytes():
        text += piece
        if len(text) > most:
            break
    return text.decode(errors="replace")


def names(text: str) -> list[str]:
    try:
        listed = json.loads(text)["data"]
        return [str(entry["id"]) for entry in listed]
    except (ValueError, TypeError, LookupError):
        raise BrainError(faults.GARBLED) from None
