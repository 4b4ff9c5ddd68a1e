"""A server for `bench/conductor.py`, in a process of its own: an engine with a scripted brain, ours
in front of it, or a bare echo of the same messages. Prints its port; on each line of its input, its
memory in KiB and the CPU seconds that it took."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import psutil
import uvloop
from pydantic import SecretStr
from tests.journeys.embedded import embedded
from tests.journeys.stage import _serve
from websockets.asyncio.server import ServerConnection, serve

from vivavoce.app.lifecycle import Server
from vivavoce.app.listen import Listener, bind, listener_config
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.runtime.sessions.records import begun
from vivavoce.store.database import CACHE_KIB
from vivavoce.wire.records.talk import (
    Put,
    PutConversation,
    PutSession,
    Recording,
    Status,
    VoiceSession,
    utc_now,
)

AGAIN = ToolUse("battery_level", {})
SCRIPT = Script(
    rules=(
        Rule(when="go", calls=(AGAIN,)),
        Rule(result_of="battery_level", when="stop", say="Done."),
        Rule(result_of="battery_level", calls=(AGAIN,)),
    )
)


async def tell() -> None:
    loop = asyncio.get_running_loop()
    process = psutil.Process()
    while await loop.run_in_executor(None, sys.stdin.readline):
        gc.collect()
        used = process.cpu_times()
        print(process.memory_info().rss / 1024, used.user + used.system, flush=True)


UNLIMITED: dict[str, Any] = {
    "user_messages_per_minute": 0,
    "executions_per_minute": 0,
    "conductor_user_connections": 0,
    "engine_sessions": 1000,
    "max_sessions": 1000,
    "log_level": "error",
}


async def engine() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with embedded(Path(folder), script=SCRIPT, **UNLIMITED) as st:
            print(st.url.rpartition(":")[2], flush=True)
            await tell()


async def ours() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            _env_file=None,  # type: ignore[call-arg]
            port=0,
            data_dir=Path(folder),
            workspace=Path(folder),
            provider_url=f"http://127.0.0.1:{sys.argv[2]}/v1",
            api_key=SecretStr("any"),
            fallbacks=("none",),
            conductor_trust=True,  # a call is a call: nobody is asked
            **UNLIMITED,
        )
        here = assemble(settings)
        bound = bind(settings)
        listener = Listener(listener_config(build_app(here), settings), here)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(_serve(listener, bound))
            while not listener.started:
                await asyncio.sleep(0.01)
            await _used_for_a_while(here)
            print(bound.getsockname()[1], flush=True)
            await tell()
            listener.should_exit = True
            await serving


async def _used_for_a_while(here: Server) -> None:
    """What SQLite keeps in memory of a file has a bound, and in use it is soon there. It is the
    server's: the first runtimes after its start would be charged with all of it."""
    now = utc_now()
    conversation = begun("before", now)
    session = VoiceSession(
        id="vs_before",
        conversation_id=conversation.id,
        user_id="before",
        agent="bench",
        created_at=now,
        updated_at=now,
        status=Status.COMPLETED,
        ended_at=now,
    )
    await here.journal.commit([PutConversation(conversation), PutSession(session)])
    for number in range(CACHE_KIB // 1024 + 1):
        part = Recording(
            session_id=session.id,
            user_id=session.user_id,
            number=number,
            saved_at=now,
            data=os.urandom(1024 * 1024),
        )
        await here.journal.commit([Put(part)])


async def echo() -> None:
    async def answer(line: ServerConnection) -> None:
        async for message in line:
            told = json.loads(message)
            if "sessionStart" in told["kind"]:
                continue
            call = {"callId": str(uuid.uuid4()), "name": "battery.level", "arguments": "{}"}
            await line.send(json.dumps({**told, "kind": {"toolCall": call}}))

    async with serve(answer, "127.0.0.1", 0) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await tell()


if __name__ == "__main__":
    uvloop.run({"engine": engine, "ours": ours, "echo": echo}[sys.argv[1]]())
