"""`vivavoce serve` as a process of its own, for whoever measures the whole engine from outside.

Owns its start, its end and the view of its processes (the server and its
children). Knows nothing of sessions.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from vivavoce.app.settings import load_settings

READY_SECONDS = 240.0
KEY = "any-key"
REMOTE = "remote-100ms"
"""The name of the brain elsewhere: `bench.engine.brain` on loopback."""


@dataclass(frozen=True, slots=True)
class Family:
    """What the server and its children hold at a moment."""

    cpu_seconds: float
    children_cpu_seconds: float
    memory_mib: float
    files: int
    threads: int
    processes: int


@dataclass(frozen=True, slots=True)
class Server:
    origin: str
    process: psutil.Process
    log: Path

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {KEY}"}

    @property
    def realtime(self) -> str:
        return f"{self.origin.replace('http', 'ws', 1)}/v1/realtime?model=vivavoce"

    @property
    def calls(self) -> str:
        return f"{self.origin}/v1/realtime/calls"

    def family(self) -> Family:
        children = self.process.children(recursive=True)
        cpu, below, memory, files, threads = 0.0, 0.0, 0.0, 0, 0
        for number, process in enumerate((self.process, *children)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                times = process.cpu_times()
                spent = times.user + times.system
                cpu, below = cpu + spent, below + (spent if number else 0.0)
                memory += _own_memory(process)
                files, threads = files + process.num_fds(), threads + process.num_threads()
        return Family(cpu, below, memory / 2**20, files, threads, 1 + len(children))


def _own_memory(process: psutil.Process) -> float:
    """What would be free without it: pages that processes share count for nobody twice."""
    full = process.memory_full_info()
    return float(getattr(full, "pss", full.uss))


@contextmanager
def serving(settings: Mapping[str, str], folder: Path | None = None) -> Iterator[Server]:
    """Up with its models loaded, and down again. Settings are those of the environment."""
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as workspace:
        place = folder or Path(temporary)
        own = {"VIVAVOCE_DATA_DIR": str(place), "VIVAVOCE_WORKSPACE": workspace}
        port, log = _free_port(), place / "server.log"
        _share_reading(place)
        with log.open("ab") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "vivavoce", "serve", "--port", str(port)],
                cwd=place,
                env=_environment() | own | dict(settings),
                stdout=subprocess.DEVNULL,
                stderr=out,
            )
        server = Server(f"http://127.0.0.1:{port}", psutil.Process(child.pid), log)
        try:
            _until_ready(server, child)
            yield server
        finally:
            _end(child)


def _share_reading(place: Path) -> None:
    """A brain reads its prompt for a minute, once for each folder of data: not for each server."""
    kept = Path(load_settings().models_dir) / "bench-brain"
    kept.mkdir(parents=True, exist_ok=True)
    if not (place / "brain").exists():
        (place / "brain").symlink_to(kept, target_is_directory=True)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    """Ours, without what would make it another server; the models may be anywhere."""
    own = {name: value for name, value in os.environ.items() if "VIVAVOCE" not in name}
    own.pop("OPENAI_API_KEY", None)
    models = os.environ.get("VIVAVOCE_MODELS_DIR")
    return own | ({"VIVAVOCE_MODELS_DIR": models} if models else {})


def _until_ready(server: Server, child: subprocess.Popen[bytes]) -> None:
    end, said = time.monotonic() + READY_SECONDS, "nothing"
    with httpx.Client(base_url=server.origin, trust_env=False) as http:
        while child.poll() is None and time.monotonic() < end:
            with suppress(httpx.TransportError):
                ready = http.get("/ready")
                if ready.status_code == 200:
                    return
                said = ready.text
            time.sleep(0.1)
    raise RuntimeError(f"the server is not ready: {said}\n{server.log.read_text()[-4000:]}")


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextmanager
def brain_settings(brain: str) -> Iterator[dict[str, str]]:
    """The settings for a brain by its name; a brain elsewhere runs meanwhile."""
    if brain != REMOTE:
        yield {"VIVAVOCE_BRAIN": brain}
        return
    with subprocess.Popen(
        [sys.executable, "-m", "bench.engine.brain"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            yield {"VIVAVOCE_BRAIN": f"http://127.0.0.1:{int(child.stdout.readline())}/v1"}
        finally:
            child.stdin.close()
