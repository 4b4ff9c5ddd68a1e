"""One session of the `openai` SDK, with every raw event held to the types to the letter."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection

from tests.engine.strict import strict

MODEL = "gpt-realtime"
_PIECE = 4_800
"""Bytes: 100 ms of sound."""


class Talk:
    """What was said to the server, and all it answered."""

    def __init__(self, connection: AsyncRealtimeConnection) -> None:
        self.connection = connection
        self.seen: list[dict[str, Any]] = []

    async def until(self, kind: str, seconds: float = 30.0, **fields: Any) -> dict[str, Any]:
        """Read on to the next event of this type with these fields; an unexpected error fails."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    event = await self.next()
                    if event["type"] == kind and fields.items() <= event.items():
                        return event
                    assert event["type"] != "error", event
        except TimeoutError:
            raise AssertionError(f"{kind} never came; saw {self.types()}") from None

    async def next(self) -> dict[str, Any]:
        raw = await self.connection.recv_bytes()
        event: dict[str, Any] = orjson.loads(raw)
        strict(event)
        self.connection.parse_event(raw)
        self.seen.append(event)
        return event

    def types(self) -> list[str]:
        return [event["type"] for event in self.seen]

    def all(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        return [e for e in self.seen if e["type"] == kind and fields.items() <= e.items()]

    # --- Saying -----------------------------------------------------------------------

    async def configure(self, **session: Any) -> dict[str, Any]:
        await self.connection.session.update(session={"type": "realtime", **session})  # type: ignore[arg-type]
        updated = await self.until("session.updated")
        settings: dict[str, Any] = updated["session"]
        return settings

    async def write(self, text: str) -> str:
        """The id of the new item."""
        part = {"type": "input_text", "text": text}
        item = {"type": "message", "role": "user", "content": [part]}
        await self.connection.conversation.item.create(item=item)  # type: ignore[arg-type]
        added = await self.until("conversation.item.done")
        name: str = added["item"]["id"]
        return name

    async def say(self, pcm: bytes) -> None:
        for start in range(0, len(pcm), _PIECE):
            piece = base64.b64encode(pcm[start : start + _PIECE]).decode()
            await self.connection.input_audio_buffer.append(audio=piece)

    async def answer(self) -> dict[str, Any]:
        """Ask for a response and take the whole of it."""
        await self.connection.response.create()
        return await self.response()

    async def response(self, seconds: float = 60.0) -> dict[str, Any]:
        done = await self.until("response.done", seconds)
        response: dict[str, Any] = done["response"]
        return response

    # --- Hearing ----------------------------------------------------------------------

    def sound(self, response_id: str) -> bytes:
        deltas = self.all("response.output_audio.delta", response_id=response_id)
        return b"".join(base64.b64decode(event["delta"]) for event in deltas)


def text_of(response: dict[str, Any]) -> str:
    """What a response says, written or spoken."""
    parts = [part for item in response["output"] for part in item.get("content", ())]
    return "".join(part.get("text") or part.get("transcript") or "" for part in parts)


def calls_of(response: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in response["output"] if item["type"] == "function_call"]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def share(expected: str, heard: str) -> float:
    """How many of the expected words were heard: ears and mouths are not perfect."""
    wanted, found = words(expected), words(heard)
    return sum(word in found for word in wanted) / len(wanted)


def in_order(kinds: Sequence[str], among: Sequence[str]) -> bool:
    """Do these come one after the other, whatever is between them?"""
    rest = iter(among)
    return all(kind in rest for kind in kinds)


@asynccontextmanager
async def talk(url: str, key: str, model: str = MODEL) -> AsyncIterator[Talk]:
    async with (
        AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client,
        client.realtime.connect(model=model) as connection,
    ):
        session = Talk(connection)
        await session.until("session.created")
        yield session
