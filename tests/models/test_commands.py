"""`vivavoce models`: what it prints, and how it ends."""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path

import pytest

import vivavoce.cli as commands
from tests.models.hub import Hub, model, some_bytes
from vivavoce.cli import main
from vivavoce.errors import InvalidRequest, ModelUnavailable
from vivavoce.models.store import ModelProgress
from vivavoce.models.terminal import Terminal

DATA = some_bytes(1_500_000)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("VIVAVOCE_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)


def given(*names: str, every: bool = False) -> argparse.Namespace:
    return argparse.Namespace(names=list(names), all=every, needed=("m",), brain=None)


def test_the_list_says_what_there_is_and_where(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["models", "list"]) == 0
    shown = capsys.readouterr().out
    assert "NAME" in shown
    rows = [line.split() for line in shown.splitlines()[1:-2]]
    assert [row[0] for row in rows if "*" in row] == [
        "silero-vad",
        "smart-turn",
        "moonshine-base",
        "qwen-1.5b",
        "minilm",
        "hibari",
        "kokoro",
    ]
    assert [row[0] for row in rows if "*" not in row] == [
        "moonshine-tiny",
        "whisper-small",
        "qwen-0.5b",
        "piper-joe",
    ]
    assert ["BSD-2-Clause", "8.7", "MB", "missing"] in [row[-4:] for row in rows]
    assert f"the folder is {tmp_path / 'models'}" in shown
    assert not (tmp_path / "models").exists()


def test_another_folder_can_be_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["models", "list", "--models-dir", "elsewhere"]) == 0
    assert f"the folder is {tmp_path / 'elsewhere'}" in capsys.readouterr().out


def test_the_list_marks_what_the_settings_ask_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVAVOCE_BRAIN", "scripted")
    monkeypatch.setenv("VIVAVOCE_MOUTH", "piper-joe")
    assert main(["models", "list"]) == 0
    marked = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " * " in line]
    assert marked == ["silero-vad", "smart-turn", "moonshine-base", "piper-joe"]


def test_a_brain_that_a_hub_has_is_pulled_with_what_is_needed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fetched = []

    async def brain(terminal: object) -> Path:
        fetched.append("brain")
        return tmp_path / "mine.gguf"

    with Hub() as hub:
        store = hub.store(tmp_path, model("m", {"f": (DATA, (hub.web("/m", DATA),))}))
        for names, times in ((("m",), 0), ((), 1)):
            args = given(*names)
            args.brain = brain
            assert commands.pull(store, args) == 0
            assert len(fetched) == times
    assert "mine.gguf" in capsys.readouterr().out


def test_without_names_it_pulls_what_is_needed_and_with_all_everything(tmp_path: Path) -> None:
    with Hub() as hub:
        models = (model(name, {"f": (DATA, (hub.web(f"/{name}", DATA),))}) for name in "mno")
        store = hub.store(tmp_path, *models)
        assert commands.pull(store, given()) == 0
        assert [store.have(name) for name in "mno"] == [True, False, False]
        assert commands.pull(store, given("o")) == 0
        assert [store.have(name) for name in "mno"] == [True, False, True]
        assert commands.pull(store, given(every=True)) == 0
        assert store.have("n")


def test_without_an_action_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 2
    shown = capsys.readouterr().err
    for action in ("list", "pull", "verify"):
        assert action in shown


@pytest.mark.parametrize("action", ["pull", "verify"])
def test_an_unknown_model_is_one_clear_line(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", action, "nope"]) == 2
    assert capsys.readouterr().err.startswith("vivavoce: there is no model 'nope'; there are: ")


def test_verify_with_nothing_there_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "verify"]) == 2
    assert "run `vivavoce models pull`" in capsys.readouterr().err


def test_names_and_all_do_not_go_together(tmp_path: Path) -> None:
    with Hub() as hub, pytest.raises(InvalidRequest, match="not both"):
        commands.pull(hub.store(tmp_path), given("m", every=True))


def test_pull_list_and_verify_tell_one_story(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hub() as hub:
        it = model("m", {"f": (DATA, (hub.web("/f", DATA),))})
        store = hub.store(tmp_path, it)
        assert commands.pull(store, given()) == 0
        shown = capsys.readouterr()
        assert shown.out == f"1 model ready in {tmp_path} (2 MB)\n"
        assert shown.err.splitlines()[0] == "m: 0%, 0.0 of 1.5 MB"
        assert shown.err.splitlines()[-1] == "m: fetched, 1.5 MB"
        assert commands.pull(store, given("m", "m")) == 0
        assert capsys.readouterr().err == "m: already here, 1.5 MB\n"
    assert commands.show_list(store, given()) == 0
    assert "ears *  MIT      1.5 MB  ready" in capsys.readouterr().out
    assert commands.verify(store, given()) == 0
    assert capsys.readouterr().out == "m: every hash is right\n"

    (tmp_path / "m" / "f").write_bytes(DATA[::-1])
    with pytest.raises(ModelUnavailable) as raised:
        commands.verify(store, given())
    assert raised.value.message == "m/f has another sha256\nrun `vivavoce models pull m`"
    assert capsys.readouterr().out == "m: 1 file is wrong\n"
    assert commands.show_list(store, given()) == 0
    assert "incomplete" in capsys.readouterr().out


def test_a_pull_that_fails_says_so_and_ends_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hub() as hub:
        it = model("m", {"f": (DATA, (hub.web("/f", DATA[1:]),))})
        with pytest.raises(ModelUnavailable, match="could not be fetched"):
            commands.pull(hub.store(tmp_path, it), given())
    assert capsys.readouterr().err.splitlines()[-1] == "m: failed"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(out: io.StringIO) -> str:
    """Half of a model at once, the rest slowly."""
    clock = Clock()
    terminal = Terminal(out, clock)
    for at, received in ((0, 0), (0.05, 1), (1, 4_000_000), (20, 8_000_000)):
        clock.now = at
        terminal.show(ModelProgress("m", "fetching", received, 8_000_000))
    terminal.close()
    return out.getvalue()


def test_a_terminal_gets_a_bar_that_is_drawn_again() -> None:
    bars = drawn(Screen()).split("\r\x1b[K")[1:]
    assert [bar.split()[1] for bar in bars] == [
        "[" + "." * 24 + "]",
        "[" + "#" * 12 + "." * 12 + "]",
        "[" + "#" * 24 + "]",
    ]
    assert "50%  4.0 of 8.0 MB, 4.0 MB/s" in bars[1]
    assert bars[-1].endswith("\n")


def test_a_log_gets_a_line_now_and_then() -> None:
    assert drawn(io.StringIO()).splitlines() == [
        "m: 0%, 0.0 of 8.0 MB",
        "m: 100%, 8.0 of 8.0 MB, 0.4 MB/s",
    ]
