"""Scenes that Node plays: the JavaScript clients, and Chromium with a WAV for a microphone.

Owns the child process and what it tells, line by line. What a scene does is
in `tests/clients/node`; what it means is for the tests to say.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

NODE = Path(__file__).parents[1] / "clients" / "node"
_PLACES = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
"""Where the machine has no Node, `make` put one into the virtual environment."""
_LINE = 64 * 2**20
"""No line is longer: one event with all the sound of an answer in it."""


class Told(list[dict[str, Any]]):
    """Everything a scene said, in order."""

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self if line["kind"] == kind]

    def one(self, kind: str) -> dict[str, Any]:
        (line,) = self.all(kind)
        return line

    def events(self) -> list[dict[str, Any]]:
        """The server's events that the client received."""
        return [line["event"] for line in self.all("event")]


async def unpacked() -> None:
    """A browser is there. Inside a namespace it cannot be unpacked: its files have owners."""
    await lines([_node(), str(NODE / "browser.mjs")], 100)


async def scene(name: str, given: Mapping[str, Any], *, seconds: float = 100.0) -> Told:
    """Play `scene_<name>.mjs` to its end."""
    return await lines(
        [_node(), str(NODE / f"scene_{name}.mjs"), orjson.dumps(given).decode()], seconds
    )


def _node() -> str:
    node = shutil.which("node", path=_PLACES)
    assert node, "Node is needed for these tests"
    assert (NODE / "node_modules").is_dir(), "first: make clients"
    return node


async def lines(command: Sequence[str], seconds: float) -> Told:
    """Run a command that tells lines of JSON; fails with all it said if it does."""
    child = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=_LINE
    )
    told, complaints = Told(), b""
    try:
        async with asyncio.timeout(seconds):
            output, complaints = await child.communicate()
        told.extend(orjson.loads(line) for line in output.splitlines())
    finally:
        await _end(child)
    assert child.returncode == 0, f"{_without_sound(told)}\n{complaints.decode()}"
    return told


async def _end(child: asyncio.subprocess.Process) -> None:
    """SIGTERM first: it makes Playwright close its browser."""
    if child.returncode is None:
        child.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await child.wait()
    if child.returncode is None:
        child.kill()
        await child.wait()


def _without_sound(told: Told) -> list[dict[str, Any]]:
    return [
        line["event"]["type"] if line["kind"] == "event" else line  # the rest is too long to read
        for line in told
    ]
