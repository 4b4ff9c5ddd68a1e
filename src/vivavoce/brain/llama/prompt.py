"""The question as the model reads it, laid out for its memory and for haste. Pure.

What never changes comes first (how to answer, the tools, the instructions,
examples), then what is known today, then the talk: whatever was read once is a
prefix of what comes next. When the talk grows too long its oldest part goes,
in big steps, so that the rest stays a prefix for many turns.

The talk is lines, one a turn, in a single message of the model's own:

    > what time is it
    @current_time {}
    = 10:42
    It's ten forty-two.

Between the user's last word and the answer there is one token. The marks that
chat models have for it are five, and each takes as long as a word to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vivavoce.brain.llama.examples import described, examples, parted
from vivavoce.brain.llama.grammar import MARK
from vivavoce.brain.ports import Ask, Call, Result, Said, Tool, Turn
from vivavoce.errors import BrainError

Count = Callable[[str], int]

START, END = "<|im_start|>", "<|im_end|>"
_STEPS = 3
_SHORT_RESULT = 400
_CHANGING = 2_500
"""Letters."""

_PLAIN = (
    "You are a voice assistant. You answer each line of the user with one line: one or two short "
    "spoken sentences, plain words, no lists, no markup, no code."
)
_WITH_TOOLS = f"""{_PLAIN} You act through tools: {MARK}name and its arguments as JSON.

Tools:
"""
_LINES = "\n\nLines with > are the user's, with = what a tool returned, with # notes."
_REMINDER = (
    f"Asked for what a tool does, answer with {MARK} and its name at once: do not announce, "
    "explain or refuse. Greetings, feelings, words, people, common knowledge: answer in a "
    "short sentence, no tool."
)
_FOCUSED = (
    f"Go on in the same way: a short question for what is not said yet, {MARK} and the tool's name "
    "once all is said, and what was submitted told afterwards."
)
"""For an agent that brings its own talks, and so its own way with small talk."""

# Text from outside must not end a message or begin another.
_MARKUP = re.compile(r"<(?=\|)")
_STOPS = " .,!?;:…"
_MARKS = f">=#{MARK} "
"""What the lines of others begin with, and its own never."""


def prompt(ask: Ask, *, room: int, count: Count, finished: bool = True) -> str:
    """`room` is how many tokens it may have. Not `finished`: more may come in the last turn."""
    head = "".join(_head(ask))
    turns = _fitting(ask.turns, room - count(head), count)
    text = head + "".join(_rendered(turns))
    return text if finished else text.removesuffix("\n")


def _head(ask: Ask) -> Iterable[str]:
    """Examples come after the instructions, or a page of manners makes the model forget them; but
    before what changes from one conversation to the next, or they would be read each time."""
    lasting, changing = _parted(_safe(ask.instructions).strip())
    lasting, talks = parted(lasting)
    told = _PLAIN
    if ask.tools:
        told = _WITH_TOOLS + "\n".join(_line(signature(tool)) for tool in ask.tools)
    yield f"{START}system\n{told}{_LINES}\n\n{lasting}".rstrip() + f"{END}\n{START}assistant\n"
    yield from _rendered(examples(ask.tools, talks))
    reminder = [_FOCUSED if talks else _REMINDER] if ask.tools else []
    notes = ["A new talk begins.", *changing.splitlines(), *reminder]
    yield from (f"# {note.lstrip('# ')}\n" for note in notes if note.strip())


def _parted(instructions: str) -> tuple[str, str]:
    """What changes is told last, under a heading of its own, and is short."""
    at = instructions.rfind("\n## ")
    if at < 0 or len(instructions) - at > _CHANGING:
        return instructions, ""
    return instructions[:at].rstrip(), instructions[at:].strip()


# --- Tools --------------------------------------------------------------------------


def signature(tool: Tool) -> str:
    """`name(path, limit?: integer): what it does`: a fifth of the tokens of its schema."""
    schema = tool.parameters or {}
    required = set(schema.get("required", ()))
    parts = [
        _parameter(name, given if isinstance(given, Mapping) else {}, name in required)
        for name, given in (schema.get("properties") or {}).items()
    ]
    return f"{tool.name}({', '.join(parts)}): {described(tool)}"


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    kind = schema.get("type", "any")
    if isinstance(options := schema.get("enum"), Sequence):
        kind = "|".join(str(option) for option in options)
    said = f"{name}{'' if required else '?'}"
    said += "" if kind == "string" else f": {kind}"
    about = " ".join(str(schema.get("description", "")).split())
    return f"{said} ({about})" if about else said


# --- Turns --------------------------------------------------------------------------


def _rendered(turns: Iterable[Turn]) -> Iterable[str]:
    """What the assistant said and called in one answer is one line, as it wrote it."""
    writing = False
    for turn in turns:
        if writing and not isinstance(turn, Call):
            yield "\n"
            writing = False
        match turn:
            case Said("assistant", text):
                words = _line(text).lstrip(_MARKS)
                writing = bool(words)
                yield words
            case Said("user", text):
                # Without the stop at its end, which comes and goes while somebody speaks.
                yield f"> {_line(text).rstrip(_STOPS)}\n"
            case Said(_, text):
                yield f"# {_line(text)}\n"
            case Call(_, name, arguments):
                writing = True
                yield f"{MARK}{_line(name)} {_line(arguments)}"
            case Result(_, output):
                yield f"= {_line(output)}\n"
    if writing:
        yield "\n"


def _line(text: str) -> str:
    return " ".join(_safe(text).split())


def _safe(text: str) -> str:
    return _MARKUP.sub("< ", text)


# --- What fits ----------------------------------------------------------------------


def _fitting(turns: tuple[Turn, ...], room: int, count: Count) -> tuple[Turn, ...]:
    """The oldest go in steps of a third of the room, counted from the first turn ever: the same
    ones go at the next turn too, and what is left is still a prefix of what will be asked."""
    weights = [count(text) for text in _each(turns)]
    if sum(weights) <= room:
        return turns
    step = max(1, room // _STEPS)
    over = sum(weights) - room
    dropped = -(-over // step) * step
    kept = _from(turns, weights, dropped)
    if sum(count(text) for text in _each(kept)) <= room:
        return kept
    shortened = tuple(_shortened(turn) for turn in kept)
    if sum(count(text) for text in _each(shortened)) <= room:
        return shortened
    raise BrainError("That is more than this language model can read at once.")


def _from(turns: tuple[Turn, ...], weights: Sequence[int], dropped: int) -> tuple[Turn, ...]:
    """From the first thing the user said after `dropped` tokens, or the last that was said."""
    gone, last = 0, 0
    for index, (turn, weight) in enumerate(zip(turns, weights, strict=True)):
        if isinstance(turn, Said) and turn.role == "user":
            last = index
            if gone >= dropped:
                return turns[index:]
        gone += weight
    return turns[last:]


def _shortened(turn: Turn) -> Turn:
    if isinstance(turn, Result) and len(turn.output) > _SHORT_RESULT:
        return replace(turn, output=f"{turn.output[:_SHORT_RESULT]} … (cut)")
    return turn


def _each(turns: Iterable[Turn]) -> Iterable[str]:
    return ("".join(_rendered((turn,))) for turn in turns)
