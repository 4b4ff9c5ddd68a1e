"""The listener: uvicorn, one server on one database file, an orderly end with clients connected,
and what a connection may do before anyone is known.

uvicorn waits for ever for the head of a request and for a client to read its answer, and its
`limit_concurrency` turns probes away too. So the protocol here is uvicorn's with three clocks
and a cap: once all connections are taken, the one that has kept us waiting longest makes room.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

import uvicorn
from pydantic import SecretStr
from sqlalchemy.engine import make_url
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import SecurityError
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request

from vivavoce import __version__, logs
from vivavoce.app.certificates import (
    Secured,
    addresses,
    names_for,
    qr_code,
    secured,
    vouched_for,
)
from vivavoce.app.lifecycle import Server, stop
from vivavoce.app.server import EVERYWHERE, assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.errors import (
    InvalidRequest,
    PayloadTooLarge,
    RequestTimeout,
    Unavailable,
    VivavoceError,
)
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.waiting import Flag, Inbox
from vivavoce.server.gate.auth import CONDUCTOR, is_loopback
from vivavoce.server.problems import problem
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

# Of a WebSocket: three times what the engine takes, which answers what is too large with an
# error event. Only beyond this is the connection closed.
MAX_FRAME = 64 * 1024 * 1024
MOST_FRAGMENTS = 1024  # of one message


def collect_rarely() -> None:
    """What was made until now stays: the collector need not look at it ever again. What comes is
    mostly freed by itself: it looks after some thousands of new objects, not after hundreds."""
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)
    gc.enable()


class Listener(uvicorn.Server):
    """An open event stream keeps uvicorn from stopping: sessions and streams end before it."""

    def __init__(
        self,
        config: uvicorn.Config,
        here: Server,
        *,
        secure: ssl.SSLContext | None = None,
        inner: socket.socket | None = None,
    ) -> None:
        """With `secure` it speaks TLS; on `inner`, where only this machine is, it does not: our own
        sideband asks there."""
        super().__init__(config)
        self._here, self._secure, self._inner = here, secure, inner

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises a caught signal again at the end; an orderly end is no failure."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.ssl = self._secure
        await super().startup(sockets)
        if self._inner is not None:
            loop = asyncio.get_running_loop()
            self.servers.append(await loop.create_server(self._connection, sock=self._inner))
        self._here.listening.set()
        collect_rarely()

    def _connection(self) -> asyncio.Protocol:
        return BoundedConnection(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._here.instance.lost.is_set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await stop(self._here)
        await super().shutdown(sockets)


def serve(settings: Settings, source: AgentSource[IntentRegistry]) -> int:
    """Until Ctrl-C. The exit code. What cannot work is told before the greeting."""
    _configure_logs(settings)
    with (
        ExitStack() as stack,
        bind(settings) as bound,
        sole_server(settings.database_url),
        asyncio.Runner(loop_factory=_loop()) as runner,
    ):
        settings = settings.model_copy(update={"port": bound.getsockname()[1]})
        secure, settings = _secured(settings)
        inner = None
        if secure is not None:
            inner = stack.enter_context(bound_to("127.0.0.1", 0, "--host"))
        here = assemble(
            settings,
            source=source,
            alone=settings.database_url.startswith("sqlite"),
            own_port=None if inner is None else inner.getsockname()[1],
        )
        if secure is not None:
            here.options = replace(here.options, authority=secure.authority)
        if here.hardware is not None:
            where = settings.wyoming_host, settings.wyoming_port
            hardware = stack.enter_context(bound_to(*where, "VIVAVOCE_WYOMING_PORT"))
            here.hardware.listen_on(hardware)
        context = None if secure is None else secure.context()
        config = listener_config(build_app(here), settings)
        listener = Listener(config, here, secure=context, inner=inner)
        runner.run(here.store.open())
        try:
            runner.run(here.instance.join())
            _greet(settings, bound, secure)
            runner.run(listener.serve(sockets=[bound]))
        finally:
            runner.run(_close(here))
    return 0 if listener.started and not here.instance.lost.is_set() else 1


async def _close(here: Server) -> None:
    """Where the server never came so far that it ends by itself."""
    await here.instance.leave()
    await here.store.close()


def _real(record: logging.LogRecord) -> bool:
    """uvicorn takes a WebSocket that was refused with an HTTP answer for one that was forgotten."""
    return "without completing handshake" not in record.getMessage()


def _configure_logs(settings: Settings) -> None:
    logging.getLogger("uvicorn.error").addFilter(_real)
    secrets = [s.get_secret_value() for _, s in settings if isinstance(s, SecretStr)]
    secrets += [
        other.key.get_secret_value() for other in settings.other_providers.values() if other.key
    ]
    logs.configure(
        level=settings.log_level,
        layout="json" if settings.log_format == "json" else "console",
        private=settings.log_private,
        secrets=secrets,
    )


def bind(settings: Settings) -> socket.socket:
    """Here rather than in uvicorn, so that a taken port is one clear line."""
    return bound_to(settings.host, settings.port, "--port or VIVAVOCE_PORT")


def bound_to(host: str, port: int, by: str) -> socket.socket:
    """`by` says how to choose another port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as fault:
        fault.filename = f"{host}:{port}"
        if fault.errno == errno.EADDRINUSE:
            fault.strerror = f"the port is taken; choose another with {by}"
        raise
    # asyncio sets it only on sockets it made itself; without it an answer waits 40 ms.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def listener_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    bounds = Bounds(
        connections=min(settings.max_connections, max(_FEWEST, _open_files() - _OTHER_FILES)),
        header_seconds=settings.header_seconds,
        stall_seconds=settings.stall_seconds,
        messages={CONDUCTOR: settings.conductor_message_bytes},
    )
    return BoundedConfig(
        app,
        bounds=bounds,
        ws=BoundedSocket,
        ws_max_size=MAX_FRAME,
        log_config=None,
        access_log=settings.log_level == "debug",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
    )


def _open_files() -> int:
    """How many this process may have open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _loop() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows has none
        return None
    loop: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return loop


def _secured(settings: Settings) -> tuple[Secured | None, Settings]:
    """The certificate, where it speaks https. One that is made here is for this machine's own names
    and addresses, so it answers to these: with an address in place of a name nobody rebinds."""
    if not settings.is_secure:
        return None, settings
    if settings.https_cert is not None and settings.https_key is not None:
        return Secured(certificate=settings.https_cert, key=settings.https_key), settings
    names = names_for(settings.host, settings.allowed_hosts)
    hosts = tuple(dict.fromkeys((*settings.allowed_hosts, *names)))
    return secured(settings.data_dir, names), settings.model_copy(update={"allowed_hosts": hosts})


def _greet(settings: Settings, bound: socket.socket, secure: Secured | None = None) -> None:
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"{'https' if secure else 'http'}://{shown}:{port}"
    line = f"Vivavoce {__version__}, agent '{settings.agent}': {url}  (Ctrl-C ends)"
    print(line, file=sys.stderr, flush=True)
    if secure is not None:
        for line in for_phones(settings.host, port, secure):
            print(line, file=sys.stderr, flush=True)


def for_phones(host: str, port: int, secure: Secured) -> list[str]:
    """How a phone gets here: an address that it can reach, as a picture for its camera. No token is
    in it: whoever photographs a terminal has an address and nothing more."""
    if is_loopback(host):
        return ["Only this machine reaches it; for a phone: --host 0.0.0.0, with VIVAVOCE_AUTH"]
    # With a certificate that was made here, what it is good for.
    near = [one for one in map(str, addresses()) if secure.authority is None or vouched_for(one)]
    every = near if host in EVERYWHERE else [host]
    if not every:
        return []
    urls = [f"https://{f'[{one}]' if ':' in one else one}:{port}" for one in every]
    lines = [*qr_code(urls[0]).splitlines(), "From a phone: " + "  or  ".join(urls[:3])]
    if secure.authority is not None:
        lines.append(
            f"Its certificate was made here: a warning comes, until {urls[0]}/authority.crt is "
            "installed there"
        )
    return lines


# --- What a connection may do before anyone is known

PROBES = ("/health", "/ready")
MAX_HEAD = 64 * 1024  # bytes of a request's head; a JWT has at most eight thousand
_FEWEST, _OTHER_FILES = 16, 256  # connections; files, pipes and sidebands of our own
_TELL_SECONDS = 60.0


class Bounds(Value):
    """Of connections, and of our patience with one."""

    connections: int = 1000
    spare: int = 16
    """More than that, for probes alone."""
    header_seconds: float = 10.0
    stall_seconds: float = 60.0
    messages: Mapping[str, int] = field(default_factory=dict)
    """By path: bytes of a WebSocket's message, where that is less than of others."""


class BoundedConfig(uvicorn.Config):
    """uvicorn's, with the bounds and who is waited for."""

    def __init__(self, app: ASGIApp, *, bounds: Bounds, **more: Any) -> None:
        super().__init__(app, http=BoundedConnection, **more)
        self.bounds = bounds
        self.waited_for: dict[BoundedConnection, None] = {}
        """Connections that we wait for, longest first: for a head, for a body, to be read."""
        self._told = -_TELL_SECONDS

    def full(self) -> None:
        """Says so, now and then."""
        now = time.monotonic()
        if now - self._told >= _TELL_SECONDS:
            self._told = now
            log.warning(
                "All connections are taken", extra=logs.fields(most=self.bounds.connections)
            )


class BoundedConnection(HttpToolsProtocol):
    """One connection. Whoever does not say what they want, or does not read what they get, is
    cut off in time, and at once where there is no room for others."""

    config: BoundedConfig

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._in_head, self._head_bytes = False, 0
        self._probes_only = False

    # --- Coming and going ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        bounds = self.config.bounds
        if len(self.connections) > bounds.connections:
            self.config.full()
            longest = next(iter(self.config.waited_for), None)
            if longest is not None:
                longest.cut()
            elif len(self.connections) <= bounds.connections + bounds.spare:
                self._probes_only = True
                self.app = _Probes(self.app, bounds.connections)
            else:
                self.cut()
                return
        self._wait()
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def cut(self) -> None:
        """Without a word: whoever is there does not listen, or there are too many of them."""
        self._forget()
        self.connections.discard(self)
        self.transport.abort()

    # --- A request ----------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        before = self._in_head
        super().data_received(data)
        if before and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD:
                told = f"The head of a request has at most {MAX_HEAD} bytes"
                self._refuse(PayloadTooLarge(told, max_bytes=MAX_HEAD))
                return
        if self._idle and self in self.config.waited_for:
            # Another request begins, or what is left of a body that nobody wants still comes.
            self._expect_head()

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._in_time("head")
        super().on_headers_complete()
        if self._probes_only and not self._idle:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if not self._idle:
            self._at_work()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._idle and not self.transport.is_closing():
            self._wait()

    def handle_websocket_upgrade(self) -> None:
        self._at_work()
        if self._probes_only:
            self._refuse(_full(self.config.bounds.connections))
        else:
            super().handle_websocket_upgrade()

    # --- An answer ----------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait()
        self._within(self.config.bounds.stall_seconds, "stall", self.cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._in_time("stall")
        if not self._idle:
            self._at_work()

    # --- Patience -----------------------------------------------------------------------

    @property
    def _idle(self) -> bool:
        """Is no request under way?"""
        return bool(getattr(self.cycle, "response_complete", True))  # None before the first

    def _wait(self) -> None:
        self.config.waited_for.setdefault(self)

    def _at_work(self) -> None:
        self.config.waited_for.pop(self, None)

    def _expect_head(self) -> None:
        self._within(self.config.bounds.header_seconds, "head", self._no_head)

    def _within(self, seconds: float, what: str, otherwise: Callable[[], None]) -> None:
        """From now on; asked once more meanwhile, it has no more time for it."""
        if what not in self._timers:
            self._timers[what] = self.loop.call_later(seconds, otherwise)

    def _in_time(self, what: str) -> None:
        if (timer := self._timers.pop(what, None)) is not None:
            timer.cancel()

    def _forget(self) -> None:
        self._at_work()
        self._in_time("head")
        self._in_time("stall")

    def _no_head(self) -> None:
        if not self._in_head:  # a browser that connected in advance, and then had no use for it
            self.cut()
            return
        seconds = self.config.bounds.header_seconds
        self._refuse(RequestTimeout(f"The request's head did not arrive in {seconds:g} seconds"))

    def _refuse(self, error: VivavoceError) -> None:
        """An answer to what is no request yet."""
        self._forget()
        self.transport.write(_last_answer(error))
        self.transport.close()


def _last_answer(error: VivavoceError) -> bytes:
    answer = problem(error, None)
    lines = [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
    head = b"".join([STATUS_LINE[answer.status_code], *lines, b"connection: close\r\n\r\n"])
    return head + bytes(answer.body)


class BoundedSocket(WebSocketsSansIOProtocol):
    """One WebSocket. A message has a limit by its path, in bytes and in fragments; whoever does not
    read is answered no pings, and is cut off in time. What is limited is not compressed either."""

    config: BoundedConfig

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        # uvicorn's are made with five deques: 4 KiB of each connection.
        self.queue = cast("asyncio.Queue[Any]", Inbox[Any](sys.maxsize))
        self.writable = cast("asyncio.Event", Flag())
        self.writable.set()
        self._stalled: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if (wrong := self.conn.handshake_exc) is not None and not self.handshake_initiated:
            # uvicorn waits for the rest of a request that `websockets` has given up.
            too_long = isinstance(wrong, SecurityError)
            told = f"This cannot become a WebSocket: {wrong}"
            error = PayloadTooLarge(told) if too_long else InvalidRequest(told)
            self.transport.write(_last_answer(error))
            self.transport.close()

    def handle_connect(self, event: Request) -> None:
        path = event.path.partition("?")[0]
        if (most := self.config.bounds.messages.get(path)) is not None:
            self.conn.max_message_size = most
            # Their messages are short, and there may be many such sockets: 50 KiB each for zlib.
            self.conn.available_extensions = None
        super().handle_connect(event)
        # The scope has them from here; they would be kept for as long as it is open.
        event.headers.clear()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.accept":
            self.response.headers.clear()  # sent

    def handle_cont(self, event: Frame) -> None:
        if self.close_sent:
            return  # what was on its way
        if len(self.frames) >= MOST_FRAGMENTS:
            # Empty ones count for nothing in bytes, and each of them is kept.
            self.frames = []
            self.conn.fail(CloseCode.POLICY_VIOLATION, "Too many fragments.")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # an answer that nobody would read

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.config.bounds.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._read_on()
        super().connection_lost(exc)

    def _read_on(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


class _Probes:
    """In front of the app where there is no room: only probes are answered."""

    def __init__(self, app: Any, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in PROBES:
            await self._app(scope, receive, send)
        else:
            refusal: Response = problem(_full(self._most), None)
            await refusal(scope, receive, send)


def _full(most: int) -> Unavailable:
    told = f"All {most} connections of this server are taken. Please try again in a moment."
    return Unavailable(told, limit=most, retry_after_ms=5000)


# --- One server on one SQLite file


@contextmanager
def sole_server(database_url: str) -> Iterator[None]:
    """While this holds, another `serve` on the same file is refused with `Unavailable`: two would
    both pick up the sessions of one that ended, and neither would hear of what the other wrote.
    PostgreSQL tells its clients, and may have several.

    The system lets go of the lock with the process, however that ends. Other
    commands (`db sweep`) do not ask for it.
    """
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        yield
        return
    database = Path(url.database).resolve()  # by whatever links it was named
    held = _lock(database)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _lock(database: Path) -> int | None:
    """None where there are no such locks, or no place for one: the store says what is wrong."""
    try:
        import fcntl
    except ImportError:  # Windows has none
        return None
    path = database.with_name(database.name + ".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = os.read(held, 20).decode("ascii", "replace").strip()
        os.close(held)
        who = f" (process {other})" if other.isdecimal() else ""
        raise Unavailable(
            f"another server{who} is using the database {database}: "
            "end it, or give this one a folder of its own with --data-dir"
        ) from None
    except OSError:  # a file system without locks
        os.close(held)
        return None
    os.truncate(held, 0)
    os.write(held, str(os.getpid()).encode())
    return held
