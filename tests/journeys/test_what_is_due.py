"""Something on the list comes due: heard by who is there, told to who comes back, and told once,
whatever dies in between and however many servers there are."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.postgres import drop_database, new_database
from tests.intents.backend import UserBackend
from tests.journeys.embedded import by_websocket, embedded
from tests.journeys.process import Server
from tests.journeys.stage import Stage, frames, stage
from tests.journeys.test_tool_flows import heard, said
from tests.offers import OFFER
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall
from vivavoce.wire.records.talk import iso

SAID = "Here is your reminder: Call mum."


def soon(seconds: float = 2.0) -> str:
    return iso(datetime.now(UTC) + timedelta(seconds=seconds))


async def told(st: Stage, count: int = 1) -> list[dict[str, Any]]:
    """What was told, once it is."""
    async with asyncio.timeout(10):
        while True:
            found = (await st.get("/api/v1/reminders"))["reminders"]
            if sum(one["status"] == "told" for one in found) >= count:
                return list(found)
            await asyncio.sleep(0.05)


async def test_what_is_due_in_a_moment_is_spoken_in_the_call_and_seen_by_who_watches(
    tmp_path: Path,
) -> None:
    async with embedded(tmp_path, agent="flux") as st:
        session = await st.post("/session")
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            todo = await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon()})
            await heard(line, SAID)
            event = await watcher.wait_for("task.due")
            assert (event["task_id"], event["title"]) == (todo["id"], "Call mum")
            assert event["session_id"] == session["session_id"]
            (one,) = await told(st)
            assert one["task_id"] == todo["id"]
            await asyncio.sleep(1.5)  # and the next look finds nothing
            assert len(watcher.all("task.due")) == 1
            spoken = [one["transcript"] for one in watcher.all("transcription.completed")]
            assert spoken.count(SAID) == 1


async def test_what_came_due_while_nobody_was_there_begins_the_next_call(tmp_path: Path) -> None:
    async with embedded(tmp_path, agent="flux") as st:
        session = await st.post("/session")
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await line.until("response.done")
        await st.post(f"/sessions/{session['session_id']}/end")
        await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon(1)})
        pending: list[Any] = []
        async with asyncio.timeout(10):
            while not any(update["event"] == "task.due" for update in pending):
                answer = await st.get(
                    "/session/pending_updates", params={"session_id": session["session_id"]}
                )
                pending = answer["queued_updates"]
                await asyncio.sleep(0.1)
        (waiting,) = (await st.get("/api/v1/reminders", params={"waiting": True}))["reminders"]
        assert waiting["status"] == "waiting"
        again = await st.post("/session")
        async with by_websocket(st, again["client_secret"]["value"]) as line:
            await heard(line, SAID)
            await told(st)


async def test_what_was_read_is_not_told_any_more(tmp_path: Path) -> None:
    async with embedded(tmp_path, agent="flux") as st:
        await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon(0.5)})
        reminders: list[Any] = []
        async with asyncio.timeout(10):
            while not reminders:
                reminders = (await st.get("/api/v1/reminders?waiting=true"))["reminders"]
                await asyncio.sleep(0.05)
        seen = f"/api/v1/reminders/{reminders[0]['id']}/seen"
        assert (await st.http.post(seen, headers={"x-user-id": "bob"})).status_code == 404
        assert (await st.http.post(seen)).status_code == 204
        assert [one["status"] for one in await told(st)] == ["told"]
        session = await st.post("/session")
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await line.until("response.done")  # the greeting
            assert SAID not in said(line)


async def test_on_another_device_it_begins_with_where_they_were(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Let's plan the garden.")
        await call.assistant_says("The garden it is.")
        await watcher.wait_for("assistant.done")
        moved = await st.post(f"/sessions/{session['session_id']}/resume")
        call = await st.connect(moved["realtime"]["client_secret"]["value"])
        begun = await call.expect("response.create")
        assert "on another device" in begun["response"]["instructions"]


async def test_who_comes_back_later_is_not_told_of_another_device(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Let's plan the garden.")
        await watcher.wait_for("transcription.completed")
        await st.post(f"/sessions/{session['session_id']}/end")
        again = await st.post(f"/sessions/{session['session_id']}/resume")
        call = await st.connect(again["realtime"]["client_secret"]["value"])
        await call.user_says("Hello again")
        assert "on another device" not in str(call.received)


# --- Two lives of one server, and two servers ---------------------------------------------


def wanted(call: ScriptedCall) -> int:
    """How often it was asked to say it."""
    asked = [frame for frame in call.received if frame["type"] == "response.create"]
    return sum(SAID in str(frame) for frame in asked)


async def calling(server: Server, provider: ScriptedProvider) -> tuple[str, ScriptedCall]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        session = (await http.post("/session")).json()
        headers = {
            "content-type": "application/sdp",
            "authorization": f"Bearer {session['client_secret']['value']}",
        }
        assert (await http.post("/sdp", content=OFFER, headers=headers)).status_code == 200
        call = await provider.next_call()
        await call.attached()
        return session["session_id"], call


async def due_soon(server: Server, seconds: float = 2.0) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        todo = {"title": "Call mum", "scheduled_at": soon(seconds)}
        assert (await http.post("/api/v1/tasks", json=todo)).status_code == 201


async def announced(server: Server) -> list[dict[str, Any]]:
    """Every `task.due` of the log."""
    found = []
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        query = {"follow": "false", "subscribe": "task.due"}
        async with http.stream("GET", "/events", params=query) as response:
            async for kind, data, _ in frames(response):
                assert kind == "task.due"
                found.append(data)
    return found


async def statuses(server: Server) -> list[str]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        found = (await http.get("/api/v1/reminders")).json()["reminders"]
        return [one["status"] for one in found]


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.05)


async def test_a_server_that_is_killed_before_anyone_heard_it_tells_it_once_afterwards(
    tmp_path: Path,
) -> None:
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path)
        await server.start()
        _, call = await calling(server, provider)
        await due_soon(server)

        async def asked() -> bool:
            return wanted(call) == 1

        await until(asked)  # it is claimed, and on its way; no sound of it yet
        await server.stop(signal.SIGKILL)
        await server.start()
        await call.attached(timeout=20)

        async def asked_again() -> bool:
            return wanted(call) == 2

        await until(asked_again)
        assert await statuses(server) == ["waiting"]
        await call.assistant_says(SAID)

        async def told_now() -> bool:
            return await statuses(server) == ["told"]

        await until(told_now)
        await server.stop(signal.SIGKILL)
        await server.start()
        await call.attached(timeout=20)
        await asyncio.sleep(2.5)  # the looks of two seconds
        assert wanted(call) == 2
        assert len(await announced(server)) == 1
        await server.stop(signal.SIGTERM)


async def test_what_came_due_while_the_server_was_down_is_told_with_its_time(
    tmp_path: Path,
) -> None:
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path)
        await server.start()
        await due_soon(server, 1.5)
        await server.stop(signal.SIGKILL)
        await asyncio.sleep(2)
        await server.start()

        async def noted() -> bool:
            return await statuses(server) == ["waiting"]

        await until(noted)
        _, call = await calling(server, provider)
        create = await call.expect("response.create")
        assert SAID in str(create)
        await call.assistant_says(SAID)

        async def told_now() -> bool:
            return await statuses(server) == ["told"]

        await until(told_now)
        assert len(await announced(server)) == 1
        await server.stop(signal.SIGTERM)


@pytest.fixture
def database() -> Iterator[str]:
    url = new_database()
    yield url
    drop_database(url)


async def test_of_two_servers_on_one_database_one_tells_it(tmp_path: Path, database: str) -> None:
    async with ScriptedProvider() as provider:
        servers = []
        for name in ("one", "two"):
            (folder := tmp_path / name).mkdir()
            server = Server(provider, folder, VIVAVOCE_DATABASE_URL=database)
            await server.start()
            servers.append(server)
        calls = [(await calling(server, provider))[1] for server in servers]
        await due_soon(servers[0])

        async def asked() -> bool:
            return any(wanted(call) for call in calls)

        await until(asked)
        await asyncio.sleep(2.5)  # the other one looks, too
        assert sorted(wanted(call) for call in calls) == [0, 1]
        await next(call for call in calls if wanted(call)).assistant_says(SAID)

        async def told_now() -> bool:
            return await statuses(servers[1]) == ["told"]

        await until(told_now)
        await asyncio.sleep(1.5)
        assert sum(wanted(call) for call in calls) == 1
        assert len(await announced(servers[0])) == 1
        for server in servers:
            await server.stop(signal.SIGTERM)


async def test_who_has_a_call_at_one_server_hears_what_another_one_noted(
    tmp_path: Path, database: str
) -> None:
    async with (
        stage(tmp_path, database_url=database) as here,
        stage(tmp_path, database_url=database) as there,
    ):
        _, call, watcher = await there.talk()
        await here.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon(1)})
        create = await call.expect("response.create", timeout=20)
        assert SAID in str(create)
        await watcher.wait_for("task.due")


# --- Written, and to a backend ------------------------------------------------------------


async def test_who_writes_is_told_in_writing(tmp_path: Path) -> None:
    async with embedded(tmp_path, agent="flux") as st:
        begun = await st.post("/api/v1/conversations")
        await st.here.voice.say(begun["id"], "local", "Hello", wait=20)
        await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon(1)})
        await told(st)
        page = await st.get(f"/api/v1/conversations/{begun['id']}/messages")
        assert [one["content"] for one in page["messages"]].count(SAID) == 1


async def test_the_agents_backend_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_SECRET", "a secret of two")
    async with UserBackend().running() as backend:
        folder = tmp_path / "planner"
        folder.mkdir()
        (folder / "agent.yaml").write_text(
            "name: planner\norchestrator:\n"
            f'  url: {backend.url}\n  secret: "${{ORCHESTRATOR_SECRET}}"\n'
        )
        (folder / "prompt.md").write_text("You plan.")
        async with stage(tmp_path, agent=str(folder)) as st:
            await st.post("/api/v1/tasks", {"title": "Call mum", "scheduled_at": soon(1)})
            async with asyncio.timeout(10):
                while not backend.seen:
                    await asyncio.sleep(0.05)
            await asyncio.sleep(1.5)
            [message] = backend.seen
            assert (message.body["event"], message.body["title"]) == ("task.due", "Call mum")
            assert message.headers["webhook-signature"].startswith("v1,")
