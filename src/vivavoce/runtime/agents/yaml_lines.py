"""YAML that knows its lines, so that an error can say where it is.

Owns reading a file, refusing what YAML itself would pass over (a key written
twice), and finding the line of a path within it. What the keys mean is for
others to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

MAX_BYTES = 1024 * 1024
MAX_NODES = 100_000
"""Values in a file, an alias counted as all it stands for: a few lines can mean billions."""


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
            self._root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
            if self._root is not None and _weight(self._root, {}) > MAX_NODES:
                raise FileProblems([f"{path}:1: there is too much in this file"])
            self.value: Any = yaml.safe_load(text)
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
