"""`/session` and `/sessions`: creating, listing, tracking, reading, syncing, ending."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import MOMENT, SESSION_ID, doors, refused, soon
from vivavoce.testing import ManualClock
from vivavoce.testing.realtime.faults import HttpError

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INFO = {"id", "status", "created_at", "updated_at", "duration_ms", "turn_count", "conversation_id"}


# --- POST /session --------------------------------------------------------------------


async def test_a_session_answers_with_a_key_of_ours_and_the_tools(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        opened = await d.post("/session", {"voice": "cedar", "instructions": "Be kind."})
        assert set(opened) == {
            "client_secret",
            "session_id",
            "model",
            "provider",
            "voice",
            "tools",
            "conversation_id",
            "stream_token",
            "last_event_id",
        }
        assert SESSION_ID.fullmatch(opened["session_id"])
        assert UUID.fullmatch(opened["conversation_id"])
        assert opened["client_secret"]["value"].startswith("ek_")
        assert opened["client_secret"]["expires_at"] == int(clock.now().timestamp()) + 60
        assert opened["stream_token"]["value"].startswith("st_")
        assert (opened["model"], opened["voice"]) == ("gpt-realtime", "cedar")
        for tool in opened["tools"]:
            assert set(tool) == {"type", "name", "description", "parameters"}
            assert tool["type"] == "function"
        assert {"current_time", "calculate"} <= {tool["name"] for tool in opened["tools"]}


@pytest.mark.parametrize("body", [{"content": b""}, {"json": {}}, {"json": None}])
async def test_nothing_needs_to_be_said_to_create_a_session(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.post("/session", **body)
        assert response.status_code == 200
        assert response.json()["voice"] == "marin"


async def test_a_filter_leaves_only_the_named_tools(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post("/session", {"tools_filter": ["calculate"]})
        assert [tool["name"] for tool in opened["tools"]] == ["calculate"]
        call = await d.connect(opened["client_secret"]["value"])
        assert [tool["name"] for tool in call.session["tools"]] == ["calculate"]
        none = await d.post("/session", {"tools_filter": []})
        assert none["tools"] == []


async def test_a_session_with_an_unknown_voice_tool_or_field_is_refused(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        wrong = refused(
            await d.http.post("/session", json={"voice": "vader"}), 400, "invalid_request"
        )
        assert "marin" in wrong["details"]["voices"]
        unknown = await d.http.post("/session", json={"tools_filter": ["teleport"]})
        assert refused(unknown, 404, "tool_not_found")["details"] == {"tool": "teleport"}
        field = await d.http.post("/session", json={"vioce": "marin"})
        told = refused(field, 400, "invalid_request")["details"]["fields"]
        assert [item["field"] for item in told] == ["body.vioce"]


async def test_too_many_new_sessions_are_told_when_to_come_back(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, sessions_per_10_minutes=2) as d:
        first = await d.post("/session")
        await clock.advance(100)
        await d.post("/session")
        response = await d.http.post("/session")
        error = refused(response, 429, "rate_limited")
        assert error["details"] == {
            "retry_after_ms": 500_000,
            "what": "per_10_minutes",
            "limit": 2,
        }
        assert response.headers["retry-after"] == "500"
        # Going on with a conversation takes a key too; another user or a record does not.
        resumed = await d.http.post(f"/sessions/{first['session_id']}/resume")
        refused(resumed, 429, "rate_limited")
        await d.post("/session", headers={"x-user-id": "ada"})
        await d.post("/sessions")
        await clock.advance(500)
        await d.post("/session")


async def test_going_on_with_a_conversation_is_limited_too(tmp_path: Path) -> None:
    async with doors(tmp_path, sessions_per_10_minutes=3) as d:
        tracked = (await d.post("/sessions"))["session_id"]
        await d.post(f"/sessions/{tracked}/resume")
        await d.post("/session/restore", {"prev_session_id": tracked})
        await d.get("/session/reconnect", params={"session_id": tracked})
        refused(await d.http.post(f"/sessions/{tracked}/resume"), 429, "rate_limited")
        again = await d.http.post("/session/restore", json={"prev_session_id": tracked})
        refused(again, 429, "rate_limited")
        again = await d.http.get("/session/reconnect", params={"session_id": tracked})
        refused(again, 429, "rate_limited")


async def test_a_full_house_is_unavailable_for_a_while(tmp_path: Path) -> None:
    async with doors(tmp_path, max_sessions=1) as d:
        await d.post("/session")
        response = await d.http.post("/session")
        error = refused(response, 503, "service_unavailable")
        assert error["details"] == {"retry_after_ms": 15_000}
        assert response.headers["retry-after"] == "15"


async def test_a_providers_refusal_is_a_502_that_tells_no_key(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        echo = f"Incorrect API key provided: {d.provider.key}."
        d.provider.inject(HttpError(401, message=echo, path="client_secrets"))
        response = await d.http.post("/session")
        refused(response, 502, "openai_error")
        assert str(d.provider.key) not in response.text
        tried = (await d.get("/sessions"))["sessions"]
        assert tried == []  # nor is anything left of it


# --- GET and POST /sessions -------------------------------------------------------------


async def test_sessions_are_listed_newest_first_by_status_and_limit(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        ids = []
        for status in ("completed", "cancelled", "error", None):
            ids.append((await d.post("/session"))["session_id"])
            await clock.advance(1)
            if status:
                await d.post(f"/sessions/{ids[-1]}/end", {"status": status})
        every = await d.get("/sessions")
        assert every["count"] == 4
        assert [info["id"] for info in every["sessions"]] == ids[::-1]
        for info in every["sessions"]:
            assert set(info) - {"provider"} == INFO  # nobody answered yet in one of them
            assert MOMENT.fullmatch(info["created_at"])
            assert MOMENT.fullmatch(info["updated_at"])
        for status, expected in zip(
            ("completed", "cancelled", "error", "active"), ids, strict=True
        ):
            found = await d.get("/sessions", params={"status": status})
            assert [info["id"] for info in found["sessions"]] == [expected]
        limited = await d.get("/sessions", params={"limit": 2})
        assert [info["id"] for info in limited["sessions"]] == ids[:1:-1]
        for query in ({"limit": 0}, {"limit": "many"}, {"status": "asleep"}):
            refused(await d.http.get("/sessions", params=query), 400, "invalid_request")


async def test_a_tracked_session_is_a_record_without_a_call(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.post("/sessions", json={"title": "Mine", "metadata": {"a": None}})
        assert response.status_code == 201
        made = response.json()
        assert SESSION_ID.fullmatch(made["session_id"])
        assert made["session"]["id"] == made["session_id"]
        assert set(made["session"]) == INFO | {"title"}
        assert (made["session"]["title"], made["session"]["status"]) == ("Mine", "active")
        assert (await d.state(made["session_id"]))["state"] == "terminated"
        await d.post(f"/sessions/{made['session_id']}/end")
        ended = await d.until(made["session_id"], "session.ended")
        assert ended["reason"] == "user_ended"
        nameless = (await d.http.post("/sessions", json={"title": " \n"})).json()
        assert "title" not in nameless["session"]  # a title of nothing is none


async def test_tracked_sessions_have_a_limit_of_their_own(tmp_path: Path) -> None:
    async with doors(tmp_path, sessions_per_10_minutes=1) as d:
        await d.post("/sessions")
        response = await d.http.post("/sessions")
        assert refused(response, 429, "rate_limited")["details"]["retry_after_ms"] > 0
        await d.post("/session")


# --- POST /sessions/{id}/end --------------------------------------------------------------


async def test_ending_a_session_hangs_up_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await call.user_says("Hello")
        await d.until(session_id, "transcription.completed")
        ended = await d.post(f"/sessions/{session_id}/end", {"summary": "We said hello."})
        assert set(ended) == {"session", "duration_ms", "turn_count"}
        assert (ended["session"]["status"], ended["turn_count"]) == ("completed", 1)
        assert ended["duration_ms"] == ended["session"]["duration_ms"]
        await call.ended()
        assert (await d.until(session_id, "session.ended"))["reason"] == "user_ended"
        again = await d.post(f"/sessions/{session_id}/end", {"status": "error"})
        assert again["session"]["status"] == "completed"
        assert len(await d.events(session_id, "session.ended")) == 1
        assert [entry["text"] for entry in await d.transcript(session_id)] == ["Hello"]
        resumed = await d.post(f"/sessions/{session_id}/resume")
        assert "We said hello." in resumed["context_to_inject"][0]["content"][0]["text"]


async def test_a_session_ends_in_no_other_way_than_there_is(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        response = await d.http.post(f"/sessions/{session_id}/end", json={"status": "active"})
        refused(response, 400, "invalid_request")
        refused(await d.http.post("/sessions/nothing/end"), 404, "session_not_found")
        assert (await d.state(session_id))["status"] == "active"


async def test_a_session_is_one_line_in_the_log_when_it_begins_and_one_when_it_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "vivavoce.runtime.sessions.registry")
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        session_id = (await d.post("/session"))["session_id"]
        await clock.advance(12)
        await d.post(f"/sessions/{session_id}/end")
        await soon(lambda: len(d.here.registry) == 0)
    began, ended = [r for r in caplog.records if r.name == "vivavoce.runtime.sessions.registry"]
    named = {"session_id": session_id, "agent": "workbench"}
    assert (began.message, began.__dict__["fields"]) == ("Session began", named)
    told = ended.__dict__["fields"]
    assert ended.message == "Session ended"
    assert told.pop("reason")
    assert told == {**named, "seconds": 12.0}
