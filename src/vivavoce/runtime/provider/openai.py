"""Any server that speaks OpenAI's Realtime API, through the `openai` SDK.

Owns the HTTP client, its retries and what is remembered of the server
(reachable or not, client secrets or not). Does not know sessions, and knows
settings only as the plain values it is given.

A refusal is told in our words. The provider's own are quoted only after scrubbing,
since OpenAI's 401 repeats (most of) the key.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

import orjson
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from vivavoce.errors import (
    Conflict,
    ModelUnavailable,
    NotFound,
    ProviderError,
    ProviderRateLimited,
    ProviderRefused,
    Unavailable,
)
from vivavoce.language.en.telling import voice_sample
from vivavoce.retrying import retried
from vivavoce.runtime.ports import AudioCall, Call, Capabilities, Clock, Closed, Voice
from vivavoce.runtime.provider.known_models import capabilities_of
from vivavoce.runtime.provider.sound import SoundLine, opened
from vivavoce.session.context import fixed_tokens
from vivavoce.wire.brain import Budget
from vivavoce.wire.hints import bare_tools

CALL_NOT_FOUND = "call_not_found"
"""In `details["code"]` of the refusal to attach to a call that is not there, or not yet."""

NO_KEY = (
    "There is no key for the provider: set OPENAI_API_KEY, or VIVAVOCE_PROVIDER_URL "
    "to a Realtime server that needs none."
)

_QUOTE = 300
_SECRETS = re.compile(r"(?i)\bbearer\s+\S+|\b(?:sk|ek|rk|sess)[-_][\w*.\-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_RETRY_AFTER_MS = 5_000
_RATE_LIMITED_WAIT = 5.0  # "OpenAI 429: back off 5 s, retry once" (seed 004 §12)
_FAILED_WAIT = 2.0  # "OpenAI 500/503: retry once after 2 s"; a lost connection is no better


def once_more_after(fault: Exception, failures: int) -> float | None:
    """Seconds before the second and last attempt at a request; None where it is not worth one.

    The sideband's own retries belong to the session.
    """
    if failures > 1 or not isinstance(fault, ProviderError) or isinstance(fault, ProviderRefused):
        return None
    return _RATE_LIMITED_WAIT if isinstance(fault, ProviderRateLimited) else _FAILED_WAIT


def read_error(body: object) -> tuple[str | None, str]:
    """Code and message in OpenAI's error shape, with or without its envelope; bears any other."""
    error: Any = body.get("error", body) if isinstance(body, Mapping) else {}
    if not isinstance(error, Mapping):
        error = {"message": error}
    code, message = error.get("code"), error.get("message")
    return code if isinstance(code, str) else None, message if isinstance(message, str) else ""


def scrub(text: str, *secrets: str) -> str:
    """One short line in which no key, token or control character is left."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    text = _CONTROL.sub(" ", _SECRETS.sub("…", text)).strip()
    return text if len(text) <= _QUOTE else text[: _QUOTE - 1] + "…"


def unreachable(place: str) -> ProviderError:
    return ProviderError(
        f"The provider at {place} cannot be reached. Is VIVAVOCE_PROVIDER_URL right, and is the "
        "network up?"
    )


def call_not_found() -> ProviderRefused:
    return ProviderRefused("The provider has no such call.", status=404, code=CALL_NOT_FOUND)


def _milliseconds(retry_after: str | None) -> int:
    """Of a `Retry-After` in seconds; the date form and nonsense count as none."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return _RETRY_AFTER_MS
    return round(seconds * 1000) if 0 <= seconds <= 3600 else _RETRY_AFTER_MS


if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.resources.realtime.realtime import AsyncRealtimeConnection

log = logging.getLogger(__name__)

T = TypeVar("T")

Weigh = Callable[[str, Sequence[Mapping[str, Any]]], int | None]
"""How many tokens instructions and tools are to a model; None where nobody can tell."""

OPENAI = "https://api.openai.com/v1"
SECRET_SECONDS = 60
CHECK_SECONDS = 30.0
CHECK_TIMEOUT = 3.0
HTTP_TIMEOUT = 20.0
HANG_UP_TIMEOUT = 5.0
MAX_ANSWER = 1024 * 1024
TEXT = "text_"  # how the ids of sessions without a call begin: ours, never the provider's
MAX_TEXTS = 1000  # that are up and were never attached
_CALL_ID = re.compile(r"[\w-]{1,200}")
MAX_FRAME = 16 * 1024 * 1024

# At DEBUG, websockets logs the handshake with its Authorization header, that is, the key.
_wire_log = logging.getLogger("vivavoce.sideband.wire")
_wire_log.setLevel(logging.INFO)

CONNECTION_OPTIONS: dict[str, Any] = {
    "max_size": MAX_FRAME,
    "compression": None,  # deflate costs more CPU than loopback or a data centre's network saves
    "open_timeout": 10.0,
    "close_timeout": 2.0,
    "logger": _wire_log,
}


class OpenAISideband:
    """The companion WebSocket of a call: one connection of the SDK. It never reconnects and never
    parses what it receives: the session decides about both. A dead connection is noticed by the
    keepalive, within 40 s."""

    def __init__(self, connection: AsyncRealtimeConnection, *, ours: bool = False) -> None:
        """`ours`: it is our own engine, and may know all."""
        self._connection, self._ours = connection, ours

    async def send(self, payload: Mapping[str, Any]) -> None:
        """Raises `ProviderError` when the connection is down; the caller keeps the payload."""
        try:
            frame = payload if self._ours else _for_others(payload)
            await self._connection.send_raw(orjson.dumps(frame).decode())
        except (WebSocketException, OSError):
            raise ProviderError("The connection to the provider is down.") from None

    async def receive(self) -> bytes | Closed:
        """The next frame, or how it ended."""
        try:
            return await self._connection.recv_bytes()
        except ConnectionClosed as end:
            return _closed(end)
        except OSError as error:
            return Closed(1006, type(error).__name__)

    async def close(self) -> None:
        try:
            await self._connection.close()
        except (WebSocketException, OSError):
            return  # it was closed already, which is all we want


def _for_others(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    session = payload.get("session")
    return {**payload, "session": _plain(session)} if isinstance(session, Mapping) else payload


def _plain(session: Mapping[str, Any]) -> dict[str, Any]:
    """Without what only our own engine takes: to others the user's things are nobody's business,
    and a key that they do not know is a mistake."""
    kept = {name: value for name, value in session.items() if not name.startswith("vivavoce_")}
    if kept.get("tools"):
        kept["tools"] = bare_tools(kept["tools"])
    return kept


def _closed(end: ConnectionClosed) -> Closed:
    if end.rcvd is None:  # nothing was said: the connection broke, or we gave up on it
        return Closed(1006, end.sent.reason if end.sent is not None else "")
    # A close frame without a code (1005) is as deliberate as one that says 1000.
    return Closed(1000 if end.rcvd.code == 1005 else int(end.rcvd.code), end.rcvd.reason)


class OpenAIProvider:
    """Whoever speaks the Realtime protocol. The SDK is loaded in a thread, at `warm` or the first
    use."""

    def __init__(
        self,
        *,
        base_url: str = OPENAI,
        api_key: str | None,
        model: str,
        clock: Clock,
        websocket_base_url: str | None = None,
        embedded: bool = False,
        name: str = "",
        window: Callable[[], Budget | None] = lambda: None,
        weigh: Weigh = lambda prompt, tools: None,
        voices: tuple[Voice, ...] = (),
        wrapped_tools: bool = False,
    ) -> None:
        """`name`: what it is called here, where its address does not say enough; `window`: how
        much its model reads, where that is known better than by its name; `weigh`: what
        instructions and tools are to it; `voices` are its own, where they are not those of its
        model."""
        self._name = name
        self._base_url = base_url.rstrip("/")
        self._websocket_base_url = websocket_base_url
        self._key = api_key or ""
        self._model = model
        self._clock = clock
        parts = urlsplit(self._base_url)
        self._host = parts.hostname or "provider"
        self._place = parts.netloc.rpartition("@")[2]
        self._embedded, self._voices = embedded, voices
        self._wrapped_tools = wrapped_tools
        self._samples: dict[str, bytes] = {}
        self._window, self._weigh = window, weigh
        self._secrets_offered = True
        self._texts: dict[str, OpenAISideband] = {}  # up, and not attached yet
        self._client: AsyncOpenAI | None = None
        self._loading = asyncio.Lock()
        self._checking = asyncio.Lock()
        self._checked: tuple[float, bool] | None = None
        self._request_error: str | None = None
        self._check_error: str | None = None

    def __repr__(self) -> str:
        return f"OpenAIProvider(host={self._host!r}, model={self._model!r})"

    @property
    def name(self) -> str:
        if self._name or self._embedded:
            return self._name or "embedded"
        return "openai" if self._is_openai else self._host

    @property
    def ours(self) -> bool:
        """Is it our own engine, which is told of the user's things? Others are not."""
        return self._embedded

    @property
    def model(self) -> str:
        return self._model

    @property
    def capabilities(self) -> Capabilities:
        known, window = capabilities_of(self._model), self._window()
        known = replace(known, wrapped_tools=self._wrapped_tools)
        if self._voices:
            known = replace(known, voices=self._voices)
        if window is None:
            return known
        return replace(
            known,
            context_tokens=window.context_tokens,
            history_tokens=window.history_tokens,
        )

    def fixed(self, session: Mapping[str, Any]) -> int:
        """How many tokens of each answer its instructions and tools take."""
        prompt, tools = str(session.get("instructions") or ""), session.get("tools") or ()
        if (weighed := self._weigh(prompt, tools)) is not None:
            return weighed
        return fixed_tokens(prompt, bare_tools(tools))

    @property
    def last_error(self) -> str | None:
        return self._check_error or self._request_error

    async def warm(self) -> None:
        """Load the SDK now (about a second, in a thread) rather than while somebody waits."""
        try:
            await self._sdk()
        except ProviderError as fault:
            log.warning("%s", fault.message)  # `/ready` says so too
        except Exception:  # the boundary of this task: it is loaded when it is needed
            log.exception("The provider's SDK could not be loaded beforehand")

    async def client_secret(
        self, session: Mapping[str, Any], *, resumed: bool = False
    ) -> str | None:
        """A secret of the provider's own, for the server only; None where there are none.

        Minting it proves key, model and configuration before anyone waits for a call. `resumed`:
        it goes on with a conversation, and is no new one to a provider that weighs them.
        """
        if not self._secrets_offered:
            return None
        # Only our own engine knows what that means: it refuses new voices when it is busy.
        marked = {"X-Vivavoce-Resumed": "true"} if resumed and self._embedded else {}
        try:
            answer = await self._request(
                lambda client: client.realtime.client_secrets.create(
                    expires_after={"anchor": "created_at", "seconds": SECRET_SECONDS},
                    session=cast("Any", self._told(session)),
                    extra_headers=marked,
                )
            )
        except ProviderRefused as fault:
            no_model = fault.details.get("code") == "model_not_found"
            if fault.details.get("status") not in (404, 405) or no_model:
                raise
            self._secrets_offered = False
            self._request_error = None
            return None
        value = getattr(answer, "value", None)  # the SDK does not check what servers answer
        if not isinstance(value, str) or not value:
            raise self._noted(ProviderRefused("The provider's client secret has no value."))
        return value

    async def create_call(
        self, offer: str, session: Mapping[str, Any], *, secret: str | None = None
    ) -> Call:
        def create(client: AsyncOpenAI) -> Awaitable[Any]:
            calls = client.realtime.calls.with_raw_response
            if secret is None:
                return calls.create(sdp=offer, session=cast("Any", self._told(session)))
            # The secret carries the session; with the offer alone the SDK sends raw SDP.
            bearer = {"Authorization": f"Bearer {secret}"}
            return calls.create(sdp=offer, extra_headers=bearer)

        answer = (await self._request(create, secret or "")).http_response
        location = urlsplit(answer.headers.get("location", "")).path.rstrip("/")
        call_id = location.rpartition("/")[2]
        if not _CALL_ID.fullmatch(call_id):
            message = "The provider created a call but gave no call id (no usable Location header)."
            raise self._noted(ProviderRefused(message))
        if len(answer.content) > MAX_ANSWER or not answer.text.startswith("v=0"):
            raise self._noted(ProviderRefused("The provider's answer to the offer is no SDP."))
        return Call(call_id=call_id, sdp_answer=answer.text)

    async def create_audio_call(self, session: Mapping[str, Any]) -> AudioCall:
        """Its sound goes over a WebSocket, for browsers that WebRTC cannot reach. Our engine's own
        way of making a call: raises `Conflict` at any other server."""
        if not self._embedded:
            raise Conflict("Calls of this provider go by WebRTC only.")
        body = {"transport": "websocket", "session": dict(session)}
        answer = await self._request(
            lambda client: client.post("/realtime/calls", body=body, cast_to=object)
        )
        match answer:
            case {"id": str(call_id), "client_secret": {"value": str(secret)}}:
                return AudioCall(call_id, f"/v1/realtime?call_id={call_id}", secret)
            case _:
                raise self._noted(ProviderRefused("The engine's answer cannot be read."))

    async def sample(self, voice: Voice) -> bytes:
        """A sentence in that voice, as MP3; made once. Only our own engine gives it for nothing:
        raises `NotFound` at any other."""
        if not self._embedded:
            raise NotFound("This provider gives no samples of its voices.")
        if voice.id not in self._samples:
            answer = await self._request(
                lambda client: client.audio.speech.create(
                    model=self._model,
                    voice=voice.id,
                    input=voice_sample(voice.name),
                    response_format="mp3",
                )
            )
            self._samples[voice.id] = answer.content
        return self._samples[voice.id]

    async def speak(self, text: str, voice: str) -> AsyncGenerator[bytes, None]:
        """Text of at most 4,096 characters as PCM16, mono, at 24 kHz, while it is made. Our own
        engine's mouth: raises `Conflict` at any other server, `ProviderError`."""
        self._check_own()
        async with AsyncExitStack() as stack:
            answer = await self._request(
                lambda client: stack.enter_async_context(
                    client.audio.speech.with_streaming_response.create(
                        model=self._model, voice=voice, input=text, response_format="pcm"
                    )
                )
            )
            from httpx import HTTPError  # the SDK's own; it is loaded by now

            broken = False
            try:
                async for piece in answer.iter_bytes():
                    yield piece
            except HTTPError:
                broken = True
            if broken:
                raise self._noted(ProviderError("The sound of an answer broke off."))

    @asynccontextmanager
    async def sound_line(self, call: AudioCall | None = None) -> AsyncIterator[SoundLine]:
        """The microphone of such a call, held by this server itself; without a call, of a session
        that only writes down. Raises `Conflict` at any other server, `ProviderError`."""
        self._check_own()
        path = "/v1/realtime?intent=transcription" if call is None else call.path
        key = self._key if call is None else call.secret
        address = urlsplit(self._base_url)._replace(path="").geturl().replace("http", "ws", 1)
        async with opened(address + path, key) as line:
            yield line

    def _check_own(self) -> None:
        if not self._embedded:
            raise Conflict("Only the embedded engine takes sound from this server itself.")

    async def create_text_call(self, session: Mapping[str, Any]) -> str:
        """A session without a call, for text alone. Its connection is all it has, so it is up
        before anything is promised; `attach` gives that away once. Raises `Unavailable` where there
        is no room."""
        model = str(session.get("model") or self._model)
        sideband = await self._twice(lambda: self._connect(model=model))
        call_id = f"{TEXT}{secrets.token_hex(16)}"
        self._texts[call_id] = sideband
        while len(self._texts) > MAX_TEXTS:
            await self.hang_up(next(iter(self._texts)))
        return call_id

    def is_text_call(self, call_id: str) -> bool:
        return call_id.startswith(TEXT)

    async def attach(self, call_id: str) -> OpenAISideband:
        """One try. Raises `ProviderRefused` when the call is gone."""
        if (sideband := self._texts.pop(call_id, None)) is not None:
            return sideband
        if not _CALL_ID.fullmatch(call_id) or self.is_text_call(call_id):
            raise call_not_found()  # a client may report any id; not all belong in a URL
        return await self._connect(call_id=call_id)

    async def _connect(self, **where: str) -> OpenAISideband:
        client = await self._sdk()
        from vivavoce.runtime.provider.connection import Connection

        options = cast("Any", {**CONNECTION_OPTIONS, "create_connection": Connection})
        connecting = client.realtime.connect(
            **cast("Any", where), websocket_connection_options=options
        )
        try:
            return OpenAISideband(await connecting.enter(), ours=self._embedded)
        except InvalidStatus as error:
            answer, attaching = error.response, "call_id" in where
            if attaching and answer.status_code == 404:
                fault: ProviderError = call_not_found()  # too early, or over
            else:
                body = _json(answer.body or b"")
                fault = self._refused(answer.status_code, body, answer.headers, busy=not attaching)
        except (WebSocketException, OSError):
            fault = unreachable(self._place)
        raise self._noted(fault)

    async def hang_up(self, call_id: str) -> None:
        """Ends the call; one that is gone already is no error."""
        if self.is_text_call(call_id):
            if (sideband := self._texts.pop(call_id, None)) is not None:
                await sideband.close()  # one that is attached ends with its connection
            return
        if not _CALL_ID.fullmatch(call_id):
            return
        try:
            await self._request(
                lambda client: client.realtime.calls.hangup(call_id, timeout=HANG_UP_TIMEOUT)
            )
        except ProviderRefused as fault:
            if fault.details.get("status") != 404:
                raise
            self._request_error = None

    async def check(self) -> bool:
        """Can it be reached with what is configured? For `/ready`; cheap and cached."""
        async with self._checking:  # one question at a time, whoever asks
            now = self._clock.monotonic()
            if self._checked is None or now - self._checked[0] >= CHECK_SECONDS:
                fault = await self._probe()
                self._check_error = None if fault is None else fault.message
                self._checked = (now, fault is None)
            return self._checked[1]

    async def close(self) -> None:
        for call_id in list(self._texts):
            await self.hang_up(call_id)
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # --- Inside -------------------------------------------------------------------

    def _told(self, session: Mapping[str, Any]) -> dict[str, Any]:
        return dict(session) if self._embedded else _plain(session)

    @property
    def _is_openai(self) -> bool:
        return self._host == "openai.com" or self._host.endswith(".openai.com")

    async def _sdk(self) -> AsyncOpenAI:
        if self._is_openai and not self._key:
            raise self._noted(ProviderRefused(NO_KEY))
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._load)
            return self._client

    def _load(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI  # takes about a second

        with suppress(ImportError):
            # The SDK looks whether it is there, and takes one that another thread is still
            # importing (the engine's models use it) for a whole one.
            import httpx  # noqa: F401

        client = AsyncOpenAI(
            base_url=self._base_url,
            # Never None: the SDK would look for a key in the environment by itself.
            api_key=self._key or "none",
            websocket_base_url=self._websocket_base_url,
            max_retries=0,
            timeout=HTTP_TIMEOUT,
        )
        _ = client.realtime.calls, client.models  # loads their modules here, not on the loop
        from vivavoce.runtime.provider import connection  # noqa: F401

        return client

    async def _request(self, send: Callable[[AsyncOpenAI], Awaitable[T]], secret: str = "") -> T:
        client = await self._sdk()
        try:
            result = await self._twice(lambda: self._attempt(client, send, secret))
        except ProviderError as fault:
            raise self._noted(fault) from None
        self._request_error = None
        return result

    async def _twice(self, attempt: Callable[[], Awaitable[T]]) -> T:
        return await retried(attempt, once_more_after, sleep=self._clock.sleep)

    async def _attempt(
        self, client: AsyncOpenAI, send: Callable[[AsyncOpenAI], Awaitable[T]], secret: str
    ) -> T:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            return await send(client)
        except APIStatusError as error:
            headers = error.response.headers
            fault = self._refused(error.status_code, error.body, headers, secret)
        except APIConnectionError:
            fault = unreachable(self._place)
        except (OpenAIError, ValueError):  # an answer that is not what it claims to be
            fault = ProviderError("The provider's answer cannot be read.")
        raise fault  # outside the handlers: the SDK's errors hold the request with its headers

    async def _probe(self) -> ProviderError | None:
        try:
            client = await self._sdk()
            await self._attempt(
                client, lambda c: c.models.with_raw_response.list(timeout=CHECK_TIMEOUT), ""
            )
        except ProviderError as fault:
            status = fault.details.get("status", 599)
            return fault if status in (401, 403) or status >= 500 else None
        return None

    def _refused(
        self,
        status: int,
        body: object,
        headers: Mapping[str, str],
        secret: str = "",
        *,
        busy: bool = True,
    ) -> ProviderError:
        """The error to raise for an HTTP answer that is no success; its class says whether a retry
        may help. Raises `Unavailable` where our own engine is `busy`."""
        code, message = read_error(body)
        wait = _milliseconds(headers.get("retry-after"))
        if self._embedded and status == 503 and busy:
            # Our own words, and no fault of a provider.
            kind = ModelUnavailable if code == ModelUnavailable.code else Unavailable
            soon = {"retry_after_ms": wait} if "retry-after" in headers else {}
            raise kind(message or "The engine is busy.", **soon) from None
        if status == 429 and code != "insufficient_quota":
            words = "The provider asks us to slow down."
            return ProviderRateLimited(words, status=status, retry_after_ms=wait)
        if status == 408 or status >= 500:
            return ProviderError(f"The provider failed (HTTP {status}).", status=status)
        said = scrub(message, self._key, secret)
        quote = f" It says: {said}" if said else ""
        known = {
            429: "The provider's account has no quota left.",
            401: "The provider refused the key. Is OPENAI_API_KEY right, and for this base URL?",
            403: f"The provider's key may not do this.{quote}",
        }
        otherwise = f"The provider refused the request (HTTP {status}).{quote}"
        if code == "model_not_found":
            otherwise = (
                f"The provider does not know the model {self._model}, or the key may not use it."
            )
        shown = code and scrub(code, self._key, secret)
        return ProviderRefused(known.get(status, otherwise), status=status, code=shown)

    def _noted(self, fault: ProviderError) -> ProviderError:
        self._request_error = fault.message
        return fault


def _json(body: bytes | bytearray) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
