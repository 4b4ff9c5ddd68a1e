from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.tools.sandbox.kinds import KINDS, made
from tests.tools.sandbox.world import a_world
from vivavoce.errors import Unavailable
from vivavoce.processes.bounded import Limits
from vivavoce.tools.sandbox import NoSandbox, probe
from vivavoce.tools.sandbox.bubblewrap import Bubblewrap
from vivavoce.tools.sandbox.probe import judged, tried


async def test_the_first_that_holds_is_taken(tmp_path: Path) -> None:
    found = await probe(tmp_path, search_path=os.defpath)
    assert found.why_not is None
    assert found.name == "bubblewrap"
    held = "\n".join(found.holds)
    for words in ("no new privileges", "no capabilities", "system calls", "never root inside"):
        assert words in held


@pytest.mark.parametrize("kind", KINDS)
async def test_each_holds_here(kind: str) -> None:
    async with a_world() as world:
        assert (await tried(made(kind, world)))[1] is None


async def test_a_sandbox_that_holds_nothing_is_none(tmp_path: Path) -> None:
    loose = tmp_path / "bwrap"
    loose.write_text('#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    loose.chmod(0o755)
    (tmp_path / "ws").mkdir()
    _, problem = await tried(
        Bubblewrap(program=str(loose), workspace=tmp_path / "ws", mounts_git=False)
    )
    assert problem is not None
    assert "outside the workspace" in problem


async def test_one_that_does_not_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/bash\necho 'bwrap: No permissions to create new namespace'; exit 1\n")
    broken.chmod(0o755)
    _, problem = await tried(Bubblewrap(program=str(broken), workspace=tmp_path, mounts_git=False))
    assert problem == "bwrap: No permissions to create new namespace"


@pytest.mark.parametrize(
    ("output", "outside", "problem"),
    [
        ("ran\nWROTE-INSIDE\n", False, None),
        ("", False, "did not run"),
        ("ran\nthe-secret\nWROTE-INSIDE\n", False, "from being read"),
        ("ran\nSAW-THE-SHADOW\nWROTE-INSIDE\n", False, "from being read"),
        ("ran\nWROTE-INSIDE\n", True, "from being written"),
        ("ran\nREACHED-LOOPBACK\nWROTE-INSIDE\n", False, "network"),
        ("ran\n", False, "cannot be written"),
    ],
)
def test_a_trial_is_judged(output: str, outside: bool, problem: str | None) -> None:
    said = judged(output, "the-secret", outside)
    assert said is None if problem is None else said is not None and problem in said


async def test_without_any_nothing_runs_and_everybody_is_told_why(tmp_path: Path) -> None:
    found = await probe(Path("/"), search_path=os.defpath)
    assert isinstance(found, NoSandbox)
    assert "folder of its own" in found.why_not
    with pytest.raises(Unavailable, match="folder of its own"):
        await found.run("true", cwd=tmp_path, limits=Limits())
    hidden = await probe(tmp_path, search_path=os.defpath, hidden=[tmp_path.parent])
    assert hidden.why_not is not None
    assert "hidden" in hidden.why_not


async def test_folders_named_by_the_caller_are_seen(tmp_path: Path) -> None:
    found = await probe(tmp_path, search_path=os.defpath, read_only=[Path(sys.prefix)])
    done = await found.run("python -c 'import pytest; print(pytest.__name__)'", cwd=tmp_path)
    assert done.output == "pytest\n"
