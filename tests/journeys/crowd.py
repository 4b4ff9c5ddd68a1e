"""One user who takes what there is, as a process of its own: `python -m tests.journeys.crowd`.

Arguments: the server's URL, the user's token, a session of theirs. Holds half-open connections
and event streams, each again as soon as it is refused or cut off, says `ready`, and for each
number on a line of its input sends so many copies of a transcript at once. At the end of its
input it says in JSON how often it was answered with what.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from contextlib import suppress
from urllib.parse import urlsplit

import httpx

HALF_OPEN, STREAMS = 400, 60
COPY = {"entries": [{"entry_type": "user", "text": f"Word {n}"} for n in range(50)]}


async def half_open(host: str, port: int, opened: asyncio.Semaphore) -> None:
    """The beginning of a request, and a little more of it now and then."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /status HTTP/1.1\r\nHost: localhost\r\n")
            opened.release()
            while not reader.at_eof():
                with suppress(TimeoutError):
                    async with asyncio.timeout(5):
                        await reader.read()
                writer.write(b"X-More: yes\r\n")
            writer.close()
        await asyncio.sleep(0.05)


async def stream(http: httpx.AsyncClient, answers: Counter[str], opened: asyncio.Semaphore) -> None:
    while True:
        with suppress(httpx.HTTPError):
            async with http.stream("GET", "/events") as response:
                answers[f"streams {response.status_code}"] += 1
                opened.release()
                async for _ in response.aiter_raw():
                    pass
        await asyncio.sleep(5)


async def sync(http: httpx.AsyncClient, session_id: str, answers: Counter[str]) -> None:
    response = await http.post(f"/sessions/{session_id}/transcript", json=COPY)
    answers[f"syncs {response.status_code}"] += 1


async def main(url: str, token: str, session_id: str) -> None:
    where, answers = urlsplit(url), Counter[str]()
    opened = asyncio.Semaphore(0)
    everything = httpx.Limits(max_connections=None)
    headers = {"authorization": f"Bearer {token}"}
    loop = asyncio.get_running_loop()
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, limits=everything, timeout=60) as http,
        asyncio.TaskGroup() as group,
    ):
        host, port = str(where.hostname), int(where.port or 80)
        held = [group.create_task(half_open(host, port, opened)) for _ in range(HALF_OPEN)]
        held += [group.create_task(stream(http, answers, opened)) for _ in range(STREAMS)]
        for _ in range(HALF_OPEN + STREAMS):
            await opened.acquire()
        print("ready", flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            await asyncio.gather(*(sync(http, session_id, answers) for _ in range(int(line))))
        for task in held:
            task.cancel()
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
