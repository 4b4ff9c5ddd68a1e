"""What Pydantic says of a file, as a person reads it: line, key, what would be right and what is.

For `agent.yaml` and `intents.yaml` alike. Whoever reads a file says which keys it may have.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from vivavoce.runtime.agents.yaml_lines import YamlFile

Path = tuple[str | int, ...]
UNTOLD = "untold"
"""The type of an error whose value is not shown: it may be a secret."""


def keys_of(parts: Iterable[type[BaseModel]]) -> list[str]:
    """Every key of these parts of a file."""
    return sorted({key for part in parts for key in part.model_fields})


def explain(
    source: YamlFile, exc: ValidationError, keys: Collection[str], at: Path = ()
) -> list[str]:
    """One line a place; where every alternative failed, their reasons in one line.

    `at` is where in the file the value stands that was looked at.
    """
    told: dict[tuple[str, ...], list[Any]] = {}
    for error in exc.errors(include_url=False):
        told.setdefault(_key(source, (*at, *error["loc"]), keys), []).append(error)
    lines = [
        (source.line(key), ".".join(key) or "the file", _reasons(errors, keys))
        for key, errors in told.items()
        # A complaint about a part says more than one about the whole that it is in.
        if not any(other[: len(key)] == key for other in told if other != key)
    ]
    return [f"{source.path}:{line}: {key}: {reason}" for line, key, reason in sorted(lines)]


def complaint(source: YamlFile, at: Sequence[str | int], reason: str) -> str:
    """One of our own, in the same shape."""
    return f"{source.path}:{source.line(at)}: {'.'.join(map(str, at))}: {reason}"


def in_order(problems: Iterable[str]) -> list[str]:
    """As a reader meets them: by file and line."""

    def place(problem: str) -> tuple[str, int]:
        file, _, rest = problem.partition(":")
        number = rest.partition(":")[0]
        return file, int(number) if number.isdecimal() else 0

    return sorted(problems, key=place)


def _key(source: YamlFile, loc: Sequence[str | int], keys: Collection[str]) -> tuple[str, ...]:
    """The path as it is in the file, without Pydantic's names for alternatives."""
    value, parts = source.value, []
    for part in loc:
        inside = isinstance(value, list) and isinstance(part, int)
        if inside or (isinstance(value, dict) and part in value):
            value = value[part]
        elif not (isinstance(value, dict) and part in keys):
            continue
        parts.append(str(part))
    return tuple(parts)


def _reasons(errors: Sequence[Any], keys: Collection[str]) -> str:
    first = errors[0]
    match first["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            near = difflib.get_close_matches(str(first["loc"][-1]), keys, n=1)
            return "there is no such key" + did_you_mean(near)
    wanted = " or ".join(dict.fromkeys(map(_wanted, errors)))
    if any(error["type"] == UNTOLD for error in errors):
        return f"should {wanted}"
    return f"should {wanted}, and is {short(first['input'])}"


def did_you_mean(near: Sequence[str]) -> str:
    return f"; did you mean '{near[0]}'?" if near else ""


def _wanted(error: Any) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "string_pattern_mismatch":
            return f"match {context['pattern']}"
        case "literal_error":
            return f"be {context['expected']}"
        case "union_tag_invalid":
            return f"have as its type {context['expected_tags'].replace(', ', ' or ')}"
        case "union_tag_not_found":
            return "have a type, server_vad or semantic_vad"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "be keys and values"
        case "list_type":
            return "be a list"
        case _:
            said: str = error["msg"]
            for opening in ("Input should ", "String should ", "List should ", "Value error, "):
                said = said.removeprefix(opening)
            return said


def short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
