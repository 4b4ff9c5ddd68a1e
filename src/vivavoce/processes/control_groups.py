"""Control groups: what the kernel itself holds all processes of a command to, together.

Version 2 where a part of the tree is ours to divide (as root, as a service of systemd that
delegates, in a container that is given it), version 1 for root. Without one a fork bomb is faster
than any look, and memory of many processes is added up only from time to time. What the system
gives is tried for real, once; nobody is told that something holds which was not.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
SELF = Path("/proc/self/cgroup")
_PERIOD = 100_000
"""Microseconds, the usual measure for a share of the processors."""
_NUMBERS = itertools.count(1)
_JOIN = (
    'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done; '
    'shift; exec "$@"'
)
_NO_SWAP = "memory.swap.max"


@dataclass(frozen=True, slots=True)
class Share:
    """What one command may have: bytes, processes and threads, processors."""

    memory: int
    threads: int
    cpus: float

    @property
    def _quota(self) -> int:
        return max(1_000, round(self.cpus * _PERIOD))

    def second(self) -> dict[str, dict[str, str]]:
        """By controller: files and what is written into them. The first file is the limit."""
        return {
            "memory": {"memory.max": str(self.memory), _NO_SWAP: "0", "memory.oom.group": "1"},
            "pids": {"pids.max": str(self.threads)},
            "cpu": {"cpu.max": f"{self._quota} {_PERIOD}"},
        }

    def first(self) -> dict[str, dict[str, str]]:
        return {
            "memory": {
                "memory.limit_in_bytes": str(self.memory),
                "memory.memsw.limit_in_bytes": str(self.memory),
                # One that has no more memory waits, until all of them are ended.
                "memory.oom_control": "1",
            },
            "pids": {"pids.max": str(self.threads)},
            "cpu": {"cpu.cfs_quota_us": str(self._quota)},
        }


@dataclass(frozen=True, slots=True)
class Group:
    """Made for one command. `held` are the controllers whose limit is set."""

    folders: tuple[Path, ...]
    held: frozenset[str]
    version: int

    def joining(self) -> tuple[str, ...]:
        """In front of a command line. By a shell in between: joined before the command begins,
        nothing it starts is outside."""
        return ("/bin/sh", "-c", _JOIN, "sh", *map(str, self.folders), "--")

    def out_of_memory(self) -> bool:
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError, ValueError):
                    told = (folder / name).read_text().split()
                    counts = dict(zip(told[::2], map(int, told[1::2]), strict=False))
                    if counts.get("oom_kill") or counts.get("under_oom"):
                        return True
        return False

    def close(self) -> None:
        """Nobody needs it any more; it goes when the last one in it is dead."""
        _over.update(self.folders)
        _sweep()


_over: set[Path] = set()


@atexit.register
def _sweep() -> None:
    """Removes them, but for those in which the last one is still dying: next time."""
    for folder in tuple(_over):
        with contextlib.suppress(OSError):
            folder.rmdir()
            _over.discard(folder)


def make(share: Share) -> Group | None:
    """A new one with as many of the limits as the system gives us; None where it gives none."""
    if not given():
        return None
    _sweep()
    return _made(share)


@functools.cache
def given() -> frozenset[str]:
    """The controllers that hold on this machine: memory, pids, cpu, or some of them, or none.
    Tried once, with a process that joins."""
    group = _made(Share(1 << 30, 64, 1.0))
    if group is None:
        return frozenset()
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            [*group.joining(), "/bin/sh", "-c", ":"], capture_output=True, timeout=10, check=False
        )
        return group.held if done.returncode == 0 else frozenset()
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    finally:
        group.close()


def version() -> int:
    """Of the control groups that hold here; 0 where none do."""
    return 0 if not given() else 2 if (ROOT / "cgroup.controllers").exists() else 1


def _made(share: Share) -> Group | None:
    try:
        lines = SELF.read_text().splitlines()
    except OSError:  # no such thing here
        return None
    name = f"vivavoce-{os.getpid()}-{next(_NUMBERS)}"
    ours = dict(line.split(":", 2)[1:] for line in lines)
    if (ROOT / "cgroup.controllers").exists():
        return _second(share, ROOT / ours.get("", "").lstrip("/"), name)
    return _first(share, ours, name)


def _second(share: Share, place: Path, name: str) -> Group | None:
    # A group with processes has no groups below it: beside it, then.
    for parent in (place, place.parent):
        if not parent.is_relative_to(ROOT):
            continue
        for controller in share.second():
            with contextlib.suppress(OSError):  # it is on already, or not ours to turn on
                if controller not in (parent / "cgroup.subtree_control").read_text().split():
                    (parent / "cgroup.subtree_control").write_text(f"+{controller}")
        folder = parent / name
        if held := _limited(folder, share.second()):
            return Group((folder,), frozenset(held), 2)
    return None


def _first(share: Share, ours: dict[str, str], name: str) -> Group | None:
    folders, held = [], set()
    for controllers, path in ours.items():
        wanted = {c: files for c, files in share.first().items() if c in controllers.split(",")}
        if wanted:
            folder = ROOT / controllers / path.lstrip("/") / name
            if found := set(_limited(folder, wanted)):
                folders.append(folder)
                held |= found
    return Group(tuple(folders), frozenset(held), 1) if folders else None


def _limited(folder: Path, wanted: dict[str, dict[str, str]]) -> list[str]:
    """The controllers whose limit could be set; without any the folder is gone again."""
    try:
        folder.mkdir()
    except OSError:
        return []
    held = [controller for controller, files in wanted.items() if _written(folder, files)]
    if not held:
        with contextlib.suppress(OSError):
            folder.rmdir()
    return held


def _written(folder: Path, files: dict[str, str]) -> bool:
    """The first is the limit; the others are good to have."""
    done = [_set(folder / name, value) for name, value in files.items()]
    return done[0]


def _set(path: Path, value: str) -> bool:
    try:
        # Not `write_text`, which would make a file: a group without the controller is no limit.
        with path.open("r+") as limit:
            limit.write(value)
    except OSError:
        return False
    return True
