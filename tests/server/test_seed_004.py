"""The tests that seed 004 §15 names and that a door can show, under those names.

Those of intents are beside the intents, the flows among the journeys.
"""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from tests.server.doors import MOMENT, SESSION_ID, doors, refused
from tests.server.v1 import client as v1
from tests.server.v1.client import CONVERSATIONS, SESSIONS


async def test_create_voice_session(tmp_path: Path) -> None:
    """Creates conversation, returns ephemeral key."""
    async with doors(tmp_path) as d:
        opened = await d.post(SESSIONS, {"conversation_id": None})
        assert SESSION_ID.fullmatch(opened["session_id"])
        assert str(UUID(opened["conversation_id"])) == opened["conversation_id"]
        assert opened["ephemeral_key"].startswith("ek_")
        assert opened["prior_messages"] == []
        kept = await d.here.store.conversation(opened["conversation_id"], user_id="local")
        assert kept is not None
        assert kept.context_type == "voice"
        assert (await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])).status_code == 200


async def test_resume_voice_session(tmp_path: Path) -> None:
    """Loads prior messages for existing conversation."""
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("I want to learn Spanish")
        await call.assistant_says("Do you have a target date?")
        await v1.until(d, opened["session_id"], "new_message", 2)
        await d.http.delete(f"{SESSIONS}/{opened['session_id']}")
        resumed = await d.post(SESSIONS, {"conversation_id": opened["conversation_id"]})
        assert resumed["conversation_id"] == opened["conversation_id"]
        assert resumed["session_id"] != opened["session_id"]
        said = [(m["role"], m["content"]) for m in resumed["prior_messages"]]
        assert said == [
            ("user", "I want to learn Spanish"),
            ("assistant", "Do you have a target date?"),
        ]
        assert set(resumed["prior_messages"][0]) == {
            *("id", "role", "content", "input_modality", "created_at")
        }
        again = await v1.connect(d, resumed)
        seeded = [frame for frame in again.received if frame["type"] == "conversation.item.create"]
        assert "learn Spanish" in str(seeded)


async def test_persist_user_transcript(tmp_path: Path) -> None:
    """User transcript saved to messages table."""
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("Remind me to call mum")
        await v1.until(d, opened["session_id"], "new_message")
        (message,) = (await v1.messages(d, opened["conversation_id"]))["messages"]
        assert (message["role"], message["content"]) == ("user", "Remind me to call mum")
        assert message["input_modality"] == "voice"
        assert MOMENT.fullmatch(message["created_at"])


async def test_persist_assistant_transcript(tmp_path: Path) -> None:
    """Assistant transcript saved to messages table."""
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("Hello")
        await call.assistant_says("What would you like to plan?")
        await v1.until(d, opened["session_id"], "new_message", 2)
        _, message = (await v1.messages(d, opened["conversation_id"]))["messages"]
        assert message["role"] == "assistant"
        assert message["content"] == "What would you like to plan?"


async def test_session_teardown(tmp_path: Path) -> None:
    """Cleans up resources, updates conversation."""
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        session_id = opened["session_id"]
        for _ in range(2):  # ending twice is ending once
            response = await d.http.delete(f"{SESSIONS}/{session_id}")
            assert (response.status_code, response.content) == (204, b"")
        await call.ended()
        await call.detached()
        assert d.here.registry.get(session_id) is None
        *_, (kind, data, _) = await v1.until(d, session_id, "session_ended")
        assert (kind, data["reason"]) == ("session_ended", "user_ended")
        assert isinstance(data["duration_seconds"], int)
        kept = await d.here.store.conversation(opened["conversation_id"], user_id="local")
        assert kept is not None
        assert kept.ended_at is not None
        refused(await d.http.delete(f"{SESSIONS}/nothing"), 404, "session_not_found")


async def test_sse_events(tmp_path: Path) -> None:
    """SSE delivers new_message events."""
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("I want to learn Spanish")
        await call.assistant_says("Do you have a target date?")
        events = await v1.until(d, opened["session_id"], "new_message", 2)
        told = [data for kind, data, _ in events if kind == "new_message"]
        kept = (await v1.messages(d, opened["conversation_id"]))["messages"]
        for name in ("id", "role", "content", "input_modality", "created_at"):
            assert [message[name] for message in told] == [message[name] for message in kept]


async def test_conversations_list(tmp_path: Path) -> None:
    """Returns paginated conversations."""
    async with doors(tmp_path) as d:
        for number in range(3):
            opened, call = await v1.talk(d)
            await call.user_says(f"Goal number {number}")
            await v1.until(d, opened["session_id"], "new_message")
            await d.http.delete(f"{SESSIONS}/{opened['session_id']}")
        first = await d.get(CONVERSATIONS, params={"limit": 2})
        assert first["total"] == 3
        assert [one["preview"] for one in first["conversations"]] == [
            *("Goal number 2", "Goal number 1")
        ]
        rest = await d.get(CONVERSATIONS, params={"limit": 2, "offset": 2})
        (last,) = rest["conversations"]
        assert last["preview"] == "Goal number 0"
        assert last["message_count"] == 1
        assert last["context_type"] == "voice"
        assert last["ended_at"] is not None
        assert last["extracted_intent"] is None
        none = await d.get(CONVERSATIONS, params={"context_type": "onboarding"})
        assert none == {"conversations": [], "total": 0}


async def test_messages_list(tmp_path: Path) -> None:
    """Returns paginated messages."""
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        for number in range(5):
            await call.user_says(f"Word {number}")
        await v1.until(d, opened["session_id"], "new_message", 5)
        page = await v1.messages(d, opened["conversation_id"], limit=2)
        assert [one["content"] for one in page["messages"]] == ["Word 3", "Word 4"]
        assert page["has_more"] is True
        before = page["messages"][0]["id"]
        page = await v1.messages(d, opened["conversation_id"], limit=3, before=before)
        assert [one["content"] for one in page["messages"]] == ["Word 0", "Word 1", "Word 2"]
        assert page["has_more"] is False


async def test_rate_limiting(tmp_path: Path) -> None:
    """Excess sessions rejected with 429."""
    async with doors(tmp_path, sessions_per_10_minutes=2) as d:
        for _ in range(2):
            opened = await d.post(SESSIONS)
            await d.http.delete(f"{SESSIONS}/{opened['session_id']}")
        response = await d.http.post(SESSIONS)
        refused(response, 429, "rate_limited")
        assert 0 < int(response.headers["retry-after"]) <= 600
        theirs = await d.http.post(SESSIONS, headers={"x-user-id": "eve"})
        assert theirs.status_code == 200
