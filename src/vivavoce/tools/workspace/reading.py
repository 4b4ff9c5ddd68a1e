"""`read_file` and `glob`: what is in a file, and which files there are, as a model reads it."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import OutputKind, Picture, ToolOutput
from vivavoce.tools.workspace.names import count, label, shown
from vivavoce.tools.workspace.patterns import Glob
from vivavoce.tools.workspace.root import MAX_ENTRIES, Found, Workspace, refused, tree

MAX_PICTURE = 4 * 1024 * 1024
MAX_LISTED = 1_000
_BINARY_LOOK = 8192
_SIGNS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_PROSE = frozenset({"", ".md", ".rst", ".txt", ".csv", ".html"})


def read_file(workspace: Workspace, path: str, offset: int = 0, limit: int = 0) -> ToolOutput:
    """`offset` is the first line, from 1; with it or a `limit` lines have their numbers."""
    with workspace.file(path) as found:
        data, name = found.read(workspace.max_bytes), found.name
    if (mime := picture_type(data)) is not None:
        return _picture(name, mime, data)
    if b"\0" in data[:_BINARY_LOOK]:
        return ToolOutput(f"{name} is binary ({len(data):,} bytes), there is no text in it.")
    text = data.decode("utf-8-sig", errors="replace")
    if offset or limit:
        text = _numbered(name, text, max(offset, 1), limit)
    return ToolOutput(text or f"{name} is empty.", _kind(name))


def _kind(name: str) -> OutputKind:
    match PurePosixPath(name).suffix.lower():
        case ".json":
            return "json"
        case ".log":
            return "log"
        case suffix:
            return "text" if suffix in _PROSE else "code"


def picture_type(data: bytes) -> str | None:
    """By what is in it: a name proves nothing."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for sign, mime in _SIGNS if data.startswith(sign)), None)


def _picture(name: str, mime: str, data: bytes) -> ToolOutput:
    about = f"{name}: a picture, {mime}, {len(data):,} bytes"
    if len(data) > MAX_PICTURE:
        return ToolOutput(f"{about}; too big to be looked at.")
    return ToolOutput(about, pictures=(Picture(mime, base64.b64encode(data).decode()),))


def _numbered(name: str, text: str, first: int, limit: int) -> str:
    lines = text.splitlines()
    if first > max(len(lines), 1):
        raise ToolFailed(f"{name} has only {len(lines)} lines")
    last = first - 1 + limit if limit else len(lines)
    picked = lines[first - 1 : last]
    width = len(str(first + len(picked)))
    rows = [f"{number:>{width}}  {line}" for number, line in enumerate(picked, first)]
    if last < len(lines):
        rows.append(f"({len(lines) - last} more lines)")
    return "\n".join(rows)


def glob(workspace: Workspace, pattern: str, path: str = "") -> ToolOutput:
    """The newest first. Folders are listed where the pattern does not go into them itself."""
    parts = [part for part in workspace.parts(pattern) if part not in ("", ".")]
    if ".." in parts:
        raise refused(f"'{shown(pattern)}' leads out of the folder; give a path instead")
    if not parts:
        raise ToolFailed("Give a pattern such as *.py or **/*.md")
    with workspace.folder(path) as opened:
        base = opened.parts
    deep = "**" in parts
    # Names that people say may be anywhere, so all of it is looked at even for a flat pattern;
    # only "everything in this folder" need not go deeper.
    depth = 1 if parts == ["*"] else None
    there = list(tree(workspace, base, depth=depth, times=True))
    found, how = _matching(there, "/".join(parts), len(base), folders=not deep)
    found.sort(key=lambda one: (-one.modified, one.parts))
    return _listed(found, how, cut=len(there) >= MAX_ENTRIES)


def _matching(
    there: list[Found], pattern: str, skip: int, folders: bool
) -> tuple[list[Found], str]:
    """As it is written; else in any case; else anywhere beneath, told as such."""
    tries = (
        (Glob(pattern), ""),
        (Glob(pattern, any_case=True), ""),
        (Glob(f"**/{pattern}", any_case=True), " in deeper folders"),
    )
    for wanted, how in tries:
        fits = [one for one in there if wanted.matches(one.parts[skip:])]
        found = [one for one in fits if folders or not one.folder]
        if found:
            return found, how
    return [], ""


def _listed(found: list[Found], how: str, cut: bool) -> ToolOutput:
    if not found:
        return ToolOutput("No files match.", "files")
    folders = sum(one.folder for one in found)
    counts = (count(len(found) - folders, "file"), count(folders, "folder"))
    number = " and ".join(one for one in counts if not one.startswith("0 "))
    names = [label(one.parts) + "/" * one.folder for one in found[:MAX_LISTED]]
    if len(found) > MAX_LISTED:
        names.append(f"({len(found) - MAX_LISTED} more)")
    if cut:
        names.append("(There are too many files to look at all of them.)")
    order = ", the newest first" if len(found) > 1 else ""
    return ToolOutput("\n".join([f"Found {number}{how}{order}:", *names]), "files")
