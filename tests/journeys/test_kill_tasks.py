"""`kill -9` while a task is being carried out, again and again, on the whole server.

It goes on after each restart; no finished step runs again; the result is told once.
"""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import connect

from tests.journeys.process import Server
from vivavoce.testing.provider import ScriptedProvider

LINES = 12
KILLS = 20
SCRIPT = rf"""
rules:
  - note: true
    when: 'is done\b.*instruction: (.*)'
    say: 'Good news: {{1}}'
  - result_of: bash
    when: '^Succeeded[\s\S]*\b{LINES} (\w+)$'
    call: {{done: {{summary: 'All lines are in {{1}}.'}}}}
  - result_of: bash
    when: '^Succeeded[\s\S]*?(\d+) (\w+)$'
    call: {{bash: {{command: 'sleep 0.5; echo after {{1}} >> {{2}}; wc -l {{2}}'}}}}
  - result_of: bash
    call: {{bash: {{command: 'wc -l $(ls -t | head -1); true'}}}}
  - when: write the lines to (\w+)
    call: {{bash: {{command: 'touch {{1}}; wc -l {{1}}'}}}}
opening: Hello.
"""
AGENT = "name: hands\napproval: {changes: allow}\nlimits: {executions_per_minute: 0}\n"


def folders(root: Path) -> dict[str, str]:
    work, agent = root / "work", root / "hands"
    work.mkdir()
    agent.mkdir()
    (agent / "agent.yaml").write_text(AGENT)
    (agent / "prompt.md").write_text("Be brief.")
    (root / "script.yaml").write_text(SCRIPT)
    return {
        "VIVAVOCE_PROVIDER_URL": "embedded",
        "VIVAVOCE_SCRIPT": str(root / "script.yaml"),
        "VIVAVOCE_AGENT": str(agent),
        "VIVAVOCE_WORKSPACE": str(work),
        "VIVAVOCE_EARS": "moonshine-tiny",  # what is there soonest after a restart
        "VIVAVOCE_MOUTH": "piper-joe",
    }


async def heard_in_a_call(server: Server, seconds: float) -> list[str]:
    """What a caller who says nothing hears."""
    said: list[str] = []
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        while (await http.get("/ready")).status_code != 200:
            await asyncio.sleep(0.1)
        session = (await http.post("/session")).json()
        key = session["client_secret"]["value"]
        opened = (await http.post("/audio", headers={"authorization": f"Bearer {key}"})).json()
    url = server.url.replace("http", "ws", 1) + opened["url"]
    async with connect(url, subprotocols=opened["protocols"], max_size=None) as line:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    event: dict[str, Any] = orjson.loads(await line.recv())
                    if event["type"] == "response.output_audio_transcript.done":
                        said.append(event["transcript"])
        except TimeoutError:
            pass
    return said


async def grown(out: Path) -> None:
    """Until another line is there, or it has been long enough."""
    before = out.read_text() if out.exists() else ""
    for _ in range(600):
        if (out.read_text() if out.exists() else "") != before:
            return
        await asyncio.sleep(0.05)


async def finished(server: Server, task_id: str) -> bool:
    async with httpx.AsyncClient(base_url=server.url, timeout=5) as http:
        try:
            return bool((await http.get(f"/tasks/{task_id}")).json()["status"] == "completed")
        except httpx.HTTPError:
            return False


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_twenty_kills_repeat_nothing_and_lose_nothing(tmp_path: Path) -> None:
    async with ScriptedProvider() as unused:
        server = Server(unused, tmp_path, **folders(tmp_path))
        await server.start()
        kills = tasks = 0
        while kills < KILLS:
            tasks += 1
            kills += await carried(server, tmp_path / "work" / f"out{tasks}", KILLS - kills)
        for number in range(1, tasks + 1):
            lines = (tmp_path / "work" / f"out{number}").read_text().splitlines()
            assert len(lines) == LINES
            assert len(set(lines)) == LINES, "a finished step ran again"
        heard = " ".join(await heard_in_a_call(server, 25))
        assert heard.count("Good news") >= 1
        assert await heard_in_a_call(server, 5) == []
        async with httpx.AsyncClient(base_url=server.url) as http:
            assert all(task["told"] for task in (await http.get("/tasks")).json()["tasks"])
        await server.stop(signal.SIGTERM)
        print(f"{kills} kills, {tasks} tasks")


async def carried(server: Server, out: Path, kills: int) -> int:
    """A task to its end, with so many kills on the way at most; how many there were."""
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        order = {"arguments": {"instruction": f"write the lines to {out.name}"}}
        told = await http.post("/execute/task", json=order)
        assert told.json()["success"], told.text
        task_id = (await http.get("/tasks")).json()["tasks"][0]["id"]
    killed = 0
    while not await finished(server, task_id):
        await grown(out)  # the models take seconds to load, and then it goes on
        await asyncio.sleep(random.uniform(0.0, 1.0))
        if killed < kills:
            await server.stop(signal.SIGKILL)
            await server.start()
            killed += 1
    return killed
