"""One conversation with a remote A2A agent about one task: send, follow, cancel.

A stream is for progress; how a task stands is asked, since streams break and
begin in the middle. A message that was sent is not sent again by us: what
comes back after a restart is followed by its id.

The address is the operator's choice and may be private. But a card is the
agent's own words: the key in our headers goes where the operator said, not
where a card points, and answers are bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx

from vivavoce.runtime.agents.work import A2aAgent
from vivavoce.runtime.tasks.ports import GaveUp, StepValue
from vivavoce.tools.delegation.a2a.words import Bounds, Seen, origin
from vivavoce.tools.delegation.briefs import told
from vivavoce.tools.delegation.window import Window

if TYPE_CHECKING:
    from a2a.client import Client
    from a2a.types import StreamResponse

MAX_ANSWER = 32 * 1024 * 1024
READ_SECONDS = 600.0
"""A stream may be silent while the agent works; it is taken up again when it breaks."""
_HANG_UP = 1.0
_ROUNDS = 25
"""Turns of the loop in which generators one within the other are closed."""
_WELL_KNOWN = "/.well-known/agent-card.json"


class _Counted(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._stream:
                size += len(piece)
                if size <= MAX_ANSWER:
                    yield piece
                else:
                    await self._stream.aclose()  # so that reading on ends, all the way down
        except Exception:
            if size <= MAX_ANSWER:
                raise
        if size > MAX_ANSWER:
            raise httpx.ReadError(f"it sent more than {MAX_ANSWER} bytes")

    async def aclose(self) -> None:
        await self._stream.aclose()


class OneOrigin(httpx.AsyncBaseTransport):
    """To one origin only."""

    def __init__(self, url: str) -> None:
        self._allowed = origin(url)
        self._inner = httpx.AsyncHTTPTransport()
        self._last: _Counted | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        wanted = origin(str(request.url))
        if wanted != self._allowed:
            raise httpx.ConnectError(f"its card points to {wanted}, not to {self._allowed}")
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = self._last = _Counted(response.stream)
        return response

    async def hang_up(self, stream: AsyncIterator[object]) -> None:
        """Ends what is being streamed. A generator of the SDK's that is merely closed leaves those
        within it to the garbage collector; read to its end, it leaves nothing."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_HANG_UP):
                if self._last is not None:
                    await self._last.aclose()
                async for _ in stream:
                    pass
        for _ in range(_ROUNDS):  # after a message the SDK leaves off by itself, with the same end
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def web(self, headers: Mapping[str, str]) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=self,
            headers=dict(headers),
            timeout=httpx.Timeout(30.0, read=READ_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )


class Talk:
    def __init__(self, name: str, agent: A2aAgent, window: Window, bounds: Bounds) -> None:
        self._name = name
        self._agent = agent
        self._window = window
        self._bounds = bounds
        self._stack = AsyncExitStack()
        self._line = OneOrigin(agent.url)
        self._client: Client | None = None
        self._stream: AsyncIterator[StreamResponse] | None = None
        self._seen = Seen()

    async def __aenter__(self) -> Talk:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()
        await self._stack.aclose()

    async def send(self, text: str, message_id: str, task: StepValue = None) -> StepValue:
        """To a new task, or on with one. The ids by which it is found again, or its reply."""
        from a2a.types import Message, Part, Role, SendMessageRequest

        message = Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)])
        if task is not None:
            message.task_id, message.context_id = task["task"], task["context"]
        await self._leave()
        self._seen = Seen()
        with _as_gave_up(self._name, self._agent):
            async with asyncio.timeout(self._bounds.answer_seconds):
                remote = await self._connected()
                self._stream = remote.send_message(SendMessageRequest(message=message))
                async for event in self._stream:
                    self._take(event)
                    if self._seen.task_id or self._seen.reply is not None:
                        break
        if self._seen.reply is not None:
            return {"reply": self._seen.reply}
        if not self._seen.task_id:
            raise GaveUp(f"The agent {self._name} did not take the task")
        return {"task": self._seen.task_id, "context": self._seen.context_id}

    async def follow(self, task_id: str) -> StepValue:
        """Until it is over, or waits for somebody."""
        failures = 0
        known = bool(self._seen.task_id)  # it began in this process, not before a restart
        with _as_gave_up(self._name, self._agent):
            async with asyncio.timeout(self._bounds.work_seconds), self._window.open():
                while True:
                    try:
                        await self._listen(task_id)
                        await self._look(task_id)
                        failures = 0
                    except Exception:
                        failures += 1
                        if self._seen.over:
                            break  # what the stream said last is all we will know
                        if failures > self._bounds.retries:
                            raise
                    if self._seen.over:
                        break
                    await asyncio.sleep(self._bounds.poll_seconds * min(1 + failures, 10))
        seen = self._seen
        return {"state": seen.state, "words": seen.words, "result": seen.result, "known": known}

    async def cancel(self, task_id: str) -> None:
        from a2a.types import CancelTaskRequest

        await self._leave()
        # It may be over, or away: nobody waits for it any more.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._bounds.cancel_seconds):
                await (await self._connected()).cancel_task(CancelTaskRequest(id=task_id))

    async def _listen(self, task_id: str) -> None:
        """What is told until the stream ends, if there is one to be had."""
        from a2a.types import SubscribeToTaskRequest

        if self._stream is None:
            await self._look(task_id)
            remote = await self._connected()
            if self._seen.over:
                return
            self._stream = remote.subscribe(SubscribeToTaskRequest(id=task_id))
        try:
            async for event in self._stream:
                self._take(event)
                if self._seen.over:
                    break
        except NotImplementedError:
            pass  # it does not stream: it is asked now and then
        finally:
            await self._leave()

    async def _look(self, task_id: str) -> None:
        from a2a.types import GetTaskRequest

        remote = await self._connected()
        async with asyncio.timeout(self._bounds.answer_seconds):
            task = await remote.get_task(GetTaskRequest(id=task_id, history_length=1))
        self._seen.snapshot(task)
        self._tell()

    def _take(self, event: StreamResponse) -> None:
        self._seen.take(event)
        self._tell()

    def _tell(self) -> None:
        if self._seen.state == "working" and self._seen.words:
            self._window.say(self._seen.words, None, self._name)

    async def _connected(self) -> Client:
        """By its card: at the address itself if that is a file, else at the well-known place below.

        Raises the SDK's errors, and `ValueError` for a card we have no way to speak with.
        """
        from a2a.client import ClientConfig, ClientFactory

        if self._client is None:
            url, http = self._agent.url, self._line.web(self._agent.headers)
            self._stack.push_async_callback(http.aclose)
            config = ClientConfig(
                streaming=True,
                polling=True,  # it answers at once, and we follow the task
                httpx_client=http,
                supported_protocol_bindings=["JSONRPC", "HTTP+JSON"],
            )
            path = httpx.URL(url).path
            base, card = (origin(url), path) if path.endswith(".json") else (url, _WELL_KNOWN)
            create = ClientFactory(config).create_from_url
            self._client = await create(base, relative_card_path=card)
        return self._client

    async def _leave(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await self._line.hang_up(stream)


@contextlib.contextmanager
def _as_gave_up(name: str, agent: A2aAgent) -> Any:
    from a2a.client.errors import A2AClientError
    from a2a.utils.errors import A2AError

    where = f"See whether the agent at {origin(agent.url)} is running"
    try:
        yield
    except TimeoutError:
        raise GaveUp(f"The agent {name} did not answer in time", suggestions=[where]) from None
    except (A2AClientError, A2AError, ValueError, OSError) as exc:
        why = told(str(exc), type(exc).__name__, 200)
        raise GaveUp(f"The agent {name} could not be asked: {why}", suggestions=[where]) from None
