"""The intents of an agent, from its `intents.yaml`: by name, and as tools for the model.

Owns no words of any agent: the file says what there is to submit, what it takes and where it
goes (seed 004 §6.2). Everything wrong with it is told at once, each with its line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from vivavoce.errors import InvalidArguments
from vivavoce.intents.registry.definition import (
    Example,
    IntentDefinition,
    Parameter,
    Part,
    Value,
    payload_model,
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


_KEYS = keys_of(IntentDefinition, Parameter, Example, _Whole)


def _read(path: Path) -> tuple[IntentDefinition, ...]:
    """Raises `FileProblems` with all that is wrong. One intent's mistakes do not hide another's."""
    source = YamlFile(path)
    try:
        said = _Whole.model_validate(source.value).intents
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, _KEYS)) from None
    problems: list[str] = []
    definitions: list[IntentDefinition] = []
    first: dict[str, int] = {}
    for at, one in enumerate(said):
        definition, wrong = _intent(source, one, at)
        problems += wrong
        if definition is not None:
            definitions.append(definition)
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
        return None, explain(source, exc, _KEYS, ("intents", at))
    found = list(_intent_problems(intent.parameters)) or list(_example_problems(intent))
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
    if one.ask and one.required:
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


def _example_problems(intent: IntentDefinition) -> Iterator[Problem]:
    """An example that the intent itself would refuse teaches a mistake."""
    for at, one in enumerate(intent.examples):
        where = ("examples", at)
        if (one.said is None) == (one.talk is None):
            yield where, "should have either said or talk"
        elif one.talk is not None and len(one.talk) % 2 == 0:
            yield (*where, "talk"), "should begin and end with the user, in turns"
        try:
            checked = intent.check(one.arguments)
        except InvalidArguments as exc:
            yield (*where, "arguments"), _bare(exc)
        else:
            unlike = [k for k, v in one.arguments.items() if checked.get(k) != v]
            if unlike:
                yield (*where, "arguments", unlike[0]), "is not written as it would be submitted"


def _bare(exc: InvalidArguments) -> str:
    if missing := exc.details.get("missing_params"):
        return f"{', '.join(missing)} would be missing"
    return exc.message.split(": ", 1)[-1]
