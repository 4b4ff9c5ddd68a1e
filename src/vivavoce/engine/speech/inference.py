"""What all models share: how a file becomes a session, and a thread to run it on.

Knows onnxruntime and threads; knows nothing of what a model is for.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import onnxruntime as ort

from vivavoce.errors import EngineFault, ModelUnavailable

T = TypeVar("T")

CPU = "CPUExecutionProvider"
GPUS = (
    *("CUDAExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider"),
    "DmlExecutionProvider",
)
"""Those that speech models gain from, the best first."""
_running_on: list[str] = [CPU]
"""Of this process; set once, before models are opened."""


def providers(device: str, available: Sequence[str]) -> list[str]:
    """What onnxruntime should try, in order, of what it says it has. The CPU is always the last:
    it does what the others cannot. Raises `ModelUnavailable` where a GPU is wanted."""
    found = [name for name in GPUS if name in available] if device != "cpu" else []
    if device == "gpu" and not found:
        told = ", ".join(available)
        raise ModelUnavailable(
            f"VIVAVOCE_DEVICE is gpu, and onnxruntime has none (it has {told}): "
            "install onnxruntime-gpu or its like, or set auto or cpu."
        )
    return [*found[:1], CPU]


def run_on(device: str) -> str:
    """Models opened from now on run there. Returns where that is: `cpu`, `cuda` …"""
    _running_on[:] = providers(device, ort.get_available_providers())
    return _running_on[0].removesuffix("ExecutionProvider").lower()


def open_model(
    path: Path, *, threads: int = 1, edit: Callable[[Path], bytes | None] | None = None
) -> ort.InferenceSession:
    """Load a model, as `edit` makes it if it can. Blocks; raises `ModelUnavailable`."""
    if not path.is_file():
        raise ModelUnavailable(f"The model file {path.name} of {path.parent.name} is missing.")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads would otherwise spin, and eat the cores that other models need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        model = (edit(path) if edit else None) or str(path)
        session = ort.InferenceSession(model, options, providers=_running_on)
        # It would keep the bytes for other providers than the one there is: a second model.
        vars(session).pop("_model_bytes", None)
        return session
    except Exception as fault:  # onnxruntime has a dozen kinds, with no common one of its own
        words = f"The model file {path.name} of {path.parent.name} is damaged."
        raise ModelUnavailable(words) from fault


class Worker:
    """One thread for one model, and a bounded line in front of it.

    `rank` is how many milliseconds a piece of work may stand back for others
    that come meanwhile (a clause: the sound still in front of it). The line is
    ordered by the time at which that patience ends, so the lowest rank goes
    first, equals go first come first served, and nobody waits for ever.
    Whatever goes wrong inside comes out as `fault`, the error of the port.
    """

    def __init__(
        self,
        name: str,
        fault: type[EngineFault],
        *,
        line: int = 64,
        nice: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._fault = fault
        self._room = line
        self._clock = clock
        self._order = itertools.count()
        self._line: queue.PriorityQueue[_Job] = queue.PriorityQueue()
        self._changing = threading.Lock()
        self._closed = False
        # Started here and not at the first job: a thread inherits the niceness of its maker.
        self._thread = threading.Thread(target=self._work, args=(nice,), name=name, daemon=True)
        self._thread.start()

    async def run(
        self, work: Callable[[], T], *, rank: float = 0.0, stop: Callable[[], None] | None = None
    ) -> T:
        """Do it on the thread. Cancelled before its turn, it is never done.

        Cancelled while it is under way, `stop` is called, which may make it
        shorter (it runs on the loop, must be quick and may come a moment too
        late); what comes of it is dropped.
        """
        if self._closed:
            raise self._fault(f"{self._name} is closed.")
        if self._room <= 0:
            raise self._fault(f"{self._name} has too much to do.")
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        job = _Job(self._clock() * 1000 + rank, next(self._order), work, result, loop)
        self._room -= 1
        self._line.put(job)
        try:
            return await result
        except asyncio.CancelledError:
            with self._changing:  # which keeps the thread from going on to the next job meanwhile
                if job.under_way and stop is not None:
                    stop()
            raise
        finally:
            self._room += 1

    def close(self) -> None:
        """Wait for the work under way, refuse the rest. Blocks for one piece of work at most."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._line.get_nowait().give(None, self._fault(f"{self._name} is closed."))
        self._line.put(_Job(math.inf, 0))
        self._thread.join()

    # --- On the thread ------------------------------------------------------------------

    def _work(self, nice: int) -> None:
        be_nice(nice)
        while (job := self._line.get()).result is not None:
            with self._changing:
                job.under_way = not job.result.cancelled()
            if job.under_way:
                result, fault = self._do(job.work)
                with self._changing:
                    job.under_way = False
                job.give(result, fault)
                del result, fault
            del job  # an idle thread keeps nobody's audio

    def _do(self, work: Callable[[], Any]) -> tuple[Any, EngineFault | None]:
        try:
            return work(), None
        except EngineFault as known:
            return None, known
        except BaseException as cause:  # whatever a model does wrong, sessions know one kind
            fault = self._fault(f"{self._name} failed.")
            fault.__cause__ = cause
            return None, fault


@dataclass(order=True, slots=True)
class _Job:
    """A place in the line: when it is due, and who came first. Without a result: the end."""

    due: float
    order: int
    work: Callable[[], Any] = field(default=lambda: None, compare=False)
    result: asyncio.Future[Any] | None = field(default=None, compare=False)
    loop: asyncio.AbstractEventLoop | None = field(default=None, compare=False)
    under_way: bool = field(default=False, compare=False)

    def give(self, result: Any, fault: EngineFault | None) -> None:
        if self.loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._arrive, result, fault)

    def _arrive(self, result: Any, fault: EngineFault | None) -> None:
        if self.result is None or self.result.done():
            return
        if fault is not None:
            self.result.set_exception(fault)
        else:
            self.result.set_result(result)


def be_nice(more: int) -> None:
    """Let others go before the thread that calls. What it starts from now on inherits it."""
    if more and sys.platform == "linux":  # elsewhere niceness belongs to the process
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + more)
