"""The launcher between us and `sandlock`: a script of its own, started with `python -I`.

    launcher.py POLICY-AS-JSON FILTER-IN-HEX COMMAND …

Everything the command starts stays below this process, whatever it detaches
from, and is killed when the command ends, when this process is told to end,
and when the server dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import struct
import sys
import threading

_PDEATHSIG, _SUBREAPER, _CAPBSET_DROP, _NO_NEW_PRIVS = 1, 36, 24, 38
_SECCOMP, _FILTER = 22, 2
_CAPABILITIES_V3 = 0x20080522
_ROUNDS = 1000


def _prepare() -> None:
    """No capability (root keeps its own through sandlock), and nobody outlives us."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_V3, 0))
    nothing = ctypes.create_string_buffer(struct.pack("=6I", *[0] * 6))
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capabilities could not be dropped")


def _filter(program: bytes) -> None:
    """Before sandlock's own, which knows nothing of set-uid files."""

    class Program(ctypes.Structure):
        """`struct sock_fprog` of linux/filter.h."""

        _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    given = Program(len(program) // 8, program)
    if program and libc.prctl(_SECCOMP, _FILTER, ctypes.byref(given), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls could not be set")


def _children() -> list[int]:
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        with (
            contextlib.suppress(OSError),
            open(f"/proc/self/task/{thread}/children", "rb") as lines,
        ):
            found += map(int, lines.read().split())
    return found


def _kill_all() -> None:
    """Killed ones leave their children to us, so it goes on until nobody is left."""
    for _ in range(_ROUNDS):
        below = _children()
        if not below:
            return
        for pid in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in below:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def main(policy: str, program: str, command: list[str]) -> int:
    _prepare()
    _filter(bytes.fromhex(program))
    given = json.loads(policy)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_when_told, daemon=True).start()
    sandlock = importlib.import_module("sandlock")
    with open("/dev/null") as nothing:
        os.dup2(nothing.fileno(), 0)
    # Interactive means: our stdout is its stdout, as it comes.
    code: int = sandlock.Sandbox(**given).run_interactive(command)
    return code if code >= 0 else 128 - code


def _end_when_told() -> None:
    signal.sigwait({signal.SIGTERM})
    _kill_all()
    os._exit(143)


if __name__ == "__main__":
    try:
        ended = main(sys.argv[1], sys.argv[2], sys.argv[3:])
    finally:
        _kill_all()
    os._exit(ended & 0xFF)  # sandlock's threads need not be waited for
