"""A talk with everything real: spoken questions, the default brain, our own tools, spoken answers.

Short, since it takes the brain's own time. Run by `make journey`.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.clients.serving import Served, serve
from tests.clients.voice import Voice

pytestmark = [pytest.mark.brain, pytest.mark.timeout(900)]

_PIECE = 960  # bytes: 20 ms
_SILENCE = bytes(_PIECE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with serve(folder, patience=600, VIVAVOCE_BRAIN="qwen-1.5b") as running:
        yield running


@pytest.fixture(scope="module")
def voice() -> Voice:
    return Voice()


class Caller:
    """Somebody at a microphone: silent, unless there is something to say."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._words: list[bytes] = []
        self.seen: list[dict[str, Any]] = []
        self._changed = asyncio.Event()

    async def microphone(self) -> None:
        """At the speed of sound, for as long as the call lasts."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            piece = self._words.pop(0) if self._words else _SILENCE
            audio = base64.b64encode(piece).decode()
            event = {"type": "input_audio_buffer.append", "audio": audio}
            await self._socket.send(orjson.dumps(event).decode())
            due += 0.02
            await asyncio.sleep(due - loop.time())

    async def listen(self) -> None:
        async for message in self._socket:
            self.seen.append(orjson.loads(message))
            self._changed.set()

    async def ask(self, pcm: bytes) -> tuple[str, bytes]:
        """What it answers, once it has nothing more to say: the words, and the sound."""
        first = len(self.seen)
        self._words += [
            pcm[at : at + _PIECE].ljust(_PIECE, b"\0") for at in range(0, len(pcm), _PIECE)
        ]
        # Of a new server the first answer waits until the brain has read how to understand.
        async with asyncio.timeout(400):
            while not self._answered(self.seen[first:]):
                self._changed.clear()
                await self._changed.wait()
        new = self.seen[first:]
        said = [e["transcript"] for e in new if e["type"].endswith("audio_transcript.done")]
        sound = [e["delta"] for e in new if e["type"] == "response.output_audio.delta"]
        return " ".join(said), b"".join(base64.b64decode(delta) for delta in sound)

    @staticmethod
    def _answered(seen: list[dict[str, Any]]) -> bool:
        """The last response made no call: whoever called a tool has more to say."""
        done = [event["response"] for event in seen if event["type"] == "response.done"]
        return bool(done) and all(item["type"] == "message" for item in done[-1]["output"])


@asynccontextmanager
async def calling(served: Served) -> AsyncIterator[tuple[Caller, httpx.AsyncClient, str]]:
    async with httpx.AsyncClient(base_url=served.origin, trust_env=False, timeout=30) as http:
        session = (await http.post("/session", json={})).json()
        key = session["client_secret"]["value"]
        opened = (await http.post("/audio", headers={"authorization": f"Bearer {key}"})).json()
        address = served.origin.replace("http", "ws", 1) + opened["url"]
        async with connect(address, subprotocols=opened["protocols"], max_size=None) as socket:
            caller = Caller(socket)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(c) for c in (caller.microphone(), caller.listen())]
                yield caller, http, session["session_id"]
                for task in tasks:
                    task.cancel()


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower())


async def test_it_understands_picks_the_tool_and_answers_aloud(
    served: Served, voice: Voice
) -> None:
    async with calling(served) as (caller, http, session_id):
        words, sound = await caller.ask(await voice.say("What time is it in Paris?"))
        heard = plain(await voice.hear(sound))
        shown = (await http.get(f"/sessions/{session_id}")).json()
        calls = [entry for entry in shown["transcript"] if "current_time" in str(entry)]
        assert calls, [entry.get("text") for entry in shown["transcript"]]
        assert "paris" in plain(words) or re.search(r"\d", words), words
        assert "paris" in heard or re.search(r"\d", heard), heard

        words, sound = await caller.ask(await voice.say("Thank you. How are you today?"))
        assert words
        assert plain(await voice.hear(sound)).split()
        shown = (await http.get(f"/sessions/{session_id}")).json()
        assert len([e for e in shown["transcript"] if "current_time" in str(e)]) == len(calls)
