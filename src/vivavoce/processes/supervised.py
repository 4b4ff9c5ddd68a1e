"""Child processes of the server: started, watched, started again, and never left behind.

Owns a process's life and its last words; what is said to it over its pipes is
the business of whoever starts it. A child notices our death by the end of its
stdin: whatever kills us, `follow_parent` on the other side ends it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar

from vivavoce.errors import VivavoceError
from vivavoce.processes import starting
from vivavoce.retrying import Backoff

log = logging.getLogger(__name__)

CAN_PAUSE = sys.platform == "linux"
_LACKING = ("ImportError:", "ModuleNotFoundError:")
_PR_SET_PDEATHSIG = 1


class Child:
    """A process that is wanted for as long as `run` is.

    `arguments` are the whole command. `started` may go on for as long as the
    process lives (it is cancelled when that ends); if it raises, the process
    is ended and started anew. `ended` is called once after every start. With
    `talks`, stdout is for `started` to read; otherwise it goes to the log, as
    stderr always does. `environment` is added to what is passed on.
    """

    goodbye: ClassVar[float] = 1.0
    """Seconds to end by itself once its stdin is closed."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        started: Callable[[asyncio.subprocess.Process], Awaitable[None]],
        ended: Callable[[], None],
        nice: int = 0,
        talks: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._name = name
        self._arguments = tuple(arguments)
        self._started, self._ended = started, ended
        self._nice, self._talks = nice, talks
        self._environment = starting.environment(environment or {}, "PYTHONPATH", "LD_LIBRARY_PATH")
        self._last_words: deque[str] = deque(maxlen=20)
        self._process: asyncio.subprocess.Process | None = None

    def pause(self) -> None:
        """It stands still, whatever it is doing, until `resume`. Only where it dies with us."""
        if CAN_PAUSE:
            self._signal("SIGSTOP")

    def resume(self) -> None:
        if CAN_PAUSE:
            self._signal("SIGCONT")

    def _signal(self, name: str) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(getattr(signal, name))

    async def run(self) -> None:
        """Keep it alive until cancelled; then it is gone."""
        loop, backoff = asyncio.get_running_loop(), Backoff()
        while True:
            born = loop.time()
            why = await self._life() + self._lacking()
            pause = backoff.after(loop.time() - born)
            told = {"child": self._name, "seconds": pause, "output": "\n".join(self._last_words)}
            log.warning("The %s process %s; it is started again", self._name, why, extra=told)
            await asyncio.sleep(pause)

    def _lacking(self) -> str:
        """What it could not load. The rest of what it said may quote somebody, and is private."""
        last = self._last_words[-1] if self._last_words else ""
        return f": {last[:300]}" if last.startswith(_LACKING) else ""

    async def _life(self) -> str:
        """One start to one end. Says what became of it."""
        self._last_words.clear()
        try:
            process = await self._spawn()
        except OSError as refusal:
            return f"cannot be started ({refusal.strerror})"
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._watch(process), name=f"{self._name} output")
                serving = group.create_task(self._serve(process), name=f"{self._name} started")
                dying = group.create_task(process.wait(), name=f"{self._name} end")
                await asyncio.wait((serving, dying), return_when=asyncio.FIRST_COMPLETED)
                fault = serving.result() if serving.done() else None
                if fault is None:
                    await dying
                else:
                    await self._end(process)
                serving.cancel()
                # Its last words are in the pipe; a grandchild may hold that open for ever.
                await asyncio.wait((watching,), timeout=self.goodbye)
                watching.cancel()
        finally:
            try:
                await self._end(process)
            finally:
                self._ended()
        return fault or f"ended ({_status(process.returncode)})"

    async def _spawn(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe if self._talks else asyncio.subprocess.STDOUT,
            env=self._environment,
            limit=1 << 20,
        )
        # It stays in our process group: in a session of its own its niceness would not count.
        starting.be_nice(process.pid, self._nice)
        self._process = process
        log.info("Process started", extra={"child": self._name, "pid": process.pid})
        return process

    async def _serve(self, process: asyncio.subprocess.Process) -> str | None:
        try:
            await self._started(process)
        except VivavoceError as fault:
            return f"is of no use ({fault.message})"
        except Exception:  # the boundary of somebody else's code: the process goes, we stay
            log.exception("The %s process could not be talked to", self._name)
            return "could not be talked to"
        return None

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        stream = process.stderr if self._talks else process.stdout
        assert stream is not None
        await starting.hear(stream, self._heard)

    def _heard(self, words: str) -> None:
        self._last_words.append(words)
        log.debug("Process output", extra={"child": self._name, "output": words})

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Ask it to go, then make it. Returns when it is gone."""
        try:
            if process.returncode is None:
                assert process.stdin is not None
                self.resume()
                process.stdin.close()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.goodbye):
                        await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def follow_parent() -> None:
    """For the child, at its start: end when our parent does, however that was, and not before.

    Takes stdin for itself. Ctrl-C goes to everyone in the terminal's group,
    but it is the parent who decides what it means.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if CAN_PAUSE:
        # Who stands still does not notice the end of stdin: the kernel sees to it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_until_alone, name="follow parent", daemon=True).start()


def _until_alone() -> None:
    with contextlib.suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    os._exit(0)


def _status(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"status {code}"
