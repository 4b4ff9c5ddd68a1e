"""What a tool's description says to a small model, besides what the tool does. Pure.

Examples of its use, one a line; of those with a question in them, the talk:

    Example: "What changed in git?" {"command": "git diff"}
    Example: "Set an alarm." > "For when?" > "For six." {"at": "six"}

Which of its parameters are the user's to say, since a small model that may write a
time writes one, whether or not anybody named it:

    From the user's words: due (time, if kind is timed); spot (place, if kind is placed);
    until (time, asked for); rule (repeat)

`if` is when it is required; `asked for` is worth one question though it is not (of a
repetition: where it leaves the days open). How it is asked for may stand in a line of
its own, and is then said word for word:

    Ask for due: "Sure! When should it be?"

And that it corrects what others did (`AFTER`): it is offered once there is something
to correct.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from vivavoce.wire.brain import Tool
from vivavoce.wire.values import Value

_EXAMPLE = 'Example: "'
NEXT = re.compile('" (?:> )?"')
EACH = 6
_LONGEST = 500
"""Letters of one. Descriptions come from anywhere."""
_UNSAID = "From the user's words: "
_ITEM = re.compile(r"(\w{1,64}) \((\w{1,32})(?:, (?:(asked for)|if (\w{1,64}) is (\w{1,64})))?\)")
_ASK = "Ask for "
_QUESTION = re.compile(rf'{_ASK}(\w{{1,64}}): "([A-Z][^@<>{{}}`*#?_"]{{3,150}}\?)"')
_LONGEST_RULE = 600
AFTER = "Only after another tool has done something."


class Told(Value):
    """A parameter that is the user's to say."""

    name: str
    kind: str
    asked: bool = False
    when: tuple[str, str] | None = None
    """Required where that parameter has that value."""


def told(tool: Tool) -> tuple[Told, ...]:
    """As its description says; nothing where it says nothing."""
    return _told(tool.description) if _UNSAID in tool.description else ()


@lru_cache(maxsize=64)
def _told(description: str) -> tuple[Told, ...]:
    lines = description.splitlines()
    line = next((one for one in lines if one.startswith(_UNSAID)), "").removeprefix(_UNSAID)
    found = _ITEM.finditer(line[:_LONGEST_RULE])
    return tuple(
        Told(m[1], m[2], bool(m[3]), (m[4], m[5]) if m[4] and m[5] else None) for m in found
    )


def held(tool: Tool) -> bool:
    """Is anything of it the user's to say? Tools that do not say so are left alone."""
    return bool(told(tool))


def questions(tool: Tool) -> dict[str, str]:
    """How each of its parameters is asked for, where it says so."""
    lines = (line for line in tool.description.splitlines() if len(line) < _LONGEST_RULE)
    return {found[1]: found[2] for found in map(_QUESTION.fullmatch, lines) if found}


def corrects(tool: Tool) -> bool:
    return AFTER in tool.description.splitlines()


def described(tool: Tool) -> str:
    """What it does, without the examples and what is meant for grammars."""
    lines = tool.description.splitlines()
    told = (line for line in lines if not (_example(line) or line.startswith((_UNSAID, _ASK))))
    return " ".join(" ".join(told).split())


def spoken(tool: Tool) -> tuple[str, ...]:
    """What people say when they want it, by its examples."""
    return tuple(NEXT.split(said, 1)[0] for said, _, _ in islice(uses(tool), EACH))


def uses(tool: Tool) -> Iterator[tuple[str, str, str]]:
    """Its examples: what is said, the arguments, and what is said when it is done, if anything."""
    for line in tool.description.splitlines():
        example = _example(line)
        if example and len(line) <= _LONGEST and _is_json(example[1]):
            yield example


def _example(line: str) -> tuple[str, str, str] | None:
    """What is said, the arguments, and what is said when it is done, if anything. No pattern: the
    worst line must not cost more than others."""
    line, answer = line.rstrip(), ""
    if line.startswith(_EXAMPLE) and line.endswith('"'):
        line, _, answer = line.removesuffix('"').rpartition(' "')
    if not (line.startswith(_EXAMPLE) and line.endswith("}")):
        return None
    said, found, rest = line.removeprefix(_EXAMPLE).partition('" {')
    return (said, "{" + rest, answer) if found and said.strip() else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
