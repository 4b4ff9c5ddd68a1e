"""Server and workspace apart: what a tool may write never is what the server runs, loads or reads.

Each attack here ran code outside the sandbox, or read a secret, where the server was started in its
own checkout.
"""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

import vivavoce
from tests.journeys.process import free_port
from vivavoce.app import settings as settings_room
from vivavoce.app import tools
from vivavoce.app.settings import Settings, default_workspace, load_settings
from vivavoce.app.tools import known_tools
from vivavoce.app.workspace import prepare, problems
from vivavoce.cli import main
from vivavoce.errors import InvalidRequest, ToolFailed
from vivavoce.processes import control_groups
from vivavoce.processes.programs import find, search_path, taken_from
from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.sandbox import probe
from vivavoce.tools.workspace.searching import find_ripgrep

PACKAGE = Path(vivavoce.__file__).parent
EVIL = '#!/bin/sh\necho owned > "$(dirname "$0")/ran"\n'


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_"):
            monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    (tmp_path / "start").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.chdir(tmp_path / "start")


def _agent(tmp_path: Path) -> Path:
    folder = tmp_path / "agents/mine"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


HOLDING: dict[str, Callable[[Path], dict[str, Path]]] = {
    "the server's program": lambda at: {"workspace": PACKAGE.parent},
    "Python's library": lambda at: {"workspace": Path(sysconfig.get_path("stdlib")).parent},
    "its Python": lambda at: {"workspace": Path(sys.prefix).parent},
    "the agent's folder": lambda at: {"workspace": at / "agents"},
    "the server's data": lambda at: {"workspace": at, "data_dir": at / "data"},
    "the models": lambda at: {"workspace": at / "home/.cache"},
}


@pytest.mark.parametrize("what", HOLDING)
def test_a_workspace_that_holds_a_part_of_the_server_is_refused(what: str, tmp_path: Path) -> None:
    settings = load_settings(**HOLDING[what](tmp_path))
    found = problems(settings, _agent(tmp_path))
    assert any(f"holds {what}" in one for one in found), found


@pytest.mark.parametrize(
    ("what", "inside"),
    [
        ("the server's program", lambda at: {"workspace": PACKAGE / "tools"}),
        ("its Python", lambda at: {"workspace": Path(sys.prefix) / "lib"}),
        ("the server's data", lambda at: {"workspace": at / "d/w", "data_dir": at / "d"}),
        ("the models", lambda at: {"workspace": at / "m/w", "models_dir": at / "m"}),
        ("the agent's folder", lambda at: {"workspace": at / "agents/mine/w"}),
    ],
)
def test_a_workspace_inside_a_part_of_the_server_is_refused(
    what: str, inside: Callable[[Path], dict[str, Path]], tmp_path: Path
) -> None:
    found = problems(load_settings(**inside(tmp_path)), _agent(tmp_path))
    assert any(f"lies inside {what}" in one for one in found), found


TRIED: dict[str, Callable[[Path], dict[str, object]]] = {
    "the checkout": lambda at: {"workspace": PACKAGE.parents[1]},
    "the checkout, by dots": lambda at: {
        "workspace": Path(f"{at}/x" + "/.." * 20, PACKAGE.relative_to("/"))
    },
    "the root": lambda at: {"workspace": Path("/")},
    "a folder with everything in it": lambda at: {"workspace": at, "data_dir": at / "d"},
    "the environment of Python": lambda at: {"workspace": Path(sys.prefix)},
    "inside the data": lambda at: {"workspace": at / "d/x", "data_dir": at / "d"},
    "models inside": lambda at: {"workspace": at / "w", "models_dir": at / "w/m"},
    "the database inside": lambda at: {
        "workspace": at / "w",
        "database_url": f"sqlite:///{at}/w/x.db",
    },
    "the database inside, from where it is started": lambda at: {
        "workspace": at / "start",
        "database_url": "sqlite:///x.db",
    },
    "the script inside": lambda at: {"workspace": at / "w", "script": at / "w/s.yaml"},
}


@pytest.mark.parametrize("what", TRIED)
def test_no_such_workspace_is_taken(what: str, tmp_path: Path) -> None:
    assert problems(load_settings(**TRIED[what](tmp_path)), _agent(tmp_path))


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH"])
def test_no_variable_loads_code_from_the_workspace(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, f"/usr/lib:{tmp_path}/w/x.so")
    settings = load_settings(workspace=tmp_path / "w")
    assert any(f"what {name} names" in one for one in problems(settings, _agent(tmp_path)))


def test_nor_does_the_path_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path / "w/lib")
    settings = load_settings(workspace=tmp_path / "w")
    assert any("loads modules from" in one for one in problems(settings, _agent(tmp_path)))


def test_a_link_does_not_hide_it_in_either_direction(tmp_path: Path) -> None:
    (tmp_path / "innocent").symlink_to(PACKAGE.parent)
    found = problems(load_settings(workspace=tmp_path / "innocent"), _agent(tmp_path))
    assert any("holds the server's program" in one for one in found)
    # The data is elsewhere, but by a link that a tool could turn round.
    (tmp_path / "work").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "work/data").symlink_to(tmp_path / "real")
    linked = load_settings(workspace=tmp_path / "work", data_dir=tmp_path / "work/data")
    assert any("holds the server's data" in one for one in problems(linked, _agent(tmp_path)))


def test_settings_in_the_workspace_are_refused_wherever_they_say_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = default_workspace()
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    assert problems(load_settings(), _agent(tmp_path)) == []
    # What a tool wrote there would be this server's settings at its next start.
    Path(".env").write_text(f"VIVAVOCE_AUTH=off\nVIVAVOCE_WORKSPACE={tmp_path}/other\n")
    settings = load_settings()
    assert settings.workspace == tmp_path / "other"
    assert any("the server's settings" in one for one in problems(settings, _agent(tmp_path)))


@pytest.mark.parametrize("argv", [["db", "current"], ["models", "list"], ["serve"], ["doctor"]])
def test_no_command_goes_by_settings_that_a_tool_may_have_written(
    argv: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    default_workspace().mkdir()
    monkeypatch.chdir(default_workspace())
    Path(".env").write_text("VIVAVOCE_HUB_URL=https://evil.example\nVIVAVOCE_WORKSPACE=/tmp/x\n")
    assert main(argv) != 0
    told = capsys.readouterr()
    assert "holds the server's settings" in told.out + told.err


@pytest.mark.parametrize(
    ("args", "env", "cwd", "why"),
    [
        (["{w}/server.py"], {}, None, "argument"),
        (["--import", "file://{w}/server.mjs"], {}, None, "argument"),
        (["--require={w}/server.cjs"], {}, None, "argument"),
        (["../work/server.py"], {}, "start", "argument"),
        (["{w}/run"], {}, None, "argument"),
        (["{w}/x/../server.sh"], {}, None, "argument"),
        (["linked/server.py"], {}, "start", "argument"),
        (["-m", "server"], {}, "work", "working folder"),
        (["-m", "server"], {}, "work/deeper", "working folder"),
        (["-m", "server"], {"PYTHONPATH": "/usr/lib:{w}/lib"}, None, "PYTHONPATH"),
        (["-e", "1"], {"NODE_OPTIONS": "--require={w}/x.js"}, None, "NODE_OPTIONS"),
        (["-e", "1"], {"LD_PRELOAD": "{w}/x.so"}, None, "LD_PRELOAD"),
        (["-y", "tracker"], {"PATH": "{w}/node_modules/.bin:/usr/bin"}, None, "PATH"),
        (["{w}/deeper"], {}, None, "argument"),  # a folder with a __main__.py
        (["{w}/none"], {}, None, "argument"),
        (["-c", "import sys; sys.path.insert(0, '{w}/lib'); import x"], {}, None, "argument"),
        (["--directory", "{w}/deeper", "run"], {}, None, "argument"),
        (["--prefix", "../work/deeper", "start"], {}, "start", "argument"),
        (["--require", "{w}/hook"], {}, None, "argument"),
        (["-I{w}/lib"], {}, None, "argument"),
        (["-I../work/lib"], {}, "start", "argument"),
        (["-javaagent:{w}/a.jar"], {}, None, "argument"),
        (["-cp", "/opt/a.jar:{w}/b.jar"], {}, None, "argument"),
        (["file://{w}%2Fserver"], {}, None, "argument"),
        (["-m", "server"], {"PYTHONUSERBASE": "{w}"}, None, "PYTHONUSERBASE"),
        (["run.lua"], {"LUA_PATH": "{w}/?.lua"}, None, "LUA_PATH"),
        (["run"], {"GEM_PATH": "/usr/lib:{w}"}, None, "GEM_PATH"),
        (["-m", "server"], {"PYTHONPATH": "{w}/data"}, None, "PYTHONPATH"),
        (["-I{w}/data"], {}, None, "argument"),
        (["-y", "files", "{w}/data"], {}, None, None),
        (["--db={w}/data"], {"TRACKER_FOLDER": "{w}/data"}, None, None),
        (["/opt/server.py", "--root={w}-other/x"], {"PYTHONPATH": "/opt"}, None, None),
        (["-y", "@scope/files", "https://example.org/a?b=c"], {}, None, None),
    ],
)
def test_what_an_interpreter_runs_is_not_in_the_workspace_either(
    args: list[str], env: dict[str, str], cwd: str | None, why: str | None, tmp_path: Path
) -> None:
    work, start = tmp_path / "work", tmp_path / "start"
    (work / "deeper").mkdir(parents=True)
    start.mkdir(exist_ok=True)
    (start / "linked").symlink_to(work)
    (work / "run").write_text(EVIL)
    (work / "run").chmod(0o755)
    (work / "notes.md").write_text("")

    def known(text: str) -> str:
        return text.replace("{w}", str(work))

    found = taken_from(
        work,
        [known(one) for one in args],
        {name: known(value) for name, value in env.items()},
        None if cwd is None else tmp_path / cwd,
        [known("{w}/data")],
    )
    assert found is None if why is None else why in str(found)
    servers = tools._found(
        [
            McpServer(
                name="tracker",
                command=sys.executable,
                args=tuple(known(one) for one in args),
                env={name: known(value) for name, value in env.items()},
                cwd=None if cwd is None else tmp_path / cwd,
                data=(known("{w}/data"),),
            )
        ],
        work,
    )
    assert bool(servers) is (why is None)


async def test_the_servers_settings_cannot_be_read_where_it_was_started(tmp_path: Path) -> None:
    """`read_file .env` gave the secret that JWTs are signed with."""
    Path(".env").write_text("VIVAVOCE_SEARCH_KEY=a-secret-of-the-server\n")
    settings = load_settings(data_dir=tmp_path / "d")
    prepare(settings, _agent(tmp_path))
    tools = known_tools(settings, SystemClock())
    for path in (".env", str(Path(".env").absolute()), "../../start/.env"):
        with pytest.raises(ToolFailed):
            await tools.run("read_file", {"path": path}, ToolContext(user_id="ann"))


def test_a_folder_that_python_would_take_for_the_server_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m vivavoce`, started at home, would run `~/vivavoce/__init__.py`."""
    monkeypatch.syspath_prepend(tmp_path / "home")
    (found,) = problems(load_settings(), _agent(tmp_path))
    assert "loads modules from" in found
    plain = load_settings(workspace=tmp_path / "home/my project")
    assert problems(plain, _agent(tmp_path)) == []


def test_by_default_it_is_a_folder_of_its_own_made_at_the_first_start(tmp_path: Path) -> None:
    settings = load_settings()
    assert settings.workspace == tmp_path / "home/vivavoce"
    assert prepare(settings, _agent(tmp_path)) is True
    assert settings.workspace.is_dir()
    assert settings.workspace.stat().st_mode & 0o077 == 0
    assert prepare(settings, _agent(tmp_path)) is False


def test_beside_a_clone_of_the_same_name_at_home_it_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git clone …/vivavoce` at home, `make run`: that has to work."""
    clone = tmp_path / "home" / "vivavoce"
    monkeypatch.setattr(settings_room, "_PROGRAM", clone / "src" / "vivavoce" / "app")
    settings = load_settings()
    assert settings.workspace == tmp_path / "home" / "vivavoce-workspace"
    assert problems(settings, _agent(tmp_path)) == []


def test_serve_says_what_is_wrong_and_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_WORKSPACE", str(PACKAGE.parents[1]))
    assert main(["serve", "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert "holds the server's program" in told
    assert "holds the agent's folder" in told
    assert "another clone" in told


def test_the_server_is_not_started_where_it_is_not_apart(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds the server's data"):
        prepare(load_settings(workspace=tmp_path, data_dir=tmp_path / "d"), _agent(tmp_path))


# --- Programs


def _planted(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(EVIL)
    program.chmod(0o755)
    return program


async def test_a_ripgrep_in_the_workspace_never_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`write_file .venv/bin/rg`, then `grep`: with the environment activated, it ran at once."""
    workspace = tmp_path / "work"
    planted = _planted(workspace / ".venv/bin", "rg")
    (workspace / "note.txt").write_text("needle\n")
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("PATH", f".venv/bin::{planted.parent}:{os.environ['PATH']}")
    tools = known_tools(Settings(workspace=workspace, data_dir=tmp_path / "d"), SystemClock())
    found = await tools.run("grep", {"pattern": "needle"}, ToolContext(user_id="ann"))
    assert isinstance(found, ToolOutput)
    assert "note.txt:1:needle" in found.text
    assert not (planted.parent / "ran").exists()


def test_programs_are_absolute_and_never_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, tools = tmp_path / "work", tmp_path / "tools"
    for folder in (workspace / "bin", tools):
        _planted(folder, "helper")
    (tmp_path / "linked").symlink_to(workspace / "bin")
    _planted(tmp_path / "half", "other").unlink()
    (tmp_path / "half/helper").symlink_to(workspace / "bin/helper")
    monkeypatch.chdir(workspace)
    path = f"bin:.::{workspace}/bin:{tmp_path}/linked:{tmp_path}/half:{tools}:{workspace}/../work"
    assert find("helper", workspace, path) == str(tools / "helper")
    assert search_path(workspace, path) == f"{tmp_path}/half:{tools}"
    assert find("bin/helper", workspace, path) is None
    assert find(str(workspace / "bin/helper"), workspace, path) is None
    assert find(str(tools / "helper"), workspace, path) == str(tools / "helper")


def test_where_ripgrep_is_in_the_workspace_only_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = _planted(tmp_path / "bin", "rg")
    monkeypatch.setattr(sys, "executable", str(planted.parent / "python"))
    monkeypatch.setenv("PATH", str(planted.parent))
    assert find_ripgrep(tmp_path) is None


def test_from_the_start_on_nothing_is_looked_for_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "work"
    monkeypatch.setenv("PATH", f"relative:{workspace}/bin:/usr/bin")
    prepare(load_settings(workspace=workspace), _agent(tmp_path))
    assert os.environ["PATH"] == "/usr/bin"


# --- The doctor


def test_the_doctor_tells_what_holds_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    for words in ("apart from the server", "ripgrep: /", "no new privileges", "system calls"):
        assert words in told
    assert not default_workspace().exists()  # it only looks


def test_the_doctor_calls_on_satellites(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        places = f"tcp://127.0.0.1:{port},tcp://127.0.0.1:{free_port()}"
        monkeypatch.setenv("VIVAVOCE_WYOMING", "true")
        monkeypatch.setenv("VIVAVOCE_WYOMING_CLIENTS", "192.168.1.0/24")
        monkeypatch.setenv("VIVAVOCE_WYOMING_SATELLITES", places)
        assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert "tcp://127.0.0.1:10300, for this machine, 192.168.1.0/24" in told
    assert f"satellite 127.0.0.1:{port}: answers" in told
    assert "Connection refused" in told


def test_the_doctor_tells_what_is_not_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_WORKSPACE", str(PACKAGE.parents[1]))
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "NOT  workspace" in told
    assert "holds the server's program" in told
    assert "another clone" in told


async def test_it_says_so_where_there_are_no_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "given", frozenset)
    found = await probe(tmp_path, search_path=os.defpath)
    assert not any("control groups" in one for one in found.holds)
    assert "no control groups are to be had here" in found.notes
    assert any("memory" in note for note in found.notes)
