"""A folder that is held open, and all beneath it: reached step by step, and through no link.

A name may be another folder's, or a link's, at the next moment: whatever is looked at, read or
renamed here is in the folder that was entered, wherever its name leads by then. Links are never
followed. What our own user has closed to itself is opened for as long as we look.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.processes.once import Once
from vivavoce.processes.programs import find

Parts = tuple[str, ...]
"""A path from the folder that is held."""
Stamp = tuple[int, ...]

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
FOLDER = READ | os.O_DIRECTORY
_NAMING = getattr(os, "O_PATH", 0)
"""A descriptor to name what is in a folder by, whatever its mode; Linux has it."""
_STEP = _NAMING | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ASIDE = ".put-aside"
_CLOSED_AGAIN = 64
"""Folders whose modes are remembered; more of them stay open to their owner."""
_MOST_ENTRIES = 200_000
_STAMPED = 20_000
_FEW = 2_000
_DEEPEST = 200
"""Parts of a path; nobody who means well has more."""


class Tree:
    def __init__(self, folder: int | Path) -> None:
        """A folder by its path is one that nobody but us and the user can move."""
        self._fd = os.open(folder, FOLDER) if isinstance(folder, Path) else os.dup(folder)
        self._opened: list[tuple[int, int]] = []

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self._opened:
            fd, mode = self._opened.pop()
            with contextlib.suppress(OSError):
                _change(fd, mode)
            os.close(fd)
        os.close(self._fd)

    # --- Reaching -----------------------------------------------------------------------

    @contextlib.contextmanager
    def folder(self, parts: Parts, *, make: bool = False) -> Iterator[int]:
        """To name what is in it by; not to be listed. Raises `OSError`."""
        here = os.dup(self._fd)
        try:
            for name in parts:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=here)
                inner = self._enter(here, name)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)

    def _enter(self, here: int, name: str) -> int:
        if not _NAMING:  # then a folder that is closed has to be opened by its name
            _open_to_us(here, name)
        fd = os.open(name, _STEP, dir_fd=here)
        try:
            about = os.fstat(fd)
            if about.st_mode & 0o500 != 0o500 and about.st_uid == os.geteuid():
                self._let_in(fd, about.st_mode)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _let_in(self, fd: int, mode: int) -> None:
        """A command may have closed it to hide what is in it; its owner can open it again."""
        with contextlib.suppress(OSError):
            _change(fd, stat.S_IMODE(mode) | 0o700)
            if len(self._opened) < _CLOSED_AGAIN:
                self._opened.append((os.dup(fd), stat.S_IMODE(mode)))

    @contextlib.contextmanager
    def listed(self, parts: Parts) -> Iterator[Iterator[os.DirEntry[str]]]:
        with self.folder(parts) as here:
            fd = os.open(".", FOLDER, dir_fd=here)
            try:
                with os.scandir(fd) as entries:
                    yield entries
            finally:
                os.close(fd)

    def names(self, parts: Parts) -> list[str]:
        with self.listed(parts) as entries:
            return [entry.name for entry in entries]

    def look(self, parts: Parts) -> os.stat_result | None:
        if not parts:
            return os.fstat(self._fd)
        try:
            with self.folder(parts[:-1]) as here:
                return os.stat(parts[-1], dir_fd=here, follow_symlinks=False)
        except OSError:
            return None

    def open(self, parts: Parts, flags: int = READ) -> int:
        with self.folder(parts[:-1]) as here:
            return os.open(parts[-1] if parts else ".", flags, dir_fd=here)

    def read(self, parts: Parts, limit: int) -> bytes | None:
        """All of a regular file; None where it is none, cannot be read, or is larger."""
        with contextlib.suppress(OSError), os.fdopen(self.open(parts), "rb") as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                data = stream.read(limit + 1)
                return data if len(data) <= limit else None
        return None

    # --- Beneath ------------------------------------------------------------------------

    def beneath(
        self, folder: Parts, depth: int, wanted: Callable[[os.DirEntry[str]], bool], most: int
    ) -> list[Parts]:
        """Files and links in it that are `wanted`. A folder that cannot be looked through, for
        what it is or for how much there is, is told in the place of what is in it."""
        left = [_MOST_ENTRIES]
        try:
            return self._beneath(folder, depth, wanted, most, left)
        except FileNotFoundError:
            return []
        except OSError:
            return [folder]

    def _beneath(
        self,
        folder: Parts,
        depth: int,
        wanted: Callable[[os.DirEntry[str]], bool],
        most: int,
        left: list[int],
    ) -> list[Parts]:
        found: list[Parts] = []
        folders: list[Parts] = []
        with self.listed(folder) as entries:
            for entry in entries:
                left[0] -= 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append((*folder, entry.name))
                elif wanted(entry):
                    found.append((*folder, entry.name))
                if len(found) > most or left[0] < 0:
                    return [folder]
        for inner in folders:
            if depth <= 1:
                found.append(inner)
                continue
            try:
                found += self._beneath(inner, depth - 1, wanted, most, left)
            except FileNotFoundError:
                continue
            except OSError:
                found.append(inner)
            if len(found) > most or left[0] < 0:
                return [folder]
        return found

    def stamp(self, parts: Parts) -> Stamp | None:
        """What tells it from another, and from itself with other content; None: it is not there."""
        about = self.look(parts)
        if about is None:
            return None
        if not stat.S_ISDIR(about.st_mode):
            return stamp(about)
        digest, number = hashlib.sha256(), 0
        for one in sorted(self.beneath(parts, 16, lambda _: True, _STAMPED)):
            inside = self.look(one)
            if inside is None or stat.S_ISDIR(inside.st_mode):
                number = -1  # too much, or too deep: known by itself alone
                break
            digest.update(repr((one, stamp(inside))).encode(errors="surrogateescape"))
            number += 1
        content = int.from_bytes(digest.digest()) if number >= 0 else 0
        return (about.st_ino, about.st_mode, number, content)

    # --- Changing -----------------------------------------------------------------------

    def put_aside(self, parts: Parts, *, shut: bool = False) -> bool:
        """Renamed, so that nothing finds it by its name. `shut`: nobody enters it by chance."""
        with contextlib.suppress(OSError), self.folder(parts[:-1]) as here:
            if shut:
                self._shut(here, parts[-1])
            for number in range(1000):
                aside = f"{parts[-1][:200]}{_ASIDE}{number or ''}"
                try:
                    os.stat(aside, dir_fd=here, follow_symlinks=False)
                except FileNotFoundError:
                    os.rename(parts[-1], aside, src_dir_fd=here, dst_dir_fd=here)
                    return True
        return False

    def _shut(self, here: int, name: str) -> None:
        with contextlib.suppress(OSError):
            fd = os.open(name, _STEP, dir_fd=here)
            try:
                _change(fd, 0)
            finally:
                os.close(fd)


def stamp(about: os.stat_result) -> Stamp:
    """Not the time of change alone: that one can be set."""
    return (about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def _change(fd: int, mode: int) -> None:
    """Its mode, by a descriptor that is for naming only."""
    if _NAMING:
        os.chmod(f"/proc/self/fd/{fd}", mode)
    else:
        os.fchmod(fd, mode)


def _open_to_us(here: int, name: str) -> None:
    about = os.stat(name, dir_fd=here, follow_symlinks=False)
    if about.st_mode & 0o500 != 0o500 and about.st_uid == os.geteuid():
        os.chmod(name, stat.S_IMODE(about.st_mode) | 0o700, dir_fd=here, follow_symlinks=False)


# --- Looking for repositories ----------------------------------------------------------------


@dataclass(slots=True)
class Looked:
    """`found`: all that git would take for a repository, or for the way to one. `unseen`: folders
    that could not be looked through, in whatever time there was."""

    found: dict[Parts, None] = field(default_factory=dict)
    unseen: dict[Parts, None] = field(default_factory=dict)


def would_be_one(names: set[str]) -> bool:
    """Would git take a folder with these names for a repository, whatever it is called?"""
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)


def look_through(tree: Tree, workspace: Path, seconds: float) -> Looked:
    until = time.monotonic() + seconds
    looked = _walked(tree, until, _FEW)
    if looked is not None:
        return looked
    # A program, since a large project takes Python long enough to make a voice stutter.
    program = find("find", workspace, "/usr/bin:/bin")
    listing = _Listing()
    wanted = ("(", "-iname", ".git", "-o", "-name", "HEAD", "-o", "!", "-path", "./*/*", ")")
    command = (program or "", ".", "-depth", *wanted, "-print0")
    try:
        if program is None:
            raise FileNotFoundError("find")
        environment = {"LC_ALL": "C"}
        once = Once(command, seconds, workspace, environment, feed=listing.feed, nice=5)
        complete = once().code == 0
    except TimeoutError:
        return _by_name(tree, listing.candidates, until, _unfinished(tree, listing.done))
    except OSError:
        complete = False
    if complete:
        return _by_name(tree, listing.candidates, until, Looked())
    # Something was closed to it: we may get in.
    looked = _walked(tree, until, None)
    assert looked is not None
    return looked


@dataclass(slots=True)
class _Listing:
    """What `find` says, as it comes: candidates, and what of the workspace's own folder is done,
    since a folder is told after all that is in it."""

    candidates: list[Parts] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    _rest: bytes = b""

    def feed(self, piece: bytes) -> bool:
        *lines, self._rest = (self._rest + piece).split(b"\0")
        for line in lines:
            parts = tuple(os.fsdecode(line).split("/")[1:])
            if len(parts) == 1:
                self.done.add(parts[0])
            if parts and _tells(parts[-1]):
                self.candidates.append(parts)
        return True


def _tells(name: str) -> bool:
    return name == "HEAD" or name.lower() == ".git"


def _unfinished(tree: Tree, done: set[str]) -> Looked:
    """All in the workspace's own folder that is not `done`; its own repository is judged in any
    case, and by itself."""
    looked = Looked()
    with tree.listed(()) as entries:
        for entry in entries:
            if entry.name.lower() == ".git":
                looked.found.setdefault((entry.name,))
            elif entry.name not in done and entry.is_dir(follow_symlinks=False):
                looked.unseen.setdefault((entry.name,))
    return looked


def _walked(tree: Tree, until: float, most: int | None) -> Looked | None:
    """None where there is more than that; what takes longer is unseen."""
    looked, candidates = Looked(), list[Parts]()
    folders: list[Parts] = [()]
    while folders:
        here = folders.pop()
        if here and time.monotonic() > until:
            open_still = {one[0] for one in (here, *folders)}
            late = _unfinished(tree, set(tree.names(())) - open_still)
            looked.found |= late.found
            looked.unseen |= late.unseen
            break
        try:
            with tree.listed(here) as entries:
                for entry in entries:
                    most = most - 1 if most is not None else None
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((*here, entry.name))
                    if _tells(entry.name):
                        candidates.append((*here, entry.name))
        except OSError as refusal:
            if isinstance(refusal, PermissionError) and not _passable(tree, here):
                continue  # nor could a command get in
            if not isinstance(refusal, FileNotFoundError | NotADirectoryError):
                looked.unseen.setdefault(here)
        if most is not None and most < 0:
            return None
        if len(here) >= _DEEPEST:
            looked.unseen.setdefault(here)
            folders = [one for one in folders if one[:-1] != here]
    return _by_name(tree, candidates, until, looked)


def _passable(tree: Tree, folder: Parts) -> bool:
    with contextlib.suppress(OSError), tree.folder(folder[:-1]) as here:
        name, effective = folder[-1] if folder else ".", os.access in os.supports_effective_ids
        return os.access(name, os.X_OK, dir_fd=here, effective_ids=effective)
    return False


def _by_name(tree: Tree, candidates: list[Parts], until: float, looked: Looked) -> Looked:
    """A `HEAD` makes a repository only with other files beside it."""
    for one in candidates:
        if one[-1] != "HEAD":
            looked.found.setdefault(one)
            continue
        if time.monotonic() > until and len(one) > 1:
            looked.unseen.setdefault(one[:1])
            continue
        try:
            if would_be_one(set(tree.names(one[:-1]))):
                looked.found.setdefault(one[:-1])
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            looked.unseen.setdefault(one[:-1])
    return looked
