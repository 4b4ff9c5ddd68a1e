"""The two clients of the conductor, side by side: the one in Python, and the one of npm as it is
packed. Each does what a talk says, and tells what it was told."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.browser.scenes import _PLACES, _node, lines
from tests.docs_text import ROOT
from vivavoce.conductor import Client, FileMemory, Interrupted, Phase, Speaking, tool
from vivavoce.conductor.core.seen import as_json

Told = list[dict[str, Any]]
Talk = Mapping[str, Any]
Runs = Callable[[Talk], Coroutine[Any, Any, Told]]
SCENE = ROOT / "tests" / "clients" / "node" / "scene_conductor.mjs"


# --- Packing --------------------------------------------------------------------------------


def packed(folder: Path) -> dict[str, Path]:
    """The tarballs by name, as `make packages` packs them, from a copy of the sources."""
    web, modules = folder / "web", ROOT / "web" / "node_modules"
    assert modules.is_dir(), "first: make page"
    shutil.copytree(ROOT / "web", web, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (web / "node_modules").symlink_to(modules)
    npm("run", "packages", cwd=web)
    return {file.name.split("-")[1]: file for file in (folder / "dist").iterdir()}


def installed(tarball: Path, app: Path) -> Path:
    """A folder of an app that has the package."""
    app.mkdir()
    (app / "package.json").write_text('{"private":true,"type":"module"}')
    npm("install", "--offline", "--no-audit", "--no-fund", str(tarball), cwd=app)
    return app


def npm(*words: str, cwd: Path) -> None:
    done = subprocess.run(
        [shutil.which("npm", path=_PLACES) or "npm", *words],
        cwd=cwd, env={**os.environ, "PATH": _PLACES}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


# --- Talking --------------------------------------------------------------------------------


async def by_node(talk: Talk) -> Told:
    return await lines([_node(), str(SCENE), json.dumps(talk)], 60)


async def by_python(talk: Talk) -> Told:
    """As `scene_conductor.mjs` does it."""
    told: Told = []
    cut = talk.get("interrupt")

    @tool(name="battery.level", read_only=True)
    def battery() -> dict[str, int]:
        """How full the battery is, in percent."""
        told.append({"ran": "battery.level"})
        return {"percent": 80}

    async def speak(text: str) -> None:
        told.append({"aloud": text})
        await asyncio.sleep(talk.get("slow", 0) / 1000)
        if cut is not None and text.startswith(cut["text"]):
            position = cut["position"]
            await client.interrupt(
                position_ms=position.get("positionMs"),
                position_characters=position.get("positionCharacters"),
            )
            await asyncio.Event().wait()

    memory = FileMemory(talk["memory"]) if "memory" in talk else None
    client = Client(
        talk["url"], session_id=talk["session"], waits=talk["waits"], memory=memory,
        tools=[battery], speak=speak,
    )  # fmt: skip
    todo = list(talk["do"])
    async with asyncio.timeout(60), client:
        await client.say(todo.pop(0))
        answered = False
        async for one in client:
            told.append(as_json(one))
            match one:
                case Speaking() | Interrupted():
                    answered = True
                case Phase("idle" | "listening") if answered:
                    if not todo:
                        break
                    answered = False
                    await client.say(todo.pop(0))
    told += [as_json(one) async for one in client]
    return told


def plain(told: Told) -> Told:
    """What the client told, without what differs from one talk to the next: ids, and how many parts
    speech came in. What the app did meanwhile stands for itself."""
    ids: dict[str, str] = {}
    kept: Told = []
    for one in told:
        if one.get("final") is False or "ran" in one or "aloud" in one:
            continue
        for name in ("called", "returned", "repeated", "interrupted", "speaking"):
            if isinstance(one.get(name), str):
                one = {**one, name: ids.setdefault(one[name], f"call {len(ids) + 1}")}
        kept.append(one)
    return kept


# --- A bad line -----------------------------------------------------------------------------


@asynccontextmanager
async def cut_after(url: str, messages: int) -> AsyncIterator[str]:
    """A way to the server on which the first line breaks, as networks do, after so many messages,
    both ways together; what came after that never arrives. Lines after it hold."""
    left: int | None = messages

    async def passes() -> bool:
        nonlocal left
        if left is None:
            return True
        left -= 1
        return left >= 0

    async def relay(near: ServerConnection) -> None:
        nonlocal left
        assert near.request is not None
        query = near.request.path.partition("?")[2]
        async with connect(f"{url}?{query}", max_size=None, close_timeout=0.2) as far:

            async def copy(
                source: ServerConnection | ClientConnection, to: ServerConnection | ClientConnection
            ) -> None:
                nonlocal left
                with suppress(ConnectionClosed):
                    async for message in source:
                        if not await passes():
                            near.transport.abort()
                            far.transport.abort()
                            return
                        await to.send(message)
                await to.close()

            async with asyncio.TaskGroup() as group:
                group.create_task(copy(near, far))
                group.create_task(copy(far, near))
            left = None

    async with serve(relay, "127.0.0.1", 0, close_timeout=0.2) as server:
        (socket,) = server.sockets
        yield f"ws://127.0.0.1:{socket.getsockname()[1]}/conductor"
