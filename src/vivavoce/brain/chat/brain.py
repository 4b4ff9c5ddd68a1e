"""A brain elsewhere: any server of OpenAI's `/chat/completions`, by its URL.

Ollama, llama.cpp, vLLM, OpenAI and their like. Owns the connection, and
nothing of what is said over it: `chat_request.py` writes, `chat_wire.py` and
`chat_reading.py` read, `chat_faults.py` has the words for what goes wrong.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx

from vivavoce.brain.chat import faults
from vivavoce.brain.chat.reading import Reading
from vivavoce.brain.chat.request import Dialect, body
from vivavoce.brain.chat.wire import LONGEST_LINE, LONGEST_REFUSAL, chunks, names, read
from vivavoce.brain.ports import Ask, Budget, Piece
from vivavoce.errors import BrainError

log = logging.getLogger(__name__)

_LOCAL = ("localhost", "127.0.0.1", "::1")
# A connection that had been idle may be gone when it is used: nothing was answered yet.
_NOT_HEARD = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.RemoteProtocolError,
    httpx.ReadError,
    httpx.WriteError,
)


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
        self._budget = budget or Budget()
        self._dialect = Dialect()
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(patience, connect=3.0, pool=5.0),
            # The certificates take a tenth of a second to read, and plain HTTP needs none.
            verify=self._url.scheme == "https",
            # A proxy is for what lies outside.
            trust_env=self._url.host not in _LOCAL,
        )

    @property
    def name(self) -> str:
        return self._model or self._url.host

    @property
    def budget(self) -> Budget:
        return self._budget

    async def warm(self, ask: Ask) -> None:
        pass  # reading beforehand would cost money, and most servers cannot

    def forget(self, live: str) -> None:
        pass

    def count(self, text: str) -> int:
        return -(-len(text) // 4)  # of English, in most vocabularies

    async def close(self) -> None:
        await self._client.aclose()

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        model = self._model or await self._only_model()
        offered = () if ask.tool_choice == "none" else ask.tools
        reading = Reading(frozenset(tool.name for tool in offered), parallel=ask.parallel_calls)
        sent = 0
        try:
            async with self._asked(ask, model) as response:
                sent = len(response.request.content)
                async with aclosing(chunks(response)) as received:
                    async for chunk in received:
                        if chunk is None:
                            reading.ended = True
                            break
                        if chunk.get("error"):
                            raise faults.broke_off(chunk["error"], model, self._key)
                        for piece in reading.feed(chunk):
                            yield piece
        except httpx.TimeoutException as exc:
            raise self._fault(faults.SILENT, exc) from None
        except httpx.HTTPError as exc:
            raise self._fault(faults.CUT, exc) from None
        if not reading.ended:
            raise BrainError(faults.CUT)
        for piece in reading.finish(asked=-(-sent // 4), made=-(-reading.written // 4)):
            yield piece

    @asynccontextmanager
    async def _asked(self, ask: Ask, model: str) -> AsyncIterator[httpx.Response]:
        """The server's answer, once it takes the question."""
        while True:
            dialect = self._dialect
            asked = body(ask, model, dialect)
            request = self._client.build_request("POST", self._path("chat/completions"), json=asked)
            response = await self._sent(request)
            try:
                if response.status_code == 200:
                    yield response
                    return
                text = await read(response, LONGEST_REFUSAL)
            finally:
                await response.aclose()
            learned = None
            if response.status_code in (400, 422):
                learned = dialect.without(faults.message_of(text))
            if learned is None:
                raise self._refusal(response, text, model)
            self._dialect = learned

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        """Tried twice, since a live turn has no time for more."""
        for last in (False, True):
            try:
                return await self._client.send(request, stream=True)
            except _NOT_HEARD as exc:
                if last:
                    raise self._fault(faults.UNREACHABLE, exc) from None
        raise AssertionError("the second try returns or raises")

    async def _only_model(self) -> str:
        """The one that the server has, asked for once."""
        request = self._client.build_request("GET", self._path("models"))
        try:
            response = await self._sent(request)
            try:
                text = await read(response, LONGEST_LINE)
            finally:
                await response.aclose()
        except httpx.TimeoutException as exc:
            raise self._fault(faults.SILENT, exc) from None
        except httpx.HTTPError as exc:
            raise self._fault(faults.CUT, exc) from None
        if response.status_code != 200:
            raise self._refusal(response, text, self._model)
        found = names(text)
        if len(found) != 1:
            had = f"{len(found)} language models" if found else "no language model"
            raise BrainError(f"The server has {had}; the settings must name one it has.")
        self._model = found[0]
        return self._model

    def _path(self, end: str) -> httpx.URL:
        return self._url.copy_with(path=f"{self._url.path.rstrip('/')}/{end}")

    def _refusal(self, response: httpx.Response, text: str, model: str) -> BrainError:
        fault = faults.refusal(response.status_code, text, model, response.headers, self._key)
        log.warning("The brain refused", extra={"fields": self._where(fault.message)})
        return fault

    def _fault(self, words: str, exc: Exception) -> BrainError:
        told = self._where(str(exc) or type(exc).__name__)
        log.warning("The brain is out of reach", extra={"fields": told})
        return BrainError(words)

    def _where(self, error: str) -> dict[str, Any]:
        return {"host": self._url.netloc.decode(), "model": self._model, "error": error}
