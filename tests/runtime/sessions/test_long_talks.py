"""Long conversations: what a call begins with, what goes while it lasts, what is kept of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.sessions.speaking import agent_folder
from tests.server.doors import Doors, doors
from vivavoce.language.en.gist import Gist, gist_of
from vivavoce.runtime.sessions import summaries
from vivavoce.session.context import SUMMARY
from vivavoce.session.state import Phase
from vivavoce.testing import ScriptedCall
from vivavoce.wire.records.talk import Conversation

DECISION = "Let's use PostgreSQL with two replicas."
Json = dict[str, Any]


def told(call: ScriptedCall) -> list[str]:
    """The words of the messages that the model was given, in order."""
    made = [frame["item"] for frame in call.received if frame["type"] == "conversation.item.create"]
    return [part["text"] for item in made for part in item.get("content", ())]


def three_hundred_turns() -> list[Json]:
    said: list[Json] = []
    for n in range(300):
        user = DECISION if n == 3 else f"Tell me a little more about chapter {n} of that book."
        at = f"2026-01-31T{10 + n // 60:02}:{n % 60:02}"
        said += [
            {"entry_type": "user", "text": user, "timestamp": f"{at}:00Z"},
            {
                "entry_type": "assistant",
                "text": f"Chapter {n} is about a house by the sea, and who lived in it.",
                "timestamp": f"{at}:20Z",
            },
        ]
    return said


async def tracked(d: Doors, entries: list[Json]) -> str:
    session_id: str = (await d.post("/sessions"))["session_id"]
    for at in range(0, len(entries), 100):
        body = {"entries": entries[at : at + 100]}
        await d.post(f"/sessions/{session_id}/transcript", body)
    return session_id


async def until_kept(d: Doors, of: str, fits: Callable[[Conversation], bool]) -> Conversation:
    async with asyncio.timeout(20):
        while True:
            kept = await d.here.store.conversation(of, user_id="local")
            if kept is not None and fits(kept):
                return kept
            await asyncio.sleep(0.01)


async def test_a_restore_of_three_hundred_turns_knows_the_decision_of_the_third(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, context_tokens=8_000) as d:
        old = await tracked(d, three_hundred_turns())
        restored = await d.post("/session/restore", {"prev_session_id": old})
        assert DECISION.rstrip(".") in restored["context_summary"]
        call = await d.connect(restored["ephemeral_key"])
        await call.expect("response.create")
        words = told(call)
        assert DECISION.rstrip(".") in words[0]
        assert words[0].startswith("Previous conversation summary:")
        assert words[-1].startswith("Chapter 299 ")
        assert len(words) > 21  # the ten turns are a minimum


async def test_where_all_of_it_fits_all_of_it_is_told(tmp_path: Path) -> None:
    async with doors(tmp_path, context_tokens=128_000) as d:
        old = await tracked(d, three_hundred_turns())
        restored = await d.post("/session/restore", {"prev_session_id": old})
        call = await d.connect(restored["ephemeral_key"])
        await call.expect("response.create")
        words = told(call)
        assert len(words) == 600
        assert DECISION in words


async def test_a_reconnect_takes_nothing_from_the_model_that_fits(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, call = await d.talk()
        for n in range(15):
            await call.user_says(f"Question {n}, please.")
            await call.assistant_says(f"Answer {n}.")
        await until_transcribed(d, session_id, 30)
        again = await d.get("/session/reconnect", headers={"x-session-id": session_id})
        other = await d.connect(again["ephemeral_key"])
        await other.expect("response.create")
        words = told(other)
        assert len(words) == 30
        assert (words[0], words[-1]) == ("Question 0, please.", "Answer 14.")


async def until_transcribed(d: Doors, session_id: str, count: int) -> None:
    async with asyncio.timeout(10):
        while len(await d.transcript(session_id)) < count:
            await asyncio.sleep(0.001)


async def at_rest(d: Doors, session_id: str) -> None:
    """The last answer has come to its end there, and so has what it led to."""
    live = d.here.registry.get(session_id)
    assert live is not None
    async with asyncio.timeout(10):
        while live.phase is not Phase.READY or live.machine.state.sideband.leaving:
            await asyncio.sleep(0.001)


async def test_in_a_long_call_items_go_between_responses_and_a_summary_comes(
    tmp_path: Path,
) -> None:
    agent = agent_folder(tmp_path, tools=[], restore={"turns": 4})
    async with doors(tmp_path, agent=agent, context_tokens=1_000) as d:
        session_id, theirs = await d.talk()
        during: set[str] = set()
        for n in range(45):
            await theirs.user_says(DECISION if n == 3 else f"And what about number {n}?")
            before = len(theirs.received)
            await theirs.assistant_starts(f"Number {n} is fine.")
            await until_transcribed(d, session_id, 2 * n + 1)
            during |= {frame["type"] for frame in theirs.received[before:]}
            await theirs.assistant_finishes()
            await until_transcribed(d, session_id, 2 * n + 2)
            await at_rest(d, session_id)
        summary = await theirs.expect(
            "conversation.item.create", lambda f: f["item"]["id"].startswith(SUMMARY)
        )
        assert summary["previous_item_id"] == "root"
        assert DECISION.rstrip(".") in summary["item"]["content"][0]["text"]
        await theirs.expect("conversation.item.delete")
        items = theirs.conversation.ledger.items
        assert len(items) < 70
        assert next(iter(items)) == summary["item"]["id"]
        assert "conversation.item.delete" not in during
        assert [event for event in theirs.emitted if event["type"] == "error"] == []
        await theirs.user_says("Are you there?")  # it goes on as before
        await theirs.assistant_says("I am.")
        await until_transcribed(d, session_id, 92)


async def test_what_was_said_is_summed_up_and_the_talk_gets_its_title(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, theirs = await d.talk()
        await theirs.user_says("Hello, could you help me plan a garden party?")
        await theirs.assistant_says("Gladly. How many guests?")
        await theirs.user_says("Twenty. Let's have it in the park.")
        await theirs.assistant_says("The park it is.")
        await d.until(session_id, "transcription.completed", 4)
        of = (await d.state(session_id))["conversation_id"]
        await d.post(f"/sessions/{session_id}/end")
        kept = await until_kept(d, of, lambda one: one.gist is not None)
        gist = gist_of(kept.gist)
        assert "Let's have it in the park." in gist.decisions
        assert kept.title == "Plan a garden party"
        (listed,) = (await d.get("/sessions"))["sessions"]
        assert listed["title"] == "Plan a garden party"
        (shown,) = (await d.get("/api/v1/conversations"))["conversations"]
        assert shown["title"] == "Plan a garden party"


async def test_a_title_that_somebody_chose_stays(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        made = await d.post("/sessions", {"title": "My talk"})
        session_id = made["session_id"]
        entries = [
            {"entry_type": "user", "text": "Let's paint the house."},
            {"entry_type": "assistant", "text": "All right."},
        ]
        await d.post(f"/sessions/{session_id}/transcript", {"entries": entries})
        await d.here.summaries.keep_up(session_id)
        of = (await d.state(session_id))["conversation_id"]
        kept = await until_kept(d, of, lambda one: one.gist is not None)
        assert kept.title == "My talk"


async def test_what_a_client_tells_later_of_long_ago_is_summed_up_too(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        late = {"entry_type": "user", "text": DECISION, "timestamp": "2026-01-31T09:00:00Z"}
        session_id = await tracked(d, three_hundred_turns()[:6])
        await d.here.summaries.keep_up(session_id)
        of = (await d.state(session_id))["conversation_id"]
        await until_kept(d, of, lambda one: one.gist is not None)
        await d.post(f"/sessions/{session_id}/transcript", {"entries": [late]})
        await d.here.summaries.keep_up(session_id)
        kept = await until_kept(d, of, lambda one: bool(gist_of(one.gist).decisions))
        assert DECISION in gist_of(kept.gist).decisions


async def test_a_deleted_conversation_does_not_come_back_with_its_summary(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id = await tracked(d, three_hundred_turns()[:6])
        of = (await d.state(session_id))["conversation_id"]
        await d.here.library.delete(of, "local")
        await d.here.summaries.keep_up(session_id)
        assert await d.here.store.conversation(of, user_id="local") is None


def test_an_empty_gist_is_empty() -> None:
    assert gist_of(Gist().to_json()).empty


async def test_of_a_talk_that_nobody_could_have_led_only_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "_MOST_READ", 30_000)
    monkeypatch.setattr(summaries, "_PAGE", 50)
    async with doors(tmp_path, agent=agent_folder(tmp_path)) as d:
        session_id = await tracked(d, three_hundred_turns())
        (known,) = (await d.get("/api/v1/conversations"))["conversations"]
        talk = await d.here.store.conversation(known["id"], user_id="local")
        assert talk is not None
        found, whole = await summaries.looked_back(d.here.store, talk, Gist(), 1_000)
        assert not whole
        assert 30_000 < sum(len(one.text) for one in found) < 40_000
        assert found[-1].text.startswith("Chapter 299")
        assert (await d.http.post(f"/sessions/{session_id}/resume", json={})).status_code == 200
