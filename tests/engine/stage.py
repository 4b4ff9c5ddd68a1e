"""The whole engine on a real port, with ears and a mouth that need no models.

HTTP, WebSocket, turn machine and protocol are real; every event that leaves
is held to the SDK's types.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import orjson
from starlette.applications import Starlette
from starlette.routing import Mount
from websockets.asyncio.client import ClientConnection, connect

from tests.engine import strictly  # noqa: F401
from tests.engine.strict import strict
from tests.server.serving import serving
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.engine.api.control import Engine, EngineOptions
from vivavoce.engine.api.keys import Keys
from vivavoce.engine.api.realtime import build_door
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn.endpoint import SILENCES
from vivavoce.testing.engine import HummingMouth, LoudnessDetector, ScriptedEars, SureJudge
from vivavoce.wire.brain import Brain
from vivavoce.wire.realtime.events import held

OWN_KEY = "vv_own"
KEY = "sk-user"
SPEECH_MS = 600
SILENCE_MS = max(one.unsure for ending, one in SILENCES.items() if ending != "unfinished") + 50
"""Ends a turn of whole words, however little the judge and the words settle it. A microphone that
stops sooner leaves the turn open, as it should."""


def loud(ms: int) -> bytes:
    """PCM16 at 24 kHz that the detector takes for speech."""
    wave = np.sin(np.arange(ms * 24) * 0.2) * 8000
    return bytes(wave.astype("<i2").tobytes())


def quiet(ms: int) -> bytes:
    return bytes(ms * 48)


@dataclass
class Line:
    """A WebSocket client that keeps what it saw."""

    socket: ClientConnection
    seen: list[dict[str, Any]] = field(default_factory=list)

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send(orjson.dumps({"type": kind, **fields}).decode())

    async def next(self, seconds: float = 30.0) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            event: dict[str, Any] = orjson.loads(await self.socket.recv())
        if event["type"].startswith("vivavoce."):  # to our own server alone
            held(event)
        else:
            strict(event)
        self.seen.append(event)
        return event

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        try:
            while True:
                event = await self.next()
                if event["type"] == kind and fields.items() <= event.items():
                    return event
        except TimeoutError:
            raise AssertionError(f"{kind} never came; saw {self.types()}") from None

    async def configure(self, **session: Any) -> dict[str, Any]:
        await self.send("session.update", session={"type": "realtime", **session})
        updated: dict[str, Any] = (await self.until("session.updated"))["session"]
        return updated

    async def write(self, text: str) -> str:
        part = {"type": "input_text", "text": text}
        item = {"type": "message", "role": "user", "content": [part]}
        await self.send("conversation.item.create", item=item)
        done = await self.until("conversation.item.done")
        return str(done["item"]["id"])

    async def append(self, pcm: bytes, piece: int = 4800) -> None:
        for start in range(0, len(pcm), piece):
            audio = base64.b64encode(pcm[start : start + piece]).decode()
            await self.send("input_audio_buffer.append", audio=audio)

    async def speak(self, ms: int = SPEECH_MS, *, silence: int = SILENCE_MS) -> None:
        """So much speech, and the silence that ends a turn."""
        await self.append(loud(ms) + quiet(silence))

    async def answer(self, **params: Any) -> dict[str, Any]:
        await self.send("response.create", **({"response": params} if params else {}))
        done: dict[str, Any] = (await self.until("response.done"))["response"]
        return done

    def types(self) -> list[str]:
        return [event["type"] for event in self.seen]

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.seen if event["type"] == kind]


@dataclass
class EngineStage:
    origin: str
    engine: Engine
    ears: ScriptedEars
    mouth: HummingMouth
    http: httpx.AsyncClient
    stack: AsyncExitStack

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    async def line(
        self,
        query: str = "model=vivavoce",
        *,
        key: str | None = KEY,
        protocols: list[str] | None = None,
        greeted: bool = True,
    ) -> Line:
        address = f"{self.url.replace('http', 'ws', 1)}/realtime?{query}"
        headers = {"Authorization": f"Bearer {key}"} if key and not protocols else {}
        socket = await self.stack.enter_async_context(
            connect(
                address,
                additional_headers=headers,
                subprotocols=protocols,  # type: ignore[arg-type]
                max_size=None,
                close_timeout=0.5,  # who leaves in the middle does not wait for the rest
            )
        )
        line = Line(socket)
        if greeted:
            await line.until("session.created")
        return line

    async def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, key: str | None = KEY
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return await self.http.post(f"{self.url}{path}", json=body, headers=headers)


@asynccontextmanager
async def engine_server(
    *,
    brain: Brain | None = None,
    script: Script | None = None,
    ears: ScriptedEars | None = None,
    mouth: HummingMouth | None = None,
    judge: SureJudge | None = None,
    options: EngineOptions | None = None,
    ready: bool = True,
    single_use: bool = False,
    crowded: Callable[[], str | None] = lambda: None,
) -> AsyncIterator[EngineStage]:
    ears, mouth = ears or ScriptedEars(), mouth or HummingMouth(10)
    keys = Keys(OWN_KEY, token=KEY, single_use=single_use)
    engine = Engine(options or EngineOptions(), keys)
    parts = Parts(
        ears=ears,
        mouth=mouth,
        brain=brain or ScriptedBrain(script or Script()),
        judge=judge or SureJudge(),
        detector=LoudnessDetector,
        crowded=crowded,
    )
    if ready:
        engine.provide(parts)
    app = Starlette(routes=[Mount("/v1", build_door(engine))])
    async with (
        engine.running(),
        serving(app) as served,
        httpx.AsyncClient(trust_env=False) as http,
        AsyncExitStack() as stack,
    ):
        origin = f"http://127.0.0.1:{served.port}"
        yield EngineStage(origin, engine, ears, mouth, http, stack)
