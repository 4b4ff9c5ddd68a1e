"""A session in the making: what is deleted or ended meanwhile stays deleted or ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.sessions.speaking import speaking
from tests.runtime.sessions.test_voice_text import answer, talk
from tests.server.doors import Doors
from vivavoce.errors import NotFound
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.voice import Voice
from vivavoce.testing import MemoryStore
from vivavoce.wire.events import SessionEndRequested, to_log
from vivavoce.wire.records.talk import Announce, DropConversation, Entry, Status, VoiceSession


class Slow(MemoryStore):
    """Once it is asked to, it takes its time to read a transcript: so does the next opening."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = False
        self.reading, self.go_on = asyncio.Event(), asyncio.Event()

    async def messages_before(self, conversation_id: str, **how: Any) -> tuple[list[Entry], bool]:
        if self.slow:
            self.slow = False
            self.reading.set()
            await self.go_on.wait()
        return await super().messages_before(conversation_id, **how)

    async def in_the_making(self) -> VoiceSession:
        await self.reading.wait()
        (session,) = await self.active_sessions()
        return session


@asynccontextmanager
async def slowly(folder: Path) -> AsyncIterator[tuple[Doors, Voice, Slow, str]]:
    store = Slow()
    async with speaking(folder, store=store) as (d, voice), asyncio.timeout(10):
        of = await talk(d)
        store.slow = True
        yield d, voice, store, of


async def a_while() -> None:
    """Whoever does not have to wait is done by then."""
    for _ in range(200):
        await asyncio.sleep(0)


async def nothing_is_left(d: Doors, of: str) -> bool:
    kept = await d.here.store.conversation(of, user_id="ada")
    sessions = await d.here.store.sessions(user_id="ada", limit=9)
    return kept is None and not sessions and len(d.here.registry) == 0


async def test_a_conversation_deleted_while_it_is_opened_does_not_come_back(
    tmp_path: Path,
) -> None:
    async with slowly(tmp_path) as (d, voice, store, of), asyncio.TaskGroup() as group:
        opening = group.create_task(voice.resume_conversation(of, "ada", Options()))
        session = await store.in_the_making()
        deleting = group.create_task(d.here.library.delete(of, "ada"))
        await a_while()
        store.go_on.set()
        assert await deleting == [session.id]
        assert (await opening).session.id == session.id  # it was there, for a moment
        assert await nothing_is_left(d, of)


async def test_nor_does_it_if_another_process_deleted_it(tmp_path: Path) -> None:
    async with slowly(tmp_path) as (d, voice, store, of), asyncio.TaskGroup() as group:

        async def opened() -> None:
            with pytest.raises(NotFound):
                await voice.resume_conversation(of, "ada", Options())

        opening = group.create_task(opened())
        await store.in_the_making()
        await store.commit([DropConversation(of, "ada")])
        store.go_on.set()
        await opening
        assert await nothing_is_left(d, of)


async def test_who_waits_to_open_what_is_being_deleted_finds_nothing(tmp_path: Path) -> None:
    async with slowly(tmp_path) as (d, voice, _, of), asyncio.TaskGroup() as group:

        async def refused() -> None:
            with pytest.raises(NotFound):
                await voice.say(of, "ada", "Hello", wait=0)

        async with voice.admission.unopened(of):
            writing = group.create_task(refused())
            await a_while()
            await d.here.store.commit([DropConversation(of, "ada")])
        await writing
        assert await nothing_is_left(d, of)


async def test_a_session_that_is_ended_while_it_is_opened_does_not_run(tmp_path: Path) -> None:
    async with slowly(tmp_path) as (d, voice, store, of), asyncio.TaskGroup() as group:
        opening = group.create_task(voice.resume_conversation(of, "ada", Options()))
        session = await store.in_the_making()
        ending = group.create_task(d.here.library.end(session.id, "ada"))
        await a_while()
        store.go_on.set()
        await asyncio.gather(opening, ending)
        kept = await store.session(session.id, user_id="ada")
        assert kept is not None
        assert (kept.status, kept.end_reason) == (Status.COMPLETED, "user_ended")
        assert len(d.here.registry) == 0


async def test_a_written_session_hears_of_its_end_too_and_another_takes_the_message(
    tmp_path: Path,
) -> None:
    async with slowly(tmp_path) as (d, voice, store, of), asyncio.TaskGroup() as group:
        saying = group.create_task(voice.say(of, "ada", "Hello", wait=10))
        session = await store.in_the_making()
        wanted = SessionEndRequested(
            session_id=session.id,
            timestamp=d.here.clock.now(),
            reason="completed",
            status="completed",
            goes_on=True,
        )
        await store.commit([Announce(to_log(wanted, user_id="ada", conversation_id=of))])
        await d.here.journal.bounds()
        store.go_on.set()
        await d.provider.next_call()
        await answer(await d.provider.next_call(), "Hello", "Hi.")
        got = await saying
        assert got.reply is not None
        assert got.session.id != session.id
        kept = await store.session(session.id, user_id="ada")
        assert kept is not None
        assert (kept.status, kept.end_reason) == (Status.COMPLETED, "completed")
