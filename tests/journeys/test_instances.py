"""Several servers on one PostgreSQL, each a process of its own, beside a provider that is none of
them: what one leaves, however it goes, another takes up, and nothing is lost, doubled or told
twice."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.brain.chat_server import Reply, event, serving
from tests.brain.chat_server import call as chunk
from tests.contract.postgres import drop_database, new_database
from tests.journeys.process import Server
from tests.journeys.stage import Watcher
from tests.offers import OFFER
from tests.server.doors import soon
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall

TAKEN = 15.0
"""Seconds in which whatever a dead server looked after has to be looked after again."""


@pytest.fixture
def database() -> Iterator[str]:
    url = new_database()
    yield url
    drop_database(url)


class Fleet:
    """The servers, by name."""

    def __init__(self, provider: ScriptedProvider, folder: Path, database: str) -> None:
        self.provider, self._folder, self._database = provider, folder, database
        self.servers: dict[str, Server] = {}

    def make(self, name: str, **settings: str) -> Server:
        folder = self._folder / f"{name}-{len(self.servers)}"
        folder.mkdir()
        settings.setdefault("VIVAVOCE_INSTANCE", name)
        settings.setdefault("VIVAVOCE_DATABASE_URL", self._database)
        return Server(self.provider, folder, **settings)

    async def start(self, *names: str, **settings: str) -> list[Server]:
        made = []
        for name in names:
            server = self.servers[name] = self.make(name, **settings)
            await server.start()
            made.append(server)
        return made

    def running(self) -> list[Server]:
        return [server for server in self.servers.values() if server.running]

    async def stop(self) -> None:
        for server in self.servers.values():
            if server.running:
                await server.stop(signal.SIGKILL)


@asynccontextmanager
async def fleet(folder: Path, database: str) -> AsyncIterator[Fleet]:
    async with ScriptedProvider() as provider:
        servers = Fleet(provider, folder, database)
        try:
            yield servers
        finally:
            await servers.stop()


def client(server: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=30)


async def begin(
    server: Server, provider: ScriptedProvider, *, by: Server | None = None
) -> tuple[str, ScriptedCall]:
    """A session with its call, which may be placed by way of another server."""
    async with client(server) as http:
        session = (await http.post("/session")).json()
    headers = {
        "content-type": "application/sdp",
        "authorization": f"Bearer {session['client_secret']['value']}",
    }
    async with client(by or server) as http:
        answer = await http.post("/sdp", content=OFFER, headers=headers)
        assert answer.status_code == 200, answer.text
    call = await provider.next_call()
    await call.attached()
    await call.expect("session.update")
    return session["session_id"], call


@asynccontextmanager
async def watching(server: Server, session_id: str, after: int = 0) -> AsyncIterator[Watcher]:
    """The session's events as this server tells them, from a position on."""
    watcher, headers = Watcher(), {"x-session-id": session_id, "last-event-id": str(after)}
    async with (
        client(server) as http,
        http.stream("GET", "/events", headers=headers, timeout=None) as response,
        asyncio.TaskGroup() as group,
    ):
        assert response.status_code == 200, await response.aread()
        reading = group.create_task(watcher.read(response))
        yield watcher
        reading.cancel()


async def transcript(server: Server, session_id: str) -> list[str]:
    async with client(server) as http:
        detail = (await http.get(f"/sessions/{session_id}")).json()
    return [entry["text"] for entry in detail["transcript"]]


async def exchange(call: ScriptedCall, watcher: Watcher, number: int) -> None:
    """Something is said, and something answered, and both are told."""
    before = len(watcher.all("assistant.done"))
    await call.user_says(f"Question {number}")
    await call.assistant_says(f"Answer {number}")
    await watcher.until(lambda: len(watcher.all("assistant.done")) > before, TAKEN)


async def test_a_killed_servers_session_goes_on_at_another(tmp_path: Path, database: str) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await exchange(call, watcher, 1)
            await one.stop(signal.SIGKILL)
            killed = time.monotonic()
            moved = await _within(watcher, "session.moved", TAKEN)
            await call.attached(timeout=TAKEN)
            assert time.monotonic() - killed < TAKEN
            assert (moved["reason"], moved["left_by"], moved["owner"]) == ("lost", "one", "two")
            await exchange(call, watcher, 2)
            positions = [position for _, _, position in watcher.seen if position]
        assert positions == sorted(set(positions)), "an event is told twice"
        said = ["Question 1", "Answer 1", "Question 2", "Answer 2"]
        assert await transcript(two, session_id) == said
        assert not call.over
        async with client(two) as http:  # it is its own now, and ends there
            ended = await http.post(f"/sessions/{session_id}/end")
            assert ended.status_code == 200, ended.text
        await call.ended()


async def test_a_server_that_was_only_slow_writes_nothing_and_ends(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await exchange(call, watcher, 1)
            one.signal(signal.SIGSTOP)
            await _within(watcher, "session.moved", TAKEN)
            await call.attached(2, timeout=TAKEN)  # the slow one does not know yet
            one.signal(signal.SIGCONT)
            assert await one.ended() == 1
            await exchange(call, watcher, 2)
            assert watcher.all("session.ended") == []
        assert await transcript(two, session_id) == [
            "Question 1",
            "Answer 1",
            "Question 2",
            "Answer 2",
        ]
        assert not call.over
        assert "has taken over" in one.log()


async def test_a_drained_server_hands_its_calls_over_and_none_is_dropped(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await exchange(call, watcher, 1)
            await call.user_starts()  # nobody is handed over in the middle of a word
            async with asyncio.TaskGroup() as group:
                ending = group.create_task(one.stop(signal.SIGTERM))
                async with client(one) as http:
                    ready = await _status(http, "/ready", 503)
                    assert "shutting down" in ready["message"]
                    assert (await http.post("/session")).status_code == 503
                assert not ending.done()
                await call.user_stops("Question 2")
                await call.assistant_says("Answer 2")
                moved = await _within(watcher, "session.moved", TAKEN)
                assert await ending == 0
            assert (moved["reason"], moved["owner"]) == ("drained", "two")
            await call.attached(timeout=TAKEN)
            await exchange(call, watcher, 3)
            assert watcher.all("session.ended") == []
        said = [f"{who} {number}" for number in (1, 2, 3) for who in ("Question", "Answer")]
        assert await transcript(two, session_id) == said
        assert not call.over


async def test_the_last_server_ends_its_calls_in_order(tmp_path: Path, database: str) -> None:
    async with fleet(tmp_path, database) as servers:
        (one,) = await servers.start("one")
        _, call = await begin(one, servers.provider)
        assert await one.stop(signal.SIGTERM) == 0
        await call.ended()


async def test_the_same_name_twice_is_refused(tmp_path: Path, database: str) -> None:
    async with fleet(tmp_path, database) as servers:
        await servers.start("one")
        twin = servers.make("one")
        with pytest.raises(AssertionError, match="named one and runs"):
            await twin.start()


async def test_a_killed_server_has_its_name_and_its_sessions_again(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        (one,) = await servers.start("one")
        session_id, call = await begin(one, servers.provider)
        await one.stop(signal.SIGKILL)
        await one.start()
        await call.attached()
        async with watching(one, session_id) as watcher:
            await exchange(call, watcher, 1)
            assert watcher.all("session.moved") == []


async def test_a_key_a_change_and_a_message_find_the_server_that_runs_the_session(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider, by=two)
        async with client(two) as http:
            changed = await http.patch(f"/config/session/{session_id}", json=BRIEF)
            assert changed.status_code == 200, changed.text
            assert changed.json()["updated"] == ["instructions"]
            await call.expect("session.update")
            told = (await http.get(f"/sessions/{session_id}")).json()
            path = f"/api/v1/conversations/{told['session']['conversation_id']}/messages"
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(
                    http.post(path, json={"content": "Which day is it?", "wait_seconds": 10})
                )
                await call.expect("response.create")
                await call.assistant_says("Saturday.")
                answer = await asking
            assert answer.status_code < 300, answer.text
            assert "Saturday." in answer.text
        assert await transcript(one, session_id) == ["Which day is it?", "Saturday."]


async def test_a_key_that_nobody_handed_out_opens_nothing_anywhere(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        async with client(one) as http:
            key = (await http.post("/session")).json()["client_secret"]["value"]
        forged = f"{key[:10]}{'A' * 20}{key[30:]}"
        async with client(two) as http:
            for wrong in (forged, key[:-1] + "x", "ek_nothing"):
                headers = {"content-type": "application/sdp", "authorization": f"Bearer {wrong}"}
                answer = await http.post("/sdp", content=OFFER, headers=headers)
                assert answer.status_code == 401, answer.text


BRIEF = {"instructions": "Be brief."}
DELETE = {"command": "rm notes.txt"}


async def until_asked(server: Server) -> str:
    """The question that waits, as this server tells it."""
    async with client(server) as http, asyncio.timeout(10):
        while True:
            found = (await http.get("/approvals")).json()["approvals"]
            if found:
                return str(found[0]["id"])
            await asyncio.sleep(0.02)


async def say_yes(server: Server, approval_id: str) -> httpx.Response:
    async with client(server) as http:
        return await http.post(f"/approvals/{approval_id}", json={"granted": True})


async def test_a_yes_at_another_server_counts_once_where_it_was_asked(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await call.calls_tool("bash", DELETE)
            asked = await until_asked(two)
            await call.expect("response.create")
            # The question is being said: the result comes after it.
            await call.assistant_says("I want to delete notes.txt. May I? Yes or no?")
            answers = await asyncio.gather(say_yes(one, asked), say_yes(two, asked))
            codes = [answer.status_code for answer in answers]
            assert 200 in codes, [answer.text for answer in answers]
            assert set(codes) <= {200, 409}
            await call.expect("conversation.item.create")
            assert len(watcher.all("approval.resolved")) == 1
            assert watcher.all("approval.resolved")[0]["granted"]


async def test_what_a_dead_server_asked_is_answered_once_and_runs_nothing(
    tmp_path: Path, database: str
) -> None:
    """Whoever says yes while nobody knows yet hears that nobody waits; then it is a no, and the
    call that asked has its one answer."""
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await call.calls_tool("bash", DELETE)
            asked = await until_asked(two)
            await one.stop(signal.SIGKILL)
            early = await say_yes(two, asked)
            assert early.status_code == 409, early.text
            await _within(watcher, "session.moved", TAKEN)
            assert (await say_yes(two, asked)).status_code == 409
            resolved = await _within(watcher, "approval.resolved", TAKEN)
            assert (resolved["granted"], resolved["by"]) == (False, "restart")
            output = await call.expect("conversation.item.create", timeout=TAKEN)
            assert output["item"]["type"] == "function_call_output"
            assert "not known" in output["item"]["output"] or "unknown" in output["item"]["output"]
            assert len(watcher.all("approval.resolved")) == 1
        async with client(two) as http:
            assert (await http.get("/approvals")).json()["count"] == 0


class Talker:
    """Somebody who talks on one call and notes things down, and does not notice that servers come
    and go: whoever does not answer is asked elsewhere."""

    def __init__(self, servers: Fleet, session_id: str, call: ScriptedCall) -> None:
        self.servers, self.session_id, self.call = servers, session_id, call
        self.acknowledged: list[str] = []
        self.said = 0

    async def talk(self, over: asyncio.Event) -> None:
        while not over.is_set():
            with suppress(AssertionError):  # nobody is attached for a moment
                await self.call.attached(timeout=TAKEN)
                await self.call.user_says(f"Question {self.said}")
                await self.call.assistant_says(f"Answer {self.said}")
                self.said += 1
            await self.note()
            await asyncio.sleep(0.2)

    async def note(self) -> None:
        number = len(self.acknowledged)
        entry = {"id": f"note-{number}", "entry_type": "system", "text": f"Note {number}"}
        path = f"/sessions/{self.session_id}/transcript"
        for server in self.servers.running():
            with suppress(httpx.HTTPError):
                async with client(server) as http:
                    answer = await http.post(path, json={"entries": [entry]})
                if answer.status_code == 200:
                    self.acknowledged.append(entry["text"])
                    return


async def disturb(servers: Fleet, name: str, how: signal.Signals) -> None:
    """One goes, and comes back a little later."""
    server = servers.servers[name]
    await server.stop(how)
    await asyncio.sleep(1)
    await server.start()


@pytest.mark.parametrize(
    ("talkers", "seconds"),
    [(6, 30), pytest.param(30, 600, marks=pytest.mark.full)],
)
@pytest.mark.timeout(1500)
async def test_servers_are_killed_and_drained_at_random_under_talking_sessions(
    talkers: int, seconds: float, tmp_path: Path, database: str
) -> None:
    """No call is dropped, none is left without a server, and nothing acknowledged is lost or
    there twice."""
    chance, names = random.Random(20260131), ("one", "two", "three")
    async with fleet(tmp_path, database) as servers:
        await servers.start(*names, VIVAVOCE_DRAIN_SECONDS="3")
        spread = [servers.servers[names[number % 3]] for number in range(talkers)]
        begun = [await begin(server, servers.provider) for server in spread]
        every = [Talker(servers, *each) for each in begun]
        over, until = asyncio.Event(), time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for talker in every:
                group.create_task(talker.talk(over))
            while time.monotonic() < until:
                how = chance.choice((signal.SIGKILL, signal.SIGTERM))
                await disturb(servers, chance.choice(names), how)
                await asyncio.sleep(chance.uniform(0, 2))
            settled = time.monotonic()
            for talker in every:
                await talker.call.attached(timeout=TAKEN)
            assert time.monotonic() - settled < TAKEN
            over.set()
        assert not [talker for talker in every if talker.call.over], "a call was dropped"
        for talker in every:
            await _judge(talker, servers.running()[0])


async def test_a_task_of_a_killed_server_goes_on_at_another_and_ends_once(
    tmp_path: Path, database: str
) -> None:
    """Its agent was in the middle of a thought: what was recorded stays done, the thought is had
    again."""
    async with (
        serving(Reply(hangs=True), [event(content="The port is 8080.")]) as brain,
        fleet(tmp_path, database) as servers,
    ):
        named = {"VIVAVOCE_BRAIN": brain.url, "VIVAVOCE_BRAIN_MODEL": "m"}
        one, two = await servers.start("one", "two", **named)
        session_id, _ = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            body = {"arguments": {"instruction": "Find the port", "agent": "explorer"}}
            async with client(one) as http:
                headers = {"x-session-id": session_id}
                begun = await http.post("/execute/task", json=body, headers=headers)
                assert begun.status_code == 200, begun.text
            async with asyncio.timeout(20):
                while not brain.asked:
                    await asyncio.sleep(0.05)
            await one.stop(signal.SIGKILL)
            done = await _within(watcher, "task.completed", 2 * TAKEN)
            assert "8080" in done["summary"]
            assert len(watcher.all("task.delegated")) == 1
            assert len(watcher.all("task.completed")) == 1
        assert len(brain.asked) == 2
        async with client(two) as http:
            [task] = (await http.get("/tasks")).json()["tasks"]
            assert task["status"] == "completed"


async def _judge(talker: Talker, server: Server) -> None:
    texts = await transcript(server, talker.session_id)
    notes = [text for text in texts if text.startswith("Note")]
    assert sorted(notes) == sorted(set(notes)), "an entry is doubled"
    assert set(talker.acknowledged) <= set(notes), "an acknowledged entry is missing"
    said = [text for text in texts if not text.startswith("Note")]
    assert len(said) == len(set(said)), "something said is there twice"
    assert talker.said > 0
    async with client(server) as http:
        told = (await http.get(f"/sessions/{talker.session_id}")).json()
        assert told["session"]["status"] == "active"
        pending = await http.get(
            "/session/pending_updates", params={"session_id": talker.session_id, "since": 0}
        )
    positions = [update["id"] for update in pending.json()["queued_updates"]]
    assert positions == sorted(set(positions))


async def _within(watcher: Watcher, kind: str, seconds: float) -> dict[str, Any]:
    await watcher.until(lambda: bool(watcher.all(kind)), seconds)
    return watcher.all(kind)[0]


async def _status(http: httpx.AsyncClient, path: str, status: int) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while (answer := await http.get(path)).status_code != status:
            await asyncio.sleep(0.02)
    body: dict[str, Any] = answer.json()
    return body


async def test_sound_over_a_websocket_is_begun_where_its_key_is_from_and_others_say_where(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        async with client(one) as http:
            key = (await http.post("/session")).json()["client_secret"]["value"]
        headers = {"authorization": f"Bearer {key}"}
        async with client(two) as http:
            answer = await http.post("/audio", headers=headers)
        assert answer.status_code == 409, answer.text
        assert answer.json()["error"]["details"]["owner"] == "one", answer.text
        async with client(one) as http:  # the key is not spent
            answer = await http.post("/audio", headers=headers)
        assert "WebRTC only" in answer.text, answer.text


async def test_a_session_is_polled_moved_and_come_back_to_by_way_of_any_server(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        of = f"?session_id={session_id}"
        async with client(one) as near, client(two) as far:
            await call.user_says("Good morning.")
            await call.assistant_says("Good morning.")
            every = [(await http.get(f"/session{of}")).json() for http in (near, far)]
            for name in ("state", "voice_session_active", "amplifier_connected"):
                assert every[0][name] == every[1][name], name
            assert every[1]["voice_session_active"] is True
            move = {"provider": "nobody"}
            answer = await far.post(f"/sessions/{session_id}/provider", json=move)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
            move = {"provider": every[0]["provider"]}
            answer = await far.post(f"/sessions/{session_id}/provider", json=move)
            assert answer.status_code == 200, answer.text
            again = (await far.get(f"/session/reconnect{of}")).json()
            assert again["session_id"] == session_id, "it is the same session"
            key = {"authorization": f"Bearer {again['ephemeral_key']}"}
            headers = {"content-type": "application/sdp", **key}
            assert (await far.post("/sdp", content=OFFER, headers=headers)).status_code == 200
            second = await servers.provider.next_call()
            await second.attached()
            await second.expect("session.update")
            await call.ended()
            shown = (await far.get(f"/sessions/{session_id}")).json()
            assert shown["session"]["status"] == "active"


async def test_what_a_session_may_use_is_the_same_at_every_server(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        async with client(one) as near, client(two) as far:
            only = {"tools_filter": ["current_time"]}
            opened = (await near.post("/session", json=only)).json()
            session_id = opened["session_id"]
            for http in (near, far):
                headers = {"x-session-id": session_id}
                sum_of = {"arguments": {"expression": "1+1"}}
                answer = await http.post("/execute/calculate", json=sum_of, headers=headers)
                assert answer.status_code in (403, 404), answer.text
                answer = await http.post("/execute/current_time", json={}, headers=headers)
                assert answer.json()["success"], answer.text
            call = {"call_id": "rtc_nobody_has"}
            path = f"/api/v1/voice/session/{session_id}/call"
            codes = [(await http.post(path, json=call)).status_code for http in (far, near)]
            assert codes == [204, 204], "the owner was asked to listen in, and told once more"


def _asking(folder: Path) -> Path:
    """An agent whose model may ask the user itself."""
    agent = Path(
        shutil.copytree(Path(__file__).parents[2] / "agents" / "workbench", folder / "asking")
    )
    file = agent / "agent.yaml"
    file.write_text(file.read_text().replace(', "!ask_user"', ""))
    return agent


async def test_an_answer_at_another_server_reaches_the_tool_that_asked(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        asking = _asking(tmp_path)
        one, two = await servers.start("one", "two", VIVAVOCE_AGENT=str(asking))
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher, client(two) as http:
            await call.calls_tool("ask_user", {"question": "The blue one or the red one?"})
            asked = await watcher.wait_for("task.question")
            await call.expect("response.create")
            await call.assistant_says("The blue one or the red one?")
            path = f"/tasks/{asked['task_id']}/answer"
            wrong = {"answer": "The red one.", "question_id": "q_of_another"}
            assert (await http.post(path, json=wrong)).status_code == 409
            eve = {"x-user-id": "eve"}
            assert (await http.post(path, json={"answer": "No"}, headers=eve)).status_code == 404
            answer = await http.post(path, json={"answer": "The blue one."})
            assert answer.status_code == 200, answer.text
            where = {"item": {"type": "function_call_output"}}
            output = await call.expect("conversation.item.create", where)
            assert "The blue one." in output["item"]["output"]
            assert (await http.post(path, json={"answer": "The red one."})).status_code == 404


@pytest.mark.parametrize("left", [True, False])
async def test_a_task_that_ends_at_one_server_is_told_in_the_session_at_another(
    tmp_path: Path, database: str, left: bool
) -> None:
    """The user has left the session it is from, or said something in the other one since."""
    asks = chunk(id="c1", name="ask_user", arguments='{"question": "Which file?"}')
    async with (
        serving([asks], [event(content="The port is 8080.")]) as brain,
        fleet(tmp_path, database) as servers,
    ):
        named = {"VIVAVOCE_BRAIN": brain.url, "VIVAVOCE_BRAIN_MODEL": "m"}
        one, two = await servers.start("one", "two", **named)
        first, old = await begin(one, servers.provider)
        async with client(one) as http:
            body = {"arguments": {"instruction": "Find the port", "agent": "explorer"}}
            headers = {"x-session-id": first}
            assert (await http.post("/execute/task", json=body, headers=headers)).is_success
            async with watching(one, first) as watcher:
                asked = await watcher.wait_for("task.question")
            if left:
                assert (await http.post(f"/sessions/{first}/end")).is_success
        second, call = await begin(two, servers.provider)
        here = second if left else first
        async with watching(two, here) as watcher, client(two) as http:
            await call.user_says("Use the config.")
            await call.assistant_says("I pass it on.")
            put = {"answer": "config.toml"}
            answer = await http.post(f"/tasks/{asked['task_id']}/answer", json=put)
            assert answer.status_code == 200, answer.text
            done = await _within(watcher, "task.completed", TAKEN)
            assert done["session_id"] == here
            await soon(lambda: _told(call))
            assert len(_told(call)) == 1
            assert _told(old) == []


def _told(call: ScriptedCall) -> list[dict[str, Any]]:
    """Where the news of it was put into the talk."""
    made = [one for one in call.received if one["type"] == "conversation.item.create"]
    return [one for one in made if "The port is 8080." in str(one)]
