"""What a file was before it was changed, kept so that "undo that" works, also after a restart.

A folder for each user, outside every workspace; a file for each change: a line of JSON, and what
was there before, as it was. Of what came after there is only a digest, which is all that it takes
to see whether the file is still as it was written. A change is kept before it is made: a file
that cannot be put back is not changed.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from vivavoce.errors import ToolFailed
from vivavoce.tools.workspace.root import folder_of
from vivavoce.wire.values import Value

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAFT = ".draft"
_LONGEST = 64 * 1024
"""Of the line: a path and three names."""


class Change(Value):
    """Of one file. `before` is None for one that was not there; `too_big`: it was, and is not
    kept."""

    name: str
    root: str
    """The workspace's folder."""
    talk: str | None
    """A background task's changes are nobody's talk."""
    before: bytes | None
    digest: str
    """Of what was written."""
    too_big: bool = False
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    number: str = ""

    def wrote(self, data: bytes) -> bool:
        return digest_of(data) == self.digest


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one user; what is older, or too much, goes."""

    most: int = 50
    most_bytes: int = 16_000_000
    longest: timedelta | None = timedelta(days=7)


class Changes:
    """The last ones of each user. Tools run in threads."""

    def __init__(self, folder: Path | None = None, bounds: Bounds | None = None) -> None:
        """Without a `folder` they are kept for as long as this object."""
        self._bounds = bounds or Bounds()
        self._folder, self._lock = folder, Lock()
        self._last = 0

    @contextlib.contextmanager
    def keeping(self, user_id: str, change: Change) -> Iterator[None]:
        """While the file is changed: what comes to nothing is not kept. Raises `ToolFailed` where
        there is no room for it."""
        before = change.before or b""
        if len(before) > self._bounds.most_bytes:
            change, before = replace(change, too_big=True), b""
        try:
            with self._lock:
                kept = self._write(self._of(user_id), change, before)
        except OSError as refusal:
            raise ToolFailed(
                f"{change.name} is left as it is: what it is now cannot be kept, so the change "
                f"could not be taken back ({refusal.strerror})"
            ) from None
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                kept.unlink()
            raise
        with self._lock:
            self._trim(kept.parent)

    def last(self, user_id: str, talk: str | None, root: str, name: str = "") -> Change | None:
        """The newest of this talk; by its name, of whomever."""
        for one in reversed(list(self._all(user_id))):
            named = one.name == name or (not name and one.talk == talk)
            if named and one.root == root:
                return self._whole(user_id, one)
        return None

    def undone(self, user_id: str, change: Change) -> None:
        with contextlib.suppress(OSError):
            (self._of(user_id) / change.number).unlink()

    def kept(self, user_id: str) -> Iterator[dict[str, Any]]:
        """All of them, the oldest first, for an export."""
        for one in self._all(user_id):
            if (whole := self._whole(user_id, one)) is not None:
                told: dict[str, Any] = {"path": one.name, "workspace": one.root}
                told |= {"conversation_id": one.talk, "at": one.at, "too_big": one.too_big}
                if (before := whole.before) is not None:
                    told["base64"] = base64.b64encode(before).decode()
                yield {"base64": None} | told

    def forget(self, user_id: str) -> None:
        with self._lock, contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._of(user_id))

    def sweep(self) -> None:
        """What is too old by now, of everybody."""
        with self._lock, contextlib.suppress(FileNotFoundError):
            for folder in list(self._base().iterdir()):
                with contextlib.suppress(OSError):
                    self._trim(folder)

    # --- Files --------------------------------------------------------------------------

    def _base(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="vivavoce-changes-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _of(self, user_id: str) -> Path:
        return self._base() / folder_of(user_id)

    def _write(self, folder: Path, change: Change, before: bytes) -> Path:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # In their order, whatever the clock does.
        self._last = max(time.time_ns(), self._last + 1)
        number = f"{self._last:020}-{secrets.token_hex(4)}"
        about: dict[str, Any] = {"name": change.name, "root": change.root, "talk": change.talk}
        about |= {"new": change.before is None, "digest": change.digest}
        about |= {"too_big": change.too_big, "at": change.at.isoformat()}
        draft, place = folder / f"{number}{_DRAFT}", folder / number
        try:
            with os.fdopen(os.open(draft, _NEW, 0o600), "wb") as stream:
                stream.write(json.dumps(about).encode() + b"\n" + before)
                stream.flush()
                os.fsync(stream.fileno())
            draft.rename(place)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        with contextlib.suppress(OSError):  # not every file system syncs folders
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        return place

    def _all(self, user_id: str) -> Iterator[Change]:
        """Without what was there before."""
        longest = self._bounds.longest
        for place in _numbered(self._of(user_id)):
            with contextlib.suppress(OSError, ValueError, KeyError):
                with place.open("rb") as stream:
                    about = json.loads(stream.readline(_LONGEST))
                change = Change(
                    name=about["name"],
                    root=about["root"],
                    talk=about["talk"],
                    before=None if about["new"] else b"",
                    digest=about["digest"],
                    too_big=about["too_big"],
                    at=datetime.fromisoformat(about["at"]),
                    number=place.name,
                )
                if longest is None or datetime.now(UTC) - change.at <= longest:
                    yield change

    def _whole(self, user_id: str, change: Change) -> Change | None:
        if change.before is None or change.too_big:
            return change
        try:
            content = (self._of(user_id) / change.number).read_bytes()
        except OSError:  # undone, or forgotten, a moment ago
            return None
        return replace(change, before=content.partition(b"\n")[2])

    def _trim(self, folder: Path) -> None:
        oldest = 0
        if self._bounds.longest is not None:
            oldest = time.time_ns() - int(self._bounds.longest.total_seconds() * 1e9)
        left = self._bounds.most_bytes + _LONGEST
        for at, place in enumerate(reversed(_numbered(folder))):
            left -= place.stat().st_size
            if at >= self._bounds.most or left < 0 or int(place.name.partition("-")[0]) < oldest:
                place.unlink(missing_ok=True)
        for draft in folder.glob(f"*{_DRAFT}"):  # of a server that fell over
            draft.unlink(missing_ok=True)


def _numbered(folder: Path) -> list[Path]:
    """The oldest first."""
    try:
        return sorted(one for one in folder.iterdir() if one.name[:1].isdigit() and not one.suffix)
    except (FileNotFoundError, NotADirectoryError):
        return []
