"""Sessions, calls and events belong to a user; to anyone else they are not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.doors import Doors, doors, refused


async def test_a_session_of_somebody_else_is_not_there(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await call.user_says("A secret")
        await d.until(session_id, "transcription.completed")
        as_eve: dict[str, Any] = {"headers": {"x-user-id": "eve", "x-session-id": session_id}}
        for response in await _everything(d, session_id, as_eve):
            assert "A secret" not in response.text
            refused(response, 404, "session_not_found")
        assert (await d.get("/sessions", **as_eve))["sessions"] == []
        assert (await d.state(session_id))["status"] == "active"
        stream = await d.http.get("/events", params={"follow": False, "last_event_id": 0})
        assert session_id in stream.text
        theirs = await d.http.get(
            "/events", params={"follow": False, "last_event_id": 0}, headers={"x-user-id": "eve"}
        )
        assert session_id not in theirs.text


async def _everything(d: Doors, session_id: str, who: dict[str, Any]) -> list[Any]:
    """Every way to name a session."""
    tool = {"call_id": "call_1", "name": "calculate", "arguments": '{"expression": "1"}'}
    return [
        await d.http.get(f"/sessions/{session_id}", **who),
        await d.http.post(f"/sessions/{session_id}/transcript", json={"entries": []}, **who),
        await d.http.post(f"/sessions/{session_id}/resume", **who),
        await d.http.post(f"/sessions/{session_id}/end", **who),
        await d.http.get("/session", **who),
        await d.http.get("/session/reconnect", **who),
        await d.http.get("/session/pending_updates", **who),
        await d.http.post("/session/restore", json={"prev_session_id": session_id}, **who),
        await d.http.patch(f"/config/session/{session_id}", json={"voice": "cedar"}, **who),
        await d.http.post("/execute/calculate", json={"arguments": {"expression": "1"}}, **who),
        await d.http.post("/webhook/tool-call", json=tool, **who),
        await d.http.get("/events", params={"follow": False}, **who),
    ]
