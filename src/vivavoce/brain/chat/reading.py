"""The chunks of a streamed chat completion as the pieces of an answer.

Pure, and forgiving: servers number their calls differently, or not at all,
send them whole or in pieces, and forget ids.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vivavoce.brain.chat.calls import Beginning, written_calls
from vivavoce.brain.chat.text import Plain, Sieve, WrittenCall
from vivavoce.brain.ports import CallArguments, CallBegun, CallEnded, Finished, Piece, Words

Reason: TypeAlias = Literal["stop", "length", "content_filter"]

_REASONS: dict[str, Reason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


def _new_call_id() -> str:
    return f"call_{secrets.token_hex(8)}"


@dataclass(slots=True)
class _Open:
    """The call that is being written."""

    index: object
    name: str
    call_id: str
    their_id: str
    arguments: str = ""

    @property
    def whole(self) -> bool:
        try:
            json.loads(self.arguments)
        except ValueError:
            return False
        return True


class Reading:
    """One answer. `ended` once the server said why it stopped."""

    def __init__(
        self,
        offered: frozenset[str],
        *,
        parallel: bool = True,
        new_call_id: Callable[[], str] = _new_call_id,
    ) -> None:
        self.ended = False
        self.written = 0
        """Characters of the answer, thoughts and calls included."""
        self._offered = offered
        self._most = len(offered) and (1_000 if parallel else 1)
        self._new_call_id = new_call_id
        self._sieve = Sieve()
        self._beginning = Beginning() if offered else None
        self._open: _Open | None = None
        self._calls = 0
        self._reason: Reason = "stop"
        self._usage: dict[str, Any] = {}

    def feed(self, chunk: dict[str, Any]) -> Iterator[Piece]:
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        choice = _first(chunk.get("choices"))
        # A server that does not stream sends the whole message at once.
        delta = choice.get("delta") or choice.get("message") or {}
        text = delta.get("content")
        if isinstance(text, str) and text:
            self.written += len(text)
            yield from self._text(self._sieve.feed(text))
        for entry in delta.get("tool_calls") or ():
            if isinstance(entry, dict):
                yield from self._begun()
                yield from self._call(entry)
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self._reason, self.ended = _REASONS.get(reason, "stop"), True

    def finish(self, asked: int, made: int) -> Iterator[Piece]:
        """The rest. `asked` and `made` are tokens as we guess them, if the server did not count."""
        yield from self._text(self._sieve.end())
        yield from self._begun()
        yield from self._end_call()
        details = self._usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        yield Finished(
            self._reason,
            input_tokens=_number(self._usage.get("prompt_tokens"), asked),
            cached_tokens=_number(cached, 0),
            output_tokens=_number(self._usage.get("completion_tokens"), made),
        )

    def _text(self, pieces: Iterator[Plain | WrittenCall]) -> Iterator[Piece]:
        for piece in pieces:
            match piece:
                case Plain(text) if self._beginning is not None:
                    if not self._beginning.takes(text):
                        held, self._beginning = self._beginning.held, None
                        yield Words(held)
                case Plain(text):
                    yield Words(text)
                case WrittenCall(text):
                    yield from self._begun()
                    for call in written_calls(text, self._offered):
                        yield from self._call({"index": object(), "function": call})

    def _begun(self) -> Iterator[Piece]:
        """The beginning of the answer was all of it, or a call follows."""
        held, self._beginning = self._beginning.held if self._beginning else "", None
        if calls := written_calls(held, self._offered):
            for call in calls:
                yield from self._call({"index": object(), "function": call})
        elif held:
            yield Words(held)

    # --- Calls

    def _call(self, entry: dict[str, Any]) -> Iterator[Piece]:
        function = entry.get("function") or {}
        name, their_id = function.get("name") or "", entry.get("id") or ""
        if self._begins(entry.get("index"), name, their_id):
            yield from self._end_call()
            if self._calls >= self._most:
                return
            self._calls += 1
            call_id = their_id or self._new_call_id()
            self._open = _Open(entry.get("index"), name, call_id, their_id)
            yield CallBegun(call_id, name)
        # What belongs to a call that was not begun, or was ended, has nobody to go to.
        if self._open is None or entry.get("index") != self._open.index:
            return
        delta = _written(function.get("arguments"))
        if delta:
            self.written += len(delta)
            self._open.arguments += delta
            yield CallArguments(self._open.call_id, delta)

    def _begins(self, index: object, name: str, their_id: str) -> bool:
        """Whether this is another call, and not more of the one that is being written.

        Some servers number every call 0, some repeat name and id in each piece.
        """
        if not name:
            return False
        now = self._open
        if now is None or index != now.index:
            return True
        if their_id and now.their_id:
            return their_id != now.their_id
        return now.whole or name != now.name

    def _end_call(self) -> Iterator[Piece]:
        now, self._open = self._open, None
        if now is None:
            return
        if not now.arguments and self._reason == "stop":
            yield CallArguments(now.call_id, "{}")
        elif not now.whole and self._reason != "stop":
            return  # cut in the middle
        yield CallEnded(now.call_id)


def _first(choices: object) -> dict[str, Any]:
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}  # the last chunk has only the usage


def _written(arguments: object) -> str:
    """Arguments as JSON text; some servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and value >= 0 else otherwise
