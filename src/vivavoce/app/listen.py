"""The listener: uvicorn, one server on one database file, and an orderly end with clients
connected."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from pydantic import SecretStr
from sqlalchemy.engine import make_url
from starlette.types import ASGIApp

from vivavoce import __version__, logs
from vivavoce.app.lifecycle import Server, stop
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.errors import Unavailable
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.runtime.agents.source import AgentSource

log = logging.getLogger(__name__)

# Of a WebSocket: three times what the engine takes, which answers what is too large with an
# error event. Only beyond this is the connection closed.
MAX_FRAME = 64 * 1024 * 1024


class Listener(uvicorn.Server):
    """An open event stream keeps uvicorn from stopping: sessions and streams end before it."""

    def __init__(self, config: uvicorn.Config, here: Server) -> None:
        super().__init__(config)
        self._here = here

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises a caught signal again at the end; an orderly end is no failure."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._here.listening.set()
        # What was made until now stays: the collector need not look at it ever again.
        gc.freeze()
        gc.enable()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await stop(self._here)
        await super().shutdown(sockets)


def serve(settings: Settings, source: AgentSource[IntentRegistry]) -> int:
    """Until Ctrl-C. The exit code. What cannot work is told before the greeting."""
    _configure_logs(settings)
    with (
        bind(settings) as bound,
        sole_server(settings.database_url),
        asyncio.Runner(loop_factory=_loop()) as runner,
    ):
        settings = settings.model_copy(update={"port": bound.getsockname()[1]})
        here = assemble(settings, source=source)
        listener = Listener(listener_config(build_app(here), settings), here)
        runner.run(here.store.open())
        try:
            _greet(settings, bound)
            runner.run(listener.serve(sockets=[bound]))
        finally:
            runner.run(here.store.close())
    return 0 if listener.started else 1


def _real(record: logging.LogRecord) -> bool:
    """uvicorn takes a WebSocket that was refused with an HTTP answer for one that was forgotten."""
    return "without completing handshake" not in record.getMessage()


def _configure_logs(settings: Settings) -> None:
    logging.getLogger("uvicorn.error").addFilter(_real)
    secrets = [s.get_secret_value() for _, s in settings if isinstance(s, SecretStr)]
    logs.configure(
        level=settings.log_level,
        layout="json" if settings.log_format == "json" else "console",
        private=settings.log_private,
        secrets=secrets,
    )


def bind(settings: Settings) -> socket.socket:
    """Here rather than in uvicorn, so that a taken port is one clear line."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        bound = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as fault:
        fault.filename = f"{settings.host}:{settings.port}"
        if fault.errno == errno.EADDRINUSE:
            fault.strerror = "the port is taken; choose another with --port or VIVAVOCE_PORT"
        raise
    # asyncio sets it only on sockets it made itself; without it an answer waits 40 ms.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def listener_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MAX_FRAME,
        log_config=None,
        access_log=settings.log_level == "debug",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
    )


def _loop() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows has none
        return None
    loop: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return loop


def _greet(settings: Settings, bound: socket.socket) -> None:
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    line = f"Vivavoce {__version__}, agent '{settings.agent}': http://{shown}:{port}  (Ctrl-C ends)"
    print(line, file=sys.stderr, flush=True)


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
