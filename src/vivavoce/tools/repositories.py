"""Git repositories in the workspace: what tools may change in them, and what git would run.

Git runs programs that a repository names: hooks, and whatever its settings say
(`core.fsmonitor`, filters, includes of further settings). Whoever plants one has it run at the
user's next `git status`, outside any sandbox. So file tools write nothing of it, and a command
works on a copy of what git itself writes (`Guard`): refs, logs, the index and the like. When the
command is over, what of that changed is put in place, file by file and by name; `objects` alone
is written directly. What a command made anew (a repository of its own) is looked through, and
what git would run of it is put aside.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.processes.once import Once
from vivavoce.processes.programs import find

_STATE = re.compile(
    r"index|sharedindex\.[0-9a-f]+|packed-refs|HEAD|[A-Z]+(?:_[A-Z]+)*_HEAD|AUTO_MERGE"
    r"|(?:COMMIT|TAG|NOTES)_EDITMSG|(?:MERGE|SQUASH)_MSG|MERGE_MODE|MERGE_RR"
)
"""Files right in `.git` that git writes in its daily work, and that hold no more than data."""
_TREES = ("refs", "logs")
_UNREAD = ("branches", "description")
"""Of no use to a command; every mount costs."""
_STAGED = 16
"""Repositories whose state a command may change; more are read-only."""
_MOST_FILES, _MOST_BYTES = 20_000, 256 << 20
_HEAD = re.compile(rb"(?:(?:ref: refs/[^\n]+|[0-9a-f]{40}|[0-9a-f]{64})(?:[\t\n].*)?)?", re.DOTALL)
_SECONDS = 10.0
_FEW, _MANY = 2_000, 500_000
_DEEP = 2_000
_MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own in it, with a name that is not known
_ASIDE = ".put-aside"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = _READ | os.O_DIRECTORY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Stamp = tuple[int, ...]


# --- What git reads -----------------------------------------------------------------------

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]\s*(.*)')
_VARIABLE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_PLAIN = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase"
    r"|precomposeunicode|symlinks|autocrlf|eol|safecrlf)|user\.(?:name|email)"
    r"|remote\.[^.]+\.(?:url|fetch)|branch\..+\.(?:remote|merge|rebase)"
    r"|init\.defaultbranch|extensions\.objectformat"
)
"""Settings that name no program, no further settings, and no other place."""


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Each `section.key` with its value, in lower case but for the value. Liberal: what cannot be
    read is given without a name."""
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if (found := _SECTION.match(line)) is not None:
            section = ".".join(filter(None, (found[1].lower(), found[2])))
            line = found[3].strip()
        if not line or line[0] in "#;":
            continue
        variable = _VARIABLE.fullmatch(line)
        if variable is None or not section:
            yield "", line
        else:
            yield f"{section}.{variable[1].lower()}", variable[2] or ""


def _harmless(text: str) -> bool:
    return all(
        _PLAIN.fullmatch(name) and "::" not in value and not value.startswith("-")
        for name, value in _settings(text)
    )


def named_by(repository: Path) -> Iterator[Path]:
    """What a repository's settings name within its own folder: files that git reads as further
    settings or runs as programs (`include.path`, `core.hooksPath`, a filter in the project). They
    need not be there yet."""
    root = repository.parent.resolve()
    for name in ("config", "config.worktree"):
        for setting, value in _settings(_text(repository / name)):
            if setting.split(".")[0] in ("remote", "branch", "submodule", "user", "url"):
                continue
            for word in _words(value):
                # Programs are named from the project's folder, further settings from `.git`.
                for base in (root, repository):
                    place = Path(os.path.normpath(base / word))
                    inside = place != root and place.is_relative_to(root)
                    if inside and not place.is_relative_to(root / ".git"):
                        yield place


def _words(value: str) -> Iterator[str]:
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    for word in words:
        plain = word.lstrip("!").strip()
        # One word without a slash or a dot is a number, a yes, a program of the system.
        if plain and ("/" in plain or "." in plain) and not plain.startswith(("-", "~", "$")):
            yield plain


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        fd = os.open(path, _READ)
        with os.fdopen(fd, "rb") as stream:
            return stream.read(1 << 20).decode(errors="replace")
    return ""


def would_be_one(names: Iterable[str]) -> bool:
    """Would git take a folder with these names for a repository, whatever it is called?"""
    there = set(names)
    return "HEAD" in there and ("commondir" in there or {"objects", "refs"} <= there)


def may_write(root: Path, parts: Sequence[str]) -> bool:
    """Is this file, by its place beneath the root, none that git would read as a repository's or
    run? Repositories in folders named `.git` are another's business."""
    target = root.joinpath(*parts)
    for depth in range(len(parts)):
        folder = root.joinpath(*parts[:depth])
        with contextlib.suppress(OSError):
            names = os.listdir(folder)
            if would_be_one((*names, parts[depth])):
                return False
            if ".git" in names and any(
                target.is_relative_to(one) for one in named_by(folder / ".git")
            ):
                return False
    return True


# --- What a repository has that git would run ----------------------------------------------


def dangers(repository: Path) -> dict[Path, Stamp]:
    """What of it names or is a program, or leads elsewhere, each with what tells it from another.
    `repository` is a `.git`, or a folder that git takes for one."""
    found: list[Path] = []
    about = _look(repository)
    if about is None:
        return {}
    if not stat.S_ISDIR(about.st_mode):  # says where git is to look instead
        return {repository: _stamp(about)}
    settings = [repository / name for name in ("config", "config.worktree")]
    found += [one for one in settings if one.is_file() and not _harmless(_text(one))]
    found += [repository / "commondir", repository / "objects/info/alternates"]
    found += [repository / name for name in ("rebase-merge", "rebase-apply", "sequencer")]
    found += [p for p in _below(repository / "hooks", 2) if not p.name.endswith(".sample")]
    found += [p for p in _below(repository, 1) if p.is_symlink()]
    for tree in ("objects", *_TREES):
        deep = 2 if tree == "objects" else 16
        found += [p for p in _below(repository / tree, deep) if p.is_symlink()]
    named = named_by(repository) if repository.name == ".git" else ()
    found += [p for place in named for p in (place, *_below(place, 4))]
    return {path: _stamp(about) for path in found if (about := _look(path)) is not None}


def _below(folder: Path, depth: int) -> list[Path]:
    """Files and links beneath it, and no link followed."""
    found: list[Path] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += _below(Path(entry.path), depth - 1) if depth > 1 else []
            else:
                found.append(Path(entry.path))
            if len(found) > _DEEP:
                break
    return found


def _look(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _stamp(about: os.stat_result) -> Stamp:
    """Not the time of change alone: that one can be set."""
    if stat.S_ISDIR(about.st_mode):
        return (about.st_ino, about.st_mode)
    return (about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def _repositories(workspace: Path) -> list[Path] | None:
    """Everything that git would take for a repository, or for the way to one; None where there is
    too much to look at."""
    named = _walked(workspace, _FEW)
    program = find("find", workspace, "/usr/bin:/bin") if named is None else None
    if named is None and program is None:
        named = _walked(workspace, _MANY)
    elif program is not None:
        # A program, since a large project takes Python long enough to make a voice stutter.
        wanted = ("(", "-iname", ".git", "-o", "-name", "HEAD", ")", "-print0")
        try:
            command = (program, ".", "-xdev", *wanted)
            done = Once(command, _SECONDS, cwd=workspace, env={"LC_ALL": "C"}, nice=5)()
        except OSError:  # a timeout is one too
            return None
        if not done.complete:
            return None
        named = [workspace / os.fsdecode(one) for one in done.output.split(b"\0") if one]
    if named is None:
        return None
    found: dict[Path, None] = {}
    for one in named:
        if one.name != "HEAD":
            found.setdefault(one)
        elif one.parent != workspace or would_be_one(os.listdir(workspace)):
            with contextlib.suppress(OSError):
                if would_be_one(os.listdir(one.parent)):
                    found.setdefault(one.parent)
    return list(found)


def _walked(workspace: Path, most: int) -> list[Path] | None:
    """None where there are more entries than that."""
    found: list[Path] = []
    for folder, folders, files in os.walk(workspace):
        most -= len(folders) + len(files)
        if most < 0:
            return None
        names = (name for name in (*folders, *files) if name.lower() == ".git" or name == "HEAD")
        found += [Path(folder, name) for name in names]
    return found


# --- A copy to work on ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mount:
    """`fd` shown at `at`, to be written or not."""

    at: Path
    fd: int
    writable: bool = False


@dataclass(eq=False)
class _Copy:
    """One repository's state: copied, worked on by a command, and what changed put back."""

    git: Path
    folder: int
    """The real one, held open: whatever takes its name meanwhile, this is it."""
    copy: Path
    _known: dict[str, tuple[Stamp, Stamp]] = field(default_factory=dict)
    """Of each file: what the real one and its copy were."""
    _left: int = _MOST_BYTES

    def take(self) -> bool:
        """False where there is too much of it, or no room."""
        try:
            for name in os.listdir(self.folder):
                if _STATE.fullmatch(name):
                    self._take_file(name)
            for name in _TREES:
                self._take_tree(name)
        except OSError:
            return False
        return self._left >= 0 and len(self._known) <= _MOST_FILES

    def _take_tree(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            about = os.stat(path, dir_fd=self.folder, follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                self._take_folder(path)

    def _take_folder(self, path: str) -> None:
        (self.copy / path).mkdir(exist_ok=True)
        for name in _names(self.folder, path):
            about = os.stat(f"{path}/{name}", dir_fd=self.folder, follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                self._take_tree(f"{path}/{name}")
            else:
                self._take_file(f"{path}/{name}")
            if self._left < 0 or len(self._known) > _MOST_FILES:
                return

    def _take_file(self, path: str) -> None:
        try:
            fd = os.open(path, _READ, dir_fd=self.folder)
        except OSError as refusal:
            if refusal.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):  # gone, or no file
                return
            raise
        with os.fdopen(fd, "rb") as real:
            about = os.fstat(fd)
            self._left -= about.st_size
            if not stat.S_ISREG(about.st_mode) or self._left < 0:
                return
            with (self.copy / path).open("xb") as copied:
                shutil.copyfileobj(real, copied)
            # As old as the real one: git compares its index with the files by their times.
            os.utime(self.copy / path, ns=(about.st_atime_ns, about.st_mtime_ns))
        self._known[path] = (_stamp(about), _stamp((self.copy / path).lstat()))

    def mounts(self) -> Iterator[Mount]:
        """The copy in the place of the real one; of that one what is not copied, to be read."""
        yield Mount(self.git, os.open(self.copy, _FOLDER), writable=True)
        for name in sorted(os.listdir(self.folder)):
            if _STATE.fullmatch(name) or name in _TREES or name in _UNREAD:
                continue
            with contextlib.suppress(OSError):
                fd = _shown(name, self.folder)
                folder = stat.S_ISDIR(os.fstat(fd).st_mode)
                yield Mount(self.git / name, fd, writable=name == "objects" and folder)

    def give(self) -> list[str]:
        """What changed takes its place. The names of what the user changed at the same time, and
        what stays as it is therefore."""
        there = {path: _stamp(about) for path, about in self._there()}
        changed = [p for p, now in there.items() if self._known.get(p, ((), ()))[1] != now]
        gone = [path for path in self._known if path not in there]
        # Refs that were packed are in the one file before they are gone from the others.
        order = {"packed-refs": 0, "index": 2, "HEAD": 3}
        refused = [
            path
            for path in sorted(changed, key=lambda path: (order.get(path, 1), path))
            if not self._put(path)
        ]
        return refused + [path for path in gone if not self._remove(path)]

    def _there(self) -> Iterator[tuple[str, os.stat_result]]:
        state = [self.copy / name for name in os.listdir(self.copy) if _STATE.fullmatch(name)]
        for path in (*state, *(p for tree in _TREES for p in _below(self.copy / tree, 16))):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode) and not path.name.endswith(".lock"):
                yield str(path.relative_to(self.copy)), about

    def _put(self, path: str) -> bool:
        try:
            fd = os.open(self.copy / path, _READ)
            with os.fdopen(fd, "rb") as new, self._parent(path, make=True) as (folder, name):
                if path.endswith("HEAD") and not path.startswith("logs/"):
                    if not _HEAD.fullmatch(new.read(4096)):
                        return False
                    new.seek(0)
                if not self._as_it_was(path, folder, name):
                    return False
                # As git does it: whoever has the lock may write, and a rename ends it.
                lock = os.open(f"{name}.lock", _NEW, 0o666, dir_fd=folder)
                try:
                    with os.fdopen(lock, "wb") as out:
                        shutil.copyfileobj(new, out)
                    if path == "index":
                        about = os.fstat(fd)
                        times = (about.st_atime_ns, about.st_mtime_ns)
                        os.utime(f"{name}.lock", ns=times, dir_fd=folder, follow_symlinks=False)
                    os.rename(f"{name}.lock", name, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    os.unlink(f"{name}.lock", dir_fd=folder)
                    raise
        except OSError:
            return False
        return True

    def _remove(self, path: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            try:
                with self._parent(path) as (folder, name):
                    if not self._as_it_was(path, folder, name):
                        return False
                    os.unlink(name, dir_fd=folder)
            except OSError:
                return False
        return True

    def _as_it_was(self, path: str, folder: int, name: str) -> bool:
        known = self._known.get(path)
        try:
            now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return known is None
        if stat.S_ISDIR(now.st_mode) and known is None:  # of refs that are gone
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=folder)
                return True
            return False
        return known is not None and known[0] == _stamp(now)

    @contextlib.contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder it is in, reached step by step and through no link."""
        *folders, name = path.split("/")
        here = os.dup(self.folder)
        try:
            for each in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(each, dir_fd=here)
                inner = os.open(each, _FOLDER, dir_fd=here)
                os.close(here)
                here = inner
            yield here, name
        finally:
            os.close(here)


def _quick() -> str | None:
    """Memory, where there is plenty: a disk takes milliseconds for each folder that goes."""
    with contextlib.suppress(OSError):
        room = os.statvfs(_MEMORY)
        if room.f_bavail * room.f_frsize > 2 * _MOST_BYTES and os.access(_MEMORY, os.W_OK):
            return _MEMORY
    return None


def _names(folder: int, path: str) -> list[str]:
    fd = os.open(path, _FOLDER, dir_fd=folder)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _shown(name: str | Path, folder: int | None = None) -> int:
    """Held as it is, to be mounted; a link is none."""
    if not hasattr(os, "O_PATH"):
        raise OSError("no mounts here")
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("a link")
    return fd


class Guard:
    """Around one command: `before` it `mounts` are made, `after` it what was done is judged."""

    def __init__(self, workspace: Path, *, mounting: bool) -> None:
        """`mounting`: the sandbox can show the copies; otherwise all is judged afterwards."""
        self._workspace, self._mounting = workspace, mounting
        self._one = threading.Lock()
        self._over = False
        self._stack = contextlib.ExitStack()
        self._copies: list[_Copy] = []
        self._found: list[Path] = []
        self._known: dict[Path, Stamp] = {}
        self.mounts: list[Mount] = []

    def before(self) -> None:
        """In a thread, and before the command."""
        with self._one:
            if self._over:  # whoever asked has given up
                return
            found = _repositories(self._workspace)
            self._found = found if found is not None else [self._workspace / ".git"]
            self._known = {p: s for one in self._found for p, s in dangers(one).items()}
            for one in self._found if self._mounting else ():
                if one.name.lower() == ".git" and not _within_another(one, self._workspace):
                    self._protect(one)

    def _protect(self, git: Path) -> None:
        """A copy to work on, or, where that cannot be, all of it to be read only."""
        about = _look(git)
        if about is None or stat.S_ISLNK(about.st_mode):
            return
        if stat.S_ISDIR(about.st_mode) and len(self._copies) < _STAGED:
            folder = os.open(git, _FOLDER)
            self._stack.callback(os.close, folder)
            scratch = tempfile.TemporaryDirectory(prefix="vivavoce-git-", dir=_quick())
            made = self._stack.enter_context(scratch)
            copy = _Copy(git, folder, Path(made))
            if copy.take():
                self._copies.append(copy)
                self._show(*copy.mounts())
                for place in named_by(git):
                    self._seal(place)
                return
        self._seal(git)

    def _seal(self, place: Path) -> None:
        with contextlib.suppress(OSError):
            if place.resolve() == place:  # reached through no link
                self._show(Mount(place, _shown(place)))

    def _show(self, *mounts: Mount) -> None:
        for mount in mounts:
            self._stack.callback(os.close, mount.fd)
            self.mounts.append(mount)

    def after(self) -> tuple[str, ...]:
        """In a thread, when everything the command started is dead: what did not get through, in
        words."""
        with self._one, self._stack:
            self._over = True
            told = [
                f"{self._label(copy.git / path)} was not changed: it changed outside at the same "
                "time, or cannot be what it was made"
                for copy in self._copies
                for path in copy.give()
            ]
            found = _repositories(self._workspace)
            if found is None:
                told.append("There is too much here to look for what git would run of it")
                found = self._found
            for one in found:
                for path, stamp in dangers(one).items():
                    if self._known.get(path) != stamp and _put_aside(path):
                        words = "was put aside: git would run it, or go where it says, outside"
                        told.append(f"{self._label(path)} {words}")
            return tuple(told)

    def _label(self, path: Path) -> str:
        return "".join(
            c if c.isprintable() else "?" for c in str(path.relative_to(self._workspace))
        )


def _within_another(git: Path, workspace: Path) -> bool:
    above = git.relative_to(workspace).parts[:-1]
    return any(part.lower() == ".git" for part in above)


def _put_aside(path: Path) -> bool:
    for number in range(100):
        aside = path.with_name(f"{path.name}{_ASIDE}{number or ''}")
        if not os.path.lexists(aside):
            with contextlib.suppress(FileNotFoundError):
                path.rename(aside)
                return True
            return False
    return False
