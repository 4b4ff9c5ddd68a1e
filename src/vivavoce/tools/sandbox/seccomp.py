"""A filter of system calls for bubblewrap: what namespaces do not hold, this does.

Pure: makes the bytes of a classic BPF program. Namespaces leave open what is
not in any: the kernel's keyrings, virtio sockets to the machine below us,
BPF and performance events, io_uring (which goes around filters), and the
terminal's input queue. Refused calls fail with EPERM; programs go on.
"""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass

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
