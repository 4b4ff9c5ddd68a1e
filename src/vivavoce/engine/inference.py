"""What all models share: how a file becomes a session, and a thread to run it on.

Knows onnxruntime and threads; knows nothing of what a model is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import onnxruntime as ort

from vivavoce.errors import EngineFault, ModelUnavailable

T = TypeVar("T")


def open_model(path: Path, *, threads: int = 1) -> ort.InferenceSession:
    """Load a model for the CPU. Blocks; raises `ModelUnavailable`."""
    if not path.is_file():
        raise ModelUnavailable(f"The model file {path.name} of {path.parent.name} is missing.")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads would otherwise spin, and eat the cores that other models need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # onnxruntime has a dozen kinds, with no common one of its own
        raise ModelUnavailable(
            f"The model file {path.name} of {path.parent.name} is damaged."
        ) from fault


class Worker:
    """One thread for one model, and a bounded line in front of it.

    Whatever goes wrong inside comes out as `fault`, the error of the port.
    """

    def __init__(self, name: str, fault: type[EngineFault], *, line: int = 64) -> None:
        self._name = name
        self._fault = fault
        self._room = line
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Do it on the thread. Cancelled before its turn, it is never done."""
        if self._closed:
            raise self._fault(f"{self._name} is closed.")
        if self._room <= 0:
            raise self._fault(f"{self._name} has too much to do.")
        self._room -= 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except EngineFault:
            raise
        except Exception as fault:  # whatever a model does wrong, sessions know one kind of fault
            raise self._fault(f"{self._name} failed.") from fault
        finally:
            self._room += 1

    def close(self) -> None:
        """Wait for the work under way, drop the rest. Blocks for one piece of work at most."""
        self._closed = True
        self._thread.shutdown(wait=True, cancel_futures=True)
