"""A trace for every turn: on the stream, in the session, in the metrics, after a restart."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.journeys.process import Server
from tests.journeys.stage import Stage, Watcher, stage
from tests.offers import OFFER
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall

STAGES = ("end_of_turn", "transcript", "first_token", "first_clause", "first_sound", "last_sound")


async def turns_of(st: Stage, session: dict[str, Any]) -> list[dict[str, Any]]:
    detail = await st.get(f"/sessions/{session['session_id']}")
    turns: list[dict[str, Any]] = detail["turns"]
    return turns


def shown(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the session shows of them: all but whose they are and when they came."""
    return [{k: v for k, v in e.items() if k not in ("session_id", "timestamp")} for e in events]


async def ask(call: ScriptedCall, watcher: Watcher, text: str, answer: str) -> None:
    traced = len(watcher.all("turn.traced"))
    await call.user_says(text)
    await call.assistant_says(answer)
    await watcher.wait_for("turn.traced", traced + 1)


async def test_a_turn_is_traced_on_the_stream_in_the_session_and_in_the_metrics(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        assert await turns_of(st, session) == []
        await ask(call, watcher, "What time is it?", "It's 2:30, in the afternoon.")
        await ask(call, watcher, "Thank you.", "You're welcome.")
        traced = watcher.all("turn.traced")
        assert await turns_of(st, session) == shown(traced)
        first, second = traced
        assert (first["began_with"], first["outcome"]) == ("speech", "completed")
        assert set(first) >= {f"{stage}_ms" for stage in STAGES}
        assert first["speech_end"] < second["speech_end"]
        assert not set(first["response_ids"]) & set(second["response_ids"])
        entries = (await st.get(f"/sessions/{session['session_id']}"))["transcript"]
        assert [e["item_id"] for e in entries] == first["item_ids"] + second["item_ids"]
        assert "welcome" not in str(traced)

        text = (await st.http.get("/metrics")).text
        assert 'vivavoce_turns_total{began_with="speech",outcome="completed"} 2.0' in text
        for name in STAGES:
            counted = rf'vivavoce_turn_seconds_count{{began_with="speech",stage="{name}"}} 2.0'
            assert re.search(counted, text), name


async def test_a_turn_that_is_spoken_over_is_traced_as_interrupted(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Tell me everything.")
        await call.assistant_starts("It all began, as such things do, with a small")
        await watcher.wait_for("assistant.speaking")
        await call.user_says("Stop.")
        await watcher.wait_for("turn.traced")
        await call.assistant_says("Of course.")
        await watcher.wait_for("turn.traced", 2)
        turns = await turns_of(st, session)
        assert [turn["outcome"] for turn in turns] == ["interrupted", "completed"]
        assert turns[0]["first_sound_ms"] <= turns[0]["last_sound_ms"]


async def test_a_tool_and_the_answer_to_it_are_one_turn(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("What is six times seven?")
        await call.calls_tool("calculate", {"expression": "6*7"}, call_id="call_42")
        await call.expect("response.create")
        await call.assistant_says("Forty-two.")
        await watcher.wait_for("turn.traced")
        (turn,) = await turns_of(st, session)
        assert turn["tools"] == ["calculate"]
        assert (len(turn["response_ids"]), len(turn["item_ids"])) == (2, 3)
        assert "6*7" not in str(turn)


async def test_a_typed_turn_is_traced_from_its_text(tmp_path: Path) -> None:
    async with stage(tmp_path, peer_text="allow") as st:
        session, call, watcher = await st.talk()
        content = [{"type": "input_text", "text": "Hello?"}]
        item = {"type": "message", "role": "user", "content": content}
        await call.peer_sends({"type": "conversation.item.create", "item": item})
        await call.assistant_says("Hello.")
        await watcher.wait_for("turn.traced")
        (turn,) = await turns_of(st, session)
        assert (turn["began_with"], turn["end_of_turn_ms"]) == ("text", 0)
        assert "transcript_ms" not in turn


async def test_a_session_that_ends_in_the_middle_of_an_answer_tells_its_last_turn(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Tell me everything.")
        await call.assistant_starts("It all began, as such things do, with a small")
        await watcher.wait_for("assistant.speaking")
        await st.post(f"/sessions/{session['session_id']}/end")
        await watcher.wait_for("session.ended")
        assert [turn["outcome"] for turn in await turns_of(st, session)] == ["interrupted"]


@pytest.mark.full
async def test_a_kill_in_the_middle_loses_at_most_the_turn_that_was_not_over(
    tmp_path: Path,
) -> None:
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path)
        await server.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            session = (await http.post("/session")).json()
            headers = {
                "content-type": "application/sdp",
                "authorization": f"Bearer {session['client_secret']['value']}",
            }
            assert (await http.post("/sdp", content=OFFER, headers=headers)).status_code == 200
            call = await provider.next_call()
            await call.attached()
            await call.user_says("One?")
            await call.assistant_says("One.")
            before = await _traced(http, session["session_id"], 1)
            await call.user_says("Two?")
            await call.assistant_starts("Two, and")
            await server.stop(signal.SIGKILL)
            await call.detached()
            await server.start()
            await call.attached(timeout=10)
            await call.assistant_finishes()
            await call.user_says("Three?")
            await call.assistant_says("Three.")
            after = await _traced(http, session["session_id"], 2)
        await server.stop(signal.SIGTERM)
    assert after[:1] == before
    assert [turn["outcome"] for turn in after] == ["completed", "completed"]


async def _traced(http: httpx.AsyncClient, session_id: str, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(10):
        while True:
            turns: list[dict[str, Any]] = (await http.get(f"/sessions/{session_id}")).json()[
                "turns"
            ]
            if len(turns) >= count:
                return turns
            await asyncio.sleep(0.01)
