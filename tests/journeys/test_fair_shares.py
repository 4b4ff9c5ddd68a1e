"""One user takes what there is; another notices little of it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from uuid import uuid4

import httpx
import pytest

from tests.journeys.crowd import HALF_OPEN, STREAMS
from tests.journeys.process import Server
from tests.server.tokens import EVE, ISSUER, SECRET, bearer, token
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall

PASSES, ROUNDS, PROBES = 5, 12, 5
SYNCS = 17  # a round, at once
BEFORE = 3000  # entries of the conversation that is synced


class Crowd:
    """Somebody, in a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.answers: Counter[str] = Counter()

    def sync(self, count: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n".encode())

    async def line(self) -> bytes:
        assert self._process.stdout is not None
        async with asyncio.timeout(120):
            return await self._process.stdout.readline()


@asynccontextmanager
async def crowd(url: str, token: str, session_id: str) -> AsyncIterator[Crowd]:
    # Who attacks has cores of their own: what they spend is not the server's to give.
    process = await asyncio.create_subprocess_exec(
        *("nice", "-n", "15", sys.executable, "-m", "tests.journeys.crowd"),
        *(url, token, session_id),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        found = Crowd(process)
        assert await found.line() == b"ready\n"
        yield found
        assert process.stdin is not None
        process.stdin.close()
        found.answers.update(json.loads(await found.line()))
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def answering(call: ScriptedCall) -> None:
    while True:
        await call.expect("response.create", timeout=300)
        await call.assistant_says("Fine.")


@dataclass
class Times:
    probes: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)

    def beside(self, other: Times) -> tuple[float, float]:
        """How many times as long it took, in the middle."""
        pairs = ((self.probes, other.probes), (self.turns, other.turns))
        probes, turns = (median(ours) / median(theirs) for ours, theirs in pairs)
        return probes, turns


class Other:
    """Eve, who asks whether the server is well, and writes."""

    def __init__(self, http: httpx.AsyncClient, path: str) -> None:
        self._http, self._path = http, path

    async def turn(self) -> float:
        begun = time.perf_counter()
        response = await self._http.post(self._path, json={"content": "How are you?"})
        took = time.perf_counter() - begun
        assert response.json()["reply"]["content"] == "Fine.", response.text
        return took

    async def probe(self) -> float:
        begun = time.perf_counter()
        assert (await self._http.get("/health")).status_code == 200
        return time.perf_counter() - begun

    async def round(self, into: Times) -> None:
        into.probes += [await self.probe() for _ in range(PROBES)]
        into.turns.append(await self.turn())


async def long_talk(http: httpx.AsyncClient) -> str:
    """A session with a long conversation behind it."""
    session_id = str((await http.post("/sessions")).json()["session_id"])
    for start in range(0, BEFORE, 1000):
        said = [
            {"entry_type": "user", "text": f"Sentence {n}", "id": str(n)}
            for n in range(start, start + 1000)
        ]
        path = f"/sessions/{session_id}/transcript"
        assert (await http.post(path, json={"entries": said})).status_code == 200
    return session_id


@pytest.mark.full
async def test_half_open_connections_streams_and_syncs_of_one_leave_room_for_another(
    tmp_path: Path,
) -> None:
    settings = {
        "VIVAVOCE_AUTH": "jwt",
        "VIVAVOCE_JWT_SECRET": SECRET,
        "VIVAVOCE_JWT_ISSUER": ISSUER,
        "VIVAVOCE_USER_MESSAGES_PER_MINUTE": "0",  # Eve writes more than people do
    }
    found: list[tuple[float, float]] = []
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path, **settings)
        await server.start()
        try:
            async with (
                asyncio.timeout(600),
                httpx.AsyncClient(base_url=server.url, headers=bearer(EVE), timeout=60) as http,
                asyncio.TaskGroup() as group,
            ):
                of = (await http.post("/api/v1/conversations")).json()["id"]
                eve = Other(http, f"/api/v1/conversations/{of}/messages")
                first = group.create_task(eve.turn())
                answer = group.create_task(answering(await provider.next_call()))
                await first
                # What else the machine does makes either slower: one pass without it is enough.
                while len(found) < PASSES and (not found or max(found[-1]) > 2):
                    found.append(await one_pass(server.url, eve))
                answer.cancel()
        finally:
            await server.stop(signal.SIGTERM)
    print(f"probes and turns took so many times as long: {found}")
    assert max(found[-1]) <= 2, found


async def one_pass(url: str, eve: Other) -> tuple[float, float]:
    """How many times as long Eve's probes and turns take while somebody new takes what there is."""
    idle, crowded, user = Times(), Times(), str(uuid4())
    async with httpx.AsyncClient(base_url=url, headers=bearer(user), timeout=60) as http:
        session_id = await long_talk(http)
    for _ in range(ROUNDS):
        await eve.round(idle)
    async with crowd(url, token(user), session_id) as others:
        for _ in range(ROUNDS):
            others.sync(SYNCS)
            await eve.round(crowded)
    answers = others.answers
    assert (HALF_OPEN, STREAMS, ROUNDS * SYNCS) == (400, 60, 204)
    assert answers["syncs 200"] + answers["syncs 429"] == ROUNDS * SYNCS
    assert answers["syncs 429"] > 0
    assert answers["streams 429"] > 0
    return crowded.beside(idle)
