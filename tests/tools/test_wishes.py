"""What people wish of the built-in tools, carried out by flows on a real workspace.

What the brain understood is given; everything behind it is real but commands, tasks and the web.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.flows.readings import READINGS
from vivavoce.brain.dialogue.flows.results import refusal
from vivavoce.brain.dialogue.manager import heard, returned, settled, view
from vivavoce.brain.dialogue.state import Do, Say, State, Step
from vivavoce.brain.dialogue.state import world as world_of
from vivavoce.errors import VivavoceError
from vivavoce.runtime.calls.outcomes import answered, failed
from vivavoce.runtime.ports import ToolContext
from vivavoce.tools.bash import bash_tool
from vivavoce.tools.builtin import builtins, task_tools
from vivavoce.tools.functions import Tool
from vivavoce.tools.sandbox.ports import NoSandbox
from vivavoce.tools.web.tools import WebSettings, web_tools
from vivavoce.tools.workspace.root import Workspace, Workspaces
from vivavoce.tools.workspace.tools import workspace_tools
from vivavoce.wire import brain
from vivavoce.wire.hints import hint_of

FILES = {
    "README.md": "# Parcels\n\nTracks parcels for shops.\nIt is aviable on the intranet.\n\n"
    "## Tests\n\n    python3 -m unittest discover -s tests\n",
    "src/app.py": '"""Routes and start-up."""\nfrom util import make_slug\n\nMAX_ITEMS = 40\n\n\n'
    "# TODO: paginate\ndef load_parcel(parcel_id):\n    return make_slug(str(parcel_id))\n",
    "src/util.py": '"""Small helpers for text."""\n\nLOCALE = "en_GB"\n\n\ndef make_slug(text):\n'
    "    return text.lower()\n\n\ndef with_backoff(fn, tries=5, pause=0.25):\n    return fn()\n",
    "tests/test_app.py": "import unittest\nfrom util import make_slug\n\n\n"
    "class T(unittest.TestCase):\n    def test_slug(self):\n        make_slug('A')\n",
    "notes.txt": "Planning\n- Workshop with Lena on the 3rd\n- Ask Tom about certificates\n",
    "config.yaml": "server:\n  port: 8123\n  timeout_seconds: 30\nlog_level: info\n"
    "name: 'parcels'\n",
}


class Bench:
    """A talk with the workbench; commands and tasks are answered from `answers`."""

    def __init__(self, folder: Path) -> None:
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        self.folder = folder
        self.answers: dict[str, str] = {}
        own = [*workspace_tools(Workspace(folder)), *builtins(None)]  # type: ignore[arg-type]
        self.tools: dict[str, Tool] = {one.definition.name: one for one in own}
        others = [
            *task_tools(None, ()),  # type: ignore[arg-type]
            *web_tools(WebSettings()),
            bash_tool(NoSandbox("a test"), Workspaces(folder)),
        ]
        named = {one.definition.name: one for one in (*own, *others)}
        schemas = {name: one.definition.parameters for name, one in named.items()}
        asked = [brain.Tool(name, "", schema) for name, schema in schemas.items()]
        self.world = world_of(asked, datetime(2026, 11, 17, 10, tzinfo=UTC))
        self.state = State()
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    async def say(self, said: str, *commands: Command) -> str:
        """What it answers, when all calls are made."""
        self.calls = []
        step = heard(self.state, said, commands, self.world)
        while isinstance(act := (step := self._settled(step)).acts[0], Do):
            self.calls.append((act.tool, act.arguments))
            output = await self._run(act)
            step = returned(step.state, act.tool, act.arguments, output, self.world)
        return self._told(step)

    def _settled(self, step: Step) -> Step:
        """Nobody points at lines here: what follows is by words alone."""
        return settled(step, self.world, lambda point: None)

    def _told(self, step: Step) -> str:
        self.state = step.state
        (act,) = step.acts
        assert isinstance(act, Say)
        return act.text

    async def _run(self, act: Do) -> str:
        if act.tool in self.answers:
            return self.answers[act.tool]
        try:
            made = await self.tools[act.tool].handler(act.arguments, ToolContext("ann"))
        except VivavoceError as fault:
            return failed(fault).for_model
        return answered(made, 1).for_model

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    @property
    def called(self) -> list[str]:
        return [tool for tool, _ in self.calls]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_value_comes_from_the_file_it_is_in(bench: Bench) -> None:
    told = await bench.say("which port is in the config", Begin("value", {"what": "port"}))
    assert "8123" in told
    assert "config.yaml" in told


async def test_and_in_the_other_one_is_the_same_question_of_another_file(bench: Bench) -> None:
    for name, value in (("dev", 2), ("prod", 5)):
        (bench.folder / f"{name}.yaml").write_text(f"retries: {value}\n")
    first = Begin("value", {"what": "retries", "where": "dev dot yaml"})
    assert "2" in await bench.say("what are the retries set to in dev dot yaml", first)
    assert "5" in await bench.say("and in the prod one?", Plain("yes"))


async def test_a_default_of_a_function_is_a_value_too(bench: Bench) -> None:
    told = await bench.say("how many tries by default", Begin("value", {"what": "tries"}))
    assert "5" in told


async def test_a_value_that_is_nowhere_is_not_made_up(bench: Bench) -> None:
    told = await bench.say("what's the tax rate", Begin("value", {"what": "tax rate"}))
    assert "don't find" in told


async def test_a_value_is_that_of_the_file_the_sentence_names(bench: Bench) -> None:
    for name, port in {"staging": 8443, "live": 443}.items():
        (bench.folder / f"{name}.toml").write_text(f"port = {port}\n")
    told = await bench.say("which port does staging use", Begin("value", {"what": "port"}))
    assert "8443" in told
    assert " 443" not in told


async def test_words_that_only_point_are_not_written_down(bench: Bench) -> None:
    wish = Begin("note", {"what": "the first line of it", "file": "notes"})
    told = await bench.say("the first line of it", wish)
    assert told == "What should I write there?"
    assert bench.called == []


async def test_uses_are_told_with_their_places_but_for_those_that_do_not_count(
    bench: Bench,
) -> None:
    said = "where's make slug used, apart from the tests"
    told = await bench.say(said, Begin("find", {"what": "make slug"}))
    assert "app.py" in told
    assert "test_app" not in told


async def test_what_no_file_is_called_may_be_in_one(bench: Bench) -> None:
    told = await bench.say("which files have make slug", Begin("files", {"what": "make slug"}))
    assert "app.py" in told
    assert "util.py" in told


async def test_what_is_in_no_file_may_be_the_name_of_one(bench: Bench) -> None:
    told = await bench.say("where's the test app", Begin("find", {"what": "test app"}))
    assert "test_app.py" in told


async def test_something_is_counted(bench: Bench) -> None:
    told = await bench.say("how many to-dos are left", Begin("count", {"what": "to-dos"}))
    assert told.startswith("1")


async def test_files_are_counted_by_kind(bench: Bench) -> None:
    told = await bench.say("how many python files", Begin("count", {"what": "python files"}))
    assert "3" in told


async def test_a_file_is_read_for_what_was_asked(bench: Bench) -> None:
    asked = Begin("read", {"file": "the notes", "about": "workshop"})
    told = await bench.say("when's the workshop, it's in the notes", asked)
    assert "the 3rd" in told
    assert "Tom" not in told


async def test_code_is_told_by_what_it_defines(bench: Bench) -> None:
    told = await bench.say("what does util pie do", Begin("read", {"file": "util pie"}))
    assert "make_slug" in told
    assert "def " not in told


async def test_a_file_that_is_not_there_is_said_to_be_missing(bench: Bench) -> None:
    told = await bench.say("open the schema", Begin("read", {"file": "the schema"}))
    assert "don't find" in told
    assert "read_file" not in bench.called


async def test_a_value_is_changed_where_it_is_and_told_as_it_is_now(bench: Bench) -> None:
    wish = Begin("change", {"what": "port", "to": "nine thousand", "file": "the config"})
    told = await bench.say("set the port to nine thousand in the config", wish)
    assert "9000" in told
    assert "8123" in told
    assert "  port: 9000\n" in bench.text("config.yaml")


async def test_a_number_stays_a_number(bench: Bench) -> None:
    wish = Begin("change", {"what": "timeout", "to": "up to ninety seconds"})
    await bench.say("put the timeout up to ninety seconds", wish)
    assert "timeout_seconds: 90\n" in bench.text("config.yaml")
    told = await bench.say("make the port blue", Begin("change", {"what": "port", "to": "blue"}))
    assert told == "What should it be?", "a word is no port"
    assert "port: 8123" in bench.text("config.yaml")


async def test_a_setting_may_be_named_by_its_section(bench: Bench) -> None:
    (bench.folder / "app.toml").write_text('[mail]\nsender = "bob"\n')
    await bench.say("mail sender is ann", Begin("change", {"what": "mail sender", "to": "ann"}))
    assert bench.text("app.toml") == '[mail]\nsender = "ann"\n'


async def test_of_two_settings_of_one_name_none_is_guessed(bench: Bench) -> None:
    (bench.folder / "app.toml").write_text("[a]\ndelay = 1\n[b]\ndelay = 2\n")
    told = await bench.say("set delay to five", Begin("change", {"what": "delay", "to": "five"}))
    assert told == "Which delay do you mean, a or b?"


async def test_quotes_stay_around_a_value(bench: Bench) -> None:
    await bench.say("name it boxes", Begin("change", {"what": "name", "to": "boxes"}))
    assert "name: 'boxes'\n" in bench.text("config.yaml")


async def test_a_spelling_mistake_is_mended(bench: Bench) -> None:
    wish = Begin("change", {"what": "aviable", "to": "available", "file": "readme"})
    told = await bench.say("aviable should be available in the readme", wish)
    assert "available" in bench.text("README.md")
    assert "available" in told


async def test_what_is_not_found_is_not_said_to_be_changed(bench: Bench) -> None:
    told = await bench.say("make the colour red", Begin("change", {"what": "colour", "to": "red"}))
    assert "changed nothing" in told
    assert "edit_file" not in bench.called


async def test_what_only_sounds_like_a_name_is_not_written_to(bench: Bench) -> None:
    (bench.folder / "src/shop.py").write_text("CUSTOMERS = {\n}\ncust = old\nprint(cust)\n")
    before = bench.text("src/shop.py")
    await bench.say("make cust get customer", Begin("change", {"what": "cust", "to": "get one"}))
    assert bench.text("src/shop.py") == before.replace("cust = old", "cust = get one")


async def test_a_correction_changes_it_again(bench: Bench) -> None:
    wish = Begin("change", {"what": "timeout", "to": "sixty"})
    await bench.say("set the timeout to sixty", wish)
    await bench.say("no sorry, I meant ninety", Fill({"to": "ninety"}))
    assert "timeout_seconds: 90\n" in bench.text("config.yaml")


async def test_a_change_is_taken_back(bench: Bench) -> None:
    before = bench.text("config.yaml")
    await bench.say("log level debug", Begin("change", {"what": "log level", "to": "debug"}))
    assert bench.text("config.yaml") != before
    told = await bench.say("put it back", Plain("undo"))
    assert bench.text("config.yaml") == before
    assert "back" in told


async def test_a_file_that_was_written_is_taken_back(bench: Bench) -> None:
    await bench.say(
        "make a file hello.txt that says good morning",
        Begin("create", {"file": "hello.txt", "what": "good morning"}),
    )
    assert bench.text("hello.txt").strip() == "good morning"
    told = await bench.say("undo that", Plain("undo"))
    assert not (bench.folder / "hello.txt").exists()
    assert told == "hello.txt is gone again."


async def test_a_name_that_was_changed_everywhere_is_changed_back(bench: Bench) -> None:
    there = {one: one.read_text() for one in bench.folder.rglob("*.py")}
    await bench.say(
        "rename make slug to slugify", Begin("rename", {"what": "make slug", "to": "slugify"})
    )
    assert {one: one.read_text() for one in bench.folder.rglob("*.py")} != there
    await bench.say("undo that", Plain("undo"))
    assert {one: one.read_text() for one in bench.folder.rglob("*.py")} == there


async def test_what_is_missing_is_asked_for_and_then_done(bench: Bench) -> None:
    told = await bench.say("change the port in the config", Begin("change", {"what": "port"}))
    assert told == "What should it be?"
    assert "to" in view(bench.state, bench.world).answers
    await bench.say("nine thousand", Fill({"to": "nine thousand"}))
    assert "port: 9000" in bench.text("config.yaml")


async def test_two_files_that_fit_are_asked_about(bench: Bench) -> None:
    (bench.folder / "web").mkdir()
    (bench.folder / "web/config.json").write_text('{"theme": "dark"}')
    told = await bench.say("what's in the config", Begin("read", {"file": "config"}))
    assert "Which one" in told
    told = await bench.say("the json one", Fill({"file": "the json one"}))
    assert "theme" in told


async def test_a_line_is_added_like_those_before(bench: Bench) -> None:
    wish = Begin("note", {"what": "buy cake", "file": "notes"})
    told = await bench.say("stick buy cake in the notes", wish)
    assert bench.text("notes.txt").endswith("certificates\n- buy cake\n")
    assert "buy cake" in told


async def test_a_misspelt_word_is_found_by_how_it_should_be(bench: Bench) -> None:
    wish = Begin("change", {"what": "available", "to": "available", "file": "the readme"})
    await bench.say("someone has spelt available wrong in the readme", wish)
    assert "It is available on" in bench.text("README.md")


async def test_a_line_is_read_by_its_place(bench: Bench) -> None:
    told = await bench.say("the last line of the notes", Begin("read", {"file": "the notes"}))
    assert told.startswith("Ask Tom about certificates.")


async def test_what_is_taken_back_in_the_same_breath_is_not_deleted(bench: Bench) -> None:
    said = "delete the readme, no wait, leave it"
    await bench.say(said, Begin("delete", {"file": "the readme"}))
    assert bench.called == []


async def test_a_file_is_made_with_the_words_that_were_said(bench: Bench) -> None:
    wish = Begin("create", {"file": "ideas dot txt", "what": "use less memory"})
    await bench.say("make a file ideas dot txt that says use less memory", wish)
    assert bench.text("ideas.txt") == "use less memory\n"


async def test_a_program_that_only_prints_is_written(bench: Bench) -> None:
    wish = Begin("create", {"file": "hi dot sh", "what": "prints good morning"})
    await bench.say("start a script hi dot sh that prints good morning", wish)
    assert bench.text("hi.sh") == '#!/bin/sh\necho "good morning"\n'


async def test_a_file_that_somebody_has_to_think_of_is_handed_over(bench: Bench) -> None:
    bench.answers["task"] = "Task started: t1 with agent 'coder'. It goes on"
    wish = Begin("create", {"file": "sort dot py", "what": "sorts the parcels by weight"})
    told = await bench.say("write sort dot py, it sorts the parcels by weight", wish)
    assert bench.called == ["glob", "task"]
    assert "handed that over" in told


async def test_numbers_are_counted_as_figures(bench: Bench) -> None:
    (bench.folder / "access.log").write_text("GET / 500\nGET / 200\nGET /a 500\n")
    wish = Begin("count", {"what": "five hundreds", "where": "access dot log"})
    told = await bench.say("how many five hundreds are in access dot log", wish)
    assert told.startswith("2")


async def test_a_name_that_was_copied_in_part_is_taken_whole(bench: Bench) -> None:
    said = "make slug is a poor name. Rename it to slugify everywhere, then run the tests."
    bench.answers["bash"] = "Succeeded (exit code 0).\nRan 1 test in 0.01s\n\nOK"
    rename = Begin("rename", {"what": "slug", "to": "slugify everywhere"})
    told = await bench.say(said, rename, Begin("run", {"what": "the tests"}))
    assert "def slugify(" in bench.text("src/util.py")
    assert "test passed" in told


async def test_what_it_is_may_have_been_said_before(bench: Bench) -> None:
    said = "make slug is a poor name, rename it to slugify everywhere"
    await bench.say(said, Begin("rename", {"what": "it", "to": "slugify everywhere"}))
    assert "def slugify(" in bench.text("src/util.py")


async def test_a_name_is_changed_wherever_it_is_used(bench: Bench) -> None:
    wish = Begin("rename", {"what": "make slug", "to": "slugify"})
    told = await bench.say("rename make slug to slugify", wish)
    assert "make_slug" not in "".join(map(bench.text, FILES))
    assert "slugify" in told


async def test_a_name_that_is_part_of_another_is_handed_over(bench: Bench) -> None:
    (bench.folder / "src/more.py").write_text("def make_slugs():\n    make_slug('a')\n")
    bench.answers["task"] = "Task started: t1 with agent 'coder'. It goes on"
    wish = Begin("rename", {"what": "make slug", "to": "slugify"})
    bench.answers["grep"] = (
        "Found 2 matches in 1 file:\nsrc/more.py:1:def make_slugs():\n"
        "src/more.py:2:    make_slug('a')"
    )
    told = await bench.say("rename make slug to slugify", wish)
    assert "handed that over" in told
    assert "edit_file" not in bench.called


async def test_tests_are_run_as_the_project_says(bench: Bench) -> None:
    bench.answers["bash"] = "Succeeded (exit code 0).\n...\nRan 3 tests in 0.01s\n\nOK"
    told = await bench.say("run the tests", Begin("test", {}))
    assert bench.calls[-1] == ("bash", {"command": "python3 -m unittest discover -s tests"})
    assert "All 3 tests passed" in told


async def test_tests_that_failed_are_named(bench: Bench) -> None:
    bench.answers["bash"] = (
        "Failed (exit code 1).\nFAIL: test_slug (test_app.T)\nRan 2 tests in 0.01s\n"
        "FAILED (failures=1)"
    )
    told = await bench.say("run the tests", Begin("test", {}))
    assert "1 of 2 tests failed: test_slug" in told


async def test_a_refusal_is_told_and_nothing_is_claimed(bench: Bench) -> None:
    bench.answers["bash"] = json.dumps({"success": False, "error": "You said no to that."})
    told = await bench.say("delete the notes", Begin("delete", {"file": "the notes"}))
    assert "said no" in told
    assert "deleted" not in told


async def test_work_is_handed_over_in_the_users_words(bench: Bench) -> None:
    bench.answers["task"] = "Task started: t1 with agent 'coder'. It goes on"
    what = "move everything to async"
    told = await bench.say(f"have someone {what}", Begin("delegate", {"what": what}))
    assert bench.calls == [("task", {"instruction": what})]
    assert "coder" in told


async def test_a_sum_is_worked_out_by_the_tool(bench: Bench) -> None:
    told = await bench.say("15 percent of 80", Begin("calculate", {"sum": "15 percent of 80"}))
    assert "12" in told


async def test_two_wishes_are_two_and_told_together(bench: Bench) -> None:
    bench.answers["bash"] = "Succeeded (exit code 0).\nRan 1 test in 0.01s\n\nOK"
    change = Begin("change", {"what": "log level", "to": "debug", "file": "config"})
    told = await bench.say("log level debug, then test", change, Begin("test", {}))
    assert "debug" in told
    assert "test passed" in told


def test_every_hint_of_the_tools_can_be_read_and_names_readings_that_are_there(
    bench: Bench,
) -> None:
    for tool in bench.tools.values():
        assert hint_of(tool.definition.parameters) is not None
    stages = [s for h in bench.world.hints.values() for s in getattr(h, "stages", ())]
    assert {stage.read for stage in stages} <= set(READINGS)


def test_a_refusal_is_one_sentence() -> None:
    told = json.dumps({"success": False, "error": "No backend is set; set THIS to that"})
    assert refusal(told) == "No backend is set"
    assert refusal("Found 1 match") is None


async def test_today_is_no_place_whose_time_is_asked_for(bench: Bench) -> None:
    bench.answers["current_time"] = "Tuesday, November 17, 2026, 5:56 PM in Europe/London (UTC)"
    said = "what day of the week is it today"
    told = await bench.say(said, Begin("time", {"where": "today"}))
    assert "Tuesday" in told
    assert "know" not in told


async def test_a_name_is_changed_only_in_the_file_that_was_named(bench: Bench) -> None:
    for name in ("calc.py", "other.py"):
        (bench.folder / name).write_text("tmp = 1\nprint(tmp)\n")
    said = "In calc dot py rename the variable tmp to total, everywhere in that file."
    await bench.say(said, Begin("rename", {"what": "tmp", "to": "total"}))
    assert (bench.folder / "calc.py").read_text() == "total = 1\nprint(total)\n"
    assert (bench.folder / "other.py").read_text() == "tmp = 1\nprint(tmp)\n"
