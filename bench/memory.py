"""Memory a live session, beside the openai SDK's connection object alone.

Both hold 200 sidebands to the same scripted provider, which runs elsewhere.
Ours is the whole session: machine, loops, inbox, records, timers.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import psutil

from bench import size

SESSIONS = size(200, quick=5)
Report = Callable[[str, float, float, str], None]


def _rss() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 1024


async def _ours(url: str) -> float:
    from tests.offers import OFFER

    from vivavoce.app.lifecycle import running
    from vivavoce.app.server import assemble
    from vivavoce.app.settings import load_settings
    from vivavoce.runtime.sessions.options import Options

    async def talk(user: str) -> None:
        opened = await here.voice.create(user, Options())
        await here.voice.connector.sdp(opened.session.id, user, OFFER)
        live = here.voice.live(opened.session.id, user)
        while live is None or live.phase != "ready":
            await asyncio.sleep(0.01)

    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            port=0,
            data_dir=Path(folder),
            provider_url=url,
            api_key="sk-scripted-key",
            max_sessions=SESSIONS + 1,
        )
        here = assemble(settings)
        async with running(here):
            await talk("first")  # what is loaded once is not counted
            before = _rss()
            for number in range(SESSIONS):  # a user each: what one may have is limited
                await talk(f"user {number}")
            return (_rss() - before) / SESSIONS


async def _peer(url: str) -> float:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="sk-scripted-key")
    async with AsyncExitStack() as stack:

        async def connect() -> None:
            line = await stack.enter_async_context(client.realtime.connect(model="gpt-realtime"))
            await line.session.update(session={"type": "realtime"})
            while (await line.recv()).type != "session.updated":
                pass

        await connect()
        before = _rss()
        for _ in range(SESSIONS):
            await connect()
        return (_rss() - before) / SESSIONS


async def _provide() -> None:
    from vivavoce.testing.provider import ScriptedProvider

    async with ScriptedProvider() as provider:
        print(provider.base_url, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def _process(what: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "bench.memory", what, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            yield child
        finally:
            assert child.stdin is not None
            child.stdin.close()


def run(report: Report) -> None:
    found: dict[str, float] = {}
    for side in ("ours", "peer"):
        with _process("provide") as provider:
            assert provider.stdout is not None
            url = provider.stdout.readline().strip()
            with _process(side, url) as reader:
                assert reader.stdout is not None
                found[side] = float(reader.stdout.readline())
    report(f"memory a session, {SESSIONS} of them", found["ours"], found["peer"], "KiB")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["provide"]:
            asyncio.run(_provide())
        case ["ours", url]:
            print(asyncio.run(_ours(url)), flush=True)
        case ["peer", url]:
            print(asyncio.run(_peer(url)), flush=True)
        case _:
            from bench import report as line

            run(line)
