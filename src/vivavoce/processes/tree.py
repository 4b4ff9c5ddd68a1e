"""The processes below one of ours: how many, how much memory, and how to end them all.

Reads /proc; where there is none (macOS), psutil, which is slower.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass

_LINUX = sys.platform == "linux"
if not _LINUX:
    import psutil

_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Usage:
    processes: int
    memory: int


def descendants(pid: int, enough: int = 1_000_000) -> list[int]:
    """All below `pid`, parents first; looking stops once there are `enough`."""
    found: list[int] = []
    waiting = [pid]
    while waiting and len(found) < enough:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


def children(pid: int) -> list[int]:
    """Those right below it, of all its threads."""
    if not _LINUX:
        with contextlib.suppress(psutil.Error):
            return [child.pid for child in psutil.Process(pid).children()]
        return []
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{thread}/children", "rb") as lines,
            ):
                found += map(int, lines.read().split())
    return found


def usage(pid: int, enough: int) -> Usage:
    """Of everything below `pid`; memory is not counted when there are `enough` processes."""
    pids = descendants(pid, enough)
    if len(pids) >= enough:
        return Usage(len(pids), 0)
    return Usage(len(pids), sum(map(_memory, pids)))


def _memory(pid: int) -> int:
    """What the process holds by itself: neither programs nor files that are merely mapped."""
    if not _LINUX:
        with contextlib.suppress(psutil.Error):
            return int(psutil.Process(pid).memory_info().rss)
        return 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as lines:
        return 1024 * sum(
            int(line.split()[1])
            for line in lines.read().splitlines()
            if line.startswith((b"RssAnon:", b"RssShmem:"))
        )
    return 0


def kill_below(pid: int) -> bool:
    """Kills everything below `pid`; False if there was nothing.

    All are stopped before the first is killed, or one that forks could get away.
    """
    seen: set[int] = set()
    for _ in range(_ROUNDS):
        new = set(descendants(pid)) - seen
        if not new:
            break
        for each in new:
            _signal(each, signal.SIGSTOP)
        seen |= new
    for each in seen:
        _signal(each, signal.SIGKILL)
    return bool(seen)


def kill_namespace(pid: int) -> bool:
    """Kills the first process of the namespace below `pid`: it takes all others with it."""
    first = children(pid)
    for each in first:
        _signal(each, signal.SIGKILL)
    return bool(first)


def kill_group(pid: int) -> None:
    """The process that we started, and whatever is still in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
