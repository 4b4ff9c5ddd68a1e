"""OpenAI's `/chat/completions`: what is asked, and the pieces of an answer out of its chunks.

Pure, and forgiving. Which fields a server takes is data (`Dialect`), learned from what
it refuses. Servers number their calls differently, or not at all, send them whole or
in pieces, and forget ids. Some leave a model's private thoughts, its control tokens
and its calls in the text. Small models write the JSON of a call bare, in a fence,
several in a row, or with every brace doubled as their template shows it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from vivavoce.wire.brain import (
    Ask,
    Call,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Result,
    Said,
    Tool,
    Turn,
    Words,
)
from vivavoce.wire.hints import bare
from vivavoce.wire.values import Value

Json: TypeAlias = dict[str, Any]
Reason: TypeAlias = Literal["stop", "length", "content_filter"]
_NO_RESULT = "There is no result yet."
_NO_PARAMETERS: Json = {"type": "object", "properties": {}}
_REASONS: dict[str, Reason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_OPENING = re.compile(r"<(think|thinking|tool_call)>")
_DROPPED = re.compile(r"</(?:think|thinking|tool_call)>|<\|[a-z_]{1,24}\|>")
_BEGINNINGS = ("<think>", "<thinking>", "<tool_call>", "</think>", "</thinking>", "</tool_call>")
_TOKEN_BEGINS = re.compile(r"<\|?[a-z_]{0,24}\|?")
_LONGEST_CALL = 100_000
_FENCE = re.compile(r"```(?:json|tool_call|xml)?|</?tools?(?:_call)?>")
_LONGEST_BEGINNING = 20_000
_decoder = json.JSONDecoder()


class Dialect(Value):
    """Which of the fields that not every server knows this one takes."""

    stream_options: bool = True
    parallel_tool_calls: bool = True
    tool_choice: bool = True
    max_completion_tokens: bool = False
    """OpenAI's reasoning models want this name; everyone else knows `max_tokens`."""

    def without(self, refusal: str) -> Dialect | None:
        """The dialect of a server that refused a request in these words, if they tell one."""
        if "max_completion_tokens" in refusal and not self.max_completion_tokens:
            return replace(self, max_completion_tokens=True)
        for name in ("stream_options", "parallel_tool_calls", "tool_choice"):
            if name in refusal and getattr(self, name):
                return replace(self, **{name: False})
        return None


CONTEXT_BY_PREFIX: dict[str, int] = {
    "gpt-4o": 128_000,
    "gpt-4.1": 1_000_000,
    "gpt-5": 400_000,
    "o3": 200_000,
    "o4": 200_000,
    "claude-": 200_000,
    "gemini-": 1_000_000,
}
"""Tokens, of models whose servers do not list it."""
_TOLD_AS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
"""What servers call it in their list of models: vLLM, OpenRouter, Groq, LM Studio, llama.cpp."""
_LEAST_CONTEXT, _MOST_CONTEXT = 1_000, 10_000_000


def context_by_name(model: str) -> int | None:
    bare = model.rpartition("/")[2]
    known = [prefix for prefix in CONTEXT_BY_PREFIX if bare.startswith(prefix)]
    return CONTEXT_BY_PREFIX[max(known, key=len)] if known else None


def context_told(entry: Json) -> int | None:
    """How much a model reads, as its server lists it."""
    meta = entry.get("meta")
    for told in (entry, meta if isinstance(meta, dict) else {}):
        for name in _TOLD_AS:
            value = told.get(name)
            if type(value) is int and _LEAST_CONTEXT <= value <= _MOST_CONTEXT:
                return value
    return None


def body(ask: Ask, model: str, dialect: Dialect) -> Json:
    """Streamed; with what the server counted at the end, where it can."""
    made: Json = {"model": model, "messages": list(messages(ask)), "stream": True}
    if dialect.stream_options:
        made["stream_options"] = {"include_usage": True}
    if ask.max_tokens is not None:
        made["max_completion_tokens" if dialect.max_completion_tokens else "max_tokens"] = (
            ask.max_tokens
        )
    # Not every server obeys "none", so a model that may call nothing is shown nothing to call.
    if ask.tools and ask.tool_choice != "none":
        made["tools"] = [as_tool(tool) for tool in ask.tools]
        if dialect.tool_choice:
            made["tool_choice"] = _choice(ask)
        if dialect.parallel_tool_calls:
            made["parallel_tool_calls"] = ask.parallel_calls
    return made


def messages(ask: Ask) -> Iterator[Json]:
    """The conversation, with every call's result right behind it, as the protocol demands.

    A result may come late, after more was said, or not at all yet.
    """
    if ask.instructions:
        yield {"role": "system", "content": ask.instructions}
    results = {turn.call_id: turn.output for turn in ask.turns if isinstance(turn, Result)}
    said: Json | None = None
    calls: list[Call] = []
    for turn in (*_interim_first(ask.turns), None):
        if isinstance(turn, Call):
            calls.append(turn)
            continue
        if isinstance(turn, Result):
            continue  # told where its call is
        if calls:
            yield from _called(said, calls, results)
            said, calls = None, []
        if said is not None:
            yield said
        said = _said(turn)
    if said is not None:
        yield said


def _interim_first(turns: Sequence[Turn]) -> list[Turn]:
    """What was said while a tool ran ("One moment") comes before its call: the result is what is
    to be answered, and a model that finds its own words behind it takes them for the answer."""
    ordered: list[Turn] = []
    last = {turn.call_id: at for at, turn in enumerate(turns) if isinstance(turn, Result)}
    runs: dict[str, int] = {}  # calls without a result yet, and where they are
    for at, turn in enumerate(turns):
        if isinstance(turn, Call) and last.get(turn.call_id, -1) > at:
            runs[turn.call_id] = len(ordered)
        elif isinstance(turn, Result):
            runs.pop(turn.call_id, None)
        elif isinstance(turn, Said) and turn.role == "assistant" and runs:
            ordered.insert(min(runs.values()), turn)
            runs = {call_id: place + 1 for call_id, place in runs.items()}
            continue
        elif isinstance(turn, Said) and turn.role == "user":
            runs.clear()  # what is said from here on may be an answer to that
        ordered.append(turn)
    return ordered


def _said(turn: Said | None) -> Json | None:
    if turn is None or not turn.text.strip():
        return None
    return {"role": turn.role, "content": turn.text}


def _called(said: Json | None, calls: list[Call], results: dict[str, str]) -> Iterator[Json]:
    """What the assistant said just before it called belongs to the same message."""
    message: Json = {"role": "assistant", "content": None}
    if said is not None and said["role"] == "assistant":
        message = said
    elif said is not None:
        yield said
    yield {**message, "tool_calls": [_call(call) for call in calls]}
    for call in calls:
        output = results.get(call.call_id, _NO_RESULT)
        yield {"role": "tool", "tool_call_id": call.call_id, "content": output}


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.call_id, "type": "function", "function": function}


def as_tool(tool: Tool) -> Json:
    function: Json = {"name": tool.name, "parameters": bare(tool.parameters or _NO_PARAMETERS)}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _choice(ask: Ask) -> str | Json:
    if ask.forced is not None:
        return {"type": "function", "function": {"name": ask.forced}}
    return ask.tool_choice


# --- The answer


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
        with suppress(ValueError):
            json.loads(self.arguments)
            return True
        return False


class Reading:
    """One answer. `ended` once the server said why it stopped."""

    def __init__(self, offered: frozenset[str], *, parallel: bool = True) -> None:
        self.ended = False
        self.written = 0
        """Characters of the answer, thoughts and calls included."""
        self._offered = offered
        self._most = len(offered) and (1_000 if parallel else 1)
        self._sieve = _Sieve()
        self._beginning = "" if offered else None
        """Of an answer that may be a call: held back until that is known."""
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

    def _text(self, pieces: Iterator[str | _WrittenCall]) -> Iterator[Piece]:
        for piece in pieces:
            match piece:
                case str(text) if self._beginning is not None:
                    self._beginning += text
                    if not _may_become_a_call(self._beginning):
                        held, self._beginning = self._beginning, None
                        yield Words(held)
                case str(text):
                    yield Words(text)
                case _WrittenCall(text):
                    yield from self._begun()
                    for call in _written_calls(text, self._offered):
                        yield from self._call({"index": object(), "function": call})

    def _begun(self) -> Iterator[Piece]:
        """The beginning of the answer was all of it, or a call follows."""
        held, self._beginning = self._beginning or "", None
        if calls := _written_calls(held, self._offered):
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
            call_id = their_id or f"call_{secrets.token_hex(8)}"
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


# --- Calls that a model wrote into its text


def _may_become_a_call(text: str) -> bool:
    begins = text.lstrip()[:3]
    fits = begins.startswith("{") or "```".startswith(begins)
    return fits and len(text) <= _LONGEST_BEGINNING


def _written_calls(text: str, offered: frozenset[str]) -> list[dict[str, Any]]:
    """The calls in a text that is nothing else; each once. What comes after them is ignored:
    a model that begins with calls and does not know how to end goes on with rubbish."""
    bare = _FENCE.sub(" ", text).strip()
    found = _read(bare, offered) or _read(bare.replace("{{", "{").replace("}}", "}"), offered)
    return [call for at, call in enumerate(found) if call not in found[:at]]


def _read(text: str, offered: frozenset[str]) -> list[dict[str, Any]]:
    calls = []
    while text:
        try:
            value, end = _decoder.raw_decode(text)
        except ValueError:
            break
        if not isinstance(value, dict) or value.get("name") not in offered:
            break
        arguments = value.get("arguments", value.get("parameters"))
        calls.append({"name": value["name"], "arguments": arguments})
        text = text[end:].lstrip(" \n\r\t,;")
    return calls


# --- Text, without what nobody should hear


class _WrittenCall(Value):
    """What stood between the tags of a call that the server did not understand as one."""

    text: str


class _Sieve:
    """One answer's text."""

    def __init__(self) -> None:
        self._held = ""
        self._inside: str | None = None
        self._spoken = False

    def feed(self, text: str) -> Iterator[str | _WrittenCall]:
        self._held += text
        while self._held:
            if self._inside is not None:
                found = self._through_block()
                if found is None:
                    return
                if found:
                    yield _WrittenCall(found)
                continue
            plain, more = self._up_to_tag()
            if plain:
                yield plain
            if not more:
                return

    def end(self) -> Iterator[str | _WrittenCall]:
        """What was held back is what it is; a thought that has no end was one."""
        held, self._held = self._held, ""
        if self._inside == "tool_call" and held:
            yield _WrittenCall(held)
        elif self._inside is None and (plain := self._said(held)):
            yield plain

    def _through_block(self) -> str | None:
        """Past the block's end: the call in it, if it was one. None when more must come."""
        closing = f"</{self._inside}>"
        inner, found, rest = self._held.partition(closing)
        if not found:
            thought = self._inside != "tool_call"
            if thought or len(self._held) > _LONGEST_CALL:
                self._held = self._held[-len(closing) :]  # its end may have begun
            return None
        call = inner if self._inside == "tool_call" else ""
        self._held, self._inside = rest, None
        return call

    def _up_to_tag(self) -> tuple[str, bool]:
        """The text before the next tag, and whether there is more to look at."""
        before, bracket, after = self._held.partition("<")
        tagged = bracket + after
        if opening := _OPENING.match(tagged):
            self._held, self._inside = tagged[opening.end() :], opening[1]
            return self._said(before), True
        if dropped := _DROPPED.match(tagged):
            self._held = tagged[dropped.end() :]
            return self._said(before), True
        if tagged and _may_become_a_tag(tagged):
            self._held = tagged
            return self._said(before), False
        self._held = after
        return self._said(before + bracket), bool(after)

    def _said(self, text: str) -> str:
        if not self._spoken:
            text = text.lstrip()  # the empty lines that follow a thought
            self._spoken = bool(text)
        return text


def _may_become_a_tag(text: str) -> bool:
    if any(tag.startswith(text) for tag in _BEGINNINGS):
        return True
    return text[:2] in ("<", "<|") and _TOKEN_BEGINS.fullmatch(text) is not None
