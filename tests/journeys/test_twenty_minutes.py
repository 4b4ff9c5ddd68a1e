"""A long talk leaves nothing behind: no memory, no files, no tasks."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from bench.engine.call import by_call
from bench.engine.client import Line, by_socket
from bench.engine.questions import PLAIN, Question, made
from bench.engine.server import Family, Server, serving
from bench.engine.turn import Turn, ask

from tests.engine.stage import engine_server

MINUTES = float(os.environ.get("VIVAVOCE_TALK_MINUTES", "20"))
SAMPLE_SECONDS = 5.0
WARM = 0.3
"""The share of the talk after which nothing may grow any more."""
LONG_SAMPLES = 60
"""Five minutes after the warm-up; a shorter try only shows what grows without bounds."""
_TURNS = re.compile(r'vivavoce_turns_total\{began_with="speech",outcome="\w+"\} ([\d.]+)')


async def test_many_turns_of_one_session_leave_no_task_behind() -> None:
    async with engine_server() as stage:
        line = await stage.line()
        tasks = []
        for _ in range(12):
            await line.speak(300)
            await line.until("response.done")
            await line.write("And in writing.")
            await line.answer()
            await _settled()
            tasks.append(len(asyncio.all_tasks()))
        assert max(tasks[6:]) <= max(tasks[:4])


async def _settled() -> None:
    """What a turn started ends a few rounds of the loop after its last event."""
    before = -1
    while before != (before := len(asyncio.all_tasks())):
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.mark.full
@pytest.mark.timeout(MINUTES * 60 + 600)
def test_twenty_minutes_of_talk_by_websocket_and_by_webrtc_leave_nothing(tmp_path: Path) -> None:
    questions = made([text for text in PLAIN if "," not in text])
    with serving({"VIVAVOCE_BRAIN": "scripted"}, tmp_path) as server:
        turns, held = asyncio.run(_both(server, questions, MINUTES * 60))
        asyncio.run(_all_traced(server, turns))
    assert len(turns) >= MINUTES, "they talked"
    after = held[int(len(held) * WARM) :]
    _steady(after)
    assert sum(turn.understood for turn in turns) >= 0.9 * len(turns)


# --- The talk -------------------------------------------------------------------------


async def _both(
    server: Server, questions: list[Question], seconds: float
) -> tuple[list[Turn], list[Family]]:
    turns: list[Turn] = []
    held: list[Family] = []
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        # One starts in the middle of the list, so that they do not speak in chorus.
        group.create_task(_by_socket(server, questions, until, turns))
        group.create_task(_by_call(server, questions[5:] + questions[:5], until, turns))
        while time.monotonic() < until:
            held.append(await asyncio.to_thread(server.family))
            await asyncio.sleep(SAMPLE_SECONDS)
    return turns, held


async def _by_socket(
    server: Server, questions: list[Question], until: float, turns: list[Turn]
) -> None:
    async with httpx.AsyncClient(base_url=server.origin, trust_env=False) as http:
        answer = await http.post("/audio", headers=await _key(http))
    assert answer.status_code < 300, answer.text
    opened = answer.json()
    address = server.origin.replace("http", "ws", 1) + opened["url"]
    async with by_socket(address, subprotocols=opened["protocols"]) as line:
        await _talk(line, questions, until, turns)


async def _by_call(
    server: Server, questions: list[Question], until: float, turns: list[Turn]
) -> None:
    async with httpx.AsyncClient(base_url=server.origin, trust_env=False) as http:
        key = await _key(http)
    async with by_call(f"{server.origin}/sdp", key) as line:
        await _talk(line, questions, until, turns)


async def _key(http: httpx.AsyncClient) -> dict[str, str]:
    answer = await http.post("/session")
    assert answer.status_code < 300, answer.text
    return {"authorization": f"Bearer {answer.json()['client_secret']['value']}"}


async def _talk(line: Line, questions: list[Question], until: float, turns: list[Turn]) -> None:
    number = 0
    while time.monotonic() < until:
        turns.append(await ask(line, questions[number % len(questions)], None))
        number += 1


# --- What is left ---------------------------------------------------------------------


async def _all_traced(server: Server, turns: list[Turn]) -> None:
    """The server's own count of turns is ours; one that was cut in on may be two."""
    most = len(turns) + sum(turn.cut_in for turn in turns)
    counted = 0
    async with httpx.AsyncClient(base_url=server.origin, trust_env=False) as http:
        end = time.monotonic() + 30
        while not len(turns) <= counted <= most and time.monotonic() < end:
            text = (await http.get("/metrics")).text
            counted = int(sum(float(found) for found in _TURNS.findall(text)))
            await asyncio.sleep(0.2)
    assert len(turns) <= counted <= most


def _steady(held: list[Family]) -> None:
    memory = np.array([one.memory_mib for one in held])
    grown = np.polyfit(np.arange(len(memory)), memory, 1)[0] * len(memory)
    print(f"memory {np.median(memory):.0f} MiB, grown by {grown:.1f} in {len(held)} samples")
    # In its first minutes a model meets its longest sentences, and keeps the room they took.
    allowed = 0.03 if len(held) >= LONG_SAMPLES else 0.1
    assert grown < allowed * np.median(memory), f"memory grows by {grown:.0f} MiB"
    early, late = held[: len(held) // 3 + 1], held[-(len(held) // 3 + 1) :]
    for name in ("files", "threads", "processes"):
        before, after = (max(getattr(one, name) for one in part) for part in (early, late))
        assert after <= before + 2, f"{name}: {before}, then {after}"
