"""The same with sound: a client that speaks and listens, by WebSocket and by WebRTC, at the engine.

Owns the client's ears: how much of each answer came through to them. A client that loses its call
gets another one for the same session, and a user who gets no answer asks again.
"""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.engine.stage import loud, quiet
from tests.faults.page import Page, Refused
from tests.faults.proxy import TcpProxy, to_port
from tests.faults.talk import Played, kept
from tests.faults.world import QUICK, Note, World, counted, quick
from tests.journeys.embedded import embedded
from vivavoce.app import server
from vivavoce.app.settings import Settings
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.engine.api import realtime
from vivavoce.testing.engine import HummingMouth, ScriptedEars

Json = dict[str, Any]
MS = 5
"""Milliseconds a character takes."""
STORY = "Once upon a time there was a king who had a queen and a castle by the sea. " * 12
SCRIPT = Script(
    rules=(
        Rule(when=r"count (\S+)", calls=(ToolUse("count", {"what": "{1}"}),)),
        Rule(result_of="count", say="I have {output} for you."),
        Rule(when="story", say=STORY),
        Rule(when="ask", say="Here is the answer to that."),
    ),
    otherwise="Very well then.",
)


@dataclass
class Voice:
    """A call by WebSocket, which comes back. `came` is the sound of each answer, in ms."""

    page: Page
    link: TcpProxy
    ears: ScriptedEars
    came: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    """Answers that were told to their end."""
    begun: dict[str, float] = field(default_factory=dict)
    """When each is played from: after what came before it."""
    unplayed: set[str] = field(default_factory=set)
    whole: dict[str, str] = field(default_factory=dict)
    """The words of what was told to its end, by item."""
    cut: set[str] = field(default_factory=set)
    places: int = 0
    up: asyncio.Event = field(default_factory=asyncio.Event)
    _socket: ClientConnection | None = None
    _until: float = 0.0
    """When all that came has been played."""

    async def run(self) -> None:
        """Keeps the call up."""
        while "end" not in self.page.acknowledged:
            # Refused: it ended while the call was being placed.
            with suppress(OSError, TimeoutError, WebSocketException, Refused):
                await self._call()
            self._socket = None
            self.up.clear()
            await asyncio.sleep(0.05)
            with suppress(Refused):
                await self.page.new_key()

    async def _call(self) -> None:
        headers = {"authorization": f"Bearer {self.page.key}"}
        granted = await self.page.ask("POST", "/audio", headers=headers, fine=(401, 409))
        if granted.status_code >= 300:
            self.page.noted(f"voice: {granted.status_code} {granted.text[:120]}")
            return
        grant = granted.json()
        async with (
            connect(
                f"ws://127.0.0.1:{self.link.port}{grant['url']}",
                subprotocols=grant["protocols"],
                max_size=None,
                open_timeout=1.0,
                close_timeout=0.1,
                ping_interval=0.3,
                ping_timeout=0.5,
            ) as socket,
            asyncio.TaskGroup() as group,
        ):
            self._socket, self.places = socket, self.places + 1
            microphone = group.create_task(self._microphone(socket))
            try:
                with suppress(WebSocketException):
                    async for frame in socket:
                        self._heard(orjson.loads(frame))
            finally:
                self.page.noted(f"voice: the call is over: {socket.close_code}")
                microphone.cancel()

    async def _microphone(self, socket: ClientConnection) -> None:
        with suppress(WebSocketException):
            while True:
                await self._send(socket, quiet(40))
                await asyncio.sleep(0.04)

    async def _send(self, socket: ClientConnection, pcm: bytes) -> None:
        audio = base64.b64encode(pcm).decode()
        event = {"type": "input_audio_buffer.append", "audio": audio}
        await socket.send(orjson.dumps(event).decode())

    def _heard(self, event: Json) -> None:
        loop = asyncio.get_running_loop()
        match event["type"]:
            case "session.created":
                self.up.set()
            case "response.output_audio.delta":
                item = event["item_id"]
                if item not in self.cut:
                    came = len(base64.b64decode(event["delta"])) // 48
                    self.came[item] += came
                    self._until = max(self._until, loop.time()) + came / 1000
                    self.begun.setdefault(item, self._until - came / 1000)
            case "conversation.item.truncated":
                # What waited behind other sound was never played.
                if self.begun.get(event["item_id"], 0.0) > loop.time():
                    self.unplayed.add(event["item_id"])
                self._until = loop.time()
            case "response.output_audio_transcript.done":
                self.said.append(event["transcript"])
                self.whole[event["item_id"]] = event["transcript"]

    async def say(self, words: str) -> None:
        """Speech, and the silence that ends a turn."""
        await self.up.wait()
        socket = self._socket
        if socket is None:
            return
        self.ears.texts.clear()
        self.ears.texts.append(words)
        with suppress(WebSocketException):
            for item in list(self.came):
                await self._truncate(socket, item)
            await self._send(socket, loud(300) + quiet(700))

    async def _truncate(self, socket: ClientConnection, item: str) -> None:
        """Who speaks over an answer stops it, and says where."""
        now = asyncio.get_running_loop().time()
        played = int(max(0, min(self.came[item], 1000 * (now - self.begun[item]))))
        if item in self.cut or played >= self.came[item]:
            return
        self.cut.add(item)
        event = {
            "type": "conversation.item.truncate",
            "item_id": item,
            "content_index": 0,
            "audio_end_ms": played,
        }
        await socket.send(orjson.dumps(event).decode())


class Spoken(Played):
    """By WebSocket."""

    def __post_init__(self) -> None:
        super().__post_init__()
        link = self.world.links["voice"]
        assert isinstance(link, TcpProxy)
        self.voice = Voice(self.page, link, self.world.ears)
        self.asked: list[str] = []
        self.unseen: set[str] = set()

    def events(self) -> Sequence[Callable[[], Awaitable[object]]]:
        return (
            self.begins,
            self.calls,
            self.asks,
            self.writes,
            self.needs_tool,
            self.hears_a_story,
            self.cuts_in,
            self.ends,
        )

    async def beside(self) -> None:
        await self.page.until(lambda: self.page.key, "a key")
        await self.voice.run()

    async def calls(self) -> None:
        await self.page.until(lambda: self.page.all("session.started"), "session.started")

    async def _says(self, words: str, answer: str) -> None:
        """Until it is answered: who gets no answer says it again."""
        for tried in range(12):
            said = f"{words}-{tried}" if words.startswith("count") else words
            self.asked.append(said)
            await self.voice.say(said)
            with suppress(AssertionError):
                seen = partial(self._told, answer)
                await self.page.until(seen, answer, 1.5)
                return
        raise AssertionError(f"{words!r} was never answered")

    def _told(self, answer: str) -> bool:
        return any(answer in text for text in self.voice.said)

    async def asks(self) -> None:
        await self._says("may I ask something", "Here is the answer")

    async def writes(self) -> None:
        await self.page.write(self.name("ask in writing"))

    async def needs_tool(self) -> None:
        await self._says(f"count v{self.case.seed}", f"counted v{self.case.seed}")

    async def hears_a_story(self) -> None:
        before = len(self.voice.came)
        for _ in range(12):
            await self.voice.say("tell me a story")
            with suppress(AssertionError):
                await self.page.until(lambda: len(self.voice.came) > before, "sound", 1.5)
                return
        raise AssertionError("no story was heard")

    async def cuts_in(self) -> None:
        await asyncio.sleep(0.1)
        await self.voice.say("be quiet")
        with suppress(AssertionError):
            await self.page.until(lambda: self._told("Very well"), "", 1.5)

    async def ends(self) -> None:
        """Where the server's line may have been away to the very end, the page hands in what it
        heard whole and was not told of."""
        await super().ends()
        events = len(self.events())
        if self.case.link == "engine" and self.case.event(events) >= events - 2:
            await self.page.told_all()
            self.unseen = self.voice.came.keys() - self.page.lines.keys()
            for item in self.unseen:
                if item in self.voice.whole and item not in self.voice.cut:
                    words = self.voice.whole[item]
                    said = {"item_id": item, "entry_type": "assistant", "text": words}
                    await self.page.hand_in(said)

    async def wrong(self) -> list[str]:
        entries, wrong = await kept(self)
        # A model that is told on its next call what was said may ask for a tool again: that is
        # another call. Each runs once.
        made = Counter(
            str((entry.get("tool_arguments") or {}).get("what"))
            for entry in entries
            if entry["entry_type"] == "tool_call"
        )
        for what, ran in self.world.runs.items():
            if ran != made[what]:
                wrong.append(f"the tool for {what!r} ran {ran} times, for {made[what]} calls")
        stored = {entry.get("item_id") for entry in entries}
        whole = self.voice.whole.keys() - self.voice.cut
        lost = self.voice.came.keys() - self.voice.unplayed - stored - (self.unseen - whole)
        wrong += [f"{item} was heard and is not stored" for item in lost]
        for entry in entries:
            if entry["entry_type"] != "assistant" or entry.get("modality") == "text":
                continue
            came = self.voice.came[entry.get("item_id") or ""]
            claimed = len(entry["text"]) * MS
            if claimed > came + 3 * MS:
                marked = "estimated" if entry.get("heard_estimated") else "known"
                what = f"{entry['item_id']} {entry['text'][:40]!r}"
                wrong.append(f"{claimed} ms are {marked} to be heard of {what}, {came} came")
        return wrong

    def more(self) -> list[str]:
        return [*super().more(), f"sound: {dict(self.voice.came)}", f"told: {self.voice.said}"]


@asynccontextmanager
async def spoken(folder: Path, ms: int = MS) -> AsyncIterator[World]:
    """A server on its own engine, with a proxy before its API, one before its sound, and one
    between the server and the engine."""
    note, ears = Note(), ScriptedEars(otherwise="")
    links = {name: TcpProxy(to_port(1), name, noted=note) for name in ("client", "voice", "engine")}

    def by_way_of_the_proxy(settings: Settings) -> str:
        links["engine"].connect = to_port(settings.port)
        return f"http://127.0.0.1:{links['engine'].port}/v1"

    with (
        quick(),
        patch.object(realtime, "_STEADY", 0.0),
        patch.object(realtime, "_SILENT", 0.8),
        patch.object(server, "own_url", by_way_of_the_proxy),
    ):
        async with (
            links["engine"].running(),
            embedded(folder, script=SCRIPT, ears=ears, mouth=HummingMouth(ms), **QUICK) as st,
        ):
            made = World(st, links, ears=ears)
            note.world = made
            for link in links.values():
                link.connect = to_port(int(st.url.rpartition(":")[2]))
            counted(made)
            async with links["client"].running(), links["voice"].running():
                yield made
                for link in links.values():
                    link.heal()
