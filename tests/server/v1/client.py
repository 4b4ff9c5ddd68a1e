"""The Conversations API as a client uses it, on top of `doors`."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import orjson

from tests.offers import OFFER
from tests.server.doors import Doors, Json
from vivavoce.testing import ScriptedCall

V1 = "/api/v1"
SESSIONS = f"{V1}/voice/session"
CONVERSATIONS = f"{V1}/conversations"
Told = tuple[str, Json, int | None]


async def sdp(d: Doors, session_id: str, key: str, offer: str = OFFER) -> httpx.Response:
    headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
    return await d.http.post(f"{SESSIONS}/{session_id}/sdp", content=offer, headers=headers)


async def connect(d: Doors, opened: Json) -> ScriptedCall:
    """The call of a session, until the model is configured."""
    response = await sdp(d, opened["session_id"], opened["ephemeral_key"])
    assert response.status_code == 200, response.text
    call = await d.provider.next_call()
    await call.expect("session.update")
    await d.until(opened["session_id"], "session.started")
    return call


async def talk(d: Doors, **body: Any) -> tuple[Json, ScriptedCall]:
    """A session with its call."""
    opened = await d.post(SESSIONS, body)
    return opened, await connect(d, opened)


async def told(d: Doors, session_id: str, **query: Any) -> list[Told]:
    """What is stored of a session's stream, and the end of it."""
    headers = query.pop("headers", {})
    params = {"follow": "false", "last_event_id": 0, **query}
    response = await d.http.get(f"{SESSIONS}/{session_id}/events", params=params, headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    return frames(response.text)


def frames(text: str) -> list[Told]:
    found: list[Told] = []
    for frame in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line[1:])
        if "event" in lines:
            position = int(lines["id"]) if "id" in lines else None
            found.append((lines["event"], orjson.loads(lines["data"]), position))
    return found


async def until(d: Doors, session_id: str, kind: str, count: int = 1) -> list[Told]:
    """Everything told, once there are this many of a kind."""
    async with asyncio.timeout(10):
        while True:
            every = await told(d, session_id)
            if sum(name == kind for name, _, _ in every) >= count:
                return every
            await asyncio.sleep(0.005)


async def messages(d: Doors, conversation_id: str, **query: Any) -> Json:
    return await d.get(f"{CONVERSATIONS}/{conversation_id}/messages", params=query)
