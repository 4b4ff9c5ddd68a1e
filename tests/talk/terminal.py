"""`vivavoce talk` in a pseudo-terminal of its own, and what somebody would see there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte

COMMAND = (sys.executable, "-m", "vivavoce", "talk")


def environment(**more: str) -> dict[str, str]:
    """Ours, without what would make it another talk."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VIVAVOCE", "SSH_", "TEXTUAL"))
    }
    return own | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"} | more


class _Screen(pyte.Screen):
    """Newer questions about the keyboard are not drawn as text."""

    def report_device_status(self, mode: int, private: bool = False, **_: Any) -> None:
        """Nobody answers."""


class Terminal:
    def __init__(
        self, process: subprocess.Popen[bytes], master: int, size: tuple[int, int]
    ) -> None:
        self.process, self._master = process, master
        self._screen = _Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self.seen: list[str] = []
        """Every picture that differed from the one before."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other side is gone
            while data := os.read(self._master, 65536):
                with self._lock:
                    self._stream.feed(_plain(data))
                    text = self._text()
                    if not self.seen or self.seen[-1] != text:
                        self.seen.append(text)

    def _text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).strip("\n")

    @property
    def text(self) -> str:
        with self._lock:
            return self._text()

    def until(self, words: str, seconds: float = 60.0) -> str:
        """Until these words were on the screen, now or since the start."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._lock:
                found = next((picture for picture in self.seen if words in picture), None)
            if found is not None:
                return found
            if self.process.poll() is not None and not self._reader.is_alive():
                break
            time.sleep(0.02)
        raise AssertionError(f"{words!r} was never seen; the last picture:\n{self.text}")

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def ended(self, seconds: float = 60.0) -> int:
        """Its exit code."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it goes on; the last picture:\n{self.text}") from None
        self._reader.join(5)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self._reader.join(5)
        os.close(self._master)


def _plain(data: bytes) -> bytes:
    """Without what pyte takes for text: sequences of newer terminals with `<`, `=` or `>`."""
    return re.sub(rb"\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p", b"", data)


@contextmanager
def terminal(
    *arguments: str | Path, size: tuple[int, int] = (100, 30), **more: str
) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(**more),
        start_new_session=True,
    )
    os.close(slave)
    shown = Terminal(process, master, size)
    try:
        yield shown
    finally:
        shown.close()
