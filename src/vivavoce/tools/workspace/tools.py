"""The tools of a workspace, as the model calls them: names, arguments, words, times.

Nothing is done here; each hands on to the module that does it. What the model
is told of them is `wording.json`, since a small one chooses by those words.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import OutputKind, Picture, ToolContext, ToolOutput
from vivavoce.tools.functions import Tool
from vivavoce.tools.wording import worded
from vivavoce.tools.workspace import writing
from vivavoce.tools.workspace.changes import Change, Changes, digest_of
from vivavoce.tools.workspace.names import count, label, shown
from vivavoce.tools.workspace.opening import FOLDER
from vivavoce.tools.workspace.patterns import Glob
from vivavoce.tools.workspace.root import (
    MAX_ENTRIES,
    MAX_PATH,
    Found,
    Workspace,
    Workspaces,
    refused,
    tree,
)
from vivavoce.tools.workspace.searching import Query, find_ripgrep
from vivavoce.tools.workspace.searching import grep as search_lines

MAX_PICTURE = 4 * 1024 * 1024
MAX_LISTED = 1_000
_BINARY_LOOK = 8192
_SIGNS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_PLAIN = re.compile(r"[\w ,:/@'#=-]+")
_PROSE = frozenset({"", ".md", ".rst", ".txt", ".csv", ".html"})


def _looking(given: Mapping[str, Any]) -> str:
    pattern = str(given["pattern"])
    return "Looking at what files there are" if pattern == "**/*" else f"Looking for {pattern}"


def _searching(given: Mapping[str, Any]) -> str:
    """What is looked for, where it is words: nobody reads a regular expression."""
    pattern = str(given["pattern"])
    within = f" in {given['path']}" if given.get("path") else ""
    return (
        f"Searching for {pattern}{within}"
        if _PLAIN.fullmatch(pattern)
        else f"Searching{within or ' the files'}"
    )


def file_content(workspace: Workspace, path: str, offset: int = 0, limit: int = 0) -> ToolOutput:
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


def files_like(workspace: Workspace, pattern: str, path: str = "") -> ToolOutput:
    """The newest first. Folders are listed where the pattern does not go into them itself."""
    parts = [part for part in workspace.parts(pattern) if part not in ("", ".")]
    if ".." in parts:
        raise refused(f"'{shown(pattern)}' leads out of the folder; give a path instead")
    if not parts:
        raise ToolFailed("Give a pattern such as *.py or **/*.md")
    with workspace.opened(path, FOLDER) as opened:
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
    listed = len(names)
    if len(found) > MAX_LISTED:
        names.append(f"({len(found) - MAX_LISTED} more)")
    if cut:
        names.append("(There are too many files to look at all of them.)")
    order = ", the newest first" if len(found) > 1 else ""
    text = "\n".join([f"Found {number}{how}{order}:", *names])
    return ToolOutput(text, "files", frame=(1, len(names) - listed))


FilePath = Annotated[str, Field(min_length=1, max_length=MAX_PATH)]
Folder = Annotated[str, Field(max_length=MAX_PATH)]
GlobPattern = Annotated[str, Field(min_length=1, max_length=500)]
GrepPattern = Annotated[str, Field(min_length=1, max_length=1000)]
FirstLine = Annotated[int, Field(ge=0, description="first line, from 1")]
Lines = Annotated[int, Field(ge=0, description="how many lines")]
Names = Annotated[str, Field(max_length=500, description="only in files such as *.py")]
Around = Annotated[int, Field(ge=0, le=20, description="lines around each")]
Old = Annotated[str, Field(min_length=1)]


def workspace_tools(
    given: Workspace | Workspaces,
    *,
    ripgrep: str | None = None,
    changes: Changes | None = None,
) -> list[Tool]:
    """`given`: one for all, or one for each user. `ripgrep` is where it is; it is looked for
    otherwise, once and for all, and "" is to do without it. `changes` can be taken back; without
    them, for as long as these tools are there."""
    program = find_ripgrep(given.root) if ripgrep is None else ripgrep or None

    undoable = changes or Changes()

    def keep_for(context: ToolContext) -> writing.Keeping:
        def keep(
            name: str, before: bytes | None, after: bytes, too_big: bool
        ) -> AbstractContextManager[None]:
            change = Change(
                name=name,
                root=str(of(context).root),
                talk=context.conversation_id,
                before=before,
                digest=digest_of(after),
                too_big=too_big,
            )
            return undoable.keeping(context.user_id, change)

        return keep

    def of(context: ToolContext) -> Workspace:
        return given if isinstance(given, Workspace) else given.of(context.user_id)

    @worded(lambda given: f"Reading file {given['path']}")
    def read_file(
        path: FilePath, context: ToolContext, offset: FirstLine = 0, limit: Lines = 0
    ) -> ToolOutput:
        return file_content(of(context), path, offset, limit)

    @worded(_looking)
    def glob(pattern: GlobPattern, context: ToolContext, path: Folder = "") -> ToolOutput:
        return files_like(of(context), pattern, path)

    @worded(_searching)
    async def grep(
        pattern: GrepPattern,
        caller: ToolContext,
        path: Folder = "",
        glob: Names = "",
        case_sensitive: bool = False,
        context: Around = 0,
    ) -> ToolOutput:
        query = Query(pattern, glob=glob, case_sensitive=case_sensitive, context=context)
        return await search_lines(of(caller), query, path, program)

    @worded(
        lambda given: f"Writing file {given['path']}",
        wants=lambda given: f"write the file {given['path']}",
    )
    def write_file(path: FilePath, content: str, context: ToolContext) -> ToolOutput:
        return writing.write_file(of(context), path, content, keep_for(context))

    @worded(
        lambda given: f"Editing file {given['path']}",
        wants=lambda given: f"change the file {given['path']}",
    )
    def edit_file(
        path: FilePath,
        old_string: Old,
        new_string: str,
        context: ToolContext,
        replace_all: bool = False,
    ) -> ToolOutput:
        return writing.edit_file(
            of(context), path, old_string, new_string, replace_all, keep_for(context)
        )

    @worded(
        lambda given: f"Putting {given.get('path') or 'the last change'} back",
        wants=lambda given: f"put {given.get('path') or 'the last changed file'} back as it was",
    )
    def undo_change(context: ToolContext, path: Folder = "") -> ToolOutput:
        user, talk = context.user_id, context.conversation_id
        change = undoable.last(user, talk, str(of(context).root), path)
        if change is None:
            about = f" of {shown(path)}" if path else ""
            raise ToolFailed(f"There is no change{about} that could be taken back")
        done = writing.undo(of(context), change)
        undoable.undone(user, change)
        return done

    def place(arguments: Mapping[str, Any], user_id: str) -> str:
        workspace = given if isinstance(given, Workspace) else given.of(user_id)
        return writing.place_of(workspace, str(arguments["path"]))

    written = (replace(write_file, place=place), replace(edit_file, place=place))
    return [read_file, glob, grep, *written, undo_change]
