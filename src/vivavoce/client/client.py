"""`Vivavoce`: conversations, sessions, tasks, approvals and events of a server, for apps in Python.

Carries no sound: a voice session is opened here, and talked to with a browser, `vivavoce talk` or
any client of the Realtime API. What is written needs no voice at all.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Literal, Self

import httpx2

from vivavoce import __version__
from vivavoce.client.link import Link, NoServer, Refusal, Token, connected, quoted
from vivavoce.client.records import (
    Approval,
    Conversation,
    Event,
    Hit,
    Message,
    Opened,
    Reply,
    Session,
    Task,
)
from vivavoce.retrying import Backoff, doubling

Reach = Literal["once", "session", "always"]
"""How far a yes goes: for this call, for the same one in its session, or until it is taken back."""

_ANSWER_PATIENCE = 20.0
"""Beyond what the server itself waits for an answer."""
_WRITES = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0


class Vivavoce:
    """One server, as one user.

    async with Vivavoce("http://127.0.0.1:8080") as voice:
        conversation = await voice.conversations.begin()
        answer = await voice.conversations.write(conversation.id, "What is six times seven?")
    """

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        user: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """`token` may be a function that gets a fresh one. `user` names the user where the server
        asks for no token; elsewhere the token does. `transport` is for tests."""
        self.url = url.rstrip("/")
        self._token, self._transport = token, transport
        self._user = {} if user is None else {"x-user-id": user}
        self._stack = AsyncExitStack()
        self._link: Link | None = None

    async def __aenter__(self) -> Self:
        agent = f"vivavoce-client/{__version__}"
        client = await self._stack.enter_async_context(connected(self.url, agent, self._transport))
        client.headers.update(self._user)
        self._link = Link(client, self.url, self._token)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._link = None
        await self._stack.aclose()

    @property
    def link(self) -> Link:
        if self._link is None:
            raise RuntimeError("Use it with `async with`")
        return self._link

    @property
    def conversations(self) -> Conversations:
        return Conversations(self.link)

    @property
    def sessions(self) -> Sessions:
        return Sessions(self.link)

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.link)

    @property
    def approvals(self) -> Approvals:
        return Approvals(self.link)

    async def ready(self) -> bool:
        """Can it be talked to now? A server that still loads its models is not ready."""
        body = await self.link.ask("GET", "/ready", fine=(503,))
        if not isinstance(body, dict) or "ready" not in body:
            raise NoServer(f"What answers at {self.url} is no Vivavoce server.")
        return bool(body["ready"])

    async def events(
        self,
        session: str | None = None,
        *,
        names: Iterable[str] = (),
        after: int | None = None,
        follow: bool = True,
    ) -> AsyncIterator[Event]:
        """What happens, of one session or of all that are the user's, until you stop reading.

        `names` are events, or groups such as `tool.*`; without, all. `after` is the position of the
        last one that you have: what came since is told first. A stream that breaks is taken up
        again where it was, however often; it raises `Refusal` where the server does not let us in.
        With `follow=False` it ends with what is stored.
        """
        link, wanted = self.link, ",".join(names) or None
        headers = {} if session is None else {"x-session-id": session}
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            began = time.monotonic()
            pause: float | None = None
            try:
                place = {} if after is None else {"last-event-id": str(after)}
                query = {"subscribe": wanted, "follow": None if follow else "false"}
                async with link.frames("/events", headers=headers | place, **query) as frames:
                    async for frame in frames:
                        after = after if frame.position is None else frame.position
                        if frame.name:
                            yield Event(frame.name, frame.data, frame.position)
            except Refusal as refusal:
                if not refusal.passing:
                    raise
                pause = refusal.retry_after
            if not follow:
                return
            await asyncio.sleep(max(pause or 0.0, backoff.after(time.monotonic() - began)))


class Conversations:
    """What was said, by voice or in writing."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self, *, limit: int = 20, offset: int = 0) -> tuple[Conversation, ...]:
        """The one with the newest message first."""
        params = {"limit": limit, "offset": offset}
        answer = await self._link.ask("GET", "/api/v1/conversations", params=params)
        return tuple(Conversation.of(one) for one in answer["conversations"])

    async def begin(self, title: str | None = None) -> Conversation:
        """One to write to. One by voice begins with `sessions.open`."""
        body = {} if title is None else {"title": title}
        return Conversation.of(await self._link.ask("POST", "/api/v1/conversations", json=body))

    async def messages(
        self, conversation: str, *, limit: int = 100, before: str | None = None
    ) -> tuple[Message, ...]:
        """The last ones, oldest first; or the last before one of them."""
        params = {"limit": str(limit)} | ({} if before is None else {"before": before})
        answer = await self._link.ask("GET", f"{_path(conversation)}/messages", params=params)
        return tuple(Message.of(one) for one in answer["messages"])

    async def write(
        self, conversation: str, text: str, *, wait: float = 30.0, once: str | None = None
    ) -> Reply:
        """Say something in writing, and wait so many seconds for the answer, which is kept in any
        case. While a call of the conversation is on, it is said there. Where nobody answers it is
        sent again under the same name `once`, and is one message."""
        once = once or str(uuid.uuid4())
        failures = 0
        while True:
            try:
                answer = await self._link.ask(
                    "POST",
                    f"{_path(conversation)}/messages",
                    json={"content": text, "wait_seconds": wait},
                    headers={"idempotency-key": once},
                    patience=wait + _ANSWER_PATIENCE,
                )
                break
            except Refusal as refusal:
                failures += 1
                if not refusal.passing or failures >= _WRITES:
                    raise
                pause = refusal.retry_after
            await asyncio.sleep(max(pause or 0.0, doubling(failures, _FIRST_PAUSE, _LONGEST_PAUSE)))
        reply = answer["reply"]
        return Reply(
            message=Message.of(answer["message"]),
            reply=None if reply is None else Message.of(reply),
            session_id=str(answer["session_id"]),
        )

    async def search(self, words: str) -> tuple[Hit, ...]:
        """Messages with these words, best first."""
        path = "/api/v1/conversations/search"
        answer = await self._link.ask("GET", path, params={"q": words})
        return tuple(Hit.of(one) for one in answer["results"])

    async def delete(self, conversation: str) -> None:
        """With all that was said in it, for good."""
        await self._link.send("DELETE", _path(conversation))


class Sessions:
    """Voice sessions: live connections of a conversation."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self) -> tuple[Session, ...]:
        answer = await self._link.ask("GET", "/sessions")
        return tuple(Session.of(one) for one in answer["sessions"])

    async def get(self, session: str) -> Session:
        answer = await self._link.ask("GET", f"/sessions/{quoted(session)}")
        return Session.of(answer["session"])

    async def open(
        self,
        conversation: str | None = None,
        *,
        task: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Opened:
        """Of a new conversation, or of one that goes on; about a task, if one is named. `context`
        is what the app knows of its user."""
        named = {"conversation_id": conversation, "task_id": task, "context": context}
        body = {name: value for name, value in named.items() if value is not None}
        answer = await self._link.ask("POST", "/api/v1/voice/session", json=body)
        return Opened(
            session_id=str(answer["session_id"]),
            conversation_id=str(answer["conversation_id"]),
            key=str(answer["ephemeral_key"]),
            last_event_id=int(answer["last_event_id"]),
            prior=tuple(Message.of(one) for one in answer.get("prior_messages") or ()),
        )

    async def end(self, session: str) -> None:
        """Hang up. Ending twice is ending once."""
        await self._link.send("POST", f"/sessions/{quoted(session)}/end", json={})


class Tasks:
    """Work that was delegated, and goes on without a call."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self, *, open_only: bool = False, limit: int = 50) -> tuple[Task, ...]:
        """Newest first."""
        params = {"open_only": str(open_only).lower(), "limit": limit}
        answer = await self._link.ask("GET", "/tasks", params=params)
        return tuple(Task.of(one) for one in answer["tasks"])

    async def get(self, task: str) -> Task:
        return Task.of(await self._link.ask("GET", f"/tasks/{quoted(task)}"))

    async def cancel(self, task: str) -> Task:
        """One that is over stays as it is."""
        return Task.of(await self._link.ask("POST", f"/tasks/{quoted(task)}/cancel"))

    async def answer(self, task: str, words: str, *, question: str | None = None) -> None:
        """To what it asks; with the question's id only to that one."""
        body = {"answer": words} | ({} if question is None else {"question_id": question})
        await self._link.send("POST", f"/tasks/{quoted(task)}/answer", json=body)


class Approvals:
    """What waits for a yes."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self) -> tuple[Approval, ...]:
        answer = await self._link.ask("GET", "/approvals")
        return tuple(Approval.of(one) for one in answer["approvals"])

    async def decide(self, approval: str, granted: bool, *, reach: Reach = "once") -> Approval:
        """The first answer counts, wherever it came from. Raises `Refusal` (409) after that."""
        further = {"once": {}, "session": {"for_session": True}, "always": {"always": True}}[reach]
        body = {"granted": granted, **further}
        return Approval.of(
            await self._link.ask("POST", f"/approvals/{quoted(approval)}", json=body)
        )


def _path(conversation: str) -> str:
    return f"/api/v1/conversations/{quoted(conversation)}"
