"""bubblewrap: namespaces of its own for every command. The best there is on Linux.

A new root with the system read-only, the workspace writable, everything else
absent; no network, no other process, no capability, no way to make another
namespace. A filter of system calls holds what namespaces do not: keyrings,
virtio sockets to the machine below us, BPF, io_uring (which goes around
filters), the terminal's input queue. Measured at some 5 ms a launch.
"""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vivavoce.errors import Unavailable
from vivavoce.processes.bounded import Launch, Limits
from vivavoce.tools.sandbox.places import ETC, NETWORK_ETC, SYSTEM
from vivavoce.tools.sandbox.shell import GIT_AFTERWARDS, Confined, environment, limited

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS = 16
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1  # EPERM
_UNKNOWN = 0x00050000 | 38  # ENOSYS: a foreign ABI, as if the kernel were built without it
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink: those that a network namespace holds
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    socket: int
    ioctl: int
    refused: tuple[int, ...]


# add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, io_uring_setup,
# io_uring_enter, io_uring_register, kexec_load, kexec_file_load, open_by_handle_at,
# pidfd_getfd, mount, umount2, pivot_root, move_mount, open_tree, fsopen, mount_setattr,
# setns, unshare, init_module, finit_module, delete_module, reboot, swapon, acct, syslog
_MACHINES = {
    "x86_64": _Machine(
        audit=0xC000003E,
        socket=41,
        ioctl=16,
        refused=(
            *(248, 249, 250, 321, 298, 323, 425, 426, 427, 246, 320, 304),
            *(438, 165, 166, 155, 429, 428, 430, 442),
            *(308, 272, 175, 313, 176, 169, 167, 163, 103),
        ),
    ),
    "aarch64": _Machine(
        audit=0xC00000B7,
        socket=198,
        ioctl=29,
        refused=(
            *(217, 218, 219, 280, 241, 282, 425, 426, 427, 104, 294, 265),
            *(438, 40, 39, 41, 429, 428, 430, 442),
            *(268, 97, 105, 273, 106, 142, 224, 89, 116),
        ),
    ),
}


def filter_for(machine: str | None = None) -> bytes | None:
    """The program, or None for a machine whose numbers we do not know."""
    known = _MACHINES.get(machine or platform.machine())
    return b"".join(_program(known)) if known is not None else None


def _program(machine: _Machine) -> list[bytes]:
    lines = [
        _line(_LOAD, 0, 0, _ARCHITECTURE),
        _line(_EQUAL, 1, 0, machine.audit),
        _line(_RETURN, 0, 0, _UNKNOWN),
        _line(_LOAD, 0, 0, _NUMBER),
        _line(_AT_LEAST, 0, 1, _X32),
        _line(_RETURN, 0, 0, _UNKNOWN),
    ]
    for number in machine.refused:
        lines += [_line(_EQUAL, 0, 1, number), _line(_RETURN, 0, 0, _REFUSE)]
    lines += _argument(machine.socket, 0, _FAMILIES, allowed=True)
    lines += _argument(machine.ioctl, 1, (_TIOCSTI, _TIOCLINUX), allowed=False)
    return [*lines, _line(_RETURN, 0, 0, _ALLOW)]


def _argument(call: int, position: int, values: tuple[int, ...], *, allowed: bool) -> list[bytes]:
    """The call only with, or only without, these values of an argument (its low 32 bits)."""
    count = len(values)
    inside = [_line(_LOAD, 0, 0, _ARGUMENTS + 8 * position)]
    for left, value in zip(range(count, 0, -1), values, strict=True):
        # A hit jumps to the second of the two returns below.
        inside.append(_line(_EQUAL, left, 0, value))
    miss, hit = (_REFUSE, _ALLOW) if allowed else (_ALLOW, _REFUSE)
    inside += [_line(_RETURN, 0, 0, miss), _line(_RETURN, 0, 0, hit)]
    return [_line(_EQUAL, 0, len(inside), call), *inside]


def _line(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


_ISOLATION = (
    *("--die-with-parent", "--new-session", "--unshare-all", "--unshare-user"),
    *("--disable-userns", "--cap-drop", "ALL", "--hostname", "sandbox"),
)


@dataclass(frozen=True, kw_only=True)
class Bubblewrap(Confined):
    """`workspace` is writable, `hidden` is not even in it."""

    program: str
    mounts_git: bool = True
    """From version 0.10 on; without it, repositories are looked through after a command."""
    name: str = "bubblewrap"

    @property
    def notes(self) -> tuple[str, ...]:
        told = ["memory of all processes together is looked at, not held: no cgroup is used"]
        if os.geteuid() == 0:
            told.append("run as root, the number of processes is looked at, not held")
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
        yield from ("--bind", str(self.workspace), str(self.workspace))
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
