"""A client as the page is one, on a bad network: what it asks for it asks for again until it has an
answer, its stream goes on where it was, and what its call showed and the server has not told it
hands in.

Owns what it saw and what was acknowledged to it. It does what docs/api.md, docs/events.md and
docs/conversations.md tell clients to do, only with less patience than a real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.journeys.stage import frames
from tests.offers import OFFER

Json = dict[str, Any]

PATIENCE = 0.8
"""Seconds for an answer; then the request is taken for lost."""
SILENCE = 0.6
"""Seconds without even a heartbeat; then the stream is taken for lost."""
HAND_IN = 0.25
"""Seconds in which the server has to tell what the call showed."""
LOST = ("error", "socket_reset", "client_silent", "ice_lost", "never_connected")


class Refused(AssertionError):
    """The server said no to something that was right."""


@dataclass
class Page:
    """`url` is that of the proxy."""

    url: str
    noted: Callable[[str], None]
    session_id: str = ""
    conversation_id: str = ""
    key: str = ""
    seen: list[tuple[str, Json, int]] = field(default_factory=list)
    """Durable events as they came, over all its streams."""
    lines: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    """Its transcript: the item → who, what, whether it was cut."""
    order: list[str] = field(default_factory=list)
    acknowledged: dict[str, Any] = field(default_factory=dict)
    """What it was told is stored or done, by name."""
    last: int = 0
    first: int = 0
    tries: int = 0
    _group: asyncio.TaskGroup | None = None
    _stream: asyncio.Task[None] | None = None
    _background: list[asyncio.Task[None]] = field(default_factory=list)
    _http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Page:
        self._http = httpx.AsyncClient(base_url=self.url, timeout=PATIENCE, trust_env=False)
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._group is not None
        assert self._http is not None
        for task in [self._stream, *self._background]:
            if task is not None:
                task.cancel()
        await self._group.__aexit__(None, None, None)
        await self._http.aclose()

    # --- Asking -----------------------------------------------------------------------------

    async def ask(
        self, method: str, path: str, *, fine: tuple[int, ...] = (), **more: Any
    ) -> httpx.Response:
        """Until there is an answer. What passes (429, 5xx, nothing) is asked again."""
        assert self._http is not None
        pause, patience = 0.02, PATIENCE
        while True:
            try:
                response = await self._http.request(method, path, timeout=patience, **more)
            except httpx.HTTPError as lost:
                self.noted(
                    f"page: {method} {path.split('?', maxsplit=1)[0]}: {type(lost).__name__}"
                )
                self.tries += 1
                patience = min(2 * patience, 20.0)  # it may be a slow machine
            else:
                status = response.status_code
                if status < 300 or status in fine:
                    return response
                self.noted(f"page: {method} {path}: {status} {response.text[:160]}")
                if status not in (408, 429) and status < 500:
                    raise Refused(f"{method} {path}: {status} {response.text}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)

    async def open(self, **wishes: Any) -> None:
        opened = (await self.ask("POST", "/session", json=wishes)).json()
        self.session_id, self.key = opened["session_id"], opened["client_secret"]["value"]
        self.acknowledged["session"] = self.session_id
        self.last = self.first = opened["last_event_id"]
        self.follow()
        detail = (await self.ask("GET", f"/sessions/{self.session_id}")).json()
        self.conversation_id = detail["session"]["conversation_id"]

    async def place(self) -> None:
        """The call. The key opens one; after any failure there is another."""
        while True:
            headers = {"content-type": "application/sdp", "authorization": f"Bearer {self.key}"}
            assert self._http is not None
            with suppress(httpx.HTTPError):
                answer = await self._http.post("/sdp", content=OFFER, headers=headers)
                if answer.status_code == 200:
                    return
                self.noted(f"page: /sdp: {answer.status_code} {answer.text[:120]}")
            await asyncio.sleep(0.05)
            await self.new_key()

    async def new_key(self) -> None:
        query = {"session_id": self.session_id}
        answer = (await self.ask("GET", "/session/reconnect", params=query)).json()
        self.key = answer["ephemeral_key"]
        if answer["session_id"] != self.session_id:
            self.noted("page: its conversation goes on in another session")
            self.session_id, self.last = answer["session_id"], answer["last_event_id"]
            self.follow()

    async def write(self, text: str, wait: float = 0.3) -> None:
        """Sent again under the same name, it is the same message."""
        path = f"/api/v1/conversations/{self.conversation_id}/messages"
        body = {"content": text, "wait_seconds": wait}
        once = {"idempotency-key": text.replace(" ", "-")}
        answer = (await self.ask("POST", path, json=body, headers=once)).json()
        self.acknowledged[f"typed {text}"] = answer["message"]["id"]

    async def execute(self, tool: str, call_id: str, **arguments: Any) -> Json:
        """The same id again is the same call."""
        headers = {"x-session-id": self.session_id}
        body = {"arguments": arguments, "call_id": call_id}
        answer: Json = (
            await self.ask("POST", f"/execute/{tool}", json=body, headers=headers)
        ).json()
        self.acknowledged[f"executed {call_id}"] = answer
        return answer

    async def agree(self, approval_id: str) -> None:
        """Whoever agrees has listened: in the first moments nobody has."""
        body = {"granted": True}
        await self.ask("POST", f"/approvals/{approval_id}", json=body)
        self.acknowledged[f"agreed {approval_id}"] = True

    async def hand_in(self, entry: Json) -> None:
        path = f"/sessions/{self.session_id}/transcript"
        await self.ask("POST", path, json={"entries": [entry]})
        self.acknowledged[f"entry {entry.get('id') or entry['item_id']}"] = entry

    async def end(self) -> None:
        await self.ask("POST", f"/sessions/{self.session_id}/end")
        self.acknowledged["end"] = True

    def shown(self, item_id: str, role: str, text: str) -> None:
        """By its data channel."""

        async def later() -> None:
            await asyncio.sleep(HAND_IN)
            if item_id not in self.lines:
                entry = {"item_id": item_id, "entry_type": role, "text": text}
                self.noted(f"page: hands in {text!r}")
                await self.hand_in(entry)

        self._spawn(later())

    async def told_all(self) -> None:
        """What it was about to hand in is handed in."""
        if self._background:
            await asyncio.wait(self._background, timeout=30)

    def _spawn(self, work: Any) -> None:
        assert self._group is not None
        self._background.append(self._group.create_task(work))

    # --- Watching ---------------------------------------------------------------------------

    def follow(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
        assert self._group is not None
        self._stream = self._group.create_task(self._follow())

    async def _follow(self) -> None:
        assert self._http is not None
        patience = SILENCE
        while True:
            headers = {"x-session-id": self.session_id, "last-event-id": str(self.last)}
            wait = httpx.Timeout(PATIENCE + patience, read=patience)
            try:
                async with self._http.stream(
                    "GET", "/events", headers=headers, timeout=wait
                ) as response:
                    if response.status_code == 200:
                        async for kind, data, position in frames(response):
                            self._saw(kind, data, position)
            except httpx.HTTPError as lost:
                self.noted(f"page: its stream: {type(lost).__name__}")
                patience = min(1.5 * patience, 10.0)
            await asyncio.sleep(0.02)

    def _saw(self, kind: str, data: Json, position: int | None) -> None:
        if position is None:
            return
        self.seen.append((kind, data, position))
        self.last = max(self.last, position)
        if kind == "transcription.completed":
            text, cut = data["transcript"].strip(), bool(data.get("interrupted"))
            item = data["item_id"]
            if item not in self.order:
                before = data.get("previous_item_id")
                at = self.order.index(before) + 1 if before in self.order else len(self.order)
                self.order.insert(at, item)
            self.lines[item] = (data["role"], text, cut)
            if not text and data.get("entry_id") is None:
                del self.lines[item]  # all of it comes under another item

    def all(self, kind: str) -> list[Json]:
        return [data for name, data, _ in self.seen if name == kind]

    async def until(self, done: Callable[[], object], what: str, seconds: float = 40.0) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not done():
            if loop.time() > until:
                raise AssertionError(f"{what}: never came")
            await asyncio.sleep(0.005)

    async def knows(self, item_id: str, what: str) -> None:
        """It was told, or has handed it in."""
        handed = f"entry {item_id}"
        await self.until(lambda: item_id in self.lines or handed in self.acknowledged, what)
