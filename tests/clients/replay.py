"""Plays what a client once said to an engine, and holds the engine to what it once answered.

Owns the connections of one scene. It needs neither the client nor a model.
"""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from tests.clients import frames
from tests.clients.frames import APPEND, KEY, OFFER, Names, Step, kind_of
from tests.engine.stage import loud, quiet
from tests.engine.strict import strict
from tests.journeys.embedded import Browser

_WAIT = 10.0


@dataclass
class _Connection:
    socket: ClientConnection
    ahead: Counter[str] = field(default_factory=Counter)
    """Came before it was asked for."""
    seen: list[str] = field(default_factory=list)


@dataclass
class Replay:
    origin: str
    key: str
    http: httpx.AsyncClient
    stack: AsyncExitStack
    events: list[dict[str, Any]] = field(default_factory=list)
    """All that the engine sent."""
    _names: Names = field(default_factory=Names)
    _connections: dict[int, _Connection] = field(default_factory=dict)
    _sound_ms: Counter[str] = field(default_factory=Counter)
    """How much of each item came."""
    _caller: Browser | None = None

    async def play(self, steps: Sequence[Step]) -> None:
        for number, step in enumerate(steps):
            try:
                await self._step(step)
            except BaseException as fault:
                fault.add_note(f"in step {number}: {orjson.dumps(step).decode()[:2000]}")
                raise

    async def _step(self, step: Step) -> None:
        match step:
            case {"open": int(number)}:
                await self._open(number, step)
            case {"send": int(number)}:
                await self._send(number, self._fitted(self._names.show(step["frame"])))
            case {"sound": int(number)}:
                await self._sound(number, step)
            case {"expect": int(number)}:
                await self._expect(number, step["events"])
            case {"close": int(number)}:
                await self._connections[number].socket.close()
            case {"cut": int(number)}:
                self._connections[number].socket.transport.abort()
            case {"ask": str(method)}:
                await self._ask(method, step)
            case {"say": int(ms)}:
                assert self._caller, "nobody is on a call"
                self._caller.microphone.speak(ms / 1000)
            case _:
                raise AssertionError("no such step")

    async def _open(self, number: int, step: Step) -> None:
        address = f"{self.origin.replace('http', 'ws', 1)}{step['path']}"
        protocols = [Subprotocol(self._shown(name)) for name in step.get("protocols", ())]
        opening = connect(
            f"{address}?{self._names.show(step['query'])}",
            additional_headers=self._headers(step),
            subprotocols=protocols or None,
            max_size=None,
            proxy=None,
            close_timeout=0.5,
        )
        if refused := step.get("refused"):
            with pytest.raises(InvalidStatus) as refusal:
                await opening
            assert refusal.value.response.status_code == refused
            return
        socket = await self.stack.enter_async_context(opening)
        self._connections[number] = _Connection(socket)

    async def _send(self, number: int, frame: dict[str, Any]) -> None:
        self._names.sent(frame)
        await self._connections[number].socket.send(orjson.dumps(frame).decode())

    def _fitted(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Nobody heard more of an answer than there is of it here."""
        if frame["type"] == "conversation.item.truncate":
            most = self._sound_ms[frame["item_id"]]
            return frame | {"audio_end_ms": min(frame["audio_end_ms"], most)}
        return frame

    async def _sound(self, number: int, step: Step) -> None:
        pcm = b"".join(loud(ms) if kind == "speech" else quiet(ms) for kind, ms in step["parts"])
        for start in range(0, len(pcm), step["bytes"]):
            audio = base64.b64encode(pcm[start : start + step["bytes"]]).decode()
            await self._send(number, {"type": APPEND, "audio": audio})

    async def _expect(self, number: int, kinds: Sequence[str]) -> None:
        connection, wanted = self._connections[number], Counter(kinds)
        early = wanted & connection.ahead
        wanted, connection.ahead = wanted - early, connection.ahead - early
        try:
            async with asyncio.timeout(_WAIT):
                while wanted:
                    kind = await self._next(connection)
                    if kind in wanted:
                        wanted -= Counter([kind])
                    elif not kind.endswith(".delta"):
                        assert not kind.startswith("error "), self.events[-1]
                        connection.ahead[kind] += 1
        except TimeoutError:
            missing, seen = sorted(wanted.elements()), connection.seen
            raise AssertionError(f"never came: {missing}; it saw {seen}") from None

    async def _next(self, connection: _Connection) -> str:
        event: dict[str, Any] = orjson.loads(await connection.socket.recv())
        strict(event)
        self.events.append(event)
        self._names.got(event)
        kind = kind_of(event)
        if kind == "response.output_audio.delta":
            self._sound_ms[event["item_id"]] += len(base64.b64decode(event["delta"])) // 48
        connection.seen.append(kind)
        return kind

    async def _ask(self, method: str, step: Step) -> None:
        form, body = step.get("form", []), step.get("body")
        called = OFFER in [body, *(text for _, _, text in form)]
        offer = await self._call() if called else ""
        query = f"?{step['query']}" if step["query"] else ""
        answer = await self.http.request(
            method,
            f"{self.origin}{self._names.show(step['path'])}{query}",
            headers=self._headers(step),
            content=body and body.replace(OFFER, offer),
            files=[(n, (None, text.replace(OFFER, offer), kind)) for n, kind, text in form] or None,
        )
        assert answer.status_code == step["status"], answer.text
        for kind, found in frames.told(answer.headers, answer.content):
            self._names.add(kind, found)
        if called and self._caller:
            await self._caller.accept(answer.text)
            await self._caller.until("session.created")

    async def _call(self) -> str:
        """A browser of our own takes the place of the one that was recorded."""
        self._caller = Browser()
        self.stack.push_async_callback(self._caller.connection.close)
        return await self._caller.offer()

    def _headers(self, step: Step) -> dict[str, str]:
        return {name: self._shown(value) for name, value in step["headers"].items()}

    def _shown(self, value: str) -> str:
        shown: str = self._names.show(value.replace(KEY, self.key))
        return shown
