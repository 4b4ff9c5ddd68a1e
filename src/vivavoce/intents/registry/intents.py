"""The intents of an agent, from its `intents.yaml`: by name, and as tools for the model.

Owns no words of any agent: the file says what there is to submit, what it takes and where it
goes (seed 004 §6.2). Everything wrong with it is told at once, each with its line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from vivavoce.intents.registry.definition import (
    Example,
    IntentDefinition,
    Parameter,
    Part,
    Value,
    payload_model,
    placeholders,
)
from vivavoce.runtime.agents.yaml_file import (
    FileProblems,
    YamlFile,
    complaint,
    did_you_mean,
    explain,
    in_order,
    keys_of,
)
from vivavoce.runtime.ports import ToolDefinition

FILE = "intents.yaml"
AMEND = "amend_intent"
RETRACT = "retract_intent"
MOST_INTENTS = 64

Problem = tuple[tuple[str | int, ...], str]
"""A path within the intent, and what would be right."""

USER = "name"
"""In a question: the name to call them by."""
_OWN_WISHES = ("change", "undo")
_OF_WORDS = ("words", "time", "repeat", "place", "thing", "file", "text")

_ONLY_FOR = {
    "enum": ("string", "array"),
    "min_length": ("string", "array"),
    "max_length": ("string", "array"),
    "pattern": ("string", "array"),
    "minimum": ("integer", "number"),
    "maximum": ("integer", "number"),
}
_OF_TYPE: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (),
}


@dataclass(frozen=True, slots=True)
class IntentRegistry:
    """In the order of the file. An agent without one has none."""

    definitions: tuple[IntentDefinition, ...] = ()

    def get(self, name: str) -> IntentDefinition | None:
        return next((one for one in self.definitions if one.name == name), None)

    def tools(self) -> list[ToolDefinition]:
        """The intents as function tools; amending and retracting are the service's own."""
        return [one.tool() for one in self.definitions]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.definitions)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """What the agent has because of its intents: with any, what corrects them too."""
        return (*self.names, AMEND, RETRACT) if self.definitions else ()


def load_intents(folder: Path) -> IntentRegistry:
    """Of an agent's folder; none where it has no `intents.yaml`. Raises `FileProblems`."""
    path = folder / FILE
    if not path.exists() and not path.is_symlink():
        return IntentRegistry()
    return IntentRegistry(_read(path))


def check_routes(registry: IntentRegistry, folder: Path, routes: Collection[str] | None) -> None:
    """One that nobody acts on would always be refused. `routes` are those that are acted on here;
    None is all of them. Raises `FileProblems`."""

    def lost(route: str, routes: Collection[str]) -> str:
        near = did_you_mean(get_close_matches(route.upper(), routes, n=1))
        return f"nobody acts on '{route}': there is neither a handler for it nor a url{near}"

    _refuse(
        folder,
        (
            ((at, "route"), lost(one.route, routes))
            for at, one in enumerate(registry.definitions)
            if routes is not None and one.url is None and one.route not in routes
        ),
    )


def check_tools(registry: IntentRegistry, folder: Path, tools: Collection[str]) -> None:
    """One that is named like a tool could not be told from it. Raises `FileProblems`."""
    taken = [(at, name) for at, name in enumerate(registry.names) if name in tools]
    _refuse(folder, (((at, "name"), f"there is a tool '{name}' already") for at, name in taken))


def _refuse(folder: Path, found: Iterable[Problem]) -> None:
    if problems := list(found):
        source = YamlFile(folder / FILE)
        raise FileProblems(
            [complaint(source, ("intents", *where), reason) for where, reason in problems]
        )


# --- What the file may say ----------------------------------------------------------------


class _Whole(Part):
    intents: list[Any] = Field(max_length=MOST_INTENTS)


@cache
def _keys() -> list[str]:
    """Only who has to be told of a mistake needs them."""
    return keys_of(IntentDefinition, Parameter, Example, _Whole)


def _read(path: Path) -> tuple[IntentDefinition, ...]:
    """Raises `FileProblems` with all that is wrong. One intent's mistakes do not hide another's."""
    source = YamlFile(path)
    try:
        said = _Whole.model_validate(source.value).intents
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, _keys())) from None
    problems: list[str] = []
    definitions: list[IntentDefinition] = []
    first: dict[str, int] = {}
    wishes: dict[str, str] = {}
    for at, one in enumerate(said):
        definition, wrong = _intent(source, one, at)
        problems += wrong
        if definition is not None:
            definitions.append(definition)
            wish = definition.hint().wish
            if wishes.setdefault(wish, definition.name) != definition.name or wish in _OWN_WISHES:
                whose = wishes[wish] if wish not in _OWN_WISHES else "correcting"
                words = f"'{wish}' is the wish of '{whose}' already"
                problems.append(complaint(source, ("intents", at, "wish"), words))
        name = one.get("name") if isinstance(one, dict) else None
        if isinstance(name, str):
            problems += _taken(source, name, at, first)
    if problems:
        raise FileProblems(in_order(problems))
    return tuple(definitions)


def _intent(source: YamlFile, said: Any, at: int) -> tuple[IntentDefinition | None, list[str]]:
    try:
        intent = IntentDefinition.model_validate(said)
    except ValidationError as exc:
        return None, explain(source, exc, _keys(), ("intents", at))
    found = (
        list(_intent_problems(intent.parameters))
        or list(_hint_problems(intent))
        or list(_example_problems(intent))
    )
    return intent, [complaint(source, ("intents", at, *where), reason) for where, reason in found]


def _taken(source: YamlFile, name: str, at: int, first: dict[str, int]) -> list[str]:
    where = ("intents", at, "name")
    if name in (AMEND, RETRACT):
        return [complaint(source, where, f"'{name}' is the name of a tool of our own")]
    if name in first:
        line = source.line(("intents", first[name], "name"))
        return [complaint(source, where, f"'{name}' is taken by the intent in line {line}")]
    first[name] = at
    return []


# --- What has to be right between its keys -------------------------------------------------


def _intent_problems(parameters: Sequence[Parameter]) -> Iterator[Problem]:
    """Of the parameters of one intent."""
    seen: set[str] = set()
    for at, one in enumerate(parameters):
        if one.name in seen:
            yield ("parameters", at, "name"), f"'{one.name}' is there already"
        seen.add(one.name)
        for key, reason in (*_bounds(one), *_conditions(one, parameters)):
            yield ("parameters", at, *key), reason


def _bounds(one: Parameter) -> Iterator[Problem]:
    for key, types in _ONLY_FOR.items():
        if getattr(one, key) is not None and one.type not in types:
            yield (key,), f"is for {' and '.join(types)}, and '{one.name}' is {one.type}"
            return
    if one.enum and len(set(one.enum)) < len(one.enum):
        yield ("enum",), "has a value twice"
    if one.enum and one.type == "string" and (one.min_length or one.max_length or one.pattern):
        key = "pattern" if one.pattern else "min_length" if one.min_length else "max_length"
        yield (key,), "is not needed: the values of enum say it all"
    for low, high in (("min_length", "max_length"), ("minimum", "maximum")):
        least, most = getattr(one, low), getattr(one, high)
        if least is not None and most is not None and least > most:
            yield (low,), f"should be at most {high}, which is {most:g}, and is {least:g}"
    if one.max_length == 0:
        yield ("max_length",), "should be at least 1: with 0 there could be no value"
    if one.ask and one.required and not one.ask_unless:
        yield ("ask",), "is not needed: what is required is asked for anyway"
    if one.pattern is not None and not one.enum:
        try:
            payload_model("pattern", [one])
        except ValueError as exc:
            yield ("pattern",), f"should be a regular expression ({exc})"


def _conditions(one: Parameter, parameters: Sequence[Parameter]) -> Iterator[Problem]:
    if one.required and one.required_when:
        yield ("required_when",), "says nothing, since it is required always"
    known = {other.name: other for other in parameters}
    for name, values in one.conditions.items():
        where = ("required_when", name)
        if name == one.name:
            yield where, "should name another parameter"
        elif name not in known:
            near = get_close_matches(name, known, n=1)
            yield where, f"there is no parameter '{name}'{did_you_mean(near)}"
        elif not values:
            yield where, "should have a value"
        else:
            yield from ((where, words) for words in _never(known[name], values))


def _never(other: Parameter, values: Sequence[Value]) -> Iterator[str]:
    if other.type == "array":
        yield f"'{other.name}' is a list, which has no one value"
        return
    for value in values:
        if other.enum and value not in other.enum:
            there = ", ".join(f"'{one}'" for one in other.enum)
            yield f"'{other.name}' is never {value!r}; it is one of: {there}{_quote(value)}"
        elif not isinstance(value, _OF_TYPE[other.type]) or (
            isinstance(value, bool) and other.type != "boolean"
        ):
            yield f"'{other.name}' is {other.type}, and this is {value!r}{_quote(value)}"


def _quote(value: Value) -> str:
    """YAML takes on, off, yes and no for booleans."""
    return "; put it between quotation marks" if isinstance(value, bool) else ""


def _hint_problems(intent: IntentDefinition) -> Iterator[Problem]:
    """What a led brain would be told wrong."""
    if intent.does == "tell" and intent.url:
        yield ("url",), "is not for an intent that only tells: nothing is sent"
    slots: dict[str, str] = {}
    known = {one.name: one for one in intent.parameters}
    for at, one in enumerate(intent.parameters):
        where = ("parameters", at)
        if one.slot is not False and slots.setdefault(one.said, one.name) != one.name:
            yield (*where, "slot"), f"'{one.said}' is what '{slots[one.said]}' is called already"
        for key, reason in (*_slot_problems(one), *_named(one, known)):
            yield (*where, *key), reason
    names = {*known, *slots, USER}
    for at, one in enumerate(intent.parameters):
        for number, question in enumerate(one.questions):
            for name in placeholders(question):
                if name not in names:
                    near = did_you_mean(get_close_matches(name, names, n=1))
                    path = ("parameters", at, "questions", number)
                    yield path, f"there is no '{{{name}}}' to be filled in{near}"


def _slot_problems(one: Parameter) -> Iterator[Problem]:
    if one.kind in _OF_WORDS and one.type != "string":
        yield ("kind",), f"'{one.kind}' is for strings, and '{one.name}' is {one.type}"
    for key in ("of", "many"):
        if getattr(one, key) and one.sort != "thing":
            yield (key,), "is for a parameter of the kind 'thing'"
    for value in one.called:
        if value not in (one.enum or ()):
            near = did_you_mean(get_close_matches(value, one.enum or (), n=1))
            yield ("called", value), f"'{value}' is no value of its enum{near}"
    if one.slot is False:
        idle = [key for key in ("questions", "ask", "called", "derived") if getattr(one, key)]
        yield from (((key,), "says nothing, since slot is false") for key in idle)
    if one.ask_unless and one.ask != "until_said":
        yield ("ask_unless",), "is for what is asked for 'until_said'"
    if one.derived and one.questions:
        yield ("questions",), "are not asked: it is derived"


def _named(one: Parameter, known: Mapping[str, Parameter]) -> Iterator[Problem]:
    """Other parameters, by name."""
    places: list[tuple[tuple[str | int, ...], str]] = [
        *((("derived", name), name) for name in one.derived),
        *((("ask_unless", at), name) for at, name in enumerate(one.ask_unless)),
    ]
    for where, name in places:
        if name == one.name:
            yield where, "should name another parameter"
        elif name not in known:
            near = did_you_mean(get_close_matches(name, known, n=1))
            yield where, f"there is no parameter '{name}'{near}"
    for name, value in one.derived.items():
        yield from ((("derived", name), words) for words in _never(one, [value]))


def _example_problems(intent: IntentDefinition) -> Iterator[Problem]:
    """An example that says what nobody said teaches to make things up."""
    slots = [one.said for one in intent.parameters if one.slot is not False and not one.derived]
    for at, one in enumerate(intent.examples):
        for name, words in one.slots.items():
            where = ("examples", at, "slots", name)
            if name not in slots:
                near = did_you_mean(get_close_matches(name, slots, n=1))
                yield where, f"there is no slot '{name}'{near}"
            elif words.casefold() not in one.said.casefold():
                yield where, "should be words of what was said"
