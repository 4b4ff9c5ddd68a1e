"""Going on: resume, restore, reconnect; and living on polling."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.server.doors import SESSION_ID, Doors, Json, doors, refused
from vivavoce.runtime.ports import Retention
from vivavoce.testing import ManualClock, ScriptedCall
from vivavoce.testing.realtime.faults import HttpError
from vivavoce.wire.records.talk import utc_now


def told(call: ScriptedCall) -> list[str]:
    """The words of the items that the model was given, over the sideband."""
    return [
        part["text"]
        for frame in call.received
        if frame["type"] == "conversation.item.create"
        for part in frame["item"].get("content", ())
    ]


async def _spoken(d: Doors) -> tuple[str, ScriptedCall]:
    session_id, call = await d.talk(voice="cedar", instructions="Talk like a pirate.")
    await call.user_says("My name is Ada.")
    await call.assistant_says("Hello, Ada.")
    await d.until(session_id, "assistant.done")
    return session_id, call


# --- POST /sessions/{id}/resume -----------------------------------------------------------


async def test_a_resumed_session_keeps_its_id_and_gets_a_new_live_one(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        old, first = await _spoken(d)
        resumed = await d.post(f"/sessions/{old}/resume")
        assert set(resumed) == {
            "session_id",
            "session",
            "context_to_inject",
            "seeded",
            "transcript",
            "realtime",
        }
        assert (resumed["session_id"], resumed["session"]["id"]) == (old, old)
        new = resumed["realtime"]["session_id"]
        assert new != old
        assert SESSION_ID.fullmatch(new)
        before = resumed["session"]["conversation_id"]
        assert resumed["realtime"]["conversation_id"] == before
        assert resumed["realtime"]["client_secret"]["value"].startswith("ek_")
        assert resumed["realtime"]["voice"] == "cedar"
        assert [e["text"] for e in resumed["transcript"]] == ["My name is Ada.", "Hello, Ada."]
        await first.ended()  # taken over
        assert (await d.state(old))["status"] == "completed"
        assert (await d.state(new))["status"] == "active"


async def test_the_server_itself_tells_the_model_what_was_said(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        old, _ = await _spoken(d)
        resumed = await d.post(f"/sessions/{old}/resume", {"voice": "marin"})
        assert resumed["seeded"] is True
        items = resumed["context_to_inject"]
        assert items == [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "My name is Ada."}],
            },
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hello, Ada."}],
            },
        ]
        call = await d.connect(resumed["realtime"]["client_secret"]["value"])
        new = resumed["realtime"]["session_id"]
        context = await d.until(new, "context.updated")
        assert (context["reason"], context["items"]) == ("resume", 2)
        assert told(call) == ["My name is Ada.", "Hello, Ada."]
        assert call.session["audio"]["output"]["voice"] == "marin"
        assert call.session["instructions"].startswith("Talk like a pirate.")
        # Both sessions show the one conversation.
        assert await d.transcript(new) == await d.transcript(old)


async def test_a_clients_record_can_be_resumed_by_voice(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        tracked = (await d.post("/sessions"))["session_id"]
        entries = [{"entry_type": "user", "text": "The code is 1234."}]
        await d.post(f"/sessions/{tracked}/transcript", {"entries": entries})
        resumed = await d.post(f"/sessions/{tracked}/resume")
        call = await d.connect(resumed["realtime"]["client_secret"]["value"])
        await d.until(resumed["realtime"]["session_id"], "context.updated")
        assert told(call) == ["The code is 1234."]


async def test_what_cannot_be_resumed_says_why(tmp_path: Path) -> None:
    async with doors(tmp_path, max_sessions=1) as d:
        refused(await d.http.post("/sessions/nothing/resume"), 404, "session_not_found")
        tracked = (await d.post("/sessions"))["session_id"]
        path = f"/sessions/{tracked}/resume"
        refused(await d.http.post(path, json={"voice": "vader"}), 400, "invalid_request")
        d.provider.inject(HttpError(401, path="client_secrets"))
        refused(await d.http.post(path), 502, "openai_error")
        await d.post("/session")
        refused(await d.http.post(path), 503, "service_unavailable")


# --- POST /session/restore ----------------------------------------------------------------


async def test_a_restored_session_remembers_and_welcomes_back(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        old, _ = await _spoken(d)
        await d.post(f"/sessions/{old}/end", {"summary": "Ada introduced herself."})
        restored = await d.post("/session/restore", {"prev_session_id": old})
        assert set(restored) == {
            "new_session_id",
            "ephemeral_key",
            "expires_at",
            "context_summary",
            "pending_tasks",
            "stream_token",
            "last_event_id",
        }
        assert restored["new_session_id"] != old
        assert "Ada introduced herself." in restored["context_summary"]
        assert restored["pending_tasks"] == []
        call = await d.connect(restored["ephemeral_key"])
        welcome = await call.expect("response.create")
        assert "Welcome the user back" in welcome["response"]["instructions"]
        assert told(call)[-2:] == ["My name is Ada.", "Hello, Ada."]
        context = await d.until(restored["new_session_id"], "context.updated")
        assert context["reason"] == "restore"


async def test_without_a_summary_the_last_words_say_where_it_stood(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        old, _ = await _spoken(d)
        restored = await d.post("/session/restore", {"prev_session_id": old})
        assert restored["context_summary"] == (
            "The user last said: “My name is Ada.” The assistant last said: “Hello, Ada.”"
        )
        silent = (await d.post("/sessions"))["session_id"]
        nothing = await d.post("/session/restore", {"prev_session_id": silent})
        assert nothing["context_summary"] == ""


async def test_the_calls_under_way_are_named_when_a_live_session_is_restored(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, clock=ManualClock()) as d:
        old, call = await d.talk()
        await call.calls_tool("wait", {"seconds": 60}, call_id="call_slow")
        await d.until(old, "tool.started")
        restored = await d.post("/session/restore", {"prev_session_id": old})
        assert restored["pending_tasks"] == ["call_slow"]


async def test_only_a_session_that_was_can_be_restored(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        nothing = await d.http.post("/session/restore", json={"prev_session_id": "nothing"})
        refused(nothing, 404, "session_not_found")
        unnamed = refused(await d.http.post("/session/restore", json={}), 400, "invalid_request")
        assert unnamed["details"]["fields"][0]["field"] == "body.prev_session_id"


# --- GET /session/reconnect ---------------------------------------------------------------


async def test_a_live_session_is_reconnected_under_its_own_id(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, first = await _spoken(d)
        again = await d.get("/session/reconnect", headers={"x-session-id": session_id})
        assert set(again) == {
            "ephemeral_key",
            "expires_at",
            "session_id",
            "stream_token",
            "last_event_id",
        }
        assert again["session_id"] == session_id
        second = await d.connect(again["ephemeral_key"])
        assert second.id != first.id
        await first.ended()
        back = await second.expect("response.create")
        assert "connection was lost" in back["response"]["instructions"]
        assert told(second) == ["My name is Ada.", "Hello, Ada."]
        assert (await d.state(session_id))["status"] == "active"
        assert (await d.until(session_id, "context.updated", 2))["reason"] == "reconnect"
        assert (await d.get("/sessions"))["count"] == 1


async def test_after_its_end_a_session_is_reconnected_as_a_new_one(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        old, _ = await _spoken(d)
        await d.post(f"/sessions/{old}/end")
        again = await d.get("/session/reconnect", params={"session_id": old})
        assert again["session_id"] != old
        call = await d.connect(again["ephemeral_key"])
        await d.until(again["session_id"], "context.updated")
        assert told(call) == ["My name is Ada.", "Hello, Ada."]


async def test_what_was_taken_over_stays_where_it_goes_on_until_somebody_wishes_it_back(
    tmp_path: Path,
) -> None:
    """Two windows that reconnect by themselves would take it from each other for ever."""
    async with doors(tmp_path) as d:
        old, first = await _spoken(d)
        resumed = await d.post(f"/sessions/{old}/resume")
        second = await d.connect(resumed["realtime"]["client_secret"]["value"])
        await first.ended()
        assert (await d.until(old, "session.ended"))["reason"] == "taken_over"
        asked = {"session_id": old}
        refused(await d.http.get("/session/reconnect", params=asked), 409, "taken_over")
        assert (await d.state(resumed["realtime"]["session_id"]))["status"] == "active"
        back = await d.post("/session/restore", {"prev_session_id": old})
        await d.connect(back["ephemeral_key"])
        await second.ended()
        assert (await d.state(back["new_session_id"]))["status"] == "active"


async def test_what_was_taken_over_by_somebody_who_never_came_is_reconnected(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        old, first = await _spoken(d)
        await d.post(f"/sessions/{old}/resume")  # and the answer was lost on its way
        await first.ended()
        again = await d.get("/session/reconnect", params={"session_id": old})
        await d.connect(again["ephemeral_key"])
        assert (await d.state(again["session_id"]))["status"] == "active"


# --- GET /session, pending_updates, tasks: polling ------------------------------------------


async def test_those_who_poll_must_say_for_which_session(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        for path in ("/session", "/session/reconnect", "/session/pending_updates"):
            unnamed = refused(await d.http.get(path), 400, "invalid_request")
            assert unnamed["details"] == {"field": "X-Session-ID"}
            nothing = await d.http.get(path, params={"session_id": "nothing"})
            refused(nothing, 404, "session_not_found")


async def test_the_state_of_a_session_is_there_to_be_polled(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        opened = await d.post("/session")
        session_id = opened["session_id"]
        fresh = await d.state(session_id)
        assert set(fresh) == {
            "session_id",
            "conversation_id",
            "status",
            "provider",
            "model",
            "state",
            "voice_session_active",
            "amplifier_connected",
            "pending_tasks",
            "session_age_ms",
            "estimated_tokens",
            "last_event_id",
            "stream_token",
        }
        assert (fresh["state"], fresh["voice_session_active"]) == ("disconnected", False)
        call = await d.connect(opened["client_secret"]["value"])
        await d.until(session_id, "session.started")
        await clock.advance(2)
        ready = await d.state(session_id)
        assert (ready["state"], ready["voice_session_active"]) == ("ready", True)
        assert ready["session_age_ms"] == 2000
        await call.calls_tool("wait", {"seconds": 60}, call_id="call_slow")
        await d.until(session_id, "tool.started")
        busy = await d.state(session_id)
        assert (busy["state"], busy["pending_tasks"]) == ("executing_tool", 1)
        await d.post(f"/sessions/{session_id}/end")
        over = await d.state(session_id)
        assert (over["status"], over["state"]) == ("completed", "terminated")
        assert over["voice_session_active"] is False


async def test_progress_is_queued_for_a_client_that_lives_on_polling(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        session_id, call = await d.talk()
        seen = (await d.updates(session_id))["last_event_id"]
        await call.calls_tool("wait", {"seconds": 4}, call_id="call_slow")
        for percentage in (0, 25, 50, 75):
            progress = await d.until(session_id, "tool.progress", 1 + percentage // 25)
            assert progress["percentage"] == percentage
            task = await d.get("/tasks/call_slow")
            assert (task["status"], task["progress"]) == ("started", progress["message"])
            assert "output" not in task
            await clock.advance(1)
        await d.until(session_id, "tool.completed")
        missed = await d.updates(session_id, since=seen)
        assert set(missed) == {
            "session_id",
            "status",
            "queued_updates",
            "last_event_id",
            "has_more",
            "reset",
        }
        kinds = [update["event"] for update in missed["queued_updates"]]
        assert kinds == ["tool.started", *["tool.progress"] * 4, "tool.completed"]
        done = await d.get("/tasks/call_slow")
        assert (done["status"], done["output"]) == ("completed", "Waited 4 seconds.")
        assert (done["tool_name"], done["session_id"]) == ("wait", session_id)


async def test_updates_come_in_pages_without_a_gap_or_a_double(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await _spoken(d)
        every = (await d.updates(session_id))["queued_updates"]
        pages: list[Json] = []
        position, more = 0, True
        while more:
            page = await d.updates(session_id, since=position, limit=3)
            assert len(page["queued_updates"]) <= 3
            pages += page["queued_updates"]
            position, more = page["last_event_id"], page["has_more"]
        assert pages == every
        assert [update["id"] for update in every] == sorted({update["id"] for update in every})
        nothing = await d.updates(session_id, since=position)
        assert nothing["queued_updates"] == []
        assert (nothing["last_event_id"], nothing["has_more"]) == (position, False)


async def test_a_position_that_is_gone_is_told_and_not_passed_over(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await _spoken(d)
        seen = (await d.updates(session_id))["last_event_id"]
        assert (await d.updates(session_id, since=seen))["reset"] is False
        assert (await d.updates(session_id, since=seen + 1000))["reset"] is True
        await d.here.store.sweep(Retention(log=0.0), utc_now() + timedelta(seconds=1))
        assert (await d.updates(session_id, since=1))["reset"] is True
        assert (await d.updates(session_id, since=seen))["reset"] is False


async def test_a_page_has_a_size_and_a_position_a_sign(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session"))["session_id"]
        queries: list[dict[str, Any]] = [{"limit": 0}, {"limit": 501}, {"since": -1}]
        for query in queries:
            response = await d.http.get(
                "/session/pending_updates", params=query | {"session_id": session_id}
            )
            refused(response, 400, "invalid_request")
