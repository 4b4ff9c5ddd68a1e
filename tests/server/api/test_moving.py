"""From one call to the next before a provider's cap, and from one provider to the next.

Two scripted providers are real servers on loopback. The client does what `docs/events.md` says:
it places a call when one is wanted, and lets go of the old one with `call.moved`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.api.test_recovery import told
from tests.server.doors import Doors, doors, refused, soon
from vivavoce.testing import ScriptedCall, ScriptedProvider
from vivavoce.testing.realtime.faults import Close, Drop, HttpError, RefuseAttach
from vivavoce.tools.functions import tool

CAP: dict[str, Any] = {"session_cap_seconds": 4.0}


async def wanted(d: Doors, session_id: str, count: int = 1) -> dict[str, Any]:
    return await d.until(session_id, "call.wanted", count)


async def another(d: Doors, session_id: str, at: ScriptedProvider | None = None) -> ScriptedCall:
    """What a client does when a call is wanted."""
    again = await d.get("/session/reconnect", headers={"x-session-id": session_id})
    assert again["session_id"] == session_id
    answer = await d.sdp(again["ephemeral_key"])
    assert answer.status_code == 200, answer.text
    call = await (at or d.provider).next_call()
    await call.expect("session.update")
    return call


def asked(call: ScriptedCall) -> list[str]:
    """What it was asked to say."""
    every = [f.get("response") or {} for f in call.received if f["type"] == "response.create"]
    return [str(one.get("instructions", "")) for one in every]


async def said(d: Doors, session_id: str) -> list[tuple[str, str]]:
    lines = await d.transcript(session_id)
    return [(one["entry_type"], one.get("text") or "") for one in lines]


# --- Before the cap -----------------------------------------------------------------------


async def test_before_the_cap_the_talk_goes_over_to_another_call_and_nobody_says_a_word(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, **CAP) as d:
        session_id, first = await d.talk()
        await first.user_says("My name is Ada.")
        await first.assistant_says("Hello, Ada.")
        want = await wanted(d, session_id)
        assert (want["reason"], want["beside"], want["seconds_remaining"]) == ("cap", True, 1)
        second = await another(d, session_id)
        moved = await d.until(session_id, "call.moved")
        assert moved["reason"] == "cap"
        await first.ended()
        assert told(second) == ["My name is Ada.", "Hello, Ada."]
        assert asked(second) == []
        await second.user_says("And what is yours?")
        await second.assistant_says("Marin.")
        await soon(lambda: second.session["audio"]["input"]["turn_detection"])
        await d.until(session_id, "assistant.done", 2)
        assert await said(d, session_id) == [
            ("user", "My name is Ada."),
            ("assistant", "Hello, Ada."),
            ("user", "And what is yours?"),
            ("assistant", "Marin."),
        ]
        assert not await d.events(session_id, "error")
        assert (await d.state(session_id))["state"] == "ready"


async def test_the_new_call_is_deaf_until_it_is_its_turn(tmp_path: Path) -> None:
    """A client's microphone may feed both: only one of them may answer."""
    async with doors(tmp_path, **CAP) as d:
        session_id, first = await d.talk()
        await wanted(d, session_id)
        await first.user_starts()
        second = await another(d, session_id)
        await second.attached()
        await soon(lambda: second.session["audio"]["input"]["turn_detection"] is None)
        assert not first.over
        await first.user_stops("Are you there?")
        await first.assistant_says("I am.")
        await d.until(session_id, "call.moved")
        await second.expect("input_audio_buffer.clear")
        await second.expect("session.update")
        assert second.session["audio"]["input"]["turn_detection"]["create_response"] is True
        assert told(second) == ["Are you there?", "I am."]
        assert asked(second) == []
        assert await said(d, session_id) == [("user", "Are you there?"), ("assistant", "I am.")]


async def test_an_answer_is_said_to_its_end_before_the_call_changes(tmp_path: Path) -> None:
    async with doors(tmp_path, **CAP) as d:
        session_id, first = await d.talk()
        await first.user_says("Tell me a story.")
        await wanted(d, session_id)
        await first.assistant_starts("Once upon a time there was a fox.")
        second = await another(d, session_id)
        await soon(lambda: second.conversation.ledger.items)
        await asyncio.sleep(0.4)  # longer than a pause has to be
        assert not first.over
        assert not await d.events(session_id, "call.moved")
        await first.assistant_finishes()
        await d.until(session_id, "call.moved")
        await first.ended()
        assert told(second) == ["Tell me a story.", "Once upon a time there was a fox."]
        [answer] = await d.events(session_id, "assistant.done")
        assert "interrupted" not in answer


@pytest.mark.parametrize("asked_for", ["wanted", "placed"])
async def test_a_call_that_the_provider_ends_while_the_next_is_on_its_way_is_not_the_end(
    tmp_path: Path, asked_for: str
) -> None:
    """Its own session expires sooner than we reckoned: by the error, then by the close."""
    async with doors(tmp_path, **CAP) as d:
        session_id, first = await d.talk()
        await first.user_says("My name is Ada.")
        await first.assistant_says("Hello, Ada.")
        await wanted(d, session_id)
        if asked_for == "placed":
            await first.user_starts()  # no pause: it cannot go over yet
            second = await another(d, session_id)
        cap = {"type": "invalid_request_error", "code": "session_expired", "message": "An hour."}
        await first.emit({"type": "error", "error": cap})
        await first.inject(Close(1000))
        if asked_for == "wanted":
            assert (await wanted(d, session_id, 2))["beside"] is False
            second = await another(d, session_id)
        await soon(lambda: told(second) == ["My name is Ada.", "Hello, Ada."])
        await soon(lambda: second.session["audio"]["input"]["turn_detection"])
        assert asked(second) == []
        await second.user_says("And what is yours?")
        await second.assistant_says("Marin.")
        await d.until(session_id, "assistant.done", 2)
        for never in ("session.ended", "session.expired", "notification"):
            assert not await d.events(session_id, never)


async def test_a_tool_that_runs_goes_over_with_the_talk_and_is_answered_once(
    tmp_path: Path,
) -> None:
    go = asyncio.Event()
    runs: list[int] = []

    @tool(category="test")
    async def ponder() -> str:
        """Thinks for a while."""
        runs.append(1)
        await go.wait()
        return "Forty-two."

    async with doors(tmp_path, tools=[ponder], **CAP) as d:
        session_id, first = await d.talk(tools_filter=["ponder"])
        await first.user_says("What is the answer?")
        await first.calls_tool("ponder", call_id="call_7")
        await d.until(session_id, "tool.started")
        await wanted(d, session_id)
        second = await another(d, session_id)
        await d.until(session_id, "call.moved")
        await first.ended()
        begun = await second.expect(
            "conversation.item.create", {"item": {"type": "function_call", "call_id": "call_7"}}
        )
        assert begun["item"]["name"] == "ponder"
        go.set()
        result = await second.expect(
            "conversation.item.create",
            {"item": {"type": "function_call_output", "call_id": "call_7"}},
        )
        assert "Forty-two" in result["item"]["output"]
        await second.expect("response.create")
        await second.assistant_says("Forty-two.")
        await d.until(session_id, "assistant.done")
        assert runs == [1]
        outputs = [
            f for f in first.received if f.get("item", {}).get("type", "").endswith("output")
        ]
        assert outputs == []


async def test_a_client_that_lets_go_of_the_old_call_early_loses_nothing(tmp_path: Path) -> None:
    async with doors(tmp_path, **CAP) as d:
        session_id, first = await d.talk()
        await first.user_says("Tell me a story.")
        await wanted(d, session_id)
        await first.assistant_starts("Once upon a time there was a fox.")
        second = await another(d, session_id)
        await first.browser_hangs_up()
        await d.until(session_id, "call.moved")
        [go_on] = await until_asked(second, 1)
        assert "Do not greet, do not apologise" in go_on
        assert (await d.state(session_id))["status"] == "active"


async def until_asked(call: ScriptedCall, count: int) -> list[str]:
    await soon(lambda: len(asked(call)) >= count)
    return asked(call)


# --- Another provider -----------------------------------------------------------------------


@asynccontextmanager
async def two(tmp_path: Path, **more: Any) -> AsyncIterator[tuple[Doors, ScriptedProvider]]:
    backup = ScriptedProvider(key="sk-backup-key", models=("other-model",))
    async with backup:
        others = {
            "backup": {"url": backup.base_url, "key": backup.key, "model": "other-model"},
        }
        given = {"other_providers": others, "fallbacks": ("backup",), **more}
        async with doors(tmp_path, **given) as d:
            yield d, backup
        shown = {one.shown for one in backup.requests}
        assert d.provider.key not in shown, "a key went to another provider"
        assert backup.key not in {one.shown for one in d.provider.requests}
        mine = {one.shown for one in d.provider.requests} - {d.provider.key}
        assert not mine & shown, "a secret went to another provider"


async def begin_at(backup: ScriptedProvider, d: Doors) -> tuple[str, ScriptedCall]:
    opened = await d.post("/session")
    assert (opened["provider"], opened["model"]) == ("backup", "other-model")
    await d.sdp(opened["client_secret"]["value"])
    call = await backup.next_call()
    await until_asked(call, 1)  # to say why it is not the other
    return opened["session_id"], call


@pytest.mark.parametrize(
    ("fault", "reason", "words"),
    [
        (HttpError(500, times=2), "unreachable", "does not answer"),
        (HttpError(401), "refused", "refuses us"),
        (HttpError(429, code="insufficient_quota"), "insufficient_quota", "has no quota left"),
    ],
)
async def test_a_provider_that_refuses_at_the_start_is_replaced_and_the_user_told_why(
    tmp_path: Path, fault: HttpError, reason: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.runtime.provider.openai._FAILED_WAIT", 0.0)
    async with two(tmp_path) as (d, backup):
        d.provider.inject(fault)
        session_id, call = await begin_at(backup, d)
        changed = await d.until(session_id, "provider.changed")
        assert (changed["provider"], changed["previous"]) == ("backup", "127.0.0.1")
        assert changed["reason"] == reason
        [line, *_] = await until_asked(call, 1)
        assert words in line
        assert "so I go on with backup" in line
        assert (await d.state(session_id))["provider"] == "backup"
        status = await d.get("/status")
        assert [(one["name"], one["sessions"]) for one in status["fallbacks"]] == [("backup", 1)]


async def test_one_that_takes_the_session_and_not_the_call_is_replaced_for_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.runtime.provider.openai._FAILED_WAIT", 0.0)
    async with two(tmp_path) as (d, backup):
        opened = await d.post("/session")
        assert opened["provider"] == "127.0.0.1"
        d.provider.inject(HttpError(500, times=2, path="realtime/calls"))
        assert (await d.sdp(opened["client_secret"]["value"])).status_code == 200
        call = await backup.next_call()
        assert "does not answer" in (await until_asked(call, 1))[0]
        assert call.authorised_by == "key"
        assert (await d.state(opened["session_id"]))["provider"] == "backup"


async def test_who_failed_a_moment_ago_is_not_asked_again_at_once(tmp_path: Path) -> None:
    async with two(tmp_path) as (d, backup):
        d.provider.inject(HttpError(401))
        await begin_at(backup, d)
        asked_before = len(d.provider.requests)
        await begin_at(backup, d)
        assert len(d.provider.requests) == asked_before


async def test_a_provider_that_dies_in_the_middle_of_an_answer_is_replaced(tmp_path: Path) -> None:
    async with two(tmp_path, sideband_delay=0.01) as (d, backup):
        session_id, first = await d.talk()
        await first.user_says("Tell me a story.")
        await first.assistant_starts("Once upon a time there was a fox.")
        await d.until(session_id, "assistant.speaking")
        d.provider.inject(RefuseAttach(times=100, status=500))
        d.provider.inject(HttpError(500, times=100, path="/realtime"))
        await first.inject(Drop())
        want = await wanted(d, session_id)
        assert (want["reason"], want["beside"], want["provider"]) == ("lost", False, "backup")
        assert "does not answer. One moment, I try backup" in want["message"]
        second = await another(d, session_id, backup)
        changed = await d.until(session_id, "provider.changed")
        assert changed["provider"] == "backup"
        line = (await until_asked(second, 1))[0]
        assert "so I go on with backup" in line
        await second.assistant_says("127.0.0.1 does not answer, so I go on with backup.")
        owed = (await until_asked(second, 2))[1]
        assert "has no whole answer" in owed
        words = await said(d, session_id)
        assert [who for who, _ in words] == ["user", "assistant", "assistant"]
        assert words[1][1] != "Once upon a time there was a fox."  # only what was heard
        assert told(second)[0] == "Tell me a story."


async def test_a_provider_whose_quota_is_spent_in_a_talk_is_replaced_at_once(
    tmp_path: Path,
) -> None:
    async with two(tmp_path) as (d, backup):
        session_id, first = await d.talk()
        await first.user_says("What time is it?")
        await first.response_fails("insufficient_quota", "You exceeded your current quota.")
        want = await wanted(d, session_id)
        assert (want["reason"], want["provider"]) == ("lost", "backup")
        assert "has no quota left" in want["message"]
        await first.ended()
        second = await another(d, session_id, backup)
        assert "has no quota left" in (await until_asked(second, 1))[0]
        await second.assistant_says("So I go on with backup.")
        assert "has no whole answer" in (await until_asked(second, 2))[1]
        assert told(second) == ["What time is it?"]


async def test_the_first_provider_speaks_again_when_it_is_asked_for(tmp_path: Path) -> None:
    async with two(tmp_path) as (d, backup):
        d.provider.inject(HttpError(401))
        session_id, first = await begin_at(backup, d)
        await first.assistant_says("So I go on with backup.")
        await d.until(session_id, "assistant.done")
        path = f"/sessions/{session_id}/provider"
        name = d.here.provider.name
        refused(await d.http.post(path, json={"provider": "nobody"}), 404, "not_found")
        assert (await d.post(path, {"provider": name}))["provider"] == "backup"
        want = await wanted(d, session_id)
        assert (want["reason"], want["beside"], want["provider"]) == ("provider", True, name)
        second = await another(d, session_id)
        moved = await d.until(session_id, "call.moved")
        assert (moved["reason"], moved["provider"]) == ("provider", name)
        changed = await d.until(session_id, "provider.changed", 2)
        assert (changed["provider"], changed["reason"]) == (name, "wanted")
        await first.ended()
        assert "This is" in (await until_asked(second, 1))[0]
        assert (await d.state(session_id))["model"] == "gpt-realtime"


async def test_use_the_backup_is_understood_by_itself_whatever_the_model_says(
    tmp_path: Path,
) -> None:
    async with two(tmp_path) as (d, backup):
        session_id, first = await d.talk()
        await first.user_says("Please switch to the backup.")
        await first.assistant_starts("I am afraid that I")
        await first.expect("response.cancel")
        assert "One moment, I go over to backup" in (await until_asked(first, 1))[0]
        assert (await wanted(d, session_id))["provider"] == "backup"
        await first.assistant_says("One moment, I go over to backup.")
        await another(d, session_id, backup)
        assert (await d.until(session_id, "provider.changed"))["provider"] == "backup"


async def test_one_that_does_not_take_the_talk_back_is_told_and_the_talk_goes_on(
    tmp_path: Path,
) -> None:
    async with two(tmp_path) as (d, backup):
        d.provider.inject(HttpError(401))
        session_id, first = await begin_at(backup, d)
        await first.assistant_says("So I go on with backup.")
        await d.until(session_id, "assistant.done")
        d.provider.inject(HttpError(401))
        await d.post(f"/sessions/{session_id}/provider", {"provider": d.here.provider.name})
        await wanted(d, session_id)
        query = {"session_id": session_id}
        refused(await d.http.get("/session/reconnect", params=query), 502, "openai_error")
        assert "so I stay with backup" in (await until_asked(first, 2))[-1]
        assert (await d.state(session_id))["provider"] == "backup"
        assert not first.over


async def test_a_written_message_is_answered_by_who_can(tmp_path: Path) -> None:
    async with two(tmp_path) as (d, backup):
        d.provider.inject(HttpError(401))
        session_id, _ = await begin_at(backup, d)
        await d.post(f"/sessions/{session_id}/end")
        conversation = (await d.get(f"/sessions/{session_id}"))["session"]["conversation_id"]

        async def answer() -> None:
            written = await backup.next_call()
            for words in ("So I go on with backup.", "I am here."):
                await written.expect("response.create")
                await written.assistant_says(words)

        async with asyncio.TaskGroup() as group:
            group.create_task(answer())
            path = f"/api/v1/conversations/{conversation}/messages"
            reply = await d.post(path, {"content": "Are you there?", "wait_seconds": 5})
        assert reply["reply"]["content"] == "I am here."
