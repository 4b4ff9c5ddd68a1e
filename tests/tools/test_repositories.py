"""What a command plants in a repository never runs by the user's own git; honest work is kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.tools.attacks.git import ATTACKS, HONEST, Attack
from vivavoce.errors import ToolFailed
from vivavoce.processes.bounded import Finished
from vivavoce.tools.repositories import dangers, may_write
from vivavoce.tools.sandbox.bubblewrap import Bubblewrap
from vivavoce.tools.sandbox.places import tools_of
from vivavoce.tools.sandbox.probe import Landlock, bubblewraps
from vivavoce.tools.workspace import Workspace
from vivavoce.tools.workspace.writing import write

KEPT = "as it was\n"


class House:
    """A workspace with a repository, and the user's shell beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "work"
        self.owned, self.kept = folder / "owned", folder / "kept"
        (folder / "home").mkdir()
        self.workspace.mkdir()
        self.kept.write_text(KEPT)
        self.user("git init -q -b main . && mkdir -p .git/hooks")
        self.user("git -c user.name=U -c user.email=u@x commit -q --allow-empty -m first")

    def user(self, command: str) -> str:
        """As the user runs it: no sandbox."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        environment |= {"GIT_EDITOR": ":", "GIT_CONFIG_NOSYSTEM": "1"}
        if "core.editor" in command or "commit" in command.split("-m", maxsplit=1)[0][-12:]:
            del environment["GIT_EDITOR"]
        done = subprocess.run(
            ["/bin/bash", "-c", self.filled(command)],
            cwd=self.workspace,
            env=environment,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return done.stdout + done.stderr

    async def sandboxed(self, command: str, kind: str = "bubblewrap") -> Finished:
        tools = tools_of(os.defpath)
        if kind == "bubblewrap":
            program = list(bubblewraps(os.defpath, Path("/nowhere")))[-1]
            made: Bubblewrap | Landlock = Bubblewrap(
                program=program, workspace=self.workspace, tools=tools
            )
        else:
            made = Landlock(workspace=self.workspace, tools=tools)
        return await made.run(self.filled(command), cwd=self.workspace)

    def filled(self, command: str) -> str:
        named = {"owned": self.owned, "kept": self.kept, "workspace": self.workspace}
        for name, path in named.items():
            command = command.replace("{" + name + "}", str(path))
        return command


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_the_users_git_runs_nothing_that_was_planted(attack: Attack, tmp_path: Path) -> None:
    house = House(tmp_path)
    house.user(attack.setup)
    await house.sandboxed(attack.planted)
    house.user(attack.run)
    assert not house.owned.exists()
    assert house.kept.read_text() == KEPT


@pytest.mark.full
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_nor_where_it_can_only_be_put_aside_afterwards(
    attack: Attack, tmp_path: Path
) -> None:
    house = House(tmp_path)
    house.user(attack.setup)
    await house.sandboxed(attack.planted, "sandlock")
    house.user(attack.run)
    assert not house.owned.exists()
    assert house.kept.read_text() == KEPT


@pytest.mark.full
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_each_of_them_works_where_nothing_is_protected(attack: Attack, tmp_path: Path) -> None:
    house = House(tmp_path)
    house.user(attack.setup)
    house.user(attack.planted)
    house.owned.unlink(missing_ok=True)  # git ran it while it was planted
    house.user(attack.run)
    assert house.owned.exists() or house.kept.read_text() != KEPT


async def test_honest_work_with_git_is_kept_from_one_command_to_the_next(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.workspace / "made.txt").write_text("kept\n")
    for command, said in HONEST:
        done = await house.sandboxed(command)
        assert said in done.output, (command, done.output)
        assert done.notes == (), command
    assert "second" in house.user("git log --format=%s")
    assert "clean" in house.user("rm -rf other; git status")
    assert "v1" in house.user("git tag")
    assert "error" not in house.user("git fsck")


async def test_the_users_own_hooks_and_settings_stay(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.user("printf '#!/bin/sh\\necho checked\\n' > .git/hooks/pre-commit")
    house.user("chmod +x .git/hooks/pre-commit; git config alias.st '!true'; git init -q sub")
    house.user("cp .git/hooks/pre-commit sub/.git/hooks/pre-commit")
    done = await house.sandboxed("touch a; git add a; git -C sub status")
    assert done.notes == ()
    for hook in (".git/hooks/pre-commit", "sub/.git/hooks/pre-commit"):
        assert (house.workspace / hook).exists()
    assert "alias.st" in house.user("git config --list")


async def test_what_is_put_aside_is_told(tmp_path: Path) -> None:
    house = House(tmp_path)
    done = await house.sandboxed("git init -q new; git -C new config core.pager 'touch {owned}'")
    (note,) = done.notes
    assert note.startswith("new/.git/config was put aside")
    assert (house.workspace / "new/.git/config.put-aside").exists()


async def test_what_the_user_did_meanwhile_is_not_undone(tmp_path: Path) -> None:
    house = House(tmp_path)
    begun, go = house.workspace / "begun", house.workspace / "go"

    async def heard(text: str) -> None:
        house.user("git -c user.name=U -c user.email=u@x commit -q --allow-empty -m mine")
        go.touch()

    program = list(bubblewraps(os.defpath, Path("/nowhere")))[-1]
    sandbox = Bubblewrap(program=program, workspace=house.workspace, tools=tools_of(os.defpath))
    command = (
        "echo ready; until [ -e go ]; do sleep 0.02; done;"
        "git -c user.name=A -c user.email=a@b commit -q --allow-empty -m theirs"
    )
    done = await sandbox.run(command, cwd=house.workspace, on_output=heard)
    assert any("refs/heads/main was not changed" in note for note in done.notes), done.notes
    assert "mine" in house.user("git log --format=%s -1")
    assert not begun.exists()


# --- File tools

BARE = ("bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/config")


@pytest.mark.parametrize(
    "path",
    [
        ".git/commondir",
        ".git/config.worktree",
        ".git/refs/heads/main",
        ".git/objects/info/alternates",
        "sub/.git",
        "sub/.git/hooks/pre-push",
        ".gitconfig",
        ".husky/pre-commit",
        "tools/clean.sh",
    ],
)
def test_file_tools_write_nothing_that_git_reads_or_runs(path: str, tmp_path: Path) -> None:
    house = House(tmp_path)
    house.user("git config include.path ../.gitconfig; git config core.hooksPath .husky")
    house.user("git config filter.own.clean './tools/clean.sh %f'; git init -q sub")
    with pytest.raises(ToolFailed, match="protected"):
        write(Workspace(house.workspace), path, b"owned")
    write(Workspace(house.workspace), "tools/other.sh", b"fine")
    write(Workspace(house.workspace), "sub/file", b"fine")


def test_file_tools_make_no_repository_in_whatever_order(tmp_path: Path) -> None:
    for first in range(len(BARE)):
        workspace = Workspace(tmp_path / str(first))
        workspace.root.mkdir()
        order = BARE[first:] + BARE[:first]
        with pytest.raises(ToolFailed, match="protected"):
            _written(workspace, order)


def _written(workspace: Workspace, paths: tuple[str, ...]) -> None:
    for path in paths:
        write(workspace, path, b"ref: refs/heads/main\n")


def test_a_folder_that_only_looks_alike_is_an_ordinary_one(tmp_path: Path) -> None:
    (tmp_path / "docs/refs").mkdir(parents=True)
    (tmp_path / "docs/HEAD").touch()
    assert may_write(tmp_path, ("docs", "index.md"))
    assert dangers(tmp_path / "docs") == {}
