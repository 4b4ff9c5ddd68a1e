"""What has to be right between the keys of `intents.yaml`: bounds, conditions, examples. Pure.

A problem is a path within the intent and what would be right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from vivavoce.errors import InvalidArguments
from vivavoce.intents.registry.intent import IntentDefinition, Parameter, Value
from vivavoce.intents.registry.model import payload_model
from vivavoce.runtime.agents.explain import did_you_mean

Where = tuple[str | int, ...]
Problem = tuple[Where, str]

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


def intent_problems(parameters: Sequence[Parameter]) -> Iterator[Problem]:
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
        if getattr(one, key) not in (None, ()) and one.type not in types:
            yield (key,), f"is for {' and '.join(types)}, and '{one.name}' is {one.type}"
            return
    if len(set(one.enum)) < len(one.enum):
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
    for name, values in one.required_when.items():
        where = ("required_when", name)
        if name == one.name:
            yield where, "should name another parameter"
        elif name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            yield where, f"there is no parameter '{name}'{did_you_mean(near)}"
        elif not values:
            yield where, "should have a value"
        else:
            yield from ((where, words) for words in _values(known[name], values))


def _values(other: Parameter, values: Sequence[Value]) -> Iterator[str]:
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


def example_problems(
    intent: IntentDefinition, talks: Sequence[tuple[str | None, Sequence[str] | None]]
) -> Iterator[Problem]:
    """An example that the intent itself would refuse teaches a mistake."""
    for at, (said, talk) in enumerate(talks):
        where = ("examples", at)
        if (said is None) == (talk is None):
            yield where, "should have either said or talk"
        elif talk is not None and len(talk) % 2 == 0:
            yield (*where, "talk"), "should begin and end with the user, in turns"
        try:
            checked = intent.check(intent.examples[at].arguments)
        except InvalidArguments as exc:
            yield (*where, "arguments"), _bare(exc)
        else:
            unlike = [k for k, v in intent.examples[at].arguments.items() if checked.get(k) != v]
            if unlike:
                yield (*where, "arguments", unlike[0]), "is not written as it would be submitted"


def _bare(exc: InvalidArguments) -> str:
    if missing := exc.details.get("missing_params"):
        return f"{', '.join(missing)} would be missing"
    return exc.message.split(": ", 1)[-1]
