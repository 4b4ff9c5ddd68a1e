"""The pure parts: what is kept, what is shown, what is filtered, what macOS is told."""

from __future__ import annotations

import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from vivavoce.processes.bounded import Limits
from vivavoce.tools.sandbox.places import Tools, tools_of, workspace_tools
from vivavoce.tools.sandbox.probe import PROGRAM, SandboxExec, profile
from vivavoce.tools.sandbox.shell import environment, limited


def test_the_environment_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    made = environment(home="/tmp", temporary="/tmp", first=["/a/bin"], last=["/z/bin"])
    assert "sk-secret" not in str(made)
    assert made["PATH"].startswith("/a/bin:/usr/local/bin:")
    assert made["PATH"].endswith(":/z/bin")


def test_limits_are_hard_and_a_shell_without_them_does_not_start() -> None:
    line = limited("/bin/bash", "ulimit -Hn; ulimit -Hf", Limits(open_files=77, file_size=4096))
    assert subprocess.run(line, capture_output=True, text=True).stdout.split() == ["77", "4"]
    wrong = limited("/bin/bash", "echo ran", Limits(open_files=-5))
    done = subprocess.run(wrong, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (125, "")


def test_tools_of_the_path_come_with_their_installation_but_not_with_secrets(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    for folder in (".local/bin", ".local/lib", ".nvm/node/v22/bin", ".nvm/node/v22/lib"):
        (home / folder).mkdir(parents=True)
    (home / ".pyenv/shims").mkdir(parents=True)
    names = [".local/bin", ".nvm/node/v22/bin", ".pyenv/shims", "missing/bin"]
    path = ":".join([*(str(home / name) for name in names), "/usr/bin", "relative/bin"])
    found = tools_of(path, home=home)
    assert home / ".nvm/node/v22" in found.folders
    assert home / ".local/bin" in found.folders
    assert not [f for f in found.folders if f in (home, home / ".local", home / ".pyenv/shims")]
    assert found.first[0] == str(home / ".nvm/node/v22/bin")
    assert found.last == (str(home / ".local/bin"),)


def test_of_a_virtualenvs_settings_little_is_read_however_large_they_are(tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    with (tmp_path / ".venv/pyvenv.cfg").open("wb") as file:
        file.truncate(8 * 1024**3)  # more than there is room for, and no room on the disk
    assert workspace_tools(tmp_path, tmp_path).folders == ()


INSTALLED = ".local/share/uv/python/cpython-3.12"


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        (INSTALLED, True),
        (".pyenv/versions/3.12.1", True),
        ("users/bob/env", False),
        ("miniconda3", False),
        (".local", False),
        (".ssh", False),
        (f"{INSTALLED}/share/more", False),
        ("users/ann/.venv/python", False),
    ],
)
def test_a_virtualenv_brings_a_python_only_from_where_installers_put_them(
    prefix: str, shown: bool, tmp_path: Path
) -> None:
    ann = tmp_path / "users/ann"
    (ann / ".venv/bin").mkdir(parents=True)
    (tmp_path / prefix / "bin").mkdir(parents=True)
    (ann / ".venv/pyvenv.cfg").write_text(f"home = {tmp_path / prefix}/bin\n")
    assert workspace_tools(ann, tmp_path).folders == (), "no Python at all"
    (tmp_path / prefix / "lib/python3.12").mkdir(parents=True)
    (tmp_path / prefix / "lib/python3.12/os.py").touch()
    expected = (tmp_path / prefix,) if shown else ()
    assert workspace_tools(ann, tmp_path) == Tools(expected, (str(ann / ".venv/bin"),))


def test_a_link_does_not_make_another_folder_an_installed_python(tmp_path: Path) -> None:
    ann, bob = tmp_path / "users/ann", tmp_path / "users/bob/env"
    (ann / ".venv/bin").mkdir(parents=True)
    (bob / "lib/python3.12").mkdir(parents=True)
    (bob / "lib/python3.12/os.py").touch()
    (tmp_path / INSTALLED).parent.mkdir(parents=True)
    (ann / "link").symlink_to(bob)
    for home in (f"{ann}/link/bin", f"{tmp_path}/{INSTALLED}/../../../../../users/bob/env/bin"):
        (ann / ".venv/pyvenv.cfg").write_text(f"home = {home}\n")
        assert workspace_tools(ann, tmp_path).folders == ()


def test_the_profile_of_macos_denies_first_and_hides_last() -> None:
    text = profile(["/usr"], ["/w s", "/t"], ["/w s/data"], network=False)
    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert '(allow file-read* file-write* (subpath "/w s"))' in lines
    assert "(deny file-write-setugid)" in lines
    assert lines[-1] == '(deny file-read* file-write* (subpath "/w s/data"))'
    assert any(
        line.startswith('(deny file-write* (regex #"/\\.[gG][iI][tT]/(hooks') for line in lines
    )
    assert "network" not in text
    assert "(allow network*)" in profile([], ["/w"], [], network=True)


def test_a_path_cannot_write_the_profile_of_macos() -> None:
    text = profile([], ['/w")) (allow default) (("'], [], network=False)
    assert '(subpath "/w\\")) (allow default) ((\\""))' in text


async def test_the_command_line_on_macos(tmp_path: Path) -> None:
    tools = Tools((Path("/opt/tool"),), ("/opt/tool/bin",))
    made = SandboxExec(workspace=tmp_path, tools=tools)
    async with AsyncExitStack() as stack:
        launch = await made.launch(stack, "echo hi", Limits(), network=False)
        home = Path(launch.environment["HOME"])
        assert home.is_dir()
    assert not home.exists()
    assert list(launch.arguments[:2]) == [PROGRAM, "-p"]
    assert '(allow file-read* (subpath "/opt/tool"))' in launch.arguments[2]
    assert list(launch.arguments[3:5]) == ["/bin/bash", "-c"]
    assert launch.arguments[-1] == "echo hi"
    assert launch.environment["PATH"].startswith("/opt/tool/bin:")
