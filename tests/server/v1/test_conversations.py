"""`/api/v1/conversations`: pages, search, and a conversation in writing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.server.auth.test_tokens import TOKEN
from tests.server.auth.test_tokens import _made as made
from tests.server.doors import Doors, Json, doors, refused
from tests.server.v1 import client as v1
from tests.server.v1.client import CONVERSATIONS, SESSIONS


async def _answered(d: Doors, conversation_id: str, content: str, reply: str) -> Json:
    """Written, and answered by the scripted model."""
    path = f"{CONVERSATIONS}/{conversation_id}/messages"
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(d.post(path, {"content": content}))
        call = await d.provider.next_call()
        await call.expect("response.create")
        await call.assistant_says(reply)
    return sending.result()


async def test_a_conversation_can_begin_in_writing(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.post(CONVERSATIONS, json={"title": " Spanish\n"})
        assert response.status_code == 201
        begun = response.json()
        assert begun["title"] == "Spanish"
        assert (begun["message_count"], begun["preview"]) == (0, None)
        listed = await d.get(CONVERSATIONS)
        assert listed == {"conversations": [begun], "total": 1}
        empty = {"messages": [], "has_more": False}
        assert await v1.messages(d, begun["id"]) == empty
        wrongs: list[Any] = [{"context_type": "chat"}, {"name": "x"}, [], {"title": 5}]
        for wrong in wrongs:
            refused(await d.http.post(CONVERSATIONS, json=wrong), 400, "invalid_request")


async def test_a_message_is_answered_by_the_same_agent(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        answer = await _answered(d, begun["id"], "I want to learn Spanish", "By when?")
        assert answer["message"]["role"] == "user"
        assert answer["message"]["input_modality"] == "text"
        assert answer["reply"]["content"] == "By when?"
        kept = (await v1.messages(d, begun["id"]))["messages"]
        assert [one["id"] for one in kept] == [answer["message"]["id"], answer["reply"]["id"]]
        (call,) = d.provider.calls.values()
        assert d.here.profile.agent.prompt[:40] in call.session["instructions"]
        # Who writes can follow what comes of it.
        stream = f"/api/v1/voice/session/{answer['session_id']}/events"
        query = {"token": answer["stream_token"]["value"], "follow": False, "last_event_id": 0}
        told = await d.http.get(stream, params=query)
        assert told.text.count("event: new_message") == 2


async def test_a_message_that_is_sent_again_under_its_key_is_the_same_message(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        path = f"{CONVERSATIONS}/{begun['id']}/messages"
        key = {"idempotency-key": "6f1c-1"}
        body = {"content": "Count to three", "wait_seconds": 5}
        async with asyncio.TaskGroup() as group:  # the second while the first is on its way
            both = [group.create_task(d.post(path, body, headers=key)) for _ in range(2)]
            call = await d.provider.next_call()
            await call.expect("response.create")
            await call.assistant_says("One, two, three.")
        again = await d.post(path, body, headers=key)
        answers = [task.result() for task in both] + [again]
        assert len({answer["message"]["id"] for answer in answers}) == 1
        assert {answer["reply"]["content"] for answer in answers} == {"One, two, three."}
        kept = (await v1.messages(d, begun["id"]))["messages"]
        assert [one["content"] for one in kept] == ["Count to three", "One, two, three."]
        other = await d.http.post(path, json={"content": "Four"}, headers=key)
        refused(other, 409, "conflict")


async def test_a_key_is_still_known_to_the_next_session(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        path = f"{CONVERSATIONS}/{begun['id']}/messages"
        key, body = {"idempotency-key": "k"}, {"content": "Hello", "wait_seconds": 5}
        async with asyncio.TaskGroup() as group:
            first = group.create_task(d.post(path, body, headers=key))
            call = await d.provider.next_call()
            await call.expect("response.create")
            await call.assistant_says("Good morning.")
        await d.post(f"/sessions/{first.result()['session_id']}/end")
        again = await d.post(path, body, headers=key)
        assert again["message"]["id"] == first.result()["message"]["id"]
        assert again["reply"]["content"] == "Good morning."
        assert len(d.provider.calls) == 1, "nobody was asked a second time"


async def test_what_was_written_is_known_to_the_voice_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("My name is Ana")
        await v1.until(d, opened["session_id"], "new_message")
        await d.http.delete(f"{SESSIONS}/{opened['session_id']}")
        await _answered(d, opened["conversation_id"], "What is my name?", "Ana.")
        *_, written = d.provider.calls.values()
        assert "My name is Ana" in str(written.received)
        resumed = await d.post(SESSIONS, {"conversation_id": opened["conversation_id"]})
        said = [one["content"] for one in resumed["prior_messages"]]
        assert said == ["My name is Ana", "What is my name?", "Ana."]


async def test_an_answer_that_takes_too_long_is_none_yet(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        path = f"{CONVERSATIONS}/{begun['id']}/messages"
        response = await d.http.post(path, json={"content": "Hello", "wait_seconds": 0})
        assert response.status_code == 201
        assert response.json()["reply"] is None
        assert response.json()["message"]["content"] == "Hello"


async def test_a_message_of_nothing_or_to_nobody_is_refused(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        path = f"{CONVERSATIONS}/{begun['id']}/messages"
        for wrong in (
            {},
            {"content": ""},
            {"content": " \n"},
            {"content": "x" * 8001},
            {"content": "x", "wait_seconds": 61},
            {"content": "x", "wait_seconds": True},
        ):
            refused(await d.http.post(path, json=wrong), 400, "invalid_request")
        nowhere = f"{CONVERSATIONS}/{uuid4()}/messages"
        refused(await d.http.post(nowhere, json={"content": "x"}), 404, "not_found")
        refused(await d.http.get(nowhere), 404, "not_found")
        refused(await d.http.get(f"{CONVERSATIONS}/x/messages"), 400, "invalid_request")
        assert not d.provider.calls


async def test_a_page_before_a_message_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        path = f"{CONVERSATIONS}/{begun['id']}/messages"
        refused(await d.http.get(path, params={"before": str(uuid4())}), 404, "not_found")
        for wrong in ({"before": "x"}, {"limit": 0}, {"limit": 501}):
            refused(await d.http.get(path, params=wrong), 400, "invalid_request")


async def test_before_the_first_message_there_is_an_empty_page(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = (await d.http.post(CONVERSATIONS)).json()
        path = f"{CONVERSATIONS}/{begun['id']}/messages"
        await d.http.post(path, json={"content": "Hello", "wait_seconds": 0})
        first = (await d.get(path))["messages"][0]["id"]
        for spelling in (first, first.upper()):
            page = await d.get(f"{path}?before={spelling}")
            assert (page["messages"], page["has_more"]) == ([], False)


async def test_messages_are_found_by_their_words(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("I want to learn Spanish")
        await call.user_says("And then French")
        await v1.until(d, opened["session_id"], "new_message", 2)
        path = f"{CONVERSATIONS}/search"
        (hit,) = (await d.get(path, params={"q": "learn span"}))["results"]
        assert "«Spanish»" in hit["snippet"]
        assert hit["role"] == "user"
        kept = (await v1.messages(d, opened["conversation_id"]))["messages"]
        assert hit["message_id"] == kept[0]["id"]
        for harmless in ('"', "* OR -x:", "NEAR(a b)", "\x00", "%", "   "):
            await d.get(path, params={"q": harmless})
        for wrong in ({}, {"q": ""}, {"q": "x" * 201}):
            refused(await d.http.get(path, params=wrong), 400, "invalid_request")


async def test_a_conversation_is_deleted_with_all_that_was_said_in_it(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        await call.user_says("My secret is Xyzzy")
        await v1.until(d, opened["session_id"], "new_message")
        other = (await d.http.post(CONVERSATIONS, json={"title": "Another"})).json()
        path = f"{CONVERSATIONS}/{opened['conversation_id']}"
        eve = {"x-user-id": "eve"}
        refused(await d.http.delete(path, headers=eve), 404, "not_found")
        assert d.here.registry.get(opened["session_id"]) is not None  # not by a stranger
        response = await d.http.delete(path)
        assert (response.status_code, response.content) == (204, b"")
        assert d.here.registry.get(opened["session_id"]) is None
        assert call.over
        assert [one["id"] for one in (await d.get(CONVERSATIONS))["conversations"]] == [other["id"]]
        assert (await d.get(f"{CONVERSATIONS}/search", params={"q": "xyzzy"}))["results"] == []
        refused(await d.http.get(f"{path}/messages"), 404, "not_found")
        events = f"{SESSIONS}/{opened['session_id']}/events"
        refused(await d.http.get(events, params={"follow": "false"}), 404, "session_not_found")
        every = await d.http.get("/events", params={"follow": "false", "last_event_id": 0})
        assert "Xyzzy" not in every.text
        refused(await d.http.delete(path), 404, "not_found")


async def test_the_key_of_a_session_ends_with_its_conversation(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post(SESSIONS)
        await d.http.delete(f"{CONVERSATIONS}/{opened['conversation_id']}")
        late = await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])
        refused(late, 401, "unauthorized")


# --- Their names, and taken along ---------------------------------------------------------


async def test_a_title_that_somebody_gave_stays_and_is_shown(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened, call = await v1.talk(d)
        path = f"{v1.CONVERSATIONS}/{opened['conversation_id']}"
        await call.user_says("I want to learn Spanish")
        await d.until(opened["session_id"], "transcription.completed")
        renamed = await d.patch(path, {"title": "  Spanish,\n for Mexico "})
        assert renamed["title"] == "Spanish, for Mexico"
        assert renamed["preview"] == "I want to learn Spanish"
        await call.user_says("In three months")
        await d.until(opened["session_id"], "transcription.completed", 2)
        await d.http.delete(f"{v1.SESSIONS}/{opened['session_id']}")
        assert (await d.get(path))["title"] == "Spanish, for Mexico"
        (listed,) = (await d.get(v1.CONVERSATIONS))["conversations"]
        assert listed == await d.get(path)
        (hit,) = (await d.get(f"{v1.CONVERSATIONS}/search", params={"q": "spanish"}))["results"]
        assert hit["conversation_title"] == "Spanish, for Mexico"
        assert hit["parts"] == [
            {"text": "I want to learn ", "found": False},
            {"text": "Spanish", "found": True},
        ]
        for title in ("", " \u200b ", "x" * 201):
            assert (await d.http.patch(path, json={"title": title})).status_code == 400
        ann = {"x-user-id": "ann"}
        for answer in (
            await d.http.patch(path, json={"title": "mine"}, headers=ann),
            await d.http.get(path, headers=ann),
            await d.http.get(f"{path}/export", headers=ann),
        ):
            refused(answer, 404, "not_found")


async def test_marks_in_a_text_are_told_from_those_of_the_search(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = await d.post(v1.CONVERSATIONS)
        path = f"{v1.CONVERSATIONS}/{begun['id']}/messages"
        said = "He wrote «no» \ue000and\ue001 I said lemon"
        await d.post(path, {"content": said, "wait_seconds": 0})
        (hit,) = (await d.get(f"{v1.CONVERSATIONS}/search", params={"q": "lemon"}))["results"]
        assert [part["text"] for part in hit["parts"] if part["found"]] == ["lemon"]
        assert "«no» and I said" in "".join(part["text"] for part in hit["parts"])


async def test_one_conversation_is_a_file_to_read_or_to_keep(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        begun = await d.post(v1.CONVERSATIONS, {"title": 'Lemons & "limes"\r\nX: y'})
        path = f"{v1.CONVERSATIONS}/{begun['id']}"
        words = "# No heading\nof mine"
        await d.post(f"{path}/messages", {"content": words, "wait_seconds": 0})
        other = await d.post(v1.CONVERSATIONS)
        await d.post(
            f"{v1.CONVERSATIONS}/{other['id']}/messages", {"content": "Else", "wait_seconds": 0}
        )
        read = await d.http.get(f"{path}/export")
        assert read.headers["content-type"] == "text/markdown; charset=utf-8"
        name = read.headers["content-disposition"]
        assert re.fullmatch(r'attachment; filename="\d{4}-\d\d-\d\d-lemons-limes-x-y\.md"', name)
        assert "> # No heading\n> of mine" in read.text
        assert read.text.startswith('# Lemons & "limes" X: y\n')
        assert "Else" not in read.text
        kept = await d.http.get(f"{path}/export", params={"format": "json"})
        found = kept.json()
        assert found["conversation"]["id"] == begun["id"]
        assert [(one["type"], one["text"], one["by"]) for one in found["messages"]] == [
            ("user", words, "text")
        ]
        assert found["intents"] == []
        lines = [line async for line in _audited(d)]
        assert lines == ["one conversation, as markdown", "one conversation, as json"]


async def _audited(d: Doors) -> AsyncIterator[str]:
    for line in await d.here.store.audit():
        if line.action == "data":
            yield line.what


async def test_a_lesser_token_renames_nothing_that_was_led_with_a_higher_one(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, auth="token", auth_token=TOKEN) as d:
        guest = {"authorization": f"Bearer {await made(d, 'kiosk', 'user')}"}
        d.http.headers["authorization"] = f"Bearer {TOKEN}"
        opened, _ = await v1.talk(d)
        path = f"{v1.CONVERSATIONS}/{opened['conversation_id']}"
        answer = await d.http.patch(path, json={"title": "Theirs"}, headers=guest)
        refused(answer, 403, "forbidden")
