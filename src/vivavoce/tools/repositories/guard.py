"""Around one command: what of repositories it works on, and what of its work stays.

A command works on a copy of what git itself writes; what changed takes its place afterwards. Then
everything is looked through, and what git would run is put aside. One command at a time writes in
a folder: whatever else ran there could swap names while we put things right.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.errors import Unavailable
from vivavoce.tools.repositories.judging import (
    TREES,
    as_read,
    dangers,
    index_is_fine,
    named_by,
    stamps,
)
from vivavoce.tools.repositories.tree import (
    FOLDER,
    Parts,
    Stamp,
    Tree,
    look_through,
    stamp,
)

_STATE = re.compile(
    r"index|sharedindex\.[0-9a-f]+|packed-refs|HEAD|[A-Z]+(?:_[A-Z]+)*_HEAD|AUTO_MERGE"
    r"|(?:COMMIT|TAG|NOTES)_EDITMSG|(?:MERGE|SQUASH)_MSG|MERGE_MODE|MERGE_RR"
)
"""Files right in `.git` that git writes in its daily work. HEADs and indexes are looked into."""
_UNREAD = ("branches", "description")
"""Of no use to a command; every mount costs."""
_STAGED = 16
"""Repositories whose state a command may change; more are read-only."""
_MOUNTS = 400
"""More repositories than these are judged afterwards; each mount is a descriptor."""
_MOST_FILES, _MOST_BYTES = 20_000, 256 << 20
_HEAD = re.compile(rb"(?:(?:ref: refs/[^\n]+|[0-9a-f]{40}|[0-9a-f]{64})(?:[\t\n].*)?)?", re.DOTALL)
_BEFORE, _AFTER = 30.0, 120.0
"""Seconds to look through a workspace. Afterwards more: a command makes nothing as quickly as it
is found."""
_TOLD = 20
_MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own in it, with a name that is not known
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Mount:
    """`fd` shown at `at`, to be written or not."""

    at: Path
    fd: int
    writable: bool = False


@dataclass(eq=False)
class _Copy:
    """One repository's state: copied, worked on by a command, and what changed put back."""

    at: Path
    git: Parts
    real: Tree
    """Held open: whatever takes its name meanwhile, this is it."""
    copy: Path
    given: dict[Parts, Stamp] = field(default_factory=dict)
    """What was looked into and put in place."""
    _known: dict[Parts, tuple[Stamp, Stamp]] = field(default_factory=dict)
    """Of each file: what the real one and its copy were."""
    _left: int = _MOST_BYTES

    def take(self) -> bool:
        """False where there is too much of it, or no room."""
        try:
            for name in self.real.names(()):
                if _STATE.fullmatch(name):
                    self._take_file((name,))
            for name in TREES:
                self._take_tree((name,))
        except OSError:
            return False
        return self._left >= 0 and len(self._known) <= _MOST_FILES

    def _take_tree(self, path: Parts) -> None:
        about = self.real.look(path)
        if about is None or not stat.S_ISDIR(about.st_mode):
            return
        self.copy.joinpath(*path).mkdir(exist_ok=True)
        with self.real.listed(path) as entries:
            inside = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, folder in inside:
            if folder:
                self._take_tree((*path, name))
            else:
                self._take_file((*path, name))
            if self._left < 0 or len(self._known) > _MOST_FILES:
                return

    def _take_file(self, path: Parts) -> None:
        try:
            fd = self.real.open(path)
        except OSError as refusal:
            if refusal.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):  # gone, or no file
                return
            raise
        copied_to = self.copy.joinpath(*path)
        with os.fdopen(fd, "rb") as real:
            about = os.fstat(fd)
            self._left -= about.st_size
            if not stat.S_ISREG(about.st_mode) or self._left < 0:
                return
            with copied_to.open("xb") as copied:
                shutil.copyfileobj(real, copied)
            # As old as the real one: git compares its index with the files by their times.
            os.utime(copied_to, ns=(about.st_atime_ns, about.st_mtime_ns))
        self._known[path] = (stamp(about), stamp(copied_to.lstat()))

    def mounts(self) -> Iterator[Mount]:
        """The copy in the place of the real one; of that one what is not copied, to be read."""
        yield Mount(self.at, os.open(self.copy, FOLDER), writable=True)
        for name in sorted(self.real.names(())):
            if _STATE.fullmatch(name) or name in TREES or name in _UNREAD:
                continue
            with contextlib.suppress(OSError):
                fd = _shown(self.real, (name,))
                folder = stat.S_ISDIR(os.fstat(fd).st_mode)
                yield Mount(self.at / name, fd, writable=name == "objects" and folder)

    def give(self) -> list[str]:
        """What changed takes its place. The names of what the user changed at the same time, and
        what stays as it is therefore."""
        with Tree(self.copy) as made:  # the command may have put links anywhere in it
            there = {path: stamp(about) for path, about in _state(made)}
            changed = [p for p, now in there.items() if self._known.get(p, ((), ()))[1] != now]
            gone = [path for path in self._known if path not in there]
            # Refs that were packed are in the one file before they are gone from the others.
            order: dict[Parts, int] = {("packed-refs",): 0, ("index",): 2, ("HEAD",): 3}
            refused = [
                path
                for path in sorted(changed, key=lambda path: (order.get(path, 1), path))
                if not self._put(made, path)
            ]
        refused += [path for path in gone if not self._remove(path)]
        return ["/".join(path) for path in refused]

    def _put(self, made: Tree, path: Parts) -> bool:
        name = path[-1]
        try:
            fd = made.open(path)
            with (
                os.fdopen(fd, "rb") as new,
                self.real.folder(path[:-1], make=True) as folder,
            ):
                if not self._is_data(path, new.read(_MOST_BYTES + 1)):
                    return False
                new.seek(0)
                if not self._as_it_was(path, folder):
                    return False
                # As git does it: whoever has the lock may write, and a rename ends it.
                lock = os.open(f"{name}.lock", _NEW, 0o666, dir_fd=folder)
                try:
                    with os.fdopen(lock, "wb") as out:
                        shutil.copyfileobj(new, out)
                    if path == ("index",):
                        about = os.fstat(fd)
                        times = (about.st_atime_ns, about.st_mtime_ns)
                        os.utime(f"{name}.lock", ns=times, dir_fd=folder, follow_symlinks=False)
                    os.rename(f"{name}.lock", name, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    os.unlink(f"{name}.lock", dir_fd=folder)
                    raise
                now = stamp(os.stat(name, dir_fd=folder, follow_symlinks=False))
                index = len(path) == 1 and "index" in name
                self.given[(*self.git, *path)] = as_read(self.real, (), now) if index else now
        except OSError:
            return False
        return True

    def _is_data(self, path: Parts, content: bytes) -> bool:
        """Nothing that leads git elsewhere: a HEAD names a ref, an index names the project's files,
        and whatever is too large for either is neither."""
        if len(content) > _MOST_BYTES:
            return False
        if path[-1].endswith("HEAD") and path[0] != "logs":
            return _HEAD.fullmatch(content[:4096]) is not None
        if len(path) == 1 and "index" in path[0]:
            return index_is_fine(self.real, (), content)
        return True

    def _remove(self, path: Parts) -> bool:
        with contextlib.suppress(FileNotFoundError):
            try:
                with self.real.folder(path[:-1]) as folder:
                    if not self._as_it_was(path, folder):
                        return False
                    os.unlink(path[-1], dir_fd=folder)
            except OSError:
                return False
        return True

    def _as_it_was(self, path: Parts, folder: int) -> bool:
        known = self._known.get(path)
        try:
            now = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return known is None
        if stat.S_ISDIR(now.st_mode) and known is None:  # of refs that are gone
            with contextlib.suppress(OSError):
                os.rmdir(path[-1], dir_fd=folder)
                return True
            return False
        return known is not None and known[0] == stamp(now)


def _state(made: Tree) -> Iterator[tuple[Parts, os.stat_result]]:
    """Regular files that git keeps its state in."""
    found: list[Parts] = [(name,) for name in made.names(()) if _STATE.fullmatch(name)]
    for tree in TREES:
        found += made.beneath((tree,), 16, lambda _: True, _MOST_FILES)
    for path in found:
        about = made.look(path)
        if about is not None and stat.S_ISREG(about.st_mode) and not path[-1].endswith(".lock"):
            yield path, about


def _quick() -> str | None:
    """Memory, where there is plenty: a disk takes milliseconds for each folder that goes."""
    with contextlib.suppress(OSError):
        room = os.statvfs(_MEMORY)
        if room.f_bavail * room.f_frsize > 2 * _MOST_BYTES and os.access(_MEMORY, os.W_OK):
            return _MEMORY
    return None


def _shown(tree: Tree, path: Parts) -> int:
    """Held as it is, to be mounted; a link is none."""
    if not hasattr(os, "O_PATH"):
        raise OSError("no mounts here")
    fd = tree.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("a link")
    return fd


class Guard:
    """Around one command: it takes its `turn`, `before` it `mounts` are made, `after` it what was
    done is judged. `after` is called however it went."""

    def __init__(self, workspace: Path, *, mounting: bool) -> None:
        """`mounting`: the sandbox can show the copies; otherwise all is judged afterwards."""
        self._workspace, self._mounting = workspace.resolve(), mounting
        self._one = threading.Lock()
        self._over = False
        self._stack = contextlib.ExitStack()
        self._tree: Tree | None = None
        self._looked = False
        self._copies: list[_Copy] = []
        self._known: dict[Parts, Stamp] = {}
        self.mounts: list[Mount] = []

    def turn(self) -> bool:
        """False while another command, of this server or another, writes in this folder. The lock
        goes with the last of `after`, or with this process."""
        with self._one, contextlib.ExitStack() as stack:
            if self._over:
                return True
            try:
                fd = os.open(self._workspace, FOLDER)
                stack.callback(os.close, fd)
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError as refusal:
                if refusal.errno not in (errno.ENOLCK, errno.ENOTSUP):
                    raise Unavailable(f"This folder cannot be used: {refusal.strerror}") from None
            self._tree = self._stack.enter_context(Tree(fd))
            self._stack.push(stack.pop_all())
            return True

    def before(self) -> None:
        """In a thread, and before the command. Refuses it where its work could not be judged."""
        with self._one:
            if self._over:  # whoever asked has given up
                return
            if self._tree is None:
                raise Unavailable("No command is run here before it is its turn")
            looked = look_through(self._tree, self._workspace, _BEFORE)
            if looked.unseen:
                what = self._label(next(iter(looked.unseen))) or "this folder"
                raise Unavailable(
                    f"No command is run here: {what} cannot be looked through for repositories"
                )
            for one in looked.found:
                self._known |= stamps(self._tree, self._workspace, one)
            self._looked = True
            for one in looked.found if self._mounting else ():
                above = (part.lower() for part in one[:-1])
                if one and one[-1].lower() == ".git" and ".git" not in above:
                    self._protect(self._tree, one)

    def _protect(self, tree: Tree, git: Parts) -> None:
        """A copy to work on, or, where that cannot be, all of it to be read only."""
        if len(self.mounts) > _MOUNTS or len(str(self._workspace.joinpath(*git))) > 4000:
            return
        if len(self._copies) < _STAGED:
            with contextlib.suppress(OSError):  # no folder, or a link
                fd = tree.open(git, FOLDER)
                try:
                    real = self._stack.enter_context(Tree(fd))
                finally:
                    os.close(fd)
                scratch = tempfile.TemporaryDirectory(prefix="vivavoce-git-", dir=_quick())
                made = self._stack.enter_context(scratch)
                copy = _Copy(self._workspace.joinpath(*git), git, real, Path(made))
                if copy.take():
                    self._copies.append(copy)
                    self._show(*copy.mounts())
                    for place in named_by(tree, self._workspace, git):
                        self._seal(tree, place)
                    return
        self._seal(tree, git)

    def _seal(self, tree: Tree, place: Parts) -> None:
        with contextlib.suppress(OSError):
            self._show(Mount(self._workspace.joinpath(*place), _shown(tree, place)))

    def _show(self, *mounts: Mount) -> None:
        for mount in mounts:
            self._stack.callback(os.close, mount.fd)
            self.mounts.append(mount)

    def after(self) -> tuple[str, ...]:
        """In a thread, when everything the command started is dead: what did not get through, in
        words."""
        with self._one, self._stack:
            self._over = True
            if self._tree is None or not self._looked:  # then no command was run
                return ()
            told = list(self._given())
            looked = look_through(self._tree, self._workspace, _AFTER)
            for one in looked.found:
                for path in dangers(self._tree, self._workspace, one, self._known):
                    aside = self._tree.put_aside(path)
                    words = "was put aside" if aside else "could not be put aside"
                    told.append(
                        f"{self._label(path)} {words}: git would run it, or go where it says, "
                        "outside"
                    )
            for path in looked.unseen:
                aside = self._tree.put_aside(path, shut=True) if path else False
                words = "was put aside and closed" if aside else "must not be used with git"
                told.append(f"{self._label(path)} {words}: it could not be looked through")
            return _bounded(told)

    def _given(self) -> Iterator[str]:
        for copy in self._copies:
            for path in copy.give():
                yield (
                    f"{self._label((*copy.git, path))} was not changed: it changed outside at the "
                    "same time, or cannot be what it was made"
                )
            self._known |= copy.given

    def _label(self, path: Parts) -> str:
        return "".join(c if c.isprintable() else "?" for c in "/".join(path))


def _bounded(told: list[str]) -> tuple[str, ...]:
    if len(told) <= _TOLD:
        return tuple(told)
    return (*told[:_TOLD], f"and {len(told) - _TOLD} more of the kind")
