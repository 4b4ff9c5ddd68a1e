"""The workspace's tools as the model meets them: what they say, and what they say no to."""

from __future__ import annotations

import base64
import errno
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from vivavoce.errors import InvalidArguments, ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.registry import Registry
from vivavoce.tools.wording import WORDING
from vivavoce.tools.workspace import Workspace, workspace_tools, writing
from vivavoce.tools.workspace.changes import Bounds, Changes

CONTEXT = ToolContext(user_id="ann")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


class Desk:
    """A workspace with its tools, called by name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = Registry(workspace_tools(Workspace(root)))

    async def __call__(self, name: str, **arguments: Any) -> ToolOutput:
        given = self.registry.check(name, arguments)
        output = await self.registry.run(name, given, CONTEXT)
        assert isinstance(output, ToolOutput)
        return output

    def put(self, name: str, content: str | bytes, modified: int = 0) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if modified:
            os.utime(path, (modified, modified))
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_they_are_told_in_the_words_that_were_tried_on_a_small_model(desk: Desk) -> None:
    definitions = desk.registry.definitions()
    assert [one.name for one in definitions] == [
        *("read_file", "glob", "grep", "write_file", "edit_file", "undo_change")
    ]
    assert definitions[-1].changes
    for one in definitions[:-1]:
        assert one.description == WORDING[one.name].description
        assert one.examples == WORDING[one.name].examples
        for name, about in WORDING[one.name].parameters.items():
            assert one.parameters["properties"][name]["description"] == about
        assert one.changes is (one.name in ("write_file", "edit_file"))
    for one in definitions:
        for example in one.examples:
            desk.registry.check(one.name, dict(example.arguments))


# --- Reading --------------------------------------------------------------------------


async def test_a_whole_file_has_no_line_numbers_and_a_range_has(desk: Desk) -> None:
    desk.put("a.py", "one\ntwo\nthree\nfour\n")
    whole = await desk("read_file", path="a.py")
    assert (whole.text, whole.kind) == ("one\ntwo\nthree\nfour\n", "code")
    part = await desk("read_file", path="a.py", offset=2, limit=2)
    assert part.text == "2  two\n3  three\n(1 more lines)"
    with pytest.raises(ToolFailed, match="only 4 lines"):
        await desk("read_file", path="a.py", offset=9)


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89arest", "image/gif"),
        (b"RIFF\0\0\0\0WEBPrest", "image/webp"),
    ],
)
async def test_a_picture_is_known_by_its_content(desk: Desk, data: bytes, mime: str) -> None:
    desk.put("picture.txt", data)
    (picture,) = (await desk("read_file", path="picture.txt")).pictures
    assert (picture.mime_type, base64.b64decode(picture.data)) == (mime, data)


async def test_a_picture_that_is_too_big_is_only_told_of(desk: Desk) -> None:
    desk.put("big.png", PNG + b"x" * 5_000_000)
    output = await desk("read_file", path="big.png")
    assert output.pictures == ()
    assert "too big" in output.text


async def test_other_binary_data_is_told_as_such(desk: Desk) -> None:
    desk.put("a.out", b"\x7fELF\0\0")
    assert "is binary" in (await desk("read_file", path="a.out")).text


async def test_text_in_another_encoding_is_read_as_well_as_it_can_be(desk: Desk) -> None:
    desk.put("old.txt", "Grüße".encode("latin-1"))
    assert (await desk("read_file", path="old.txt")).text == "Gr��e"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("readme", "README.md"),
        ("Read me dot MD", "README.md"),
        ("main.py", "src/main.py"),
        ("src slash main dot py", "src/main.py"),
        ("test login dot py", "tests/test_login.py"),
        ("src/mian.py", "src/main.py"),
    ],
)
async def test_a_name_as_it_is_spoken_leads_to_the_file(desk: Desk, said: str, meant: str) -> None:
    for name in ("README.md", "src/main.py", "tests/test_login.py", "unrelated/thing.txt"):
        desk.put(name, "x")
    with pytest.raises(ToolFailed) as caught:
        await desk("read_file", path=said)
    assert caught.value.cause == "ENOENT"
    assert caught.value.details["did_you_mean"][0] == meant
    assert f"did you mean {meant}" in caught.value.message


async def test_what_resembles_nothing_is_just_not_there(desk: Desk) -> None:
    desk.put("README.md", "x")
    with pytest.raises(ToolFailed, match=r"There is no 'zebra\.xyz' in the workspace$"):
        await desk("read_file", path="zebra.xyz")


async def test_a_folder_is_not_read_but_the_way_to_list_it_is_told(desk: Desk) -> None:
    desk.put("src/a.py", "x")
    with pytest.raises(ToolFailed, match="glob"):
        await desk("read_file", path="src")


# --- Writing --------------------------------------------------------------------------


async def test_writing_tells_what_changed_and_keeps_the_mode(desk: Desk) -> None:
    desk.put("run.sh", "old").chmod(0o754)
    output = await desk("write_file", path="./run.sh", content="new")
    assert output.text == "Wrote 3 characters to run.sh, replacing what was there."
    assert output.files_changed == ("run.sh",)
    assert (desk.root / "run.sh").stat().st_mode & 0o777 == 0o754
    assert os.listdir(desk.root) == ["run.sh"]


async def test_writing_never_goes_through_a_hard_link(desk: Desk, tmp_path: Path) -> None:
    other = desk.put("other.txt", "kept")
    os.link(other, desk.root / "linked.txt")
    await desk("write_file", path="linked.txt", content="new")
    assert other.read_text() == "kept"


async def test_an_edit_answers_with_a_short_diff(desk: Desk) -> None:
    desk.put("a.css", "body {\n  color: red;\n}\n")
    output = await desk("edit_file", path="a.css", old_string="red", new_string="blue")
    assert output.text.startswith("Replaced 1 place in a.css.\n--- a.css\n+++ a.css\n")
    assert "-  color: red;\n+  color: blue;" in output.text
    assert output.files_changed == ("a.css",)
    assert (desk.root / "a.css").read_text() == "body {\n  color: blue;\n}\n"


async def test_an_edit_of_several_places_must_be_meant(desk: Desk) -> None:
    desk.put("a.txt", "cat\ndog\ncat\n")
    with pytest.raises(ToolFailed, match=r"2 times \(line 1, 3\).*replace_all"):
        await desk("edit_file", path="a.txt", old_string="cat", new_string="cow")
    output = await desk(
        "edit_file", path="a.txt", old_string="cat", new_string="cow", replace_all=True
    )
    assert "Replaced 2 places" in output.text
    assert (desk.root / "a.txt").read_text() == "cow\ndog\ncow\n"


async def test_an_edit_that_does_not_fit_says_what_is_there(desk: Desk) -> None:
    desk.put("a.py", "x = 1\nDEBUG_MODE = True\n")
    with pytest.raises(ToolFailed, match="line 2 has: DEBUG_MODE"):
        await desk("edit_file", path="a.py", old_string="debug mode", new_string="x")
    with pytest.raises(ToolFailed, match="exactly as it is there"):
        await desk("edit_file", path="a.py", old_string="zebra", new_string="x")
    with pytest.raises(ToolFailed, match="nothing to change"):
        await desk("edit_file", path="a.py", old_string="x", new_string="x")
    with pytest.raises(InvalidArguments):
        await desk("edit_file", path="a.py", old_string="", new_string="x")


@pytest.mark.parametrize(
    ("text", "wanted", "near"),
    [
        ("title\n" + "-" * 3_000 + "\n", "- " * 1_000 + "x", None),
        ("_-" * 1_000_000, "- _ " * 400 + "x", None),
        ("a " * 1_000_000, "a " * 199 + "b", None),
        ("a" * 2_000_000, "a" * 500 + " " + "a" * 500 + "b", None),
        ("--- \n", "- _", None),
        ("one\ntwo-words here\n", "TWO words  HERE", "line 2 has: two-words here"),
        ("\u0130x = 1\nmake_file = 2\n", "makefile", "line 2 has: make_file"),
        ("a\n  one_\n  two\nb\n", "one two", "line 2 has: one_\n  two"),
        ("x " * 5_000 + "the_end", "the end", "line 1 has: the_end"),
        ("a-b" * 1_000, "a b" * 999, "line 1 has: " + ("a-b" * 167)[:500]),
    ],
)  # fmt: skip
async def test_a_text_that_is_not_there_is_looked_for_by_its_letters_in_no_time(
    desk: Desk, text: str, wanted: str, near: str | None
) -> None:
    """Both are somebody's words: nothing in them makes the server stand still."""
    desk.put("a.txt", text)
    began = time.process_time()
    with pytest.raises(ToolFailed) as told:
        await desk("edit_file", path="a.txt", old_string=wanted, new_string="y")
    assert time.process_time() - began < 5
    assert str(told.value).endswith(near or "exactly as it is there")


async def test_lines_that_end_as_on_windows_are_edited_and_stay_so(desk: Desk) -> None:
    desk.put("a.txt", "one\r\ntwo\r\nthree\r\n")
    await desk("edit_file", path="a.txt", old_string="one\ntwo", new_string="1\n2")
    assert (desk.root / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_what_is_no_text_is_not_edited(desk: Desk) -> None:
    path = desk.put("a.bin", b"\xff\xfe\0x")
    with pytest.raises(ToolFailed, match="no text"):
        await desk("edit_file", path="a.bin", old_string="x", new_string="y")
    assert path.read_bytes() == b"\xff\xfe\0x"


# --- Finding --------------------------------------------------------------------------


async def test_files_are_listed_newest_first_without_what_is_ignored(desk: Desk) -> None:
    desk.put("old.py", "", 1_000)
    desk.put("src/new.py", "", 3_000)
    desk.put("src/mid.py", "", 2_000)
    desk.put("node_modules/x.py", "")
    desk.put("build/x.py", "")
    desk.put(".gitignore", "build/\n")
    output = await desk("glob", pattern="**/*.py")
    assert output.kind == "files"
    assert output.text.splitlines() == [
        "Found 3 files, the newest first:",
        *("src/new.py", "src/mid.py", "old.py"),
    ]


async def test_a_name_without_a_folder_is_found_deeper_too(desk: Desk) -> None:
    desk.put("a/b/settings.py", "")
    output = await desk("glob", pattern="Settings.py")
    assert output.text == "Found 1 file in deeper folders:\na/b/settings.py"
    assert (await desk("glob", pattern="*.rs")).text == "No files match."


async def test_names_that_are_no_text_do_not_break_a_list(desk: Desk) -> None:
    Path(os.fsdecode(os.fsencode(desk.root) + b"/b\xffd\nname.txt")).write_text("found\n")
    assert "b�d?name.txt" in (await desk("glob", pattern="*.txt")).text
    (await desk("glob", pattern="*")).text.encode()


# --- Putting back ---------------------------------------------------------------------


async def test_a_new_file_is_deleted_again(desk: Desk) -> None:
    await desk("write_file", path="a/new.txt", content="words")
    undone = await desk("undo_change")
    assert undone.text == "Deleted a/new.txt, which was new."
    assert not (desk.root / "a/new.txt").exists()
    with pytest.raises(ToolFailed, match="no change"):
        await desk("undo_change")


async def test_changes_are_put_back_one_after_another_to_the_letter(desk: Desk) -> None:
    path = desk.put("notes.txt", b"\xffraw\r\n")
    await desk("write_file", path="notes.txt", content="one")
    await desk("edit_file", path="./notes.txt", old_string="one", new_string="two")
    await desk("write_file", path="other.txt", content="x")
    assert (await desk("undo_change", path="notes.txt")).text == "Put notes.txt back as it was."
    assert path.read_text() == "one"
    await desk("undo_change")
    assert not (desk.root / "other.txt").exists()
    await desk("undo_change")
    assert path.read_bytes() == b"\xffraw\r\n"


async def test_what_was_changed_since_is_not_lost_with_it(desk: Desk) -> None:
    path = desk.put("notes.txt", "old")
    await desk("write_file", path="notes.txt", content="ours")
    path.write_text("theirs")
    with pytest.raises(ToolFailed, match="changed since"):
        await desk("undo_change")
    assert path.read_text() == "theirs"
    path.unlink()
    with pytest.raises(ToolFailed, match="not there"):
        await desk("undo_change")


async def test_a_talk_takes_back_its_own_changes_and_nobody_elses(desk: Desk) -> None:
    run = desk.registry.run
    here, there = (ToolContext("ann", conversation_id=name) for name in ("here", "there"))
    await run("write_file", {"path": "a.txt", "content": "a"}, here)
    await run("write_file", {"path": "b.txt", "content": "b"}, ToolContext("ann"))  # a task
    for other in (there, ToolContext("bob", conversation_id="here")):
        with pytest.raises(ToolFailed, match="no change"):
            await run("undo_change", {}, other)
    await run("undo_change", {}, here)
    assert sorted(one.name for one in desk.root.iterdir()) == ["b.txt"]
    with pytest.raises(ToolFailed, match="no change"):
        await run("undo_change", {"path": "b.txt"}, ToolContext("bob"))
    await run("undo_change", {"path": "b.txt"}, here)
    assert not list(desk.root.iterdir())


# --- Taking back, over a restart ------------------------------------------------------


class Kept:
    """The tools of a server that is started again and again, on the same folders."""

    def __init__(self, folder: Path, **bounds: Any) -> None:
        self.root, self.data, self.bounds = folder / "work", folder / "data", Bounds(**bounds)
        self.root.mkdir(exist_ok=True)

    async def __call__(self, name: str, talk: str | None = "talk", **given: object) -> str:
        """In a process of its own, as far as anything is remembered."""
        changes = Changes(self.data / "changes", self.bounds)
        tools = Registry(workspace_tools(Workspace(self.root), ripgrep="", changes=changes))
        output = await tools.run(name, given, ToolContext("ann", conversation_id=talk))
        assert isinstance(output, ToolOutput)
        return output.text

    def changes(self) -> list[Path]:
        return sorted(one for one in self.data.rglob("*") if one.is_file())


async def test_a_change_is_taken_back_after_a_restart_in_its_own_talk(tmp_path: Path) -> None:
    run = Kept(tmp_path)
    path = run.root / "notes.txt"
    path.write_bytes(b"\xffraw\r\n")
    await run("write_file", path="notes.txt", content="one")
    await run("edit_file", path="notes.txt", old_string="one", new_string="two")
    await run("write_file", path="new.txt", content="x")
    with pytest.raises(ToolFailed, match="no change"):
        await run("undo_change", talk="another")
    assert await run("undo_change") == "Deleted new.txt, which was new."
    await run("undo_change")
    assert path.read_text() == "one"
    await run("undo_change")
    assert path.read_bytes() == b"\xffraw\r\n"
    with pytest.raises(ToolFailed, match="no change"):
        await run("undo_change")
    assert run.changes() == []


async def test_after_a_restart_what_was_changed_since_is_left_as_it_is(tmp_path: Path) -> None:
    run = Kept(tmp_path)
    path = run.root / "notes.txt"
    path.write_text("old")
    await run("write_file", path="notes.txt", content="ours")
    path.write_text("theirs")
    with pytest.raises(ToolFailed, match="changed since"):
        await run("undo_change")
    path.write_text("ours")  # put back by hand: then it may
    await run("undo_change")
    assert path.read_text() == "old"


async def test_a_change_of_another_workspace_is_not_taken_back_in_this_one(tmp_path: Path) -> None:
    run = Kept(tmp_path)
    await run("write_file", path="notes.txt", content="same")
    run.root = tmp_path / "other"
    run.root.mkdir()
    (run.root / "notes.txt").write_text("same")
    for path in ("", "notes.txt"):
        with pytest.raises(ToolFailed, match="no change"):
            await run("undo_change", path=path)


async def test_what_is_kept_is_the_owners_alone_and_has_no_copy_of_what_came(
    tmp_path: Path,
) -> None:
    run = Kept(tmp_path)
    await run("write_file", path="notes.txt", content="Zwetschgenkuchen")
    (kept,) = run.changes()
    assert b"Zwetschgenkuchen" not in kept.read_bytes()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        ({"most": 3}, 3),
        ({"most_bytes": 2_000}, 2),
        ({"longest": timedelta(microseconds=1)}, 0),
        ({"longest": None}, 6),
    ],
)
async def test_what_is_kept_is_bounded_in_number_size_and_age(
    bounds: dict[str, Any], left: int, tmp_path: Path
) -> None:
    run = Kept(tmp_path, **bounds)
    (run.root / "a.txt").write_text("0" * 700)
    for number in range(1, 7):
        await run("write_file", path="a.txt", content=str(number) * 700)
    Changes(run.data / "changes", run.bounds).sweep()
    assert len(run.changes()) == left or "most_bytes" in bounds
    assert sum(one.stat().st_size for one in run.changes()) < 80_000
    for number in range(left):
        await run("undo_change")
        assert (run.root / "a.txt").read_text()[0] == str(5 - number)
    if "most_bytes" not in bounds:
        with pytest.raises(ToolFailed, match="no change"):
            await run("undo_change")


async def test_a_file_that_was_too_big_to_be_kept_is_not_mistaken_for_the_one_before(
    tmp_path: Path,
) -> None:
    run = Kept(tmp_path, most_bytes=100)
    (run.root / "big.txt").write_text("b" * 101)
    await run("write_file", path="small.txt", content="s")
    await run("write_file", path="big.txt", content="x")
    with pytest.raises(ToolFailed, match="before is not kept: it was too big"):
        await run("undo_change")
    assert (run.root / "small.txt").exists()
    await run("undo_change", path="small.txt")


async def test_a_file_is_not_changed_where_what_it_was_cannot_be_kept(tmp_path: Path) -> None:
    run = Kept(tmp_path)
    path = run.root / "notes.txt"
    path.write_text("old")
    run.data.write_text("no folder")
    for name, given in (
        ("write_file", {"content": "new"}),
        ("edit_file", {"old_string": "old", "new_string": "new"}),
    ):
        with pytest.raises(ToolFailed, match="is left as it is"):
            await run(name, path="notes.txt", **given)
    assert path.read_text() == "old"


async def test_a_change_that_came_to_nothing_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Kept(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    await run("write_file", path="kept.txt", content="a")
    monkeypatch.setattr(writing, "_put", full)
    with pytest.raises(ToolFailed):
        await run("write_file", path="notes.txt", content="a")
    monkeypatch.undo()
    assert "kept.txt" in await run("undo_change")


def test_what_is_done_is_told_in_words_and_not_in_patterns(tmp_path: Path) -> None:
    tools = {tool.definition.name: tool for tool in workspace_tools(Workspace(tmp_path))}

    def told(name: str, **given: str) -> str:
        describe = tools[name].describe
        assert describe is not None
        return describe(given)

    assert told("grep", pattern="parse header") == "Searching for parse header"
    assert told("grep", pattern=r"\b\w*(?:port)\w*", path="src") == "Searching in src"
    assert told("grep", pattern=r"\b\w*(?:port)\w*") == "Searching the files"
    assert told("glob", pattern="**/*") == "Looking at what files there are"
    assert told("glob", pattern="**/*.md") == "Looking for **/*.md"
