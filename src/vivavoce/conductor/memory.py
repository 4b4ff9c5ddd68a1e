"""What is remembered of calls over a restart of the app: lines of JSON in a small file of its own.

Both clients, this one and the one in TypeScript, read and write the same lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from vivavoce.conductor.core.calls import MOST, Entry


class Memory(Protocol):
    """Called from a thread, one call at a time."""

    def load(self, session_id: str) -> Sequence[Entry]: ...

    def keep(self, session_id: str, entry: Entry) -> None:
        """Returns when it is safe."""
        ...


class FileMemory:
    """One file may serve several sessions, of one app at a time."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self, session_id: str) -> Sequence[Entry]:
        """The newest calls. Lines that are not whole are of a write that was cut off."""
        if not self._path.exists():
            return ()
        lines = [each for each in map(_read, self._path.read_bytes().splitlines()) if each]
        newest = {(told["session"], told["call"]): told for told in lines}
        kept = list(newest.values())[-MOST:]
        if len(lines) > 2 * MOST:
            self._write_anew(kept)
        elif lines:
            self._end_the_line()
        return [_entry(told) for told in kept if told["session"] == session_id]

    def keep(self, session_id: str, entry: Entry) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(_line(_told(session_id, entry)))
            file.flush()
            os.fsync(file.fileno())

    def _end_the_line(self) -> None:
        """Else the first new line would be part of one that was cut off."""
        with self._path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")

    def _write_anew(self, kept: Iterable[dict[str, Any]]) -> None:
        fresh = self._path.with_name(f"{self._path.name}.new")
        with fresh.open("wb") as file:
            file.writelines(map(_line, kept))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


def _line(told: dict[str, Any]) -> bytes:
    return orjson.dumps(told) + b"\n"


def _told(session_id: str, entry: Entry) -> dict[str, Any]:
    told: dict[str, Any] = {"session": session_id, "call": entry.call_id, "over": entry.over}
    if entry.over:
        told |= {"result": entry.result, "error": entry.error}
    if entry.cut is not None:
        told["cut"] = entry.cut
    return told


def _entry(told: dict[str, Any]) -> Entry:
    return Entry(told["call"], told["over"], told.get("result"), told.get("error"), told.get("cut"))


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    known = (
        isinstance(told, dict)
        and isinstance(told.get("session"), str)
        and isinstance(told.get("call"), str)
        and isinstance(told.get("over"), bool)
    )
    return told if known else None
