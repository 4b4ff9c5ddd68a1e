"""Ids in a question: short for the model, whole for everybody else. Pure.

An id of 36 letters is 25 tokens: a third of a second to read and a whole one to
write, and a small model gets it wrong. So what stands as `(id: …)` in what is
known today, or comes back as an id from a tool, has a name made of the words
beside it; what the model writes is turned back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vivavoce.wire.brain import Ask, Call, CallArguments, CallEnded, Piece, Result, Turn
from vivavoce.wire.values import Value

_LISTED = re.compile(r"([^\n;(]{0,200})\(id: ([\w.:-]{1,64})\)")
_RETURNED = re.compile(r'"(?:\w{1,32}_)?id"\s*:\s*"([\w.:-]{1,64})"')
_LONG = 20
_MOST = 50
_WORDS = 3
_SMALL = frozenset(["the", "and", "for", "with", "today", "task", "tasks", "due", "this", "about"])
_PARAMETER = re.compile(r"(?:^|_)id$")


class Listed(Value):
    id: str
    about: str
    """The words beside it."""


@dataclass
class Names:
    """Short names and the ids they stand for."""

    ids: Mapping[str, str]
    _held: dict[str, str] = field(default_factory=dict)

    def feed(self, piece: Piece) -> Iterator[Piece]:
        """The same answer with whole ids. Arguments wait until they are whole themselves."""
        match piece:
            case CallArguments(call_id, delta) if self.ids:
                self._held[call_id] = self._held.get(call_id, "") + delta
            case CallEnded(call_id) if call_id in self._held:
                yield CallArguments(call_id, self.whole(self._held.pop(call_id)))
                yield piece
            case _:
                yield piece

    def whole(self, arguments: str) -> str:
        try:
            given = json.loads(arguments)
        except ValueError:
            return arguments
        if not isinstance(given, dict):
            return arguments
        for key, value in given.items():
            if isinstance(value, str) and is_id(key):
                given[key] = self.ids.get(value, value)
        return json.dumps(given, ensure_ascii=False)


def is_id(parameter: str) -> bool:
    return _PARAMETER.search(parameter) is not None


def shortened(ask: Ask) -> tuple[Ask, Names]:
    """The question with short names in place of long ids."""
    names: dict[str, str] = {}
    for one in listed(ask):
        if len(one.id) > _LONG and one.id not in names.values():
            names[_name(one.about, names)] = one.id
    if not names:
        return ask, Names({})
    short = {whole: name for name, whole in names.items()}
    pattern = re.compile("|".join(map(re.escape, sorted(short, key=len, reverse=True))))

    def cut(text: str) -> str:
        return pattern.sub(lambda found: short[found.group()], text)

    turns = tuple(_cut(turn, cut) for turn in ask.turns)
    return replace(ask, instructions=cut(ask.instructions), turns=turns), Names(names)


def listed(ask: Ask) -> list[Listed]:
    """All the ids the model may know of, in the order in which they came up."""
    found: dict[str, Listed] = {}
    today = ask.instructions[max(ask.instructions.rfind("\n## "), 0) :]
    for match in _LISTED.finditer(today):
        found.setdefault(match[2], Listed(match[2], match[1].rpartition(": ")[2]))
    calls = {turn.call_id: turn.arguments for turn in ask.turns if isinstance(turn, Call)}
    for turn in ask.turns:
        if isinstance(turn, Result):
            for match in _RETURNED.finditer(turn.output[:4_000]):
                about = _values(calls.get(turn.call_id, ""))
                found.setdefault(match[1], Listed(match[1], about))
    return list(found.values())[:_MOST]


def _values(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    values = given.values() if isinstance(given, dict) else ()
    return " ".join(value for value in values if isinstance(value, str))[:200]


def _name(about: str, taken: Mapping[str, str]) -> str:
    words = [w for w in re.findall(r"[a-z]{2,}", about.lower()) if w not in _SMALL]
    name = "-".join([w for w in words if w not in ("am", "pm", "at")][:_WORDS]) or "item"
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, _MOST + 3) if f"{name}-{n}" not in taken)


def _cut(turn: Turn, cut: Callable[[str], str]) -> Turn:
    match turn:
        case Call(call_id, name, arguments):
            return Call(call_id, name, cut(arguments))
        case Result(call_id, output):
            return Result(call_id, cut(output))
    return turn
