"""What was acknowledged survives kill -9 of the process that wrote it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.contract.records import uid
from tests.store.stores import opened

ROOT = Path(__file__).parents[2]
ROUNDS = 3


def write_and_die(url: str, lines: int) -> dict[str, int]:
    """The names and positions that were acknowledged before the kill."""
    command = [sys.executable, "-m", "tests.store.writing_process", url]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        seen += process.stdout.readlines()
    # The last line may be cut in the middle: then its writer did not finish saying so.
    whole = [line.decode().split() for line in seen if line.endswith(b"\n")]
    return {name: int(position) for name, position in whole}


async def test_kill_9_loses_nothing_that_was_acknowledged(url: str) -> None:
    acknowledged: dict[str, int] = {}
    for round_ in range(ROUNDS):
        # The same names again: each is one entry however often it is written.
        acknowledged |= await asyncio.to_thread(write_and_die, url, 50 + 40 * round_)
        async with opened(url) as store:
            entries = await store.entries(uid("c"), user_id="ann")
            log = await store.events(after=0, limit=1_000_000)
        texts = [each.text for each in entries]
        assert len(set(texts)) == len(texts)
        assert acknowledged.keys() <= set(texts)
        assert [each.position for each in log] == list(range(1, len(log) + 1))
        # Entry and event are one submission: neither is there without the other.
        assert {each.type for each in log} == set(texts)
        by_position = {each.position: each.type for each in log}
        assert all(by_position[at] == name for name, at in acknowledged.items())
