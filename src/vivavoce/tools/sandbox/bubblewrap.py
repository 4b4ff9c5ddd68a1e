"""bubblewrap: namespaces of its own for every command. The best there is on Linux.

A new root with the system read-only, the workspace writable, everything else
absent; no network, no other process, no capability, no way to make another
namespace. A list of system calls (`calls.py`) holds what namespaces do not.
Measured at some 5 ms a launch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vivavoce.errors import Unavailable
from vivavoce.processes.bounded import Launch, Limits
from vivavoce.tools.sandbox.calls import allowed, filter_for
from vivavoce.tools.sandbox.places import ETC, NETWORK_ETC, SYSTEM
from vivavoce.tools.sandbox.shell import GIT_AFTERWARDS, Confined, environment, limited

_ISOLATION = (
    *("--die-with-parent", "--new-session", "--unshare-all", "--unshare-user"),
    *("--disable-userns", "--cap-drop", "ALL", "--hostname", "sandbox"),
)


_NOBODY = "65534"


@dataclass(frozen=True, kw_only=True)
class Bubblewrap(Confined):
    """`workspace` is writable, `hidden` is not even in it."""

    program: str
    mounts_git: bool = True
    """From version 0.10 on; without it, repositories are looked through after a command."""
    name: str = "bubblewrap"
    filtered: str = f"a list of {len(allowed())} system calls; all others are refused"

    @property
    def notes(self) -> tuple[str, ...]:
        told = list(self.not_held())
        if not self.mounts_git:
            told.append(f"an old bubblewrap: {GIT_AFTERWARDS}")
        if filter_for() is None:
            told.append("no filter of system calls for this machine")
        return tuple(told)

    async def launch(
        self,
        stack: AsyncExitStack,
        command: str,
        limits: Limits,
        network: bool,
    ) -> Launch:
        fds: list[int] = []
        arguments = [self.program, *self._arguments(limits, network)]
        arguments += self._git(fds)
        arguments += self._seccomp(stack, fds)
        arguments += ["--remount-ro", "/", "--chdir", str(self.workspace), "--"]
        arguments += limited(self.bash, command, limits)
        tools = self.all_tools
        return Launch(
            arguments,
            environment(home="/tmp", temporary="/tmp", first=tools.first, last=tools.last),  # noqa: S108 - its own
            self.workspace,
            namespace=True,
            pass_fds=fds,
        )

    def _arguments(self, limits: Limits, network: bool) -> Iterator[str]:
        yield from _ISOLATION
        if os.geteuid() == 0:  # or it would be root by name, and programs would act like it
            yield from ("--uid", _NOBODY, "--gid", _NOBODY)
        if network:
            yield "--share-net"
        yield from self._system
        # bubblewrap leaves /proc/sys as it is when its folder looks unwritable; its files are
        # not, to root: what the kernel runs at a crash is set in there.
        yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev")
        for scratch in ("/dev/shm", "/tmp"):  # noqa: S108 - inside, these are its own
            yield from ("--size", str(limits.scratch), "--tmpfs", scratch)
        yield from ("--remount-ro", "/dev")
        for place in NETWORK_ETC if network else ():
            yield from ("--ro-bind-try", place, place)
        for folder in self.all_tools.folders:
            if not folder.is_relative_to(self.workspace):
                yield from ("--ro-bind-try", str(folder), str(folder))
        bind = "--ro-bind" if self.read_only else "--bind"
        yield from (bind, str(self.workspace), str(self.workspace))
        for path in self.hidden:
            yield from self._hide(path)

    @cached_property
    def _system(self) -> tuple[str, ...]:
        made: list[str] = []
        for place in SYSTEM:
            path = Path(place)
            if path.is_symlink():
                made += ["--symlink", str(path.readlink()), place]
            elif path.is_dir():
                made += ["--ro-bind", place, place]
        for place in ETC:
            if Path(place).exists():
                made += ["--ro-bind", place, place]
        return tuple(made)

    def _hide(self, path: Path) -> Iterator[str]:
        seen = (self.workspace, *self.all_tools.folders, *map(Path, SYSTEM))
        if not any(path.is_relative_to(root) for root in seen):
            return
        if path.is_symlink() or not path.exists():
            # It was there when we began. Moved, it would be seen under another name.
            raise Unavailable(f"{path.name} is not where it was, and cannot be hidden")
        if path.is_dir():
            yield from ("--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", "/dev/null", str(path))

    def _git(self, fds: list[int]) -> Iterator[str]:
        """Repositories as their guard has them: by descriptors, since a command may plant
        `.git -> ~/.ssh`, and swap it while another one starts."""
        for mount in self.git.mounts if self.git is not None and self.mounts_git else ():
            fds.append(mount.fd)
            yield from ("--bind-fd" if mount.writable else "--ro-bind-fd", str(mount.fd))
            yield str(mount.at)

    def _seccomp(self, opened: AsyncExitStack, fds: list[int]) -> Iterator[str]:
        program = filter_for()
        if program is None:
            return
        fd = os.memfd_create("filter")
        opened.callback(os.close, fd)
        os.write(fd, program)
        os.lseek(fd, 0, os.SEEK_SET)
        fds.append(fd)
        yield from ("--seccomp", str(fd))
