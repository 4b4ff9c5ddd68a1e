"""A brain elsewhere: any server of OpenAI's `/chat/completions`, by its URL.

Ollama, llama.cpp, vLLM, OpenAI and their like, by OpenAI's own SDK. Owns the
connection and the words for what goes wrong on it; `request.py` writes what is
asked, `reading.py` understands the answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from vivavoce.brain.chat.protocol import (
    Dialect,
    Reading,
    as_tool,
    body,
    context_by_name,
    context_told,
)
from vivavoce.errors import BrainBusy, BrainError, BrainFull, BrainLocked, BrainSpent
from vivavoce.logs import fields
from vivavoce.retrying import retried
from vivavoce.wire.brain import Ask, Budget, Piece, Tool

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

log = logging.getLogger(__name__)

T = TypeVar("T")

LONGEST = 4 * 2**20
"""Bytes of an answer that is read as a whole, and of a line: what is there is not ours."""
_LAST_BYTES = 0.25
"""Seconds for the end of a stream that is over, so that its connection can be used again."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
# A connection that had been idle may be gone when it is used: nothing was answered yet.
_NOT_HEARD = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.RemoteProtocolError,
    httpx.ReadError,
    httpx.WriteError,
)
_UNREACHABLE = "The language model's server cannot be reached."
_SILENT = "The language model did not answer in time."
_CUT = "The language model stopped in the middle of its answer."
_GARBLED = "The language model's server sent something that cannot be read."
_TOO_LONG = ("context_length", "context length", "context size", "context window", "too long")
_LONGEST_WORDS = 200


class ChatBrain:
    """Fills `Brain`. `url` is the base, such as `http://localhost:11434/v1`.

    Without a `model`, the server must have exactly one. `patience` is how many
    seconds it may be silent: a server may load its model for the first question.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        key: str | None = None,
        patience: float = 60.0,
        context_tokens: int = 0,
    ) -> None:
        """`context_tokens`: what it is asked at most; 0 is as its name or its server tells."""
        self._url = httpx.URL(url.rstrip("/"))
        if key and not (key.isascii() and key.isprintable()):
            raise BrainError("The key for the language model is not one: it has odd characters.")
        self._model = model
        self._key = key
        self._patience = patience
        self._given = context_tokens
        self._told: int | None = None  # by the server
        self._looked = context_tokens > 0
        self._dialect = Dialect()
        self._client: AsyncOpenAI | None = None
        self._loading = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model or self._url.host

    @property
    def budget(self) -> Budget:
        tokens = self._given or self._told or context_by_name(self._model)
        return Budget() if tokens is None else Budget(context_tokens=tokens)

    def fixed(self, instructions: str, tools: Sequence[Tool]) -> int:
        written = sum(len(json.dumps(as_tool(tool))) for tool in tools)
        return self.count(instructions) + -(-written // 4)

    async def warm(self, ask: Ask) -> None:
        """Reading beforehand would cost money, and most servers cannot; but we can be ready, and
        ask once how much the model reads."""
        await self._sdk()
        if not self._looked:
            self._looked = True
            try:
                await self._look()
            except BrainError:  # it cannot be reached: next time, perhaps
                self._looked = False

    async def _look(self) -> None:
        """A server that lists no window, or no models at all, leaves it as it is."""
        from openai import APIStatusError

        try:
            listed = await self._sent(lambda client: client.models.list())
            models = [entry.model_dump() for entry in listed.data]
        except (APIStatusError, ValueError, TypeError, AttributeError):
            return
        named = [entry for entry in models if entry.get("id") == self._model]
        for entry in named or (models if len(models) == 1 else ()):
            self._told = context_told(entry)

    def forget(self, live: str) -> None:
        pass

    def count(self, text: str) -> int:
        return -(-len(text) // 4)  # of English, in most vocabularies

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        model = self._model or await self._only_model()
        offered = () if ask.tool_choice == "none" else ask.tools
        reading = Reading(frozenset(tool.name for tool in offered), parallel=ask.parallel_calls)
        response = await self._asked(ask, model)
        try:
            async with aclosing(_chunks(response)) as received:
                async for chunk in received:
                    if chunk is None:
                        reading.ended = True
                        break
                    if error := chunk.get("error"):
                        raise self._broke_off(error, model)
                    for piece in reading.feed(chunk):
                        yield piece
        except httpx.TimeoutException as exc:
            raise self._out_of_reach(_SILENT, exc) from None
        except httpx.HTTPError as exc:
            raise self._out_of_reach(_CUT, exc) from None
        finally:
            await response.aclose()
        if not reading.ended:
            raise BrainError(_CUT)
        asked = -(-len(response.request.content) // 4)
        for piece in reading.finish(asked=asked, made=-(-reading.written // 4)):
            yield piece

    # --- Requests

    async def _sdk(self) -> AsyncOpenAI:
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._load)
            return self._client

    def _load(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, Omit  # takes about a second

        http = httpx.AsyncClient(
            # The certificates take a tenth of a second to read, and plain HTTP needs none.
            verify=self._url.scheme == "https",
            # A proxy is for what lies outside.
            trust_env=self._url.host not in _LOCAL,
            event_hooks={"response": [_bound]},
        )
        # What the SDK finds in the environment is meant for OpenAI.
        headers = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        options: dict[str, Any] = {
            "base_url": str(self._url.copy_with(query=None)),
            "default_query": dict(self._url.params),
            "default_headers": headers,
            "http_client": http,
            # A server without keys does not look at it; the SDK wants one.
            "api_key": self._key or "none",
            "max_retries": 0,
            "timeout": httpx.Timeout(self._patience, connect=3.0, pool=5.0),
        }
        client = AsyncOpenAI(**options)
        _ = client.models  # loads its module here, not on the loop
        return client

    async def _asked(self, ask: Ask, model: str) -> httpx.Response:
        """The server's answer, once it takes the question."""
        from openai import APIStatusError, AsyncStream

        while True:
            dialect = self._dialect
            asked = body(ask, model, dialect)

            def send(client: AsyncOpenAI, asked: object = asked) -> Any:
                kind, path = AsyncStream[object], "/chat/completions"
                return client.post(path, body=asked, cast_to=object, stream=True, stream_cls=kind)

            try:
                # Only asked by the SDK, and read by us: its own reading leaves a task behind for
                # each answer, and its models fit OpenAI's server only.
                response: httpx.Response = (await self._sent(send)).response
                return response
            except APIStatusError as exc:
                learned = None
                if exc.status_code in (400, 422):
                    learned = dialect.without(" ".join(_told(exc.body)))
                if learned is None:
                    raise self._refused(exc, model) from None
            self._dialect = learned

    async def _only_model(self) -> str:
        """The one that the server has, asked for once."""
        from openai import APIStatusError

        try:
            listed = await self._sent(lambda client: client.models.list())
            found = [str(entry.id) for entry in listed.data]
        except APIStatusError as exc:
            raise self._refused(exc, self._model) from None
        except (ValueError, TypeError, AttributeError):  # the SDK takes it as it comes
            raise BrainError(_GARBLED) from None
        if len(found) != 1:
            had = f"{len(found)} language models" if found else "no language model"
            raise BrainError(f"The server has {had}; the settings must name one it has.")
        self._model = found[0]
        return self._model

    async def _sent(self, send: Callable[[AsyncOpenAI], Awaitable[T]]) -> T:
        """Tried twice if nobody heard it, since a live turn has no time for more."""
        from openai import APIConnectionError, APITimeoutError

        def once_more(fault: Exception, failures: int) -> float | None:
            return 0.0 if failures == 1 and isinstance(fault.__cause__, _NOT_HEARD) else None

        client = await self._sdk()
        try:
            return await retried(lambda: send(client), once_more)
        except APIConnectionError as exc:
            unheard = isinstance(exc.__cause__, _NOT_HEARD)
            silent = _SILENT if isinstance(exc, APITimeoutError) else _CUT
            raise self._out_of_reach(_UNREACHABLE if unheard else silent, exc) from None

    # --- Faults. Their words may reach anyone: they name no host and repeat no key. The SDK's own
    # errors hold the request with its headers, so they never go along as a cause.

    def _refused(self, exc: APIStatusError, model: str) -> BrainError:
        fault = _refusal(exc.status_code, exc.body, model, exc.response.headers, self._key)
        log.warning("The brain refused", extra=fields(**self._where(fault.message)))
        return fault

    def _broke_off(self, error: object, model: str) -> BrainError:
        """An error in the middle of the stream."""
        code = error.get("code") if isinstance(error, dict) else None
        return _refusal(code if isinstance(code, int) else 500, error, model, {}, self._key)

    def _out_of_reach(self, words: str, exc: Exception) -> BrainError:
        cause = exc.__cause__ or exc
        told = self._where(str(cause) or type(cause).__name__)
        log.warning("The brain is out of reach", extra=fields(**told))
        return BrainError(words)

    def _where(self, error: str) -> dict[str, Any]:
        return {"host": self._url.netloc.decode(), "model": self._model, "error": error}


async def _bound(response: httpx.Response) -> None:
    """Whatever is read as a whole; an event stream has a largest line."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Bounded(response.stream)


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for piece in self._inner:
            seen += len(piece)
            if seen > LONGEST:
                raise httpx.ReadError(f"an answer of more than {LONGEST} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _chunks(response: httpx.Response) -> AsyncGenerator[dict[str, Any] | None, None]:
    """The events of the stream, or the whole answer of a server that does not stream.

    None for the mark at the end, which a connection that ended in the middle does not have.
    """
    if response.headers.get("content-type", "").startswith("application/json"):
        yield _parsed(await response.aread())
        return
    async with aclosing(_lines(response)) as lines:
        async for line in lines:
            field, _, value = line.partition(b":")
            # `error:` is what some servers write where the events' field would be `data`.
            if field not in (b"data", b"error") or not value.strip():
                continue
            if value.strip() == b"[DONE]":
                # Everything was said: if the end does not come now, only the connection is lost.
                with suppress(TimeoutError, httpx.HTTPError):
                    async with asyncio.timeout(_LAST_BYTES):
                        async for _ in lines:
                            pass
                yield None
                return
            parsed = _parsed(value)
            yield parsed if field == b"data" else {"error": parsed.get("error", parsed)}


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Split at line feeds only: a JSON string may hold any other kind of line's end."""
    held = b""
    pieces = response.aiter_bytes()
    try:
        async for piece in pieces:
            *lines, held = (held + piece).split(b"\n")
            if len(held) > LONGEST:
                raise BrainError(_GARBLED)
            for line in lines:
                yield line
        if held:
            yield held
    finally:
        # Read on, what is closed fails at once, and with it every generator below. Left as they
        # are, the event loop would put them away one by one, in tasks that are nobody's.
        await response.aclose()
        with suppress(Exception):
            async for _ in pieces:
                pass


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        raise BrainError(_GARBLED) from None
    if not isinstance(parsed, dict):
        raise BrainError(_GARBLED)
    return parsed


def _refusal(
    status: int, error: object, model: str, headers: Mapping[str, str], key: str | None
) -> BrainError:
    """The fault for an answer that is none; `error` is its body, as far as it could be read.

    What the server itself said is repeated only where nothing better is known.
    """
    message, code = _told(error)
    told = f"{code} {message}".lower()
    wait = _retry_after(headers)
    if status in (401, 403):
        return BrainLocked("The language model's server does not accept the key.", status=status)
    if status == 429 and "quota" in told:
        return BrainSpent("The account at the language model's server is used up.", status=status)
    if status == 429:
        words = "The language model's server has too much to do."
        return BrainBusy(words, status=status, retry_after_ms=wait)
    if status == 413 or any(words in told for words in _TOO_LONG):
        return BrainFull("The conversation is too long for the language model.", status=status)
    if status == 404 and "model" in told:
        return BrainError(f"The server has no language model {model!r}.", status=status)
    if status == 404:
        words = "There is no chat server at that address; most end in /v1."
        return BrainError(words, status=status)
    if status == 503 and "loading" in told:
        words = "The language model is still being loaded."
        return BrainError(words, status=status, retry_after_ms=wait)
    return BrainError(_otherwise(status, message, key), status=status, retry_after_ms=wait)


def _told(error: Any) -> tuple[str, str]:
    """The message and the code of an error, whichever of the usual shapes it has."""
    if isinstance(error, dict):
        error = error.get("error") or error.get("detail") or error
    if not isinstance(error, dict):
        return " ".join(str(error or "").split()), ""
    codes = (str(error[name]) for name in ("code", "type", "param") if error.get(name))
    return str(error.get("message") or error.get("detail") or ""), " ".join(codes)


def _otherwise(status: int, message: str, key: str | None) -> str:
    whose = "failed" if status >= 500 else "refused the question"
    words = f"The language model's server {whose} ({status})"
    if not message or message.startswith("<"):  # a page for a browser
        return f"{words}."
    if key:
        message = message.replace(key, "…")
    short = message if len(message) <= _LONGEST_WORDS else message[: _LONGEST_WORDS - 1] + "…"
    return f"{words}: {short}"


def _retry_after(headers: Mapping[str, str]) -> int | None:
    try:
        return int(float(headers.get("retry-after", "")) * 1000)
    except (ValueError, OverflowError):  # a date, or nothing
        return None
