"""A program that reads and answers: started in a thread, heard until it is enough, then ended.

In a thread, since starting a process on uvloop copies our own first (`fork`): 5 ms
and more in which no voice is heard. The standard library's way does not, where
nothing is run in between. No shell, no environment of ours, no input but what
it is told.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_CHUNK = 65536
_NICE = 5
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class End:
    """`complete`: it said all it had to say. `words` are its complaints."""

    complete: bool
    code: int
    words: str


class Run:
    """Call it once, in a thread; `stop` may come from any other, before or after."""

    def __init__(
        self, command: Sequence[str], folder: Path, told: bytes, feed: Callable[[bytes], bool]
    ) -> None:
        self._command, self._folder, self._told, self._feed = command, folder, told, feed
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._starting = threading.Lock()

    def __call__(self) -> End:
        """Raises `OSError` if it cannot be started."""
        with self._starting:
            if self._stopped:
                return End(False, 0, "")
            process = self._process = self._start()
        with process:  # waits for its end, and closes the pipes
            try:
                words = self._listen(process)
            except BaseException:
                process.kill()
                raise
            if words is None:
                process.kill()
        return End(words is not None, process.returncode, words or "")

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 # no shell, and the callers' words are no options
            self._command,
            stdin=subprocess.PIPE if self._told else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env=_ENVIRONMENT,
        )
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)  # the voice goes first
        return process

    def _listen(self, process: subprocess.Popen[bytes]) -> str | None:
        """Its complaints, once it has said everything; None when it was enough before."""
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), process.stdin as stream:
                stream.write(self._told)
        while piece := os.read(process.stdout.fileno(), _CHUNK):
            if not self._feed(piece):
                return None
        return process.stderr.read(_CHUNK).decode(errors="replace")

    def stop(self) -> None:
        with self._starting:
            self._stopped = True
            if self._process is not None:
                self._process.kill()  # does nothing to one that is over
