"""Someone swaps a folder for a link, again and again, while we read and write through it."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.workspace import Workspace, workspace_tools
from vivavoce.tools.workspace.opening import Opening, best_opening, open_by_steps
from vivavoce.tools.workspace.tools import files_like
from vivavoce.tools.workspace.writing import write

ROUNDS = 400
CONTEXT = ToolContext(user_id="ann")


@pytest.fixture(params=["kernel", pytest.param("steps", marks=pytest.mark.full)])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    opening: Opening = best_opening() if request.param == "kernel" else open_by_steps
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "name.txt").write_text("SECRET\n")
    (tmp_path / "outside" / "hidden-name.txt").write_text("SECRET\n")
    (tmp_path / "ws" / "door").mkdir(parents=True)
    (tmp_path / "ws" / "door" / "name.txt").write_text("fine\n")
    return Workspace(tmp_path / "ws", opening=opening)


@contextlib.contextmanager
def swapping(root: Path) -> Iterator[None]:
    """`door` is a folder and a link to the outside by turns."""
    door, aside, link = root / "door", root / "aside", root / "link"
    link.symlink_to("../outside")
    over = threading.Event()

    strays = (root / f"stray{number}" for number in itertools.count())

    def move(path: Path, to: Path) -> None:
        while True:
            try:
                return os.rename(path, to)
            except OSError:  # a writer found no door and made one
                with contextlib.suppress(FileNotFoundError):
                    os.rename(to, next(strays))

    def swap() -> None:
        while not over.is_set():
            move(door, aside)
            move(link, door)
            move(door, link)
            move(aside, door)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_reading_gets_what_is_inside_or_a_refusal(workspace: Workspace) -> None:
    fine = 0
    with swapping(workspace.root):
        while fine < ROUNDS:
            with contextlib.suppress(ToolFailed):
                assert workspace.read("door/name.txt") == b"fine\n"
                fine += 1


def test_writing_goes_inside_or_nowhere(workspace: Workspace) -> None:
    outside, written = workspace.root.parent / "outside", 0
    with swapping(workspace.root):
        while written < ROUNDS // 8:
            with contextlib.suppress(ToolFailed):
                write(workspace, "door/name.txt", b"fine\n")
                write(workspace, "door/new/name.txt", b"fine\n")
                written += 1
    assert sorted(os.listdir(outside)) == ["hidden-name.txt", "name.txt"]
    assert (outside / "name.txt").read_text() == "SECRET\n"


def test_listing_never_shows_what_is_outside(workspace: Workspace) -> None:
    with swapping(workspace.root):
        for _ in range(ROUNDS // 4):
            assert "hidden-name" not in files_like(workspace, "**/*").text


async def test_searching_never_shows_what_is_outside(workspace: Workspace) -> None:
    """ripgrep opens by name and can be led out; the lines shown are read by us."""
    tools = {tool.definition.name: tool for tool in workspace_tools(workspace)}
    with swapping(workspace.root):
        for _ in range(20):
            output = await tools["grep"].handler({"pattern": "SECRET|fine"}, CONTEXT)
            assert isinstance(output, ToolOutput)
            assert "SECRET" not in output.text


def test_a_file_that_was_changed_since_it_was_read_is_not_overwritten(
    workspace: Workspace,
) -> None:
    with workspace.file("door/name.txt") as found:
        read = found.about
    write(workspace, "door/name.txt", b"another's\n")
    with pytest.raises(ToolFailed, match="changed meanwhile"):
        write(workspace, "door/name.txt", b"mine\n", replaces=read)
    assert workspace.read("door/name.txt") == b"another's\n"
