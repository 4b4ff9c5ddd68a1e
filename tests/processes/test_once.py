"""A program that is asked one thing: heard, held to its time, and gone."""

from __future__ import annotations

import asyncio
import sys
import time

import psutil
import pytest

from vivavoce.processes.once import Once

PYTHON = (sys.executable, "-I", "-c")


async def test_it_is_told_and_heard_and_how_it_ended_is_known() -> None:
    code = "import sys; print(sys.stdin.read().upper()); sys.exit('too old')"
    ended = await Once((*PYTHON, code), 20, told=b"are you there").run()
    assert (ended.complete, ended.code, ended.output) == (True, 1, b"ARE YOU THERE\n")
    assert ended.complaints.strip() == "too old"


async def test_full_pipes_on_all_sides_keep_nobody_waiting() -> None:
    code = (
        "import sys\n"
        "sys.stderr.write('e' * 300_000); sys.stdout.write('o' * 300_000)\n"
        "sys.stdout.flush(); sys.stdout.write(str(len(sys.stdin.read())))"
    )
    ended = await Once((*PYTHON, code), 20, told=b"i" * 300_000).run()
    assert (ended.code, ended.output[300_000:]) == (0, b"300000")
    assert 0 < len(ended.complaints) <= 65_536


async def test_one_that_does_not_read_what_it_is_told_is_heard_all_the_same() -> None:
    ended = await Once((*PYTHON, "print('no need')"), 20, told=b"x" * 1_000_000).run()
    assert (ended.complete, ended.output) == (True, b"no need\n")


async def test_when_it_is_enough_it_is_ended() -> None:
    heard = bytearray()

    def feed(piece: bytes) -> bool:
        heard.extend(piece)
        return len(heard) < 1000

    ended = await Once((*PYTHON, "while True: print('more')"), 20, feed=feed).run()
    assert not ended.complete
    assert len(heard) >= 1000


@pytest.mark.parametrize(
    "code",
    [
        "while True: print('more', flush=True)",
        "import os, time; os.close(1); os.close(2); time.sleep(600)",
    ],
)
async def test_neither_chatting_nor_hanging_up_makes_its_time_longer(code: str) -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        await Once((*PYTHON, code), 0.5, feed=lambda piece: True).run()
    assert time.monotonic() - begun < 20


async def test_one_that_takes_too_long_or_is_no_longer_wanted_is_gone() -> None:
    others = set(psutil.Process().children())
    nap = (*PYTHON, "import time; time.sleep(600)")
    with pytest.raises(TimeoutError):
        await Once(nap, 0.3).run()
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await Once(nap, 600).run()
    assert time.monotonic() - begun < 20
    assert set(psutil.Process().children()) <= others


async def test_what_cannot_be_started_says_so() -> None:
    with pytest.raises(FileNotFoundError):
        await Once(("/nowhere/at/all",), 20).run()
