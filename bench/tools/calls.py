"""From a call's arrival to its output on the wire, with a tool that does nothing.

Ours checks, permits, records the call before it runs and the outcome before it
is told (SQLite, fsync and all). The peer is the openai SDK's own loop: read,
run, answer; nothing is kept.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import uvloop
from openai import AsyncOpenAI
from websockets.asyncio.server import ServerConnection, serve

from bench import size
from vivavoce.app.lifecycle import running
from vivavoce.app.server import assemble
from vivavoce.app.settings import load_settings
from vivavoce.runtime.sessions.options import Options
from vivavoce.session.events import CallPlaced
from vivavoce.tools.functions import tool
from vivavoce.tools.registry import Registry
from vivavoce.wire.records.talk import (
    Conversation,
    PutConversation,
    PutSession,
    VoiceSession,
    new_id,
)

CALLS = size(200, quick=20)
WARM = size(20, quick=2)
TARGET_MS = 5.0
Report = Callable[[str, float, float, str], None]


@tool(category="bench")
async def noop() -> str:
    """Does nothing."""
    return "done"


class Provider:
    """Asks for the tool again and again, and looks at the clock."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.over = asyncio.Event()

    async def serve(self, line: ServerConnection) -> None:
        await _send(line, type="session.created", session={"type": "realtime"})
        for number in range(WARM + CALLS):
            took = await self._call(line, number)
            if number >= WARM:
                self.times.append(took)
        self.over.set()
        await line.close()

    async def _call(self, line: ServerConnection, number: int) -> float:
        response, item = f"resp_{number}", f"item_{number}"
        call = {"id": item, "type": "function_call", "name": "noop", "call_id": f"call_{number}"}
        await _send(line, type="response.created", response={"id": response, "output": []})
        started = {"response_id": response, "output_index": 0, "item": {**call, "arguments": ""}}
        await _send(line, type="response.output_item.added", **started)
        ended = {"response_id": response, "item_id": item, "output_index": 0}
        sent = time.perf_counter()
        await _send(
            line,
            type="response.function_call_arguments.done",
            **ended,
            call_id=call["call_id"],
            name="noop",
            arguments="{}",
        )
        while True:
            frame = orjson.loads(await line.recv())
            if frame["type"] == "conversation.item.create":
                took = time.perf_counter() - sent
                break
        await _send(line, type="conversation.item.added", item=frame["item"])
        whole = {"id": response, "status": "completed", "output": []}
        await _send(line, type="response.done", response=whole)
        return took * 1000


async def _send(line: ServerConnection, **event: Any) -> None:
    await line.send(orjson.dumps({"event_id": "event_1", **event}).decode())


@asynccontextmanager
async def _provider() -> AsyncIterator[tuple[Provider, str]]:
    provider = Provider()
    async with serve(provider.serve, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield provider, f"http://127.0.0.1:{port}/v1"


async def _ours() -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        async with _provider() as (provider, url):
            settings = load_settings(
                port=0,
                data_dir=Path(folder),
                provider_url=url,
                api_key="k",
                executions_per_minute=0,
            )
            here = assemble(settings)
            assert isinstance(here.tools, Registry)
            here.tools.add(noop)
            async with running(here):
                now = here.clock.now()
                talk = Conversation(id=new_id(), user_id="local", created_at=now, updated_at=now)
                session = VoiceSession(
                    id="vs_20260131_143022_a3f2",
                    conversation_id=talk.id,
                    user_id="local",
                    agent="workbench",
                    created_at=now,
                    updated_at=now,
                )
                await here.store.commit([PutConversation(talk), PutSession(session, new=True)])
                setup = here.profile.setup(Options(), here.tools.definitions(), now)
                live = here.voice.maker.assemble(session, talk, setup)
                await here.provider.check()
                here.registry.start(live)
                await live.post(CallPlaced("rtc_bench"))
                await provider.over.wait()
        return provider.times


async def _peer() -> list[float]:
    async with _provider() as (provider, url):
        client = AsyncOpenAI(base_url=url, api_key="k")
        async with client.realtime.connect(call_id="rtc_bench") as line:
            async for event in line:
                if event.type == "response.function_call_arguments.done":
                    item: Any = {
                        "type": "function_call_output",
                        "call_id": event.call_id,
                        "output": await noop.handler({}, None),  # type: ignore[arg-type]
                    }
                    await line.conversation.item.create(item=item)
    return provider.times


def run(report: Report) -> None:
    ours, peer = uvloop.run(_ours()), uvloop.run(_peer())
    ours_p50, peer_p50 = statistics.median(ours), statistics.median(peer)
    report("a call to its output, p50, stored", ours_p50, peer_p50, "ms")
    report("a call to its output, p95", _p95(ours), _p95(peer), "ms")
    report("a call to its output, p50, beside 5 ms", ours_p50, TARGET_MS, "ms")


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    from bench import report as line

    run(line)
