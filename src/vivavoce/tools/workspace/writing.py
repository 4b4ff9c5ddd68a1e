"""`write_file`, `edit_file`, `undo_change`: a file's content replaced, whole or not at all, nowhere
else; and what was there before, so that it can be put back.

An edit replaces exactly the text it names. When that is not there, or is there
more than once, nothing is written and the model is told what would help. The
new content goes into a file beside the old one, is on disk before it takes the
name, and the name is given in a folder that is held open: whatever becomes of
the path meanwhile, nothing is written through a link.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolOutput
from vivavoce.tools.workspace.changes import Change
from vivavoce.tools.workspace.names import label, shown
from vivavoce.tools.workspace.opening import FILE, FOLDER, Opened
from vivavoce.tools.workspace.root import Workspace, refused, too_big

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o666  # less the umask, as any program makes files
_nothing = contextlib.nullcontext()


def write(
    workspace: Workspace,
    path: str,
    data: bytes,
    *,
    replaces: os.stat_result | None = None,
    keeping: Callable[[str, bool], contextlib.AbstractContextManager[None]] = lambda *_: _nothing,
) -> tuple[str, bool]:
    """Where it really went, and whether it is new. `replaces`: only if that is still there;
    `keeping` is entered for the change, with both."""
    if len(data) > workspace.max_bytes:
        raise too_big(shown(path), len(data), workspace.max_bytes)
    place = _place(workspace, path)
    _check(path, workspace.may_name(place))
    try:
        with _parent(workspace, path, place[:-1]) as folder:
            where = (*folder.parts, place[-1])
            _check(path, workspace.may_write(where))
            old = _old(folder.fd, where)
            if replaces is not None and (old is None or _stamp(old) != _stamp(replaces)):
                raise ToolFailed(f"{label(where)} was changed meanwhile: read it again")
            with keeping(label(where), old is None):
                _put(folder.fd, place[-1], data, old)
    except OSError as refusal:
        raise workspace.refusal(path, refusal) from None
    return label(where), old is None


def _check(path: str, fine: bool) -> None:
    if not fine:
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


def place_of(workspace: Workspace, path: str) -> str:
    """Where `write` would put it, every link resolved; raises as it would."""
    place = _place(workspace, path)
    try:
        folder, missing = _nearest(workspace, place[:-1])
    except OSError as refusal:
        raise workspace.refusal(path, refusal) from None
    with folder:
        return "/".join((*folder.parts, *missing, place[-1]))


@contextlib.contextmanager
def _parent(workspace: Workspace, path: str, parts: Sequence[str]) -> Iterator[Opened]:
    """The folder, made with all above it where there is none yet."""
    folder, missing = _nearest(workspace, parts)
    try:
        for name in missing:
            _check(path, workspace.may_write((*folder.parts, name)))
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


MAX_DIFF = 60
_DIFF_LINES = 5_000  # comparing more takes longer than an edit should
_NAMED = 5
_SHOWN = 500  # characters of what sounds like the text that is not there


def undo(workspace: Workspace, change: Change) -> ToolOutput:
    """Only where the file is still as it was written: what came after is not lost with it."""
    try:
        with workspace.file(change.name) as found:
            now, about = found.read(workspace.max_bytes), found.about
    except ToolFailed:
        raise ToolFailed(f"{change.name} is not there any more") from None
    if not change.wrote(now):
        raise ToolFailed(f"{change.name} was changed since, so it is left as it is")
    if change.too_big:
        raise ToolFailed(f"What was in {change.name} before is not kept: it was too big")
    if change.before is None:
        _remove(workspace, change.name, about)
        words = f"Deleted {change.name}, which was new."
    else:
        write(workspace, change.name, change.before, replaces=about)
        words = f"Put {change.name} back as it was."
    return ToolOutput(words, files_changed=(change.name,))


def _remove(workspace: Workspace, path: str, replaces: os.stat_result) -> None:
    place = _place(workspace, path)
    _check(path, workspace.may_write(place))
    try:
        with _parent(workspace, path, place[:-1]) as folder:
            old = _old(folder.fd, place)
            if old is None or _stamp(old) != _stamp(replaces):
                raise ToolFailed(f"{label(place)} was changed meanwhile: read it again")
            os.unlink(place[-1], dir_fd=folder.fd)
    except OSError as refusal:
        raise workspace.refusal(path, refusal) from None


Keeping = Callable[[str, bytes | None, bytes, bool], contextlib.AbstractContextManager[None]]
"""Given the file's name, what was in it (None: it was not there), what will be, and whether what
was is too big. Entered while it is changed; raises `ToolFailed` where it cannot be kept."""


def _forgetting(*_: object) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def write_file(
    workspace: Workspace, path: str, content: str, keep: Keeping = _forgetting
) -> ToolOutput:
    before, data = _before(workspace, path), _encoded(content)

    def keeping(name: str, new: bool) -> contextlib.AbstractContextManager[None]:
        return keep(name, None if new else before or b"", data, not new and before is None)

    name, new = write(workspace, path, data, keeping=keeping)
    plural = "" if len(content) == 1 else "s"
    words = f"Wrote {len(content)} character{plural} to {name}"
    return ToolOutput(
        f"{words}{'' if new else ', replacing what was there'}.", files_changed=(name,)
    )


def edit_file(
    workspace: Workspace,
    path: str,
    old_string: str,
    new_string: str,
    replace_all: bool = False,
    keep: Keeping = _forgetting,
) -> ToolOutput:
    if old_string == new_string:
        raise ToolFailed("Both texts are the same: there is nothing to change")
    with workspace.file(path) as found:
        data = found.read(workspace.max_bytes)
    name = found.name
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ToolFailed(f"{name} is no text in UTF-8 and cannot be edited") from None
    if old_string not in text and "\r\n" in text:  # models write lines as most files have them
        old_string, new_string = (s.replace("\n", "\r\n") for s in (old_string, new_string))
    count = text.count(old_string)
    if count == 0:
        raise ToolFailed(_not_there(name, text, old_string))
    if count > 1 and not replace_all:
        raise ToolFailed(
            f"That text is in {name} {count} times ({_lines_of(text, old_string)}): "
            "give more of the text around it, or set replace_all"
        )
    changed = text.replace(old_string, new_string)
    after = _encoded(changed)

    def keeping(name: str, new: bool) -> contextlib.AbstractContextManager[None]:
        return keep(name, data, after, False)

    write(workspace, found.path, after, replaces=found.about, keeping=keeping)
    head = f"Replaced {count} place{'' if count == 1 else 's'} in {name}."
    return ToolOutput("\n".join([head, *diff(name, text, changed)]), "code", files_changed=(name,))


def _before(workspace: Workspace, path: str) -> bytes | None:
    try:
        return workspace.read(path)
    except ToolFailed:
        return None  # not there, or nothing that could be put back


def diff(name: str, old: str, new: str) -> list[str]:
    """A short unified one; none where the file is very long."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) > _DIFF_LINES:
        return []
    lines = list(difflib.unified_diff(before, after, name, name, lineterm="", n=2))
    if len(lines) > MAX_DIFF:
        return [*lines[:MAX_DIFF], f"({len(lines) - MAX_DIFF} more lines)"]
    return lines


def _not_there(name: str, text: str, wanted: str) -> str:
    """Spoken words have no case and no spaces of their own: is there something that sounds so?"""
    letters = _letters(wanted)
    at = _letters(text).find(letters) if letters else -1
    if at < 0:
        return f"That text is not in {name}: read the file and give it exactly as it is there"
    line, there = _place_of(text, at)
    return f"That text is not in {name} as given; line {line} has: {_run(there, len(letters))}"


def _letters(text: str) -> str:
    """What is left for the ear, a letter for a letter. By plain replacing and no pattern: both
    texts are somebody's, and a pattern made of them could take hours."""
    bare = "".join(text.split()).replace("_", "").replace("-", "")
    return bare.replace("\u0130", "I").lower()  # the only letter whose small form is two


def _place_of(text: str, at: int) -> tuple[int, str]:
    """The line of that letter, and the text from there on."""
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        if at < (size := len(_letters(line))):
            heard = (place for place, sign in enumerate(line) if _letters(sign))
            return number, text[start + next(islice(heard, at, None)) :]
        at, start = at - size, start + len(line) + 1
    return 1, text


def _run(text: str, letters: int) -> str:
    """So many letters of it with what lies between, as much as can be shown."""
    shown = text[:_SHOWN]
    heard = (place for place, sign in enumerate(shown) if _letters(sign))
    last = next(islice(heard, letters - 1, None), len(shown))
    return shown[: last + 1]


def _lines_of(text: str, wanted: str) -> str:
    numbers: list[str] = []
    at = text.find(wanted)
    while at >= 0 and len(numbers) < _NAMED:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(wanted, at + len(wanted))
    return f"line {', '.join(numbers)}{', …' if at >= 0 else ''}"


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The text has characters that cannot be written") from None
