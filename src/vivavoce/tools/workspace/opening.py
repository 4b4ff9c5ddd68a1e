"""Opening something beneath a folder, whatever the path says and whoever moves things meanwhile.

Two ways with one meaning. On Linux the kernel resolves the whole path
(`openat2`, RESOLVE_BENEATH); elsewhere, and where a link is absolute, we go
step by step: each part is opened by itself without following, a link is read
and its parts take its place, and `..` goes back to a folder we still hold. In
neither is there a moment between looking and opening. What leads out is
`EXDEV`. Which files may be opened at all is decided by `root.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MAX_LINKS = 40  # the kernel's own measure
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOCTTY
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
"""Non-blocking: a FIFO without a writer must not hold us up before we see what it is."""

_SYS_OPENAT2 = 437  # on every architecture that Python runs on
_BENEATH, _NO_MAGICLINKS = 0x08, 0x02


@dataclass(frozen=True, slots=True)
class Opened:
    """`parts` is where it really is beneath the root, every link resolved."""

    fd: int
    parts: tuple[str, ...]

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


Opening = Callable[[int, str, Sequence[str], int], Opened]
"""The root's descriptor and its real path, the parts of a path, flags. Raises `OSError`."""


def best_opening() -> Opening:
    """The kernel's way where it has one and lets us."""
    return open_by_kernel if _kernel_can() else open_by_steps


def out_of(path: str) -> OSError:
    return OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)


# --- Step by step ---------------------------------------------------------------------


@dataclass(slots=True)
class _Walk:
    """The folders from the root to where we are, all held open."""

    root: int
    held: list[tuple[str, int]] = field(default_factory=list)

    @property
    def here(self) -> int:
        return self.held[-1][1] if self.held else self.root

    def up(self) -> None:
        if not self.held:
            raise out_of("..")
        os.close(self.held.pop()[1])

    def down(self, name: str) -> None:
        flags = FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC
        self.held.append((name, os.open(name, flags, dir_fd=self.here)))

    def to_the_root(self) -> None:
        while self.held:
            self.up()

    def parts(self, *more: str) -> tuple[str, ...]:
        return (*(name for name, _ in self.held), *more)


def open_by_steps(root: int, root_path: str, parts: Sequence[str], flags: int) -> Opened:
    walk, todo, links = _Walk(root), deque(_meant(parts)), 0
    try:
        while todo:
            name = todo.popleft()
            try:
                if name == "..":
                    walk.up()
                elif todo:
                    walk.down(name)
                else:
                    last = flags | os.O_NOFOLLOW | os.O_CLOEXEC
                    return Opened(os.open(name, last, dir_fd=walk.here), walk.parts(name))
            except OSError as refusal:
                target = _link(name, walk.here, refusal)
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
                if target.startswith("/"):
                    target = _inside(target, root_path)
                    walk.to_the_root()
                todo.extendleft(reversed(_meant(target.split("/"))))
        return Opened(os.open(".", flags | os.O_CLOEXEC, dir_fd=walk.here), walk.parts())
    finally:
        walk.to_the_root()


def _meant(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if part not in ("", ".")]


def _link(name: str, folder: int, refusal: OSError) -> str:
    """Where it points, if a link is why it could not be opened; else the refusal again."""
    if name == ".." or refusal.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
        raise refusal
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        raise refusal from None


def _inside(target: str, root_path: str) -> str:
    """An absolute link, relative to the root. By its words: its links are resolved as we go."""
    base = root_path.rstrip("/") + "/"
    if not (target + "/").startswith(base):
        raise out_of(target)
    return target[len(base) :]


# --- By the kernel --------------------------------------------------------------------


class _How(ctypes.Structure):
    """`struct open_how` of linux/openat2.h."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_by_kernel(root: int, root_path: str, parts: Sequence[str], flags: int) -> Opened:
    try:
        fd = _openat2(root, "/".join(_meant(parts)) or ".", flags | os.O_CLOEXEC)
    except OSError as refusal:
        # EXDEV may be an absolute link that stays inside, EAGAIN that something was
        # being renamed: going by steps answers both.
        if refusal.errno not in (errno.EXDEV, errno.EAGAIN):
            raise
        return open_by_steps(root, root_path, parts, flags)
    try:
        return Opened(fd, _real(fd, root))
    except OSError:
        os.close(fd)
        raise


def _openat2(folder: int, path: str, flags: int) -> int:
    how = _How(flags=flags, mode=0, resolve=_BENEATH | _NO_MAGICLINKS)
    fd = _syscall(_SYS_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    if fd < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return int(fd)


def _real(fd: int, root: int) -> tuple[str, ...]:
    """Where the kernel says it is: names are judged by where a path led, not by how it is spelt."""
    base = os.readlink(f"/proc/self/fd/{root}").rstrip("/") + "/"
    path = os.readlink(f"/proc/self/fd/{fd}") + "/"
    if not path.startswith(base):  # moved away in this very moment
        raise out_of(path)
    return tuple(part for part in path[len(base) :].split("/") if part)


def _kernel_can() -> bool:
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError):
        root = os.open("/", FOLDER | os.O_CLOEXEC)
        try:
            os.close(open_by_kernel(root, "/", (), FOLDER).fd)
            return True
        finally:
            os.close(root)
    return False


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = (
    *(ctypes.c_long, ctypes.c_int, ctypes.c_char_p),
    *(ctypes.POINTER(_How), ctypes.c_size_t),
)
