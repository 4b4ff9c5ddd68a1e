"""`vivavoce serve` with its own engine, as a user starts it: no key, nothing configured.

A process of its own, since speech takes a core and a browser notices.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.journeys.process import free_port

COMMAND = [sys.executable, "-m", "vivavoce", "serve"]
TIME_TOOL = "current_time"
"""The name under which the scripted brain looks for a clock."""
TIME = "Monday, November 16, 2026, 9:30 AM"
"""What such a clock answers; the brain makes a sentence of it."""


@dataclass(frozen=True, slots=True)
class Served:
    origin: str
    key: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """As by `kill -9`, or a machine that dies."""
        self.process.kill()
        self.process.wait()

    @property
    def url(self) -> str:
        """What an OpenAI client has for its base URL."""
        return f"{self.origin}/v1"


@contextmanager
def serve(folder: Path, *, patience: float = 240, **settings: str) -> Iterator[Served]:
    """Up with its models loaded, within so many seconds, and down again."""
    folder.mkdir(exist_ok=True)
    port = int(settings.pop("VIVAVOCE_PORT", 0)) or free_port()
    origin = f"http://127.0.0.1:{port}"
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            [*COMMAND, "--port", str(port)],
            cwd=folder,
            env={
                **_environment(),
                "VIVAVOCE_DATA_DIR": str(folder),
                "VIVAVOCE_WORKSPACE": f"{folder}-workspace",
                **settings,
            },
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        _wait(origin, process, folder / "server.log", patience)
        yield Served(origin, "any-key", process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    """Ours, without what would make it another server; the models may be anywhere."""
    own = {name: value for name, value in os.environ.items() if "VIVAVOCE" not in name}
    own.pop("OPENAI_API_KEY", None)
    models = os.environ.get("VIVAVOCE_MODELS_DIR")
    own["VIVAVOCE_BRAIN"] = "scripted"  # the models are the small ones; these are about the doors
    return own | ({"VIVAVOCE_MODELS_DIR": models} if models else {})


def _wait(origin: str, process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    answer = "nothing"
    with httpx.Client(base_url=origin, trust_env=False) as http:
        while process.poll() is None and time.monotonic() < end:
            try:
                ready = http.get("/ready")
                if ready.status_code == 200:
                    return
                answer = ready.text
            except httpx.TransportError:
                pass
            time.sleep(0.2)  # it loads models meanwhile, and answering takes from that
    raise AssertionError(f"it is not ready: {answer}\n{log.read_text()}")
