"""A whole server on loopback beside a scripted provider, and a client that watches.

Everything is real but the provider's mind: HTTP, SSE, WebSocket, SQLite.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import uvicorn

from tests.offers import OFFER
from vivavoce.app.listen import Listener, bind, listener_config
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.server.services import Services
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall


@dataclass
class Watcher:
    """An SSE client that keeps everything it saw."""

    seen: list[tuple[str, dict[str, Any], int | None]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def types(self, *, durable: bool = True) -> list[str]:
        return [kind for kind, _, position in self.seen if position or not durable]

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [data for name, data, _ in self.seen if name == kind]

    @property
    def last_id(self) -> int:
        return max((position for _, _, position in self.seen if position), default=0)

    async def until(self, done: Callable[[], bool], seconds: float = 40.0) -> None:
        """Wait for a condition on what was seen."""
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"never came; saw {self.types(durable=False)}") from None

    async def wait_for(self, kind: str, count: int = 1) -> dict[str, Any]:
        await self.until(lambda: len(self.all(kind)) >= count)
        return self.all(kind)[count - 1]

    async def read(self, response: httpx.Response) -> None:
        async for kind, data, position in frames(response):
            self.seen.append((kind, data, position))
            self.changed.set()


async def frames(
    response: httpx.Response,
) -> AsyncIterator[tuple[str, dict[str, Any], int | None]]:
    """The events of a stream, as the standard reads them."""
    kind, data, position = "message", "", None
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        match name:
            case "event":
                kind = value
            case "data":
                data += value
            case "id":
                position = int(value)
            case "" if data:
                yield kind, orjson.loads(data), position
                kind, data, position = "message", "", None
            case _:
                pass


@dataclass
class Stage:
    provider: ScriptedProvider
    here: Services
    url: str
    http: httpx.AsyncClient
    group: asyncio.TaskGroup
    listener: Listener

    async def post(self, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        response = await self.http.post(path, json=body, **more)
        assert response.status_code < 300, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def get(self, path: str, **more: Any) -> dict[str, Any]:
        response = await self.http.get(path, **more)
        assert response.status_code < 300, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def connect(self, key: str) -> ScriptedCall:
        """`/sdp`, and the provider's side of the call."""
        response = await self.http.post(
            "/sdp",
            content=OFFER,
            headers={"content-type": "application/sdp", "authorization": f"Bearer {key}"},
        )
        assert response.status_code == 200, response.text
        call = await self.provider.next_call()
        await call.attached()
        return call

    async def talk(self, **wishes: Any) -> tuple[dict[str, Any], ScriptedCall, Watcher]:
        """A session with its call, watched from the beginning."""
        session = await self.post("/session", wishes)
        watcher = await self.watch(session["session_id"])
        call = await self.connect(session["client_secret"]["value"])
        await watcher.wait_for("session.started")
        return session, call, watcher

    async def watch(self, session_id: str, *, after: int | None = None, **query: Any) -> Watcher:
        watcher = Watcher()
        opened = asyncio.Event()
        headers = {"x-session-id": session_id}
        if after is not None:
            headers["last-event-id"] = str(after)

        async def read() -> None:
            async with self.http.stream(
                "GET", "/events", headers=headers, params=query, timeout=None
            ) as response:
                assert response.status_code == 200, await response.aread()
                opened.set()
                with suppress(httpx.RemoteProtocolError):  # the server is going down
                    await watcher.read(response)

        self.group.create_task(read())
        await opened.wait()
        return watcher


def settings_for(provider: ScriptedProvider, folder: Path, **more: Any) -> Settings:
    values: dict[str, Any] = {
        "port": 0,
        "data_dir": folder,
        "provider_url": provider.base_url,
        "api_key": provider.key,
        "model": "gpt-realtime",
        "time_zone": "Europe/Rome",
        "workspace": folder,
        "shutdown_seconds": 2.0,
        "fallbacks": ("none",),
        "_env_file": None,
        **more,
    }
    if values["fallbacks"] is None:  # as the agent's file has it: what is set comes before that
        del values["fallbacks"]
    return Settings(**values)


@asynccontextmanager
async def stage(
    folder: Path, provider: ScriptedProvider | None = None, **more: Any
) -> AsyncIterator[Stage]:
    """Up, and down again in order."""
    async with provider or ScriptedProvider() as scripted:
        settings = settings_for(scripted, folder, **more)
        here = assemble(settings)
        bound = bind(settings)
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        listener = Listener(listener_config(build_app(here), settings), here)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(_serve(listener, bound))
            while not listener.started and not serving.done():
                await asyncio.sleep(0.01)
            async with httpx.AsyncClient(base_url=url, timeout=30.0) as http:
                try:
                    yield Stage(scripted, here, url, http, group, listener)
                finally:
                    listener.should_exit = True
                    await serving


async def _serve(listener: uvicorn.Server, bound: Any) -> None:
    """Without uvicorn's own signal handling: the test process has its own."""
    await listener._serve([bound])
