"""A brain elsewhere: any server of OpenAI's `/chat/completions`, by its URL.

Ollama, llama.cpp, vLLM, OpenAI and their like, by OpenAI's own SDK. Owns the
connection and the words for what goes wrong on it; `request.py` writes what is
asked, `reading.py` understands the answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from vivavoce.brain.chat.protocol import Dialect, Reading, body
from vivavoce.brain.ports import Ask, Budget, Piece
from vivavoce.errors import BrainError
from vivavoce.logs import fields
from vivavoce.retrying import retried

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, AsyncStream

log = logging.getLogger(__name__)

T = TypeVar("T")

LONGEST = 64 * 2**20
"""Bytes of one answer, whatever it is: what is at the other end is not ours."""
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
        budget: Budget | None = None,
    ) -> None:
        self._url = httpx.URL(url.rstrip("/"))
        if key and not (key.isascii() and key.isprintable()):
            raise BrainError("The key for the language model is not one: it has odd characters.")
        self._model = model
        self._key = key
        self._patience = patience
        self._budget = budget or Budget()
        self._dialect = Dialect()
        self._client: AsyncOpenAI | None = None
        self._loading = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model or self._url.host

    @property
    def budget(self) -> Budget:
        return self._budget

    async def warm(self, ask: Ask) -> None:
        """Reading beforehand would cost money, and most servers cannot; but we can be ready."""
        await self._sdk()

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
        stream = await self._asked(ask, model)
        try:
            async with aclosing(self._chunks(stream, model)) as received:
                async for chunk in received:
                    for piece in reading.feed(chunk):
                        yield piece
        finally:
            await stream.close()
        if not reading.ended and not getattr(stream, "_decoder").marked:  # noqa: B009 - as in `_load`
            raise BrainError(_CUT)
        asked = -(-len(stream.response.request.content) // 4)
        for piece in reading.finish(asked=asked, made=-(-reading.written // 4)):
            yield piece

    async def _chunks(
        self, stream: AsyncStream[object], model: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The events of the stream, or the whole answer of a server that does not stream."""
        from openai import APIConnectionError, APIError, APITimeoutError

        response = stream.response
        try:
            if response.headers.get("content-type", "").startswith("application/json"):
                yield _readable(json.loads(await response.aread()))
                return
            async for chunk in stream:
                yield _readable(chunk)
        except (APITimeoutError, httpx.TimeoutException) as exc:
            raise self._out_of_reach(_SILENT, exc) from None
        except (APIConnectionError, httpx.HTTPError) as exc:
            raise self._out_of_reach(_CUT, exc) from None
        except APIError as exc:
            code = exc.body.get("code") if isinstance(exc.body, dict) else None
            status = code if isinstance(code, int) else 500
            raise _refusal(status, exc.body, model, {}, self._key) from None
        except ValueError:
            raise BrainError(_GARBLED) from None

    # --- Requests

    async def _sdk(self) -> AsyncOpenAI:
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._load)
            return self._client

    def _load(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, Omit  # takes about a second
        from openai._streaming import ServerSentEvent, SSEDecoder

        class Decoder(SSEDecoder):
            """The SDK's, but it knows whether the mark at the end came, which a connection that
            ended in the middle does not have, and errors written where `data` should stand."""

            marked = False

            def decode(self, line: str) -> ServerSentEvent | None:
                if line.startswith("error:"):
                    error = json.loads(line.removeprefix("error:"))
                    told = error.get("error", error) if isinstance(error, dict) else error
                    return ServerSentEvent(data=json.dumps({"error": told}))
                event = super().decode(line)
                self.marked = self.marked or (event is not None and event.data == "[DONE]")
                return event

        class Client(AsyncOpenAI):
            def _make_sse_decoder(self) -> Decoder:
                return Decoder()

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
        client = Client(**options)
        _ = client.models  # loads its module here, not on the loop
        return client

    async def _asked(self, ask: Ask, model: str) -> AsyncStream[object]:
        """The server's answer, once it takes the question."""
        from openai import APIStatusError, AsyncStream

        while True:
            dialect = self._dialect
            asked = body(ask, model, dialect)

            def send(client: AsyncOpenAI, asked: object = asked) -> Any:
                # As it comes, not as the SDK's models have it: servers differ too much.
                kind = AsyncStream[object]
                path = "/chat/completions"
                return client.post(path, body=asked, cast_to=object, stream=True, stream_cls=kind)

            try:
                stream: AsyncStream[object] = await self._sent(send)
                return stream
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

        client = await self._sdk()
        try:
            return await retried(lambda: send(client), _once_more)
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

    def _out_of_reach(self, words: str, exc: Exception) -> BrainError:
        cause = exc.__cause__ or exc
        told = self._where(str(cause) or type(cause).__name__)
        log.warning("The brain is out of reach", extra=fields(**told))
        return BrainError(words)

    def _where(self, error: str) -> dict[str, Any]:
        return {"host": self._url.netloc.decode(), "model": self._model, "error": error}


def _once_more(fault: Exception, failures: int) -> float | None:
    return 0.0 if failures == 1 and isinstance(fault.__cause__, _NOT_HEARD) else None


def _readable(chunk: object) -> dict[str, Any]:
    if not isinstance(chunk, dict):
        raise ValueError(chunk)
    return chunk


async def _bound(response: httpx.Response) -> None:
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
        return BrainError("The language model's server does not accept the key.", status=status)
    if status == 429 and "quota" in told:
        return BrainError("The account at the language model's server is used up.", status=status)
    if status == 429:
        words = "The language model's server has too much to do."
        return BrainError(words, status=status, retry_after_ms=wait)
    if status == 413 or any(words in told for words in _TOO_LONG):
        return BrainError("The conversation is too long for the language model.", status=status)
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
