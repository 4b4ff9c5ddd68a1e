"""`vivavoce serve` as a process of its own, to be killed and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import httpx

from tests.journeys.forked import Forked
from vivavoce.testing.provider import ScriptedProvider


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One server, through all its lives: the same port, the same data."""

    def __init__(self, provider: ScriptedProvider, folder: Path, **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        own = {name: value for name, value in os.environ.items() if "VIVAVOCE" not in name}
        own.pop("OPENAI_API_KEY", None)
        self._environment = own | {
            "VIVAVOCE_DATA_DIR": str(folder),
            "VIVAVOCE_WORKSPACE": f"{folder}-workspace",
            "VIVAVOCE_PROVIDER_URL": provider.base_url,
            "VIVAVOCE_API_KEY": provider.key or "",
            "VIVAVOCE_SIDEBAND_DELAY": "0.05",
            "VIVAVOCE_SESSIONS_PER_10_MINUTES": "0",
            # The embedded engine would load its models wherever they happen to be there.
            "VIVAVOCE_FALLBACKS": "none",
            **settings,
        }
        self._process: Forked | None = None

    async def start(self) -> None:
        self._process = Forked(
            ["serve", "--port", str(self.port)],
            cwd=self._folder,
            env=self._environment,
            log=self._folder / "server.log",
        )
        async with httpx.AsyncClient(base_url=self.url) as http, asyncio.timeout(60):
            while self._process.poll() is None:
                try:
                    if (await http.get("/health")).status_code == 200:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.02)
        raise AssertionError(f"it did not start: {self.log()}")

    async def stop(self, how: signal.Signals) -> int:
        """Its exit code; never a process of anyone else's."""
        self.signal(how)
        return await self.ended()

    def signal(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)

    async def ended(self) -> int:
        assert self._process is not None
        async with asyncio.timeout(60):
            return await self._process.ended()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def set(self, name: str, value: str) -> None:
        """For its next life."""
        self._environment[name] = value

    def log(self) -> str:
        return (self._folder / "server.log").read_text()
