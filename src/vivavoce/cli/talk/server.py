"""The requests that `vivavoce talk` makes of a server, and what it says of their failures. It keeps
no state of the talk."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vivavoce import __version__
from vivavoce.client.link import (
    Frame,
    Link,
    NoServer,
    Refusal,
    connected,
    quoted,
)
from vivavoce.errors import InvalidRequest

_PLAIN_PORTS = {"http": "ws", "https": "wss"}


class NoVoice(Exception):
    """The sound cannot go over a WebSocket there: its provider takes it by WebRTC only."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a session is talked to with."""

    session: str
    conversation: str | None
    key: str
    last_event_id: int
    prior: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class AudioGrant:
    url: str
    protocols: tuple[str, ...]
    rate: int


class Server:
    """One server, by its address."""

    def __init__(self, link: Link) -> None:
        self._link, self.url = link, link.url

    # --- Before a talk ---------------------------------------------------------------

    async def ready(self) -> Mapping[str, Any]:
        body = await self._link.ask("GET", "/ready", fine=(503,))
        if not isinstance(body, dict) or "ready" not in body:
            raise NoServer(f"What answers at {self.url} is no Vivavoce server.")
        return body

    async def agent(self) -> str:
        """The name of the agent that is served here; "" for whoever may not know. With a token
        that is not right this is the first to say so."""
        try:
            config = await self._link.ask("GET", "/config")
        except Refusal as refusal:
            if refusal.status == 403 and refusal.code == "forbidden":
                return ""
            raise
        return str(config.get("amplifier", {}).get("bundle", ""))

    # --- Sessions ----------------------------------------------------------------------

    async def open(self, conversation: str | None) -> Grant:
        """A voice session: of a new conversation, or of one that goes on."""
        body: dict[str, Any] = {"can_type": True}
        if conversation is not None:
            body["conversation_id"] = conversation
        answer = await self._link.ask("POST", "/api/v1/voice/session", json=body)
        return Grant(
            session=answer["session_id"],
            conversation=answer["conversation_id"],
            key=answer["ephemeral_key"],
            last_event_id=answer["last_event_id"],
            prior=tuple(answer.get("prior_messages") or ()),
        )

    async def reconnect(self, session: str) -> Grant:
        answer = await self._link.ask("GET", "/session/reconnect", params={"session_id": session})
        return Grant(
            session=answer["session_id"],
            conversation=None,
            key=answer["ephemeral_key"],
            last_event_id=answer["last_event_id"],
        )

    async def audio(self, key: str) -> AudioGrant:
        """The key opens one call. Raises `NoVoice`."""
        try:
            answer = await self._link.ask(
                "POST", "/audio", headers={"authorization": f"Bearer {key}"}
            )
        except Refusal as refusal:
            if refusal.status == 409:
                raise NoVoice(refusal.message) from None
            raise
        parts = urlsplit(self.url)
        scheme = _PLAIN_PORTS[parts.scheme]
        return AudioGrant(
            url=f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}{answer['url']}",
            protocols=tuple(answer["protocols"]),
            rate=int(answer["input_format"]["rate"]),
        )

    async def state(self, session: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._link.ask(
            "GET", "/session", params={"session_id": session}
        )
        return found

    async def session(self, session: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._link.ask("GET", f"/sessions/{quoted(session)}")
        return found

    async def end(self, session: str) -> None:
        await self._link.ask("POST", f"/sessions/{quoted(session)}/end", json={})

    # --- Conversations -----------------------------------------------------------------

    async def conversation_of(self, name: str) -> str:
        """The conversation that is meant by its id, or by that of a session of it."""
        if name.startswith("vs_"):
            found = await self.session(name)
            return str(found["session"]["conversation_id"])
        try:
            return str(uuid.UUID(name))
        except ValueError:
            words = f"--resume: '{name}' is no id of a conversation (a UUID) or a session (vs_…)"
            raise InvalidRequest(words) from None

    async def new_conversation(self) -> str:
        return str((await self._link.ask("POST", "/api/v1/conversations", json={}))["id"])

    async def messages(self, conversation: str) -> list[Mapping[str, Any]]:
        path = f"/api/v1/conversations/{quoted(conversation)}/messages"
        return list((await self._link.ask("GET", path, params={"limit": 100}))["messages"])

    async def write(self, conversation: str, text: str, once: str) -> tuple[str, str]:
        """The session that answers, and when the server took it. `once` names the message: sent
        again it is the same one."""
        path = f"/api/v1/conversations/{quoted(conversation)}/messages"
        body = {"content": text, "wait_seconds": 0}
        answer = await self._link.ask("POST", path, json=body, headers={"idempotency-key": once})
        return str(answer["session_id"]), str(answer["message"]["created_at"])

    # --- Approvals ---------------------------------------------------------------------

    async def approvals(self) -> list[Mapping[str, Any]]:
        return list((await self._link.ask("GET", "/approvals"))["approvals"])

    async def decide(self, approval: str, *, granted: bool) -> None:
        await self._link.ask("POST", f"/approvals/{quoted(approval)}", json={"granted": granted})

    # --- Events ------------------------------------------------------------------------

    @asynccontextmanager
    async def events(self, session: str, after: int) -> AsyncIterator[AsyncIterator[Frame]]:
        """The stream of a session, from a position on; it is up when this is entered."""
        headers = {"x-session-id": session}
        async with self._link.frames("/events", headers=headers, last_event_id=after) as frames:
            yield frames


def checked_url(given: str) -> str:
    """An address as people write it: `localhost:8080` is enough. Raises `InvalidRequest`."""
    url = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PLAIN_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidRequest(f"'{given}' is no http or https address")
    return url.rstrip("/")


@asynccontextmanager
async def server_at(url: str, token: str | None) -> AsyncIterator[Server]:
    async with connected(url, f"vivavoce-talk/{__version__}") as client:
        yield Server(Link(client, url, token))
