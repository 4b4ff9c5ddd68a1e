"""Talks about a real folder, from what the model understood to what is said: its files are found,
read and changed by the tools that ship, and nothing else is told of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.brain.dialogue.talking import UNDO, Talk, begin, fill
from vivavoce.brain.dialogue.commands import Plain
from vivavoce.brain.dialogue.flows.carrying import Point, flows_in
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools import wording
from vivavoce.tools.builtin import evaluate
from vivavoce.tools.workspace import Workspace, workspace_tools
from vivavoce.wire.hints import Hint

FLOWS = flows_in({name: Hint.model_validate(hint) for name, hint in wording.WISHES.items()})
FILES = {
    "todo.md": "# Todo\n\n## Work\n- [ ] call the plumber\n- [ ] fix the printer\n\n"
    "## Home\n- [ ] order coffee\n",
    "server.log": "INFO started\nWARN disk at 80%\nERROR no net\nWARN disk at 85%\n"
    "INFO warning shown\n",
    "src/a.py": "def scale(name, size=1):\n    return name * size\n\n\ndef two():\n    pass\n",
    "src/b.py": "from src.a import scale\n\nx = scale('y')\n",
    "cluster.toml": "[staging]\nreplicas = 2\n\n[prod]\nreplicas = 5\n",
    "features.json": '{\n  "beta": false\n}\n',
    "guests.csv": "name,table\nAmara,1\nBo,1\nChen,2\n",
    "web/app.js": "let limit = 1;\nlet z = 2;\n",
}


class Folder:
    """Runs the calls of a talk in a folder; commands are only remembered."""

    def __init__(self, root: Path) -> None:
        self.tools = {t.definition.name: t for t in workspace_tools(Workspace(root), ripgrep="")}
        self.commands: list[str] = []
        self.root = root

    def __call__(self, tool: str, given: Mapping[str, Any]) -> str:
        if tool == "calculate":
            return evaluate(given["expression"])
        if tool == "task":
            return "Task started: task_1 with agent 'coder'."
        if tool == "bash":
            self.commands.append(given["command"])
            return "Succeeded (exit code 0).\nIt printed nothing."
        result = asyncio.run(self._run(tool, given))
        return result.text if isinstance(result, ToolOutput) else result

    async def _run(self, tool: str, given: Mapping[str, Any]) -> str | ToolOutput:
        return await self.tools[tool].handler(given, ToolContext("ann"))

    def text(self, name: str) -> str:
        return (self.root / name).read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Folder(tmp_path)


@pytest.fixture
def talk(folder: Folder) -> Talk:
    return Talk(hints=FLOWS, backend=folder)


def test_an_item_is_taken_out_by_what_it_is_about_and_put_back(talk: Talk, folder: Folder) -> None:
    talk.says("add milk to the todo", begin("note", what="milk", file="the todo"))
    told = talk.says("take out the one about the printer", begin("strike", what="the printer"))
    assert "fix the printer" in told
    assert "printer" not in folder.text("todo.md")
    assert "milk" in folder.text("todo.md")
    talk.says("put it back", UNDO)
    assert "- [ ] call the plumber\n- [ ] fix the printer\n" in folder.text("todo.md")


def test_an_item_that_two_lines_could_be_is_left_alone(talk: Talk, folder: Folder) -> None:
    told = talk.says("strike the thing", begin("strike", what="the garage", file="the todo"))
    assert "nothing" in told
    assert folder.text("todo.md") == FILES["todo.md"]


def test_what_is_done_is_ticked_off(talk: Talk, folder: Folder) -> None:
    talk.says("the coffee is done", begin("tick", what="the coffee", file="the todo"))
    assert "- [x] order coffee" in folder.text("todo.md")


def test_a_line_goes_where_it_was_said_to_go(talk: Talk, folder: Folder) -> None:
    talk.says("add stamps under work in the todo", begin("note", what="stamps", file="the todo"))
    talk.says("put wine at the top of it", begin("note", what="wine", file="it"))
    text = folder.text("todo.md")
    assert "## Work\n- [ ] wine\n" in text
    assert "- [ ] fix the printer\n- [ ] stamps\n" in text


def test_a_correction_in_the_same_breath_is_what_is_meant(talk: Talk, folder: Folder) -> None:
    said = "add ask legal to the todo. No wait, not legal, finance"
    talk.says(said, begin("note", what="ask finance", file="the todo"))
    assert "ask finance" in folder.text("todo.md")
    said = "put the limit in app.js to five, no, sorry, seven"
    talk.says(said, begin("change", what="the limit", to="five", file="app.js"))
    assert "let limit = 7;" in folder.text("web/app.js")


def test_a_function_is_told_by_its_own_lines(talk: Talk) -> None:
    assert "name * size" in talk.says("what does scale return", begin("function", what="scale"))
    assert "name and size" in talk.says("what does it take", begin("function", what="it"))
    assert "don't find" in talk.says("what does three return", begin("function", what="three"))


def test_lines_of_one_kind_of_file_are_counted_and_no_others(talk: Talk) -> None:
    told = talk.says(
        "how many lines do the python files have",
        begin("count", what="lines", where="the python files"),
    )
    assert "9 lines" in told


def test_in_a_log_a_warning_is_a_line_that_is_marked_as_one(talk: Talk) -> None:
    told = talk.says("how many warnings", begin("count", what="warnings", where="the log"))
    assert told.startswith("2")


def test_sums_go_on(talk: Talk) -> None:
    talk.says("twelve times fourteen", begin("calculate", sum="twelve times fourteen"))
    assert "198" in talk.says("and that plus thirty", begin("calculate", sum="that plus thirty"))
    assert "366" in talk.says("and both added up", begin("calculate", sum="both added up"))


TRAYS = "Fourteen trays, thirty-six rolls on each, and nine of all that are burnt. How many now?"


def test_a_story_becomes_the_sum_that_was_read_out_of_it(talk: Talk) -> None:
    talk.points = lambda story: "14 * 36 - 9"
    told = talk.says(TRAYS, begin("calculate", sum="fourteen trays thirty-six rolls on each"))
    assert "14 times 36 minus 9 is 495." in told
    assert talk.calls == [("calculate", {"expression": "14 * 36 - 9"})]


@pytest.mark.parametrize("sum_", ["14 * 36", "14 * 36 - 9 - 2", "", "9 - 14 * 36"])
def test_a_sum_that_cannot_be_it_is_not_told(talk: Talk, sum_: str) -> None:
    talk.points = lambda story: sum_
    told = talk.says(TRAYS, begin("calculate", sum="fourteen trays"))
    assert "not sure how these numbers go together" in told
    assert "50" not in told


def test_the_second_one_is_the_second_that_was_told(talk: Talk) -> None:
    where = talk.says("where do we have scale", begin("find", what="scale"))
    told = "src/b.py" if where.index("a.py") < where.index("b.py") else "src/a.py"
    talk.says("read me the second one", begin("read", file="the second one"))
    assert talk.calls[-1] == ("read_file", {"path": told})


def test_in_that_file_is_only_that_file(talk: Talk, folder: Folder) -> None:
    talk.says("what's in b.py", begin("read", file="b.py"))
    talk.says("rename scale to grow in that file", begin("rename", what="scale", to="grow"))
    assert "def scale" in folder.text("src/a.py")
    assert "grow('y')" in folder.text("src/b.py")


def test_who_touched_a_file_is_asked_of_its_own_history(talk: Talk, folder: Folder) -> None:
    talk.says("who touched app.js last", begin("git", what="who touched app.js last"))
    assert folder.commands == ["git log -5 -- web/app.js"]


def test_a_setting_is_that_of_the_section_that_was_named(talk: Talk, folder: Folder) -> None:
    said = "how many replicas has staging"
    told = talk.says(said, begin("value", what="replicas", where="the cluster file"))
    assert "2 for staging" in told
    assert "5 for prod" in talk.says("and prod?", begin("calculate", sum="and prod"))
    said = "double the staging replicas in the cluster file"
    talk.says(said, begin("change", what="staging replicas", to="double", file="the cluster file"))
    assert folder.text("cluster.toml") == "[staging]\nreplicas = 4\n\n[prod]\nreplicas = 5\n"


def test_of_two_sections_none_is_guessed(talk: Talk, folder: Folder) -> None:
    talk.says("set replicas to 9", begin("change", what="replicas", to="9", file="cluster.toml"))
    assert folder.text("cluster.toml") == FILES["cluster.toml"]


def test_a_switch_is_turned_in_the_words_of_the_file(talk: Talk, folder: Folder) -> None:
    talk.says("turn beta on", begin("change", what="beta", to="on", file="features.json"))
    assert '"beta": true' in folder.text("features.json")


def test_three_to_five_is_no_time(talk: Talk, folder: Folder) -> None:
    said = "change the limit from one to five in app dot js"
    talk.says(said, begin("change", what="the limit", to="five", file="app dot js"))
    assert "let limit = 5;" in folder.text("web/app.js")


def test_people_in_a_table_are_its_rows(talk: Talk) -> None:
    told = talk.says("how many people", begin("count", what="people", where="the guest list CSV"))
    assert told.startswith("3 in guests.csv")


def test_which_rows_of_a_table_are_meant_is_not_made_up(talk: Talk) -> None:
    what = "guests came later than seven"
    told = talk.says(
        "how many came later than seven", begin("count", what=what, where="guests.csv")
    )
    assert told.startswith("I can't tell from guests.csv which of its rows are meant")


def test_that_is_the_setting_that_was_just_told_though_it_was_called_otherwise(
    talk: Talk, folder: Folder
) -> None:
    (folder.root / "pump.yaml").write_text("pump_minutes: 12\nlamp_hours: 8\n")
    told = talk.says("how long is the water pumped", begin("value", what="pumping the water"))
    assert "is 12" in told
    talk.says("make that twenty", begin("change", what="that", to="twenty"))
    assert "pump_minutes: 20\n" in folder.text("pump.yaml")


def test_the_code_of_something_is_the_file_called_so(talk: Talk, folder: Folder) -> None:
    talk.says(
        "set limit to four in the app code",
        begin("change", what="limit", to="four", file="the app code"),
    )
    assert "let limit = 4;" in folder.text("web/app.js")


def test_one_more_goes_where_the_last_one_went(talk: Talk, folder: Folder) -> None:
    talk.says("put rope on the todo", begin("note", what="rope", file="the todo"))
    talk.says("and matches", begin("calculate", sum="and matches"))
    assert folder.text("todo.md").endswith("- [ ] rope\n- [ ] matches\n")


def test_what_is_no_sum_leaves_no_question_open(talk: Talk) -> None:
    assert not talk.says("what does it take", begin("calculate", sum="it")).startswith(
        "What should"
    )
    assert not talk.state.agenda


def test_a_title_out_of_the_world_is_no_file(talk: Talk) -> None:
    talk.says("who wrote Things Fall Apart", begin("read", file="Things Fall Apart"))
    assert not talk.calls
    assert not talk.state.done


def test_the_functions_of_a_file_are_told_and_then_those_of_another(talk: Talk) -> None:
    told = talk.says("what functions are in a.py", begin("function", what="a.py", where="a.py"))
    assert "a.py has scale and two" in told


def test_the_first_line_of_a_list_can_go(talk: Talk, folder: Folder) -> None:
    said = "take info started out of the server log"
    talk.says(said, begin("strike", what="info started", file="the server log"))
    assert folder.text("server.log").startswith("WARN disk at 80%\nERROR")


UNCLEAR = Plain("unclear")
MORE = {
    "price_list.csv": "item,price\norange juice,3.50\nmango juice,3.50\nwater,1.20\n",
    "timesheet.csv": "day,who,hours\nMon,Ann,7.5\nTue,Bo,8\nWed,Ann,6\n",
    "routes.js": "const r = require('./router');\n\nr.get('/menu', menu);\n"
    "r.post('/orders', requireLogin, createOrder);\n",
    "README.md": "# Kingfisher\n\nKingfisher watches rivers.\n\nInstall Kingfisher.\n",
    "setup.py": "name = 'kingfisher'\n",
    "routes/coast.json": '{"stops": ["Malindi", "Mombasa"]}\n',
    "fib.py": "import sys\nprint(sys.argv)\n",
    "notes.txt": "Call the landlord.\nPrinter toner is on order.\nParking permit expires.\n",
}


@pytest.fixture
def desk(tmp_path: Path) -> Folder:
    for name, text in MORE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Folder(tmp_path)


@pytest.fixture
def chat(desk: Folder) -> Talk:
    return Talk(hints=FLOWS, backend=desk)


@pytest.mark.parametrize(
    ("said", "slots"),
    [
        (
            "in the price list, the CSV, the mango juice is wrong, it should be four fifty not "
            "three fifty",
            {"what": "the mango juice", "to": "four fifty", "from": "three fifty"},
        ),
        (
            "the mango juice should be four fifty not three fifty",
            {"what": "mango juice", "to": "four fifty not three fifty"},
        ),
        (
            "hiya the mango juice in the price list is four fifty now not three fifty, sort that",
            {"what": "four fifty"},
        ),
        (
            "put the price of the mango juice up to four fifty",
            {"what": "price of the mango juice", "to": "four fifty"},
        ),
        (
            "mango juice is four pounds fifty now",
            {"what": "mango juice", "to": "four pounds fifty"},
        ),
    ],
)
def test_a_price_changes_in_its_row_and_nowhere_else(
    chat: Talk, desk: Folder, said: str, slots: dict[str, str]
) -> None:
    told = chat.says(said, begin("change", file="the price list", **slots))
    expected = MORE["price_list.csv"].replace("mango juice,3.50", "mango juice,4.50")
    assert desk.text("price_list.csv") == expected
    assert "4.50" in told


def test_a_row_is_never_written_over_by_what_is_no_amount(chat: Talk, desk: Folder) -> None:
    said = "the juice should be four fifty in the price list"
    chat.says(said, begin("change", what="juice", to="four fifty", file="the price list"))
    assert desk.text("price_list.csv") == MORE["price_list.csv"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("add up the hours in timesheet dot csv for me, there's a love", "21.5"),
        ("what do the hours come to in the timesheet csv", "21.5"),
        ("what's the average of the hours in timesheet.csv", "7.17"),
        ("who worked the most in the timesheet", "Bo"),
        ("add up the hours for Ann in the timesheet", "13.5"),
        ("what's the cheapest thing in the price list csv", "water"),
    ],
)
def test_a_column_is_worked_out_from_its_file(chat: Talk, said: str, told: str) -> None:
    assert told in chat.says(said, UNCLEAR)


def test_which_of_those_is_told_in_the_words_of_the_file(chat: Talk) -> None:
    assert "/orders" in chat.says("what's in routes.js", begin("read", file="routes.js"))
    told = chat.says("which of those needs a login?", begin("find", what="login"))
    assert "/orders" in told
    assert "/menu" not in told


@pytest.mark.parametrize(
    "said",
    [
        "so the project isn't called Kingfisher any more marketing went with Heron just fix it in "
        "the read me for now leave the code alone",
        "Kingfisher is now called Heron, change it throughout the readme",
        "we renamed Kingfisher to Heron, update the readme please",
    ],
)
def test_a_name_that_is_another_now_goes_everywhere_in_that_file(
    chat: Talk, desk: Folder, said: str
) -> None:
    chat.says(said, begin("change", what="Kingfisher", to="Heron", file="the readme"))
    assert "ingfisher" not in desk.text("README.md")
    assert desk.text("README.md").count("Heron") == 3
    assert desk.text("setup.py") == MORE["setup.py"]


def test_a_name_with_an_explanation_is_found_by_the_name(chat: Talk) -> None:
    said = "there's some file that mentions Mombasa the port not the database"
    assert "coast.json" in chat.says(said, begin("find", what="Mombasa the port"))
    told = chat.says("where's the zebra crossing", begin("find", what="zebra crossing"))
    assert "don't find" in told


def test_a_script_is_given_what_was_said_once(chat: Talk, desk: Folder) -> None:
    said = "can you actually execute fib dot py with the number ten and see what it prints"
    chat.says(
        said, begin("run", what="fib dot py", file="fib dot py"), begin("run", file="fib dot py")
    )
    assert desk.commands == ["python3 fib.py 10"]


def test_two_orders_are_each_done_once(chat: Talk, desk: Folder) -> None:
    said = "could you do a git init and then tell me what git status says?"
    chat.says(said, begin("git", what="git init"), begin("git", what="what git status says"))
    assert desk.commands == ["git init", "git status -sb"]


@pytest.mark.parametrize(
    "said",
    [
        "sorry, hold on, I also want the one about the parking gone",
        "and the one about the parking too, please",
        "oh and take out the parking line as well",
    ],
)
def test_one_more_goes_and_nothing_comes_back(chat: Talk, desk: Folder, said: str) -> None:
    chat.says(
        "delete the line about the printer from notes dot txt",
        begin("strike", what="the printer", file="notes dot txt"),
    )
    chat.says(said, UNDO, begin("delete", file="about the parking gone"))
    assert desk.text("notes.txt") == "Call the landlord.\n"


@pytest.mark.parametrize(
    "said",
    [
        "Would you rather inherit a giant Perl script or fifty microservices nobody documented?",
        "do you prefer tabs or spaces",
        "what's your favourite language then",
        "which would you pick, Rust or Go",
        "if you had to choose, Vim or Emacs?",
        "is it better to use tabs or spaces",
        "who invented the barcode",
        "why do cats purr",
        "how tall is Mount Kenya",
        "what's the difference between TCP and UDP",
    ],
)
def test_an_opinion_and_the_world_call_nothing(chat: Talk, said: str) -> None:
    chat.says(said, begin("delegate", what="inherit a giant Perl script"))
    assert not chat.calls


def test_a_name_in_a_table_is_not_written_over_by_what_it_has_now(chat: Talk, desk: Folder) -> None:
    said = "Ann moved to York, fix it in the timesheet"
    chat.says(said, begin("change", what="Ann", to="York", file="the timesheet"))
    assert desk.text("timesheet.csv") == MORE["timesheet.csv"]


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("run fib.py for me", ""),
        ("run fib.py for staging", " staging"),
        ("run fib dot py with the name Zoe please", " Zoe"),
        ("run fib.py with dash dash verbose", " --verbose"),
        ("run fib.py with three and four", " 3 4"),
        ("run fib.py and tell me what it says", ""),
        ("run the fib script on sales.csv", " sales.csv"),
        ("run fib.py to see if it works", ""),
        ("run fib.py passing it twenty five", " 25"),
        ("run fib.py with python", ""),
        ("kick fib dot py off for staging would you", " staging"),
        ("run the fib script for the staging environment", " staging"),
    ],
)
def test_what_a_script_is_given(chat: Talk, desk: Folder, said: str, given: str) -> None:
    chat.says(said, begin("run", file="fib.py"))
    assert desk.commands == [f"python3 fib.py{given}"]


def test_units_are_worked_out(chat: Talk) -> None:
    assert "10,080" in chat.says("how many minutes are there in a week", UNCLEAR)
    assert "64.37" in chat.says("what's 40 miles in km", begin("value", what="40 miles in km"))


# --- What somebody has to read


def test_a_row_that_was_pointed_at_is_told_and_its_value_can_be_written_down(
    talk: Talk, folder: Folder
) -> None:
    (folder.root / "rota.csv").write_text("week,person\nthis,Amira\nnext,Tomasz\n")
    talk.points = lambda point: (0,)
    told = talk.says(
        "who has the phone this week according to rota.csv", begin("read", file="rota.csv")
    )
    assert "Amira" in told
    assert "Tomasz" not in told
    talk.says(
        "put that name in the todo, phone colon and then the name",
        begin("note", what="put that name in the todo", file="the todo"),
    )
    assert folder.text("todo.md").endswith("- [ ] phone: Amira\n")


def test_where_nothing_is_pointed_at_it_says_what_there_is(talk: Talk) -> None:
    talk.points = lambda point: ()
    told = talk.says("who pays for lunch in guests.csv", begin("read", file="guests.csv"))
    assert "3 rows" in told


def test_what_a_wish_did_not_find_is_looked_for_by_its_words(talk: Talk, folder: Folder) -> None:
    (folder.root / "spec").mkdir()
    (folder.root / "spec" / "cart.spec.ts").write_text("test('adds', () => {});\n")

    def the_cart(point: Point) -> list[int]:
        return [at for at, line in enumerate(point.lines) if "cart" in line.path][:1]

    talk.points = the_cart
    told = talk.says("where are the cart tests kept", begin("test"))
    assert "cart.spec.ts in spec" in told
    assert folder.commands == []


def test_a_line_that_only_a_reader_finds_is_changed_and_told(talk: Talk, folder: Folder) -> None:
    (folder.root / "pump.conf").write_text("attempts = 3\nname = north\n")
    talk.points = lambda point: (0,)
    told = talk.says(
        "let it try five times in pump.conf",
        begin("change", what="try", to="five", file="pump.conf"),
    )
    assert "is now 5" in told
    assert folder.text("pump.conf") == "attempts = 5\nname = north\n"


def test_a_file_that_is_not_there_is_said_not_to_be_there(talk: Talk) -> None:
    talk.points = lambda point: (0,)
    told = talk.says(
        "which port is in the compose file", begin("read", file="the compose file", about="port")
    )
    assert "don't find a file called" in told


def test_a_value_that_was_not_understood_is_asked_for_and_not_written(
    talk: Talk, folder: Folder
) -> None:
    (folder.root / "app.toml").write_text('version = "0.9.0"\n')
    told = talk.says(
        "the version should be one point", begin("change", what="the version", to="one point")
    )
    assert told.endswith("?")
    assert folder.text("app.toml") == 'version = "0.9.0"\n'
    talk.says("one point oh point oh", fill(to="one point oh point oh"))
    assert folder.text("app.toml") == 'version = "1.0.0"\n'


def test_a_number_that_was_copied_in_part_is_made_whole(talk: Talk, folder: Folder) -> None:
    (folder.root / "app.toml").write_text('version = "0.9.0"\n')
    said = "we shipped two point ten point three, put the version right in app.toml"
    talk.says(said, begin("change", what="the version", to="two point", file="app.toml"))
    assert folder.text("app.toml") == 'version = "2.10.3"\n'


def test_a_value_that_is_corrected_and_said_in_two_ways(talk: Talk, folder: Folder) -> None:
    (folder.root / "server.conf").write_text("port = 80\nworkers = 80\n")
    talk.says(
        "change the port in server.conf to eighty eighty",
        begin("change", what="the port", to="eighty eighty", file="server.conf"),
    )
    talk.says(
        "sorry, I meant ninety four forty three, nine four four three",
        fill(to="ninety four forty three, nine four four three"),
    )
    assert folder.text("server.conf") == "port = 9443\nworkers = 80\n"


def test_several_names_for_a_list_of_names_are_a_line_each(talk: Talk, folder: Folder) -> None:
    (folder.root / ".dockerignore").write_text("*.log\n.env\n")
    told = talk.says(
        "add python modules and the web folder to the docker ignore",
        begin("note", what="python modules and the web folder", file="the docker ignore"),
    )
    assert folder.text(".dockerignore") == "*.log\n.env\npython_modules\nweb\n"
    assert "web" in told


def test_work_that_is_handed_over_is_handed_over_as_a_whole(talk: Talk) -> None:
    said = "farm this out, translate every page of the handbook, and keep the pictures"
    talk.backend = lambda tool, given: "Task started: t1 with agent 'coder'"
    talk.says(said, begin("delegate", what="translate"), begin("change", what="the pictures"))
    assert talk.calls == [("task", {"instruction": said.rstrip(".")})]


def test_the_last_of_anything_is_told(talk: Talk) -> None:
    assert "warning shown" in talk.says(
        "what's the last thing in server.log", begin("read", file="server.log")
    )
    assert "no net" in talk.says("and the latest error in it?", begin("read", file="server.log"))
    assert "Chen" in talk.says("the last entry in guests.csv", begin("read", file="guests.csv"))


def test_a_command_that_only_looks_is_taken_from_the_menu(talk: Talk, folder: Folder) -> None:
    talk.points = lambda point: [
        at for at, line in enumerate(point.lines) if line.path.startswith("du")
    ]
    talk.says("how big is all of this", begin("run", what="how big is all of this"))
    assert folder.commands == ["du -sh ."]
    talk.points = lambda point: ()
    assert "?" in talk.says("run the thing", begin("run", what="the thing"))


def test_a_clause_that_only_points_back_is_no_second_change(talk: Talk, folder: Folder) -> None:
    (folder.root / "pump.conf").write_text("attempts = 3\nname = north\n")
    told = talk.says(
        "the attempts in pump.conf still say three and it's five now, can you put that right",
        begin("change", what="the attempts", to="five", file="pump.conf"),
        begin("change", what="right"),
    )
    assert folder.text("pump.conf") == "attempts = 5\nname = north\n"
    assert "nothing" not in told


def test_a_new_row_has_a_cell_for_each_column(talk: Talk, folder: Folder) -> None:
    talk.says(
        "add Dora, table three, to guests.csv", begin("note", what="Dora, three", file="guests.csv")
    )
    assert folder.text("guests.csv").endswith("Chen,2\nDora,3\n")


def test_the_text_of_a_tag_is_changed_and_not_the_tag(talk: Talk, folder: Folder) -> None:
    (folder.root / "page.html").write_text("<head>\n<title>Home</title>\n</head>\n")
    talk.says(
        "change the title in page.html to Welcome",
        begin("change", what="the title", to="Welcome", file="page.html"),
    )
    assert "<title>Welcome</title>" in folder.text("page.html")


def test_a_copy_is_made_by_a_command_that_overwrites_nothing(talk: Talk, folder: Folder) -> None:
    said = "copy todo.md to spare dot md"
    talk.says(said, begin("copy", file="todo.md", to="spare dot md"))
    assert folder.commands == ["[ ! -e spare.md ] && cp -- todo.md spare.md"]


def test_a_day_is_written_as_the_one_before_it(talk: Talk, folder: Folder) -> None:
    (folder.root / "event.txt").write_text("Summer party\nDate: 12 June\n")
    talk.points = lambda point: (1,)
    talk.says(
        "the party moved to the nineteenth, update event.txt",
        begin("change", what="the party", to="the nineteenth", file="event.txt"),
    )
    assert folder.text("event.txt") == "Summer party\nDate: 19 June\n"


def test_what_is_only_spoken_of_is_not_written_over(talk: Talk, folder: Folder) -> None:
    (folder.root / "event.txt").write_text("Summer party\nDate: 12 June\n")
    talk.points = lambda point: ()
    talk.says(
        "the party moved to the old mill, update event.txt",
        begin("change", what="the party", to="the old mill", file="event.txt"),
    )
    assert folder.text("event.txt") == "Summer party\nDate: 12 June\n"


def test_a_question_that_goes_on_is_read_with_the_one_before(talk: Talk, folder: Folder) -> None:
    (folder.root / "team.csv").write_text("name,role,city\nIngo,cook,Trier\nMaud,driver,Lyon\n")
    asked: list[str] = []

    def reader(point: Point) -> list[int]:
        asked.append(point.question)
        return [1]

    talk.points = reader
    talk.says("where is Maud based according to team.csv", begin("read", file="team.csv"))
    told = talk.says("and what does she do?", begin("function", what="she"))
    assert "driver" in told
    assert "Maud" in asked[-1]


def test_a_file_is_found_by_its_kind(talk: Talk) -> None:
    assert "server.log" in talk.says("what's in the log", begin("read", file="the log"))


def test_what_no_line_says_in_full_is_counted_by_the_word_that_it_has(
    talk: Talk, folder: Folder
) -> None:
    (folder.root / "bugs.txt").write_text("BUG-1 open login\nBUG-2 closed logo\nBUG-3 open cart\n")
    told = talk.says(
        "how many of the bugs in bugs.txt are still open",
        begin("count", what="bugs are still open", where="bugs.txt"),
    )
    assert told.startswith("2 lines have open")


def test_nothing_is_added_to_a_program_by_the_way(talk: Talk, folder: Folder) -> None:
    (folder.root / "report.py").write_text("print('Open: 13')\n")
    talk.says(
        "run the report script and give me the open amount, I have the bank on the line",
        begin("run", what="the report script", file="the report script"),
        begin("note", what="the open amount, I have the bank on the line"),
    )
    assert folder.text("report.py") == "print('Open: 13')\n"


def test_comments_are_told_and_code_is_not(talk: Talk, folder: Folder) -> None:
    (folder.root / "web/app.js").write_text("// FIXME: rounds half pence\nlet z = fixme(2);\n")
    told = talk.says("any fix me left in the web folder", begin("find", what="FIXME: rounds"))
    assert "rounds half pence" in told
    told = talk.says("where is z", begin("find", what="let z"))
    assert "line 2" in told
    assert "fixme(2)" not in told


def test_a_function_that_gives_back_one_is_told_in_words(talk: Talk, folder: Folder) -> None:
    code = "export function wrap(fn) {\n  return (...args) => {\n    fn(...args);\n  };\n}\n"
    (folder.root / "web/app.js").write_text(code)
    told = talk.says("what does wrap do", begin("function", what="wrap"))
    assert "takes fn and returns a function" in told
    assert "=>" not in told
    code = "export function total(items) {\n  return items.reduce((a, b) => a + b, 0);\n}\n"
    (folder.root / "web/app.js").write_text(code)
    assert "a function" not in talk.says("what does total do", begin("function", what="total"))


@pytest.mark.parametrize(
    ("line", "said", "now"),
    [
        ("font-size: 14px;", "eighteen pixels", "font-size: 18px;"),
        ("font-size: 14px;", "eighteen", "font-size: 18px;"),
        ("font-size: 80%;", "ninety percent", "font-size: 90%;"),
        ("font-size: 14px;", "2rem", "font-size: 2rem;"),
        ("font-size: 14px;", "two inches", "font-size: 14px;"),
        ("font-size: 14px;", "plus two", "font-size: 14px;"),
        ("font-size: 500ms;", "five minutes", "font-size: 500ms;"),
    ],
)
def test_a_unit_stays_where_it_stands(
    talk: Talk, folder: Folder, line: str, said: str, now: str
) -> None:
    (folder.root / "theme.css").write_text(f"body {{\n  {line}\n}}\n")
    words = {"what": "the font size", "to": said, "file": "theme dot css"}
    talk.says(f"make the font size in theme dot css {said}", begin("change", **words))
    assert now in folder.text("theme.css")


def test_an_underscore_that_is_said_is_one(talk: Talk, folder: Folder) -> None:
    said = "call scale resize underscore it everywhere"
    talk.says(said, begin("rename", what="scale", to="resize underscore it"))
    assert "def resize_it(" in folder.text("src/a.py")
    said = "rename resize underscore it to fit"
    talk.says(said, begin("rename", what="resize underscore it", to="fit"))
    assert "def fit(" in folder.text("src/a.py")


def test_the_command_for_the_tests_is_run_as_it_is_written(talk: Talk, folder: Folder) -> None:
    command = "python3 -m unittest discover -s tests -t ."
    (folder.root / "README.md").write_text(f"# X\n\nTests: `{command}`\n")
    talk.says("run the tests", begin("test"))
    assert folder.commands == [command]
    (folder.root / "README.md").write_text("# X\n\nRun pytest tests.\n")
    talk.says("once more", begin("test"))
    assert folder.commands[-1] == "pytest tests"


@pytest.mark.parametrize("said", ["the to-do file", "the to do list", "my todo"])
def test_a_to_do_file_is_found_however_it_is_said(talk: Talk, folder: Folder, said: str) -> None:
    talk.says(f"add stamps to {said}", begin("note", what="stamps", file=said))
    assert "stamps" in folder.text("todo.md")


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("Set beta to true in the features. Actually no, scrap that, leave it be.", False),
        ("Set beta to true in the features, no wait, forget it.", False),
        ("Set beta to true in the features, and don't touch anything else.", True),
        ("Scrap that, set beta to true in the features.", True),
    ],
)
def test_what_is_taken_back_in_the_same_breath_is_not_done(
    talk: Talk, folder: Folder, said: str, done: bool
) -> None:
    talk.says(said, begin("change", what="beta", to="true", file="the features"))
    assert ("true" in folder.text("features.json")) is done


def test_work_is_handed_over_in_all_the_words_for_it(talk: Talk) -> None:
    said = "The login page is slow. Have a look at why and fix it in the code."
    talk.says(said, begin("delegate", what="The"))
    assert talk.calls == [("task", {"instruction": said.rstrip(".")})]


# --- What must not be written -------------------------------------------------------------------


def with_files(folder: Folder, **texts: str) -> None:
    for name, text in texts.items():
        (folder.root / name.replace("__", ".")).write_text(text)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "baguettes go up, two hundred thirty cents instead of two ten, in the prices file",
            {"what": "baguettes", "to": "up", "from": "two ten"},
        ),
        (
            "flour got dear. the baguette is two thirty now, not two ten",
            {"what": "the baguette", "to": "dear", "from": "two ten"},
        ),
        (
            "set the baguette to two hundred and thirty rather than two ten",
            {"what": "baguette", "to": "rather", "from": "two ten"},
        ),
    ],
)
def test_a_price_becomes_the_number_that_stands_beside_the_old_one(
    talk: Talk, folder: Folder, said: str, words: dict[str, str]
) -> None:
    with_files(
        folder, prices__py='P = {\n    "rye": 520,\n    "baguette": 210,\n    "bun": 95,\n}\n'
    )
    talk.says(said, begin("change", file="prices.py", **words))
    assert '"baguette": 230,' in folder.text("prices.py")


def test_a_number_is_never_written_over_by_a_word(talk: Talk, folder: Folder) -> None:
    with_files(folder, prices__py='P = {\n    "baguette": 210,\n}\n')
    words = {"what": "the baguette", "to": "up", "from": "two ten"}
    told = talk.says("baguettes go up from two ten", begin("change", file="prices.py", **words))
    assert '"baguette": 210,' in folder.text("prices.py")
    assert told.endswith("?")


def test_a_line_of_another_name_is_not_taken_for_the_one_that_is_named(
    talk: Talk, folder: Folder
) -> None:
    text = "names:\n  rye bread: soon\n  white bread: soon\n"
    with_files(folder, shop__yaml=text)
    talk.points = lambda point: (len(point.lines) - 1,)
    talk.says("the rye bread comes later", begin("change", what="the rye", to="later"))
    assert "white bread: soon" in folder.text("shop.yaml")


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("requirements", "rich"),
        ("requirements dot txt", "the line rich"),
        ("requirements", "httpx"),
    ],
)
def test_what_is_there_is_added_to_and_not_written_over(
    talk: Talk, folder: Folder, file: str, what: str
) -> None:
    with_files(folder, requirements__txt="flask==3.0.3\nrequests>=2.31\n")
    told = talk.says(f"we need {what} in the {file} too", begin("create", file=file, what=what))
    kept = folder.text("requirements.txt")
    assert kept.startswith("flask==3.0.3\nrequests>=2.31\n")
    assert what.removeprefix("the line ") in kept
    assert "in place of" not in told


def test_written_over_is_what_shall_be_written_over(talk: Talk, folder: Folder) -> None:
    with_files(folder, notes__txt="old\n")
    said = "overwrite notes dot txt with the word fresh"
    talk.says(said, begin("create", file="notes dot txt", what="fresh"))
    assert folder.text("notes.txt") == "fresh\n"


@pytest.mark.parametrize("again", [begin("change", what="it", to="warn"), fill(to="warn")])
def test_another_value_comes_in_the_place_of_the_one_that_was_just_set(
    talk: Talk, folder: Folder, again: Any
) -> None:
    with_files(folder, log__json='{\n  "alarm": 140,\n  "log_level": "info"\n}\n')
    talk.says("log level on debug", begin("change", what="the log level", to="debug"))
    told = talk.says("Hmm, no, that fills the card in a day. Make it warn.", UNDO, again)
    assert '"log_level": "warn"' in folder.text("log.json")
    assert "warn" in told


@pytest.mark.parametrize(
    "said",
    [
        "go eleven hundred, leave the jump speed where it is",
        "make that eleven hundred, but don't touch the jump speed",
        "eleven hundred then, and the jump speed stays",
        "eleven hundred. keep the jump speed as it is",
    ],
)
def test_what_shall_stay_is_not_what_is_changed(talk: Talk, folder: Folder, said: str) -> None:
    with_files(folder, game__lua="return {\n  gravity = 800,\n  jump_speed = 420,\n}\n")
    talk.says("gravity to nine hundred", begin("change", what="gravity", to="nine hundred"))
    talk.says(said, begin("change", what="the jump speed", to="eleven hundred"))
    assert folder.text("game.lua") == "return {\n  gravity = 1100,\n  jump_speed = 420,\n}\n"


def test_a_change_without_a_value_is_asked_about_and_goes_to_its_own_name(
    talk: Talk, folder: Folder
) -> None:
    with_files(folder, net__json='{\n  "port": 3000,\n  "streamPort": 3002\n}\n')
    asked = talk.says("could you change the port in net.json?", begin("change", what="the port"))
    assert asked.endswith("?")
    talk.says("make it three one zero zero", fill(to="three one zero zero"))
    assert folder.text("net.json") == '{\n  "port": 3100,\n  "streamPort": 3002\n}\n'


def test_what_is_pointed_at_was_said_in_the_sentence_before(talk: Talk, folder: Folder) -> None:
    with_files(folder, essays__md="- [ ] mark the essays\n- [ ] email the office\n")
    said = "the essays are finished, hurray! tick them off in essays dot md"
    talk.says(said, begin("tick", what="them", file="essays dot md"))
    assert folder.text("essays.md") == "- [x] mark the essays\n- [ ] email the office\n"


@pytest.mark.parametrize(
    "said",
    [
        "which file calls scale, besides the one where it lives?",
        "who uses scale, apart from where it is defined?",
    ],
)
def test_where_something_is_used_is_not_where_it_is_defined(talk: Talk, said: str) -> None:
    told = talk.says(said, begin("find", what="scale"))
    assert "b.py" in told
    assert "a.py" not in told


@pytest.mark.parametrize("wish", ["note", "create"])
def test_words_are_not_added_to_data(talk: Talk, folder: Folder, wish: str) -> None:
    stops = '{"line": ["Harbour", "Station"]}\n'
    (folder.root / "stops.json").write_text(stops)
    told = talk.says(
        "put Mill Lane into stops dot json after the harbour",
        begin(wish, what="Mill Lane after the harbour", file="stops dot json"),
    )
    assert folder.text("stops.json") == stops
    assert "changed nothing" in told or "leave it as it is" in told


def test_of_several_that_are_called_so_it_is_asked_which_one(talk: Talk, folder: Folder) -> None:
    levels = '{\n  "music_volume": 70,\n  "effects_volume": 90,\n  "fullscreen": true\n}\n'
    (folder.root / "settings.json").write_text(levels)
    told = talk.says(
        "One of the volumes in my settings is blowing my head off. Set it to thirty.",
        begin("change", what="One of the volumes", to="thirty", file="my settings"),
    )
    assert told.endswith("?")
    assert folder.text("settings.json") == levels
    assert "music volume or effects volume" in told
    talk.says("the effects", fill(section="the effects"))
    assert '"effects_volume": 30' in folder.text("settings.json")
    assert '"music_volume": 70' in folder.text("settings.json")


MEMBERS = """name,tier,paid
Ann,gold,yes
Bo,silver,no
Cy,gold,no
Di,bronze,yes
Ed,gold,yes
Fay,bronze,no
"""


@pytest.mark.parametrize(
    ("said", "what", "number"),
    [
        ("how many folks have we got on the gold tier in members dot csv", "folks", 3),
        ("in members.csv, how many people haven't paid yet?", "people haven't paid", 3),
        ("how many in the members file have paid", "have paid", 3),
        ("how many gold ones in members.csv haven't paid?", "gold ones", 1),
        ("how many members are there in members.csv", "members", 6),
    ],
)
def test_rows_of_a_table_are_counted_by_what_they_say(
    talk: Talk, folder: Folder, said: str, what: str, number: int
) -> None:
    (folder.root / "members.csv").write_text(MEMBERS)
    told = talk.says(said, begin("count", what=what, where="members.csv"))
    assert re.search(rf"\b{number}\b", told), told
