"""The control plane: sessions and calls by id, client secrets, and how many at once.

Knows nothing of HTTP. One engine answers to every model's name: clients of
OpenAI's API name its models, those of Azure their own deployments, and each
gets this engine under the name it gave.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import Any, Literal

from vivavoce.engine.api.keys import DEFAULT_SECONDS, Access, Keys, Secret
from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.shell.calls import Call, SocketClient
from vivavoce.engine.shell.session import new_id
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn import configuration as conf
from vivavoce.engine.turn.manners import Manners
from vivavoce.engine.turn.requests import check_opus
from vivavoce.engine.turn.state import Policy
from vivavoce.errors import ModelUnavailable, NotFound, Unavailable
from vivavoce.wire.brain import Brain, Budget, Weighing
from vivavoce.wire.realtime.refusal import Refused
from vivavoce.wire.realtime.session import Kind, NoiseReductionType
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

MODEL = "vivavoce"
MAX_MODEL_NAME = 128
BUSY_RETRY_MS = 5000


class EngineOptions(Value):
    voice: str = "marin"
    max_sessions: int = 8
    session_seconds: float = 3600.0
    kept_seconds: float = 60.0
    """So long a call of our own server waits for a client that vanished."""
    responses_per_minute: int | None = None
    backchannel: frozenset[str] = frozenset()
    context_tokens: int | None = None
    """At most; None is all that the brain reads."""
    speculate: bool = True
    manners: Manners | None = None
    noise_reduction: NoiseReductionType | None = None
    """Where a session does not say."""
    media: MediaOptions = field(default_factory=MediaOptions)


def reads(brain: Brain, most: int | None) -> Budget:
    """What this brain is asked at once, within what the operator allows."""
    budget = brain.budget
    if not most or most >= budget.context_tokens:
        return budget
    return replace(budget, context_tokens=most)


class Engine:
    """One for each server. `parts` come when the models are loaded."""

    def __init__(self, options: EngineOptions, keys: Keys) -> None:
        self.options, self.keys = options, keys
        self.state: Literal["loading", "ready", "failed"] = "loading"
        self.problem: str | None = None
        self._parts: Parts | None = None
        self._calls: dict[str, Call] = {}
        self._group: asyncio.TaskGroup | None = None

    # --- Life -----------------------------------------------------------------------------

    @property
    def brain(self) -> Brain | None:
        """Once it is there; others may think with it too."""
        return self._parts.brain if self._parts is not None else None

    def provide(self, parts: Parts) -> None:
        """The models are there."""
        self._parts, self.state, self.problem = parts, "ready", None

    def fail(self, problem: str) -> None:
        self.state, self.problem = "failed", problem

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Every call hangs below this group; on the way out all of them end."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                for call in self._calls.values():
                    call.session.end("the server is stopping")

    async def end_calls(self) -> None:
        """Everyone hangs up, before the models go."""
        calls = list(self._calls.values())
        for call in calls:
            call.session.end("the server is stopping")
        for call in calls:
            await call.over.wait()

    @property
    def sessions(self) -> int:
        return len(self._calls)

    # --- Sessions and calls -----------------------------------------------------------------

    def mint(
        self,
        session: Mapping[str, Any],
        access: Access,
        seconds: int = DEFAULT_SECONDS,
        *,
        resumed: bool = False,
    ) -> tuple[str, int, dict[str, Any]]:
        """A client secret, when it lapses, and the session it is for. Raises `Refused`.

        Nobody knows when others will use theirs. Our own server makes a call of it at once: for
        its users this is where a new voice is weighed, unless it goes on with a conversation.
        """
        if access.own:
            self._room()
            if not resumed:
                self._weigh()
        configuration = self._configuration(session, access)
        secret = Secret(new_id("sess"), configuration, locked=access.own)
        value, until = self.keys.issue(secret, seconds)
        shown = conf.session_object(configuration, session_id=secret.session_id or "", expires_at=0)
        return value, until, shown

    async def webrtc_call(
        self, offer: str, access: Access, session: Mapping[str, Any]
    ) -> tuple[str, str]:
        """The call's id and the SDP answer."""
        call = self._new_call(
            access, session, paced=True, weighed=not access.ours, kept=access.ours
        )
        try:
            check_opus(call.session.machine.state.configuration)
            sdp = await call.answer(offer, self.options.media)
            self._start(call)
        except BaseException:
            del self._calls[call.id]
            await call.abandon()
            raise
        return call.id, sdp

    def websocket_call(self, access: Access, session: Mapping[str, Any]) -> tuple[str, str, int]:
        """A call that waits for a client with a microphone: its id, that client's secret, and
        when the secret lapses."""
        call = self._new_call(
            access, session, paced=False, weighed=not access.ours, kept=access.ours
        )
        settings = call.session.machine.state.configuration
        secret = Secret(call.session.id, settings, locked=access.own, call_id=call.id)
        value, until = self.keys.issue(secret, 60)
        call.expect()
        self._start(call)
        return call.id, value, until

    def websocket_session(
        self, client: SocketClient, access: Access, model: str | None, kind: str = "realtime"
    ) -> Call:
        """A session of its own for a WebSocket (`?model=`). Whether it will be spoken or written
        nobody knows yet: it is weighed when its first sound comes."""
        wanted: dict[str, Any] = {"model": model} if model else {}
        if access.secret is None:
            wanted["type"] = kind
        call = self._new_call(access, wanted, paced=False, weighed=False)
        call.session.speaks = lambda: self._weigh(call)
        call.join(client)
        self._start(call)
        return call

    def call(self, call_id: str) -> Call:
        """Raises `NotFound`."""
        call = self._calls.get(call_id)
        if call is None or call.session.ended.is_set():
            raise NotFound(f"No call with the id '{call_id[:80]}' is live.", call_id=call_id[:80])
        return call

    # --- Inside -----------------------------------------------------------------------------

    def _new_call(
        self,
        access: Access,
        session: Mapping[str, Any],
        *,
        paced: bool,
        weighed: bool,
        kept: bool = False,
    ) -> Call:
        parts = self._room()
        if weighed:
            self._weigh()
        secret = access.secret
        configuration = self._configuration(session, access)
        policy = Policy(
            session_id=(secret and secret.session_id) or new_id("sess"),
            conversation_id=new_id("conv"),
            voices=frozenset(parts.mouth.voices),
            expires_at=int(time.time() + self.options.session_seconds),
            paced=paced,
            backchannel=self.options.backchannel,
            responses_per_minute=self.options.responses_per_minute,
            context_tokens=reads(parts.brain, self.options.context_tokens).context_tokens,
            result_chars=parts.brain.budget.result_chars,
            speculate=self.options.speculate,
            kept_seconds=self.options.kept_seconds if kept else 0.0,
            accounts=kept,
            manners=self.options.manners,
            count=parts.brain.count,
            fixed=parts.brain.fixed if isinstance(parts.brain, Weighing) else None,
        )
        call = Call(new_id("rtc"), policy, configuration, parts, access.ours)
        self._calls[call.id] = call
        return call

    def ready(self) -> Parts:
        """The models, once they are loaded. Raises `Unavailable`."""
        if self._parts is None:
            if self.problem is not None:  # it is tried again; nobody need wait for that
                raise ModelUnavailable(self.problem)
            words = "The engine is still loading its models."
            raise ModelUnavailable(words, retry_after_ms=BUSY_RETRY_MS)
        if self._group is None:
            raise Unavailable("The server is stopping.")
        return self._parts

    def _room(self) -> Parts:
        """The models, while there is a place for one session more."""
        parts = self.ready()
        # One that only waits for its client keeps nobody out: least of all that client.
        if sum(not call.session.lost for call in self._calls.values()) >= self.options.max_sessions:
            words = (
                f"The engine has {self.options.max_sessions} sessions, which is as many as it "
                "serves at once. Please try again when one has ended."
            )
            raise Unavailable(words, retry_after_ms=BUSY_RETRY_MS)
        return parts

    def _weigh(self, voice: Call | None = None) -> None:
        """Whether the machine can bear this voice beside the others. Alone, it always can."""
        others = any(call is not voice and call.spoken for call in self._calls.values())
        if others and (why := self.ready().crowded()) is not None:
            raise Unavailable(why, retry_after_ms=BUSY_RETRY_MS)

    def _configuration(self, session: Mapping[str, Any], access: Access) -> conf.Configuration:
        """Of a client secret, as far as it is free to be changed, or of a new session. Raises
        `Refused`."""
        secret = access.secret
        voices = self.ready().mouth.voices
        model = session.get("model") or (secret.configuration.model if secret else MODEL)
        if not isinstance(model, str) or len(model) > MAX_MODEL_NAME:
            words = f"A model's name is a string of at most {MAX_MODEL_NAME} characters."
            raise Refused(words, code="invalid_value", param="session.model")
        rest = {name: value for name, value in session.items() if name != "model"}
        if secret is None:
            transcribes = session.get("type") == "transcription"
            kind: Kind = "transcription" if transcribes else "realtime"
            # "One moment." belongs to our own calls; others may ask for it.
            first = conf.initial(
                model, voice=self.options.voice, voices=voices, kind=kind, manners=access.own
            )
            first = replace(first, noise_reduction=self.options.noise_reduction)
        else:
            first = replace(secret.configuration, model=model)
            if secret.locked and rest.keys() - {"type"}:
                raise Refused("This client secret has its session already.", param="session")
        return conf.updated(first, rest, voices=voices)

    def _start(self, call: Call) -> None:
        if self._group is None:
            raise Unavailable("The server is stopping.")
        self._group.create_task(self._run(call), name=f"call {call.id}")

    async def _run(self, call: Call) -> None:
        try:
            await call.run(self.options.session_seconds)
        except Exception:  # the boundary of this task: one call must not end the others
            log.exception("A call failed")
        finally:
            self._calls.pop(call.id, None)
            call.over.set()
