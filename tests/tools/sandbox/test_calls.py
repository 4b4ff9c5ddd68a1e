"""The filter of system calls: run by an interpreter of ours, then by the kernel."""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable

import pytest

from tests.tools.sandbox.kinds import made
from tests.tools.sandbox.world import a_world
from vivavoce.tools.sandbox.calls import (
    ALLOW,
    MACHINES,
    REFUSE,
    UNKNOWN,
    allowed,
    filter_for,
    modes_filter,
)

EACH = pytest.mark.parametrize("machine", sorted(MACHINES))
FORBIDDEN = {
    "x86_64": {
        "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
        "unshare": 272, "setns": 308, "init_module": 175, "finit_module": 313, "bpf": 321,
        "keyctl": 250, "add_key": 248, "request_key": 249, "perf_event_open": 298,
        "io_uring_setup": 425, "io_uring_enter": 426, "userfaultfd": 323, "kexec_load": 246,
        "open_by_handle_at": 304, "name_to_handle_at": 303, "pidfd_getfd": 438, "reboot": 169,
        "process_vm_readv": 310, "process_vm_writev": 311, "settimeofday": 164, "acct": 163,
        "clock_settime": 227, "swapon": 167, "iopl": 172, "ioperm": 173, "syslog": 103,
        "move_mount": 429, "open_tree": 428, "fsopen": 430, "mount_setattr": 442, "quotactl": 179,
        "modify_ldt": 154, "kcmp": 312, "fanotify_init": 300, "sethostname": 170, "mbind": 237,
    },
    "aarch64": {
        "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
        "unshare": 97, "setns": 268, "init_module": 105, "finit_module": 273, "bpf": 280,
        "keyctl": 219, "add_key": 217, "request_key": 218, "perf_event_open": 241,
        "io_uring_setup": 425, "io_uring_enter": 426, "userfaultfd": 282, "kexec_load": 104,
        "open_by_handle_at": 265, "name_to_handle_at": 264, "pidfd_getfd": 438, "reboot": 142,
        "process_vm_readv": 270, "process_vm_writev": 271, "settimeofday": 170, "acct": 89,
        "clock_settime": 112, "swapon": 224, "syslog": 116, "sethostname": 161, "mbind": 235,
        "move_mount": 429, "open_tree": 428, "fsopen": 430, "mount_setattr": 442, "quotactl": 60,
        "kcmp": 272, "fanotify_init": 262,
    },
}  # fmt: skip


def _answer(
    machine: str,
    number: int,
    *arguments: int,
    audit: int | None = None,
    made: Callable[[str], bytes | None] = filter_for,
) -> int:
    """What the kernel would do with this call."""
    program = made(machine)
    assert program is not None
    lines = list(struct.iter_unpack("=HBBI", program))
    given = struct.pack(
        "=IIQ6Q", number, MACHINES[machine].audit if audit is None else audit, 0,
        *(*arguments, *[0] * (6 - len(arguments))),
    )  # fmt: skip
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = lines[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", given, operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


@EACH
def test_what_is_on_the_list_is_allowed_and_nothing_else(machine: str) -> None:
    decided = {"socket", "ioctl", "clone", "personality"}
    # With zeros as arguments these set no mode, and are plain.
    calls = allowed(machine)
    plain = {number for name, number in calls.items() if name not in decided}
    special = {calls[name] for name in decided}
    assert len(plain) > 200
    for number in range(600):
        if number not in special:
            expected = ALLOW if number in plain else UNKNOWN if number >= 463 else REFUSE
            expected = UNKNOWN if number in (435, 437) else expected  # clone3, openat2
            assert _answer(machine, number) == expected, number


@EACH
def test_what_has_no_business_in_a_sandbox_is_refused(machine: str) -> None:
    for name, number in FORBIDDEN[machine].items():
        assert _answer(machine, number) == REFUSE, name
        assert name not in allowed(machine)


@EACH
def test_some_calls_are_decided_by_what_they_are_given(machine: str) -> None:
    calls = allowed(machine)
    families = {1: ALLOW, 2: ALLOW, 10: ALLOW, 16: ALLOW, 17: REFUSE, 40: REFUSE, 38: REFUSE}
    for family, answer in families.items():
        assert _answer(machine, calls["socket"], family) == answer
    assert _answer(machine, calls["ioctl"], 0, 0x5412) == REFUSE
    # The kernel reads 32 bits of it: more in front changes nothing.
    assert _answer(machine, calls["ioctl"], 0, 0xFFFFFFFF00005412) == REFUSE
    assert _answer(machine, calls["ioctl"], 0, 0x5401) == ALLOW
    assert _answer(machine, calls["clone"], 0x003D0F00) == ALLOW  # a thread
    assert _answer(machine, calls["clone"], 17) == ALLOW  # a process
    for bit in (7, 17, 25, 26, 27, 28, 29, 30):
        assert _answer(machine, calls["clone"], 1 << bit | 17) == REFUSE
    assert _answer(machine, calls["personality"], 0xFFFFFFFF) == ALLOW
    assert _answer(machine, calls["personality"], 0x0400000) == REFUSE  # READ_IMPLIES_EXEC


CREATED = 0o100 | 0o1
MODES = {
    "chmod": (0,), "fchmod": (0,), "fchmodat": (0, 0), "fchmodat2": (0, 0), "creat": (0,),
    "mkdir": (0,), "mkdirat": (0, 0), "mknod": (0,), "mknodat": (0, 0),
    "open": (0, CREATED), "openat": (0, 0, CREATED),
}  # fmt: skip


@pytest.mark.parametrize("made", [filter_for, modes_filter])
@EACH
def test_no_call_makes_a_file_that_gives_its_rights_away(
    machine: str, made: Callable[[str], bytes | None]
) -> None:
    calls = allowed(machine)
    for name, first in MODES.items():
        for mode in (0o4755, 0o2755, 0o6000, 0o104711, 0xFFFFFFFF00000000 | 0o4000):
            if name in calls:
                assert _answer(machine, calls[name], *first, mode, made=made) == REFUSE, name
        for mode in (0o755, 0o1777, 0o100644, 0o600, 0xFFFFFFFF00000000):
            if name in calls:
                assert _answer(machine, calls[name], *first, mode, made=made) == ALLOW, name
    # A mode that nobody reads is no mode, but a file without a name has one.
    assert _answer(machine, calls["openat"], 0, 0, 0o2, 0o6755, made=made) == ALLOW
    assert _answer(machine, calls["openat"], 0, 0, 0o20200002, 0o6755, made=made) == REFUSE


@EACH
def test_another_abi_is_answered_as_if_there_were_none(machine: str) -> None:
    assert _answer(machine, 0, audit=0x40000003) == UNKNOWN
    assert _answer(machine, 0x40000000 | 1) == UNKNOWN


@EACH
def test_its_jumps_stay_inside(machine: str) -> None:
    program = (filter_for(machine) or b"") + (modes_filter(machine) or b"")
    lines = list(struct.iter_unpack("=HBBI", program))
    assert 0 < len(lines) < 4096
    for place, (code, if_true, if_false, _) in enumerate(lines):
        if code & 0x07 == 0x05:
            assert place + 1 + max(if_true, if_false) < len(lines)


def test_a_machine_we_do_not_know_has_no_filter() -> None:
    assert filter_for("pdp11") is None
    assert modes_filter("pdp11") is None
    assert allowed("pdp11") == {}


async def test_the_kernel_refuses_what_the_list_does() -> None:
    """Called with nothing but zeros: a call that is let through fails otherwise, or not at all."""
    numbers = FORBIDDEN[platform.machine()]
    script = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"for name, number in {numbers!r}.items():\n"
        " ctypes.set_errno(0)\n"
        " done = libc.syscall(number, 0, 0, 0, 0, 0, 0)\n"
        " if done != -1 or ctypes.get_errno() != 1: print('LET', name, done, ctypes.get_errno())\n"
        "print('asked', libc.syscall(435, 0, 0) == -1 and ctypes.get_errno())\n"
    )
    async with a_world() as world:
        (world.workspace / "ask.py").write_text(script)
        done = await made("bubblewrap", world).run("python3 ask.py", cwd=world.workspace)
        assert done.output == "asked 38\n"
