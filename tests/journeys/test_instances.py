"""Several servers on one PostgreSQL, each a process of its own, beside a provider that is none of
them: what one leaves, however it goes, another takes up, and nothing is lost, doubled or told
twice."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.brain.chat_server import Reply, event, serving
from tests.brain.chat_server import call as chunk
from tests.contract.postgres import drop_database, new_database
from tests.journeys.process import Server
from tests.journeys.stage import Watcher, frames
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
        self._http: dict[str, httpx.AsyncClient] = {}

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

    def http(self, server: Server) -> httpx.AsyncClient:
        """One for each: to make one takes longer than to ask."""
        if server.url not in self._http:
            limits = httpx.Limits(max_connections=None)
            self._http[server.url] = httpx.AsyncClient(
                base_url=server.url, timeout=httpx.Timeout(30, pool=None), limits=limits
            )
        return self._http[server.url]

    def running(self) -> list[Server]:
        return [server for server in self.servers.values() if server.running]

    async def stop(self) -> None:
        for http in self._http.values():
            await http.aclose()
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
    await call.expect("session.update", timeout=TAKEN)
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
            await call.expect("session.update", timeout=TAKEN)
            told = (await http.get(f"/sessions/{session_id}")).json()
            path = f"/api/v1/conversations/{told['session']['conversation_id']}/messages"
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(
                    http.post(path, json={"content": "Which day is it?", "wait_seconds": 10})
                )
                await call.expect("response.create", timeout=TAKEN)
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
            await call.expect("response.create", timeout=TAKEN)
            # The question is being said: the result comes after it.
            await call.assistant_says("I want to delete notes.txt. May I? Yes or no?")
            answers = await asyncio.gather(say_yes(one, asked), say_yes(two, asked))
            codes = [answer.status_code for answer in answers]
            assert 200 in codes, [answer.text for answer in answers]
            assert set(codes) <= {200, 409}
            await call.expect("conversation.item.create", timeout=TAKEN)
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
    """Somebody who talks on one call, uses a tool now and then and notes things down, and does not
    notice that servers come and go: whoever does not answer is asked elsewhere."""

    def __init__(self, servers: Fleet, session_id: str, call: ScriptedCall, seed: int) -> None:
        self.servers, self.session_id, self.call = servers, session_id, call
        self.acknowledged: list[str] = []
        self.said: list[Said] = []
        self.asked: list[tuple[str, float]] = []
        """Tools, and when."""
        self.alone: list[tuple[float, float]] = []
        """When nobody listened in on the call: since when, and until when."""
        self.taken: list[float] = []
        """When it heard that another server has it, since the first was silent: perhaps only slow,
        and then it listened and stored nothing."""
        self.told: list[int] = []
        """The positions of the events that it was told."""
        self._chance = random.Random(seed)

    async def talk(self, over: asyncio.Event) -> None:
        number = 0
        while not over.is_set():
            with suppress(AssertionError, TimeoutError):  # nobody listens in for a moment
                await self.call.attached(timeout=TAKEN)
                await self._turn(number)
            number += 1
            await self._note()
            await asyncio.sleep(self._chance.uniform(*PAUSES))

    async def _turn(self, number: int) -> None:
        talk = self.call.conversation
        if number % 6 == 5:
            self.asked.append((f"call_{number}", time.monotonic()))
            await self.call.calls_tool("current_time", {"time_zone": "UTC"}, f"call_{number}")
            return
        question = talk.user_says(f"Question {number}")
        self._remember(question[0]["item_id"], "user", f"Question {number}")
        await self.call.emit(*question)
        answer = talk.assistant_says(f"Answer {number}")
        begun = next(one for one in answer if one["type"] == "response.output_item.added")
        self._remember(begun["item"]["id"], "assistant", f"Answer {number}")
        await self.call.emit(*answer)

    def _remember(self, item_id: str, who: str, text: str) -> None:
        self.said.append(Said(item_id, who, text, time.monotonic()))

    async def _note(self) -> None:
        number = len(self.acknowledged)
        entry = {"id": f"note-{number}", "entry_type": "system", "text": f"Note {number}"}
        path = f"/sessions/{self.session_id}/transcript"
        for server in self.servers.running():
            with suppress(httpx.HTTPError):
                answer = await self.servers.http(server).post(path, json={"entries": [entry]})
                if answer.status_code == 200:
                    self.acknowledged.append(entry["text"])
                    return

    async def listened_to(self) -> None:
        """Notes when nobody is."""
        while True:
            await self.call.detached(timeout=LONG)
            since = time.monotonic()
            await self.call.attached(timeout=LONG)
            self.alone.append((since, time.monotonic()))

    async def watch(self) -> None:
        """Reads events at any server, and goes on at another after the last one seen."""
        while True:
            if running := self.servers.running():
                http = self.servers.http(self._chance.choice(running))
                headers = {"x-session-id": self.session_id}
                headers["last-event-id"] = str(self.told[-1] if self.told else 0)
                with suppress(httpx.HTTPError):
                    async with http.stream("GET", "/events", headers=headers) as response:
                        await self._read(response)
            await asyncio.sleep(0.1)

    async def _read(self, response: httpx.Response) -> None:
        if response.status_code == 200:
            async for kind, told, position in frames(response):
                assert kind != "stream.reset", "the log forgot something"
                if kind == "session.moved" and told["reason"] == "lost":
                    self.taken.append(time.monotonic())
                if position is not None:
                    self.told.append(position)

    def surely_heard(self, at: float) -> bool:
        """Somebody listened in then, and for long enough to store it."""
        silent = [(moment - TAKEN, moment) for moment in self.taken]
        return not any(since - SURE < at < until for since, until in (*self.alone, *silent))


@dataclass
class Said:
    """As the page saw it on its data channel."""

    item_id: str
    who: str
    text: str
    at: float


class Trouble:
    """Whoever comes and goes, and how often."""

    def __init__(self, servers: Fleet, chance: random.Random) -> None:
        self._servers, self._chance = servers, chance
        self.killed: list[float] = []
        self.drained: list[float] = []
        self.gave_up = 0

    async def once(self) -> None:
        """One goes, and comes back a little later. One that was too slow ends by itself, and has
        to be started again, as any supervisor does."""
        for server in self._servers.servers.values():
            if not server.running:
                self.gave_up += 1
                await server.start()
        server = self._servers.servers[self._chance.choice(NAMES)]
        if self._chance.random() < 0.5:
            self.killed.append(time.monotonic())
            await server.stop(signal.SIGKILL)
        else:
            self.drained.append(time.monotonic())
            assert await server.stop(signal.SIGTERM) == 0, server.log()[-2000:]
        await asyncio.sleep(1)
        await server.start()
        await asyncio.sleep(self._chance.uniform(0, 2))

    def last_before(self, moment: float) -> float:
        return max((at for at in (*self.killed, *self.drained) if at < moment), default=0.0)


NAMES = ("one", "two", "three")
PAUSES = (1.5, 5.0)
"""Seconds between what one says and says next."""
SURE = 3.0
"""Seconds in which a server that lives stores what it heard, on a busy machine."""
LONG = 3600.0
UNLIMITED = {
    "VIVAVOCE_DRAIN_SECONDS": "3",
    "VIVAVOCE_USER_STREAMS": "0",
    "VIVAVOCE_USER_SYNCS_PER_MINUTE": "0",
}


@pytest.mark.parametrize(
    ("talkers", "seconds"),
    [(4, 8), pytest.param(30, 600, marks=pytest.mark.full)],
)
@pytest.mark.timeout(1800)
async def test_servers_are_killed_and_drained_at_random_under_talking_sessions(
    talkers: int, seconds: float, tmp_path: Path, database: str
) -> None:
    """No call is dropped, none is left without a server, nothing acknowledged is lost or there
    twice, and every reader sees every event once."""
    chance = random.Random(20260131)
    async with fleet(tmp_path, database) as servers:
        await servers.start(*NAMES, **UNLIMITED)
        spread = [servers.servers[NAMES[number % 3]] for number in range(talkers)]
        begun = [await begin(server, servers.provider) for server in spread]
        every = [Talker(servers, *each, seed) for seed, each in enumerate(begun)]
        trouble, over = Trouble(servers, chance), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(one.watch()) for one in every]
            beside += [group.create_task(one.listened_to()) for one in every]
            talking = [group.create_task(talker.talk(over)) for talker in every]
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                await trouble.once()
            with suppress(TimeoutError):  # who is still alone then is counted
                async with asyncio.timeout(TAKEN):
                    for talker in every:
                        if not talker.call.over:
                            await talker.call.attached(timeout=TAKEN)
            over.set()
            await asyncio.wait(talking)
            await asyncio.sleep(SURE)  # what was said a moment ago is stored in a moment
            judged = Judged(servers, trouble)
            for talker in every:
                await judged.look_at(talker)
            for task in beside:
                task.cancel()
        print(judged.words(every))
        judged.check()


class Judged:
    """What came of it, counted: a number is worth more than the first that is wrong."""

    def __init__(self, servers: Fleet, trouble: Trouble) -> None:
        self._http = servers.http(servers.running()[0])
        self._trouble = trouble
        self.wrong: list[str] = []
        self.alone: list[float] = []
        self.handed_in = self.answered = self.cut = 0

    async def look_at(self, talker: Talker) -> None:
        if talker.call.over:
            self.wrong.append("a call was dropped")
            return
        try:
            await talker.call.attached(timeout=0.1)
        except AssertionError:
            self.wrong.append("a call was left alone")
        for since, until in talker.alone:
            # Who had just claimed it may have been the next to go.
            last = max(since, self._trouble.last_before(until))
            self.alone.append(until - last)
            if until - last > TAKEN:
                self.wrong.append(f"a call was alone for {until - last:.1f} s")
        path = f"/sessions/{talker.session_id}"
        shown = (await self._http.get(path)).json()
        if shown["session"]["status"] != "active":
            self.wrong.append(f"a session is {shown['session']['status']}")
        await self._said(talker, shown["transcript"])
        self._tools(talker)
        await self._events(talker)

    async def _said(self, talker: Talker, before: list[dict[str, Any]]) -> None:
        """A page hands in what it saw and the server has not."""
        there = {entry.get("item_id") for entry in before}
        missing = [one for one in talker.said if one.item_id not in there]
        lost = [one.text for one in missing if talker.surely_heard(one.at)]
        self.wrong += [f"{text} was heard and not stored" for text in lost]
        self.handed_in += len(missing)
        path = f"/sessions/{talker.session_id}"
        for at in range(0, len(missing), 50):
            entries = [
                {"entry_type": one.who, "text": one.text, "item_id": one.item_id}
                for one in missing[at : at + 50]
            ]
            answer = await self._http.post(f"{path}/transcript", json={"entries": entries})
            assert answer.status_code == 200, answer.text
        after = (await self._http.get(path)).json()["transcript"]
        texts = Counter(entry["text"] for entry in after if entry["entry_type"] == "system")
        wrong = [text for text in talker.acknowledged if texts[text] != 1]
        items = Counter(entry.get("item_id") for entry in after)
        wrong += [one.text for one in talker.said if items[one.item_id] != 1]
        self.wrong += [f"{text} is not there once" for text in wrong]
        told = {entry.get("item_id"): entry["text"] for entry in after}
        # Whoever died in the middle of an answer knew of as much as had been heard.
        cut = [one for one in talker.said if told.get(one.item_id) != one.text]
        self.cut += len(cut)
        self.wrong += [f"{one.text} is cut" for one in cut if talker.surely_heard(one.at)]

    def _tools(self, talker: Talker) -> None:
        outputs = Counter(
            item["call_id"]
            for item in talker.call.conversation.ledger.items.values()
            if item["type"] == "function_call_output"
        )
        for call_id, at in talker.asked:
            least = 1 if talker.surely_heard(at) else 0
            self.answered += outputs[call_id]
            if not least <= outputs[call_id] <= 1:
                self.wrong.append(f"{call_id} was answered {outputs[call_id]} times")

    async def _events(self, talker: Talker) -> None:
        log = await positions_of(self._http, talker.session_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(TAKEN):
                while not talker.told or talker.told[-1] < log[-1]:
                    await asyncio.sleep(0.05)
        if [one for one in talker.told if one <= log[-1]] != log:
            self.wrong.append("a reader missed an event, or saw one twice")

    def words(self, every: list[Talker]) -> str:
        alone = sorted(self.alone) or [0.0]
        return (
            f"{len(self._trouble.killed)} kills, {len(self._trouble.drained)} drains, "
            f"{self._trouble.gave_up} gave up; {sum(len(one.said) for one in every)} things said, "
            f"{self.handed_in} handed in, {self.cut} cut, "
            f"{sum(len(one.acknowledged) for one in every)} notes, "
            f"{self.answered} of {sum(len(one.asked) for one in every)} tools answered, "
            f"{sum(len(one.told) for one in every)} events; "
            f"{len(alone)} times alone, p50 {alone[len(alone) // 2]:.1f}, most {alone[-1]:.1f} s; "
            f"wrong: {dict(Counter(self.wrong).most_common(20))}"
        )

    def check(self) -> None:
        assert not self.wrong, self.wrong[:20]


async def positions_of(http: httpx.AsyncClient, session_id: str) -> list[int]:
    """The session's whole log."""
    found: list[int] = []
    while True:
        query: dict[str, str | int] = {"session_id": session_id, "limit": 500}
        query["since"] = found[-1] if found else 0
        page = (await http.get("/session/pending_updates", params=query)).json()
        found += [update["id"] for update in page["queued_updates"]]
        if not page["has_more"]:
            return found


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
            await call.expect("response.create", timeout=TAKEN)
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
