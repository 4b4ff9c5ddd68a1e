"""The workspace: one folder, beneath which every path a tool is given is opened, or refused.

Owns what may be opened, how a refusal is told, and the walk over all that is in
it (less what `.gitignore` and good sense leave out; links are listed, never
followed). A file is known by where it really is: rules are checked there, not on
the words that led to it. Hard links cannot be told from the file itself; whoever
can make one into the workspace could read the file anyway, and writing never
goes through one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vivavoce.errors import ToolFailed
from vivavoce.tools import repositories
from vivavoce.tools.workspace.names import Rules, alike, label, shown
from vivavoce.tools.workspace.opening import FILE, FOLDER, Opened, Opening, best_opening
from vivavoce.tools.workspace.patterns import Ignore, ignored
from vivavoce.wire.values import Value

SKIPPED = frozenset({".git", "node_modules"})
MAX_ENTRIES = 200_000
_IGNORE_SIZE = 256 * 1024


class Found(Value):
    """`regular`: a file with content; a link, a pipe or a device is none."""

    parts: tuple[str, ...]
    folder: bool
    regular: bool
    modified: int


def tree(
    workspace: Workspace,
    base: Sequence[str] = (),
    *,
    limit: int = MAX_ENTRIES,
    depth: int | None = None,
    times: bool = False,
) -> Iterator[Found]:
    """Everything beneath `base` (a real place), nearest first, at most `limit` entries.

    `depth` 1 is the folder alone. `modified` is 0 unless `times` are asked for.
    """
    start = tuple(base)
    todo = deque([(start, rules_above(workspace, start))])
    left = limit
    while todo and left > 0:
        here, rules = todo.popleft()
        with contextlib.suppress(OSError):  # gone, moved or closed to us: the rest goes on
            listed = _listing(workspace, here, times)
            if any(one.parts[-1] == ".gitignore" and one.regular for one in listed):
                rules = _with_own(workspace, here, rules)
            for one in listed:
                if ignored(rules, one.parts, one.folder) or workspace.hidden.forbid(one.parts):
                    continue
                left -= 1
                if left < 0:
                    return
                yield one
                if one.folder and (depth is None or len(one.parts) - len(start) < depth):
                    todo.append((one.parts, rules))


def rules_above(workspace: Workspace, base: Sequence[str]) -> tuple[Ignore, ...]:
    """What the folders over `base` say about what is in it."""
    rules: tuple[Ignore, ...] = ()
    for depth in range(len(base)):
        rules = _with_own(workspace, tuple(base[:depth]), rules)
    return rules


def _with_own(
    workspace: Workspace, here: tuple[str, ...], rules: tuple[Ignore, ...]
) -> tuple[Ignore, ...]:
    try:
        with workspace.open_parts((*here, ".gitignore"), FILE) as found:
            text = os.read(found.fd, _IGNORE_SIZE).decode(errors="replace")
    except OSError:  # none, or a folder or a pipe of that name
        return rules
    return (*rules, Ignore(text, here))


def _listing(workspace: Workspace, here: tuple[str, ...], times: bool) -> list[Found]:
    with workspace.open_parts(here, FOLDER) as opened, os.scandir(opened.fd) as entries:
        found = [_found(here, entry, times) for entry in entries if entry.name not in SKIPPED]
    found.sort(key=lambda one: one.parts)
    return found


def _found(here: tuple[str, ...], entry: os.DirEntry[str], times: bool) -> Found:
    modified = 0
    if times:
        with contextlib.suppress(OSError):
            modified = entry.stat(follow_symlinks=False).st_mtime_ns
    folder = entry.is_dir(follow_symlinks=False)
    regular = entry.is_file(follow_symlinks=False)
    return Found((*here, entry.name), folder, regular, modified)


MAX_FILE = 10 * 1024 * 1024
MAX_PATH = 4096
HIDDEN = (".vivavoce",)
"""Neither read nor written nor listed: our own data, where it lies in the workspace."""
UNWRITABLE = (".git",)
"""Hooks and configuration in there are programs that git runs later, outside any sandbox."""
_LOOK_AT = 10_000  # names, for what may have been meant
_USERS = 1_000


class File(Value):
    """A regular file, held open for reading. `path` is where it really is, `name` is for words."""

    fd: int
    path: str
    name: str
    about: os.stat_result

    def read(self, limit: int) -> bytes:
        """All of it, even if it grew meanwhile, or a refusal."""
        if self.about.st_size > limit:
            raise too_big(self.name, self.about.st_size, limit)
        with os.fdopen(os.dup(self.fd), "rb") as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise too_big(self.name, len(data), limit)
        return data


class Workspace:
    """`hidden` and `unwritable` are names at any depth, or paths from the root if they have
    a slash. `opening` is for tests: the best way of this machine is taken otherwise."""

    def __init__(
        self,
        root: Path,
        *,
        hidden: Iterable[str | Path] = HIDDEN,
        unwritable: Iterable[str] = UNWRITABLE,
        max_bytes: int = MAX_FILE,
        opening: Opening | None = None,
    ) -> None:
        self.root = root.resolve()
        self.max_bytes = max_bytes
        self.hidden = Rules.of(self._relative(hidden))
        self._unwritable = Rules.of(unwritable)
        self._spellings = {str(self.root), str(root.absolute())}
        self._opening = opening or best_opening()

    # --- Opening ----------------------------------------------------------------------

    @contextlib.contextmanager
    def file(self, path: str) -> Iterator[File]:
        """A regular file, or `ToolFailed` that says why not."""
        with self.opened(path, FILE) as found:
            about, name = os.fstat(found.fd), label(found.parts)
            if stat.S_ISDIR(about.st_mode):
                raise ToolFailed(f"{name or 'That'} is a folder: list it with glob")
            if not stat.S_ISREG(about.st_mode):
                raise refused(f"{name} is no file but {_kind(about.st_mode)}")
            yield File(found.fd, "/".join(found.parts), name, about)

    def read(self, path: str) -> bytes:
        with self.file(path) as found:
            return found.read(self.max_bytes)

    @contextlib.contextmanager
    def opened(self, path: str, flags: int) -> Iterator[Opened]:
        parts = self.parts(path)
        try:
            found = self.open_parts(parts, flags)
        except OSError as refusal:
            raise self.refusal(path, refusal) from None
        with found:
            if self.hidden.forbid(found.parts):
                raise refused(f"'{shown(path)}' is not for tools")
            yield found

    def open_parts(self, parts: Sequence[str], flags: int) -> Opened:
        """Beneath the root; no rule is checked. The caller closes it. Raises `OSError`."""
        root = os.open(self.root, FOLDER | os.O_CLOEXEC)
        try:
            return self._opening(root, str(self.root), parts, flags)
        finally:
            os.close(root)

    @contextlib.contextmanager
    def exactly(self, parts: tuple[str, ...], flags: int) -> Iterator[int]:
        """What really is at this place: no link led there. Raises `OSError`."""
        with self.open_parts(parts, flags | os.O_NOFOLLOW) as found:
            if found.parts != parts:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            yield found.fd

    # --- Names ------------------------------------------------------------------------

    def parts(self, path: str) -> list[str]:
        """A path as it was given, relative to the root. Nothing is resolved yet."""
        if "\0" in path or len(path) > MAX_PATH:
            raise refused("That is no name of a file")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise refused("That is no name of a file") from None
        if path.startswith("/"):
            for root in self._spellings:
                if (path + "/").startswith(root.rstrip("/") + "/"):
                    return path[len(root) :].split("/")
            raise refused(f"'{shown(path)}' is outside the workspace; give a path within it")
        return path.split("/")

    def may_name(self, parts: Sequence[str]) -> bool:
        """By the words of a path alone, wherever they lead."""
        return not (self._unwritable.forbid(parts) or self.hidden.forbid(parts))

    def may_write(self, parts: Sequence[str]) -> bool:
        """By where it really is."""
        return self.may_name(parts) and repositories.may_write(self.root, parts)

    def refusal(self, path: str, why: OSError) -> ToolFailed:
        """In words that the model can use."""
        match why.errno:
            case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG:
                return self._missing(path)
            case errno.EXDEV:
                return refused(f"'{shown(path)}' leads out of the workspace")
            case errno.ELOOP:
                return refused(f"'{shown(path)}' is a link that leads nowhere")
            case errno.EACCES | errno.EPERM | errno.ENXIO | errno.EROFS:
                return refused(f"'{shown(path)}' may not be opened")
            case _:
                return ToolFailed(f"'{shown(path)}' could not be opened: {why.strerror}")

    def _missing(self, path: str) -> ToolFailed:
        there = (label(e.parts) for e in tree(self, limit=_LOOK_AT) if not e.folder)
        near = alike(path, there)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        message = f"There is no '{shown(path)}' in the workspace{hint}"
        return ToolFailed(message, cause="ENOENT", did_you_mean=near or None)

    def _relative(self, hidden: Iterable[str | Path]) -> Iterator[str]:
        for one in hidden:
            place = Path(one)
            if not place.is_absolute():
                yield str(one)
            elif place.resolve().is_relative_to(self.root):
                yield f"/{place.resolve().relative_to(self.root)}"


_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Workspaces:
    """Whose workspace is which: one for all, or, where users are known, a folder `each`.

    One user's tools and commands see nothing of another's. The folders are made on first use,
    in a root that no tool writes.
    """

    def __init__(
        self,
        root: Path,
        *,
        each: bool = False,
        whole: str | None = None,
        hidden: Iterable[str | Path] = HIDDEN,
    ) -> None:
        """`whole`: a user whose workspace is all of it, where others have a folder each."""
        self.root, self._each, self._hidden = root.resolve(), each, tuple(hidden)
        self._whole = whole
        self._found: dict[str, Workspace] = {}

    def of(self, user_id: str) -> Workspace:
        if not self._each or user_id == self._whole:
            return self._known(self.root)
        folder = self.root / folder_of(user_id)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink():  # not ours: nobody who makes one means well
            raise refused("This user's folder is a link, and is not used")
        return self._known(folder)

    def own(self, user_id: str) -> Path | None:
        """The folder that is this user's alone, if there is one."""
        if not self._each or user_id == self._whole:
            return None
        folder = self.root / folder_of(user_id)
        return folder if folder.is_dir() and not folder.is_symlink() else None

    def files(self, user_id: str) -> list[str]:
        """All regular files of that folder, whatever they are called, by their paths from it, and
        the folders that are closed to us, with a slash at the end."""
        if self.own(user_id) is None:
            return []
        workspace = self.of(user_id)
        found: list[str] = []
        folders: list[tuple[str, ...]] = [()]
        while folders:
            here = folders.pop()
            try:
                with workspace.exactly(here, FOLDER) as fd, os.scandir(fd) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append((*here, entry.name))
                        elif entry.is_file(follow_symlinks=False):
                            found.append("/".join((*here, entry.name)))
            except PermissionError:
                found.append("".join(f"{part}/" for part in here))  # told, with why it is not read
            except OSError:
                pass  # gone
        return sorted(found)

    def opened(self, user_id: str, path: str) -> int:
        """One of these, if it is one still; the caller closes it. Raises `OSError`."""
        if self.own(user_id) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if path.endswith("/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with self.of(user_id).exactly(tuple(path.split("/")), FILE) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "no file any more")
            return os.dup(fd)

    def forget(self, user_id: str) -> int:
        """Deletes that folder; how many files went. What several share is nobody's to delete."""
        folder = self.own(user_id)
        if folder is None:
            return 0
        self._found.pop(folder.name, None)
        count = 0
        folder.chmod(0o700)  # a command may have closed any of them, even to us
        for here, folders, files in os.walk(folder):
            count += len(files)
            for one in (Path(here, name) for name in folders):
                if not one.is_symlink():
                    one.chmod(0o700)
        shutil.rmtree(folder)  # links are removed, never followed
        return count

    def _known(self, folder: Path) -> Workspace:
        # Bounded, since users come and go: a workspace costs little to make again.
        if len(self._found) > _USERS:
            self._found.clear()
        return self._found.setdefault(folder.name, Workspace(folder, hidden=self._hidden))


def folder_of(user_id: str) -> str:
    """A name that is no path, no hidden file and no other user's, on any file system: what is
    not plain has a digest of the whole behind it, and a sign that no plain name has."""
    if _SAFE.fullmatch(user_id):
        return user_id
    plain = re.sub(r"[^a-z0-9]+", "-", user_id.casefold()).strip("-")[:40] or "user"
    return f"{plain}={hashlib.sha256(user_id.encode(errors='surrogatepass')).hexdigest()[:24]}"


def refused(message: str) -> ToolFailed:
    return ToolFailed(message, cause="EACCES")


def too_big(name: str, size: int, limit: int) -> ToolFailed:
    return ToolFailed(
        f"{name} is too big to read ({size / 1e6:.1f} MB; {limit / 1e6:.1f} MB is the most): "
        "search in it with grep"
    )


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
