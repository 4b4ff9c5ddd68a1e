"""Replacing a file's content: whole or not at all, and never anywhere but in the workspace.

The new content goes into a file beside the old one, is on disk before it takes
the name, and the name is given in a folder that is held open: whatever becomes
of the path meanwhile, nothing is written through a link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence

from vivavoce.errors import ToolFailed
from vivavoce.tools.workspace.names import label, shown
from vivavoce.tools.workspace.opening import FILE, FOLDER, Opened
from vivavoce.tools.workspace.root import Workspace, refused, too_big

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o666  # less the umask, as any program makes files


def write(
    workspace: Workspace, path: str, data: bytes, *, replaces: os.stat_result | None = None
) -> tuple[str, bool]:
    """Where it really went, and whether it is new. `replaces`: only if that is still there."""
    if len(data) > workspace.max_bytes:
        raise too_big(shown(path), len(data), workspace.max_bytes)
    place = _place(workspace, path)
    _check(workspace, path, place)
    try:
        with _parent(workspace, path, place[:-1]) as folder:
            where = (*folder.parts, place[-1])
            _check(workspace, path, where)
            old = _old(folder.fd, where)
            if replaces is not None and (old is None or _stamp(old) != _stamp(replaces)):
                raise ToolFailed(f"{label(where)} was changed meanwhile: read it again")
            _put(folder.fd, place[-1], data, old)
    except OSError as refusal:
        raise workspace.refusal(path, refusal) from None
    return label(where), old is None


def _check(workspace: Workspace, path: str, where: Sequence[str]) -> None:
    if not workspace.may_write(where):
        raise refused(f"'{shown(path)}' is protected and is not written")


def _place(workspace: Workspace, path: str) -> tuple[str, ...]:
    """Where an existing file really is; else the path as it is given."""
    given = [part for part in workspace.parts(path) if part not in ("", ".")]
    if not given or given[-1] == "..":
        raise refused(f"'{shown(path)}' is a folder, not a file")
    try:
        found = workspace.open_parts(given, FILE)
    except OSError as refusal:
        if refusal.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENXIO):
            raise workspace.refusal(path, refusal) from None
        return tuple(given)
    os.close(found.fd)
    if not found.parts:
        raise refused(f"'{shown(path)}' is a folder, not a file")
    return found.parts


@contextlib.contextmanager
def _parent(workspace: Workspace, path: str, parts: Sequence[str]) -> Iterator[Opened]:
    """The folder, made with all above it where there is none yet."""
    folder, missing = _nearest(workspace, parts)
    try:
        for name in missing:
            if not workspace.may_write((*folder.parts, name)):
                raise refused(f"'{shown(path)}' is protected and is not written")
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder.fd)
            flags = FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = Opened(os.open(name, flags, dir_fd=folder.fd), (*folder.parts, name))
            os.close(folder.fd)
            folder = inner
        yield folder
    finally:
        os.close(folder.fd)


def _nearest(workspace: Workspace, parts: Sequence[str]) -> tuple[Opened, Sequence[str]]:
    """The innermost folder that is there, and the names that are not."""
    for count in range(len(parts), -1, -1):
        try:
            folder = workspace.open_parts(parts[:count], FOLDER)
        except FileNotFoundError:
            if count and parts[count - 1] == "..":
                raise
            continue
        return folder, parts[count:]
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))  # the root itself is gone


def _old(folder: int, where: Sequence[str]) -> os.stat_result | None:
    """What has the name now; not looked through, if it is a link by now."""
    try:
        about = os.stat(where[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    name = label(where)
    if stat.S_ISLNK(about.st_mode):
        raise refused(f"{name} is a link that leads nowhere")
    if not stat.S_ISREG(about.st_mode):
        raise refused(f"{name} is no file")
    if not about.st_mode & 0o222:
        raise refused(f"{name} is read-only")
    return about


def _put(folder: int, name: str, data: bytes, old: os.stat_result | None) -> None:
    draft = f".vivavoce-{secrets.token_hex(8)}"
    fd = os.open(draft, _NEW, _MODE, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as stream:
            if old is not None:
                # While it is still empty; the owner before the rights.
                with contextlib.suppress(PermissionError):
                    os.fchown(fd, old.st_uid, old.st_gid)
                os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
            stream.write(data)
            stream.flush()
            os.fsync(fd)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    with contextlib.suppress(OSError):  # it has the name; not every file system syncs folders
        os.fsync(folder)


def _stamp(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_ino, about.st_size, about.st_mtime_ns
