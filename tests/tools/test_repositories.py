"""What a command plants in a repository never runs by the user's own git; honest work is kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.attacks.git import ATTACKS, HONEST, NEW, Attack
from vivavoce.errors import ToolFailed, Unavailable
from vivavoce.processes.bounded import Finished, Limits
from vivavoce.tools.repositories import Guard, may_write
from vivavoce.tools.repositories.judging import dangers
from vivavoce.tools.repositories.tree import Tree
from vivavoce.tools.sandbox.bubblewrap import Bubblewrap
from vivavoce.tools.sandbox.places import tools_of
from vivavoce.tools.sandbox.probe import Landlock, bubblewraps, tried
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
    # As it may be with the user: samples by the thousand, and repositories within.
    house.user("cd .git/hooks; seq 1 3000 | sed 's/.*/x&.sample/' | xargs touch")
    house.user(
        "git init -q kept; printf 'other/\nkept/\n' > .git/info/exclude; cd kept;"
        'git -c user.name=U -c user.email=u@x commit -q --allow-empty -m "the user\'s"'
    )
    for command, said in HONEST:
        done = await house.sandboxed(command)
        assert said in done.output, (command, done.output)
        assert done.notes == (), command
    assert "second" in house.user("git log --format=%s")
    assert "clean" in house.user("rm -rf other kept copy; git status")
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


@contextlib.contextmanager
def guarded(workspace: Path, *, mounting: bool = False) -> Iterator[Guard]:
    """As around a command."""
    guard = Guard(workspace, mounting=mounting)
    assert guard.turn()
    try:
        guard.before()
        yield guard
    finally:
        guard.after()


def judged(house: House, command: str) -> tuple[str, ...]:
    """What is told after it, where nothing can be kept from being written."""
    guard = Guard(house.workspace, mounting=False)
    assert guard.turn()
    guard.before()
    house.user(command)
    return guard.after()


@pytest.mark.parametrize("planted", NEW)
def test_what_git_would_run_of_a_new_repository_is_put_aside(planted: str, tmp_path: Path) -> None:
    house = House(tmp_path)
    command = f"git init -q new; mkdir -p new/.git/hooks; cd new; {NEW[planted]}"
    told = judged(house, command)
    assert told
    assert all("was put aside" in one for one in told), told


SHA256 = "[core]\\n repositoryformatversion = 1\\n[extensions]\\n objectformat = sha256\\n"


@pytest.mark.parametrize(
    ("begun", "then"),
    [("", f"printf '{SHA256}' > .git/config"), (SHA256, "rm .git/config")],
    ids=["other settings", "no settings"],
)
def test_an_index_is_judged_again_where_git_would_read_it_otherwise(
    begun: str, then: str, tmp_path: Path
) -> None:
    """How long a name of an object is decides where the names of files begin. The settings are
    harmless by themselves, and the index is as it was."""
    house = House(tmp_path)
    size = "sha256" if begun else "sha1"
    made = f"git init -q --object-format={size} new; cd new; echo a > a; git add a"
    assert judged(house, made) == ()
    (told,) = judged(house, f"cd new; {then}")
    assert told.startswith("new/.git/index was put aside")
    assert judged(house, "cd new; git config user.name U") == ()


def test_an_index_stays_where_settings_change_that_it_is_not_read_by(tmp_path: Path) -> None:
    house = House(tmp_path)
    assert judged(house, "git init -q new; cd new; echo a > a; git add a") == ()
    assert judged(house, "cd new; git config user.name U; git remote add o ../x") == ()
    assert (house.workspace / "new/.git/index").exists()


@pytest.mark.parametrize(
    "command",
    [
        "git init -q new",
        "git init -q --bare new.git",
        "git init -q --object-format=sha256 new; cd new; echo a > a; git add a",
        "git init -q new; cd new; git config user.name 'A. B. Ünal'; git config user.email a@b",
        "git init -q new; cd new; echo a > a; git add a; git commit -qm a; git gc -q",
        "git init -q new; cd new; git remote add o https://x.example/a.git; git checkout -q -b a/b",
        "git clone -q . copy",
        "git init -q new; cd new/.git/hooks; seq 1 9000 | sed 's/.*/x&.sample/' | xargs touch",
        "git init -q new; cd new; git commit-graph write --split; mkdir -p .git/objects/info/x",
        "mkdir docs; touch docs/HEAD; mkdir docs/refs",
        "echo a > a; git add a; git stash -q; git stash pop -q; git branch b; git tag t",
        "mv sub moved; mv moved sub",
    ],
)
def test_an_ordinary_repository_stays_as_it_was_made(command: str, tmp_path: Path) -> None:
    house = House(tmp_path)
    house.user("git config --global user.name U; git config --global user.email u@x")
    house.user("git init -q sub; git -C sub config alias.st '!true'")
    house.user("git init -q lib; git -C lib commit -q --allow-empty -m first")
    house.user("git -c protocol.file.allow=always submodule add -q ./lib module")
    assert judged(house, command) == ()
    assert "alias.st" in house.user("git -C sub config --list")
    assert "first" in house.user("git -C module log --format=%s")


def test_more_repositories_than_can_be_told_of_are_all_judged(tmp_path: Path) -> None:
    """The list of them was cut off at 16 MB, and then nothing was looked at."""
    house = House(tmp_path)
    deep = "/".join(["d" * 240] * 15)
    planted = (
        f"python3 -c \"import os\nos.makedirs('{deep}'); os.chdir('{deep}')\n"
        "for i in range(4600): os.mkdir(str(i)); open(f'{i}/.git', 'w').close()\""
    )
    told = judged(house, f"{planted}; git config core.fsmonitor 'touch {{owned}}'")
    assert any(one.startswith(".git/config was put aside") for one in told), told
    assert told[-1].endswith("more of the kind")
    house.user("git status")
    assert not house.owned.exists()
    assert not (house.workspace / deep / "4599/.git").exists()


def test_a_workspace_that_cannot_be_looked_through_runs_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path)
    monkeypatch.setattr("vivavoce.tools.repositories.guard._BEFORE", -1.0)
    house.user("mkdir more")
    guard = Guard(house.workspace, mounting=True)
    assert guard.turn()
    with pytest.raises(Unavailable, match="cannot be looked through"):
        guard.before()
    assert guard.after() == ()


@pytest.mark.parametrize("most", [2_000, 1])
def test_what_could_not_be_looked_through_afterwards_is_closed(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By ourselves, and where `find` does it."""
    house = House(tmp_path)
    monkeypatch.setattr("vivavoce.tools.repositories.tree._FEW", most)
    monkeypatch.setattr("vivavoce.tools.repositories.guard._AFTER", 0.0)
    told = judged(house, "git init -q new; git -C new config core.fsmonitor 'touch {owned}'")
    others = [one for one in told if not one.startswith(".git/")]
    assert others == ["new was put aside and closed: it could not be looked through"]
    assert (house.workspace / "new.put-aside").stat().st_mode & 0o777 == 0


@pytest.mark.parametrize("mode", ["0100", "0000", "0300", "0600"])
@pytest.mark.parametrize("most", [2_000, 1])
def test_a_folder_that_a_command_closed_is_looked_through(
    mode: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server that is not root; root gets in anyway."""
    monkeypatch.setattr("vivavoce.tools.repositories.tree._FEW", most)
    with a_users_folder() as workspace:
        (workspace / "mine").mkdir()
        (workspace / "mine").chmod(0o000)
        guard = Guard(workspace, mounting=False)
        assert guard.turn()
        guard.before()
        git = workspace / "x/r/.git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text("[core]\n\tfsmonitor = touch x\n")
        (workspace / "x").chmod(int(mode, 8))
        assert [one.split(":")[0] for one in guard.after()] == ["x/r/.git/config was put aside"]
        for name, kept in (("x", int(mode, 8)), ("mine", 0)):
            assert stat.S_IMODE((workspace / name).stat().st_mode) == kept, "closed again"
        (workspace / "x").chmod(0o700)
        assert not (git / "config").exists()


@contextlib.contextmanager
def a_users_folder() -> Iterator[Path]:
    """Of a user who is not root, and whom we are within it."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        if root:
            os.chown(folder, 65534, 65534)
            Path(folder).parent.stat()
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            if root:
                os.seteuid(0)
            for path in Path(folder).iterdir():
                path.chmod(0o700)


def test_one_command_at_a_time_writes_in_a_folder(tmp_path: Path) -> None:
    house = House(tmp_path)
    with guarded(house.workspace):
        other = Guard(house.workspace, mounting=True)
        assert not other.turn()
        with pytest.raises(Unavailable):
            other.before()
        assert other.after() == ()
        (house.workspace / "inner").mkdir()
        with guarded(house.workspace / "inner"):
            pass
    with guarded(house.workspace):
        pass


async def test_a_command_waits_for_the_one_before_it(tmp_path: Path) -> None:
    house = House(tmp_path)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(house.sandboxed("mkdir one; sleep 0.4; rmdir one; echo done"))
        second = group.create_task(house.sandboxed("[ ! -e one ] && echo done"))
    assert first.result().output == second.result().output == "done\n"


async def test_a_command_that_cannot_have_its_turn_is_refused(tmp_path: Path) -> None:
    house = House(tmp_path)
    program = list(bubblewraps(os.defpath, Path("/nowhere")))[-1]
    sandbox = Bubblewrap(program=program, workspace=house.workspace, tools=tools_of(os.defpath))
    with guarded(house.workspace):
        with pytest.raises(Unavailable, match="still at work"):
            await sandbox.run("true", cwd=house.workspace, limits=Limits(seconds=0.2))
        done = await sandbox.run("echo read", cwd=house.workspace, read_only=True)
        assert done.output == "read\n", "one that only reads waits for nobody"


async def test_a_sandbox_is_not_given_up_since_a_command_is_at_work(tmp_path: Path) -> None:
    """Of another server's, while this one is started."""
    house = House(tmp_path)
    program = list(bubblewraps(os.defpath, Path("/nowhere")))[-1]
    sandbox = Bubblewrap(program=program, workspace=house.workspace, tools=tools_of(os.defpath))
    async with asyncio.TaskGroup() as group:
        with guarded(house.workspace):
            trial = group.create_task(tried(sandbox))
            await asyncio.sleep(0.2)
            assert not trial.done()
    assert trial.result()[1] is None


def test_no_other_repository_is_mounted_whatever_is_swapped(tmp_path: Path) -> None:
    """A folder is another user's by turns, by a link, while its repository is taken."""
    house = House(tmp_path)
    bob = tmp_path / "bob"
    bob.mkdir()
    house.user(f"git init -q {bob}; git init -q sub; ln -s {bob} link")
    sub, link, aside = (house.workspace / name for name in ("sub", "link", "aside"))
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for old, new in ((sub, aside), (link, sub), (sub, link), (aside, sub)):
                old.rename(new)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(150):
            with guarded(house.workspace, mounting=True) as guard:
                places = [os.readlink(f"/proc/self/fd/{mount.fd}") for mount in guard.mounts]
                assert not [place for place in places if place.startswith(str(bob))]
    finally:
        over.set()
        swapping.join()
    assert sorted(p.name for p in (bob / ".git").iterdir() if "aside" in p.name) == []


@pytest.mark.parametrize("link", ["refs", "logs", "refs/heads", "index", "packed-refs"])
async def test_what_a_link_in_the_copy_leads_to_is_not_put_in_its_place(
    link: str, tmp_path: Path
) -> None:
    """`.git/refs -> /home`: all of it was copied to where the next command reads it."""
    house = House(tmp_path)
    house.user("echo a > a; git add a; git pack-refs --all")
    target = "{kept}" if link in ("index", "packed-refs") else str(tmp_path)
    await house.sandboxed(f"rm -rf .git/{link}; ln -s {target} .git/{link}")
    found = [path for path in (house.workspace / ".git").rglob("*") if path.is_file()]
    assert not [path for path in found if path.read_bytes() == KEPT.encode()]


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
    with Tree(tmp_path) as tree:
        assert dangers(tree, tmp_path, ("docs",), {}) == []
