"""Event streams to 200 clients: what a delivery costs the server, beside sse-starlette.

Server and clients are processes of their own on loopback; the CPU counted is
the server's. Ours goes through everything a real stream does: the journal,
the subscription, the gate, FastAPI. The peer is sse-starlette's usual form, a
queue a client. `python -m bench.sse` runs it alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import select
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

import psutil
import uvicorn
import uvloop
from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp

from bench import report as report_line
from bench import size
from vivavoce.wire.events import Notification, payload, to_log
from vivavoce.wire.records.talk import Announce, utc_now

CLIENTS = size(200, quick=20)
ROUNDS = size(3, quick=1)
PACED = size((250, 1, 0.004), quick=(20, 1, 0.004))
"""Writes, events a write, seconds between: a busy conversation."""
FLAT_OUT = size((80, 4, 0.0), quick=(10, 4, 0.0))
"""As fast as they are delivered, in the batches of a group commit."""
TEXT = "The quick brown fox jumps over the lazy dog, and then it does so once more~" + "." * 80
MARK = b"~"
_PATIENCE = 60.0

Report = Callable[[str, float, float, str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    cpu_us: float
    per_second: float


def run(report: Report) -> None:
    paced: dict[str, list[Measured]] = {"ours": [], "peer": []}
    flat: dict[str, list[Measured]] = {"ours": [], "peer": []}
    for number in range(ROUNDS):
        # Alternating, so that whatever else the machine does falls on both.
        for side in ("ours", "peer") if number % 2 == 0 else ("peer", "ours"):
            with _server(side) as server, _clients(server.port) as clients:
                paced[side].append(_measure(server, clients, *PACED))
                flat[side].append(_measure(server, clients, *FLAT_OUT))
    for name, found in (("", paced), (", in bursts", flat)):
        ours, peer = _typical([m.cpu_us for m in found["ours"]], [m.cpu_us for m in found["peer"]])
        report(f"SSE to {CLIENTS} clients: CPU a delivery{name}", ours, peer, "µs")
    ours, peer = _typical(
        [m.per_second for m in flat["ours"]], [m.per_second for m in flat["peer"]]
    )
    report(f"SSE to {CLIENTS} clients: deliveries", ours, peer, "a second")


def _typical(ours: list[float], peer: list[float]) -> tuple[float, float]:
    """The round whose ratio is the median one: both numbers from the same minute."""
    rounds = sorted(zip(ours, peer, strict=True), key=lambda pair: pair[0] / pair[1])
    return rounds[len(rounds) // 2]


# --- Driving ------------------------------------------------------------------------


class _Child:
    """A process of this file, told what to do and answering a line at a time."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.sse", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = 0

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)

    def hear(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        line = self.process.stdout.readline().strip() if ready else ""
        if not line:
            raise RuntimeError(f"a process of the benchmark failed: {self.process.args!r}")
        return line

    def cpu(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


@contextlib.contextmanager
def _child(*arguments: str) -> Iterator[_Child]:
    child = _Child(*arguments)
    try:
        yield child
    finally:
        child.process.kill()
        child.process.communicate()


@contextlib.contextmanager
def _server(side: str) -> Iterator[_Child]:
    with _child("serve", side) as child:
        child.port = int(child.hear())
        yield child


@contextlib.contextmanager
def _clients(port: int) -> Iterator[_Child]:
    with _child("listen", str(port)) as child:
        assert child.hear() == "connected"
        yield child


def _measure(server: _Child, clients: _Child, writes: int, batch: int, pause: float) -> Measured:
    expected = writes * batch * CLIENTS
    clients.tell(str(expected))
    cpu, began = server.cpu(), time.perf_counter()
    server.tell(f"{writes} {batch} {pause}")
    assert clients.hear() == "done"
    took = time.perf_counter() - began
    assert server.hear() == "done"
    return Measured((server.cpu() - cpu) / expected * 1e6, expected / took)


# --- The clients: raw sockets, counting frames ------------------------------------------


def listen(port: int) -> None:
    selector = selectors.DefaultSelector()
    for _ in range(CLIENTS):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        head = client.recv(65536)
        assert head.startswith(b"HTTP/1.1 200"), head
        client.setblocking(False)
        selector.register(client, selectors.EVENT_READ, client)
    time.sleep(0.3)  # the openings, which are no events
    print("connected", flush=True)
    for line in sys.stdin:
        missing = int(line)
        while missing > 0:
            for key, _ in selector.select():
                # One such byte a frame, so it counts however the frames were cut.
                missing -= key.data.recv(1 << 18).count(MARK)
        print("done", flush=True)


# --- The servers ----------------------------------------------------------------------


Write = Callable[[int], Awaitable[None]]


async def ours() -> tuple[ASGIApp, Write]:
    from vivavoce.runtime.clock import SystemClock
    from vivavoce.runtime.journal.log import Journal
    from vivavoce.runtime.journal.streams import Filter
    from vivavoce.server.doors.events import EventStream
    from vivavoce.server.gate.auth import Authenticator, current_user
    from vivavoce.server.gate.gate import Gate
    from vivavoce.server.problems import install
    from vivavoce.testing.fakes import MemoryStore

    store = MemoryStore()
    await store.open()
    journal = Journal(store, SystemClock())
    await journal.open()
    app = FastAPI()
    install(app)

    @app.get("/events")
    async def events(request: Request) -> Response:
        return EventStream(journal.subscribe(Filter(current_user(request))))

    async def write(count: int) -> None:
        event = Notification(session_id="vs_1", timestamp=utc_now(), level="info", message=TEXT)
        change = Announce(to_log(event, user_id="local", conversation_id=None))
        await journal.commit([change] * count)

    return Gate(app, auth=Authenticator()), write


async def peer() -> tuple[ASGIApp, Write]:
    from sse_starlette import EventSourceResponse
    from starlette.applications import Starlette
    from starlette.routing import Route

    queues: set[asyncio.Queue[dict[str, str]]] = set()
    ids = itertools.count(1)

    async def events(request: Request) -> EventSourceResponse:
        queue: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        queues.add(queue)

        async def stream() -> AsyncIterator[dict[str, str]]:
            try:
                while True:
                    yield await queue.get()
            finally:
                queues.discard(queue)

        return EventSourceResponse(stream())

    async def write(count: int) -> None:
        for _ in range(count):
            event = Notification(session_id="vs_1", timestamp=utc_now(), level="info", message=TEXT)
            data = json.dumps(payload(event))
            for queue in queues:
                queue.put_nowait({"event": event.type, "data": data, "id": str(next(ids))})

    return Starlette(routes=[Route("/events", events)]), write


async def serve(side: str) -> None:
    app, write = await (ours() if side == "ours" else peer())
    config = uvicorn.Config(app, log_level="error", access_log=False, http="httptools")
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the real listener does
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listener]))
        print(listener.getsockname()[1], flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            writes, batch, pause = line.split()
            for _ in range(int(writes)):
                await write(int(batch))
                await asyncio.sleep(float(pause))
            print("done", flush=True)
        server.should_exit = True


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", side]:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(serve(side))
        case ["listen", port]:
            listen(int(port))
        case _:
            run(report_line)
