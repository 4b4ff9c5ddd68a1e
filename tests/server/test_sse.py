"""The event stream over a real server: resume, coalescing, slow and leaving clients, the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi import FastAPI, Request

from tests.runtime.journal.log_store import LogStore, note, say
from tests.server.serving import Answer, Served, request, serving, until
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.journal.streams import Filter, patterns
from vivavoce.server.doors.events import EventStream, last_event_id
from vivavoce.server.gate.auth import Authenticator
from vivavoce.server.gate.gate import Gate
from vivavoce.server.problems import install
from vivavoce.testing.fakes import ManualClock
from vivavoce.wire.events import CATALOGUE


def an_app(journal: Journal) -> FastAPI:
    app = FastAPI()
    install(app)

    @app.get("/events")
    async def events(
        request: Request, subscribe: str | None = None, follow: bool = True
    ) -> EventStream:
        only = Filter("ada", request.headers.get("x-session-id"), patterns(subscribe))
        return EventStream(journal.subscribe(only, after=last_event_id(request), follow=follow))

    app.add_middleware(Gate, auth=Authenticator())
    return app


class House:
    """A journal with a server in front of it."""

    def __init__(self, journal: Journal, store: LogStore, served: Served, clock: ManualClock):
        self.journal = journal
        self.store = store
        self.served = served
        self.clock = clock

    @asynccontextmanager
    async def listening(
        self, *headers: str, query: str = "", live: bool = True
    ) -> AsyncIterator[Answer]:
        async with request(self.served, "/events" + query, *headers) as answer:
            assert answer.status == 200
            if live:
                assert b"retry: 2000\n" in await answer.chunk()
            yield answer


@asynccontextmanager
async def a_house(*, graceful: int = 5, **options: int) -> AsyncIterator[House]:
    store, clock = LogStore(), ManualClock()
    await store.open()
    journal = Journal(store, clock, **options)  # type: ignore[arg-type]
    await journal.open()
    async with asyncio.TaskGroup() as group:
        group.create_task(journal.run())
        async with serving(an_app(journal), graceful=graceful) as served:
            try:
                yield House(journal, store, served, clock)
            finally:
                journal.close()


async def test_a_stream_says_at_once_that_it_is_one() -> None:
    async with a_house() as house, request(house.served, "/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["transfer-encoding"] == "chunked"
        assert await answer.chunk() == b": connected\nretry: 2000\nid: 0\n\n"


async def test_an_event_arrives_when_it_is_committed() -> None:
    async with a_house() as house, house.listening() as answer:
        await house.journal.commit(say("hello"))
        lines = (await answer.chunk()).decode().split("\n")
        assert lines[0] == "event: notification"
        assert json.loads(lines[1].removeprefix("data: "))["message"] == "hello"
        assert lines[2:] == ["id: 1", "", ""]


async def test_a_burst_is_one_write() -> None:
    async with a_house() as house, house.listening() as answer:
        await house.journal.commit(say(*"abcdefgh"))
        assert (await answer.chunk()).count(b"event: ") == 8


async def test_a_client_resumes_after_its_last_event_id() -> None:
    async with a_house(page=3) as house:
        for number in range(10):
            await house.journal.commit(say(f"{number}"))
        async with house.listening("Last-Event-ID: 4") as answer:
            await house.journal.commit(say("live"))
            found = await answer.events(7)
        assert [ident for _, ident in found] == list(range(5, 12))
        async with house.listening(query="?last_event_id=9") as answer:
            assert await answer.events(2) == [("notification", 10), ("notification", 11)]


@pytest.mark.parametrize("given", ["77", "abc", "-1", "9" * 30, "１"])
async def test_a_position_that_never_was_is_a_reset_and_never_silence(given: str) -> None:
    async with a_house() as house:
        await house.journal.commit(say("1", "2"))
        header = "Last-Event-ID: " + given.encode().decode("latin-1")
        async with house.listening(header) as answer:
            assert await answer.events(1) == [("stream.reset", 2)]
            await house.journal.commit(say("3"))
            assert await answer.events(1) == [("notification", 3)]


async def test_a_position_that_was_swept_is_a_reset() -> None:
    async with a_house() as house:
        await house.journal.commit(say("1", "2", "3"))
        await house.store.sweep_before(3)
        async with house.listening("Last-Event-ID: 1") as answer:
            assert await answer.events(1) == [("stream.reset", 3)]


async def test_only_what_was_subscribed_to_arrives_but_heartbeats_do() -> None:
    async with (
        a_house() as house,
        house.listening("X-Session-ID: vs_1", query="?subscribe=notification") as answer,
    ):
        await house.journal.commit(say("other", session="vs_2"))
        await house.clock.advance(30)
        await house.journal.commit(say("mine"))
        assert await answer.events(2) == [("heartbeat", None), ("notification", 2)]


async def test_a_bad_pattern_is_an_error_and_no_stream() -> None:
    async with a_house() as house, request(house.served, "/events?subscribe=*x") as answer:
        assert answer.status == 400
        assert (await answer.error())["code"] == "invalid_request"


async def test_without_follow_the_answer_ends() -> None:
    async with a_house(page=2) as house:
        await house.journal.commit(say("1", "2", "3"))
        async with house.listening(query="?follow=false", live=False) as answer:
            assert (await answer.rest()).count(b"event: ") == 3
        assert house.journal.streams == 0


async def test_a_client_that_leaves_is_forgotten() -> None:
    async with a_house() as house:
        async with house.listening():
            pass
        await until(lambda: house.journal.streams == 0)


async def test_a_client_that_does_not_read_costs_the_others_nothing_and_loses_nothing() -> None:
    async with (
        a_house(queue=8, page=50) as house,
        house.listening() as slow,
        house.listening() as quick,
    ):
        slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
        padding = "x" * 20_000
        for number in range(600):  # 12 MB: more than the sockets between us hold
            await house.journal.commit(say(f"{number} {padding}"))
            if number % 4 == 3:
                assert await quick.events(1)
        assert house.journal.position == 600
        slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
        seen: list[int | None] = []
        while len(seen) < 600:
            seen += [ident for _, ident in await slow.events(1)]
        assert seen == list(range(1, 601))
        assert house.store.reads  # it did fall behind


async def test_shutting_down_with_streams_open_ends_them_and_then_the_server() -> None:
    async with a_house(graceful=60) as house, house.listening() as one, house.listening() as two:
        await house.journal.commit(say("last words"))
        house.journal.close()
        house.served.stop()
        for answer in (one, two):
            assert b"last words" in await answer.rest()
        async with asyncio.timeout(20):
            await house.served.stopped.wait()


async def test_shutting_down_does_not_wait_for_a_client_that_does_not_read() -> None:
    async with a_house(graceful=1, queue=4) as house, house.listening() as stuck:
        stuck.writer.transport.pause_reading()  # type: ignore[attr-defined]
        padding = "x" * 100_000
        for number in range(200):
            await house.journal.commit(say(f"{number} {padding}"))
            await asyncio.sleep(0)
        house.journal.close()
        house.served.stop()
        async with asyncio.timeout(20):
            await house.served.stopped.wait()
        assert house.journal.streams == 0


async def test_others_processes_events_reach_the_wire() -> None:
    async with a_house() as house, house.listening() as answer:
        await house.store.foreign(note("theirs"), wake=True)
        assert await answer.events(1) == [("notification", 1)]


def test_every_event_and_every_field_is_in_the_document() -> None:
    text = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
    rows = {row.split("|")[1].strip(): row for row in text.splitlines() if row.startswith("| `")}
    for name, event in CATALOGUE.items():
        row = rows[f"`{name}`"]
        assert f"| {'durable' if event.durable else 'ephemeral'} |" in row
        for field in fields(event):
            shown = "type" if field.name == "limit_type" else field.name
            common = field.name in ("session_id", "timestamp")
            assert f"`{shown}`" in (text if common else row), (name, field.name)
