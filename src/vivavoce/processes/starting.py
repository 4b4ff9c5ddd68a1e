"""What every child is given and how it is listened to: an environment, a niceness, an ear.

Nothing here keeps a process; no child of ours may import more than this costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
"""What a child sees of our environment, with LC_*: no key and no token of ours is among it."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""For who computes with numpy: its second thread helps nobody with small matrices, and spins for a
tenth of a second after each. On two cores it takes one from the brain as it begins to answer."""
_LONGEST = 1000


def environment(own: Mapping[str, str], *also: str) -> dict[str, str]:
    """`also` names more to pass on; what is its own goes before."""
    names = (*PASSED_ON, *also)
    passed_on = {k: v for k, v in os.environ.items() if k in names or k.startswith("LC_")}
    return passed_on | dict(own)


def be_nice(pid: int, more: int, *, group: bool = False) -> None:
    """From outside, while it has one thread, which all others inherit it from."""
    if more and hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):  # it is gone, or not ours to change
            ours = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PGRP if group else os.PRIO_PROCESS, pid, ours + more)


async def hear(
    stream: asyncio.StreamReader, heard: Callable[[str], None], *, pause: float = 0.0
) -> None:
    """Tells each line until the end; of a line without end the last is enough.

    With a `pause` after every piece whoever writes may have to wait, and a flood is passed over.
    """
    rest = b""
    while piece := await stream.read(4096):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines[-50:]:
            _tell(line, heard)
        rest = rest[-4096:]
        if pause:
            await asyncio.sleep(pause)
    _tell(rest, heard)


def _tell(line: bytes, heard: Callable[[str], None]) -> None:
    if words := line.decode(errors="replace").strip():
        heard(words[:_LONGEST])
