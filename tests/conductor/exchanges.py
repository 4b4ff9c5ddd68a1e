"""Plays a scripted exchange (docs/conductor/conformance/exchanges.json) to a client, at the end of
its line and in the place of its app. The clock stands until a step moves it."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.docs_text import ROOT
from vivavoce.conductor import Client, ClientTool, FileMemory, ToolError, tool
from vivavoce.conductor.core.seen import as_json
from vivavoce.conductor.line import Line, LineEnded, NoLine

FILE = ROOT / "docs" / "conductor" / "conformance" / "exchanges.json"
SESSION = "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10"
_PATIENCE = 10.0


def exchanges() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


class FakeLine:
    def __init__(self) -> None:
        self.sent: deque[dict[str, Any]] = deque()
        self.coming: asyncio.Queue[str | LineEnded] = asyncio.Queue()
        self.closed: list[int] = []
        self.jammed = False

    async def send(self, text: str) -> None:
        if self.jammed:
            raise OSError("jammed")
        self.sent.append(json.loads(text))

    async def receive(self) -> str:
        one = await self.coming.get()
        if isinstance(one, LineEnded):
            raise one
        return one

    async def close(self, code: int) -> None:
        self.closed.append(code)
        self.coming.put_nowait(LineEnded(code, ""))


class Play:
    """`named`: ids of events by the names that the exchange gives them."""

    def __init__(self, app: Mapping[str, Any], folder: Path) -> None:
        self._app = app
        self._memory = FileMemory(folder / "calls.jsonl") if app.get("remembers") else None
        self._dials: deque[asyncio.Future[Line]] = deque()
        self._sleeps: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._now = 0.0
        self._line = FakeLine()
        self._seen: deque[dict[str, Any]] = deque()
        self._run: deque[tuple[str, Any]] = deque()
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._spoken: asyncio.Future[None] | None = None
        self._said: deque[str] = deque()
        self._hushed: deque[str] = deque()
        self._asked: deque[str] = deque()
        self._confirmed: deque[str] = deque()
        self._withdrawn: deque[str] = deque()
        self._decision: asyncio.Future[bool | None] | None = None
        self._client: Client | None = None
        self._named: dict[str, str] = {}
        self.sent: list[dict[str, Any]] = []

    # --- The app ------------------------------------------------------------------------

    def _made(self) -> Client:
        app = self._app
        stub = app.get("stub")

        def answer(text: str) -> str:
            self._asked.append(text)
            return str(stub)

        return Client(
            "ws://nowhere/conductor",
            session_id=SESSION,
            tools=[self._tool(name) for name in app.get("tools", ())],
            speak=self._speak if app.get("speaks") else None,
            confirm=self._confirm if app.get("confirms") else None,
            stub=answer if stub is not None else None,
            memory=self._memory,
            agent=app.get("agent"),
            clauses=app.get("clauses"),
            waits=app.get("waits", (1, 2, 4, 8, 16)),
            dial=self._dial,
            sleep=self._sleep,
            clock=lambda: self._now,
        )

    def _tool(self, name: str) -> ClientTool:
        async def run(**given: Any) -> Any:
            self._run.append((name, given))
            self._open[name] = asyncio.get_running_loop().create_future()
            return await self._open[name]

        return tool(name=name, description="Of a test.", schema={"type": "object"})(run)

    async def _speak(self, text: str) -> None:
        self._said.append(text)
        self._spoken = asyncio.get_running_loop().create_future()
        try:
            await self._spoken
        except asyncio.CancelledError:
            self._hushed.append(text)
            raise

    async def _confirm(self, question: str) -> bool | None:
        self._confirmed.append(question)
        self._decision = asyncio.get_running_loop().create_future()
        try:
            return await self._decision
        except asyncio.CancelledError:
            self._withdrawn.append(question)
            raise

    async def _dial(self, url: str, headers: Mapping[str, str]) -> Line:
        assert url == f"ws://nowhere/conductor?sessionId={SESSION}"
        up: asyncio.Future[Line] = asyncio.get_running_loop().create_future()
        self._dials.append(up)
        return await up

    async def _sleep(self, seconds: float) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleeps.append((seconds, over))
        await over

    async def _live(self, begun: asyncio.Event) -> None:
        async with self._made() as self._client:
            begun.set()
            while True:  # each reading ends with the connection closed; some go on after that
                async for one in self._client:
                    self._seen.append(as_json(one))

    # --- The steps ------------------------------------------------------------------------

    async def play(self, steps: list[dict[str, Any]]) -> None:
        async with asyncio.TaskGroup() as group:
            app: asyncio.Task[None] | None = None
            for at, step in enumerate(steps):
                try:
                    if step.get("app") in ("connect", "restart", "close"):
                        app = await self._start_or_stop(step["app"], app, group)
                    else:
                        await self._step(step)
                except (AssertionError, TimeoutError) as failed:
                    raise AssertionError(f"step {at} {step}: {failed}; {self._left()}") from failed
            await self._quiet()
            if app is not None:
                app.cancel()

    async def _start_or_stop(
        self, what: str, app: asyncio.Task[None] | None, group: asyncio.TaskGroup
    ) -> asyncio.Task[None] | None:
        if app is not None:
            app.cancel()
            await asyncio.wait({app})
        if what == "close":
            await self._see_the_end()
            return None
        self._line, self._seen = FakeLine(), deque()
        begun = asyncio.Event()
        started = group.create_task(self._live(begun))
        await begun.wait()
        return started

    async def _see_the_end(self) -> None:
        """The app is gone; what it was told last is still to be read."""
        assert self._client is not None
        async for one in self._client:
            self._seen.append(as_json(one))

    async def _step(self, step: Mapping[str, Any]) -> None:
        match step:
            case {"app": told}:
                await self._act(told)
            case {"line": "open"}:
                self._line = FakeLine()
                (await self._next(self._dials)).set_result(self._line)
            case {"line": "jam"}:
                self._line.jammed = True
            case {"line": {"refuse": status}}:
                refused = NoLine("Refused.", status)
                (await self._next(self._dials)).set_exception(refused)
            case {"line": {"break": code, **more}}:
                self._line.coming.put_nowait(LineEnded(code, str(more.get("reason", ""))))
            case {"server": kind}:
                told = {"id": str(uuid4()), "timestamp": "2025-01-15T10:30:00.000Z", "kind": kind}
                self._line.coming.put_nowait(self._with_ids(json.dumps(told)))
            case {"raw": message}:
                self._line.coming.put_nowait(message)
            case {"sends": wanted, **more}:
                event = await self._next(self._line.sent)
                self.sent.append(event)
                _same_kind(event["kind"], wanted)
                if (name := more.get("id")) is not None:
                    assert self._named.setdefault(str(name), event["id"]) == event["id"]
            case {"sees": wanted}:
                got = await self._next(self._seen)
                assert _wanted(got, wanted), f"saw {got}"
            case {"runs": wanted}:
                name, given = await self._next(self._run)
                assert {name: given} == wanted
            case {"speaks": text}:
                assert await self._next(self._said) == text
            case {"hushed": text}:
                assert await self._next(self._hushed) == text
            case {"asks": text}:
                assert await self._next(self._asked) == text
            case {"confirms": question}:
                assert await self._next(self._confirmed) == question
            case {"withdrawn": question}:
                assert await self._next(self._withdrawn) == question
            case {"after": seconds}:
                slept, over = await self._next(self._sleeps)
                assert slept == seconds
                self._now += seconds
                over.set_result(None)
            case {"passes": seconds}:
                self._now += seconds
            case {"hangs_up": code}:
                assert code in self._line.closed
            case {"quiet": True}:
                await self._quiet()
            case _:
                raise AssertionError("there is no such step")

    async def _act(self, told: Any) -> None:
        assert self._client is not None
        match told:
            case "retry":
                await self._client.retry()
            case {"say": text}:
                await self._client.say(text)
            case {"sayingSoFar": text}:
                await self._client.say_so_far(text)
                await _settled()
            case {"interrupt": position}:
                await self._client.interrupt(
                    position_ms=position.get("positionMs"),
                    position_characters=position.get("positionCharacters"),
                )
            case {"finish": name, "with": result}:
                self._open.pop(name).set_result(result)
            case {"fail": name, "with": words}:
                self._open.pop(name).set_exception(ToolError(words))
            case {"spoken": True}:
                assert self._spoken is not None
                self._spoken.set_result(None)
            case {"mute": words}:
                assert self._spoken is not None
                self._spoken.set_exception(ToolError(words))
            case {"decide": decision}:
                assert self._decision is not None
                self._decision.set_result(decision)
            case _:
                raise AssertionError("an app does no such thing")

    def _with_ids(self, text: str) -> str:
        for name, event_id in self._named.items():
            text = text.replace(f'"${name}"', f'"{event_id}"')
        return text

    async def _next(self, queue: deque[Any]) -> Any:
        await _until(lambda: bool(queue))
        return queue.popleft()

    async def _quiet(self) -> None:
        await _settled()
        left = self._left()
        assert not any(left.values()), left

    def _left(self) -> dict[str, Any]:
        return {
            "sent": list(self._line.sent),
            "seen": list(self._seen),
            "run": list(self._run),
            "said": list(self._said),
            "hushed": list(self._hushed),
            "asked": list(self._asked),
            "withdrawn": list(self._withdrawn),
            "dials": len(self._dials),
        }


def _same_kind(kind: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    ((name, body),) = kind.items()
    ((wanted_name, wanted_body),) = wanted.items()
    assert name == wanted_name, f"sent {kind}"
    if wanted_body != "any":
        if name == "sessionStart":
            wanted_body = {"sessionId": SESSION, **wanted_body}
        assert body == wanted_body, f"sent {kind}"


def _wanted(got: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """What is told besides is in words that may differ."""
    return next(iter(got)) == next(iter(wanted)) and all(
        value == "any" or (name in got and got[name] == value) for name, value in wanted.items()
    )


async def _until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE):
        while not there():
            await asyncio.sleep(0.001)


async def _settled() -> None:
    """Long enough for all that may come to have come."""
    for _ in range(20):
        await asyncio.sleep(0.001)
