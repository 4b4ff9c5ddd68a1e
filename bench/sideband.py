"""Events a second through the sideband, beside the openai SDK's own reader.

Ours does everything: the frame becomes an event, the machine decides, entries
and events are stored in SQLite (fsync and all) and published. The peer only
reads and parses, the way the SDK's documentation shows it.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import uvloop
from openai import AsyncOpenAI

from bench import size
from bench.material.feed import EVENTS, feeding
from vivavoce.app.lifecycle import running
from vivavoce.app.listen import collect_rarely
from vivavoce.app.server import assemble
from vivavoce.app.settings import load_settings
from vivavoce.runtime.sessions.options import Options
from vivavoce.session.events import CallPlaced
from vivavoce.wire.records.talk import (
    Conversation,
    PutConversation,
    PutSession,
    VoiceSession,
    new_id,
)

ROUNDS = size(3, quick=1)
Report = Callable[[str, float, float, str], None]


async def _ours(url: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(port=0, data_dir=Path(folder), provider_url=url, api_key="k")
        here = assemble(settings)
        async with running(here):
            now = here.clock.now()
            talk = Conversation(id=new_id(), user_id="local", created_at=now, updated_at=now)
            session = VoiceSession(
                id="vs_20260131_143022_a3f2",
                conversation_id=talk.id,
                user_id="local",
                agent="workbench",
                created_at=now,
                updated_at=now,
            )
            await here.store.commit([PutConversation(talk), PutSession(session, new=True)])
            setup = here.profile.setup(Options(), here.tools.definitions(), now)
            live = here.voice.maker.assemble(session, talk, setup)
            await here.provider.check()
            here.registry.start(live)
            usual = gc.get_threshold()
            collect_rarely()  # as `serve` does when it listens
            wall, cpu = time.perf_counter(), time.process_time()
            await live.post(CallPlaced("rtc_bench"))
            await live.over()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            stored = await here.store.entries(talk.id, user_id="local")
            gc.unfreeze()
            gc.set_threshold(*usual)
            assert len(stored) >= 2 * (EVENTS // 50), len(stored)
            return spent


async def _peer(url: str) -> tuple[float, float]:
    client = AsyncOpenAI(base_url=url, api_key="k")
    wall, cpu = time.perf_counter(), time.process_time()
    async with client.realtime.connect(call_id="rtc_bench") as line:
        await line.session.update(session={"type": "realtime"})
        seen = 0
        async for event in line:
            assert event.type
            seen += 1
    assert seen > EVENTS
    return time.perf_counter() - wall, time.process_time() - cpu


def run(report: Report) -> None:
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
    for _ in range(ROUNDS):
        for name, way in (("ours", _ours), ("peer", _peer)):
            with feeding() as url:
                found[name].append(uvloop.run(way(url)))
    wall = {k: statistics.median(w for w, _ in v) for k, v in found.items()}
    cpu = {k: statistics.median(c for _, c in v) for k, v in found.items()}
    report("sideband: events, stored", EVENTS / wall["ours"], EVENTS / wall["peer"], "a second")
    report(
        "sideband: CPU an event (peer: read and parse only)",
        cpu["ours"] / EVENTS * 1e6,
        cpu["peer"] / EVENTS * 1e6,
        "µs",
    )


if __name__ == "__main__":
    from bench import report as line

    run(line)
