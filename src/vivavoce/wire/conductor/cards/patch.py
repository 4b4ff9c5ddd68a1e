"""JSON Patch (RFC 6902) from one list of cards to another.

Why not a library: cards are told apart by their `id`, so little is left to find out, and every
event of every runtime comes by here. `jsonpatch` finds the same operations in a talk with tools, in
five times the time; to apply them, which checks them before they go out, takes it fifteen times as
long. In the tests it judges ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from vivavoce.wire.conductor.cards.card import Json

Operations = list[Json]


def whole(document: Json) -> Operations:
    return [{"op": "replace", "path": "", "value": document}]


def between(old: Json, new: Json) -> Operations:
    """Applied to `old`, they give `new`; nothing where both are the same. Not longer than `new`
    as a whole."""
    operations = _cards(old["cards"], new["cards"])
    if not operations:
        return []
    everything = whole(new)
    if _size(operations) > _size(everything) or applied(old, operations) != new:
        return everything
    return operations


def _size(value: object) -> int:
    return len(orjson.dumps(value))


def _cards(old: Sequence[Json], new: Sequence[Json]) -> Operations:
    if old == new:
        return []
    operations: Operations = []
    stay = {card["id"] for card in new}
    now = list(old)
    for at in reversed(range(len(now))):
        if now[at]["id"] not in stay:
            operations.append({"op": "remove", "path": f"/cards/{at}"})
            del now[at]
    for at, card in enumerate(new):
        if at < len(now) and now[at]["id"] == card["id"]:
            operations += _card(f"/cards/{at}", now[at], card)
            continue
        before = next((i for i in range(at, len(now)) if now[i]["id"] == card["id"]), None)
        if before is not None:
            operations.append({"op": "remove", "path": f"/cards/{before}"})
            del now[before]
        operations.append({"op": "add", "path": f"/cards/{at}", "value": card})
        now.insert(at, card)
    return operations


def _card(path: str, old: Json, new: Json) -> Operations:
    """Field by field, or all of it where that is shorter."""
    fields = _fields(path, old, new)
    replaced = [{"op": "replace", "path": path, "value": new}]
    return fields if not fields or _size(fields) <= _size(replaced) else replaced


def _fields(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Operations:
    operations: Operations = []
    for name in [name for name in old if name not in new]:
        operations.append({"op": "remove", "path": f"{path}/{_escaped(name)}"})
    for name, value in new.items():
        at = f"{path}/{_escaped(name)}"
        if name not in old:
            operations.append({"op": "add", "path": at, "value": value})
        elif isinstance(value, dict) and isinstance(old[name], dict):
            operations += _fields(at, old[name], value)
        elif value != old[name]:
            operations.append({"op": "replace", "path": at, "value": value})
    return operations


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def applied(document: Json, operations: Operations) -> Json:
    """What these three operations make of it. Raises `LookupError` or `ValueError` for those that
    cannot be applied."""
    value: Any = document
    for operation in operations:
        path = operation["path"]
        if path and not path.startswith("/"):
            raise ValueError(f"{path!r} is no path")
        names = [n.replace("~1", "/").replace("~0", "~") for n in path.split("/")[1:]]
        value = _applied(value, names, operation)
    made: Json = value
    return made


def _applied(value: Any, names: Sequence[str], operation: Json) -> Any:
    """A copy of what lies on the way; the rest is shared."""
    kind = operation["op"]
    if not names:
        if kind == "remove":
            raise ValueError("all of it cannot be removed")
        return operation["value"]
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    name, rest = names[0], names[1:]
    adds = kind == "add" and not rest
    key: Any = name if isinstance(copy, dict) else _index(name, copy, end=adds)
    if kind == "remove" and not rest:
        del copy[key]
    elif adds and isinstance(copy, list):
        copy.insert(key, operation["value"])
    elif adds:
        copy[key] = operation["value"]
    else:
        copy[key] = _applied(copy[key], rest, operation)
    return copy


def _index(name: str, values: Sequence[object], *, end: bool) -> int:
    at = len(values) if name == "-" and end else int(name)
    if not 0 <= at < len(values) + end:
        raise IndexError(name)
    return at
