"""The tools of a workspace, as the model calls them: names, arguments, words, times.

Nothing is done here; each hands on to the module that does it. What the model
is told of them is `wording.py`, since a small one chooses by those words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from vivavoce.runtime.ports import ToolOutput
from vivavoce.tools.functions import Tool, tool
from vivavoce.tools.wording import WORDING
from vivavoce.tools.workspace import reading, writing
from vivavoce.tools.workspace.root import MAX_PATH, Workspace
from vivavoce.tools.workspace.searching import Query, find_ripgrep
from vivavoce.tools.workspace.searching import grep as search_lines

QUICK = 15.0
"""Seconds. All but a search through a very big tree are done in a fraction of one."""

FilePath = Annotated[str, Field(min_length=1, max_length=MAX_PATH)]
GlobFolder = Annotated[
    str, Field(max_length=MAX_PATH, description=WORDING["glob"].parameters["path"])
]
GrepFolder = Annotated[
    str, Field(max_length=MAX_PATH, description=WORDING["grep"].parameters["path"])
]
GlobPattern = Annotated[
    str, Field(min_length=1, max_length=500, description=WORDING["glob"].parameters["pattern"])
]
GrepPattern = Annotated[
    str, Field(min_length=1, max_length=1000, description=WORDING["grep"].parameters["pattern"])
]
FirstLine = Annotated[int, Field(ge=0, description="first line, from 1")]
Lines = Annotated[int, Field(ge=0, description="how many lines")]
Names = Annotated[str, Field(max_length=500, description="only in files such as *.py")]
Around = Annotated[int, Field(ge=0, le=20, description="lines around each")]
Old = Annotated[str, Field(min_length=1)]


def workspace_tools(workspace: Workspace, *, ripgrep: str | None = None) -> list[Tool]:
    """`ripgrep` is where it is; it is looked for otherwise, and "" is to do without it."""
    program = find_ripgrep() if ripgrep is None else ripgrep or None
    return [*_looking(workspace, program), *_changing(workspace)]


def _looking(workspace: Workspace, program: str | None) -> list[Tool]:
    @_worded(lambda given: f"Reading file {given['path']}")
    def read_file(path: FilePath, offset: FirstLine = 0, limit: Lines = 0) -> ToolOutput:
        return reading.read_file(workspace, path, offset, limit)

    @_worded(lambda given: f"Looking for files {given['pattern']}")
    def glob(pattern: GlobPattern, path: GlobFolder = "") -> ToolOutput:
        return reading.glob(workspace, pattern, path)

    @_worded(lambda given: f"Searching for {given['pattern']}")
    async def grep(
        pattern: GrepPattern,
        path: GrepFolder = "",
        glob: Names = "",
        case_sensitive: bool = False,
        context: Around = 0,
    ) -> ToolOutput:
        query = Query(pattern, glob=glob, case_sensitive=case_sensitive, context=context)
        return await search_lines(workspace, query, path, program)

    return [read_file, glob, grep]


def _changing(workspace: Workspace) -> list[Tool]:
    @_worded(lambda given: f"Writing file {given['path']}", changes=True)
    def write_file(path: FilePath, content: str) -> ToolOutput:
        return writing.write_file(workspace, path, content)

    @_worded(lambda given: f"Editing file {given['path']}", changes=True)
    def edit_file(
        path: FilePath, old_string: Old, new_string: str, replace_all: bool = False
    ) -> ToolOutput:
        return writing.edit_file(workspace, path, old_string, new_string, replace_all)

    return [write_file, edit_file]


def _worded(
    describe: Callable[[Mapping[str, Any]], str], *, changes: bool = False
) -> Callable[[Callable[..., Any]], Tool]:
    """A tool of this room, told in the words there are for its name."""

    def decorate(function: Callable[..., Any]) -> Tool:
        wording = WORDING[function.__name__]
        return tool(
            description=wording.description,
            category="filesystem",
            timeout=QUICK,
            examples=wording.examples,
            describe=describe,
            changes=changes,
        )(function)

    return decorate
