"""A provider that misbehaves: what the user meets, and that nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.stage import stage
from tests.offers import OFFER
from vivavoce.testing.provider import ScriptedProvider, canned_answer
from vivavoce.testing.realtime.call import ScriptedCall
from vivavoce.testing.realtime.faults import BadJson, Close, Drop, Garbage, HttpError, RefuseAttach
from vivavoce.wire.realtime.facts import InputCommitted, UserTranscript

QUICK: dict[str, Any] = {"sideband_delay": 0.05}


def outputs(call: ScriptedCall, call_id: str) -> list[str]:
    return [
        frame["item"]["output"]
        for frame in call.received
        if frame["type"] == "conversation.item.create" and frame["item"].get("call_id") == call_id
    ]


@pytest.mark.parametrize(
    "fault", [Drop(), Close(1012), Close(1011)], ids=lambda f: type(f).__name__
)
async def test_a_lost_sideband_comes_back_and_the_conversation_goes_on(
    fault: Drop | Close, tmp_path: Path
) -> None:
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        await call.user_says("One.")
        await watcher.wait_for("transcription.completed")
        await call.inject(fault)
        states = ["reconnecting", "ready"]
        await watcher.until(
            lambda: [told["state"] for told in watcher.all("session.status")][-2:] == states
        )
        shown = [told["webrtc_state"] for told in watcher.all("connection.status")]
        assert shown == ["connecting", "connected"], "the sideband is not the client's connection"
        await call.attached()
        await call.assistant_says("Two.")
        await watcher.wait_for("assistant.done")
        detail = await st.get(f"/sessions/{session['session_id']}")
        assert [entry["text"] for entry in detail["transcript"]] == ["One.", "Two."]
        assert detail["session"]["status"] == "active"


async def test_a_result_that_comes_while_the_line_is_down_is_sent_once_it_is_back(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, **QUICK) as st:
        _, call, watcher = await st.talk()
        await call.calls_tool("wait", {"seconds": 1}, call_id="call_1")
        await watcher.wait_for("tool.started")
        st.provider.inject(RefuseAttach(2))
        await call.inject(Drop())
        await call.expect(
            "conversation.item.create", where=lambda f: f["item"].get("call_id") == "call_1"
        )
        await call.expect("response.create")
        assert len(outputs(call, "call_1")) == 1


async def test_a_sideband_that_does_not_come_back_ends_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        st.provider.inject(RefuseAttach(5))
        await call.inject(Drop())
        assert (await watcher.wait_for("session.ended"))["reason"] == "error"
        assert watcher.all("error")[-1]["code"] == "openai_error"
        detail = await st.get(f"/sessions/{session['session_id']}")
        assert detail["session"]["status"] == "error"


async def test_an_early_attach_that_finds_no_call_yet_is_tried_again(tmp_path: Path) -> None:
    async with stage(tmp_path, **QUICK) as st:
        st.provider.inject(RefuseAttach(3))
        _, call, watcher = await st.talk()
        await call.user_says("There you are.")
        assert (await watcher.wait_for("transcription.completed"))["role"] == "user"


async def test_a_clean_close_is_a_hang_up(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.browser_hangs_up()
        assert (await watcher.wait_for("session.ended"))["reason"] == "user_ended"
        detail = await st.get(f"/sessions/{session['session_id']}")
        assert detail["session"]["status"] == "completed"


@pytest.mark.parametrize("fault", [BadJson(), Garbage()], ids=lambda f: type(f).__name__)
async def test_a_frame_that_is_not_the_protocol_is_told_and_survived(
    fault: BadJson | Garbage, tmp_path: Path
) -> None:
    async with stage(tmp_path) as st:
        _, call, watcher = await st.talk()
        await call.inject(fault)
        assert (await watcher.wait_for("error"))["recoverable"] is True
        await call.user_says("Still there?")
        await watcher.wait_for("transcription.completed")


async def test_a_provider_that_is_down_is_a_502_in_words(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        st.provider.inject(HttpError(401, times=1))
        response = await st.http.post("/session")
        assert response.status_code == 502
        error = response.json()["error"]
        assert error["code"] == "openai_error"
        assert (st.provider.key or "") not in response.text
        assert error["request_id"] == response.headers["x-request-id"]


async def test_the_browser_gets_a_new_call_for_the_same_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Remember the blue bicycle.")
        await watcher.wait_for("transcription.completed")
        again = await st.get("/session/reconnect", headers={"x-session-id": session["session_id"]})
        assert again["session_id"] == session["session_id"]
        second = await st.connect(again["ephemeral_key"])
        seeded = await second.expect("conversation.item.create")
        assert seeded["item"]["content"][0]["text"] == "Remember the blue bicycle."
        greeting = await second.expect("response.create")
        assert "back" in greeting["response"]["instructions"]
        await call.ended()


async def test_a_used_key_opens_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, _, _ = await st.talk()
        headers = {
            "content-type": "application/sdp",
            "authorization": f"Bearer {session['client_secret']['value']}",
        }
        response = await st.http.post("/sdp", content=OFFER, headers=headers)
        assert response.status_code == 401


async def test_what_the_page_saw_of_an_outage_is_stored_once_whoever_tells_of_it(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        path = f"/sessions/{session['session_id']}/transcript"
        await call.user_says("One.")
        await watcher.wait_for("transcription.completed")
        shown = await st.get(f"/sessions/{session['session_id']}")
        heard = shown["transcript"][0]["item_id"]
        missed = {"item_id": "item_missed", "entry_type": "user", "text": "Two."}
        again = {"item_id": heard, "entry_type": "user", "text": "One."}
        for _ in range(2):
            await st.post(path, {"entries": [again, missed]})
        # The sideband hears of it after all.
        live = st.here.registry.get(session["session_id"])
        assert live is not None
        await live.post(InputCommitted("item_missed", heard))
        await live.submit(UserTranscript("item_missed", "Two."))
        shown = await st.get(f"/sessions/{session['session_id']}")
        assert [entry["text"] for entry in shown["transcript"]] == ["One.", "Two."]


async def test_words_that_the_page_handed_in_are_not_taken_for_unheard_at_the_end(
    tmp_path: Path,
) -> None:
    """The sideband saw that something was said, and broke before the words came."""
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        path = f"/sessions/{session['session_id']}"
        item = await call.user_says("Buy a kite.", transcript="late")
        await watcher.wait_for("speech.stopped")
        await call.inject(Drop())
        entry = {"item_id": item, "entry_type": "user", "text": "Buy a kite."}
        await st.post(f"{path}/transcript", {"entries": [entry]})
        told = await watcher.wait_for("transcription.completed")
        assert (told["item_id"], told["transcript"]) == (item, "Buy a kite.")
        await st.post(f"{path}/end")
        shown = await st.get(path)
        assert [entry["text"] for entry in shown["transcript"]] == ["Buy a kite."]


async def test_an_answer_whose_end_only_the_page_saw_was_heard_to_its_end(tmp_path: Path) -> None:
    async with stage(tmp_path, **QUICK) as st:
        session, call, watcher = await st.talk()
        path = f"/sessions/{session['session_id']}"
        await call.assistant_says("It flies very high.", played=False)
        await watcher.wait_for("assistant.speaking")
        await call.inject(Drop())
        item = call.conversation.ledger.last_item
        entry = {"item_id": item, "entry_type": "assistant", "text": "It flies very high."}
        await st.post(f"{path}/transcript", {"entries": [entry]})
        await watcher.wait_for("assistant.done")
        await st.post(f"{path}/end")
        [kept] = (await st.get(path))["transcript"]
        assert (kept["text"], kept.get("interrupted")) == ("It flies very high.", None)


async def test_a_call_that_was_given_up_does_not_come_before_the_next_one(tmp_path: Path) -> None:
    """The first offer took so long that the client got another key and placed another call."""
    offered, slow = asyncio.Event(), asyncio.Event()

    async def answer(offer: str) -> str:
        if not offered.is_set():
            offered.set()
            await slow.wait()
        return await canned_answer(offer)

    async with stage(tmp_path, ScriptedProvider(answer=answer), **QUICK) as st:
        session = await st.post("/session")
        bearer = {"authorization": f"Bearer {session['client_secret']['value']}"}
        headers = {"content-type": "application/sdp", **bearer}
        first = st.group.create_task(st.http.post("/sdp", content=OFFER, headers=headers))
        await offered.wait()
        again = await st.get("/session/reconnect", headers={"x-session-id": session["session_id"]})
        second = await st.connect(again["ephemeral_key"])
        slow.set()
        assert (await first).status_code == 409
        given_up = await st.provider.next_call()
        await given_up.ended()
        assert not second.over
        live = st.here.registry.get(session["session_id"])
        assert live is not None
        assert live.records.session.call_id == second.id
