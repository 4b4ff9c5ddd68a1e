"""`GET /sessions/{id}` and `POST …/transcript`: what was said, and clients' copies of it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import MOMENT, Doors, doors, refused
from vivavoce.testing import ManualClock
from vivavoce.wire.records.talk import utc_now


async def test_a_transcript_has_what_was_said_called_and_returned(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await call.user_says("What is six times seven?")
        await call.calls_tool("calculate", {"expression": "6*7"}, call_id="call_42")
        await call.expect("response.create")
        await call.assistant_says("Forty-two.")
        await d.until(session_id, "assistant.done")
        user, asked, result, assistant = await d.transcript(session_id)
        assert (user["entry_type"], user["text"]) == ("user", "What is six times seven?")
        assert asked["entry_type"] == "tool_call"
        assert (asked["tool_name"], asked["tool_call_id"]) == ("calculate", "call_42")
        assert asked["tool_arguments"] == {"expression": "6*7"}
        assert result["entry_type"] == "tool_result"
        assert result["tool_result"]["success"] is True
        assert result["tool_result"]["output"] == "42"
        assert (assistant["entry_type"], assistant["text"]) == ("assistant", "Forty-two.")
        for entry in (user, asked, result, assistant):
            assert MOMENT.fullmatch(entry["timestamp"])
            assert None not in entry.values()


async def test_a_session_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        refused(await d.http.get("/sessions/vs_20260131_143022_a3f2"), 404, "session_not_found")
        refused(await d.http.get(f"/sessions/{'x' * 65}"), 400, "invalid_request")


ENTRIES: list[dict[str, Any]] = [
    {"id": "one", "entry_type": "user", "text": "Read main.py", "audio_duration_ms": 2500},
    {
        "entry_type": "tool_call",
        "tool_name": "read_file",
        "tool_call_id": "call_abc123",
        "tool_arguments": {"path": "main.py"},
    },
    {
        "entry_type": "tool_result",
        "tool_name": "read_file",
        "tool_call_id": "call_abc123",
        "tool_result": {"success": True},
    },
    {
        "entry_type": "assistant",
        "text": "Done.",
        "timestamp": "2026-01-31T14:30:22Z",
    },
    {"entry_type": "system", "text": "Note", "timestamp": "2026-01-31T15:30:22+01:00"},
]


async def test_a_clients_copy_is_stored_once_however_often_it_is_sent(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/sessions"))["session_id"]
        for _ in range(3):
            synced = await d.post(f"/sessions/{session_id}/transcript", {"entries": ENTRIES})
            assert synced == {"synced": 5, "session_id": session_id}
        stored = await d.transcript(session_id)
        assert len(stored) == 5
        by_kind = {entry["entry_type"]: entry for entry in stored}
        assert by_kind["user"]["id"] == "one"
        assert by_kind["user"]["audio_duration_ms"] == 2500
        assert by_kind["tool_call"]["tool_arguments"] == {"path": "main.py"}
        assert by_kind["assistant"]["timestamp"] == "2026-01-31T14:30:22.000Z"
        assert by_kind["system"]["timestamp"] == "2026-01-31T14:30:22.000Z"
        info = (await d.get(f"/sessions/{session_id}"))["session"]
        assert (info["turn_count"], info["title"]) == (1, "Read main.py")


async def test_a_sync_moves_the_session_and_nothing_else_of_it(tmp_path: Path) -> None:
    clock = ManualClock(utc_now())
    async with doors(tmp_path, clock=clock) as d:
        session_id = (await d.post("/sessions", {"metadata": {"shop": 7}}))["session_id"]
        before = (await d.get(f"/sessions/{session_id}"))["session"]
        assert before["metadata"] == {"shop": 7}
        await clock.advance(60)
        await d.post(f"/sessions/{session_id}/transcript", {"entries": ENTRIES})
        after = (await d.get(f"/sessions/{session_id}"))["session"]
        moved = {name for name in after if after[name] != before.get(name)}
        assert moved == {"updated_at", "duration_ms", "turn_count", "title"}
        await clock.advance(60)
        await d.post(f"/sessions/{session_id}/transcript", {"entries": ENTRIES})  # nothing new
        again = (await d.get(f"/sessions/{session_id}"))["session"]
        assert again["updated_at"] == after["updated_at"]
        listed = (await d.get("/sessions"))["sessions"]
        assert "metadata" not in listed[0]
        opened = await d.post("/session")
        assert "metadata" not in (await d.get(f"/sessions/{opened['session_id']}"))["session"]


async def test_the_same_words_at_another_time_are_another_entry(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/sessions"))["session_id"]
        path = f"/sessions/{session_id}/transcript"
        for stamp in ("14:30:22", "14:30:24", "14:31:22"):
            entry = {
                "entry_type": "user",
                "text": "Yes",
                "timestamp": f"2026-01-31T{stamp}Z",
            }
            await d.post(path, {"entries": [entry]})
        assert len(await d.transcript(session_id)) == 2
        # Two in one breath are two.
        await d.post(path, {"entries": [{"entry_type": "user", "text": "No"}] * 2})
        await d.post(path, {"entries": [{"entry_type": "user", "text": "No"}] * 2})
        assert len(await d.transcript(session_id)) == 4


async def test_a_copy_of_what_the_server_heard_itself_adds_nothing(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await call.user_says("Six times seven?")
        await call.calls_tool("calculate", {"expression": "6*7"}, call_id="call_42")
        await d.until(session_id, "tool.completed")
        before = await d.transcript(session_id)
        copies = [
            {"entry_type": "user", "text": "Six times seven?"},
            {"entry_type": "tool_call", "tool_name": "calculate", "tool_call_id": "call_42"},
            {"entry_type": "tool_result", "tool_name": "calculate", "tool_call_id": "call_42"},
        ]
        await d.post(f"/sessions/{session_id}/transcript", {"entries": copies})
        assert await d.transcript(session_id) == before


@pytest.mark.parametrize(
    "entry",
    [
        {"entry_type": "robot", "text": "x"},
        {"text": "x"},
        {"entry_type": "user", "text": "x", "audio_duration_ms": True},
        {"entry_type": "user", "text": "x", "audio_duration_ms": "5"},
        {"entry_type": "user", "text": "x", "timestamp": 5},
        {"entry_type": "user", "text": "x", "timestamp": "5"},
        {"entry_type": "user", "text": "x", "timestamp": "0001-01-01T00:00:00+14:00"},
        {"entry_type": "user", "text": "x", "timestamp": "9999-12-31T23:59:59-14:00"},
        {"entry_type": "user", "text": "\ud800"},
    ],
)
async def test_an_entry_that_is_wrong_stores_nothing(tmp_path: Path, entry: dict[str, Any]) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/sessions"))["session_id"]
        body = json.dumps({"entries": [{"entry_type": "user", "text": "fine"}, entry]})
        response = await d.http.post(
            f"/sessions/{session_id}/transcript",
            content=body,
            headers={"content-type": "application/json"},
        )
        refused(response, 400, "invalid_request")
        assert await d.transcript(session_id) == []


async def test_control_characters_and_markup_are_cleaned_before_they_are_stored(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/sessions", {"title": "a\x00b\u202ec"}))["session_id"]
        entry = {"entry_type": "user", "text": "Hello\x07 <script>alert(1)</script>there"}
        await d.post(f"/sessions/{session_id}/transcript", {"entries": [entry]})
        told = await d.get(f"/sessions/{session_id}")
        for text in (told["session"]["title"], told["transcript"][0]["text"]):
            assert not re.search(r"[\x00-\x08\u202e]|<script", text)
        assert "Hello" in told["transcript"][0]["text"]


async def test_a_transcript_can_be_sent_back_as_it_was_read(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        await call.user_says("Explain it.")
        await call.assistant_starts("A long story that nobody hears to its end.")
        await d.until(session_id, "assistant.speaking")
        await call.user_says("Stop.", heard_ms=500)
        await d.until(session_id, "transcription.completed", 3)
        before = await _with_last(d, session_id, "Stop.")
        await d.post(f"/sessions/{session_id}/transcript", {"entries": before})
        assert (await d.get(f"/sessions/{session_id}"))["transcript"] == before


async def _with_last(d: Doors, session_id: str, text: str) -> list[Any]:
    """The transcript, once that is in it: an answer that is cut may be told twice before."""
    async with asyncio.timeout(10):
        while True:
            told: list[Any] = (await d.get(f"/sessions/{session_id}"))["transcript"]
            if any(entry["text"] == text for entry in told):
                return told
            await asyncio.sleep(0.01)
