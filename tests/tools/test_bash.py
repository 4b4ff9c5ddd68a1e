from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tools.sandbox.kinds import made
from tests.tools.sandbox.world import World, a_world
from vivavoce.errors import InvalidArguments, ToolFailed
from vivavoce.processes.bounded import Finished, Limits, OnOutput
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.bash import bash_tool, changed_since
from vivavoce.tools.registry import Registry
from vivavoce.tools.sandbox import NoSandbox
from vivavoce.tools.workspace.root import Workspaces

CALLER = ToolContext(user_id="ada")


class Fake:
    """A sandbox that says what it is told to."""

    name = "fake"
    why_not: str | None = None
    holds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, finished: Finished) -> None:
        self.finished = finished
        self.limits: Limits | None = None

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        limits: Limits | None = None,
        network: bool = False,
        read_only: bool = False,
        on_output: OnOutput | None = None,
    ) -> Finished:
        self.limits = limits
        if on_output is not None:
            await on_output(self.finished.output)
        return self.finished


async def call(tool: Any, context: ToolContext = CALLER, **arguments: Any) -> ToolOutput:
    done = await tool.handler(arguments, context)
    assert isinstance(done, ToolOutput)
    return done


@pytest.mark.parametrize(
    ("finished", "words"),
    [
        (Finished(0, "fine\n"), "Succeeded (exit code 0).\nfine"),
        (Finished(0, ""), "Succeeded (exit code 0).\nIt printed nothing."),
        (Finished(2, "no"), "Failed (exit code 2).\nno"),
        (Finished(127, ""), "Failed (exit code 127): there is no such command here."),
        (Finished(137, ""), "Failed (exit code 137): it was ended by signal 9."),
        (Finished(137, "", killed_for="time"), "Stopped after 5 seconds, before it was finished."),
        (Finished(137, "", killed_for="memory"), "Stopped: it took more than 2048 MB of memory."),
        (Finished(137, "", killed_for="output"), "Stopped: it printed more than 64 MB."),
    ],
)
async def test_how_it_ended_is_said_in_words(
    finished: Finished, words: str, tmp_path: Path
) -> None:
    done = await call(bash_tool(Fake(finished), Workspaces(tmp_path)), command="x", timeout=5)
    assert done.text.startswith(words)
    assert done.kind == "log"
    well = words.startswith("Succeeded")
    assert (done.failed, done.exit_code) == (
        "" if well else done.text.split("\n")[0],
        finished.exit_code,
    )


async def test_time_is_what_was_asked_for_and_never_more_than_a_minute(tmp_path: Path) -> None:
    fake = Fake(Finished(0, ""))
    tool = bash_tool(fake, Workspaces(tmp_path))
    await call(tool, command="x")
    assert fake.limits is not None
    assert fake.limits.seconds == 60
    await call(tool, command="x", timeout=7)
    assert fake.limits.seconds == 7
    registry = Registry([tool])
    for wrong in ({"command": "x", "timeout": 61}, {"command": ""}, {"timeout": 3}):
        with pytest.raises(InvalidArguments):
            registry.check("bash", wrong)
    assert tool.definition.changes


@pytest.mark.parametrize("command", ["a\0b", "  ", "echo \ud800"])
async def test_what_bash_cannot_read_is_refused(command: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments):
        await call(bash_tool(Fake(Finished(0, "")), Workspaces(tmp_path)), command=command)


async def test_without_a_sandbox_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="bash is off here: namespaces are refused"):
        await call(
            bash_tool(NoSandbox("namespaces are refused"), Workspaces(tmp_path)), command="true"
        )


async def test_what_it_changed_is_told() -> None:
    async with a_world() as world:
        (world.workspace / "old.txt").write_text("old")
        os.utime(world.workspace / "old.txt", (1, 1))
        _wait_for_the_next_tick(world.workspace)
        tool = bash_tool(made("bubblewrap", world), Workspaces(world.workspace))
        done = await call(
            tool, command="mkdir src; echo 1 > src/a.py; touch -d 2001-01-01 b; exit 1"
        )
        assert done.text.startswith("Failed (exit code 1).")
        assert done.files_changed == ("b", "src/a.py")


def _wait_for_the_next_tick(folder: Path) -> None:
    """What was made before must look older than the command, whatever the clock's grain."""
    until = time.monotonic() + 5
    while changed_since(folder, time.time_ns()) and time.monotonic() < until:
        time.sleep(0.01)


def test_looking_for_changes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (tmp_path / f"{number}").touch()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/x").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = changed_since(tmp_path, 0)
    assert len(found) == 50
    assert not [name for name in found if "node_modules" in name or "/" in name]


async def test_pytest_in_the_sandbox_reports_its_progress() -> None:
    async with a_world() as world:
        _a_suite(world)
        (world.workspace / REPORTED).touch()  # in a single line of dots nothing is, before the end
        heard: list[tuple[str, int | None]] = []

        async def report(message: str, percentage: int | None = None) -> None:
            heard.append((message, percentage))
            (world.workspace / REPORTED).touch()

        tool = bash_tool(made("bubblewrap", world), Workspaces(world.workspace), report_every=0)
        context = replace(CALLER, report=report)
        command = f"{sys.executable} -m pytest -p no:cacheprovider -c /dev/null {{}} tests"
        for style in ("-q", "", "-v"):
            heard.clear()
            done = await call(tool, context, command=command.format(f"{PLAIN} {style}"))
            assert done.text.startswith("Failed (exit code 1)."), done.text
            assert heard[-1] == (
                "25 tests run, 1 failed" if style == "-q" else "25 of 25 tests run, 1 failed",
                100,
            )
            assert len(heard) > 1 or style == "-q"  # one line of dots in all
            (world.workspace / REPORTED).unlink()


PLAIN = "--disable-plugin-autoload"
REPORTED = "reported"


def _a_suite(world: World) -> None:
    folder = world.workspace / "tests"
    folder.mkdir()
    for name, size in (("a", 12), ("b", 12)):
        (folder / f"test_{name}.py").write_text(
            f"import pytest\n@pytest.mark.parametrize('n', range({size}))\n"
            "def test_it(n): assert n >= 0\n"
        )
    # Not before something was reported: a busy machine reads all of the output at once.
    waits = f"while not os.path.exists({REPORTED!r}): time.sleep(0.01)"
    (folder / "test_c.py").write_text(
        f"import os, time\ndef test_bad():\n    {waits}\n    assert False\n"
    )


async def test_a_command_that_only_reads_is_run_where_nothing_can_be_written() -> None:
    """And by the system's programs: one of the project may be called `ls` too."""
    async with a_world() as world:
        for place in ("node_modules/.bin", ".venv/bin"):
            planted = world.workspace / place / "ls"
            planted.parent.mkdir(parents=True)
            planted.write_text("#!/bin/sh\necho owned > owned; echo SHADOW\n")
            planted.chmod(0o755)
        (world.workspace / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
        registry = Registry([bash_tool(made("bubblewrap", world), Workspaces(world.workspace))])
        assert registry.changes("bash", {"command": "ls"}) is False
        assert registry.changes("bash", {"command": "ls; rm x"}) is True
        done = await registry.run("bash", {"command": "ls"}, ToolContext(user_id="ann"))
        assert isinstance(done, ToolOutput)
        assert "node_modules" in done.text
        assert "SHADOW" not in done.text
        assert not (world.workspace / "owned").exists()
        status = {"command": "git status --short && git log --oneline"}
        done = await registry.run("bash", status, ToolContext(user_id="ann"))
        assert isinstance(done, ToolOutput)
        assert "first" in done.text


@pytest.mark.parametrize("kind", ["bubblewrap", "sandlock"])
async def test_a_command_that_only_reads_has_no_network_where_others_have_it(kind: str) -> None:
    async with a_world() as world:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{world.names['port']} && echo REACHED"
        how: dict[str, Any] = {"cwd": world.workspace, "network": True}
        for reads in (False, True):
            done = await made(kind, world).run(command, read_only=reads, **how)
            assert ("REACHED" in done.output) is not reads, done.output


@pytest.mark.parametrize("kind", ["bubblewrap", "sandlock"])
async def test_read_only_holds_in_every_sandbox(kind: str) -> None:
    async with a_world() as world:
        (world.workspace / "there").write_text("as it was")
        command = "echo x > there; echo x > new; rm there; mkdir d; cat there; echo t > $TMPDIR/t"
        done = await made(kind, world).run(command, cwd=world.workspace, read_only=True)
        assert done.exit_code == 0, done.output
        assert "as it was" in done.output
        assert not (world.workspace / "new").exists()
        assert not (world.workspace / "d").exists()
