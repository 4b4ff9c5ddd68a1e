"""Rows by a number, two files side by side, folders, names over several files, and what hangs on a
condition: each kind in several wordings, with a real folder behind it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.brain.dialogue.talking import UNDO, Talk, begin, fill
from tests.brain.dialogue.test_workspace_talks import FLOWS
from vivavoce.brain.dialogue.commands import Begin, Fill, Plain
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.workspace import Workspace, workspace_tools

FILES = {
    "hens.csv": "hen,age,weight_g,laid\nBess,2,1900,2024\nFern,5,2100,2021\nMoss,3,2450,2023\n",
    "replies.csv": "who,coming\nAda,yes\nBen,no\nCleo,maybe\nDov,no\n",
    "lang/en.json": '{\n  "greet": "Hello",\n  "part": "Goodbye",\n  "thank": "Thanks"\n}\n',
    "lang/fr.json": '{\n  "greet": "Bonjour",\n  "thank": "Merci"\n}\n',
    "boat.dev.toml": 'speed = 4\nsail = "red"\n',
    "boat.live.toml": 'speed = 9\nsail = "red"\n',
    "pics/may-1.png": "1",
    "pics/may-2.png": "2",
    "pics/june.png": "3",
    "a.py": "def do_that():\n    return 1\n",
    "b.py": "from a import do_that\n\ndo_that()\n",
    "hut.md": "# Recieve\n\nWe recieve post. Recieve it at the door.\n",
    "limits.toml": "max_visits = 4\nvisit_length = 20\nread_wait = 3\nopen_wait = 8\n",
    "tidy.sh": "#!/bin/sh\n# every night\nset -e\nrm -f /tmp/*.part\n",
}


class Folder:
    """Runs the calls of a talk in a folder, commands too."""

    def __init__(self, root: Path) -> None:
        self.tools = {t.definition.name: t for t in workspace_tools(Workspace(root), ripgrep="")}
        self.root = root

    def __call__(self, tool: str, given: Mapping[str, Any]) -> str:
        if tool == "bash":
            done = subprocess.run(
                ["/bin/bash", "-c", given["command"]], cwd=self.root, capture_output=True, text=True
            )
            how = "Succeeded (exit code 0)." if done.returncode == 0 else "Failed (exit code 1)."
            return f"{how}\n{done.stdout or 'It printed nothing.'}"
        return asyncio.run(self._run(tool, given))

    async def _run(self, tool: str, given: Mapping[str, Any]) -> str:
        result = await self.tools[tool].handler(given, ToolContext("ann"))
        return result.text if isinstance(result, ToolOutput) else result

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def has(self, name: str) -> bool:
        return (self.root / name).exists()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Folder(tmp_path)


@pytest.fixture
def talk(folder: Folder) -> Talk:
    return Talk(hints=FLOWS, backend=folder)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("how many of the hens are older than two", "2 of the 3 rows in hens.csv, by age"),
        ("how many hens weigh at least two point one kilos", "2 of the 3 rows"),
        (
            "which hens weigh under two thousand grams",
            "1 of the 3 rows in hens.csv, by weight g: Bess",
        ),
        ("how many hens were laid after twenty twenty-two, hens dot csv", "2 of the 3 rows"),
        ("count the hens aged between three and five", "2 of the 3 rows"),
        ("how many hens are three years old or younger", "2 of the 3 rows"),
    ],
)
def test_rows_are_counted_by_a_bound_for_their_number(talk: Talk, said: str, told: str) -> None:
    assert told in talk.says(said, Begin("count", {"what": said}, sure=True))


def test_rows_are_counted_by_what_somebody_answered(talk: Talk) -> None:
    said = "how many said no in the replies, the coming column"
    told = talk.says(said, Begin("count", {"what": "people", "where": "the replies"}, sure=True))
    assert told.startswith("2 of the 4 rows")


def test_a_bound_that_no_column_is_for_is_not_made_up(talk: Talk) -> None:
    said = "how many of the hens are taller than thirty"
    told = talk.says(said, Begin("count", {"what": "hens", "where": "hens dot csv"}, sure=True))
    assert "of the 3 rows in hens.csv, by" not in told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("what's missing from the French file in the lang folder", "Only in en.json: part."),
        ("which keys are in en dot json but not in fr dot json", "Only in en.json: part."),
        (
            "what's the difference between boat dot dev dot toml and boat dot live dot toml",
            "Speed is 4 in boat.dev.toml and 9 in boat.live.toml.",
        ),
        (
            "compare hens dot csv with replies dot csv for me",
            "Only in hens.csv: Bess, Fern and Moss.",
        ),
        (
            "do boat dot dev dot toml and boat dot live dot toml have the same sail",
            "Sail is the same in both: red.",
        ),
    ],
)
def test_two_files_are_told_by_what_differs(talk: Talk, said: str, told: str) -> None:
    assert told in talk.says(said, Begin("read", {"file": "it"}, sure=True))


def test_a_question_about_the_world_compares_no_files(talk: Talk) -> None:
    talk.says("what's the difference between a list and a tuple", Plain("chat"))
    assert talk.calls == []


@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("a folder called archive", "archive"),
        ("a new directory, spring slash lambs", "spring/lambs"),
        ("an empty folder named drafts in lang", "lang/drafts"),
    ],
)
def test_a_folder_is_made_and_no_file(talk: Talk, folder: Folder, file: str, made: str) -> None:
    told = talk.says(f"make {file}", begin("create", file=file))
    assert (folder.root / made).is_dir()
    assert made in told


def test_several_files_go_into_a_folder_that_was_not_there(talk: Talk, folder: Folder) -> None:
    said = "move the two May pictures into a folder called spring"
    told = talk.says(said, begin("move", file="the two May pictures", to="a folder called spring"))
    assert folder.text("pics/spring/may-1.png") == "1"
    assert folder.text("pics/spring/may-2.png") == "2"
    assert folder.has("pics/june.png")
    assert "may-1.png and may-2.png" in told


def test_of_several_files_as_many_are_moved_as_were_said_or_none(
    talk: Talk, folder: Folder
) -> None:
    said = "move the three May pictures into a folder called spring"
    told = talk.says(
        said, begin("move", file="the three May pictures", to="a folder called spring")
    )
    assert folder.has("pics/may-1.png")
    assert folder.has("pics/may-2.png")
    assert told.endswith("?")


@pytest.mark.parametrize("what", ["do that", "the function do that", "the function called do that"])
def test_a_name_of_small_words_is_renamed_in_all_files(
    talk: Talk, folder: Folder, what: str
) -> None:
    told = talk.says(
        f"{what} should be called count eggs, with an underscore, everywhere",
        begin("rename", what=what, to="count eggs, with an underscore"),
    )
    assert "def count_eggs():" in folder.text("a.py")
    assert "import count_eggs\n\ncount_eggs()" in folder.text("b.py")
    assert "a.py and b.py" in told


def test_a_misspelt_word_is_put_right_wherever_it_is_in_the_file(
    talk: Talk, folder: Folder
) -> None:
    said = "I've spelt receive wrong in hut dot md, put it right"
    told = talk.says(said, begin("change", what="receive", file="hut dot md"))
    assert folder.text("hut.md") == "# Receive\n\nWe receive post. Receive it at the door.\n"
    assert "None" not in told


def test_a_name_ends_with_what_it_is_the_name_of(talk: Talk, folder: Folder) -> None:
    talk.says("set the visits to six", begin("change", what="the visits", to="six"))
    assert "max_visits = 6\nvisit_length = 20" in folder.text("limits.toml")


def test_settings_that_share_a_word_are_asked_about_by_name(talk: Talk, folder: Folder) -> None:
    told = talk.says("set the wait to five", begin("change", what="the wait", to="five"))
    assert "read wait or open wait" in told
    assert folder.text("limits.toml") == FILES["limits.toml"]
    talk.says("the open one", fill(section="the open one"))
    assert "read_wait = 3\nopen_wait = 5" in folder.text("limits.toml")


@pytest.mark.parametrize(
    "said",
    [
        "set the open wait to five, but only if nobody needs it",
        "if the tests pass set the open wait to five",
        "set the open wait to five unless Jo has done it",
    ],
)
def test_what_hangs_on_something_is_not_done(talk: Talk, folder: Folder, said: str) -> None:
    told = talk.says(said, Begin("change", {"what": "the open wait", "to": "five"}, sure=True))
    assert folder.text("limits.toml") == FILES["limits.toml"]
    assert "hang on" in told


@pytest.mark.parametrize(
    "said",
    [
        "set the open wait to five, if you would",
        "if it's not too much trouble, set the open wait to five",
        "set the open wait to five if you can",
    ],
)
def test_manners_are_no_condition(talk: Talk, folder: Folder, said: str) -> None:
    talk.says(said, Begin("change", {"what": "the open wait", "to": "five"}, sure=True))
    assert "open_wait = 5" in folder.text("limits.toml")


def test_back_to_a_value_is_that_value(talk: Talk, folder: Folder) -> None:
    talk.says("make the open wait twelve", begin("change", what="the open wait", to="twelve"))
    talk.says("no, back to ten please", UNDO)
    assert "open_wait = 10" in folder.text("limits.toml")


def test_a_file_just_made_gets_another_name_and_keeps_what_is_in_it(
    talk: Talk, folder: Folder
) -> None:
    talk.says(
        "start a file camp dash list dot md with two bullets, tent and stove",
        begin("create", file="camp dash list dot md", what="two bullets, tent and stove"),
    )
    talk.says("hm, call it kit dash list instead", Fill({"what": "kit dash list"}, sure=True))
    assert folder.text("kit-list.md") == "- tent\n- stove\n"
    assert not folder.has("camp-list.md")


def test_a_value_after_sorry_is_the_one_that_is_meant(talk: Talk, folder: Folder) -> None:
    first = "make the open wait twelve"
    talk.says(
        f"{first}. Ach, sorry, wrong line, fifteen I mean",
        Begin("change", {"what": "the open wait", "to": "twelve"}, first, sure=True),
        Begin("change", {"to": "fifteen"}, "sorry, wrong line, fifteen I mean", sure=True),
    )
    assert "open_wait = 15" in folder.text("limits.toml")


@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("packing dot txt, T X T", "packing.txt"),
        ("greet dot py, Python one", "greet.py"),
        ("kit dot md, the markdown sort", "kit.md"),
    ],
)
def test_what_is_said_behind_the_ending_is_no_part_of_a_name(
    talk: Talk, folder: Folder, file: str, made: str
) -> None:
    talk.says(f"make a file {file}, that says hello", begin("create", file=file, what="hello"))
    assert not [one for one in folder.root.iterdir() if "," in one.name]
    assert talk.calls[0][1] == {"pattern": made}


def test_an_ignore_file_has_each_on_its_line_as_it_is_written(talk: Talk, folder: Folder) -> None:
    said = "add a git ignore that leaves out dot env, star dot log and the build folder"
    talk.says(said, begin("create", file="a git ignore", what="dot env"))
    assert folder.text(".gitignore") == ".env\n*.log\nbuild/\n"


def test_what_a_script_runs_is_told_in_its_own_words(talk: Talk) -> None:
    told = talk.says("what does tidy dot sh do, in plain words", begin("read", file="tidy dot sh"))
    assert "every night" in told
    assert "rm -f /tmp/*.part" in told


@pytest.mark.parametrize(
    ("told", "order"),
    [
        ("I saved it as tidy dot sh, silly me", "It ought to be called sweep dot sh"),
        ("Somebody named it tidy dot sh", "it should be called sweep dot sh"),
    ],
)
def test_a_file_that_was_only_told_of_gets_the_other_name(
    talk: Talk, folder: Folder, told: str, order: str
) -> None:
    talk.says(
        f"{told}. {order}.",
        Begin("copy", {"file": "it", "to": "tidy dot sh"}, told, sure=True),
        Begin("move", {"to": "sweep dot sh"}, order, sure=True),
    )
    assert folder.has("sweep.sh")
    assert not folder.has("tidy.sh")


def test_that_something_is_missing_in_a_file_is_no_order_to_delete_it(
    talk: Talk, folder: Folder
) -> None:
    told, order = "limits dot toml is missing one", "Add shut time equals nine"
    talk.says(
        f"{told}. {order}.",
        Begin("delete", {"file": "limits dot toml"}, told, sure=True),
        Begin("note", {"what": "shut time equals nine"}, order, sure=True),
    )
    assert "shut_time = 9" in folder.text("limits.toml")


def test_how_a_name_is_written_holds_in_a_list_of_names(talk: Talk, folder: Folder) -> None:
    (folder.root / ".gitignore").write_text("dist/\nbuild/\n")
    what = "star dot log three, all one word, digit three"
    talk.says(f"put {what}, in the git ignore", begin("note", what=what, file="the git ignore"))
    assert folder.text(".gitignore") == "dist/\nbuild/\n*.log3\n"


def test_of_several_that_could_not_all_be_moved_nothing_else_is_said(
    talk: Talk, folder: Folder
) -> None:
    (folder.root / "spring").mkdir()
    (folder.root / "spring" / "may-1.png").write_text("older")
    said = "move the two May pictures from pics into the spring folder"
    told = talk.says(
        said, begin("move", file="the two May pictures from pics", to="the spring folder")
    )
    assert folder.text("spring/may-1.png") == "older"
    assert "are in" not in told


@pytest.mark.parametrize(
    "said",
    [
        "Er, can you turn that down a bit for me?",
        "Could you crank it up a little?",
        "Would you lower that for me?",
        "Just bump it up a notch, please.",
    ],
)
@pytest.mark.parametrize("heard", [Plain("cannot"), Plain("chat")])
def test_a_change_of_what_nobody_named_is_asked_about(talk: Talk, said: str, heard: Plain) -> None:
    assert talk.says(said, heard) == "What should I change?"
    assert talk.calls == []


@pytest.mark.parametrize(
    "said", ["Turn down the heating in the hall.", "Call my mum and turn her down."]
)
def test_what_is_named_and_cannot_be_done_is_declined(talk: Talk, said: str) -> None:
    assert talk.says(said, Plain("cannot")) != "What should I change?"


@pytest.mark.parametrize(
    "said",
    [
        "Right, settle this for us: dark mode or light mode? And don't you dare say it depends.",
        "Dark mode or light mode? Don't say it depends.",
        "Tabs or spaces? And no cop-outs.",
        "Come on, then: tea or coffee?",
    ],
)
@pytest.mark.parametrize("sure", [True, False])
def test_a_question_of_taste_is_handed_over_to_nobody(talk: Talk, said: str, sure: bool) -> None:
    talk.says(said, Begin("delegate", {"what": said}, sure=sure))
    assert talk.calls == []


@pytest.mark.parametrize(
    "said",
    [
        "Have somebody build dark mode and light mode for the page.",
        "Dark mode or light mode? Build whichever is quicker to do.",
    ],
)
def test_work_that_names_two_ways_is_handed_over(talk: Talk, said: str) -> None:
    talk.backend = lambda tool, given: "Handed over."
    talk.says(said, Begin("delegate", {"what": said}, sure=True))
    assert talk.did == ["task"]
