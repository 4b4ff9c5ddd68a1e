"""`/api/v1/voice/session`: keys, streams and their tokens, calls that went past us."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from tests.offers import OFFER
from tests.server.doors import Doors, doors, refused, soon
from tests.server.v1 import client as v1
from tests.server.v1.client import SESSIONS
from vivavoce.server.doors.events import watching
from vivavoce.testing import ManualClock

TOKEN: dict[str, Any] = {"auth": "token", "auth_token": "long-enough-to-be-a-token"}
BEARER = {"authorization": "Bearer long-enough-to-be-a-token"}


async def _spoken(d: Doors) -> tuple[str, list[v1.Told]]:
    opened, call = await v1.talk(d)
    await call.user_says("One")
    await call.assistant_says("Two")
    await call.user_says("Three")
    return opened["session_id"], await v1.until(d, opened["session_id"], "new_message", 3)


async def test_a_session_of_nothing_known_is_not_begun(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        nobody = str(uuid4())
        for body in ({"conversation_id": nobody}, {"task_id": nobody}):
            refused(await d.http.post(SESSIONS, json=body), 404, "not_found")
        wrongs: list[Any] = [{"conversation_id": "x"}, {"conversation": nobody}, [], "x"]
        for wrong in wrongs:
            refused(await d.http.post(SESSIONS, json=wrong), 400, "invalid_request")
        assert not d.provider.calls


async def test_a_key_places_the_call_of_its_own_session_only(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        mine = await d.post(SESSIONS)
        theirs = await d.post(SESSIONS, headers={"x-user-id": "eve"})
        wrong = await v1.sdp(d, mine["session_id"], theirs["ephemeral_key"])
        refused(wrong, 401, "unauthorized")
        # The mistake has not cost the key.
        right = await v1.sdp(d, theirs["session_id"], theirs["ephemeral_key"])
        assert right.status_code == 200
        assert right.headers["content-type"].startswith("application/sdp")
        refused(await v1.sdp(d, mine["session_id"], "ek_made_up"), 401, "unauthorized")
        bad = await v1.sdp(d, mine["session_id"], mine["ephemeral_key"], "hello")
        refused(bad, 400, "invalid_sdp")
        assert (await v1.sdp(d, mine["session_id"], mine["ephemeral_key"])).status_code == 200


async def test_a_stream_goes_on_after_the_last_event_that_was_seen(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, every = await _spoken(d)
        positions = [position for _, _, position in every]
        assert None not in positions
        assert positions == sorted(set(positions), key=lambda at: at or 0)
        for seen in range(len(every)):
            header = {"last-event-id": str(every[seen][2])}
            assert await v1.told(d, session_id, headers=header) == every[seen + 1 :]


async def test_a_stream_that_is_followed_tells_as_it_happens(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        watcher = d.here.journal.subscribe(watching("local", opened["session_id"]))
        await call.user_says("Live")
        async with asyncio.timeout(10):
            frames = b"".join(await watcher.take()).decode()
        ((kind, data, position),) = v1.frames(frames)
        assert (kind, data["content"]) == ("new_message", "Live")
        assert position is not None
        d.here.journal.beat()
        assert await watcher.take() == [b": heartbeat\n\n"]
        watcher.close()
        # What came live is what is replayed.
        assert (kind, data, position) in await v1.told(d, opened["session_id"])


async def test_an_answer_that_was_cut_short_replaces_itself(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("Tell me all")
        await call.assistant_says("It is a very long story that nobody wants to hear", played=False)
        await v1.until(d, opened["session_id"], "new_message", 2)
        await call.user_says("Stop", heard_ms=700)
        await call.assistant_says("As you wish")  # by now all is known of the other one
        events = await _until_said(d, opened["session_id"], "As you wish")
        told = [data for _, data, _ in events if data.get("role") == "assistant"]
        whole, *cuts = [data for data in told if data["id"] == told[0]["id"]]
        assert whole["metadata"] == {}
        assert cuts
        assert all(cut["metadata"] == {"interrupted": True} for cut in cuts)
        assert whole["content"].startswith(cuts[-1]["content"])
        kept = (await v1.messages(d, opened["conversation_id"]))["messages"]
        (entry,) = [message for message in kept if message["id"] == whole["id"]]
        assert entry["metadata"]["interrupted"] is True
        last = cuts[-1] | {"metadata": entry["metadata"]}
        assert entry == last


async def _until_said(d: Doors, session_id: str, content: str) -> list[v1.Told]:
    async with asyncio.timeout(10):
        while True:
            every = await v1.told(d, session_id)
            if any(data.get("content") == content for _, data, _ in every):
                return every
            await asyncio.sleep(0.005)


async def test_what_a_tool_cannot_do_is_an_error_on_the_stream(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.calls_tool("calculate", {"expression": 5}, call_id="call_1")
        events = await v1.until(d, opened["session_id"], "error")
        (error,) = [data for kind, data, _ in events if kind == "error"]
        assert error["code"] == "invalid_arguments"
        assert set(error) == {"code", "message"}
        kept = (await v1.messages(d, opened["conversation_id"]))["messages"]
        assert {message["role"] for message in kept} == {"function"}
        assert [message["metadata"]["entry_kind"] for message in kept] == [
            *("tool_call", "tool_result")
        ]


async def test_a_stream_token_opens_its_own_stream_and_can_be_renewed(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, **TOKEN) as d:
        opened = await d.post(SESSIONS, headers=BEARER)
        other = await d.post(SESSIONS, headers=BEARER)
        path, key = f"{SESSIONS}/{opened['session_id']}/events", opened["stream_token"]["value"]
        refused(await d.http.get(path), 401, "unauthorized")
        await v1.told(d, opened["session_id"], token=key)
        foreign = f"{SESSIONS}/{other['session_id']}/events"
        for wrong in (
            await d.http.get(foreign, params={"token": key}),
            await d.http.post(f"{foreign}/token", params={"token": key}),
        ):
            refused(wrong, 404, "session_not_found")
        # The server's own token has no business in a URL.
        secret = {"token": TOKEN["auth_token"]}
        refused(await d.http.get(path, params=secret), 401, "unauthorized")
        deleted = await d.http.delete(f"{SESSIONS}/{opened['session_id']}", params={"token": key})
        refused(deleted, 401, "unauthorized")
        await clock.advance(500)
        renewed = await d.post(f"{path}/token", params={"token": key})
        assert set(renewed) == {"value", "expires_at"}
        await clock.advance(300)
        refused(await d.http.get(path, params={"token": key}), 401, "token_expired")
        refused(await d.http.post(f"{path}/token", params={"token": key}), 401, "token_expired")
        await v1.told(d, opened["session_id"], token=renewed["value"])
        by_header = await d.post(f"{path}/token", headers=BEARER)
        assert by_header["expires_at"] > renewed["expires_at"]


async def test_once_a_session_is_over_its_stream_token_is_not_renewed_for_ever(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, **TOKEN) as d:
        opened = await d.post(SESSIONS, headers=BEARER)
        session, key = f"{SESSIONS}/{opened['session_id']}", opened["stream_token"]["value"]
        await d.http.delete(session, headers=BEARER)
        await clock.advance(500)
        path = f"{session}/events/token"
        key = (await d.post(path, params={"token": key}))["value"]
        await clock.advance(200)
        refused(await d.http.post(path, params={"token": key}), 401, "token_expired")
        await v1.told(d, opened["session_id"], token=key)  # what it has, it may read
        await d.post(path, headers=BEARER)


async def test_a_client_that_called_the_provider_itself_is_attached(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post(SESSIONS)
        made = await d.here.provider.create_call(OFFER, {"type": "realtime"})
        path = f"{SESSIONS}/{opened['session_id']}/call"
        response = await d.http.post(path, json={"call_id": made.call_id})
        assert (response.status_code, response.content) == (204, b"")
        call = await d.provider.next_call()
        await call.expect("session.update")
        await call.user_says("I went past you")
        events = await v1.until(d, opened["session_id"], "new_message")
        assert events[0][1]["content"] == "I went past you"
        for wrong in ({}, {"call_id": "../x"}, {"call_id": ""}):
            refused(await d.http.post(path, json=wrong), 400, "invalid_request")
        nobody = f"{SESSIONS}/vs_nothing/call"
        refused(await d.http.post(nobody, json={"call_id": "x"}), 404, "session_not_found")


async def test_a_session_that_ended_takes_no_call(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post(SESSIONS)
        await d.http.delete(f"{SESSIONS}/{opened['session_id']}")
        spent = await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])
        refused(spent, 401, "unauthorized")
        await soon(lambda: d.here.registry.get(opened["session_id"]) is None)


async def test_nothing_of_somebody_else_is_there(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("A secret")
        await v1.until(d, opened["session_id"], "new_message")
        session, conversation = opened["session_id"], opened["conversation_id"]
        eve: dict[str, Any] = {"headers": {"x-user-id": "eve"}}
        path = f"{v1.CONVERSATIONS}/{conversation}/messages"
        answers = [
            await d.http.post(SESSIONS, json={"conversation_id": conversation}, **eve),
            await d.http.get(f"{SESSIONS}/{session}/events", params={"follow": False}, **eve),
            await d.http.post(f"{SESSIONS}/{session}/events/token", **eve),
            await d.http.post(f"{SESSIONS}/{session}/call", json={"call_id": "rtc_1"}, **eve),
            await d.http.delete(f"{SESSIONS}/{session}", **eve),
            await d.http.get(path, **eve),
            await d.http.post(path, json={"content": "Hello?"}, **eve),
            await d.http.get(f"{v1.V1}/intents", params={"conversation_id": conversation}, **eve),
        ]
        for response in answers:
            assert response.status_code == 404, response.text
            assert "A secret" not in response.text
        assert (await d.get(v1.CONVERSATIONS, **eve))["total"] == 0
        found = await d.get(f"{v1.CONVERSATIONS}/search", params={"q": "secret"}, **eve)
        assert found["results"] == []
        assert d.here.registry.get(session) is not None


async def test_no_answer_contains_the_providers_key(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.post(SESSIONS)
        secrets = [str(d.provider.key), *d.provider._secrets]
        assert not [secret for secret in secrets if secret in response.text]
        assert orjson.loads(response.content)["ephemeral_key"].startswith("ek_")


async def test_half_a_sentence_that_was_gone_on_with_is_taken_back(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        half = {"item_id": "item_half", "event_id": "event_1"}
        await call.emit(
            {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, **half},
            {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 900, **half},
            {"type": "input_audio_buffer.committed", "previous_item_id": None, **half},
            {"type": "conversation.item.deleted", **half},
        )
        await call.user_says("I want to learn Spanish, and to cook.")
        told = await v1.until(d, opened["session_id"], "new_message")
        messages = [data["content"] for name, data, _ in told if name == "new_message"]
        assert messages == ["I want to learn Spanish, and to cook."]
        log = await d.here.store.events(after=0, limit=200)
        said = [orjson.loads(one.data) for one in log if one.type == "transcription.completed"]
        taken_back = [one for one in said if not one["transcript"]]
        assert [one["item_id"] for one in taken_back] == ["item_half"]
