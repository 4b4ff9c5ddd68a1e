"""To another call and to another provider, with the real engine and real sound over loopback."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from tests.engine.stage import Line, quiet
from tests.journeys.embedded import by_websocket, embedded
from tests.server.serving import until
from vivavoce.testing import ScriptedProvider
from vivavoce.testing.engine import ScriptedEars
from vivavoce.testing.realtime.faults import HttpError

GAP_MS = 300.0


async def _silence(*lines: Line) -> None:
    """A microphone in a quiet room, which feeds all calls there are."""
    while True:
        for line in lines:
            await line.append(quiet(100))
        await asyncio.sleep(0.1)


async def test_a_call_of_the_engine_gives_way_to_the_next_in_a_pause(tmp_path: Path) -> None:
    ears = ScriptedEars(["my name is ada", "what did i say"])
    async with embedded(tmp_path, ears=ears, session_cap_seconds=6.0) as st:
        session = await st.post("/session")
        session_id = session["session_id"]
        watcher = await st.watch(session_id)
        async with by_websocket(st, session["client_secret"]["value"]) as first:
            await watcher.wait_for("session.started")
            await first.speak()
            await first.until("response.done")
            want = await watcher.wait_for("call.wanted")
            assert want["beside"] is True
            again = await st.get("/session/reconnect", params={"session_id": session_id})
            async with by_websocket(st, again["ephemeral_key"]) as second:
                async with asyncio.TaskGroup() as group:
                    microphone = group.create_task(_silence(first, second))
                    await second.until("input_audio_buffer.cleared")
                    deaf = time.monotonic()
                    await second.until("session.updated")
                    gap = (time.monotonic() - deaf) * 1000
                    microphone.cancel()
                assert gap < GAP_MS, f"{gap:.0f} ms"
                await watcher.wait_for("call.moved")
                # The past is there, and the first call is gone.
                items = [e["item"] for e in second.all("conversation.item.added")]
                assert [item["role"] for item in items] == ["user", "assistant"]
                assert second.all("response.created") == []
                await second.speak()
                await second.until("response.done")
                await until(lambda: len(watcher.all("transcription.completed")) >= 4)
        shown = await st.get(f"/sessions/{session_id}")
        said = [(one["entry_type"], one["text"]) for one in shown["transcript"]]
        assert [who for who, _ in said] == ["user", "assistant", "user", "assistant"]
        assert "my name is ada" in said[0][1]
        assert "what did i say" in said[2][1]
        assert not watcher.all("error")


async def test_the_engine_takes_over_where_the_provider_refuses(tmp_path: Path) -> None:
    async with ScriptedProvider(key="sk-scripted-key") as provider:
        provider.inject(HttpError(429, code="insufficient_quota", path="client_secrets"))
        served: dict[str, Any] = {"provider_url": provider.base_url, "api_key": provider.key}
        ears = ScriptedEars(["good morning"])
        async with embedded(tmp_path, ears=ears, standby=True, **served) as st:
            assert (await st.http.get("/v1/models")).status_code == 404, "it only stands by"
            session = await st.post("/session")
            assert (session["provider"], session["model"]) == ("embedded", "vivavoce")
            watcher = await st.watch(session["session_id"])
            async with by_websocket(st, session["client_secret"]["value"]) as line:
                changed = await watcher.wait_for("provider.changed")
                assert changed["reason"] == "insufficient_quota"
                done = await line.until("response.output_audio_transcript.done")
                words = "127.0.0.1 has no quota left, so I go on with the voice of this server."
                assert done["transcript"] == words
                assert line.all("response.output_audio.delta")
                await line.until("response.done")
                await line.speak()
                await line.until("response.done")
            state = await st.get("/session", params={"session_id": session["session_id"]})
            assert state["provider"] == "embedded"
        assert {one.shown for one in provider.requests} == {provider.key}
