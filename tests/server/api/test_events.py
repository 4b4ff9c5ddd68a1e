"""`GET /events`: which events, whose, and from where on. How they are sent: `test_sse.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from tests.server.doors import MOMENT, Doors, Json, doors, refused
from vivavoce.runtime.journal.streams import Filter
from vivavoce.testing import ManualClock


async def stream(d: Doors, **query: Any) -> list[tuple[str, Json, int | None]]:
    """What is stored, and the end of it."""
    headers = query.pop("headers", {})
    params = {"follow": "false", "last_event_id": 0, **query}
    response = await d.http.get("/events", params=params, headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"].startswith("no-cache")
    found = []
    for frame in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line[1:])
        if "event" in lines:
            position = int(lines["id"]) if "id" in lines else None
            found.append((lines["event"], orjson.loads(lines["data"]), position))
    return found


async def _two(d: Doors) -> tuple[str, str]:
    first, call = await d.talk()
    second, _ = await d.talk()
    await call.calls_tool("calculate", {"expression": "1"}, call_id="call_1")
    await d.until(first, "tool.completed")
    return first, second


async def test_a_stream_has_the_events_of_one_session_or_of_all(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        first, second = await _two(d)
        for events in (
            await stream(d, headers={"x-session-id": first}),
            await stream(d, session_id=first),
        ):
            assert {data["session_id"] for _, data, _ in events} == {first}
            assert "tool.completed" in [kind for kind, _, _ in events]
        every = await stream(d)
        assert {data["session_id"] for _, data, _ in every} == {first, second}
        assert all(MOMENT.fullmatch(data["timestamp"]) for _, data, _ in every)
        positions = [position for _, _, position in every]
        assert positions == sorted({position for position in positions if position})


async def test_a_stream_goes_on_after_the_last_event_that_was_seen(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        first, _ = await _two(d)
        every = await stream(d, session_id=first)
        middle = every[len(every) // 2][2]
        rest = [event for event in every if (event[2] or 0) > (middle or 0)]
        assert await stream(d, session_id=first, last_event_id=middle) == rest
        by_header = {"last-event-id": str(middle)}
        assert await stream(d, session_id=first, headers=by_header) == rest


async def test_only_what_was_subscribed_to_comes(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        first, _ = await _two(d)
        kinds = [kind for kind, _, _ in await stream(d, session_id=first, subscribe="tool.*")]
        assert kinds == ["tool.started", "tool.completed"]
        both = "tool.completed, session.*"
        kinds = [kind for kind, _, _ in await stream(d, session_id=first, subscribe=both)]
        assert kinds == ["session.started", "tool.completed"]
        for wrong in ("Tool", "tool.**", "tool.started;", "x" * 1001):
            response = await d.http.get("/events", params={"subscribe": wrong})
            refused(response, 400, "invalid_request")


async def test_a_stream_token_opens_its_own_session_for_ten_minutes(tmp_path: Path) -> None:
    clock = ManualClock()
    token: dict[str, Any] = {"auth": "token", "auth_token": "long-enough-to-be-a-token"}
    async with doors(tmp_path, clock=clock, **token) as d:
        d.http.headers["authorization"] = "Bearer long-enough-to-be-a-token"
        opened, other = await d.post("/session"), await d.post("/session")
        del d.http.headers["authorization"]
        refused(await d.http.get("/events"), 401, "unauthorized")
        key = opened["stream_token"]["value"]
        await stream(d, token=key)
        await stream(d, token=key, session_id=opened["session_id"])
        query = {"token": key, "session_id": other["session_id"]}
        refused(await d.http.get("/events", params=query), 404, "session_not_found")
        forged = {"token": key[:-2] + ("AA" if key[-2:] != "AA" else "BB")}
        refused(await d.http.get("/events", params=forged), 401, "unauthorized")
        refused(await d.http.get("/session", params={"token": key}), 401, "unauthorized")
        await clock.advance(600)
        refused(await d.http.get("/events", params={"token": key}), 401, "token_expired")


async def test_a_stream_of_nothing_or_one_too_many_is_refused(tmp_path: Path) -> None:
    async with doors(tmp_path, max_streams=1) as d:
        nothing = await d.http.get("/events", params={"session_id": "nothing"})
        refused(nothing, 404, "session_not_found")
        held = d.here.journal.subscribe(Filter(user_id="local"))
        refused(await d.http.get("/events"), 503, "service_unavailable")
        held.close()
        await stream(d)
