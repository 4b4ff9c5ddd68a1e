"""One user's share: each limit as a client meets it, and nobody meets it alone on their machine."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from tests.contract.records import at
from tests.server.doors import Doors, Json, doors, refused, soon
from tests.server.serving import request, serving
from tests.server.tokens import ADA, EVE, SETTINGS, bearer
from tests.server.v1.client import CONVERSATIONS
from vivavoce.app.server import build_app
from vivavoce.app.settings import Settings
from vivavoce.server import api
from vivavoce.server.doors import status
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.tools.functions import tool
from vivavoce.wire.records.plans import Goal
from vivavoce.wire.records.talk import Entry, Kind, Put, PutEntry, new_id

BOB = {"x-user-id": "bob"}
EVERY = {
    "user_streams",
    "user_sessions",
    "user_seats",
    "user_conversations",
    "user_megabytes",
    "user_syncs_per_minute",
    "user_changes_per_minute",
    "user_calls",
    "user_reads",
}


def limited(response: httpx.Response, what: str, limit: int) -> Json:
    error = refused(response, 429, "rate_limited")
    assert (error["details"].get("what", what), error["details"]["limit"]) == (what, limit)
    assert str(limit) in error["message"] or limit == 1
    return error


def test_users_have_limits_where_they_are_told_apart_and_nobody_has_alone() -> None:
    given: dict[str, Any] = {"_env_file": None}
    alone, told_apart = Settings(**given), Settings(**given, **SETTINGS)
    assert {getattr(alone, name) for name in EVERY} == {0}
    assert all(getattr(told_apart, name) > 0 for name in EVERY)
    assert Settings(**given, **SETTINGS, user_streams=0).user_streams == 0


async def test_so_many_event_streams(tmp_path: Path) -> None:
    async with (
        doors(tmp_path, **SETTINGS, user_streams=2) as d,
        serving(build_app(d.here)) as served,
        AsyncExitStack() as streams,
    ):
        ada, eve = (f"Authorization: {bearer(user)['authorization']}" for user in (ADA, EVE))
        for _ in range(2):
            answer = await streams.enter_async_context(request(served, "/events", ada))
            assert answer.status == 200
        async with request(served, "/events", ada) as refusal:
            assert (refusal.status, refusal.headers["retry-after"]) == (429, "5")
            assert (await refusal.error())["details"]["limit"] == 2
        async with request(served, "/events", eve) as other:
            assert other.status == 200
        await soon(lambda: d.here.journal.streams == 2)
        await streams.aclose()
        await soon(lambda: d.here.journal.streams == 0)
        async with request(served, "/events", ada) as again:
            assert again.status == 200


async def test_so_many_transcripts_a_minute(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, user_syncs_per_minute=2) as d:
        path = f"/sessions/{(await d.post('/sessions'))['session_id']}/transcript"
        for _ in range(2):
            await d.post(path, {"entries": []})
        response = await d.http.post(path, json={"entries": []})
        limited(response, "syncs", 2)
        assert response.headers["retry-after"] == "60"
        bobs = (await d.post("/sessions", headers=BOB))["session_id"]
        await d.post(f"/sessions/{bobs}/transcript", {"entries": []}, headers=BOB)
        await clock.advance(61)
        await d.post(path, {"entries": []})


async def test_whoever_has_too_many_streams_is_refused_before_anything_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        doors(tmp_path, **SETTINGS, user_streams=1) as d,
        serving(build_app(d.here)) as served,
    ):
        ada = f"Authorization: {bearer(ADA)['authorization']}"
        async with request(served, "/events", ada) as held:
            assert held.status == 200

            async def never(*asked: object, **given: object) -> None:
                raise AssertionError("looked up")

            monkeypatch.setattr(d.here.library, "summary", never)
            for path in ("/events?session_id=vs_1", "/api/v1/voice/session/vs_1/events"):
                async with request(served, path, ada) as refusal:
                    assert refusal.status == 429


async def test_of_many_syncs_at_once_one_of_each_user_is_done_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with doors(tmp_path) as d:
        running: dict[str, int] = {"local": 0, "bob": 0}
        most = dict(running)
        both = asyncio.Event()
        sync = d.here.library.sync

        async def counting(session_id: str, user_id: str, *rest: Any) -> int:
            running[user_id] += 1
            most[user_id] = max(most[user_id], running[user_id])
            if all(running.values()):
                both.set()
            await both.wait()  # nobody waits for another user
            await asyncio.sleep(0)
            try:
                return await sync(session_id, user_id, *rest)
            finally:
                running[user_id] -= 1

        monkeypatch.setattr(d.here.library, "sync", counting)
        posts = []
        for who in ({}, BOB):
            session = (await d.post("/sessions", headers=who))["session_id"]
            said = {"entries": [{"entry_type": "user", "text": "Hello"}]}
            path = f"/sessions/{session}/transcript"
            posts += [d.http.post(path, json=said, headers=who) for _ in range(9)]
        async with asyncio.timeout(30):
            answers = await asyncio.gather(*posts)
        assert {each.status_code for each in answers} == {200}
        assert most == {"local": 1, "bob": 1}


def test_nothing_that_a_route_depends_on_goes_to_a_thread() -> None:
    """FastAPI sends every plain function there, for each request: a crowd of refused ones would
    fill the threads."""
    routes = [route for router in (status.router, *api._routers()) for route in router.routes]
    waiting = [route.dependant for route in routes if isinstance(route, APIRoute)]
    assert len(waiting) > 60
    plain: set[str] = set()
    for one in waiting:
        for inner in one.dependencies:
            waiting.append(inner)
            if not inspect.iscoroutinefunction(inner.call):
                plain.add(repr(inner.call))
    assert plain == set()


async def test_so_many_conversations_however_they_begin(tmp_path: Path) -> None:
    async with doors(tmp_path, user_conversations=2) as d:
        kept = await d.post(CONVERSATIONS)
        await d.post("/sessions")
        for path in (CONVERSATIONS, "/sessions", "/session"):
            limited(await d.http.post(path), "conversations", 2)
        await d.post(CONVERSATIONS, headers=BOB)
        # One that is there goes on.
        await d.post("/api/v1/voice/session", {"conversation_id": kept["id"]})


async def test_so_many_megabytes(tmp_path: Path) -> None:
    @tool(category="test")
    async def count_letters(text: str) -> str:
        """How many letters there are."""
        return str(len(text))

    async with doors(tmp_path, tools=[count_letters], user_megabytes=1) as d:
        path = f"/sessions/{(await d.post('/sessions'))['session_id']}/transcript"

        def copy(name: str) -> Json:
            text = "x" * 100_000
            long = [{"entry_type": "user", "text": text, "id": f"{name}{n}"} for n in range(6)]
            return {"entries": long}

        await d.post(path, copy("one"))
        error = refused(await d.http.post(path, json=copy("two")), 413, "payload_too_large")
        assert error["details"] == {"what": "megabytes", "limit": 1}
        assert "1 megabytes" in error["message"]
        await d.post(path, copy("one"))  # is stored already
        await d.post(path, {"entries": copy("three")["entries"][:3]})
        call = {"arguments": {"text": "x" * 100_000}}
        refused(await d.http.post("/execute/count_letters", json=call), 413, "payload_too_large")
        assert (await d.post("/execute/count_letters", {"arguments": {"text": "abc"}}))["success"]


async def test_what_a_user_plans_takes_of_their_megabytes(tmp_path: Path) -> None:
    async with doors(tmp_path, user_megabytes=1) as d:
        long = "x" * 900
        for path, body in (
            ("/api/v1/goals", {"statement": "Run", "context_notes": long}),
            ("/api/v1/tasks", {"title": long[:200], "when": "tomorrow at nine"}),
        ):
            now, count = d.here.clock.now(), 0
            fill = [
                Goal(id=new_id(), user_id="local", statement=long, created_at=now, updated_at=now)
                for _ in range(900)
            ]
            await d.here.store.commit([Put(one) for one in fill])
            while (answer := await d.http.post(path, json=body)).status_code < 300:
                count += 1
                assert count < 200
            assert refused(answer, 413, "payload_too_large")["details"]["what"] == "megabytes"
            await d.post(path, body, headers=BOB)


async def test_so_many_live_sessions_at_all_servers(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        doors(tmp_path / "a", store=store, user_sessions=2) as here,
        doors(tmp_path / "b", store=store, user_sessions=2) as there,
    ):
        await here.post("/session")
        await there.post("/session")
        limited(await here.http.post("/session"), "concurrent", 2)
        await here.post("/session", headers=BOB)


async def test_an_agent_may_allow_fewer_sessions(tmp_path: Path) -> None:
    async with doors(tmp_path, agent="flux", user_sessions=3) as d:
        await d.post("/session")
        limited(await d.http.post("/session"), "concurrent", 1)


async def test_so_many_seats_at_a_server(tmp_path: Path) -> None:
    async with doors(tmp_path, user_seats=2) as d:
        first = await d.post("/session")
        await d.post("/session")
        limited(await d.http.post("/session"), "seats", 2)
        await d.post("/session", headers=BOB)
        await d.post(f"/sessions/{first['session_id']}/resume")  # takes over its own seat
        await d.post(f"/sessions/{first['session_id']}/end")


async def test_so_many_messages_a_minute(tmp_path: Path) -> None:
    async with doors(tmp_path, user_messages_per_minute=1) as d:
        path = f"{CONVERSATIONS}/{(await d.post(CONVERSATIONS))['id']}/messages"
        body = {"content": "Hello", "wait_seconds": 0}
        first = await d.http.post(path, json=body)
        assert first.status_code < 300, first.text
        limited(await d.http.post(path, json=body), "messages", 1)


CHANGES: tuple[tuple[str, str, Json], ...] = (
    ("POST", "/api/v1/goals", {"statement": "Learn Spanish"}),
    ("POST", "/api/v1/tasks", {"title": "Water", "location_trigger": "home"}),
    ("PATCH", "/api/v1/profile", {"name": "Ada"}),
    ("PATCH", "/api/v1/preferences", {"verbosity": "brief"}),
    ("PATCH", "/config/session/{session}", {"instructions": "Be brief."}),
    ("POST", "/sessions/{session}/provider", {"provider": "openai"}),
    ("POST", CONVERSATIONS, {}),
    ("DELETE", f"{CONVERSATIONS}/{{talk}}", {}),
    ("DELETE", "/api/v1/data?confirm=everything", {}),
)


@pytest.mark.parametrize(("method", "path", "body"), CHANGES, ids=lambda one: str(one)[:40])
async def test_so_many_changes_a_minute(tmp_path: Path, method: str, path: str, body: Json) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, **SETTINGS, user_changes_per_minute=2) as d:
        d.http.headers.update(bearer(ADA))
        session = (await d.post("/sessions"))["session_id"]
        (talk,) = (await d.get(CONVERSATIONS))["conversations"]
        for name in ("Ada", "Ada Lovelace"):
            await d.patch("/api/v1/profile", {"name": name})
        path = path.format(session=session, talk=talk["id"])
        limited(await d.http.request(method, path, json=body), "changes", 2)
        assert (await d.http.get("/api/v1/profile")).status_code == 200
        d.http.headers.update(bearer(EVE))
        await d.patch("/api/v1/profile", {"name": "Eve"})
        d.http.headers.update(bearer(ADA))
        await clock.advance(60)
        assert (await d.http.request(method, path, json=body)).status_code != 429


async def test_plans_count_among_a_users_megabytes(tmp_path: Path) -> None:
    given: dict[str, Any] = {"user_megabytes": 1, "user_changes_per_minute": 0}
    async with doors(tmp_path, **SETTINGS, **given) as d:
        d.http.headers.update(bearer(ADA))
        goal = {"statement": "Learn Spanish", "context_notes": "n" * 2000}
        made = 0
        while (answer := await d.http.post("/api/v1/goals", json=goal)).status_code == 201:
            made += 1
        refused(answer, 413, "payload_too_large")
        assert 400 < made < 500
        d.http.headers.update(bearer(EVE))
        await d.post("/api/v1/goals", goal)


async def test_so_many_calls_of_a_users_clients_are_under_way(tmp_path: Path) -> None:
    going_on, leave = asyncio.Event(), asyncio.Event()

    @tool(category="test")
    async def slow() -> str:
        """Takes its time."""
        going_on.set()
        await leave.wait()
        return "done"

    async with doors(tmp_path, **SETTINGS, user_calls=1, tools=[slow]) as d:
        ada, eve = bearer(ADA, "developer"), bearer(EVE, "developer")
        async with asyncio.TaskGroup() as group:
            first = group.create_task(
                d.http.post("/execute/slow", json={"arguments": {}}, headers=ada)
            )
            await going_on.wait()
            one_more = {"arguments": {"expression": "1+1"}}
            second = await d.http.post("/execute/calculate", json=one_more, headers=ada)
            limited(second, "tool calls", 1)
            other = await d.http.post("/execute/calculate", json=one_more, headers=eve)
            assert other.json()["output"] == "2"
            leave.set()
        assert first.result().json()["output"] == "done"
        again = await d.http.post("/execute/calculate", json=one_more, headers=ada)
        assert again.json()["output"] == "2"


class Slow(MemoryStore):
    """Reads of what is large wait until they may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go_on = asyncio.Event(), asyncio.Event()

    async def _wait(self) -> None:
        self.reading.set()
        await self.go_on.wait()

    async def search(self, *given: Any, **more: Any) -> Any:
        await self._wait()
        return await super().search(*given, **more)


LARGE = (
    "/sessions/{session}",
    f"{CONVERSATIONS}/search?q=x",
    f"{CONVERSATIONS}/{{talk}}/messages",
    "/api/v1/data",
    "/api/v1/data?format=markdown",
)


@pytest.mark.parametrize("path", LARGE)
async def test_so_many_large_answers_at_a_time(tmp_path: Path, path: str) -> None:
    store = Slow()
    async with doors(tmp_path, store=store, **SETTINGS, user_reads=1) as d:
        d.http.headers.update(bearer(ADA))
        session = (await d.post("/sessions"))["session_id"]
        (talk,) = (await d.get(CONVERSATIONS))["conversations"]
        path = path.format(session=session, talk=talk["id"])
        store.go_on.set()
        assert (await d.http.get(path)).status_code == 200
        store.go_on.clear()
        store.reading.clear()
        async with asyncio.TaskGroup() as group:
            first = group.create_task(d.http.get(f"{CONVERSATIONS}/search?q=word"))
            await store.reading.wait()
            limited(await d.http.get(path), "large answers", 1)
            assert (await d.http.get("/sessions")).status_code == 200
            store.go_on.set()
        assert first.result().status_code == 200
        assert (await d.http.get(path)).status_code == 200


async def test_so_many_questions_wait_for_a_yes(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "agent": "workbench",
        "workspace": tmp_path / "work",
        "auto_approve": False,
        "user_approvals": 1,
    }
    (tmp_path / "work").mkdir()
    async with doors(tmp_path / "data", **given) as d, asyncio.TaskGroup() as group:

        def touch(name: str) -> Any:
            body = {"arguments": {"command": f"touch {name}"}}
            return d.http.post("/execute/bash", json=body)

        asking = group.create_task(touch("a"))
        await soon(lambda: d.here.approvals.pending("local"))
        limited(await touch("b"), "approvals", 1)
        (asked,) = d.here.approvals.pending("local")
        await d.post(f"/approvals/{asked.id}", {"granted": False})
        assert (await asking).status_code == 403


# --- A sync reads only what it needs ----------------------------------------------------


class Counting(MemoryStore):
    """Knows how many entries it has given away, and gives no transcript."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    async def entries(self, *_: Any, **__: Any) -> list[Entry]:
        raise AssertionError("a sync needs no transcript")

    async def entries_like(self, *given: Any, **more: Any) -> list[Entry]:
        found = await super().entries_like(*given, **more)
        self.given += len(found)
        return found


async def told_before(d: Doors, session_id: str, count: int) -> str:
    """A long talk behind this session; the id of its last entry."""
    session = await d.here.store.session(session_id, user_id="local")
    assert session is not None
    entries = [
        Entry(
            id=new_id(),
            conversation_id=session.conversation_id,
            user_id="local",
            session_id=session_id,
            kind=Kind.USER,
            text=f"Word {number}",
            created_at=at(number),
            ordinal=float(number),
        )
        for number in range(count)
    ]
    await d.here.store.commit([PutEntry(each) for each in entries])
    return entries[-1].id


@pytest.mark.parametrize("count", [10, 1000])
async def test_a_sync_reads_no_more_of_a_long_talk_than_of_a_short_one(
    tmp_path: Path, count: int
) -> None:
    store = Counting()
    async with doors(tmp_path, store=store) as d:
        session_id = (await d.post("/sessions"))["session_id"]
        last = await told_before(d, session_id, count)
        body = {
            "entries": [
                {"entry_type": "user", "text": "Something else", "id": "mine"},
                {"entry_type": "user", "text": "whatever", "id": last},
                {"entry_type": "user", "text": "Word 3"},
                {"entry_type": "user", "text": "Word 5", "timestamp": stamp(at(6))},
                {"entry_type": "user", "text": "Word 7", "timestamp": stamp(at(70))},
            ]
        }
        await d.post(f"/sessions/{session_id}/transcript", body)
        # The one it has by its id, and those that say the same, one of them at another time.
        assert store.given == 4
        stored = await store.messages_before(
            await conversation_of(d, session_id), user_id="local", limit=2000
        )
        assert len(stored[0]) == count + 2


async def test_what_a_session_before_heard_is_known_by_the_providers_name(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        first, call = await d.talk()
        await call.user_says("Good morning")
        await d.until(first, "transcription.completed")
        (heard,) = await d.transcript(first)
        resumed = (await d.post(f"/sessions/{first}/resume"))["realtime"]["session_id"]
        copy = {"entry_type": "user", "text": "as the client heard it", "id": heard["item_id"]}
        await d.post(f"/sessions/{resumed}/transcript", {"entries": [copy]})
        assert await d.transcript(first) == [heard]


async def conversation_of(d: Doors, session_id: str) -> str:
    session = await d.here.store.session(session_id, user_id="local")
    assert session is not None
    return session.conversation_id


def stamp(moment: datetime) -> str:
    return moment.isoformat()
