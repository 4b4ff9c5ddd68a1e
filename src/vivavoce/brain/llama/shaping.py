"""What a call may look like now, by what the user has said so far. Pure.

A value that is the user's to say (`unsaid`) can be written only when they said
one of its kind; an id only when it is there and what they speak of can be it.
Where something required is unsaid the tool can still be chosen, and what follows
is not arguments but a question for it: the model says what was meant, and the
grammar what is missing. So nothing is made up, and nothing is taken for another
tool because the right one was not on offer.

A tool that corrects says so with a line of its own (`AFTER`), and is offered once
there is something to correct.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vivavoce.brain.llama.ids import is_id, listed, mentioned, wants_id
from vivavoce.brain.llama.unsaid import (
    Evidence,
    Told,
    answered,
    corrected,
    dismissed,
    evidence,
    failed,
    questions,
    recent,
    told,
)
from vivavoce.brain.ports import Ask, Result, Said, Tool, Turn

OWN_WORDS = "x-own-words"
"""In a schema: a pattern of ours that a grammar can hold, other than those of tools."""
AFTER = "Only after another tool has done something."


@dataclass(frozen=True, slots=True)
class Shape:
    """Arguments by this schema, or a question for that parameter."""

    tool: Tool
    missing: str | None = None
    question: str = ""
    """Word for word, where the tool brings it; else the model finds the words."""


def shapes(ask: Ask, tools: Sequence[Tool]) -> tuple[Shape, ...]:
    """Of each tool that may be called."""
    if ask.tool_choice == "auto" and not _done(ask):
        tools = [tool for tool in tools if not _corrects(tool)]
    if not any(map(held, tools)):
        return tuple(map(Shape, tools))
    if ask.tool_choice == "auto" and not any(_by_user(turn) for turn in ask.turns):
        # A greeting: nobody has wished for anything that could be asked about.
        return tuple(Shape(tool) for tool in tools if not held(tool))
    if ask.tool_choice == "auto" and not listed(ask):
        # Nothing that it could be about: a small model takes it for its neighbour.
        tools = [tool for tool in tools if not (held(tool) and wants_id(tool))]
    turns = recent(ask.turns)
    if ask.tool_choice == "auto" and dismissed(ask.turns):
        # Right after something was done it may be that; else it is what was being asked for.
        return tuple(Shape(tool) for tool in tools if _corrects(tool) and _just_done(ask))
    said = evidence(ask.turns, ask.tools)
    if ask.tool_choice == "auto":
        tools = _meant(ask, tools) or _with_room(tools, said)
    ids = mentioned(ask, turns) if any(map(wants_id, tools)) else ()
    must = ask.tool_choice != "auto"
    return tuple(_shape(tool, said, ids, must) if held(tool) else Shape(tool) for tool in tools)


def _by_user(turn: Turn) -> bool:
    return isinstance(turn, Said) and turn.role == "user"


def _just_done(ask: Ask) -> bool:
    return any(isinstance(turn, Result) and not failed(turn.output) for turn in ask.turns[-3:])


def _corrects(tool: Tool) -> bool:
    return AFTER in tool.description.splitlines()


def _meant(ask: Ask, tools: Sequence[Tool]) -> Sequence[Tool]:
    """A correction is for a tool that corrects, an answer for the one that asked. Or nobody."""
    corrections = [tool for tool in tools if _corrects(tool)]
    if corrections and corrected(ask.turns):
        return corrections
    asking = answered(ask.turns, tools)
    return () if asking is None else (asking, *corrections)


def _with_room(tools: Sequence[Tool], said: Evidence) -> Sequence[Tool]:
    """A repetition is nothing for a tool that cannot take one, if another can."""
    if "repeat" not in said.said:
        return tools
    fit = [tool for tool in tools if not held(tool) or "repeat" in {o.kind for o in told(tool)}]
    return fit if any(map(held, fit)) else tools


def _done(ask: Ask) -> bool:
    return any(isinstance(turn, Result) and not failed(turn.output) for turn in ask.turns)


def held(tool: Tool) -> bool:
    """Is anything of it the user's to say? Tools that do not say so are left alone."""
    return bool(told(tool))


def _shape(tool: Tool, said: Evidence, ids: Sequence[str], must: bool) -> Shape:
    own = told(tool)
    missing = _missing(tool, own, said, ids)
    if missing and not must:
        return Shape(tool, missing, questions(tool).get(missing, ""))
    schema = dict(tool.parameters or {})
    properties = dict(schema.get("properties") or {})
    for one in own:
        if one.kind not in said.said and not must:
            properties.pop(one.name, None)
        elif one.name in properties and said.words and not must:
            properties[one.name] = {"type": "string", OWN_WORDS: said.words}
    for name in properties:
        if ids and is_id(name):
            properties[name] = {"type": "string", "enum": list(ids)}
    schema["properties"] = properties
    schema["required"] = _required(schema, own, said, must)
    return Shape(replace(tool, parameters=_cases(schema, own, said, must)))


def _required(
    schema: Mapping[str, Any], own: Sequence[Told], said: Evidence, must: bool
) -> list[str]:
    """What was said is not left out: "every Tuesday" is no "Tuesday"."""
    heard = [one.name for one in own if not one.when and one.kind in said.said and not must]
    return [*dict.fromkeys([*schema.get("required", ()), *heard])]


def _missing(tool: Tool, own: Sequence[Told], said: Evidence, ids: Sequence[str]) -> str | None:
    """What to ask for first: what it is about, then what is required, then what is worth it."""
    if (wanted := wants_id(tool)) and not ids:
        return wanted
    required = set((tool.parameters or {}).get("required") or ())
    unsaid = [one for one in own if one.kind not in said.said]
    for one in unsaid:
        if one.name in required or (one.asked and one.kind not in said.asked | {"repeat"}):
            return one.name
    cases = [one for one in own if one.when]
    if cases and all(one in unsaid for one in cases):
        return cases[0].name
    open_ = (one.name for one in own if one.asked and one.kind in said.vague - said.asked)
    return next(open_, None)


def _cases(
    schema: dict[str, Any], own: Sequence[Told], said: Evidence, must: bool
) -> Mapping[str, Any]:
    """One schema for each value that something depends on: a grammar knows no `if`."""
    cases = [one for one in own if one.when]
    names = {one.when[0] for one in cases if one.when}
    if len(names) != 1 or must:
        return schema
    (by,) = names
    options: list[dict[str, Any]] = []
    for one in cases:
        if one.kind in said.said and one.when:
            others = {other.name for other in cases if other is not one}
            kept = {n: p for n, p in schema["properties"].items() if n not in others}
            kept[by] = {"const": one.when[1]}
            required = [*dict.fromkeys([*schema.get("required", ()), one.name])]
            options.append({"type": "object", "properties": kept, "required": required})
    return options[0] if len(options) == 1 else {"anyOf": options}
