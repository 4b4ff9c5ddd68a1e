"""How a scene is run: what it should do comes as JSON, what it saw goes out as lines of JSON.

Runs with the clients' own environment, and knows nothing of Vivavoce.
"""

import asyncio
import json
import sys
import traceback
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

given: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}

RATE = 24_000
PIECE_MS = 20


def tell(kind: str, **more: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **more}) + "\n")
    sys.stdout.flush()


def play(scenes: dict[str, Callable[[], Awaitable[None]]]) -> None:
    """The one asked for, to its end; whatever goes wrong is told, and is the exit code."""
    try:
        asyncio.run(_timed(scenes[given["scene"]]))
    except BaseException:
        tell("failed", message=traceback.format_exc())
        sys.exit(1)
    tell("done")


async def _timed(scene: Callable[[], Awaitable[None]]) -> None:
    async with asyncio.timeout(given.get("seconds", 100)):
        await scene()


async def until(what: str, condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition, told what was waited for if it never comes."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"never came: {what}") from None


async def cut() -> None:
    """The network breaks: every WebSocket that is open is lost."""
    await _post(given["cut"])


async def said(ms: int) -> None:
    """Tell that somebody speaks now for so long, where the sound goes past the proxy."""
    await _post(f"{given['said']}?{ms}")


async def _post(url: str) -> None:
    request = urllib.request.Request(url, method="POST")
    await asyncio.to_thread(lambda: urllib.request.urlopen(request).close())


def speech(name: str = "speech") -> bytes:
    """PCM16 mono at 24 kHz."""
    return Path(given[name]).read_bytes()


def silence(seconds: float) -> bytes:
    return bytes(2 * int(RATE * seconds))


def pieces(pcm: bytes, ms: int = PIECE_MS) -> list[bytes]:
    size = RATE // 1000 * 2 * ms
    return [pcm[start : start + size] for start in range(0, len(pcm), size)]


async def live(pcm: bytes, ms: int = PIECE_MS) -> AsyncIterator[bytes]:
    """The pieces as a microphone has them: each when its time has come."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number, piece in enumerate(pieces(pcm, ms)):
        await asyncio.sleep(max(0.0, begun + number * ms / 1000 - loop.time()))
        yield piece


def keep(name: str, pcm: bytes) -> None:
    """What was heard, for the test to listen to."""
    Path(given[name]).write_bytes(pcm)
