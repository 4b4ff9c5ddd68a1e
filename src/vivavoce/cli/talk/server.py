"""The requests that `vivavoce talk` makes of a server, and what it says of their failures. It keeps
no state of the talk."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from vivavoce import __version__
from vivavoce.errors import InvalidRequest

_PATIENCE = 20.0
_CONNECT = 5.0
_SILENCE = 75.0
"""Seconds without a word on the stream: it has a heartbeat every 30."""
_PLAIN_PORTS = {"http": "ws", "https": "wss"}


class NoServer(Exception):
    """Nobody answers there, or somebody else does."""


class NoVoice(Exception):
    """The sound cannot go over a WebSocket there: its provider takes it by WebRTC only."""


class Refusal(Exception):
    """The server said no; `passing` if it is worth asking again."""

    def __init__(
        self, status: int, code: str, message: str, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after

    @property
    def passing(self) -> bool:
        return self.status in (0, 408, 429) or self.status >= 500


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


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of the stream."""

    name: str
    data: Mapping[str, Any]
    position: int | None


class Server:
    """One server, by its address."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client, self.url = client, url

    # --- Before a talk ---------------------------------------------------------------

    async def ready(self) -> Mapping[str, Any]:
        answer = await self._send("GET", "/ready", fine=(503,))
        body = _json(answer)
        if not isinstance(body, dict) or "ready" not in body:
            raise NoServer(f"What answers at {self.url} is no Vivavoce server.")
        return body

    async def agent(self) -> str:
        """The name of the agent that is served here; "" for whoever may not know. With a token
        that is not right this is the first to say so."""
        try:
            config = await self._ask("GET", "/config")
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
        answer = await self._ask("POST", "/api/v1/voice/session", json=body)
        return Grant(
            session=answer["session_id"],
            conversation=answer["conversation_id"],
            key=answer["ephemeral_key"],
            last_event_id=answer["last_event_id"],
            prior=tuple(answer.get("prior_messages") or ()),
        )

    async def reconnect(self, session: str) -> Grant:
        answer = await self._ask("GET", "/session/reconnect", params={"session_id": session})
        return Grant(
            session=answer["session_id"],
            conversation=None,
            key=answer["ephemeral_key"],
            last_event_id=answer["last_event_id"],
        )

    async def audio(self, key: str) -> AudioGrant:
        """The key opens one call. Raises `NoVoice`."""
        try:
            answer = await self._ask("POST", "/audio", headers={"authorization": f"Bearer {key}"})
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
        found: Mapping[str, Any] = await self._ask(
            "GET", "/session", params={"session_id": session}
        )
        return found

    async def session(self, session: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._ask("GET", f"/sessions/{_quoted(session)}")
        return found

    async def end(self, session: str) -> None:
        await self._ask("POST", f"/sessions/{_quoted(session)}/end", json={})

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
        return str((await self._ask("POST", "/api/v1/conversations", json={}))["id"])

    async def messages(self, conversation: str) -> list[Mapping[str, Any]]:
        path = f"/api/v1/conversations/{_quoted(conversation)}/messages"
        return list((await self._ask("GET", path, params={"limit": 100}))["messages"])

    async def write(self, conversation: str, text: str, once: str) -> tuple[str, str]:
        """The session that answers, and when the server took it. `once` names the message: sent
        again it is the same one."""
        path = f"/api/v1/conversations/{_quoted(conversation)}/messages"
        body = {"content": text, "wait_seconds": 0}
        answer = await self._ask("POST", path, json=body, headers={"idempotency-key": once})
        return str(answer["session_id"]), str(answer["message"]["created_at"])

    # --- Approvals ---------------------------------------------------------------------

    async def approvals(self) -> list[Mapping[str, Any]]:
        return list((await self._ask("GET", "/approvals"))["approvals"])

    async def decide(self, approval: str, *, granted: bool) -> None:
        await self._ask("POST", f"/approvals/{_quoted(approval)}", json={"granted": granted})

    # --- Events ------------------------------------------------------------------------

    @asynccontextmanager
    async def events(self, session: str, after: int) -> AsyncIterator[AsyncIterator[Frame]]:
        """The stream of a session, from a position on; it is up when this is entered."""
        request = self._client.build_request(
            "GET",
            "/events",
            headers={"x-session-id": session, "accept": "text/event-stream"},
            params={"last_event_id": after},
            timeout=httpx2.Timeout(_PATIENCE, connect=_CONNECT, read=_SILENCE),
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.HTTPError as fault:
            raise self._unreachable(fault) from None
        try:
            if not response.is_success:
                await response.aread()
                raise self._refusal(response)
            yield self._frames(response)
        finally:
            await response.aclose()

    async def _frames(self, response: httpx2.Response) -> AsyncIterator[Frame]:
        name, data, position = "message", "", None
        try:
            async for line in response.aiter_lines():
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data += value
                elif field == "id" and value.isdecimal():
                    position = int(value)
                elif not line:
                    if data:
                        yield Frame(name, json.loads(data), position)
                    elif position is not None:
                        yield Frame("", {}, position)  # only a place to go on from
                    name, data, position = "message", "", None
        except httpx2.HTTPError as fault:
            raise self._unreachable(fault) from None
        except ValueError:
            raise Refusal(0, "unreadable", "The server's events cannot be read.") from None

    # --- How it is asked ---------------------------------------------------------------

    async def _ask(self, method: str, path: str, **more: Any) -> Any:
        body = _json(await self._send(method, path, **more))
        if body is None:
            raise NoServer(f"What answers at {self.url} is no Vivavoce server.")
        return body

    async def _send(
        self, method: str, path: str, *, fine: tuple[int, ...] = (), **more: Any
    ) -> httpx2.Response:
        try:
            response = await self._client.request(method, path, **more)
        except httpx2.HTTPError as fault:
            raise self._unreachable(fault) from None
        if response.is_success or response.status_code in fine:
            return response
        raise self._refusal(response)

    def _unreachable(self, fault: httpx2.HTTPError) -> Refusal:
        if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout):
            words = f"No server answers at {self.url}."
        else:
            words = f"The server at {self.url} gave no answer ({type(fault).__name__})."
        return Refusal(0, "unreachable", words)

    def _refusal(self, response: httpx2.Response) -> Refusal:
        body, status = _json(response), response.status_code
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(error, dict) or "message" not in error:
            words = f"What answers at {self.url} says {status}, and is no Vivavoce server."
            return Refusal(status, "unknown", words)
        details = error.get("details") or {}
        exact, header = details.get("retry_after_ms"), response.headers.get("retry-after", "")
        wait = exact / 1000 if isinstance(exact, int | float) else None
        if wait is None and header.isdecimal():
            wait = float(header)
        return Refusal(status, str(error.get("code")), str(error["message"]), wait)


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _quoted(name: str) -> str:
    return quote(name, safe="")


def on_this_machine(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


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
    headers = {"user-agent": f"vivavoce-talk/{__version__}"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient(
        base_url=url,
        headers=headers,
        timeout=httpx2.Timeout(_PATIENCE, connect=_CONNECT),
        # A proxy has no business between us and a server on this machine.
        trust_env=not on_this_machine(urlsplit(url).hostname or ""),
    ) as client:
        yield Server(client, url)
