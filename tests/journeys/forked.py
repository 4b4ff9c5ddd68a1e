"""`python -m vivavoce …` without its first second, in which it only imports: forked from a process
that has imported it all.

That process is started once by each that runs tests, and ends with it. What it forks is a process
like any other: with its own environment, folder, log and signals, to be killed and waited for.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from vivavoce.processes.starting import ONE_THREAD

ROOT = Path(__file__).parents[2]


class Forked:
    """One process, to be looked after as one of `subprocess` is, or of `asyncio`."""

    def __init__(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
    ) -> None:
        order = {"argv": list(arguments), "cwd": str(cwd), "env": dict(env), "log": str(log)}
        self.pid: int = _ask(order)
        self._end = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self._ended()
        return self.returncode

    def wait(self, seconds: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._end], [], [], seconds)[0]:
                raise subprocess.TimeoutExpired("vivavoce", seconds or 0.0)
            self._ended()
        assert self.returncode is not None
        return self.returncode

    async def ended(self) -> int:
        """As `wait`, while others go on."""
        if self.returncode is None:
            loop, over = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self._end, over.set)
            try:
                await over.wait()
            finally:
                loop.remove_reader(self._end)
        return self.wait()

    def send_signal(self, which: signal.Signals) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._end, which)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self) -> None:
        self.returncode = _ask({"ended": self.pid})
        os.close(self._end)


@cache
def _parent() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.journeys.forked"],
        cwd=ROOT,
        env=os.environ | ONE_THREAD,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(order: dict[str, Any]) -> int:
    parent = _parent()
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(json.dumps(order) + "\n")
    parent.stdin.flush()
    return int(parent.stdout.readline())


# --- The process that forks ---------------------------------------------------------


def _main() -> int:
    from vivavoce.cli import main

    _import_all()
    for line in sys.stdin:
        order = json.loads(line)
        if "ended" in order:
            _, status = os.waitpid(order["ended"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if not answer:
                _become(order)
                return main(order["argv"])
        print(answer, flush=True)
    return 0


def _import_all() -> None:
    """What a server loads, or else each loads it for itself."""
    for name in (
        "openai.resources.realtime.calls",
        "openai.resources.realtime.client_secrets",
        "psycopg",
        "uvloop",
        "vivavoce.app.agent",
        "vivavoce.app.listen",
        "vivavoce.app.workspace",
    ):
        import_module(name)


def _become(order: dict[str, Any]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for fd, where in enumerate((nothing, nothing, log)):
        os.dup2(where, fd)
    os.close(nothing)
    os.close(log)
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    os.chdir(order["cwd"])
    sys.argv = ["vivavoce", *order["argv"]]


if __name__ == "__main__":
    sys.exit(_main())
