"""What the kernel holds where it gives us control groups, and what is said where it does not."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vivavoce.processes import bounded, control_groups
from vivavoce.processes.bounded import MIB, Launch, Limits, execute
from vivavoce.processes.control_groups import Share, given, make

FORKS = """
import os, time
for started in range(100):
    try:
        if not os.fork():
            time.sleep(60)
            os._exit(0)
    except OSError:
        break
print(started, flush=True)
os.killpg(0, 9)
"""
HUNGRY = "x = [b'x' * (1 << 20) for _ in range(300)]; print('had it all')"
BUSY = """
import time
begun = time.process_time(), time.monotonic()
while time.monotonic() - begun[1] < 1: pass
print(time.process_time() - begun[0])
"""


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    yield
    end = time.monotonic() + 30
    while left := _left():  # whoever was killed takes a moment to be gone
        assert time.monotonic() < end, left
        time.sleep(0.02)


def _left() -> list[Path]:
    control_groups._sweep()
    return [p for p in control_groups.ROOT.rglob(f"vivavoce-{os.getpid()}-*") if p.is_dir()]


def needs(controller: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(controller not in given(), reason="the system does not give it")


async def _run(code: str, folder: Path, limits: Limits) -> bounded.Finished:
    return await execute(Launch([sys.executable, "-c", code], {}, folder), limits, None)


@needs("pids")
async def test_nobody_gets_more_processes_than_the_limit_however_late_we_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "_LOOK", 60.0)
    limits = Limits(processes=4)
    done = await _run(FORKS, tmp_path, limits)
    assert int(done.output) == limits.threads - 1  # without itself


@needs("memory")
async def test_nobody_gets_more_memory_than_the_limit(tmp_path: Path) -> None:
    done = await _run(HUNGRY, tmp_path, Limits(memory=100 * MIB))
    assert done.killed_for == "memory"
    assert "had it all" not in done.output


@needs("memory")
async def test_several_have_no_more_together_than_one_alone(tmp_path: Path) -> None:
    several = (
        "import os, time\nfor _ in range(4):\n if not os.fork():\n"
        "  x = b'x' * (60 << 20); time.sleep(60); os._exit(0)\n"
        "for _ in range(4): os.wait()\nprint('had it all')"
    )
    done = await _run(several, tmp_path, Limits(memory=100 * MIB, seconds=50))
    assert done.killed_for == "memory"
    assert "had it all" not in done.output


@needs("cpu")
async def test_nobody_gets_more_of_the_processors(tmp_path: Path) -> None:
    done = await _run(BUSY, tmp_path, Limits(cpus=0.3))
    assert float(done.output) < 0.6


async def test_without_any_a_command_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "given", frozenset)
    assert make(Share(MIB, 10, 1.0)) is None
    assert (await _run("print('ran')", tmp_path, Limits())).output == "ran\n"


# --- The second version, with a kernel of our own


@pytest.fixture
def second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders as the kernel makes them: a new one has the files of the controllers that the one
    above it passes on. One with processes passes on nothing."""
    root = tmp_path / "cgroup"
    ours = root / "user.slice/app.slice/vivavoce.service"
    ours.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids")
    for folder in (root, ours.parent, ours):
        (folder / "cgroup.subtree_control").write_text("")
    (ours.parent / "cgroup.subtree_control").write_text("memory pids cpu")
    (tmp_path / "self").write_text("0::/user.slice/app.slice/vivavoce.service\n")
    real = Path.mkdir

    def mkdir(self: Path, mode: int = 0o777, **kwargs: bool) -> None:
        real(self, mode, **kwargs)
        control = self.parent / "cgroup.subtree_control"
        passed_on = control.read_text().replace("+", "").split() if control.is_file() else []
        for controller, files in Share(1, 1, 1.0).second().items():
            for name in files if controller in passed_on else ():
                (self / name).touch()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(control_groups, "ROOT", root)
    monkeypatch.setattr(control_groups, "SELF", tmp_path / "self")
    return ours


def test_in_the_second_version_a_group_is_made_beside_ours(second: Path) -> None:
    (second / "cgroup.subtree_control").unlink()
    os.mkdir(second / "cgroup.subtree_control")  # busy: there are processes in it
    made = control_groups._made(Share(100 * MIB, 64, 1.5))
    assert made is not None
    (folder,) = made.folders
    assert (made.version, folder.parent) == (2, second.parent)
    assert {"memory", "pids"} <= made.held
    assert (folder / "memory.max").read_text() == str(100 * MIB)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "memory.oom.group").read_text() == "1"
    assert (folder / "pids.max").read_text() == "64"
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n")
    assert not made.out_of_memory()
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n")
    assert made.out_of_memory()
    made.close()
    assert control_groups._over  # the kernel's files go with the folder, these do not
    control_groups._over.clear()


def test_where_nothing_is_passed_on_there_is_none(second: Path) -> None:
    for folder in (second, second.parent):
        control = folder / "cgroup.subtree_control"
        control.unlink()
        os.mkdir(control)  # cannot be written, whoever we are
    assert control_groups._made(Share(100 * MIB, 64, 1.5)) is None
    assert not list(second.parent.glob("vivavoce-*-*"))
