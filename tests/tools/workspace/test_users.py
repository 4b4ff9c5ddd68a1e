"""A folder for each user, where it is known who somebody is; nobody sees another's."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.sandbox.kinds import made
from tests.tools.sandbox.world import a_world
from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.bash import bash_tool
from vivavoce.tools.registry import Registry
from vivavoce.tools.repositories.spelling import canonical
from vivavoce.tools.workspace import Workspaces, workspace_tools
from vivavoce.tools.workspace.root import folder_of

ANN, BOB = ToolContext(user_id="ann"), ToolContext(user_id="bob")


async def _text(registry: Registry, tool: str, who: ToolContext, **arguments: str) -> str:
    done = await registry.run(tool, arguments, who)
    return done.text if isinstance(done, ToolOutput) else done


async def test_one_users_files_are_not_there_for_another(tmp_path: Path) -> None:
    tools = Registry(workspace_tools(Workspaces(tmp_path / "work", each=True)))
    await _text(tools, "write_file", ANN, path="diary.txt", content="ann's needle")
    assert (tmp_path / "work/ann/diary.txt").read_text() == "ann's needle"
    assert "ann's needle" in await _text(tools, "read_file", ANN, path="diary.txt")
    assert "diary" not in await _text(tools, "glob", BOB, pattern="**/*")
    assert "No matches" in await _text(tools, "grep", BOB, pattern="needle")
    root = tmp_path / "work/ann/diary.txt"
    for path in ("diary.txt", "../ann/diary.txt", str(root), "../../work/ann/diary.txt"):
        with pytest.raises(ToolFailed):
            await _text(tools, "read_file", BOB, path=path)
    with pytest.raises(ToolFailed):
        await _text(tools, "write_file", BOB, path="../ann/diary.txt", content="mine")
    assert root.read_text() == "ann's needle"


@pytest.mark.parametrize("kind", ["bubblewrap", "sandlock"])
async def test_one_users_commands_see_nothing_of_another(kind: str) -> None:
    async with a_world() as world:
        users = Workspaces(world.workspace / "users", each=True)
        tools = Registry([bash_tool(made(kind, world), users)])
        needle = secrets.token_hex(8)  # nowhere else on this machine
        kept = await _text(tools, "bash", ANN, command=f"echo {needle} > diary.txt")
        assert "Succeeded" in kept
        for command in (
            "cat ../ann/diary.txt",
            f"cat {users.root}/ann/diary.txt",
            f"ls {users.root}/ann",
            f"grep -rs {needle} .. /tmp $HOME",
            "ln -s ../ann a; cat a/diary.txt; cp -r ../ann mine; cat mine/*",
            f"echo mine > {users.root}/ann/diary.txt",
            f"mkdir -p {users.root}/ann/x",
        ):
            assert needle not in await _text(tools, "bash", BOB, command=command)
        assert (users.root / "ann/diary.txt").read_text() == f"{needle}\n"
        assert sorted(p.name for p in (users.root / "ann").iterdir()) == ["diary.txt"]
        assert needle in await _text(tools, "bash", ANN, command="cat diary.txt")


def test_without_users_there_is_one_for_all(tmp_path: Path) -> None:
    shared = Workspaces(tmp_path)
    assert shared.of("ann").root == shared.of("bob").root == tmp_path


@contextmanager
def _an_ordinary_user() -> Iterator[Path]:
    """A folder of somebody's who is not root, as whom the test goes on: root opens everything."""
    with TemporaryDirectory() as made:
        if os.geteuid() != 0:
            yield Path(made)
            return
        os.chown(made, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(made)
        finally:
            os.seteuid(0)


def test_a_folder_that_its_user_has_closed_is_deleted_too() -> None:
    with _an_ordinary_user() as folder:
        users = Workspaces(folder, each=True)
        root = users.of("ann").root
        for place in ("open", "closed/in/it", ".git.put-aside"):
            (root / place).mkdir(parents=True)
            (root / place / "diary.txt").write_text("mine")
        (root / "link").symlink_to("/etc")
        for closed in ("closed/in", "closed", ".git.put-aside", "open"):
            (root / closed).chmod(0 if closed != "open" else 0o500)
        assert users.files("ann") == [".git.put-aside/", "closed/", "open/diary.txt"]
        with pytest.raises(PermissionError):  # as an export tells it
            users.opened("ann", "closed/")
        root.chmod(0)
        assert users.forget("ann") == 3
        assert not root.exists()


def test_a_folder_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work/bob").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolFailed, match="link"):
        Workspaces(tmp_path / "work", each=True).of("bob")


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "../ann", ".git", "GIT~1", ".vivavoce", "a\0b", "-rf", "CON"]
)
def test_no_name_is_a_path_an_option_or_a_hidden_file(name: str) -> None:
    folder = folder_of(name)
    assert folder not in ("", ".", "..")
    assert folder[0].isalnum()
    assert not set(folder) - set("abcdefghijklmnopqrstuvwxyz0123456789_-=")


@given(st.text(max_size=130), st.text(max_size=130))
def test_two_users_never_share_a_folder(one: str, other: str) -> None:
    if one != other:
        assert canonical(folder_of(one)) != canonical(folder_of(other))
        assert len(folder_of(one)) < 100


def test_upper_and_lower_case_are_two_users_on_any_file_system() -> None:
    assert folder_of("ann") == "ann"
    assert folder_of("Ann").casefold() != folder_of("ann").casefold()
    assert folder_of("a.b@c.example").startswith("a-b-c-example=")
