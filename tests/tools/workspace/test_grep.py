"""Searching with ripgrep and without: the same lines, and neither can be made to hang."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import psutil
import pytest

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.workspace import Workspace, searching, workspace_tools
from vivavoce.tools.workspace.searching import Query, find_ripgrep, ripgrep_arguments

CONTEXT = ToolContext(user_id="ann")
FILES = {
    "src/model.py": "import os\n\ndef load_model(path):\n    return path\n",
    "src/table.py": "import pandas as pd\n# Load Model\n",
    "docs/guide.md": "How to load a model: load_model('x').\r\nGrüße, ÄRGER\r\n",
    "build/out.py": "load_model ignored\n",
    "src/private.log": "load_model ignored\n",
    "src/deep/skip.txt": "load_model ignored by the folder's own\n",
    "src/deep/keep.txt": "load_model kept\n",
    ".github/flow.yml": "run: load_model\n",
    ".gitignore": "/build\n*.log\n",
    "src/deep/.gitignore": "*.txt\n!keep.txt\n",
    "node_modules/x.js": "load_model\n",
    ".git/x": "load_model\n",
    "bin.dat": "load_model\0\n",
    "long.txt": "x" * 5000 + "load_model\n",
}


def _lay_out(root: Path) -> Workspace:
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / "link.py").symlink_to("src/model.py")
    return Workspace(root)


async def _grep(workspace: Workspace, program: str, **arguments: Any) -> list[str]:
    tools = {one.definition.name: one for one in workspace_tools(workspace, ripgrep=program)}
    output = await tools["grep"].handler(arguments, CONTEXT)
    assert isinstance(output, ToolOutput)
    assert output.kind == "matches"
    return output.text.splitlines()


def _ripgrep() -> str:
    found = find_ripgrep(Path("/nowhere"))
    assert found is not None, "ripgrep comes with the development dependencies"
    return found


QUESTIONS: tuple[dict[str, Any], ...] = (
    {"pattern": "load_model"},
    {"pattern": "load_model", "path": "src"},
    {"pattern": "load_model", "path": "src/deep"},
    {"pattern": "load_model", "path": "src/model.py"},
    {"pattern": "load_model", "path": "build"},
    {"pattern": "load_model", "glob": "*.{py,md}"},
    {"pattern": "load_model", "glob": "src/**/*.py"},
    {"pattern": "load_model", "context": 1},
    {"pattern": "Load Model"},
    {"pattern": "Load Model", "case_sensitive": True},
    {"pattern": r"^import \w+"},
    {"pattern": "load_model("},
    {"pattern": "ärger"},
    {"pattern": "return path"},
    {"pattern": "nothing of the kind"},
    {"pattern": "[.]$"},
)


async def test_both_ways_find_the_same_lines(tmp_path: Path) -> None:
    workspace, program = _lay_out(tmp_path), _ripgrep()
    for question in QUESTIONS:
        with_it = await _grep(workspace, program, **question)
        assert with_it == await _grep(workspace, "", **question), question


async def test_lines_are_shown_as_grep_shows_them(tmp_path: Path) -> None:
    workspace = _lay_out(tmp_path)
    assert await _grep(workspace, _ripgrep(), pattern="LOAD_MODEL", path="src", context=1) == [
        "Found 2 matches in 2 files:",
        "src/deep/keep.txt:1:load_model kept",
        "src/model.py-2-",
        "src/model.py:3:def load_model(path):",
        "src/model.py-4-    return path",
    ]


@pytest.mark.parametrize("with_it", [True, False], ids=["ripgrep", "plain"])
async def test_words_are_also_found_as_one_name(tmp_path: Path, with_it: bool) -> None:
    (tmp_path / "a.py").write_text("class UserService:\n    user_service = 1\n")
    program = _ripgrep() if with_it else ""
    head, *lines = await _grep(Workspace(tmp_path), program, pattern="user service")
    assert head == "Found 2 matches in 1 file (spelt as one name):"
    assert lines == ["a.py:1:class UserService:", "a.py:2:    user_service = 1"]


@pytest.mark.parametrize("with_it", [True, False], ids=["ripgrep", "plain"])
async def test_what_is_too_much_is_cut_and_told(
    tmp_path: Path, with_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_MATCHES", 5)
    (tmp_path / "a.txt").write_text("hit\n" * 5000)
    head, *lines = await _grep(Workspace(tmp_path), _ripgrep() if with_it else "", pattern="hit")
    assert head == "Found at least 5 matches in 1 file:"
    assert len(lines) == 5


async def test_a_long_line_is_cut(tmp_path: Path) -> None:
    _, line = await _grep(_lay_out(tmp_path), _ripgrep(), pattern="load_model", path="long.txt")
    assert len(line) < 500


async def test_an_expression_that_would_take_for_ever_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SECONDS", 0.5)
    (tmp_path / "a.txt").write_text("a" * 60 + "!\n")
    with pytest.raises(ToolFailed) as caught:
        await _grep(Workspace(tmp_path), "", pattern="(a+)+$")
    assert caught.value.cause == "ETIMEDOUT"


async def test_a_search_that_is_cancelled_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a" * 60 + "!\n")
    others = set(psutil.Process().children())  # a database of the tests before, for one
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await _grep(Workspace(tmp_path), "", pattern="(a+)+$")
    async with asyncio.timeout(30):
        while set(psutil.Process().children()) - others:
            await asyncio.sleep(0.01)


async def test_the_program_sees_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = tmp_path / "rg"
    spy.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\n")
    spy.chmod(0o755)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "ws").mkdir()
    await _grep(Workspace(tmp_path / "ws"), str(spy), pattern="x")
    assert "sk-secret" not in (tmp_path / "seen").read_text()


async def test_a_ripgrep_that_fails_or_is_gone_is_done_without(tmp_path: Path) -> None:
    broken = tmp_path / "rg"
    broken.write_text("#!/bin/sh\necho unrecognized flag >&2\nexit 2\n")
    broken.chmod(0o755)
    workspace = _lay_out(tmp_path / "ws")
    for program in (str(broken), str(tmp_path / "gone")):
        head, *lines = await _grep(workspace, program, pattern="return path")
        assert lines == ["src/model.py:4:    return path"]
        assert head.startswith("Found 1 match in 1 file")


def test_the_callers_words_are_never_options_of_their_own() -> None:
    query = Query("--pre=sh", ("--follow",), glob="--pre=sh")
    arguments = ripgrep_arguments("rg", query)
    at = arguments.index("--")
    assert arguments[at + 1 :] == ["./--follow"]
    assert "--pre=sh" not in arguments
    assert "--regexp=--pre=sh" in arguments
