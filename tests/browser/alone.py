"""A machine with no network but loopback, for one command.

`unshare -rn` needs no root. Where a container refuses namespaces, a scene can
be told `noWay` instead: weaker, but WebRTC finds none there either.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from functools import cache

_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40


@cache
def namespaces() -> bool:
    """May we have a network of our own?"""
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    return subprocess.run([unshare, "-rn", "true"], capture_output=True).returncode == 0


def cut_off(*command: str) -> tuple[str, ...]:
    """The command, to be run with every interface but loopback gone where that can be had."""
    if not namespaces():
        return command
    return ("unshare", "-rn", sys.executable, "-m", "tests.browser.alone", *command)


def raise_loopback() -> None:
    """A new namespace has its loopback down, and iproute2 may not be there to raise it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        wish = struct.pack("16sH14x", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, wish)


if __name__ == "__main__":
    raise_loopback()
    os.execvp(sys.argv[1], sys.argv[1:])
