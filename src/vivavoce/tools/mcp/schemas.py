"""What a server says of its tools, made fit for function calling. No I/O.

A server's words are hostile until checked: names are cut and made unique,
descriptions are cut to size, and a schema that could keep us busy for ever is
refused rather than evaluated.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Mapping
from typing import Any

from vivavoce.tools.checks import Checker
from vivavoce.tools.functions import without
from vivavoce.wire.hints import KEY

MAX_NAME = 64  # what function calling allows
MAX_DESCRIPTION = 1000
MAX_SCHEMA = 16_000  # characters of JSON; more would fill a small model's context
MAX_STEPS = 10_000  # schemas evaluated for one look at one value, references followed
MAX_DEPTH = 40

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LEFT_OUT = ("pattern", "patternProperties", "$schema", "$id", KEY)
"""Hints among them: a server must not put words into the agent's mouth."""


def tool_name(server: str, tool: str, taken: Container[str]) -> str:
    """`<server>_<tool>`; where that is too long or taken, with a mark that stays the same."""
    plain = _UNFIT.sub("_", f"{server}_{tool}")
    if len(plain) <= MAX_NAME and plain not in taken:
        return plain
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()
    for size in (6, 16, 32):
        name = f"{plain[: MAX_NAME - size - 1]}_{mark[:size]}"
        if name not in taken:
            return name
    raise ValueError(f"tool '{plain[:MAX_NAME]}': its name is taken")


def plain_text(text: str, limit: int) -> str:
    """One paragraph, printable, of at most `limit` characters."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def parameters(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema, checked; raises `ValueError` with what is wrong with it. Takes milliseconds."""
    try:
        size = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"tool '{name}': its schema is no JSON") from None
    if size > MAX_SCHEMA:
        raise ValueError(f"tool '{name}': its schema is longer than {MAX_SCHEMA} characters")
    if _depth(schema) > MAX_DEPTH:
        raise ValueError(f"tool '{name}': its schema is nested too deeply")
    # Regular expressions of strangers can run for ever; the server checks its own anyway.
    fit: dict[str, Any] = without(_LEFT_OUT, schema)
    fit.setdefault("properties", {})
    if _Steps(fit).of(fit) > MAX_STEPS:
        raise ValueError(f"tool '{name}': its schema refers to itself too often")
    try:
        Checker(name, fit).compile()
    except ValueError:
        raise
    except Exception as exc:  # the validator's own faults on schemas nobody foresaw
        raise ValueError(f"tool '{name}': its schema cannot be used ({exc})"[:300]) from None
    return fit


def _depth(node: Any) -> int:
    level, deep = [node], 0
    while level and deep <= MAX_DEPTH:
        below: list[Any] = []
        for one in level:
            below += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        level, deep = below, deep + 1
    return deep


class _Steps:
    """How many schemas a validator may have to look at: twofold references double each time."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[str, int] = {}

    def of(self, node: Any) -> int:
        steps = 1
        if isinstance(node, dict):
            reference = node.get("$ref") or node.get("$dynamicRef")
            if isinstance(reference, str):
                steps += self._referred(reference)
            # Definitions count where they are referred to.
            inside = [v for k, v in node.items() if k not in ("$defs", "definitions")]
        else:
            inside = node if isinstance(node, list) else []
        for value in inside:
            steps += self.of(value)
            if steps > MAX_STEPS:
                break
        return steps

    def _referred(self, reference: str) -> int:
        if reference not in self._known:
            self._known[reference] = 1  # a circle goes on only as deep as the value does
            target: Any = self._root
            for part in reference.removeprefix("#").split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                target = target.get(key) if isinstance(target, dict) else None
            self._known[reference] = self.of(target)
        return self._known[reference]
