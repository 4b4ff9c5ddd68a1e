"""Things that go wrong between two steps: no call is orphaned, nothing told too early."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.journeys.process import Server
from tests.journeys.stage import Stage, stage
from tests.offers import OFFER
from vivavoce.errors import InternalError, Unavailable
from vivavoce.session.events import Flush
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.faults import Close, HttpError
from vivavoce.wire.realtime.facts import UserSpeechStarted
from vivavoce.wire.records.talk import Announce, Change, LogEvent, PutConversation, PutSession


class Gate:
    """Holds something up until it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def __call__(self, offer: str = "") -> str:
        self.reached.set()
        await self.open.wait()
        return "v=0\r\n"


def sdp(st: Stage, key: str) -> Any:
    headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
    return st.http.post("/sdp", content=OFFER, headers=headers)


async def test_a_session_that_ends_while_it_connects_leaves_no_call_behind(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with stage(tmp_path, ScriptedProvider(answer=gate)) as st:
        session = await st.post("/session")
        async with asyncio.TaskGroup() as group:
            connecting = group.create_task(sdp(st, session["client_secret"]["value"]))
            await gate.reached.wait()
            await st.post(f"/sessions/{session['session_id']}/end")
            gate.open.set()
        response: httpx.Response = connecting.result()
        assert response.status_code == 404
        await (await st.provider.next_call()).ended()


async def test_a_store_that_fails_while_connecting_leaves_no_call_behind(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session = await st.post("/session")

        async def broken(*_: object, **__: object) -> tuple[list[Any], bool]:
            raise Unavailable("The store cannot be reached.")

        st.here.store.messages_before = broken  # type: ignore[method-assign]
        assert (await sdp(st, session["client_secret"]["value"])).status_code == 503
        await (await st.provider.next_call()).ended()


async def test_a_store_that_is_away_for_a_while_loses_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        commit, failures = st.here.store.commit, 3

        async def shaky(changes: Sequence[Change]) -> list[LogEvent]:
            nonlocal failures
            if failures:
                failures -= 1
                raise Unavailable("The store cannot be reached.")
            return await commit(changes)

        st.here.store.commit = shaky  # type: ignore[method-assign]
        await call.user_says("Are you still writing this down?")
        await watcher.wait_for("transcription.completed")
        assert failures == 0
        detail = await st.get(f"/sessions/{session['session_id']}")
        assert detail["transcript"][0]["text"] == "Are you still writing this down?"


async def test_a_flood_waits_for_a_busy_store_and_shares_its_commits(tmp_path: Path) -> None:
    async with stage(tmp_path, session_inbox=64) as st:
        session, _, _ = await st.talk()
        live = st.here.voice.live(session["session_id"], "local")
        assert live is not None
        gate, commit, posted = Gate(), st.here.store.commit, 0
        commits: list[list[Change]] = []

        async def busy(changes: Sequence[Change]) -> list[LogEvent]:
            commits.append(list(changes))
            await gate()
            return await commit(changes)

        async def flood() -> None:
            nonlocal posted
            for number in range(4000):
                await live.post(UserSpeechStarted(f"item_{number}"))
                posted += 1

        st.here.store.commit = busy  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as group:
            group.create_task(flood())
            await gate.reached.wait()
            before = -1
            while before != posted:
                before = posted
                for _ in range(20):
                    await asyncio.sleep(0)
            assert 1000 < posted < 2000
            gate.open.set()
        assert await live.submit(Flush())
        told = [c.event.data for each in commits for c in each if isinstance(c, Announce)]
        heard = [event["item_id"] for event in map(orjson.loads, told) if "item_id" in event]
        assert heard == [f"item_{number}" for number in range(4000)]
        for changes in commits:  # the session and its conversation: once, as they are by then
            kinds = [type(change) for change in changes]
            assert (kinds.count(PutSession), kinds.count(PutConversation)) == (1, 1)
        assert len(commits) < 40


async def test_an_end_that_the_store_refuses_at_first_is_stored_all_the_same(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Goodbye.")
        await watcher.wait_for("transcription.completed")
        commit, refused = st.here.store.commit, False

        async def once_broken(changes: Sequence[Change]) -> list[LogEvent]:
            nonlocal refused
            if not refused and any(isinstance(change, PutSession) for change in changes):
                refused = True
                raise InternalError("The store could not do this.")
            return await commit(changes)

        st.here.store.commit = once_broken  # type: ignore[method-assign]
        await st.post(f"/sessions/{session['session_id']}/end")
        assert refused
        assert (await watcher.wait_for("session.ended"))["reason"] == "user_ended"
        stored = (await st.get("/sessions"))["sessions"]
        assert [one["status"] for one in stored] == ["completed"]


async def test_one_broken_session_does_not_take_the_others_along(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        broken, _, _ = await st.talk()
        _, call, watcher = await st.talk()
        live = st.here.voice.live(broken["session_id"], "local")
        assert live is not None

        def fail(*_: object) -> list[Any]:
            raise ZeroDivisionError

        live.machine.receive = fail  # type: ignore[assignment]
        ended = await st.http.post(f"/sessions/{broken['session_id']}/end")
        assert ended.status_code == 200
        await call.user_says("I am still here.")
        await watcher.wait_for("transcription.completed")
        assert (await st.http.post("/session")).status_code == 200


async def test_a_relayed_call_is_recorded_before_it_is_accepted(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, _, _ = await st.talk()
        body = {"call_id": "call_1", "name": "wait", "arguments": '{"seconds": 30}'}
        await st.post("/webhook/tool-call", body, headers={"x-session-id": session["session_id"]})
        assert (await st.get("/tasks/call_1"))["status"] == "started"


async def test_shutting_down_does_not_wait_for_a_tool_in_the_background(tmp_path: Path) -> None:
    async with stage(tmp_path, shutdown_seconds=0.5) as st:
        session, _, _ = await st.talk()
        body = {"call_id": "call_1", "name": "wait", "arguments": '{"seconds": 300}'}
        await st.post("/webhook/tool-call", body, headers={"x-session-id": session["session_id"]})
        st.listener.should_exit = True
        async with asyncio.timeout(20):  # the tool would take five minutes
            while st.here.background.tasks:
                await asyncio.sleep(0.02)


async def test_a_resume_that_the_provider_refuses_leaves_the_live_call_alone(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        st.provider.inject(HttpError(401))
        refused = await st.http.post(f"/sessions/{session['session_id']}/resume")
        assert refused.status_code == 502
        await call.user_says("Still talking.")
        await watcher.wait_for("transcription.completed")


async def test_a_resume_takes_the_seat_of_the_session_it_takes_over(tmp_path: Path) -> None:
    async with stage(tmp_path, max_sessions=1) as st:
        session, _, _ = await st.talk()
        assert (await st.http.post("/session")).status_code == 503
        await st.post(f"/sessions/{session['session_id']}/resume")
        assert len(st.here.registry) == 1


async def test_two_resumes_at_once_leave_one_live_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, _, _ = await st.talk()
        path = f"/sessions/{session['session_id']}/resume"
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(st.http.post(path)) for _ in range(2)]
        assert [task.result().status_code for task in both] == [200, 200]
        assert len(st.here.registry) == 1


@pytest.mark.full
async def test_a_session_that_cannot_be_picked_up_does_not_keep_others_from_it(
    tmp_path: Path,
) -> None:
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path)
        await server.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            ids = []
            for tools in (["calculate"], None):
                session = (await http.post("/session", json={"tools_filter": tools})).json()
                key = session["client_secret"]["value"]
                headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
                await http.post("/sdp", content=OFFER, headers=headers)
                await (await provider.next_call()).attached()
                ids.append(session["session_id"])
            await server.stop(signal.SIGKILL)
            agent = tmp_path / "modest"
            agent.mkdir()
            (agent / "agent.yaml").write_text("name: modest\ntools: [current_time]\n")
            (agent / "prompt.md").write_text("Be modest.\n")
            server.set("VIVAVOCE_AGENT", str(agent))
            await server.start()
            found = (await http.get("/sessions")).json()["sessions"]
            status = {one["id"]: one["status"] for one in found}
            assert [status[session_id] for session_id in ids] == ["error", "active"]
        await server.stop(signal.SIGINT)


async def test_a_line_that_only_flickers_ends_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path, sideband_delay=0.2) as st:
        _, call, watcher = await st.talk()

        async def flickers() -> None:
            while True:  # on a busy machine one may seem to have held
                await call.attached(timeout=60)
                await call.inject(Close(1011))
                await call.detached()

        async with asyncio.TaskGroup() as group:
            flickering = group.create_task(flickers())
            assert (await watcher.wait_for("session.ended"))["reason"] == "error"
            flickering.cancel()


async def test_a_clients_copy_under_the_servers_own_ids_is_the_same_transcript(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        await call.user_says("Only once.")
        await watcher.wait_for("transcription.completed")
        path = f"/sessions/{session['session_id']}"
        [entry] = (await st.get(path))["transcript"]
        for name in (entry["id"], entry["item_id"]):
            copy = {"id": name, "entry_type": "user", "text": "Only once."}
            await st.post(f"{path}/transcript", {"entries": [copy]})
        assert (await st.get(path))["session"]["turn_count"] == 1


async def test_changes_in_quick_succession_are_all_ours(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        session, call, watcher = await st.talk()
        path = f"/config/session/{session['session_id']}"
        async with asyncio.TaskGroup() as group:
            for n in range(6):
                group.create_task(st.http.patch(path, json={"instructions": f"Say {n}."}))
        await call.user_says("Are we still connected?")
        await watcher.wait_for("transcription.completed")
        assert not watcher.all("error")
