"""A program that talks in lines, and all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from contextlib import AbstractAsyncContextManager

import psutil
import pytest

from vivavoce.processes.piped import Piped, piped

ECHO = "import sys\nfor line in sys.stdin: print('heard', line.strip(), flush=True)"
LEAVING = """
import sys
for line in sys.stdin:
    print('heard', line.strip(), flush=True)
    if line == 'go\\n':
        sys.exit('gone')
"""
FAMILY = """
import subprocess, sys
nap = [sys.executable, "-c", "import time; time.sleep(600)"]
away = subprocess.Popen(nap, start_new_session=True)
orphan = subprocess.run([sys.executable, "-c",
    f"import subprocess; print(subprocess.Popen({nap!r}, start_new_session=True, stdout=2).pid)"],
    stdout=subprocess.PIPE, text=True).stdout.strip()
print(away.pid, orphan, flush=True)
"""


def talking(code: str, heard: list[str], longest: int = 1000) -> AbstractAsyncContextManager[Piped]:
    return piped(
        sys.executable,
        ["-I", "-c", code],
        env={"COLOUR": "blue"},
        cwd=None,
        heard=heard.append,
        longest=longest,
    )


async def line(pipes: Piped) -> bytes | None:
    return await asyncio.wait_for(pipes.line(), 20)


async def test_lines_go_out_and_come_back_until_its_end_and_its_last_words_are_told() -> None:
    heard = list[str]()
    async with talking(LEAVING, heard) as pipes:
        await pipes.send(b"one")
        assert await line(pipes) == b"heard one\n"
        await pipes.send(b"go")
        assert await line(pipes) == b"heard go\n"
        assert await line(pipes) is None
        assert pipes.exit_code == 1
    assert heard == ["gone"]


async def test_a_line_that_is_too_long_is_the_end() -> None:
    heard = list[str]()
    async with talking("print('x' * 5000, flush=True); input()", heard) as pipes:
        assert await line(pipes) is None
    assert "sent a line longer than 1000 bytes" in heard


async def test_it_sees_what_it_is_given_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = "import os; print(sorted(os.environ), flush=True); input()"
    async with talking(code, []) as pipes:
        told = await line(pipes) or b""
    assert b"COLOUR" in told
    assert b"KEY" not in told


@pytest.mark.parametrize("end", ["input()", "pass", "while True:\n  time.sleep(9)"])
async def test_whatever_it_started_ends_with_it(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vivavoce.processes.piped.GOODBYE", 0.2)
    deaf = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    async with talking(deaf + FAMILY + end, []) as pipes:
        pids = [pipes.pid, *map(int, (await line(pipes) or b"").split())]
        assert len(pids) == 3
    left = list[psutil.Process]()
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.append(psutil.Process(pid))
    assert not psutil.wait_procs(left, timeout=5)[1]


async def test_the_fault_of_who_talks_to_it_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="enough"):
        async with talking(ECHO, []):
            raise ValueError("enough")


async def test_what_cannot_be_started_says_so() -> None:
    with pytest.raises(FileNotFoundError):
        async with piped("/nowhere", [], env={}, cwd=None, heard=print, longest=10):
            pass
