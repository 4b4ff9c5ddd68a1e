"""What the model may write, made from the tools of a question, and what is made of it. Pure.

llama.cpp is built with llguidance: a Lark grammar in which JSON Schemas stand
as they are. So the arguments of a call are valid while they are written, and
words cost nothing extra: they come first, as they are, or not at all.

What it wrote is read as it comes, in arbitrary pieces: where the object of a call
ends is found by reading it as JSON is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vivavoce.errors import BrainError
from vivavoce.wire.brain import Ask, CallArguments, CallBegun, CallEnded, Piece, Tool, Words

MARK = "@"
"""What a call begins with, and words never hold. Plain text: the token that the Qwen family has for
it was never trained in its coding models, which then talk about their tools instead."""
_MAX_TEXT = 2_000
_DEPTH = 8
# What llguidance understands; the rest (`format`, `not`, `if`, …) is left to who checks the
# arguments afterwards, since a grammar that is refused would mean no answer at all.
_KEPT = frozenset(
    {"type", "enum", "const", "required", "minimum", "maximum", "exclusiveMinimum"}
    | {"exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
)
_SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
# A space shows that it is no "3.5", two small letters in front that it is no "Dr." or "J.".
_SENTENCE = re.compile(r"(?:[a-z0-9)%]{2}|[!?…])(?<!Mrs)(?<!Prof)(?<!etc)[.!?…]*(?=\s)(?<=[.!?…])")
_LOOP = 3
_SHORTEST_LOOP = 12
_LONGEST_LOOP = 200


def offered(ask: Ask) -> tuple[Tool, ...]:
    """The tools that may be called now. Raises `BrainError` where the choice cannot be obeyed."""
    if ask.tool_choice == "none":
        return ()
    if (wanted := ask.forced) is not None:
        tools = tuple(tool for tool in ask.tools if tool.name == wanted)
        if not tools:
            raise BrainError(f"There is no tool '{wanted}' to call.")
        return tools
    if ask.tool_choice == "required" and not ask.tools:
        raise BrainError("A call is required, and there is no tool to call.")
    return ask.tools


def grammar(ask: Ask) -> str:
    """The grammar of an answer."""
    # In one line: a bracket ends with it.
    choices = " | ".join(map(_call, offered(ask)))
    calls = "call+" if ask.parallel_calls else "call"
    start = (
        ["WORDS"]
        if not choices
        else [calls]
        if ask.demanded
        else ["WORDS", f"WORDS {calls}", calls]
    )
    rules = f'call: "{MARK}" ({choices})\n' if choices else ""
    either = f"({' | '.join(start)})" if len(start) > 1 else start[0]
    return f"%llguidance {{}}\nstart: {either} END\n{_WORDS}{rules}"


# Words are one line, never empty, and never look like a call, markup or code: none of it can be
# spoken, and a small model that cannot describe a call makes it.
_WORDS = "WORDS: /[^@<>{}`*#=\\s][^@<>{}`*#\\n\\r]*/\nEND: /\\n/\n"

PLAIN_WORDS = f"%llguidance {{}}\nstart: WORDS END?\n{_WORDS}"
"""Words alone."""


def _call(tool: Tool) -> str:
    schema = {**schema_of(tool), "x-guidance": _SPACING}
    return f"{json.dumps(tool.name + ' ')} %json {json.dumps(schema)}"


def schema_of(tool: Tool) -> dict[str, Any]:
    """The schema as far as a grammar can hold it: an object, with nothing it does not name."""
    given = tool.parameters or {}
    held = _held(given, given, _DEPTH)
    if cases := held.get("anyOf"):
        return {"anyOf": [_whole(case) for case in cases]}
    return _whole(held)


def _whole(held: dict[str, Any]) -> dict[str, Any]:
    if held.get("type") != "object":
        held = {"type": "object"}
    held.setdefault("properties", {})
    held["additionalProperties"] = False
    return held


def _held(schema: Any, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth <= 0:
        return {}
    if isinstance(reference := schema.get("$ref"), str):
        return _held(_resolved(reference, root), root, depth - 1)
    for either in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(either), Sequence) and options:
            return {"anyOf": [_held(option, root, depth - 1) for option in options]}
    if isinstance(parts := schema.get("allOf"), Sequence) and len(parts) == 1:
        return _held(parts[0], root, depth - 1)
    held = {key: value for key, value in schema.items() if key in _KEPT}
    kind = held.get("type")
    if kind == "string" and not held.keys() & {"enum", "const"}:
        # A string without an end is how a small model loops.
        held["maxLength"] = min(held.get("maxLength", _MAX_TEXT), _MAX_TEXT)
    if kind == "object" or "properties" in schema:
        _hold_object(held, schema, root, depth)
    if "items" in schema:
        held["items"] = _held(schema["items"], root, depth - 1)
    return held


def _hold_object(
    held: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> None:
    properties = schema.get("properties") or {}
    held["type"] = "object"
    held["properties"] = {name: _held(one, root, depth - 1) for name, one in properties.items()}
    held["required"] = [name for name in schema.get("required", ()) if name in properties]
    if properties or schema.get("additionalProperties") is False:
        held["additionalProperties"] = False


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """`#/$defs/Name`; what points elsewhere may be anything."""
    found: Any = root
    if not reference.startswith("#/"):
        return {}
    for step in reference[2:].split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~"), {})
        if not isinstance(found, Mapping):
            return {}
    return found


# --- Reading it


@dataclass
class Reading:
    """One answer being written. `new_call_id` names its calls."""

    new_call_id: Callable[[], str]
    sentences: int = 3
    """Small models do not know when to stop: so many are an answer."""
    calls: int = 0
    """How many are whole."""
    words: str = ""
    _held: str = ""
    _full: bool = False
    _call_id: str = ""
    _named: bool = False
    _object: _Object = field(default_factory=lambda: _Object())

    def feed(self, text: str) -> Iterator[Piece]:
        self._held += text
        while self._held:
            before = self._held
            yield from self._in_call() if self._call_id else self._in_words()
            if self._held == before:
                return

    @property
    def enough(self) -> bool:
        return not self._call_id and (self._full or self.looping)

    @property
    def looping(self) -> bool:
        """The same words three times over: it would go on for ever."""
        text = self.words
        for size in range(_SHORTEST_LOOP, min(_LONGEST_LOOP, len(text) // _LOOP) + 1):
            if text.endswith(text[-size:] * _LOOP) and text[-size:].strip():
                return True
        return False

    def _in_words(self) -> Iterator[Piece]:
        at = self._held.find(MARK)
        if at >= 0:
            yield from self._said(self._held[:at].rstrip())
            self._held = self._held[at + len(MARK) :]
            self._call_id, self._named, self._object = self.new_call_id(), False, _Object()
            return
        # White space waits: before a call, or at the end, nobody needs it.
        said = self._held.rstrip()
        self._held = self._held[len(said) :]
        yield from self._said(said)

    def _said(self, text: str) -> Iterator[Piece]:
        if text and not self.words:
            text = text.lstrip()
        if text and not self._full:
            text = self._within(text)
            self.words += text
            yield Words(text)

    def _within(self, text: str) -> str:
        """No more than an answer has sentences; what came with the last one is not said."""
        ends = [end.end() for end in _SENTENCE.finditer(self.words + text)]
        self._full = len(ends) >= self.sentences
        return text[: ends[self.sentences - 1] - len(self.words)] if self._full else text

    def _in_call(self) -> Iterator[Piece]:
        if not self._named:
            name, space, rest = self._held.partition(" ")
            if not space or not rest:
                return
            self._held, self._named = rest, True
            yield CallBegun(self._call_id, name)
        if size := self._object.feed(self._held):
            yield CallArguments(self._call_id, self._held[:size])
            self._held = self._held[size:]
        if self._object.whole:
            yield CallEnded(self._call_id)
            self._call_id = ""
            self.calls += 1


@dataclass
class _Object:
    """Finds the end of a JSON object."""

    whole: bool = False
    _depth: int = 0
    _quoted: bool = False
    _escaped: bool = False

    def feed(self, text: str) -> int:
        """How much of the text belongs to it."""
        for index, letter in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._escaped = letter == "\\"
                self._quoted = letter != '"'
            elif letter == '"':
                self._quoted = True
            elif letter in "{[":
                self._depth += 1
            elif letter in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self.whole = True
                    return index + 1
        return len(text)
