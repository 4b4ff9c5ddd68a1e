"""The command says what it can do, and what went wrong in one line."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.contract.records import START, approval
from tests.contract.test_store_forgetting import fill
from tests.store.stores import opened
from tests.store.test_forgetting import holding
from vivavoce import __version__
from vivavoce.app.listen import sole_server
from vivavoce.app.settings import Settings
from vivavoce.cli import main
from vivavoce.errors import Unavailable
from vivavoce.store import open_store
from vivavoce.wire.records.talk import Audited, Put
from vivavoce.wire.records.work import ApprovalStatus, AuditLine

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_") or name == "OPENAI_API_KEY":
            monkeypatch.delenv(name)
    monkeypatch.setenv("VIVAVOCE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("VIVAVOCE_WORKSPACE", str(tmp_path / "workspace"))
    (tmp_path / "workspace").mkdir()
    monkeypatch.setenv("PATH", os.environ["PATH"])  # `serve` takes out what is not safe
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `serve` was called with, in place of a server."""
    seen: list[Settings] = []

    def serve(settings: Settings, source: object) -> int:
        seen.append(settings)
        return 0

    listen = ModuleType("vivavoce.app.listen")
    listen.serve = serve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vivavoce.app.listen", listen)
    return seen


def test_the_help_helps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for words in ("serve", "agent check", "db sweep", "OPENAI_API_KEY", "VIVAVOCE_DATA_DIR"):
        assert words in shown


def test_the_variables_in_the_help_are_settings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = capsys.readouterr().out.replace(",", " ").replace(")", " ").split()
    named = {word.removeprefix("VIVAVOCE_").lower() for word in words if "VIVAVOCE_" in word}
    assert named <= Settings.model_fields.keys()


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"vivavoce {__version__}\n"


@pytest.mark.parametrize("argv", [["dance"], ["db", "dance"], ["serve", "--nope"]])
def test_what_it_does_not_know_ends_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("argv", "words"), [([], "serve"), (["db"], "upgrade"), (["agent"], "check")]
)
def test_a_command_that_lacks_the_rest_of_it_shows_its_help(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("usage: ")
    assert words in shown


def test_serve_takes_its_options_over_the_environment(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_PORT", "1234")
    assert main(["serve", "--host", "::1", "--agent", "workbench", "--log-level", "debug"]) == 0
    (settings,) = served
    assert (settings.host, settings.port, settings.log_level) == ("::1", 1234, "debug")


def test_a_wrong_option_is_one_clear_line(
    served: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", "many"]) == 2
    assert capsys.readouterr().err == (
        "vivavoce: --port: should be a valid integer, and is 'many'\n"
    )
    assert served == []


def test_an_unknown_agent_is_one_clear_line(
    served: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--agent", "nope"]) == 2
    assert capsys.readouterr().err.startswith("vivavoce: there is no agent 'nope'; there are: ")


def test_it_refuses_to_serve_others_without_authentication(
    served: list[Settings], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    assert "without authentication" in capsys.readouterr().err
    monkeypatch.setenv("VIVAVOCE_AUTH", "token")
    monkeypatch.setenv("VIVAVOCE_AUTH_TOKEN", "0123456789abcdef")
    assert main(["serve", "--host", "0.0.0.0"]) == 0
    assert len(served) == 1


def test_a_misspelt_variable_is_warned_of(
    served: list[Settings], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_PROT", "1")
    assert main(["serve"]) == 0
    assert "warning: VIVAVOCE_PROT is no setting" in capsys.readouterr().err
    Path(".env").write_text("VIVAVOCE_MODLE=x\n")
    assert main(["serve"]) == 0
    assert (
        "warning: .env: VIVAVOCE_MODLE is no setting; did you mean VIVAVOCE_MODEL?"
        in capsys.readouterr().err
    )


def test_ctrl_c_is_no_error_of_ours(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(settings: Settings, source: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["vivavoce.app.listen"], "serve", serve)
    assert main(["serve"]) == 130


def test_the_database_is_made_shown_and_swept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "current"]) == 0
    assert "no database yet" in capsys.readouterr().out
    assert not Path("data").exists()
    assert main(["db", "upgrade"]) == 0
    assert main(["db", "current"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.endswith("up to date")
    assert main(["db", "sweep"]) == 0
    assert capsys.readouterr().out == "0 rows deleted\n"


def test_what_was_allowed_for_good_is_listed_and_taken_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = {"status": ApprovalStatus.GRANTED, "resolved_by": "voice", "resolved_at": START}
    lasting = approval("apr_1", user_id="local", reach="always", **given)

    async def store_it() -> None:
        async with opened(f"sqlite:///{tmp_path}/data/vivavoce.db") as store:
            await store.commit([Put(lasting), Put(approval("apr_2", user_id="local"))])

    Path("data").mkdir()
    asyncio.run(store_it())
    assert main(["grants", "list"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("apr_1  ")
    assert "always by voice" in line
    assert main(["grants", "list", "--user", "ann"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["grants", "revoke", "apr_1", "--user", "ann"]) == 2
    assert main(["grants", "revoke", "apr_1"]) == 0
    assert main(["grants", "revoke", "apr_1"]) == 2
    assert "no yes 'apr_1' of local" in capsys.readouterr().err
    assert main(["grants", "list"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["audit", "--verify"]) == 0
    assert capsys.readouterr().out.startswith("1 lines, each follows")
    assert main(["audit", "--user", "local"]) == 0
    assert " grant bash apr_1: taken back " in capsys.readouterr().out
    assert main(["audit", "--user", "ann"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("UPDATE audit SET what = 'nothing' WHERE position = 2", 2),
        ("UPDATE audit SET outcome = 'x' WHERE position = 1", 1),
        ("DELETE FROM audit WHERE position < 3", 1),
        ("DELETE FROM audit WHERE position = 3", 3),
        ("DELETE FROM audit", 1),
    ],
)
def test_an_audit_that_was_changed_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, statement: str, line: int
) -> None:
    async def store_it() -> None:
        async with opened(f"sqlite:///{tmp_path}/data/vivavoce.db") as store:
            line = AuditLine(at=START, action="tool", what="bash", outcome="completed")
            await store.commit([Audited(line) for _ in range(3)])

    Path("data").mkdir()
    asyncio.run(store_it())
    assert main(["audit", "--verify"]) == 0
    with sqlite3.connect("data/vivavoce.db") as connection:
        connection.execute(statement)
    connection.close()
    assert main(["audit", "--verify"]) == 2
    assert f"line {line} is missing, or does not follow" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["upgrade", "current", "sweep"])
@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y"])
def test_a_database_that_cannot_be_used_is_one_clear_line(
    action: str, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_DATABASE_URL", url)
    assert main(["db", action]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("vivavoce: ")


COMMANDS = [["db", "upgrade"], ["db", "current"], ["db", "sweep"], ["serve", "--port", "0"]]


@pytest.mark.parametrize("argv", COMMANDS)
def test_a_folder_that_cannot_be_written_is_one_clear_line(argv: list[str], tmp_path: Path) -> None:
    Path("data").write_text("a file, not a folder")
    if argv == ["db", "current"]:  # it makes nothing, and so misses nothing
        assert main(argv) == 0
        return
    code, told = run(*argv)
    assert code == 2
    assert told == (
        f"vivavoce: the database cannot be opened: {tmp_path}/data/vivavoce.db: "
        f"{tmp_path}/data is no folder\n"
    )


@pytest.mark.parametrize("argv", COMMANDS)
def test_a_file_that_is_no_database_is_one_clear_line(argv: list[str], tmp_path: Path) -> None:
    Path("data").mkdir()
    Path("data/vivavoce.db").write_text("not a database " * 100)
    assert run(*argv) == (
        2,
        f"vivavoce: the database cannot be opened: {tmp_path}/data/vivavoce.db: "
        "file is not a database\n",
    )


@pytest.mark.parametrize("argv", COMMANDS)
def test_a_postgres_that_is_not_there_is_one_clear_line_without_its_password(
    argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"postgresql://ada:hunter2@127.0.0.1:{port}/voice?password=hunter2"
    monkeypatch.setenv("VIVAVOCE_DATABASE_URL", url)
    code, told = run(*argv)
    assert code == 2
    place = f"postgresql://ada:***@127.0.0.1:{port}/voice: "
    assert told.startswith(f"vivavoce: the database cannot be opened: {place}")
    assert "refused" in told
    assert "hunter2" not in told
    assert told.count("\n") == 1


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run("serve", "--port", port) == (
            2,
            f"vivavoce: 127.0.0.1:{port}: the port is taken; "
            "choose another with --port or VIVAVOCE_PORT\n",
        )


def test_a_second_server_on_the_same_file_is_refused_and_the_database_still_looked_after(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/data/vivavoce.db"
    with sole_server(url):
        code, told = run("serve", "--port", "0")
        assert code == 2
        assert told.startswith(f"vivavoce: another server (process {os.getpid()}) is using")
        assert "--data-dir" in told
        assert told.count("\n") == 1
        for action in ("upgrade", "current", "sweep"):
            assert run("db", action) == (0, "")
    with sole_server(url):  # it was let go
        pass


def test_a_server_that_was_killed_leaves_its_database_free(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/data/vivavoce.db"
    code = (
        "import sys, time; from vivavoce.app.listen import sole_server\n"
        f"with sole_server({url!r}): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Unavailable, match=f"process {holder.pid}"), sole_server(url):
            pass
        holder.kill()
        holder.wait(10)
        with sole_server(url):
            pass


def run(*argv: str) -> tuple[int, str]:
    """The command as a process of its own: its exit code, and what it said on stderr."""
    ended = subprocess.run(
        [sys.executable, "-m", "vivavoce", *argv],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ended.returncode, ended.stderr


def test_an_agent_folder_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "check", str(ROOT / "agents" / "workbench")]) == 0
    assert capsys.readouterr().out.startswith("workbench: fine")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "prompt.md").write_text("Hello.")
    (folder / "agent.yaml").write_text("name: mine\nvoise: x\n")
    assert main(["agent", "check", "mine"]) == 2
    assert "agent.yaml:2: voise: there is no such key" in capsys.readouterr().err
    (folder / "agent.yaml").write_text("name: mine\ntools: [juggle]\n")
    assert main(["agent", "check", "mine"]) == 2
    assert "no tool 'juggle'; there are: current_time" in capsys.readouterr().err


def test_an_agent_is_checked_by_its_name_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["agent", "check", "workbench"]) == 0
    assert capsys.readouterr().out.startswith("workbench: fine")
    assert main(["agent", "check", "nope"]) == 2
    assert "there is no agent 'nope'; there are: " in capsys.readouterr().err
    an_agent(tmp_path / "house" / "butler", "name: butler\n")
    monkeypatch.setenv("VIVAVOCE_AGENTS_DIR", "house")
    assert main(["agent", "check", "butler"]) == 0


def test_a_checked_agent_shows_its_voice_its_tools_and_what_its_intents_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["agent", "check", "flux"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  voice: marin",
        "  tools: none but its intents",
        "  intent submit_goal_intent → GOAL: needs goal_statement",
        "  intent submit_new_task_intent → NEW_TASK: needs title, trigger_type, scheduled_at if "
        "trigger_type is time, location_trigger if trigger_type is location",
        "  intent submit_reschedule_intent → RESCHEDULE_TASK: needs task_id",
        "  intent list_things → LIST: needs nothing",
        "  intent complete_thing → COMPLETE: needs thing_id",
        "  intent delete_thing → DELETE: needs thing_id",
        "  intent rename_thing → RENAME: needs thing_id, new_title",
        "  intent note_goal → NOTE: needs goal_id, note",
    ]


def test_every_mistake_of_a_folder_is_told_whichever_file_it_is_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    an_agent(folder, "name: mine\nvoise: x\n")
    (folder / "prompt.md").write_text("")
    (folder / "intents.yaml").write_text("intents:\n  - {name: a b, route: A, description: A}\n")
    assert main(["agent", "check", str(folder)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.removeprefix(f"vivavoce: {folder}/").split(": ")[0] for line in told] == [
        "agent.yaml:2",
        "prompt.md:1",
        "intents.yaml:2",
    ]
    (folder / "agent.yaml").write_text("name: mine\nvoice: kermit\n")
    (folder / "prompt.md").write_text("Hello.")
    (folder / "intents.yaml").write_text(
        "intents:\n  - {name: bash, route: GAOL, description: A}\n"
    )
    assert main(["agent", "check", str(folder)]) == 2
    voice, name, route = capsys.readouterr().err.splitlines()
    assert "agent.yaml:2: voice: there is no voice 'kermit'" in voice
    assert "intents.yaml:2: intents.0.name: there is a tool 'bash' already" in name
    assert "intents.yaml:2: intents.0.route: nobody acts on 'GAOL'" in route
    assert route.endswith("did you mean 'GOAL'?")


def test_a_secret_that_is_not_there_yet_is_a_warning_and_an_own_backend_takes_any_route(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    an_agent(folder, "name: mine\norchestrator: {url: 'https://x.org/i', secret: '${NOPE_KEY}'}\n")
    (folder / "intents.yaml").write_text(
        "intents:\n  - {name: wish, route: WISH, description: A}\n"
    )
    monkeypatch.delenv("NOPE_KEY", raising=False)
    assert main(["agent", "check", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "  orchestrator: https://x.org/i\n  warning: orchestrator.secret" in told
    assert "the environment has no NOPE_KEY" in told
    monkeypatch.setenv("NOPE_KEY", "hush")
    assert main(["agent", "check", str(folder)]) == 0
    assert "warning" not in capsys.readouterr().out


def test_serving_and_checking_tell_the_same_of_an_agent(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    an_agent(folder, "name: mine\nvoice: kermit\ntools:\n  - calculate\n  - juggle\n")
    code, told = run("agent", "check", str(folder))
    assert (code, told) == run("serve", "--port", "0", "--agent", str(folder))
    voice, tool = told.splitlines()
    assert code == 2
    file = f"vivavoce: {folder}/agent.yaml"
    assert voice.startswith(f"{file}:2: voice: there is no voice 'kermit'; there are: marin, ")
    assert tool.startswith(f"{file}:5: tools: there is no tool 'juggle'; there are: current_time")


def test_a_voice_that_was_set_is_told_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_VOICE", "kermit")
    code, told = run("serve", "--port", "0")
    assert code == 2
    assert told.startswith("vivavoce: VIVAVOCE_VOICE: there is no voice 'kermit'; there are: ")


def an_agent(folder: Path, said: str) -> None:
    folder.mkdir(parents=True)
    (folder / "prompt.md").write_text("Hello.")
    (folder / "agent.yaml").write_text(said)


NEEDED = [
    "Makefile",
    "pyproject.toml",
    *(f"locks/{name}.txt" for name in ("serve", "dev", "node", "clients", "tools")),
    *(f"web/{name}" for name in ("package.json", "package-lock.json", ".npmrc", "src/main.tsx")),
    *(f"tests/clients/node/{name}" for name in ("package.json", "package-lock.json", ".npmrc")),
]
MADE = [
    ".venv/.ready",
    ".venv/.ready-dev",
    ".venv/.ready-node",
    "web/node_modules/.package-lock.json",
    "src/vivavoce/server/static/index.html",
    "tests/clients/node/node_modules/.package-lock.json",
]


@pytest.mark.parametrize(
    ("target", "dev", "page", "clients"),
    [
        ("run", False, True, False),
        ("setup", True, False, False),
        ("test", True, True, True),
        ("bench", True, False, False),
    ],
)
def test_make_fetches_only_what_a_target_needs_and_only_once(
    target: str, dev: bool, page: bool, clients: bool, tmp_path: Path
) -> None:
    for name in NEEDED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    told = _dry_run(target, tmp_path)
    assert "-r locks/serve.txt" in told
    assert ("-r locks/dev.txt" in told) is dev
    # Everything by its hash, but the project itself, with what is installed already.
    fetched = [line for line in told.splitlines() if "pip install" in line and "locks/" in line]
    assert all("--require-hashes" in line for line in fetched)
    assert told.count("pip install") - len(fetched) == told.count("--no-build-isolation -e .") == 1
    assert ("npm --prefix web ci" in told) is page
    assert ("npm --prefix tests/clients/node ci" in told) is clients
    for name in MADE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    again = _dry_run(target, tmp_path)
    assert "pip" not in again
    assert not re.search(r"npm .* ci\b|run build", again)


def _dry_run(target: str, folder: Path) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    make = ["make", "--dry-run", target]
    done = subprocess.run(make, capture_output=True, text=True, check=True, env=own, cwd=folder)
    return done.stdout


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys, vivavoce.cli\n"
        "heavy = {'pydantic', 'sqlalchemy', 'fastapi', 'openai'}; "
        "sys.exit(', '.join(heavy & sys.modules.keys()) or None)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_start_loads_nothing_that_it_can_do_without(tmp_path: Path) -> None:
    """Each of these takes a tenth of a second or more, or, as psutil and the doors beside that of
    `/health`, some hundredths; they are loaded once the server answers, or when they are needed."""
    code = (
        "import asyncio, pathlib, sys, vivavoce.app.listen\n"
        "from vivavoce.app.server import assemble\n"
        "from vivavoce.app.settings import load_settings\n"
        "async def start():\n"
        "    data, work = map(pathlib.Path, sys.argv[1:])\n"
        "    here = assemble(load_settings(data_dir=data, workspace=work))\n"
        "    assert here.engine is not None and here.provider.capabilities\n"
        "asyncio.run(start())\n"
        "heavy = {'openai', 'mcp', 'mcp_types', 'dbos', 'alembic', 'aiortc', 'av', "
        "'numpy', 'onnxruntime', 'xllamacpp', 'httpx', 'httpx2', 'jwt', 'a2a', 'acp', 'psycopg'}; "
        "heavy |= {'psutil', 'vivavoce.server.doors.sessions', 'vivavoce.server.schemas.sessions', "
        "'vivavoce.server.doors.conversations', 'vivavoce.server.doors.tools'}; "
        "sys.exit(', '.join(heavy & sys.modules.keys()) or None)"
    )
    start = [sys.executable, "-c", code, str(tmp_path), str(tmp_path / "work")]
    done = subprocess.run(start, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# --- Tokens -----------------------------------------------------------------------------


def test_a_token_is_shown_once_listed_by_its_name_and_revoked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["token", "create", "grafana", "--days", "30", "--role", "developer"]) == 0
    shown = capsys.readouterr()
    secret = shown.out.strip()
    assert re.fullmatch(r"vvk_[A-Za-z0-9_-]{43}", secret)
    assert "shown this once" in shown.err
    assert not any(
        secret.encode() in file.read_bytes()
        for file in (tmp_path / "data").rglob("*")
        if file.is_file()
    )
    assert main(["token", "create", "grafana"]) == 2
    assert "there is a token 'grafana' already" in capsys.readouterr().err
    assert main(["token", "create", "VIVAVOCE_AUTH_TOKEN"]) == 2
    assert "is the name of the token that is a setting" in capsys.readouterr().err
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"grafana +developer +\S+ +\S+ +works", listed)
    assert secret not in listed
    assert main(["token", "revoke", "grafana"]) == 0
    assert "opens nothing any more" in capsys.readouterr().out
    assert main(["token", "list"]) == 0
    assert "revoked" in capsys.readouterr().out
    assert main(["token", "create", "grafana", "--days", "0"]) == 0
    capsys.readouterr()
    assert main(["token", "list"]) == 0
    assert re.search(r"grafana +operator +\S+ +never +works", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["revoke", "nobody"], "there is no token 'nobody'"),
        (["create", "two words"], "a token's name has letters"),
        (["create", "ops", "--days", "-1"], "--days: should be"),
    ],
)
def test_a_token_that_cannot_be_made_or_revoked_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert main(["token", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_tool_that_is_granted_and_not_there_is_told_with_where_it_was_granted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "prompt.md").write_text("Be brief.")
    (folder / "agent.yaml").write_text("name: mine\nroles:\n  user:\n    tools: [glob, juggle]\n")
    assert main(["agent", "check", str(folder)]) == 2
    told = capsys.readouterr().err
    assert "agent.yaml:4: roles.user.tools, or VIVAVOCE_USER_TOOLS: there is no tool" in told
    assert "'juggle'" in told


def test_all_that_is_kept_of_a_user_can_be_written_to_a_file_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "Zwetschgenkuchen"
    store = open_store(f"sqlite:///{tmp_path}/data/vivavoce.db")

    async def made() -> None:
        await store.open()
        await fill(store, "ann", words)
        await store.close()

    asyncio.run(made())
    brain = tmp_path / "data" / "brain"
    brain.mkdir()
    (brain / "m-own-1.txt").write_text(words)
    (brain / "m-2.txt").write_text("what all begin with")
    assert main(["data", "export", "ann", "--output", "ann.json"]) == 0
    told = json.loads(Path("ann.json").read_text())
    assert told["data"]["goals"][0]["statement"] == words
    assert Path("ann.json").stat().st_mode & 0o077 == 0
    assert main(["data", "export", "ann", "--output", "ann.json"]) == 2, "nothing is overwritten"
    assert main(["data", "export", "ann", "--format", "markdown", "--output", "ann.md"]) == 0
    assert words in Path("ann.md").read_text()

    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    assert main(["data", "delete", "ann"]) == 2
    assert holding(tmp_path / "data", words)
    with sole_server(f"sqlite:///{tmp_path}/data/vivavoce.db"):
        assert main(["data", "delete", "ann", "--yes"]) == 2
        assert "another server" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("ann\n"))
    assert main(["data", "delete", "ann"]) == 0
    assert "rows and 0 files deleted" in capsys.readouterr().out
    assert holding(tmp_path / "data", words) == []
    assert [path.name for path in brain.iterdir()] == ["m-2.txt"]
