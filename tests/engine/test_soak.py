"""Sessions in, sessions out: nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import psutil
import pytest

from tests.engine.media.far_end import FarEnd
from tests.engine.stage import EngineStage, engine_server
from tests.server.serving import until
from vivavoce.engine.api.control import EngineOptions
from vivavoce.engine.media.options import MediaOptions

AT_ONCE = 10
OPTIONS = EngineOptions(max_sessions=2 * AT_ONCE, media=MediaOptions(loopback=True))


async def by_websocket(stage: EngineStage) -> None:
    """Connects, is answered, and leaves in the middle of the next answer."""
    line = await stage.line()
    await line.speak(300)
    await line.until("response.done")
    await line.write("And another thing.")
    await line.send("response.create")
    await line.until("response.created")
    await line.socket.close()


async def by_webrtc(stage: EngineStage) -> None:
    far = FarEnd()
    try:
        headers = {"authorization": "Bearer sk-user", "content-type": "application/sdp"}
        answer = await stage.http.post(
            f"{stage.url}/realtime/calls", content=await far.offer(), headers=headers
        )
        assert answer.status_code == 201, answer.text
        await far.accept(answer.text)
        await until(lambda: any("session.created" in text for text in far.messages))
    finally:
        await far.pc.close()


def held() -> tuple[int, int]:
    """Open files and sockets, and threads."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())) if os.name == "posix" else 0, (
        threading.active_count()
    )


async def rounds(count: int) -> None:
    async with engine_server(options=OPTIONS) as stage:
        tasks_before = len(asyncio.all_tasks())
        before: tuple[int, int] | None = None
        memory: list[int] = []
        for number in range(count):
            async with asyncio.TaskGroup() as group:
                for seat in range(AT_ONCE):
                    group.create_task((by_webrtc if seat % 5 == 0 else by_websocket)(stage))
            await stage.stack.aclose()
            await until(lambda: stage.engine.sessions == 0)
            await until(lambda: len(asyncio.all_tasks()) <= tasks_before, seconds=20)
            if number == min(2, count - 2):
                before = held()
            memory.append(psutil.Process().memory_info().rss)
        assert before is not None
        files, threads = held()
        assert files <= before[0] + 2, "no file or socket is left"
        assert threads <= before[1]
        if count >= 50:
            middle, last = memory[count // 3], memory[-1]
            assert last < middle * 1.05, f"memory grows: {middle} to {last}"


@pytest.mark.full
async def test_ten_sessions_in_and_out_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _only_loopback(monkeypatch)
    await rounds(3)


@pytest.mark.full
@pytest.mark.timeout(1500)
async def test_ten_sessions_in_and_out_a_hundred_times(monkeypatch: pytest.MonkeyPatch) -> None:
    _only_loopback(monkeypatch)
    await rounds(100)


def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    import aioice.ice

    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
