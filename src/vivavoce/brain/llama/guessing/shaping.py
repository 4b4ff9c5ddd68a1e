"""Which tools may be called now, and what a call may look like, by what was said so far. Pure.

A small model mixes up "pull up notes.txt" and "read python.org", and looks for
files where text in them was meant. What was named is plain from its form, and
whether a tool takes a file or an address from the names of what it requires; of
tools that take the same, the one whose examples sound clearly more like it is
meant. What cannot be meant is not offered. Where nothing is clear, all stay.

A value that is the user's to say (`descriptions`) can be written only when they said
one of its kind; an id only when it is there and what they speak of can be it.
Where something required is unsaid the tool can still be chosen, and what follows
is not arguments but a question for it: the model says what was meant, and the
grammar what is missing. So nothing is made up, and nothing is taken for another
tool because the right one was not on offer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from vivavoce.brain.llama.guessing.descriptions import Told, corrects, held, questions, spoken, told
from vivavoce.brain.llama.guessing.evidence import (
    Evidence,
    answered,
    corrected,
    dismissed,
    evidence,
    failed,
    recent,
)
from vivavoce.brain.llama.guessing.ids import is_id, listed, mentioned, wants_id
from vivavoce.wire.brain import Ask, Result, Said, Tool, Turn
from vivavoce.wire.values import Value

OWN_WORDS = "x-own-words"
"""In a schema: a pattern of ours that a grammar can hold, other than those of tools."""
_ADDRESS = re.compile(
    r"https?://\S+|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|gov|edu|ai|app|info|eu|de|uk)\b(?:/\S*)?",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\b[\w-]+\.(?:py|pyi|ipynb|jsx?|tsx?|mjs|json|ya?ml|toml|ini|cfg|conf|env|txt|md|rst|csv|log|"
    r"css|scss|html?|xml|svg|png|jpe?g|sql|sh|rs|go|rb|php|java|kt|swift|cs?|cpp|hpp?|lock|pdf)\b",
    re.IGNORECASE,
)
_FILES, _ADDRESSES = frozenset({"path", "pattern", "file_path"}), frozenset({"url", "uri"})
_SEARCHES = frozenset({"query"})
_CLEAR = 0.25
"""By how much an example must be nearer; measured on requests for glob and grep."""
_COMMON = frozenset(["the", "a", "an", "in", "is", "of", "to", "for", "there", "are", "we", "do"])
_ASIDE = frozenset(["please", "me", "i", "you", "can", "our"])


# --- Which tools can be meant


def fitting(ask: Ask) -> Ask:
    """The question with only those tools that what was said leaves possible."""
    if ask.tool_choice not in ("auto", "required") or not ask.turns:
        return ask
    last = ask.turns[-1]
    if not isinstance(last, Said) or last.role != "user":
        return ask
    addressed = _ADDRESS.search(last.text) is not None
    filed = _FILE.search(_ADDRESS.sub(" ", last.text)) is not None
    if addressed != filed:
        ask = without_files(ask) if addressed else without_addresses(ask)
    return _nearer(ask, last.text)


def variants(ask: Ask) -> Iterator[Ask]:
    """Every set of tools that `fitting` may leave."""
    for left in (ask, without_files(ask), without_addresses(ask)):
        yield left
        for one, other in pairwise(_alike(left.tools)):
            yield _but(left, one)
            yield _but(left, other)


def without_files(ask: Ask) -> Ask:
    return _without(ask, _FILES, _ADDRESSES)


def without_addresses(ask: Ask) -> Ask:
    return _without(ask, _ADDRESSES, _FILES)


def _nearer(ask: Ask, words: str) -> Ask:
    for one, other in pairwise(_alike(ask.tools)):
        first, second = _likeness(words, one), _likeness(words, other)
        if abs(first - second) > _CLEAR:
            return _but(ask, other if first > second else one)
    return ask


def _alike(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Two tools that look for a pattern, and show by examples for which."""
    found = tuple(t for t in tools if _requires(t) == {"pattern"} and spoken(t))
    return found if len(found) == 2 else ()


def _likeness(words: str, tool: Tool) -> float:
    said = _parts(words)
    shares = (len(said & parts) / len(parts) ** 0.5 for parts in map(_parts, spoken(tool)) if parts)
    return max(shares, default=0.0)


@lru_cache(maxsize=512)
def _parts(text: str) -> frozenset[str]:
    """Its words but the commonest, and its pairs of neighbours."""
    words = re.findall(r"[a-z]+", text.lower())
    pairs = (" ".join(pair) for pair in pairwise(words))
    return frozenset(w for w in words if w not in _COMMON | _ASIDE) | frozenset(pairs)


def _but(ask: Ask, without: Tool) -> Ask:
    return replace(ask, tools=tuple(tool for tool in ask.tools if tool is not without))


def _without(ask: Ask, names: frozenset[str], others: frozenset[str]) -> Ask:
    """Without the tools that need one of these, if there are some that need one of the others."""
    if not any(_needs(tool, others) for tool in ask.tools):
        return ask
    unmeant = names | _SEARCHES
    return replace(ask, tools=tuple(tool for tool in ask.tools if not _needs(tool, unmeant)))


def _needs(tool: Tool, names: frozenset[str]) -> bool:
    return not names.isdisjoint(_requires(tool))


def _requires(tool: Tool) -> set[str]:
    required = (tool.parameters or {}).get("required", ())
    return set(map(str, required)) if isinstance(required, Iterable) else set()


# --- What a call may look like


class Shape(Value):
    """Arguments by this schema, or a question for that parameter."""

    tool: Tool
    missing: str | None = None
    question: str = ""
    """Word for word, where the tool brings it; else the model finds the words."""


def shapes(ask: Ask, tools: Sequence[Tool]) -> tuple[Shape, ...]:
    """Of each tool that may be called."""
    if ask.tool_choice == "auto" and not _done(ask.turns):
        tools = [tool for tool in tools if not corrects(tool)]
    if not any(map(held, tools)):
        return tuple(map(Shape, tools))
    by_user = (turn for turn in ask.turns if isinstance(turn, Said) and turn.role == "user")
    if ask.tool_choice == "auto" and not any(by_user):
        # A greeting: nobody has wished for anything that could be asked about.
        return tuple(Shape(tool) for tool in tools if not held(tool))
    if ask.tool_choice == "auto" and not listed(ask):
        # Nothing that it could be about: a small model takes it for its neighbour.
        tools = [tool for tool in tools if not (held(tool) and wants_id(tool))]
    turns = recent(ask.turns)
    if ask.tool_choice == "auto" and dismissed(ask.turns):
        # Right after something was done it may be that; else it is what was being asked for.
        return tuple(Shape(tool) for tool in tools if corrects(tool) and _done(ask.turns[-3:]))
    said = evidence(ask.turns, ask.tools)
    if ask.tool_choice == "auto":
        tools = _meant(ask, tools) or _with_room(tools, said)
    ids = mentioned(ask, turns) if any(map(wants_id, tools)) else ()
    must = ask.tool_choice != "auto"
    return tuple(_shape(tool, said, ids, must) if held(tool) else Shape(tool) for tool in tools)


def _meant(ask: Ask, tools: Sequence[Tool]) -> Sequence[Tool]:
    """A correction is for a tool that corrects, an answer for the one that asked. Or nobody."""
    corrections = [tool for tool in tools if corrects(tool)]
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


def _done(turns: Sequence[Turn]) -> bool:
    return any(isinstance(turn, Result) and not failed(turn.output) for turn in turns)


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
    # What was said is not left out: "every Tuesday" is no "Tuesday".
    heard = [one.name for one in own if not one.when and one.kind in said.said and not must]
    schema["required"] = [*dict.fromkeys([*schema.get("required", ()), *heard])]
    return Shape(replace(tool, parameters=_cases(schema, own, said, must)))


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
