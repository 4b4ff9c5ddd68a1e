"""One call of the Conversations API, spoken: a microphone, a loudspeaker and the event stream.

The microphone is quicker than sound, since the engine counts what it is sent and not the
time it takes. The loudspeaker is not: what is spoken over was not heard.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
from websockets.asyncio.client import ClientConnection, connect

from tests.server.v1.client import SESSIONS, frames

Json = dict[str, Any]

_PIECE = 4_800  # bytes: 100 ms
_QUICKER = 6
_BEFORE, _AFTER = 3, 100  # pieces of silence: ahead of the words, and at most behind them
_PATIENCE = 180.0  # seconds for an answer: the brain may be a real one on a busy machine


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered to one thing said."""

    text: str
    sound: bytes
    calls: tuple[str, ...]
    """The tools that were called on the way."""


@dataclass(slots=True)
class Visit:
    """One voice session, as its client saw it."""

    opened: Json
    greeting: Reply | None = None
    replies: list[Reply] = field(default_factory=list)
    told: list[tuple[str, Json]] = field(default_factory=list)
    """Events of the stream: kind and data."""
    told_by_call: list[Json] = field(default_factory=list)

    def events(self, kind: str) -> list[Json]:
        return [data for name, data in self.told if name == kind]


class Caller:
    """Somebody at a microphone who lets the other one finish."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._changed = asyncio.Event()
        self._taken = 0
        self._play_until = 0.0
        self.seen: list[Json] = []

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        async for message in self._socket:
            event = orjson.loads(message)
            if event["type"] == "response.output_audio.delta":
                seconds = len(base64.b64decode(event["delta"])) / 48_000
                self._play_until = max(self._play_until, loop.time()) + seconds
            self.seen.append(event)
            self._changed.set()

    async def say(self, pcm: bytes) -> Reply:
        silence = bytes(_PIECE)
        words = [pcm[at : at + _PIECE].ljust(_PIECE, b"\0") for at in range(0, len(pcm), _PIECE)]
        heard = len(self.seen)
        for piece in [silence] * _BEFORE + words:
            await self._send(piece)
        for _ in range(_AFTER):
            await self._send(silence)
            if any(e["type"] == "input_audio_buffer.committed" for e in self.seen[heard:]):
                return await self.reply()
        raise AssertionError(f"it did not hear the end of it; saw {self._kinds(heard)}")

    async def _send(self, piece: bytes) -> None:
        audio = base64.b64encode(piece).decode()
        await self._socket.send(
            orjson.dumps({"type": "input_audio_buffer.append", "audio": audio}).decode()
        )
        await asyncio.sleep(0.1 / _QUICKER)

    async def reply(self) -> Reply:
        """All that is said until it has nothing more to say, once the last of it was heard."""
        first = self._taken
        try:
            async with asyncio.timeout(_PATIENCE):
                while not _answered(self.seen[first:]):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"no answer; saw {self._kinds(first)}") from None
        self._taken = len(self.seen)
        await asyncio.sleep(max(0.0, self._play_until - asyncio.get_running_loop().time()))
        return _reply(self.seen[first : self._taken])

    def _kinds(self, first: int) -> list[str]:
        return [event["type"] for event in self.seen[first:] if "delta" not in event["type"]]


def _answered(seen: list[Json]) -> bool:
    """The last response made no call, and knew what came of those before: "One moment" does not."""
    done = [event["response"] for event in seen if event["type"] == "response.done"]
    output = done[-1]["output"] if done else []
    if not output or any(item["type"] != "message" for item in output):
        return False
    calls = {i["call_id"] for r in done for i in r["output"] if i["type"] == "function_call"}
    for event in seen:
        if event["type"] == "response.created" and event["response"]["id"] == done[-1]["id"]:
            break
        item = event.get("item", {})
        if item.get("type") == "function_call_output":
            calls.discard(item["call_id"])
    return not calls


def _reply(seen: list[Json]) -> Reply:
    done = [event["response"] for event in seen if event["type"] == "response.done"]
    items = [item for response in done for item in response["output"]]
    said = [part["transcript"] for item in items for part in item.get("content", ())]
    sound = [e["delta"] for e in seen if e["type"] == "response.output_audio.delta"]
    return Reply(
        " ".join(said),
        b"".join(base64.b64decode(delta) for delta in sound),
        tuple(item["name"] for item in items if item["type"] == "function_call"),
    )


@asynccontextmanager
async def visiting(
    http: httpx.AsyncClient, user: Mapping[str, str], **wishes: Any
) -> AsyncIterator[tuple[Caller, Visit]]:
    """A session from its first event to its last, ended the way a page ends it (seed 004 §5.8)."""
    opened = await _open(http, user, wishes)
    visit = Visit(opened)
    key = {"authorization": f"Bearer {opened['ephemeral_key']}"}
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(_watch(http, user, visit))
        audio = _answer(await http.post("/audio", headers=key))
        address = str(http.base_url.copy_with(scheme="ws")).rstrip("/") + audio["url"]
        async with connect(address, subprotocols=audio["protocols"], max_size=None) as socket:
            caller = Caller(socket)
            listening = group.create_task(caller.listen())
            try:
                yield caller, visit
            except BaseException:
                watching.cancel()
                raise
            finally:
                listening.cancel()
        visit.told_by_call = caller.seen
        ended = await http.delete(f"{SESSIONS}/{opened['session_id']}", headers=user)
        assert ended.status_code == 204, ended.text
        async with asyncio.timeout(30):
            await watching


async def _open(http: httpx.AsyncClient, user: Mapping[str, str], wishes: Json) -> Json:
    """A machine that has all it can do says when to come again."""
    async with asyncio.timeout(_PATIENCE):
        while (answer := await http.post(SESSIONS, json=wishes, headers=user)).status_code == 503:
            await asyncio.sleep(answer.json()["error"]["details"]["retry_after_ms"] / 1000)
    return _answer(answer)


async def _watch(http: httpx.AsyncClient, user: Mapping[str, str], visit: Visit) -> None:
    """The stream of a session, until it says that the session ended."""
    path = f"{SESSIONS}/{visit.opened['session_id']}/events"
    after = {"last_event_id": visit.opened["last_event_id"]}
    async with http.stream("GET", path, params=after, headers=user, timeout=None) as stream:
        assert stream.status_code == 200
        left = ""
        async for text in stream.aiter_text():
            *whole, left = (left + text).split("\n\n")
            visit.told += [(kind, data) for one in whole for kind, data, _ in frames(one)]
            if any(kind == "session_ended" for kind, _ in visit.told):
                return


def _answer(response: httpx.Response) -> Json:
    assert response.status_code < 300, response.text
    answer: Json = response.json()
    return answer
