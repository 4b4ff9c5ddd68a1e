"""`kill -9` in the middle of a task: it goes on, repeats nothing, and is told once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.contract.postgres import drop_database, new_database
from tests.tools.delegation.stage import url
from tests.tools.delegation.working_process import STEPS

ROOT = Path(__file__).parents[3]
SUMMARY = f"told {sum(range(STEPS))}"
PATIENCE = 40.0


def lines(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


def kill_while_it_works(at: str, journal: Path, after: float) -> bool:
    """Lets it do a little more than before, and then no more. False when it came to its end."""
    known = len(lines(journal))
    command = [sys.executable, "-m", "tests.tools.delegation.working_process", at, str(journal)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        until = time.monotonic() + PATIENCE
        while len(lines(journal)) == known and process.poll() is None:
            assert time.monotonic() < until, "the task does not go on"
            time.sleep(0.005)
        try:
            assert process.wait(after) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def to_its_end(at: str, journal: Path, kills: int, seed: int) -> int:
    """How often it was killed: it may be quicker than that."""
    chance = random.Random(seed)
    killed = 0
    while killed < kills and kill_while_it_works(at, journal, chance.uniform(0.0, 0.25)):
        killed += 1
    while SUMMARY not in lines(journal):
        kill_while_it_works(at, journal, PATIENCE)
    return killed


def check(journal: Path) -> None:
    seen = lines(journal)
    assert seen.count(SUMMARY) == 1
    assert sum(line.startswith("told") for line in seen) == 1
    calls = [line for line in seen if line.startswith("ran ")]
    assert len(calls) == len(set(calls)) == STEPS
    for n in range(STEPS):
        # `returned` comes again when it goes over finished steps; `began` never does.
        first = seen.index(f"returned {n}")
        assert f"began {n}" not in seen[first:]


@pytest.mark.full
def test_a_killed_task_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    assert to_its_end(url(tmp_path), journal, kills=2, seed=1)
    check(journal)


@pytest.mark.full
def test_a_killed_task_goes_on_from_postgres(tmp_path: Path) -> None:
    at, journal = new_database(), tmp_path / "journal"
    try:
        assert to_its_end(at, journal, kills=3, seed=2)
    finally:
        drop_database(at)
    check(journal)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_twenty_kills_repeat_nothing(tmp_path: Path) -> None:
    killed, seed = 0, 0
    while killed < 20:
        folder = tmp_path / str(seed)
        folder.mkdir()
        killed += to_its_end(url(folder), folder / "journal", kills=4, seed=seed)
        check(folder / "journal")
        seed += 1
