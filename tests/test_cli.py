"""The command says what it can do, and what went wrong in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from vivavoce import __version__
from vivavoce.cli import main
from vivavoce.config import Settings

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_") or name == "OPENAI_API_KEY":
            monkeypatch.delenv(name)
    monkeypatch.setenv("VIVAVOCE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `serve` was called with, in place of a server."""
    seen: list[Settings] = []

    def serve(settings: Settings) -> int:
        seen.append(settings)
        return 0

    listen = ModuleType("vivavoce.server.listen")
    listen.serve = serve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vivavoce.server.listen", listen)
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


@pytest.mark.parametrize("argv", [[], ["dance"], ["db"], ["serve", "--nope"]])
def test_what_it_does_not_know_ends_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2


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
        "vivavoce: VIVAVOCE_PORT: should be a valid integer, and is 'many'\n"
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


def test_ctrl_c_is_no_error_of_ours(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(settings: Settings) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["vivavoce.server.listen"], "serve", serve)
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


@pytest.mark.parametrize("action", ["upgrade", "current", "sweep"])
@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y"])
def test_a_database_that_cannot_be_used_is_one_clear_line(
    action: str, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_DATABASE_URL", url)
    assert main(["db", action]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("vivavoce: ")


def test_a_folder_that_cannot_be_written_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("data").write_text("a file, not a folder")
    assert main(["db", "upgrade"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("vivavoce: ")


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


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys, vivavoce.cli; heavy = {'pydantic', 'sqlalchemy', 'fastapi', 'openai'}; "
        "sys.exit(', '.join(heavy & sys.modules.keys()) or None)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
