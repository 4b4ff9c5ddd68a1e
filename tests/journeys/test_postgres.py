"""Two servers on one PostgreSQL: what happens in one is seen in the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.postgres import drop_database, new_database
from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.stage import stage
from vivavoce.brain.script.script import Rule, Script
from vivavoce.testing.engine import ScriptedEars


@pytest.fixture
def database() -> Iterator[str]:
    url = new_database()
    yield url
    drop_database(url)


async def test_a_watcher_at_one_server_sees_a_talk_at_the_other(
    tmp_path: Path, database: str
) -> None:
    async with (
        stage(tmp_path, database_url=database) as here,
        stage(tmp_path, database_url=database) as there,
    ):
        session, call, own = await here.talk()
        afar = await there.watch(session["session_id"], after=0)
        await call.user_says("Is anybody there?")
        await call.assistant_says("Everybody.")
        await own.wait_for("assistant.done")
        await afar.wait_for("assistant.done")
        durable = [(kind, position) for kind, _, position in own.seen if position]
        assert [(kind, position) for kind, _, position in afar.seen if position] == durable
        detail = await there.get(f"/sessions/{session['session_id']}")
        texts = [entry["text"] for entry in detail["transcript"]]
        assert texts == ["Is anybody there?", "Everybody."]


@pytest.mark.full
async def test_a_session_that_is_ended_at_one_server_ends_at_the_one_that_runs_it(
    tmp_path: Path, database: str
) -> None:
    async with (
        stage(tmp_path, database_url=database) as here,
        stage(tmp_path, database_url=database) as there,
    ):
        session, call, own = await here.talk()
        ended = await there.post(f"/sessions/{session['session_id']}/end")
        await call.ended()
        await own.wait_for("session.ended")
        assert ended["session"]["status"] == "completed"
        assert [kind for kind, _, _ in own.seen].count("session.ended") == 1


async def test_a_conversation_goes_on_at_another_server(tmp_path: Path, database: str) -> None:
    async with stage(tmp_path, database_url=database) as here:
        session, call, watcher = await here.talk()
        await call.user_says("My bicycle is blue.")
        await watcher.wait_for("transcription.completed")
    async with stage(tmp_path, database_url=database) as there:
        resumed = await there.post(f"/sessions/{session['session_id']}/resume", {"voice": "ash"})
        assert resumed["session_id"] == session["session_id"]
        assert resumed["realtime"]["voice"] == "ash"
        call = await there.connect(resumed["realtime"]["client_secret"]["value"])
        told = await call.expect("conversation.item.create")
        assert told["item"]["content"][0]["text"] == "My bicycle is blue."


async def test_a_call_of_the_engine_inside_ends_with_its_server_and_goes_on_at_another(
    tmp_path: Path, database: str
) -> None:
    """Its sound goes through the server: its client is told, and finds the conversation there."""
    script = Script(rules=(Rule(when="hello", say="Good evening."),))
    async with stage(tmp_path, database_url=database) as there:
        async with embedded(
            tmp_path, script=script, ears=ScriptedEars(["hello"]), database_url=database
        ) as here:
            session = await here.post("/session")
            afar = await there.watch(session["session_id"], after=0)
            async with by_websocket(here, session["client_secret"]["value"]) as line:
                await afar.wait_for("session.started")
                await line.speak()
                await afar.wait_for("assistant.done")
                here.listener.should_exit = True
                moved = await afar.wait_for("session.moved")
                ended = await afar.wait_for("session.ended")
            assert (moved["reason"], "owner" in moved) == ("drained", False)
            assert ended["reason"] == "completed"
        path = f"/session/reconnect?session_id={session['session_id']}"
        again = await there.get(path)
        call = await there.connect(again["ephemeral_key"])
        told = await call.expect("conversation.item.create")
        assert told["item"]["content"][0]["text"] == "hello"
