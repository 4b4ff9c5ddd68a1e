"""The doors of a whole server, called in-process: real but for the network in front and
the disk behind. The provider is the scripted one, over real HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.journeys.stage import settings_for
from tests.offers import OFFER
from tests.server.serving import until
from vivavoce.app.lifecycle import Server, running
from vivavoce.app.server import assemble, build_app
from vivavoce.runtime.ports import Clock, Store
from vivavoce.testing import MemoryStore, ScriptedCall, ScriptedProvider
from vivavoce.tools.functions import Tool
from vivavoce.tools.registry import Registry

SESSION_ID = re.compile(r"vs_\d{8}_\d{6}_[0-9a-f]{4,16}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
Json = dict[str, Any]


@dataclass
class Doors:
    provider: ScriptedProvider
    here: Server
    http: httpx.AsyncClient

    async def post(self, path: str, body: Any = None, **more: Any) -> Json:
        return answered(await self.http.post(path, json=body, **more))

    async def get(self, path: str, **more: Any) -> Json:
        return answered(await self.http.get(path, **more))

    async def patch(self, path: str, body: Any) -> Json:
        return answered(await self.http.patch(path, json=body))

    async def sdp(self, key: str, offer: str = OFFER) -> httpx.Response:
        headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
        return await self.http.post("/sdp", content=offer, headers=headers)

    async def connect(self, key: str) -> ScriptedCall:
        """`/sdp`, until the model is configured."""
        response = await self.sdp(key)
        assert response.status_code == 200, response.text
        call = await self.provider.next_call()
        await call.expect("session.update")
        return call

    async def talk(self, **wishes: Any) -> tuple[str, ScriptedCall]:
        """A session with its call."""
        opened = await self.post("/session", wishes)
        call = await self.connect(opened["client_secret"]["value"])
        await self.until(opened["session_id"], "session.started")
        return opened["session_id"], call

    async def updates(self, session_id: str, **query: Any) -> Json:
        headers = {"x-session-id": session_id}
        return await self.get("/session/pending_updates", headers=headers, params=query)

    async def events(self, session_id: str, kind: str) -> list[Json]:
        told = (await self.updates(session_id))["queued_updates"]
        return [update["data"] for update in told if update["event"] == kind]

    async def until(self, session_id: str, kind: str, count: int = 1) -> Json:
        """The event, once it has been told this often."""
        async with asyncio.timeout(40):
            while len(found := await self.events(session_id, kind)) < count:
                await asyncio.sleep(0.005)
        return found[count - 1]

    async def transcript(self, session_id: str) -> list[Json]:
        told: list[Json] = (await self.get(f"/sessions/{session_id}"))["transcript"]
        return told

    async def state(self, session_id: str) -> Json:
        return await self.get("/session", headers={"x-session-id": session_id})


@asynccontextmanager
async def doors(
    folder: Path,
    provider: ScriptedProvider | None = None,
    *,
    clock: Clock | None = None,
    store: Store | None = None,
    tools: Iterable[Tool] = (),
    **settings: Any,
) -> AsyncIterator[Doors]:
    async with provider or ScriptedProvider() as scripted:
        here = assemble(
            settings_for(scripted, folder, **settings),
            store=store or MemoryStore(),
            clock=clock,
        )
        assert isinstance(here.tools, Registry)
        for tool in tools:
            here.tools.add(tool)
        transport = httpx.ASGITransport(build_app(here))
        async with (
            running(here),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as http,
        ):
            yield Doors(scripted, here, http)


def answered(response: httpx.Response) -> Json:
    assert response.status_code < 300, response.text
    answer: Json = response.json()
    return answer


def refused(response: httpx.Response, status: int, code: str) -> Json:
    """The error, which has the one shape and tells nothing of the inside."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["error"]
    error: Json = body["error"]
    assert set(error) - {"details"} == {"code", "message", "request_id", "timestamp"}
    assert error["code"] == code, error
    assert error["request_id"] == response.headers["x-request-id"]
    assert MOMENT.fullmatch(error["timestamp"])
    assert "Traceback" not in response.text
    return error


async def soon(condition: Callable[[], object]) -> None:
    await until(condition)
