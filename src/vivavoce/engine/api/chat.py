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
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from vivavoce.brain.ports import (
    Ask,
    Brain,
    Call,
    CallArguments,
    CallBegun,
    Finished,
    Piece,
    Result,
    Said,
    Tool,
    Turn,
    Words,
)
from vivavoce.engine.api.answers import (
    EVENTS,
    Streamed,
    Turns,
    answer,
    checked,
    event,
    key_of,
    parsed,
    while_connected,
)
from vivavoce.engine.api.control import Engine
from vivavoce.wire.realtime.refusal import Refused

AT_ONCE, WAITING = 4, 32
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


class _Part(BaseModel):
    type: str
    text: str = ""
    refusal: str = ""


class _Called(BaseModel):
    name: str
    arguments: str = "{}"


class _ToolCall(BaseModel):
    id: str
    type: Literal["function"] = "function"
    function: _Called


class _Message(BaseModel):
    """What comes beside these (`name`, `annotations`, …) is how clients hand back what they got."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None


class _Function(BaseModel):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(BaseModel):
    type: Literal["function"]
    function: _Function


class _Named(BaseModel):
    name: str


class _Choice(BaseModel):
    type: Literal["function"]
    function: _Named


class _Schema(BaseModel):
    description: str | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None


class _StreamOptions(BaseModel):
    include_usage: bool | None = None


class _Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, Field(max_length=128)]
    messages: Annotated[list[_Message], Field(min_length=1, max_length=2048)]
    stream: bool = False
    stream_options: _StreamOptions = _StreamOptions()
    tools: Annotated[list[_Tool], Field(max_length=128)] = []
    tool_choice: Literal["auto", "none", "required"] | _Choice = "auto"
    parallel_tool_calls: bool = True
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] = []
    n: Literal[1] = 1
    modalities: list[Literal["text"]] = ["text"]
    response_format: _Format = _Format(type="text")

    @property
    def stops(self) -> list[str]:
        return [stop for stop in ([self.stop] if isinstance(self.stop, str) else self.stop) if stop]

    @property
    def as_json(self) -> bool:
        return self.response_format.type == "json_schema"


def _wanted(body: dict[str, Any]) -> _Wanted:
    for name, why in _CANNOT.items():
        if body.get(name):
            raise Refused(f"Cannot use '{name}': {why}", code="unsupported_parameter", param=name)
    given = {name: value for name, value in body.items() if name not in _HINTS | _CANNOT.keys()}
    return checked(_Wanted, given)


# --- The question ---------------------------------------------------------------------------


def _ask(wanted: _Wanted) -> Ask:
    first = next(
        (at for at, one in enumerate(wanted.messages) if one.role not in ("system", "developer")),
        len(wanted.messages),
    )
    turns: list[Turn] = []
    called: set[str] = set()
    for at, message in enumerate(wanted.messages[first:], first):
        turns += _turns(message, f"messages[{at}]", called)
    choice = wanted.tool_choice
    ask = Ask(
        instructions="\n\n".join(
            _text(message, f"messages[{at}]") for at, message in enumerate(wanted.messages[:first])
        ),
        turns=tuple(turns),
        tools=tuple(
            Tool(tool.function.name, tool.function.description or "", tool.function.parameters)
            for tool in wanted.tools
        ),
        tool_choice=choice if isinstance(choice, str) else f"function:{choice.function.name}",
        max_tokens=wanted.max_completion_tokens or wanted.max_tokens,
        parallel_calls=wanted.parallel_tool_calls,
        spoken=False,
    )
    _check_choice(ask)
    return _for_json(ask, wanted.response_format)


def _turns(message: _Message, where: str, called: set[str]) -> Iterator[Turn]:
    text = _text(message, where)
    match message.role:
        case "tool":
            if message.tool_call_id not in called:
                raise Refused(
                    "A message of the role 'tool' answers a call in a message before it: "
                    f"'{where}.tool_call_id' names none.",
                    code="invalid_value",
                    param=f"{where}.tool_call_id",
                )
            yield Result(message.tool_call_id or "", text)
        case "assistant":
            if text:
                yield Said("assistant", text)
            for call in message.tool_calls or ():
                called.add(call.id)
                yield Call(call.id, call.function.name, call.function.arguments)
        case "user":
            yield Said("user", text)
        case _:
            yield Said("system", text)


def _text(message: _Message, where: str) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    for at, part in enumerate(message.content):
        if part.type not in ("text", "refusal"):
            raise Refused(
                f"Cannot use '{part.type[:40]}': this brain reads text only.",
                code="unsupported_parameter",
                param=f"{where}.content[{at}].type",
            )
    return "".join(part.text or part.refusal for part in message.content)


def _check_choice(ask: Ask) -> None:
    forced = ask.tool_choice.removeprefix("function:")
    if forced != ask.tool_choice and forced not in {tool.name for tool in ask.tools}:
        words = f"'tool_choice' names the function '{forced[:64]}', which is not in 'tools'."
        raise Refused(words, code="invalid_value", param="tool_choice")
    if ask.tool_choice == "required" and not ask.tools:
        words = "'tool_choice' is only allowed when 'tools' are specified."
        raise Refused(words, code="invalid_value", param="tool_choice")


def _for_json(ask: Ask, form: _Format) -> Ask:
    """An answer by a schema is the arguments of a call that the brain has to make."""
    if form.type == "text":
        return ask
    schema = form.json_schema and form.json_schema.schema_
    if form.type == "json_object" or not schema:
        raise Refused(
            "Cannot use 'response_format': this brain writes JSON by a schema only: "
            "'json_schema' with a 'schema'.",
            code="unsupported_parameter",
            param="response_format",
        )
    if ask.tools:
        raise Refused(
            "Cannot use 'response_format' together with 'tools'.",
            code="unsupported_parameter",
            param="response_format",
        )
    described = form.json_schema.description if form.json_schema else None
    tool = Tool(_JSON, described or "Give the answer.", schema)
    return Ask(
        ask.instructions,
        ask.turns,
        (tool,),
        f"function:{_JSON}",
        max_tokens=ask.max_tokens,
        parallel_calls=False,
        spoken=False,
    )


# --- The answer -----------------------------------------------------------------------------


@dataclass
class _Until:
    """Text up to the first of some stops, which are left out."""

    stops: list[str]
    met: bool = False
    _held: str = ""

    def feed(self, text: str) -> str:
        self._held += text
        ends = [at for stop in self.stops if (at := self._held.find(stop)) >= 0]
        if ends:
            self.met = True
            return self._held[: min(ends)]
        kept = max(
            (
                n
                for stop in self.stops
                for n in range(1, len(stop))
                if self._held.endswith(stop[:n])
            ),
            default=0,
        )
        certain = self._held[: len(self._held) - kept]
        self._held = self._held[len(certain) :]
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
    finished: Finished | None = None

    def feed(self, piece: Piece) -> Iterator[dict[str, Any]]:
        """What it adds to the message."""
        match piece:
            case Words(text):
                yield from self._say(self.until.feed(text))
            case CallArguments(_, delta) if self.wanted.as_json:
                yield from self._say(delta)
            case CallBegun(call_id, name) if not self.wanted.as_json:
                begun = {"name": name, "arguments": ""}
                call = {"id": call_id, "type": "function", "function": begun}
                yield {"tool_calls": [{"index": len(self.calls), **call, "function": {**begun}}]}
                self.calls.append(call)
            case CallArguments(call_id, delta):
                index = next(at for at, call in enumerate(self.calls) if call["id"] == call_id)
                self.calls[index]["function"]["arguments"] += delta
                yield {"tool_calls": [{"index": index, "function": {"arguments": delta}}]}
            case Finished():
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

    def usage(self, brain: Brain, ask: Ask) -> dict[str, Any]:
        """As the brain counts; as it would where it was stopped before it told."""
        counted = self.finished or Finished(
            "stop", input_tokens=_size(brain, ask), output_tokens=brain.count(self.text)
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


def _size(brain: Brain, ask: Ask) -> int:
    texts = [ask.instructions]
    for turn in ask.turns:
        match turn:
            case Said(_, text) | Result(_, text):
                texts.append(text)
            case Call(_, name, arguments):
                texts += [name, arguments]
    return sum(map(brain.count, texts))


class Chat:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turns = Turns(AT_ONCE, WAITING)

    async def complete(self, request: Request) -> Response:
        self._engine.keys.whole(key_of(request))
        wanted = _wanted(parsed(await request.body()))
        ask, brain = _ask(wanted), self._engine.ready().brain
        made = _Completion(wanted, _Until(wanted.stops))
        if wanted.stream:
            return Streamed(self._chunks(made, brain, ask), EVENTS)
        await while_connected(request.receive, self._whole(made, brain, ask))
        choice = {"message": made.message, "finish_reason": made.reason}
        return answer(made.shown("chat.completion", choice, usage=made.usage(brain, ask)))

    async def _whole(self, made: _Completion, brain: Brain, ask: Ask) -> None:
        async with aclosing(self._deltas(made, brain, ask)) as deltas:
            async for _ in deltas:
                pass

    async def _deltas(
        self, made: _Completion, brain: Brain, ask: Ask
    ) -> AsyncGenerator[dict[str, Any], None]:
        async with self._turns.one(), aclosing(brain.answer(ask)) as pieces:
            async for piece in pieces:
                for delta in made.feed(piece):
                    yield delta
                if made.until.met or made.finished is not None:
                    return

    async def _chunks(
        self, made: _Completion, brain: Brain, ask: Ask
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
