"""Something on the list comes due: heard by who is there, told to who comes back, and told once,
whatever dies in between and however many servers there are."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import Stage
from tests.journeys.test_tool_flows import heard
from vivavoce.wire.records.talk import iso

SAID = "Here is your reminder: Call mum."


def soon(seconds: float = 2.0) -> str:
    return iso(datetime.now(UTC) + timedelta(seconds=seconds))


async def told(st: Stage, count: int = 1) -> list[dict[str, Any]]:
    """What was told, once it is."""
    async with asyncio.timeout(10):
        while True:
            found = (await st.get("/api/v1/reminders"))["reminders"]
            if sum(one["status"] == "told" for one in found) >= count:
                return list(found)
            await asyncio.sleep(0.05)


async def test_what_is_due_in_a_moment_is_spoken_in_the_call_and_seen_by_who_watches(
    tmp_path: Path,
) -> None:
    async with embedded(tmp_path, agent="flux") as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            todo = await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon()})
            await heard(line, SAID)
            event = await watcher.wait_for("task.due")
            assert (event["task_id"], event["title"]) == (todo["id"], "Call mum")
            assert event["session_id"] == session["session_id"]
            (one,) = await told(st)
            assert one["task_id"] == todo["id"]
            await asyncio.sleep(1.5)  # and the next look finds nothing
            assert len(watcher.all("task.due")) == 1
            spoken = [one["transcript"] for one in watcher.all("transcription.completed")]
            assert spoken.count(SAID) == 1


async def test_what_came_due_while_nobody_was_there_begins_the_next_call(tmp_path: Path) -> None:
    async with embedded(tmp_path, agent="flux") as st:
        session = await st.post("/session")
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await line.until("response.done")
        await st.post(f"/sessions/{session['session_id']}/end")
        await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon(1)})
        pending: list[Any] = []
        async with asyncio.timeout(10):
            while not any(update["event"] == "task.due" for update in pending):
                answer = await st.get(
                    "/session/pending_updates", params={"session_id": session["session_id"]}
                )
                pending = answer["queued_updates"]
                await asyncio.sleep(0.1)
        (waiting,) = (await st.get("/api/v1/reminders", params={"waiting": True}))["reminders"]
        assert waiting["status"] == "waiting"
        again = await st.post("/session")
        async with by_websocket(st, again["client_secret"]["value"]) as line:
            await heard(line, SAID)
            await told(st)
