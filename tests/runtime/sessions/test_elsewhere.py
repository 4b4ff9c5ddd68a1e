"""Two servers on one store: a session is one server's, and ends wherever that is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.sessions.speaking import call, speaking, statuses
from tests.server.doors import Doors, soon
from vivavoce.errors import Forbidden, Unavailable
from vivavoce.runtime.journal import keeping
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.voice import Voice
from vivavoce.store import open_store
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.wire.records.talk import (
    DEFAULT_USER,
    Conversation,
    PutConversation,
    PutSession,
    Status,
    VoiceSession,
    new_id,
)

ONE = {"concurrent_sessions": 1}
Server = tuple[Doors, Voice]


@asynccontextmanager
async def two_servers(folder: Path) -> AsyncIterator[tuple[Server, Server]]:
    url = f"sqlite:///{folder}/shared.db"
    async with (
        speaking(folder, limits=ONE, store=open_store(url)) as here,
        speaking(folder, limits=ONE, store=open_store(url)) as there,
        asyncio.TaskGroup() as group,
    ):
        telling = group.create_task(_tell_each_other(here, there))
        yield here, there
        telling.cancel()


async def _tell_each_other(*servers: Server) -> None:
    """As PostgreSQL does by itself, and the tick of the journal in time."""
    while True:
        for d, _ in servers:
            await d.here.journal.bounds()
        await asyncio.sleep(0.02)


async def kinds(d: Doors) -> list[str]:
    log = await d.here.store.events(after=0, limit=200, user_id="ada")
    return [event.type for event in log if event.type.startswith("session.e")]


async def test_a_delete_at_another_server_ends_the_call_at_its_owner(tmp_path: Path) -> None:
    async with two_servers(tmp_path) as ((d, here), (other, there)):
        opened = await here.create("ada", Options())
        theirs = await call(d, opened)
        await theirs.user_says("Hello")
        await other.here.library.end(opened.session.id, "ada")
        await theirs.ended()
        assert here.live(opened.session.id, "ada") is None
        kept = await other.here.store.session(opened.session.id, user_id="ada")
        assert kept is not None
        assert (kept.status, kept.end_reason) == (Status.COMPLETED, "user_ended")
        assert await kinds(d) == ["session.end_requested", "session.ended"]
        await there.create("ada", Options())  # there is room again


async def test_a_server_that_goes_down_drops_no_call_that_it_had_just_claimed(
    tmp_path: Path,
) -> None:
    """Whoever looks next has it."""
    async with two_servers(tmp_path) as ((d, here), (other, there)):
        opened = await here.create("ada", Options())
        theirs = await call(d, opened)
        claimed = await other.here.store.session(opened.session.id, user_id="ada")
        assert claimed is not None
        other.here.instance.draining = True
        assert await there.recovery.take([claimed]) == []
        assert there.live(opened.session.id, "ada") is None
        assert not theirs.over
        kept = await other.here.store.session(opened.session.id, user_id="ada")
        assert kept is not None
        assert kept.status is Status.ACTIVE


async def test_a_store_that_is_away_while_a_call_is_picked_up_drops_it_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "WAITS", (0.01,))
    async with two_servers(tmp_path) as ((d, here), (other, there)):
        opened = await here.create("ada", Options())
        theirs = await call(d, opened)
        live = here.live(opened.session.id, "ada")
        assert live is not None
        await live.let_go()
        claimed = await other.here.store.session(opened.session.id, user_id="ada")
        assert claimed is not None
        away = dict.fromkeys(("conversation", "entries", "open_calls", "commit"), 3)

        def shaky(name: str) -> Callable[..., Awaitable[Any]]:
            well = getattr(other.here.store, name)

            async def reached(*given: Any, **more: Any) -> Any:
                away[name] -= 1
                if away[name] >= 0:
                    raise Unavailable("The store cannot be reached.")
                return await well(*given, **more)

            return reached

        for name in away:
            monkeypatch.setattr(other.here.store, name, shaky(name))
        await there.recovery.take([claimed])
        assert max(away.values()) < 0, away
        assert there.live(opened.session.id, "ada") is not None
        assert not theirs.over


async def test_a_session_is_taken_over_from_another_server(tmp_path: Path) -> None:
    async with two_servers(tmp_path) as ((d, here), (other, there)):
        opened = await here.create("ada", Options())
        talk = opened.session.conversation_id
        theirs = await call(d, opened)
        again = await there.resume_conversation(talk, "ada", Options())
        await theirs.ended()
        assert here.live(opened.session.id, "ada") is None
        assert there.live(again.session.id, "ada") is not None
        assert sorted(await statuses(other.here.store)) == [
            (Status.ACTIVE, False),
            (Status.COMPLETED, True),
        ]
        kept = await other.here.store.conversation(talk, user_id="ada")
        assert kept is not None
        assert kept.ended_at is None  # it goes on


@pytest.mark.full
async def test_of_two_servers_that_open_one_conversation_at_once_one_has_it(
    tmp_path: Path,
) -> None:
    async with two_servers(tmp_path) as ((d, here), (_, there)):
        talk = (await d.here.library.begin("ada")).id
        both = await asyncio.gather(
            here.resume_conversation(talk, "ada", Options()),
            there.resume_conversation(talk, "ada", Options()),
        )

        def live() -> int:
            every = [voice.live(one.session.id, "ada") for voice in (here, there) for one in both]
            return sum(each is not None for each in every)

        await soon(lambda: live() == 1)
        found = await d.here.store.sessions(user_id="ada", status=Status.ACTIVE, limit=9)
        assert len(found) == 1


async def test_of_two_that_open_one_conversation_at_once_the_lesser_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tokens are one user. The lesser one asks while nobody with a higher one was there, and
    somebody is by the time it is stored."""
    async with two_servers(tmp_path) as ((d, here), (_, there)):
        talk = (await d.here.library.begin(DEFAULT_USER)).id
        looked, stored = asyncio.Event(), asyncio.Event()
        check = here.admission.check_led

        async def check_and_wait(*asked: Any) -> None:
            await check(*asked)
            looked.set()
            await stored.wait()

        monkeypatch.setattr(here.admission, "check_led", check_and_wait)
        async with asyncio.TaskGroup() as group:
            lesser = here.resume_conversation(talk, DEFAULT_USER, Options(role="user"))
            opening = group.create_task(_refused(lesser))
            await looked.wait()
            higher = await there.resume_conversation(talk, DEFAULT_USER, Options())
            stored.set()
        assert opening.result()
        assert there.live(higher.session.id, DEFAULT_USER) is not None
        (only,) = await d.here.store.sessions_of(talk, user_id=DEFAULT_USER)
        assert (only.role, only.status) == ("operator", Status.ACTIVE)


async def _refused(opening: Awaitable[object]) -> bool:
    try:
        await opening
    except Forbidden:
        return True
    return False


async def test_where_the_owner_is_gone_the_call_is_hung_up_and_the_session_closed(
    tmp_path: Path,
) -> None:
    clock, store = ManualClock(), MemoryStore()
    await store.open()
    now = clock.now()
    talk = Conversation(id=new_id(), user_id="ada", created_at=now, updated_at=now)
    left = VoiceSession(
        id="vs_20260131_123022_a3f2",
        conversation_id=talk.id,
        user_id="ada",
        agent="tester",
        created_at=now,
        updated_at=now,
        voice="marin",
        call_id="rtc_left",
    )
    await store.join("a server that hangs", 60)
    await store.commit([PutConversation(talk), PutSession(left, new=True)])
    async with speaking(tmp_path, clock=clock, store=store) as (d, _), asyncio.TaskGroup() as group:
        ending = group.create_task(d.here.library.end(left.id, "ada"))
        while not ending.done():
            await clock.advance(1)
        assert any("rtc_left/hangup" in request.path for request in d.provider.requests)
        kept = await store.session(left.id, user_id="ada")
        assert kept is not None
        assert kept.status is Status.COMPLETED
        await store.commit([PutSession(replace(left, updated_at=clock.now()))])
        assert await store.active_sessions() == []
