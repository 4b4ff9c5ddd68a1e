"""The engine inside the server: models fetched, checked, loaded, and handed to the engine.

With `server/app.py` and `cli.py` the only module that sees several rooms: it
knows which model file goes to which part, and nothing of sessions.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict
from typing import Any

from starlette.types import ASGIApp

from vivavoce.brain import script_file
from vivavoce.brain.demo import DEMO
from vivavoce.brain.ports import Brain
from vivavoce.brain.scripted import ScriptedBrain
from vivavoce.config import Settings
from vivavoce.engine.control import Engine, EngineOptions
from vivavoce.engine.door import build_door
from vivavoce.engine.keys import Keys
from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.work import Parts
from vivavoce.errors import InvalidRequest, VivavoceError
from vivavoce.models.progress import ModelProgress, OnProgress
from vivavoce.models.store import ModelStore
from vivavoce.models.terminal import Terminal
from vivavoce.server.auth import is_loopback

log = logging.getLogger(__name__)

# What people say to show that they listen, as the ears write it.
BACKCHANNEL = frozenset(
    {"uh-huh", "uh huh", "mm-hmm", "mm hmm", "mm-hm", "mhm", "mm", "hmm", "aha", "ah", "oh"}
    | {"yeah", "yes", "yep", "right", "ok", "okay", "sure", "i see", "got it", "go on"}
)
RETRY_SECONDS = 30.0


class EmbeddedEngine:
    """Fills `server.services.Embedded`."""

    def __init__(self, settings: Settings, *, parts: Callable[[], Parts] | None = None) -> None:
        self.own_key = "vv_" + secrets.token_urlsafe(32)  # of this start; nobody else has it
        self._settings = settings
        self._store = ModelStore(settings.models_dir)
        self._names = ("silero-vad", "smart-turn", settings.ears, "kokoro")
        self._given = parts
        self._brain = _brain(settings)
        self._closing = ExitStack()
        keys = Keys(self.own_key, _known(settings))
        self.engine = Engine(_options(settings), keys)

    def door(self) -> ASGIApp:
        return build_door(self.engine)

    @property
    def calls(self) -> int:
        return self.engine.sessions

    def waiting_for(self) -> list[str]:
        if self.engine.state == "ready":
            return []
        if self.engine.problem is not None:
            return [self.engine.problem]
        fetching = [m for m in self.models() if m["state"] in ("missing", "fetching", "verifying")]
        if not fetching:
            return ["The engine is loading its models."]
        done, total = sum(m["received"] for m in fetching), sum(m["total"] for m in fetching)
        return [f"The engine is fetching its models ({100 * done // max(1, total)} %)."]

    def models(self) -> list[Mapping[str, Any]]:
        if self._given is not None:
            return []
        return [asdict(progress) for progress in self._store.progress(self._names)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The server answers meanwhile; the engine does once its models are loaded."""
        with self._closing:
            async with self.engine.running(), asyncio.TaskGroup() as group:
                loading = group.create_task(self._load(), name="models")
                try:
                    yield
                finally:
                    loading.cancel()

    # --- Models ---------------------------------------------------------------------------

    async def _load(self) -> None:
        while True:
            try:
                self.engine.provide(await self._parts())
            except Exception as fault:  # the boundary of this task: it tries again
                known = isinstance(fault, VivavoceError)
                words = fault.message if isinstance(fault, VivavoceError) else str(fault)
                log.error("The engine is not ready: %s", words, exc_info=not known)
                self.engine.fail(f"The engine is not ready: {words}")
                await asyncio.sleep(RETRY_SECONDS)
            else:
                log.info("The engine is ready")
                return

    async def _parts(self) -> Parts:
        if self._given is not None:
            return self._given()
        terminal = Terminal(sys.stderr)
        try:
            await self._store.pull(self._names, self._shown(terminal))
        finally:
            terminal.close()
        return await asyncio.to_thread(self._open)

    def _shown(self, terminal: Terminal) -> OnProgress:
        """Progress for whoever started the server; of models that are there, not a word."""
        absent = {p.name for p in self._store.progress(self._names) if p.state == "missing"}

        def show(progress: ModelProgress) -> None:
            if progress.name in absent:
                terminal.show(progress)

        return show

    def _open(self) -> Parts:
        """Every model, loaded and warm: a second or two, in a thread."""
        from vivavoce.engine.ears.moonshine import MoonshineEars
        from vivavoce.engine.ears.silero import load_silero
        from vivavoce.engine.ears.smart_turn import SmartTurn
        from vivavoce.engine.mouth.kokoro import KokoroMouth

        store = self._store
        for name in self._names:
            for file in store.model(name).files:
                store.path(name, file.name)  # its hash, before anyone loads it
        detector = load_silero(store.path("silero-vad", "silero_vad.onnx"))
        judge = SmartTurn(store.path("smart-turn", "smart_turn.onnx"))
        ears = MoonshineEars(store.folder / self._settings.ears)
        mouth = KokoroMouth(store.folder / "kokoro")
        for part in (judge, ears, mouth):
            self._closing.callback(part.close)
        return Parts(ears=ears, mouth=mouth, brain=self._brain, judge=judge, detector=detector)


def _brain(settings: Settings) -> Brain:
    if settings.script is None:
        return ScriptedBrain(DEMO)
    try:
        return ScriptedBrain(script_file.load(settings.script.read_text()))
    except script_file.ScriptError as exc:
        raise InvalidRequest(f"{settings.script}: {exc}") from None


def _known(settings: Settings) -> Callable[[str | None], bool]:
    """Keys of the Realtime API's clients: as `auth` has it for everyone else."""
    if settings.auth == "off":
        return lambda key: True
    token = settings.auth_token.get_secret_value() if settings.auth_token else ""
    return lambda key: key is not None and secrets.compare_digest(key.encode(), token.encode())


def _options(settings: Settings) -> EngineOptions:
    low, _, high = settings.media_ports.partition("-")
    media = MediaOptions(
        port_min=int(low or 0),
        port_max=int(high or 0),
        nat_address=settings.media_address or None,
        # A browser on this machine may have no other way to us.
        loopback=is_loopback(settings.host),
    )
    return EngineOptions(
        max_sessions=settings.engine_sessions,
        responses_per_minute=settings.engine_responses_per_minute or None,
        backchannel=BACKCHANNEL if settings.backchannel else frozenset(),
        media=media,
    )
