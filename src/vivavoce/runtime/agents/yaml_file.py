"""YAML that knows its lines, so that an error can say where it is.

Owns reading a file, refusing what YAML itself would pass over (a key written
twice), finding the line of a path within it, and telling what Pydantic found: line, key,
what would be right and what is. What the keys mean is for others to say.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

MAX_BYTES = 1024 * 1024
MAX_NODES = 100_000
"""Values in a file, an alias counted as all it stands for: a few lines can mean billions."""
MAX_DEPTH = 2_000
"""Levels; the quick parser has no limit of its own, and falls over with the whole process."""
Place = tuple[str | int, ...]
UNTOLD = "untold"
"""The type of an error whose value is not shown: it may be a secret."""


class FileProblems(Exception):
    """What is wrong with a file, each line with its place: `agent.yaml:12: …`."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class YamlFile:
    """A mapping read from a file, and where each part of it stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = read_text(path)
        try:
            loader, self._root = _composed(text)
            if self._root is not None and _weight(self._root, {}) > MAX_NODES:
                raise FileProblems([f"{path}:1: there is too much in this file"])
            self.value: Any = self._root and loader.construct_document(self._root)
        except RecursionError:
            raise FileProblems([f"{path}:1: it is nested too deeply"]) from None
        except ValueError as exc:  # a scalar that looks like a date and is none
            raise FileProblems([f"{path}:1: {exc}"]) from None
        except yaml.YAMLError as exc:
            mark = getattr(exc, "problem_mark", None)
            line = mark.line + 1 if mark is not None else 1
            reason = getattr(exc, "problem", None) or "this is not YAML"
            raise FileProblems([f"{path}:{line}: {reason}"]) from None
        twice = list(_repeated(self._root)) if self._root is not None else []
        if twice:
            raise FileProblems([f"{path}:{line}: '{key}' is written twice" for key, line in twice])
        if not isinstance(self.value, dict):
            raise FileProblems([f"{path}:1: there should be keys and values here"])

    def line(self, path: Sequence[str | int]) -> int:
        """Of the deepest part of the path that is there."""
        node, line = self._root, 1
        for part in path:
            step = _step(node, part)
            if step is None:
                break
            node, line = step
        return line


def _composed(text: str) -> tuple[Any, yaml.Node | None]:
    """What is written, by the quick parser; what that refuses, by the one that tells why."""
    quick = getattr(yaml, "CSafeLoader", None)  # not in every build of PyYAML
    if quick is not None and _deepest(text) <= MAX_DEPTH:
        with contextlib.suppress(yaml.YAMLError):
            loader = quick(text)
            return loader, loader.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _deepest(text: str) -> int:
    """No part of it is nested deeper than this: each level has a bracket, or stands further in."""
    margins = (len(line) - len(line.lstrip(" -?:")) for line in text.splitlines())
    return text.count("[") + text.count("{") + max(margins, default=0)


def read_text(path: Path) -> str:
    """Raises `FileProblems` for what cannot be read as text."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise FileProblems([f"{path}: {exc.strerror or 'cannot be read'}"]) from None
    if len(raw) > MAX_BYTES:
        raise FileProblems([f"{path}: larger than {MAX_BYTES // 1024} KB"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw[: exc.start].count(b"\n") + 1
        raise FileProblems([f"{path}:{line}: this is not UTF-8 text"]) from None


def _step(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and str(part).isdecimal():
        for item in node.value[int(part) : int(part) + 1]:
            return item, item.start_mark.line + 1
    return None


def _weight(node: yaml.Node, known: dict[int, float]) -> float:
    """How many values it stands for. One that contains itself has no end."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = float("inf")
        inner = [n for pair in node.value for n in (pair if isinstance(pair, tuple) else (pair,))]
        known[id(node)] = 1 + sum(_weight(n, known) for n in inner)
    return known[id(node)]


def _repeated(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                yield key.value, key.start_mark.line + 1
            seen.add(str(key.value))
            yield from _repeated(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)


# --- What Pydantic says of a file, as a person reads it


class Part(BaseModel):
    """A part of a file: the keys it names, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def keys_of(*models: type[BaseModel]) -> list[str]:
    """Every key that these, and the parts of them, may have."""
    schemas = [model.model_json_schema() for model in models]
    parts = [part for whole in schemas for part in (whole, *whole.get("$defs", {}).values())]
    return sorted({key for part in parts for key in part.get("properties", ())})


def explain(
    source: YamlFile, exc: ValidationError, keys: Collection[str], at: Place = ()
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
            unknown = str(first["loc"][-1])  # here; elsewhere in the file it may be one
            near = difflib.get_close_matches(unknown, [key for key in keys if key != unknown], n=1)
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
        case "list_type" | "tuple_type" | "frozen_set_type":
            return "be a list"
        case _:
            said: str = error["msg"]
            return re.sub(r"^(?:(?:Input|String|List|Tuple) should|Value error,) ", "", said)


def short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
