"""Is a file the right one? By its hash, or by a stamp that says its hash was right.

A stamp is size, times, inode and sha256, in one small file in the model's
folder: a start does not hash hundreds of megabytes, and a file that was
touched or put in another's place is hashed again. The time of change is the
system's own: a program can set back the time of writing, but not that one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from vivavoce.models.manifest import ModelFile

STAMPS = ".checked.json"
_writing = threading.Lock()


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wrong_with(path: Path, file: ModelFile) -> str | None:
    """What is wrong with the bytes at `path`, in words; None when they are right."""
    try:
        size = path.stat().st_size
        if size != file.size:
            return f"has {size:,} bytes instead of {file.size:,}"
        if sha256_of(path) != file.sha256:
            return "has another sha256"
    except FileNotFoundError:
        return "is missing"
    except OSError as exc:
        return f"cannot be read: {exc.strerror or exc}"
    return None


def stamped(folder: Path, file: ModelFile) -> bool:
    """Whether the file is as it was when its hash was last right."""
    try:
        found = (folder / file.name).stat()
    except OSError:
        return False
    return _read(folder).get(file.name) == _stamp_of(file, found)


def check(folder: Path, file: ModelFile, *, trust_stamp: bool = True) -> str | None:
    """`wrong_with` the model's file, by its stamp where that is allowed and holds."""
    if trust_stamp and stamped(folder, file):
        return None
    path = folder / file.name
    try:
        before = path.stat()  # so that what changes while it is hashed is hashed again
    except OSError:
        return wrong_with(path, file)
    words = wrong_with(path, file)
    if words is None:
        _stamp(folder, file, before)
    return words


def note(folder: Path, name: str, sha256: str) -> None:
    """Its hash was found right just now: a stamp for a file that no manifest has."""
    found = (folder / name).stat()
    _stamp(folder, ModelFile(name, found.st_size, sha256, ()), found)


def noted(folder: Path, name: str) -> ModelFile | None:
    """What `note` knows of it."""
    match _read(folder).get(name):
        case [int(size), _, _, _, str(sha256)]:
            return ModelFile(name, size, sha256, ())
    return None


def _stamp_of(file: ModelFile, found: os.stat_result) -> list[int | str]:
    times = (found.st_mtime_ns, found.st_ctime_ns)
    return [found.st_size, *times, found.st_ino, file.sha256]


def _stamp(folder: Path, file: ModelFile, found: os.stat_result) -> None:
    # A folder that cannot be written to is fine to read models from.
    with _writing, contextlib.suppress(OSError):
        stamps = _read(folder) | {file.name: _stamp_of(file, found)}
        descriptor, name = tempfile.mkstemp(prefix=STAMPS, dir=folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as written:
                json.dump(stamps, written, indent=1)
            Path(name).replace(folder / STAMPS)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _read(folder: Path) -> dict[str, Any]:
    try:
        stamps = json.loads((folder / STAMPS).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or half of one
        return {}
    return stamps if isinstance(stamps, dict) else {}
