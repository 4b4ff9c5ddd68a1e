"""A program that is asked one thing: started in a thread, heard until it is enough, then ended.

In a thread, since starting a process on uvloop copies our own first (`fork`): 5 ms
and more in which no voice is heard. The standard library's way does not, where
nothing is run in between. No shell; it has the input that it is given, and no other.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.processes.starting import be_nice
from vivavoce.processes.threads import SHARED

_PIECE = 65_536
_MOST = 16 << 20


@dataclass(frozen=True, slots=True)
class Ended:
    """`complete`: it said all it had to say. `output` is empty where somebody else was fed."""

    complete: bool
    code: int = 0
    output: bytes = b""
    complaints: str = ""


@dataclass(slots=True, eq=False)
class Once:
    """One start to one end. `run` it on the loop, or call it in a thread of your own.

    `env` is all of its environment, ours where it is None. `feed` is given its
    output as it comes, in the thread, and says False when it is enough.
    """

    command: Sequence[str]
    seconds: float
    cwd: Path | str | None = None
    env: Mapping[str, str] | None = None
    told: bytes = b""
    feed: Callable[[bytes], bool] | None = None
    nice: int = 0
    _output: bytearray = field(default_factory=bytearray, init=False)
    _complaints: bytearray = field(default_factory=bytearray, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _starting: threading.Lock = field(default_factory=threading.Lock, init=False)

    async def run(self) -> Ended:
        """Raises `OSError` if it cannot be started, `TimeoutError`, and `Unavailable` when too
        many run. It is gone when this returns, however it does."""
        try:
            ended: Ended = await SHARED.run(self)
            return ended
        finally:
            self.stop()

    def __call__(self) -> Ended:
        with self._starting:
            if self._stopped:
                return Ended(False)
            process = self._process = self._start()
        ends = time.monotonic() + self.seconds
        with process:  # waits for its end, and closes the pipes
            try:
                complete = self._converse(process, ends)
                if complete:
                    process.wait(max(0.0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                raise TimeoutError from None
            except BaseException:
                process.kill()
                raise
            if not complete:
                process.kill()
        words = self._complaints.decode(errors="replace")
        return Ended(complete, process.returncode, bytes(self._output), words)

    def stop(self) -> None:
        """From any thread, before or after."""
        with self._starting:
            self._stopped = True
            if self._process is not None:
                self._process.kill()  # does nothing to one that is over
                self._process.wait()  # killed outright: a matter of microseconds

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - no shell, and no word of a user is an option
            self.command,
            bufsize=0,
            stdin=subprocess.PIPE if self.told else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=None if self.env is None else dict(self.env),
        )
        be_nice(process.pid, self.nice)  # the voice goes first
        return process

    def _converse(self, process: subprocess.Popen[bytes], ends: float) -> bool:
        """All three pipes at once, or one that is full would keep the others waiting."""
        rest, feed = memoryview(self.told), self.feed or self._keep
        with selectors.DefaultSelector() as pipes:
            for stream, mask in ((process.stdin, 2), (process.stdout, 1), (process.stderr, 1)):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    pipes.register(stream, mask)
            while pipes.get_map():
                if time.monotonic() >= ends:
                    raise TimeoutError
                for key, _ in pipes.select(max(0.0, ends - time.monotonic())):
                    if key.fileobj is process.stdin:
                        with contextlib.suppress(BrokenPipeError):  # it has read enough
                            rest = rest[os.write(key.fd, rest[:_PIECE]) :]
                            if rest:
                                continue
                        pipes.unregister(process.stdin)
                        process.stdin.close()
                    elif not (piece := os.read(key.fd, _PIECE)):
                        pipes.unregister(key.fileobj)
                    elif key.fileobj is process.stderr:
                        self._complaints += piece[: _PIECE - len(self._complaints)]
                    elif not feed(piece):
                        return False
        return True

    def _keep(self, piece: bytes) -> bool:
        self._output += piece
        return len(self._output) < _MOST
