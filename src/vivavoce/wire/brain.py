"""What a language model is asked, and what it answers: the one port of this room.

Knows nothing of audio, sessions or the Realtime protocol.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from vivavoce.wire.values import Value

_FORCED = "function:"

# --- The question -----------------------------------------------------------------


class Said(Value):
    """A message of the conversation. What the assistant said is what was heard of it."""

    role: Literal["system", "user", "assistant"]
    text: str


class Call(Value):
    """The model called a tool earlier; `arguments` is JSON as it was written."""

    call_id: str
    name: str
    arguments: str


class Result(Value):
    """What that call returned."""

    call_id: str
    output: str


Turn = Said | Call | Result


class Tool(Value):
    """A function the model may call; `parameters` is a JSON Schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None


class Ask(Value):
    """Everything a model sees for one answer."""

    instructions: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or `function:NAME` to force one."""
    max_tokens: int | None = None
    parallel_calls: bool = True
    live: str = ""
    """Whose live conversation this is: a brain with a memory keeps one warm for each. Empty for
    work in the background, which never pushes a live one out."""
    spoken: bool = True
    """Whether the answer is for the ear; what is read needs no rules for speech."""

    @property
    def forced(self) -> str | None:
        """The name of the one tool that must be called."""
        return (
            self.tool_choice.removeprefix(_FORCED) if self.tool_choice.startswith(_FORCED) else None
        )

    @property
    def demanded(self) -> bool:
        """Some call must be made."""
        return self.tool_choice == "required" or self.forced is not None


# --- The answer -------------------------------------------------------------------


class Words(Value):
    """The next piece of what is to be said or written."""

    text: str


class CallBegun(Value):
    call_id: str
    name: str


class CallArguments(Value):
    """The next piece of the arguments' JSON."""

    call_id: str
    delta: str


class CallEnded(Value):
    """The arguments are whole."""

    call_id: str


Awaited = Literal["yes_no", "time", "recurrence", "number", "name", "words"]
"""What the user was just asked for. `name`: one of their things, or a file; `words`: anything."""


class Finished(Value):
    """Always the last piece. `length`: cut at `max_tokens`."""

    reason: Literal["stop", "length", "content_filter"] = "stop"
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    awaits: Awaited | None = None
    """Where the answer asks for something of a known kind: a whole one ends the user's turn."""


Piece = Words | CallBegun | CallArguments | CallEnded | Finished


class Budget(Value):
    """How much a brain can read while somebody waits for it."""

    context_tokens: int = 8_000
    """Of one question, with instructions and tools."""
    result_chars: int = 4_000
    """Of one tool's result."""
    history_tokens: int | None = None
    """Of a talk that goes on in a new call, which is read before the first answer; None: as much
    as there is room for."""
    aside: Literal["any", "quiet", "never"] = "any"
    """When it may be asked beside the talk, for a summary: at any time, only while nobody talks
    here (it would take from them), or not at all."""


class Brain(Protocol):
    """Fills in an answer piece by piece."""

    @property
    def name(self) -> str: ...

    @property
    def budget(self) -> Budget: ...

    def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        """Closing the iterator stops the work. Raises `BrainError` when it cannot answer."""
        ...

    async def warm(self, ask: Ask) -> None:
        """A question that begins like this one is coming: read it beforehand, where that helps.

        Returns when it is read; cancelling stops soon, and keeps what is read.
        The last turn may be unfinished. Never raises for want of a model.
        """
        ...

    def forget(self, live: str) -> None:
        """That conversation is over: what is kept warm for it may go."""
        ...

    def count(self, text: str) -> int:
        """How many tokens a text is to this model; an estimate where it cannot tell."""
        ...


@runtime_checkable
class Weighing(Protocol):
    """A brain that knows how it writes down what stands before every talk."""

    def fixed(self, instructions: str, tools: Sequence[Tool]) -> int:
        """How many tokens instructions and tools are, as it reads them."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """A brain that keeps what it has read, on disk too."""

    async def clear(self) -> None:
        """What it read for anybody goes; who is talking now reads theirs anew."""
        ...
