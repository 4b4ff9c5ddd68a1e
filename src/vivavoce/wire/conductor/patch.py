"""JSON Patch (RFC 6902): what changes in a document. Of a patch either all is done or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_WRONG_ESCAPE = re.compile(r"~(?![01])")


class PatchFailed(ValueError):
    """Why it cannot be applied, in words."""


def operations(patch: object) -> Sequence[Mapping[str, Any]]:
    """One operation or an array of them, as `assistantUIPatch` has it."""
    found: list[Any] = patch if isinstance(patch, list) else [patch]
    for each in found:
        if not isinstance(each, dict):
            raise PatchFailed("an operation is a JSON object")
    return found


def applied(document: Any, patch: object) -> Any:
    """The document as it is afterwards; the one given stays as it is. Raises `PatchFailed`."""
    whole = {"": deepcopy(document)}  # so that the root has a parent too
    for each in operations(patch):
        _apply(whole, each)
    return whole[""]


def _apply(whole: dict[str, Any], told: Mapping[str, Any]) -> None:
    path = _path(told, "path")
    match told.get("op"):
        case "add":
            _add(whole, path, deepcopy(_value(told)))
        case "remove":
            _remove(whole, path)
        case "replace":
            _get(whole, path)
            _put(whole, path, deepcopy(_value(told)))
        case "move":
            source = _path(told, "from")
            if source == path[: len(source)] and source != path:
                raise PatchFailed("nothing can be moved into itself")
            moved = _get(whole, source)
            if source != path:
                _remove(whole, source)
                _add(whole, path, moved)
        case "copy":
            _add(whole, path, deepcopy(_get(whole, _path(told, "from"))))
        case "test":
            if not same(_get(whole, path), _value(told)):
                raise PatchFailed(f"'{told['path']}' is another value")
        case _:
            raise PatchFailed("there is no such operation")


def _value(told: Mapping[str, Any]) -> Any:
    if "value" not in told:
        raise PatchFailed("the operation has no 'value'")
    return told["value"]


def _path(told: Mapping[str, Any], field: str) -> list[str]:
    """A JSON Pointer (RFC 6901), from the root's parent on."""
    raw = told.get(field)
    if not isinstance(raw, str) or (raw and not raw.startswith("/")) or _WRONG_ESCAPE.search(raw):
        raise PatchFailed(f"'{field}' is no JSON Pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in raw.split("/")]


def _get(whole: Any, path: Sequence[str]) -> Any:
    found = whole
    for part in path:
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list):
            found = found[_index(part, len(found) - 1)]
        else:
            raise PatchFailed(f"there is no '{'/'.join(path)}'")
    return found


def _index(part: str, most: int) -> int:
    if not _INDEX.fullmatch(part) or int(part) > most:
        raise PatchFailed(f"there is no place '{part[:20]}' in the array")
    return int(part)


def _add(whole: Any, path: Sequence[str], value: Any) -> None:
    parent = _get(whole, path[:-1])
    if isinstance(parent, list):
        at = len(parent) if path[-1] == "-" else _index(path[-1], len(parent))
        parent.insert(at, value)
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise PatchFailed(f"there is nothing around '{'/'.join(path)}'")


def _put(whole: Any, path: Sequence[str], value: Any) -> None:
    parent = _get(whole, path[:-1])
    parent[int(path[-1]) if isinstance(parent, list) else path[-1]] = value


def _remove(whole: Any, path: Sequence[str]) -> None:
    _get(whole, path)
    if len(path) == 1:
        whole[""] = None
        return
    parent = _get(whole, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]


def same(one: Any, other: Any) -> bool:
    """As RFC 6902 has it: numbers by their value, and a truth is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
