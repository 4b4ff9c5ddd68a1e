"""A Realtime provider for tests: real HTTP and WebSocket on loopback, no model behind it.

Owns the listener, its calls, its secrets and the faults of HTTP. What is
said on a call is `ScriptedCall`'s.

    async with ScriptedProvider() as provider:
        ...  # point something at provider.base_url, with provider.key
        call = await provider.next_call()
        await call.user_says("What time is it?")
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import uvicorn

from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.call import ScriptedCall
from vivavoce.testing.realtime.http import Exchange, Faults, Front, Secrets, application
from vivavoce.testing.realtime.lines import TIMEOUT, Line
from vivavoce.testing.realtime.script import ProviderFault, Script
from vivavoce.testing.realtime.session import canned_answer

MAX_CALLS = 1000
MAX_FRAME = 16 * 1024 * 1024


async def _canned(offer: str) -> str:
    return canned_answer(offer)


class ScriptedProvider:
    """An async context manager; nothing of it is left once it is closed.

    `key=None` lets everybody in; `models` are the ones it knows (None: all);
    `client_secrets=False` makes it a server that has none. `answer` turns an
    offer into an answer: give it a real peer to have real media. `port=0` takes
    a free one.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        key: str | None = "sk-scripted-key",
        models: Sequence[str] | None = None,
        client_secrets: bool = True,
        answer: Callable[[str], Awaitable[str]] | None = None,
        faults: Sequence[ProviderFault] = (),
        clock: Clock | None = None,
        port: int = 0,
    ) -> None:
        self.key = key
        self.calls: dict[str, ScriptedCall] = {}
        self.requests: deque[Exchange] = deque(maxlen=10_000)
        self._script = script
        self._port = port
        self._clock = clock or SystemClock()
        self._answer = answer or _canned
        self._faults = Faults(faults)
        self._secrets = Secrets(self._clock)
        self._front = Front(key, models, client_secrets, self._secrets, self._faults)
        self._fresh: asyncio.Queue[ScriptedCall] = asyncio.Queue(MAX_CALLS)
        self._players: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, str] = {}
        self._failures: list[AssertionError] = []

    # --- For tests ----------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def next_call(self, *, timeout: float = TIMEOUT) -> ScriptedCall:
        """Each call once, in the order they were created."""
        try:
            async with asyncio.timeout(timeout):
                return await self._fresh.get()
        except TimeoutError:
            raise AssertionError("nobody has created another call") from None

    def inject(self, fault: ProviderFault) -> None:
        """Misbehave with the next requests; `ScriptedCall.inject` is for a call."""
        self._faults.add(fault)

    async def finished(self, call: ScriptedCall, *, timeout: float = 30.0) -> None:
        """Return once the script has been played on this call; raise what went wrong."""
        await call.attached(timeout=timeout)
        await asyncio.wait([self._players[call.id]], timeout=timeout)
        self._judge()

    # --- Life -----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self._port))
        # asyncio does this only for sockets it made itself; without it each answer takes 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            application(self._front, self),
            ws="websockets-sansio",
            ws_max_size=MAX_FRAME,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        # Not `serve()`: it takes over the signals of the process, and stops in steps of 0.1 s.
        await self._server.startup(sockets=[listener])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for listener in self._server.servers:
            listener.close()
        state = self._server.server_state
        for connection in list(state.connections):
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.abort()
        if state.tasks:
            await asyncio.wait(set(state.tasks), timeout=TIMEOUT)
        for player in self._players.values():
            player.cancel()
        # Without the body's error: a TaskGroup would wrap it into a group.
        await self._tasks.__aexit__(None, None, None)
        if error is None:
            self._judge(over=True)

    def _judge(self, *, over: bool = False) -> None:
        if self._failures:
            raise self._failures[0]
        if over and self._progress:
            waiting = ", ".join(f"{call} at {step}" for call, step in self._progress.items())
            raise AssertionError(f"the script was not played to its end: {waiting}")

    # --- For the doors --------------------------------------------------------------------

    async def create_call(self, offer: str, session: Mapping[str, Any], by: str) -> tuple[str, str]:
        """The new call's id and the SDP answer."""
        call = self._new_call(session, offer=offer, authorised_by=by)
        answer = await self._answer(offer)
        self._fresh.put_nowait(call)
        return call.id, answer

    def open_session(self, session: Mapping[str, Any]) -> ScriptedCall:
        """A session over WebSocket alone, without a call."""
        call = self._new_call(session, webrtc=False)
        self._fresh.put_nowait(call)
        return call

    async def serve(self, call: ScriptedCall, line: Line) -> None:
        if self._script is not None and call.id not in self._players:
            self._progress[call.id] = "its beginning"
            self._players[call.id] = self._tasks.create_task(self._play(self._script, call))
        await call.serve(line)

    def abort(self, client: object) -> None:
        """Cut the connection that comes from this address and port, without a word."""
        for connection in list(self._server.server_state.connections):
            transport = getattr(connection, "transport", None)
            if getattr(connection, "client", None) == client and transport is not None:
                transport.abort()

    def _new_call(self, session: Mapping[str, Any], **rest: Any) -> ScriptedCall:
        assert len(self.calls) < MAX_CALLS, "too many calls for one scripted provider"
        call_id = f"rtc_{secrets.token_hex(10)}"
        script = self._script or Script()
        rest |= {"defaults": script.defaults, "timeout": script.timeout}
        call = ScriptedCall(call_id, session, clock=self._clock, **rest)
        self.calls[call_id] = call
        return call

    async def _play(self, script: Script, call: ScriptedCall) -> None:
        for number, step in enumerate(script.steps, 1):
            self._progress[call.id] = f"step {number}: {step.name}"
            try:
                await step.play(call)
            except AssertionError as failure:
                failure.add_note(f"in {self._progress.pop(call.id)}")
                self._failures.append(failure)
                return
        self._progress.pop(call.id, None)
