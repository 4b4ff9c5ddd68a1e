"""From `serve` to the first `/health`, beside the usual way to write such a server.

The peer is a bare FastAPI app under uvicorn that imports what we import
(the openai SDK, SQLAlchemy, Alembic) at the top, opens a SQLite file and
answers `/health`.

Both as a user has them after the first start: with their bytecode on disk, as
pip leaves it for the packages.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bench import size

ROUNDS = size(5, quick=1)
Report = Callable[[str, float, float, str], None]

PEER = """
import alembic, openai, sqlalchemy, uvicorn
from fastapi import FastAPI
engine = sqlalchemy.create_engine("sqlite:///peer.db")
app = FastAPI()
@app.get("/health")
async def health() -> dict[str, str]:
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("select 1"))
    return {"status": "healthy"}
uvicorn.run(app, port=PORT, log_level="error")
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _until_healthy(command: list[str], port: int, folder: Path) -> float:
    environment = {**os.environ, "VIVAVOCE_DATA_DIR": str(folder / "data"), "OPENAI_API_KEY": "k"}
    environment["VIVAVOCE_WORKSPACE"] = str(folder / "workspace")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["VIVAVOCE_BRAIN"] = "scripted"  # nothing should load behind what is measured
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as child:
        try:
            while time.perf_counter() - begun < 60:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                        return time.perf_counter() - begun
                except OSError:
                    time.sleep(0.005)
            raise TimeoutError("it did not start")
        finally:
            child.terminate()


def run(report: Report) -> None:
    found: dict[str, list[float]] = {"first": [], "again": [], "peer": []}
    for _ in range(1 + ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for side in ("first", "again"):
                port = _free_port()
                command = [sys.executable, "-m", "vivavoce", "serve", "--port", str(port)]
                found[side].append(_until_healthy(command, port, folder))
            port = _free_port()
            command = [sys.executable, "-c", PEER.replace("PORT", str(port))]
            found["peer"].append(_until_healthy(command, port, folder))
    typical = {side: statistics.median(times[1:]) * 1000 for side, times in found.items()}
    report("serve to /health, a new database", typical["first"], typical["peer"], "ms")
    report("serve to /health, again", typical["again"], typical["peer"], "ms")


if __name__ == "__main__":
    from bench import report as line

    run(line)
