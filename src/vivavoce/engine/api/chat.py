"""`POST /v1/chat/completions`: the engine's brain, asked in writing.

It reads in the background: a live conversation is answered first and loses
nothing of what the brain remembers of it. What can only be taken as a hint
(how to sample, how hard to think) is taken; what would change the answer and
cannot be done is refused by its name.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from vivavoce.engine.api.answers import (
    EVENTS,
    Endpoint,
    Streamed,
    answer,
    event,
    gathered,
    key_of,
    parsed,
    while_connected,
)
from vivavoce.engine.turn.asking import tokens
from vivavoce.wire import brain as ports
from vivavoce.wire.realtime.model import FunctionName, Model, Whole
from vivavoce.wire.realtime.refusal import reading, refused, unsupported, wrong_value

_HINTS = frozenset(
    {"temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort"}
    | {"verbosity", "prediction", "user", "safety_identifier", "metadata", "store", "service_tier"}
    | {"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "moderation"}
)
_CANNOT: Mapping[str, str] = {
    "functions": "it is gone; use 'tools'.",
    "function_call": "it is gone; use 'tool_choice'.",
    "logprobs": "this brain tells no probabilities.",
    "top_logprobs": "this brain tells no probabilities.",
    "logit_bias": "this brain's vocabulary is its own.",
    "audio": "answers here are written; '/v1/audio/speech' reads them aloud.",
    "web_search_options": "this brain has no search of its own; offer it a tool.",
}
_JSON = "answer"
"""The tool that a brain is made to call where the answer is to be JSON."""


# --- The request --------------------------------------------------------------------------


class _Lenient(Model):
    """Messages have more than we read: it is how clients hand back what they got."""

    model_config = ConfigDict(extra="ignore")


class _Part(_Lenient):
    type: str
    text: str = ""
    refusal: str = ""


class _Called(_Lenient):
    name: str
    arguments: str = "{}"


class _ToolCall(_Lenient):
    id: str
    type: Literal["function"] = "function"
    function: _Called


_Parts = BeforeValidator(lambda raw: [{"type": "text", "text": raw}] if type(raw) is str else raw)
_Listed = BeforeValidator(lambda raw: [raw] if type(raw) is str else raw)


class _Message(_Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Annotated[list[_Part], _Parts] = Field(default_factory=list)
    tool_calls: list[_ToolCall] = Field(default_factory=list)
    tool_call_id: str = ""


class _Function(_Lenient):
    name: FunctionName
    description: str = ""
    parameters: dict[str, Any] | None = None


class _Tool(_Lenient):
    type: Literal["function"]
    function: _Function


class _Schema(_Lenient):
    description: str = "Give the answer."
    schema_: dict[str, Any] = Field(alias="schema", default_factory=dict)


class _Format(_Lenient):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema = _Schema()


class _StreamOptions(_Lenient):
    include_usage: bool = False


def _choice(raw: Any) -> Any:
    """As the brain takes it."""
    match raw:
        case {"type": "function", "function": {"name": str(name)}}:
            return f"function:{name}"
        case dict():
            raise unsupported("only a function can be named.")
        case str() if raw not in ("auto", "none", "required"):
            raise wrong_value("supported values are: 'auto', 'none', 'required', or a function.")
    return raw


class _Wanted(Model):
    model: Annotated[str, Field(max_length=128)]
    messages: Annotated[list[_Message], Field(min_length=1, max_length=2048)]
    stream: bool = False
    stream_options: _StreamOptions = _StreamOptions()
    tools: Annotated[list[_Tool], Field(max_length=128)] = Field(default_factory=list)
    tool_choice: Annotated[str, BeforeValidator(_choice)] = "auto"
    parallel_tool_calls: bool = True
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[Whole, Field(ge=1)] | None = None
    stop: Annotated[list[str], _Listed, Field(max_length=4)] = Field(default_factory=list)
    n: Literal[1] = 1
    modalities: list[Literal["text"]] = Field(default_factory=list)
    response_format: _Format = _Format(type="text")

    @property
    def as_json(self) -> bool:
        return self.response_format.type == "json_schema"


def _wanted(body: dict[str, Any]) -> _Wanted:
    for name, why in _CANNOT.items():
        if body.get(name):
            raise refused("unsupported_parameter", name, why)
    given = {name: value for name, value in body.items() if name not in _HINTS | _CANNOT.keys()}
    return reading(_Wanted.model_validate, given)


# --- The question ---------------------------------------------------------------------------


def _ask(wanted: _Wanted) -> ports.Ask:
    """What comes first of the system is the instructions; what comes later is a turn."""
    first, messages = 0, wanted.messages
    while first < len(messages) and messages[first].role in ("system", "developer"):
        first += 1
    texts = [_text(message, f"messages[{at}]") for at, message in enumerate(messages)]
    turns: list[ports.Turn] = []
    called: set[str] = set()
    for at in range(first, len(messages)):
        turns += _turns(messages[at], texts[at], f"messages[{at}]", called)
    ask = ports.Ask(
        instructions="\n\n".join(texts[:first]),
        turns=tuple(turns),
        tools=tuple(ports.Tool(**dict(tool.function)) for tool in wanted.tools),
        tool_choice=wanted.tool_choice,
        max_tokens=wanted.max_completion_tokens or wanted.max_tokens,
        parallel_calls=wanted.parallel_tool_calls,
        spoken=False,
    )
    if ask.forced is not None and ask.forced not in {tool.name for tool in ask.tools}:
        raise refused("invalid_value", "tool_choice", "it names a function that is not in 'tools'.")
    if ask.tool_choice == "required" and not ask.tools:
        raise refused("invalid_value", "tool_choice", "there are no 'tools' to choose from.")
    return _for_json(ask, wanted.response_format)


def _turns(message: _Message, text: str, where: str, called: set[str]) -> Iterator[ports.Turn]:
    match message.role:
        case "tool":
            if message.tool_call_id not in called:
                words = "a message of the role 'tool' answers a call in a message before it."
                raise refused("invalid_value", f"{where}.tool_call_id", words)
            yield ports.Result(message.tool_call_id, text)
        case "assistant":
            if text:
                yield ports.Said("assistant", text)
            for call in message.tool_calls:
                called.add(call.id)
                yield ports.Call(call.id, call.function.name, call.function.arguments)
        case "user":
            yield ports.Said("user", text)
        case _:
            yield ports.Said("system", text)


def _text(message: _Message, where: str) -> str:
    if not message.content and message.role != "assistant":  # whose calls need no words
        raise refused("missing_required_parameter", f"{where}.content")
    for at, part in enumerate(message.content):
        if part.type not in ("text", "refusal"):
            place = f"{where}.content[{at}].type"
            raise refused("unsupported_parameter", place, "this brain reads text only.")
    return "".join(part.text or part.refusal for part in message.content)


def _for_json(ask: ports.Ask, form: _Format) -> ports.Ask:
    """An answer by a schema is the arguments of a call that the brain has to make."""
    if form.type == "text":
        return ask
    if form.type == "json_object" or not form.json_schema.schema_:
        words = "this brain writes JSON by a schema only: 'json_schema' with a 'schema'."
        raise refused("unsupported_parameter", "response_format", words)
    if ask.tools:
        raise refused("unsupported_parameter", "response_format", "not together with 'tools'.")
    tool = ports.Tool(_JSON, form.json_schema.description, form.json_schema.schema_)
    return replace(ask, tools=(tool,), tool_choice=f"function:{_JSON}", parallel_calls=False)


# --- The answer -----------------------------------------------------------------------------


@dataclass
class _Until:
    """Text up to the first of some stops, which are left out."""

    stops: list[str]
    met: bool = False
    _held: str = ""

    def feed(self, text: str) -> str:
        self._held = held = self._held + text
        ends = [at for stop in self.stops if (at := held.find(stop)) >= 0]
        if ends:
            self.met = True
            return held[: min(ends)]
        begun = (n for stop in self.stops for n in range(1, len(stop)) if held.endswith(stop[:n]))
        kept = max(begun, default=0)
        certain, self._held = held[: len(held) - kept], held[len(held) - kept :]
        return certain

    def rest(self) -> str:
        return "" if self.met else self._held


@dataclass
class _Completion:
    """One answer as it grows."""

    wanted: _Wanted
    until: _Until
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    finished: ports.Finished | None = None

    def feed(self, piece: ports.Piece) -> Iterator[dict[str, Any]]:
        """What it adds to the message."""
        match piece:
            case ports.Words(text):
                yield from self._say(self.until.feed(text))
            case ports.CallArguments(_, delta) if self.wanted.as_json:
                yield from self._say(delta)
            case ports.CallBegun(call_id, name) if not self.wanted.as_json:
                begun = {"name": name, "arguments": ""}
                call = {"id": call_id, "type": "function", "function": begun}
                yield {"tool_calls": [{"index": len(self.calls), **call, "function": {**begun}}]}
                self.calls.append(call)
            case ports.CallArguments(call_id, delta):
                index = next(at for at, call in enumerate(self.calls) if call["id"] == call_id)
                self.calls[index]["function"]["arguments"] += delta
                yield {"tool_calls": [{"index": index, "function": {"arguments": delta}}]}
            case ports.Finished():
                self.finished = piece
                yield from self._say(self.until.rest())

    def _say(self, text: str) -> Iterator[dict[str, Any]]:
        if text:
            self.text += text
            yield {"content": text}

    @property
    def reason(self) -> str:
        told = self.finished.reason if self.finished is not None else "stop"
        return "tool_calls" if self.calls and told == "stop" else told

    @property
    def message(self) -> dict[str, Any]:
        said = {"role": "assistant", "content": self.text or None, "refusal": None}
        return {**said, **({"tool_calls": self.calls} if self.calls else {})}

    def usage(self, brain: ports.Brain, ask: ports.Ask) -> dict[str, Any]:
        """As the brain counts; as it would where it was stopped before it told."""
        counted = self.finished or ports.Finished(
            "stop", input_tokens=tokens(ask, brain.count), output_tokens=brain.count(self.text)
        )
        return {
            "prompt_tokens": counted.input_tokens,
            "completion_tokens": counted.output_tokens,
            "total_tokens": counted.input_tokens + counted.output_tokens,
            "prompt_tokens_details": {"cached_tokens": counted.cached_tokens, "audio_tokens": 0},
        }

    def shown(self, kind: str, choice: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
        choices = [{"index": 0, **choice, "logprobs": None}] if choice is not None else []
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.wanted.model}
        return {**head, "choices": choices, **more}


class Chat(Endpoint):
    AT_ONCE, WAITING = 4, 32

    async def complete(self, request: Request) -> Response:
        self._engine.keys.whole(key_of(request))
        wanted = _wanted(parsed(await request.body()))
        ask, brain = _ask(wanted), self._engine.ready().brain
        made = _Completion(wanted, _Until([stop for stop in wanted.stop if stop]))
        if wanted.stream:
            return Streamed(self._chunks(made, brain, ask), EVENTS)
        await while_connected(request.receive, gathered(self._deltas(made, brain, ask)))
        choice = {"message": made.message, "finish_reason": made.reason}
        return answer(made.shown("chat.completion", choice, usage=made.usage(brain, ask)))

    async def _deltas(
        self, made: _Completion, brain: ports.Brain, ask: ports.Ask
    ) -> AsyncGenerator[dict[str, Any], None]:
        async with self.turn(), aclosing(brain.answer(ask)) as pieces:
            async for piece in pieces:
                for delta in made.feed(piece):
                    yield delta
                if made.until.met or made.finished is not None:
                    return

    async def _chunks(
        self, made: _Completion, brain: ports.Brain, ask: ports.Ask
    ) -> AsyncGenerator[bytes, None]:
        kind, counts = "chat.completion.chunk", made.wanted.stream_options.include_usage
        later = {"usage": None} if counts else {}
        begun = False
        async with aclosing(self._deltas(made, brain, ask)) as deltas:
            async for delta in deltas:
                if not begun:
                    delta = {"role": "assistant", "content": "", **delta}
                    begun = True
                choice = {"delta": delta, "finish_reason": None}
                yield event(made.shown(kind, choice, **later))
        last = {"delta": {}, "finish_reason": made.reason}
        yield event(made.shown(kind, last, **later))
        if counts:
            yield event(made.shown(kind, None, usage=made.usage(brain, ask)))
        yield b"data: [DONE]\n\n"
