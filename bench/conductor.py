"""Runtimes with a tool call a second each: from a result to the next event, and memory a runtime,
beside a bare echo of the same messages with `websockets`.

Ours does everything: the result is checked, recorded and announced, given to the model, and what
the model wants next is recorded and sent. The engine, with a scripted brain, is a process of its
own. The echo reads JSON and writes JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import uvloop
from websockets.asyncio.client import ClientConnection, connect

from bench import size

RUNTIMES = size(200, quick=5)
SECONDS = size(20, quick=5)
OPENED_A_SECOND = 20
_CHANCE = random.Random(20261119)
Report = Callable[[str, float, float, str], None]
_BATTERY = {
    "name": "battery.level",
    "description": "How full the battery is, in percent.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


class Served:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def figures(self) -> tuple[float, float]:
        """Memory in KiB, CPU seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        memory, used = self._line().split()
        return float(memory), float(used)


@contextmanager
def _serving(which: str, *more: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.material.conductor_server", which, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Served(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


def _event(kind: str, **body: Any) -> str:
    at = datetime.now(UTC).isoformat()
    return json.dumps({"id": str(uuid.uuid4()), "timestamp": at, "kind": {kind: body}})


class _Runtime:
    """Answers a call after about a second, and notes how long the next one took."""

    def __init__(self, line: ClientConnection) -> None:
        self._line = line
        self.took: list[float] = []
        self._sent = 0.0

    async def say(self) -> None:
        await self._line.send(_event("userAudioTranscriptFinal", text="go"))

    async def run(self, until: float) -> None:
        while True:
            call = await self._call()
            if self._sent:
                self.took.append((time.perf_counter() - self._sent) * 1000)
            over = time.perf_counter() > until
            if not over:
                await asyncio.sleep(_CHANCE.uniform(0.5, 1.5))  # not all in one beat
            self._sent = time.perf_counter()
            result = '"stop"' if over else '{"percent":80}'
            answer = _event("toolResult", callId=call["callId"], result=result, error=None)
            await self._line.send(answer)
            if over:
                return

    async def _call(self) -> dict[str, Any]:
        while True:
            kind = json.loads(await self._line.recv())["kind"]
            call: dict[str, Any] = kind.get("toolCall", {})
            if call.get("name") == "battery.level":
                return call


class Measured(NamedTuple):
    p95: float
    """Milliseconds."""
    waiting: float
    """KiB a runtime, and so those at work: all that the server grew by."""
    working: float
    own: float
    """What one more at work adds, by the second half of them: without what the server itself takes
    when it begins to work, however many there are."""
    cpu: float
    """Milliseconds a call."""


async def _measured(served: Served) -> Measured:
    async with AsyncExitStack() as stack:

        async def runtime() -> _Runtime:
            session_id = str(uuid.uuid4())
            address = f"ws://127.0.0.1:{served.port}/conductor?sessionId={session_id}"
            line = await stack.enter_async_context(connect(address, max_queue=None))
            await line.send(_event("sessionStart", sessionId=session_id, tools=[_BATTERY]))
            return _Runtime(line)

        first = await runtime()  # what is loaded once is not counted
        await first.say()
        await first.run(0.0)
        idle, _ = served.figures()
        every: list[_Runtime] = []
        waiting: list[float] = []
        working: list[float] = []
        halves = (RUNTIMES // 2, RUNTIMES)
        for many in halves:
            every += [await runtime() for _ in range(many - len(every))]
            await asyncio.sleep(0.5)
            waiting.append(served.figures()[0])
        begun = 0.0
        until = time.perf_counter() + RUNTIMES / OPENED_A_SECOND + SECONDS
        async with asyncio.TaskGroup() as group:
            for fewer, many in zip((0, *halves), halves, strict=False):
                for one in every[fewer:many]:
                    await one.say()
                    group.create_task(one.run(until))
                    await asyncio.sleep(1 / OPENED_A_SECOND)
                await asyncio.sleep(1.5)  # all have a session, and their first result is there
                memory, begun = served.figures()
                working.append(memory)
            before = [len(one.took) for one in every]
            await asyncio.sleep(SECONDS - 4)
            _, used = served.figures()
            took = [ms for one, n in zip(every, before, strict=True) for ms in one.took[n:]]
    added = working[1] - working[0] + waiting[1] - waiting[0]
    return Measured(
        p95=statistics.quantiles(took, n=20)[-1],
        waiting=(waiting[1] - idle) / RUNTIMES,
        working=(working[1] - idle) / RUNTIMES,
        own=added / (RUNTIMES - RUNTIMES // 2),
        cpu=(used - begun) * 1000 / max(1, len(took)),
    )


def run(report: Report) -> None:
    with _serving("engine") as engine, _serving("ours", str(engine.port)) as served:
        ours = uvloop.run(_measured(served))
    with _serving("echo") as served:
        echo = uvloop.run(_measured(served))
    every = f"{RUNTIMES} runtimes: "
    report(f"{every}from a result to the next event, p95", ours.p95, echo.p95, "ms")
    report(f"{every}memory of one that waits", ours.waiting, echo.waiting, "KiB")
    report(f"{every}memory of one at work", ours.working, echo.working, "KiB")
    report(f"{every}memory of one more at work", ours.own, echo.own, "KiB")
    report(f"{every}CPU of a call", ours.cpu, echo.cpu, "ms")
