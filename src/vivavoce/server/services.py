"""What the doors stand in front of, and the small dependencies they share."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, Protocol, TypeVar, cast

from fastapi import Depends, Header, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from vivavoce.errors import (
    InvalidRequest,
    OwnedElsewhere,
    Unavailable,
    UnsupportedMedia,
    VivavoceError,
)
from vivavoce.runtime.calls.approvals import Approvals
from vivavoce.runtime.calls.executor import ToolExecutor
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.conductor.service import Conductor
from vivavoce.runtime.instances import Instance
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import AtOnce, Window
from vivavoce.runtime.people.data import UserData
from vivavoce.runtime.people.plans import Agenda
from vivavoce.runtime.people.reminders import Reminders
from vivavoce.runtime.ports import Clock, InstanceSeen, Store, Toolbox
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.providers import Providers
from vivavoce.runtime.push.service import Push
from vivavoce.runtime.relay import Relay
from vivavoce.runtime.sessions.library import Library
from vivavoce.runtime.sessions.profile import Profile
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.runtime.sessions.voice import Voice
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.server.gate.auth import AuthMode, current_role, current_user, rank, whole_user
from vivavoce.server.gate.browsers import BrowserKeys
from vivavoce.server.gate.login import Login
from vivavoce.server.gate.tickets import ConductorTokens, StreamTokens, Tickets, digest_of, home_of
from vivavoce.server.gate.tokens import AccessTokens
from vivavoce.server.metrics import Metrics
from vivavoce.wire.records.plans import Todo
from vivavoce.wire.records.work import Role

log = logging.getLogger(__name__)

MAX_BACKGROUND = 200
T = TypeVar("T")


@dataclass(slots=True)
class Background:
    """Work that outlives its request, under one parent, bounded in number and in time, and in what
    one user may have of it."""

    own: AtOnce = field(default_factory=lambda: AtOnce(0, what="tool calls"))
    group: asyncio.TaskGroup | None = None
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def start(self, work: Coroutine[Any, Any, T], user_id: str) -> asyncio.Future[T]:
        """What comes of it, for who waits; nobody has to. Raises `RateLimited`, `Unavailable`."""
        try:
            if self.group is None or len(self.tasks) >= MAX_BACKGROUND:
                raise Unavailable("Too much is under way. Please try again in a moment.")
            self.own.take(user_id)
        except VivavoceError:
            work.close()
            raise
        told: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        task = self.group.create_task(_guarded(work, told))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(lambda _: self.own.give(user_id))
        return told

    async def stop(self, patience: float) -> None:
        """No more of it; what is under way gets a moment, then is cancelled, and says so."""
        self.group = None
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=patience)
        for task in tuple(self.tasks):
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=patience)


async def _guarded(work: Coroutine[Any, Any, T], told: asyncio.Future[T]) -> None:
    """What fails here failed for its request, which is told; the group lives on."""
    try:
        result = await work
    except Exception as fault:
        log.exception("Work in the background failed")
        if not told.done():
            told.set_exception(fault)
            told.exception()  # marks it as seen: often nobody waits
    except asyncio.CancelledError:
        told.cancel()
        raise
    else:
        if not told.done():
            told.set_result(result)


class Embedded(Protocol):
    """The engine inside, where there is one."""

    def door(self) -> ASGIApp: ...

    def waiting_for(self) -> list[str]:
        """What is not there yet, in words; nothing once it can answer."""
        ...

    def models(self) -> list[Mapping[str, Any]]:
        """Name, state, bytes received, bytes in all, error."""
        ...

    def about(self) -> Mapping[str, Any]:
        """`brain` and `speech`, each with its name, its device and what is known of it; nothing
        before they are loaded."""
        ...

    @property
    def reading(self) -> bool:
        """Its brain reads ahead what every session begins with."""
        ...

    @property
    def calls(self) -> int: ...

    @property
    def failed(self) -> bool:
        """Its models cannot be had for now; it tries again by itself."""
        ...


class Toolset(Protocol):
    """What the tools stand on: sandbox, MCP servers, agents."""

    def status(self) -> Mapping[str, Any]:
        """For `/status`: which sandbox holds, which servers and agents are there, and why not."""
        ...


class Intents(Protocol):
    """What the agent submits, and the outbox of what has to be told elsewhere."""

    def status(self) -> Mapping[str, Any]:
        """For `/status`: which intents there are, who acts on them, how much waits."""
        ...

    async def dues(self, todos: Sequence[Todo], now: datetime) -> list[datetime | None]:
        """When each is to be done next."""
        ...


class Hardware(Protocol):
    """The door that hardware speaks to, where it is open."""

    def listen_on(self, bound: socket.socket) -> None: ...

    async def run(self, ready: Callable[[], Awaitable[None]]) -> None:
        """Until it is cancelled; nobody is let in before `ready` returns."""
        ...

    def status(self) -> Mapping[str, Any]:
        """For `/status`: `address`, `allowed`, `connections`, `satellites`."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator decided, as far as the doors show it or go by it."""

    host: str
    port: int
    tool_timeout: float
    auth: AuthMode = "off"
    runtime_start_seconds: float = 10.0
    ice_servers: tuple[Mapping[str, Any], ...] = ()
    ice_transport_policy: Literal["all", "relay"] = "all"
    authority: FilePath | None = None
    """Of the certificate that was made here: for phones to install."""


@dataclass(slots=True, kw_only=True)
class Services:
    """What the doors stand in front of, put together in `app/`."""

    options: Options
    store: Store
    journal: Journal
    provider: OpenAIProvider
    """The one that is asked first."""
    providers: Providers
    tools: Toolbox
    executor: ToolExecutor
    registry: Registry
    instance: Instance
    relay: Relay
    profile: Profile
    voice: Voice
    library: Library
    conductor: Conductor
    runtimes: ConductorTokens
    data: UserData
    agenda: Agenda
    tickets: Tickets
    streams: StreamTokens
    browsers: BrowserKeys
    login: Login
    tokens: AccessTokens
    clock: Clock
    metrics: Metrics
    new_sessions: Window
    changes: Window
    """What a user may change in a minute."""
    reads: AtOnce
    """Large answers that a user is given."""
    started_at: datetime
    work: Tasks
    reminders: Reminders
    questions: Questions
    approvals: Approvals
    toolset: Toolset
    intents: Intents
    background: Background = field(default_factory=Background)
    passed_on: int = 0
    """Offers that another server is asked about just now."""
    engine: Embedded | None = None
    standby: Embedded | None = None
    """The engine where another provider serves."""
    hardware: Hardware | None = None
    push: Push | None = None


CONNECTING_SECONDS = 15.0
MOST_PASSED_ON = 32
"""Offers for other servers at once: nobody knows yet whether their keys are any."""


async def exchanged(here: Services, key: str, offer: str, session_id: str | None = None) -> str:
    """The answer to a browser's offer, from whichever server handed out the key."""
    home = here.tickets.elsewhere(key)
    if home is not None and (owner := await _named(here, home)) is not None:
        if here.passed_on >= MOST_PASSED_ON:
            told = f"Too many keys of other servers arrive here; use this at '{owner.name}'."
            raise Unavailable(told, retry_after_ms=1000)
        plain = f"{digest_of(key)}\n{session_id or ''}\n{offer}"
        here.passed_on += 1
        try:
            _, answer = await here.relay.ask(
                "sdp", (owner.name, owner.epoch), "", {}, plain=plain, wait=CONNECTING_SECONDS
            )
        finally:
            here.passed_on -= 1
        return answer
    grant = here.tickets.redeem(key, session_id=session_id)
    return await here.voice.connector.sdp(grant.session_id, grant.user_id, offer)


async def exchanged_there(
    here: Services, user_id: str, given: dict[str, Any], plain: str
) -> tuple[dict[str, Any], str]:
    """The same, where the key arrived at another server: that knows its digest, not our grant."""
    digest, session_id, offer = plain.split("\n", 2)
    grant = here.tickets.redeem_digest(digest, session_id=session_id or None)
    return {}, await here.voice.connector.sdp(grant.session_id, grant.user_id, offer)


async def handed_out_here(here: Services, key: str) -> None:
    """For what can only be done where the key is from: raises `OwnedElsewhere`."""
    home = here.tickets.elsewhere(key)
    if home is not None and (owner := await _named(here, home)) is not None:
        told = f"This key is of the server '{owner.name}': use it there."
        raise OwnedElsewhere(told, owner=owner.name)


async def _named(here: Services, home: str) -> InstanceSeen | None:
    every = await here.store.instances()
    return next((one for one in every if one.lease_until and home_of(one.name) == home), None)


# What a route depends on is a coroutine, however little it does: FastAPI sends every function to a
# thread and waits for it, which costs more than most answers.


async def _services(conn: HTTPConnection) -> Services:
    return cast("Services", conn.app.state.services)


async def _user(conn: HTTPConnection) -> str:
    return current_user(conn)


async def _role(conn: HTTPConnection) -> Role:
    return current_role(conn)


async def _rank(conn: HTTPConnection) -> Role:
    return rank(conn)


async def _whole_user(conn: HTTPConnection) -> str:
    return whole_user(conn)


Here = Annotated[Services, Depends(_services)]
User = Annotated[str, Depends(_user)]
AsRole = Annotated[Role, Depends(_role)]
Rank = Annotated[Role, Depends(_rank)]
WholeUser = Annotated[str, Depends(_whole_user)]


async def _session_ref(
    x_session_id: Annotated[str | None, Header(max_length=64)] = None,
    session_id: Annotated[str | None, Query(max_length=64)] = None,
) -> str | None:
    """The session, from the header or, where none can be sent, from the query."""
    return x_session_id or session_id


async def _session_needed(session: Annotated[str | None, Depends(_session_ref)]) -> str:
    if not session:
        raise InvalidRequest(
            "Name the session: header 'X-Session-ID' or query 'session_id'.", field="X-Session-ID"
        )
    return session


SessionPath = Annotated[str, Path(max_length=64, description="Voice session ID")]
MaybeSession = Annotated[str | None, Depends(_session_ref)]
TheSession = Annotated[str, Depends(_session_needed)]


async def told(view: Callable[[], BaseModel], *, sparse: bool = False) -> Response:
    """A large answer, made beside the event loop: whoever talks meanwhile must not wait for it."""
    body = await asyncio.to_thread(
        lambda: view().model_dump_json(by_alias=True, exclude_none=sparse)
    )
    return Response(body, media_type="application/json")


async def paced(request: Request) -> None:
    """For routers and routes by which a user changes what is kept: so many in a minute, or they
    would fill the disk, with what they write and with what is noted of it."""
    if request.method not in ("GET", "HEAD"):
        request.app.state.services.changes.check(current_user(request))


class Sparse(APIRoute):
    """A route whose answer leaves out what there is nothing to say of."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["response_model_exclude_none"] = not kwargs.get("response_model_exclude_unset")
        super().__init__(*args, **kwargs)


async def json_only(request: Request) -> None:
    """For routers: a body of another kind would be told as one with everything missing."""
    headers = request.headers
    body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and request.method in ("POST", "PATCH") and not kind.endswith(("/json", "+json")):
        raise UnsupportedMedia("Send JSON, as 'Content-Type: application/json'.")
