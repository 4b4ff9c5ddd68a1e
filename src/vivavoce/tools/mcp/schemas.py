"""What a server says of its tools, made fit for function calling. No I/O.

A server's words are hostile until checked: names are cut and made unique,
descriptions are cut to size, and a schema that could keep us busy for ever is
refused rather than evaluated.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Container, Mapping
from typing import Any
from urllib.parse import unquote

from vivavoce.runtime.ports import OWN_TOOLS
from vivavoce.tools.checks import Checker
from vivavoce.tools.functions import NAMED, VALUES, without
from vivavoce.wire.hints import KEY

MAX_NAME = 64  # what function calling allows
MAX_DESCRIPTION = 1000
MAX_SCHEMA = 16_000  # characters of JSON; more would fill a small model's context
MAX_STEPS = 10_000  # schemas evaluated for one look at one value, references followed
MAX_DEPTH = 40

_DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}", re.ASCII)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LEFT_OUT = ("pattern", "patternProperties", "$schema", "$id", KEY)
"""Hints among them: a server must not put words into the agent's mouth."""


def tool_name(server: str, tool: str, taken: Container[str], others: Collection[str] = ()) -> str:
    """`<server>_<tool>`; where that is too long or taken, with a mark that stays the same. `others`
    are all servers: a policy that is about `git_hub_*` is not about a server `git` that has a tool
    `hub_delete`."""
    longer = [f"{one}_" for one in others if len(one) > len(server)]
    every = (_UNFIT.sub("_", f"{server}{sign}{tool}") for sign in ("_", "__", "-", "--"))
    plain = next((one for one in every if not one.startswith(tuple(longer))), "")
    if not plain:
        raise ValueError(f"tool '{tool[:MAX_NAME]}': it would be called as another server's")
    if len(plain) <= MAX_NAME and plain not in taken and plain not in OWN_TOOLS:
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
    """The schema, checked; raises `ValueError` with what is wrong with it. What costs least comes
    first; a schema of the full length takes some hundredths of a second."""
    if _depth(schema) > MAX_DEPTH:
        raise ValueError(f"tool '{name}': its schema is nested too deeply")
    if size_of(name, schema) > MAX_SCHEMA:
        raise ValueError(f"tool '{name}': its schema is longer than {MAX_SCHEMA} characters")
    # Regular expressions of strangers can run for ever; the server checks its own anyway.
    fit: dict[str, Any] = without(_LEFT_OUT, schema)
    fit.setdefault("properties", {})
    try:
        steps = _Steps(fit).of(fit)
    except ValueError as fault:
        raise ValueError(f"tool '{name}': {fault}") from None
    except RecursionError:
        steps = MAX_STEPS + 1
    if steps > MAX_STEPS:
        raise ValueError(f"tool '{name}': its schema refers to itself too often")
    try:
        Checker(name, fit).compile()
    except ValueError:
        raise
    except Exception as exc:  # the validator's own faults on schemas nobody foresaw
        raise ValueError(f"tool '{name}': its schema cannot be used ({exc})"[:300]) from None
    return fit


def size_of(name: str, schema: Mapping[str, Any]) -> int:
    """In characters of JSON. Raises `ValueError` where it is none."""
    try:
        return len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"tool '{name}': its schema is no JSON") from None


def _depth(node: Any) -> int:
    level, deep = [node], 0
    while level and deep <= MAX_DEPTH:
        below: list[Any] = []
        for one in level:
            below += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        level, deep = below, deep + 1
    return deep


class _Steps:
    """How many schemas a validator may have to look at: twofold references double each time.

    A reference is followed as the validator follows it, so it has to be a plain pointer from the
    schema's root to a schema in it. Raises `ValueError` for every other one: a name (`#here`), the
    dynamic kinds, and a value (`default`), out of which nothing was taken that could run for ever.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[str, int] = {}

    def of(self, node: Any, names: bool = False) -> int:
        """`names`: its keys are the author's own."""
        steps = 1
        if isinstance(node, list):
            inside = [(one, False) for one in node]
        elif isinstance(node, dict):
            if not names:
                if _DYNAMIC & node.keys():
                    raise ValueError("its schema has references that depend on the way to them")
                if (reference := node.get("$ref")) is not None:
                    steps += self._referred(reference)
            inside = [
                (one, key in NAMED and not names)
                for key, one in node.items()
                # Definitions count where they are referred to.
                if names or key not in ("$defs", "definitions", *VALUES)
            ]
        else:
            inside = []
        for value, named in inside:
            steps += self.of(value, named)
            if steps > MAX_STEPS:
                break
        return steps

    def _referred(self, reference: object) -> int:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise ValueError("its schema refers to something outside of it")
        if reference not in self._known:
            self._known[reference] = 1  # a circle goes on only as deep as the value does
            self._known[reference] = self.of(*self._at(reference))
        return self._known[reference]

    def _at(self, reference: str) -> tuple[Any, bool]:
        pointer = unquote(reference.removeprefix("#"))
        if pointer and not pointer.startswith("/"):
            raise ValueError("its schema has a reference that is no plain pointer into it")
        node: Any = self._root
        names = False
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and _INDEX.fullmatch(key) and int(key) < len(node):
                node, names = node[int(key)], False
            elif isinstance(node, dict) and key in node and (names or key not in VALUES):
                node, names = node[key], key in NAMED and not names
            else:
                raise ValueError("its schema refers to something that is not there")
        return node, names
