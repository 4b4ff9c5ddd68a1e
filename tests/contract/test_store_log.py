"""What every store promises about the event log and about forgetting."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import (
    at,
    call,
    conversation,
    entry,
    event,
    recording,
    session,
    snapshot,
    uid,
)
from vivavoce.runtime.ports import LogBounds, Retention
from vivavoce.wire.records.talk import Announce, Put, PutConversation, PutEntry, PutSession

FOREVER = Retention(snapshots=None, recordings=None, log=None, conversations=None)


async def test_positions_count_up_without_a_gap(backend: Backend) -> None:
    async with backend.store() as store:
        assert await store.log_bounds() == LogBounds(oldest=1, latest=0)
        placed = await asyncio.gather(
            *(store.commit([Announce(event(f"a{n}")), Announce(event(f"b{n}"))]) for n in range(50))
        )
        for n, (a, b) in enumerate(placed):
            assert (a.type, b.type, b.position) == (f"a{n}", f"b{n}", a.position + 1)
        assert sorted(e.position for pair in placed for e in pair) == list(range(1, 101))
        assert await store.log_bounds() == LogBounds(oldest=1, latest=100)


async def test_the_log_is_read_in_slices_and_filtered(backend: Backend) -> None:
    async with backend.store() as store:
        for n in range(10):
            user = "ann" if n < 6 else "bob"
            await store.commit([Announce(event(session_id=f"vs_{n % 2}", user_id=user))])

        async def found(**asked: object) -> list[int]:
            given = {"after": 0, "limit": 100} | asked
            return [e.position for e in await store.events(**given)]  # type: ignore[arg-type]

        assert await found() == list(range(1, 11))
        assert await found(after=3, limit=4) == [4, 5, 6, 7]
        assert await found(user_id="bob") == [7, 8, 9, 10]
        assert await found(session_id="vs_1", upto=6) == [2, 4, 6]
        assert await found(session_id="vs_1", user_id="bob", after=8) == [10]
        assert await found(after=10) == []
        assert await found(after=2**80) == []
        assert await found(after=-5, limit=1) == [1]


async def test_the_newest_of_one_type_are_found_after_reopening(backend: Backend) -> None:
    async with backend.store() as store:
        for n in range(12):
            kind = "turn.traced" if n % 2 else "speech.started"
            of = {"session_id": f"vs_{n // 6}", "user_id": "ann" if n < 11 else "bob"}
            await store.commit([Announce(event(kind, data=b"%d" % n, **of))])
    async with backend.store() as store:

        async def found(
            session_id: str, limit: int, user_id: str = "ann", *also: str
        ) -> list[bytes]:
            turns = await store.last_events(
                ("turn.traced", *also),
                session_ids=session_id.split(),
                user_id=user_id,
                limit=limit,
            )
            return [turn.data for turn in turns]

        assert await found("vs_0", 100) == [b"1", b"3", b"5"]
        assert await found("vs_0", 2) == [b"3", b"5"], "the newest, oldest of them first"
        assert await found("vs_1", 100) == [b"7", b"9"]
        assert await found("vs_1", 100, "bob") == [b"11"]
        assert await found("vs_0", 0) == await found("vs_2", 100) == await found("", 9) == []
        assert await found("vs_1 vs_0 vs_2", 3) == [b"5", b"7", b"9"]
        assert await found("vs_1 vs_0", 3, "ann", "speech.started") == [b"8", b"9", b"10"]


async def test_the_bytes_of_an_event_come_back_as_they_were(backend: Backend) -> None:
    data = '{"b": 1,  "a":"ü😀\\u0000", "n":1.0e3}'.encode()
    async with backend.store() as store:
        await store.commit([Announce(event(data=data, conversation_id=uid("c")))])
        (found,) = await store.events(after=0, limit=1)
    assert (found.data, found.conversation_id) == (data, uid("c"))


async def test_retention_for_ever_deletes_nothing(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(
            [
                PutConversation(conversation()),
                PutSession(session(), new=True),
                Put(snapshot()),
                Announce(event()),
            ]
        )
        assert await store.sweep(FOREVER, at(10**9)) == 0
        assert await store.snapshot("vs_1", user_id="ann") is not None


async def test_old_snapshots_go(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([PutConversation(conversation())])
        for n, saved in enumerate((0, 50, 100)):
            made = session(f"vs_{n}")
            put = Put(snapshot(made.id, saved_at=at(saved)))
            await store.commit([PutSession(made, new=True), put])
        swept = await store.sweep(Retention(snapshots=60, log=None), at(120))
        left = [await store.snapshot(f"vs_{n}", user_id="ann") for n in range(3)]
    assert swept == 2
    assert [each is not None for each in left] == [False, False, True]


async def test_old_recordings_go_and_the_session_stays(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([PutConversation(conversation()), PutSession(session(), new=True)])
        assert await store.recording("vs_1") == []
        parts = [recording(number=n, saved_at=at(n)) for n in (3, 50, 100)]
        await store.commit([Put(part) for part in reversed(parts)])
        assert await store.recording("vs_1") == parts
        keeps = Retention(snapshots=None, log=None, recordings=60)
        assert await store.sweep(keeps, at(115)) == 2
        assert await store.recording("vs_1") == parts[2:]
        assert await store.recording("vs_2") is None


async def test_the_log_loses_its_old_end_and_never_its_count(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Announce(event(at=at(n))) for n in range(10)])
        week = Retention(snapshots=None, log=60)
        assert await store.sweep(week, at(64)) == 4
        assert await store.log_bounds() == LogBounds(oldest=5, latest=10)
        assert [e.position for e in await store.events(after=0, limit=2)] == [5, 6]
        assert await store.sweep(week, at(1000)) == 6
        assert await store.log_bounds() == LogBounds(oldest=11, latest=10)
        assert await store.events(after=0, limit=2) == []
    async with backend.store() as store:
        (next_,) = await store.commit([Announce(event())])
        assert next_.position == 11
        assert await store.log_bounds() == LogBounds(oldest=11, latest=11)


async def test_the_log_is_never_left_with_a_hole(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Announce(event(at=at(n))) for n in (0, 100, 1, 101)])
        await store.sweep(Retention(snapshots=None, log=60), at(120))
        assert [e.position for e in await store.events(after=0, limit=9)] == [2, 3, 4]


async def test_more_than_a_slice_goes_in_one_sweep(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Announce(event()) for _ in range(4500)])
        assert await store.sweep(Retention(snapshots=None, log=1), at(60)) == 4500
        assert await store.log_bounds() == LogBounds(oldest=4501, latest=4500)


async def test_old_conversations_go_with_all_that_is_theirs(backend: Backend) -> None:
    async with backend.store() as store:
        for n, name in enumerate(("old", "young")):
            moment = at(n * 100)
            named = session(f"vs_{name}", of=name, updated_at=moment)
            await store.commit(
                [
                    PutConversation(conversation(name, updated_at=moment)),
                    PutSession(named, new=True),
                    PutEntry(entry(f"e_{name}", of=name, created_at=moment)),
                    Put(call(f"call_{name}", conversation_id=uid(name))),
                    Put(call(f"loose_{name}", started_at=moment)),
                    Put(snapshot(named.id)),
                ]
            )
        swept = await store.sweep(Retention(None, None, conversations=60), at(120))
        assert swept == 6
        for name, there in (("old", False), ("young", True)):
            found = [
                await store.conversation(uid(name), user_id="ann"),
                await store.session(f"vs_{name}", user_id="ann"),
                await store.tool_call(f"call_{name}", user_id="ann"),
                await store.tool_call(f"loose_{name}", user_id="ann"),
                await store.snapshot(f"vs_{name}", user_id="ann"),
                next(iter(await store.entries(uid(name), user_id="ann")), None),
            ]
            assert [each is not None for each in found] == [there] * 6


@pytest.mark.parametrize("sign", ["session", "entry"])
async def test_a_conversation_that_lives_is_not_old(backend: Backend, sign: str) -> None:
    async with backend.store() as store:
        updated, said = (at(100), at(0)) if sign == "session" else (at(0), at(100))
        await store.commit(
            [
                PutConversation(conversation()),
                PutSession(session(updated_at=updated), new=True),
                PutEntry(entry("e", created_at=said)),
            ]
        )
        assert await store.sweep(Retention(None, None, conversations=60), at(120)) == 0


async def test_waiting_for_other_processes_can_be_given_up(backend: Backend) -> None:
    async with backend.store() as store:
        commits = store.foreign_commits()

        async def wait() -> None:
            async for _ in commits:  # PostgreSQL wakes once when it starts to listen
                pass

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait(), 0.2)
        with pytest.raises(StopAsyncIteration):
            await anext(commits)
