"""The journal: durable before announced, in order, without gaps, whoever is slow."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.contract.records import delivery
from tests.runtime.journal.log_store import LogStore, note, say
from vivavoce.errors import InvalidRequest, Unavailable
from vivavoce.runtime.journal.log import Journal, audited
from vivavoce.runtime.journal.streams import Filter, Subscription, patterns
from vivavoce.testing.fakes import EPOCH, ManualClock
from vivavoce.wire.events import (
    ProviderChanged,
    SessionMoved,
    SessionStatus,
    TaskDue,
    ToolStarted,
    TranscriptionDelta,
    to_log,
)
from vivavoce.wire.records.plans import AccessToken
from vivavoce.wire.records.talk import Announce, Change, Put, iso
from vivavoce.wire.records.work import Json

ADA = Filter("ada")


def test_what_servers_do_is_audited_without_a_word_of_what_was_said() -> None:
    now = EPOCH
    who: Json = {"user_id": "ada", "conversation_id": None}
    moved = SessionMoved(session_id="vs_1", timestamp=now, reason="lost", owner="b", left_by="a")
    drained = SessionMoved(session_id="vs_2", timestamp=now, reason="drained", left_by="a")
    changed = ProviderChanged(
        session_id="vs_1", timestamp=now, provider="inside", previous="x", reason="wanted"
    )
    due = TaskDue(
        session_id=None, timestamp=now, reminder_id="r1", task_id="t", title="Secret", due_at=now
    )
    sent = delivery("d1", intent_id="due:r1", action="due")
    key = AccessToken(name="kiosk", digest="x", role="user", created_at=now)
    changes: list[Change] = [
        Announce(to_log(each, **who)) for each in (moved, drained, changed, due)
    ]
    changes += [Put(sent), Put(replace(sent, status="delivered"))]
    changes += [Put(key), Put(replace(key, revoked_at=now))]
    started = ToolStarted(
        session_id=None, timestamp=now, call_id="c", tool_name="x", description="Secret"
    )
    changes.append(Announce(to_log(started, **who)))
    lines = audited(changes, now)
    assert [(one.action, one.what, one.outcome) for one in lines] == [
        ("server", "session.moved vs_1", "reason lost, owner b, left_by a"),
        ("server", "session.moved vs_2", "reason drained, left_by a"),
        ("server", "provider.changed vs_1", "reason wanted, provider inside, previous x"),
        ("server", "task.due", "reminder_id r1"),
        ("delivery", "due:r1", "delivered"),
        ("token", "kiosk, for user", "made"),
        ("token", "kiosk, for user", "revoked"),
    ]
    assert [one.user_id for one in lines] == [*["ada"] * 4, sent.user_id, "", ""]


async def opened(store: LogStore | None = None, **options: int) -> tuple[LogStore, Journal]:
    store = store or LogStore()
    await store.open()
    journal = Journal(store, ManualClock(), **options)  # type: ignore[arg-type]
    await journal.open()
    return store, journal


@asynccontextmanager
async def running(journal: Journal) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(journal.run())
        try:
            yield
        finally:
            journal.close()


def parsed(frames: list[bytes]) -> list[tuple[str, dict[str, object], int | None]]:
    out = []
    for frame in b"".join(frames).decode().split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in frame.split("\n"))
        ident = int(lines["id"]) if "id" in lines else None
        out.append((lines["event"], json.loads(lines["data"]), ident))
    return out


def heard(frames: list[bytes]) -> list[str]:
    return [str(data["message"]) for _, data, _ in parsed(frames) if "message" in data]


def ids(frames: list[bytes]) -> list[int]:
    return [ident for _, _, ident in parsed(frames) if ident is not None]


async def taken(subscription: Subscription, count: int) -> list[bytes]:
    """At least `count` frames."""
    frames: list[bytes] = []
    async with asyncio.timeout(5):
        while len(frames) < count:
            frames += await subscription.take()
    return frames


async def test_a_frame_has_event_data_and_id_as_in_the_seed() -> None:
    _, journal = await opened()
    stream = journal.subscribe(ADA)
    event = ToolStarted(
        session_id="vs_1", timestamp=EPOCH, call_id="c", tool_name="t", description="d"
    )
    await journal.commit([Announce(to_log(event, user_id="ada", conversation_id=None))])
    (frame,) = await stream.take()
    head, data, ident, *rest = frame.split(b"\n")
    assert (head, ident, rest) == (b"event: tool.started", b"id: 1", [b"", b""])
    assert json.loads(data.removeprefix(b"data: "))["timestamp"] == iso(EPOCH)


async def test_nothing_is_announced_before_it_is_durable() -> None:
    store, journal = await opened()
    durable = asyncio.Event()
    store.gates.append(durable)
    stream = journal.subscribe(ADA)
    async with asyncio.TaskGroup() as group:
        commit = group.create_task(journal.commit(say("one")))
        taking = group.create_task(stream.take())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not taking.done()
        durable.set()
    assert [e.position for e in commit.result()] == [1]
    assert heard(taking.result()) == ["one"]


async def test_all_readers_share_one_encoded_frame() -> None:
    _, journal = await opened()
    first, second = journal.subscribe(ADA), journal.subscribe(Filter("ada", "vs_1"))
    await journal.commit(say("one"))
    assert (await first.take())[0] is (await second.take())[0]


async def test_commits_that_return_out_of_order_are_published_in_order() -> None:
    store, journal = await opened()
    stream = journal.subscribe(ADA)
    gates = [asyncio.Event() for _ in range(3)]
    store.gates += gates
    async with asyncio.TaskGroup() as group:
        for text in ("one", "two", "three"):
            group.create_task(journal.commit(say(text)))
        await asyncio.sleep(0)
        for gate in reversed(gates):
            gate.set()
            for _ in range(10):
                await asyncio.sleep(0)
    assert ids(await taken(stream, 3)) == [1, 2, 3]


async def test_many_writers_at_once_leave_no_gap_and_no_duplicate() -> None:
    chance = random.Random(7)
    store, journal = await opened(page=3, queue=5)
    stream = journal.subscribe(ADA)

    async def write(number: int) -> None:
        for _ in range(chance.randrange(5)):
            await asyncio.sleep(0)
        if number % 7 == 0:
            await store.foreign(note(f"foreign {number}"), wake=True)
        await journal.commit(say(*[f"{number}"] * chance.randrange(1, 4)))

    async def read() -> list[bytes]:
        frames: list[bytes] = []
        while "the end" not in heard(frames[-1:]):
            frames += await stream.take()
        return frames

    async with running(journal), asyncio.timeout(20), asyncio.TaskGroup() as readers:
        reader = readers.create_task(read())
        async with asyncio.TaskGroup() as writers:
            for number in range(60):
                store.gates.append(gate := asyncio.Event())
                writers.create_task(write(number))
                asyncio.get_running_loop().call_later(chance.random() / 100, gate.set)
        await journal.commit(say("the end"))
    assert ids(reader.result()) == list(range(1, store.given + 1))


async def test_what_another_process_wrote_is_published_in_its_place() -> None:
    store, journal = await opened()
    stream = journal.subscribe(ADA)
    await store.foreign(note("theirs"))
    await journal.commit(say("ours"))
    assert heard(await taken(stream, 2)) == ["theirs", "ours"]


async def test_the_tail_wakes_when_another_process_commits() -> None:
    store, journal = await opened()
    stream = journal.subscribe(ADA)
    async with running(journal):
        await store.foreign(note("theirs"), wake=True)
        assert heard(await taken(stream, 1)) == ["theirs"]


async def test_a_failing_read_delays_the_announcement_but_not_the_commit() -> None:
    store = LogStore()
    await store.open()
    clock = ManualClock(auto=True)
    journal = Journal(store, clock, heartbeat=1e9)
    await journal.open()
    stream = journal.subscribe(ADA)
    await store.foreign(note("theirs"))
    store.failing_reads = 2
    assert [e.position for e in await journal.commit(say("ours"))] == [2]
    async with running(journal):
        frames = await taken(stream, 2)
    assert heard(frames) == ["theirs", "ours"]


async def test_a_commit_that_is_cancelled_after_it_was_durable_is_still_announced() -> None:
    store, journal = await opened()
    stream = journal.subscribe(ADA)
    store.gates.append(asyncio.Event())
    async with running(journal):
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(journal.commit(say("one")))
            while not store.given:
                await asyncio.sleep(0)
            writer.cancel()
        assert heard(await taken(stream, 1)) == ["one"]


async def test_without_readers_the_log_is_not_read_back() -> None:
    store, journal = await opened()
    await store.foreign(note("theirs"))
    await journal.commit(say("ours"))
    assert store.reads == []
    assert journal.position == 2


async def test_what_was_in_the_log_before_is_not_news() -> None:
    store = LogStore()
    await store.open()
    await store.foreign(note("old"))
    _, journal = await opened(store)
    stream = journal.subscribe(ADA)
    await journal.commit(say("new"))
    assert heard(await stream.take()) == ["new"]


# --- Filters ------------------------------------------------------------------------


async def test_a_stream_has_only_events_of_its_user_and_session() -> None:
    _, journal = await opened()
    of_user, of_session = journal.subscribe(ADA), journal.subscribe(Filter("ada", "vs_1"))
    await journal.commit(say("eve's", user="eve"))
    await journal.commit(say("other session", session="vs_2"))
    await journal.commit(say("no session", session=None))
    await journal.commit(say("mine"))
    assert heard(await of_user.take()) == ["other session", "no session", "mine"]
    assert heard(await of_session.take()) == ["mine"]


@pytest.mark.parametrize(
    ("text", "matching"),
    [
        (None, {"tool.started", "session.ended", "error", "rate_limit.warning"}),
        ("*", {"tool.started", "session.ended", "error", "rate_limit.warning"}),
        ("tool.*,session.*", {"tool.started", "session.ended"}),
        (" tool.* , error,", {"tool.started", "error"}),
        ("rate_limit.warning", {"rate_limit.warning"}),
    ],
)
def test_patterns_select_types(text: str | None, matching: set[str]) -> None:
    only = Filter("ada", types=patterns(text))
    types = {"tool.started", "session.ended", "error", "rate_limit.warning"}
    assert {kind for kind in types if only.accepts(kind)} == matching


@pytest.mark.parametrize("text", ["tool*", "*.started", "tool.*.x", "a b", "tool.\n", "Ü.*"])
def test_a_pattern_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        patterns(text)


def test_there_is_an_end_to_how_many_patterns_one_may_ask_for() -> None:
    with pytest.raises(InvalidRequest):
        patterns(",".join(["tool.*"] * 65))


async def test_a_replay_is_filtered_like_the_live_stream() -> None:
    store, journal = await opened(page=2)
    for number in range(5):
        await store.foreign(
            note(f"other {number}", session="vs_2"), note(f"eve {number}", user="eve")
        )
    await store.foreign(note("mine"))
    stream = journal.subscribe(Filter("ada", "vs_1", ("notification",)), after=0)
    assert heard(await stream.take()) == ["mine"]
    none = journal.subscribe(Filter("ada", None, ("tool.*",)), after=0, follow=False)
    assert await none.take() == []


# --- Ephemeral events and heartbeats ---------------------------------------------------


async def test_ephemeral_events_reach_who_listens_and_have_no_id() -> None:
    store, journal = await opened()
    stream = journal.subscribe(Filter("ada", types=("transcription.*",)))
    for delta in ("hel", "lo"):
        event = TranscriptionDelta(
            session_id="vs_1", timestamp=EPOCH, item_id="i", delta=delta, role="user"
        )
        journal.publish_ephemeral(event, user_id="ada", conversation_id=None)
    status = SessionStatus(
        session_id="vs_1",
        timestamp=EPOCH,
        state="ready",
        voice_session_active=True,
        amplifier_connected=True,
        pending_tasks=0,
        session_age_ms=1,
        estimated_tokens=1,
    )
    journal.publish_ephemeral(status, user_id="ada", conversation_id=None)
    found = parsed(await stream.take())
    assert [(kind, data["delta"], ident) for kind, data, ident in found] == [
        ("transcription.delta", "hel", None),
        ("transcription.delta", "lo", None),
    ]
    assert store.given == 0


async def test_one_ticker_beats_for_every_stream_whatever_it_subscribed_to() -> None:
    clock, store = ManualClock(), LogStore()
    await store.open()
    journal = Journal(store, clock, session_active=lambda user, session: session == "vs_1")
    await journal.open()
    streams = [
        journal.subscribe(Filter("ada", "vs_1", ("tool.*",))),
        journal.subscribe(Filter("ada")),
    ]
    async with running(journal):
        await clock.waiting()
        assert clock.sleepers == 1
        await clock.advance(30)
        await clock.waiting()
        await clock.advance(30)
        for stream, active in zip(streams, (True, False), strict=True):
            beats = parsed(await stream.take())
            assert [(kind, ident) for kind, _, ident in beats] == [("heartbeat", None)] * 2
            assert [data["session_active"] for _, data, _ in beats] == [active] * 2
            assert beats[0][1]["timestamp"] != beats[1][1]["timestamp"]


# --- Slow readers ----------------------------------------------------------------------


async def test_take_gives_all_that_is_queued_at_once() -> None:
    _, journal = await opened()
    stream = journal.subscribe(ADA)
    for text in "abc":
        await journal.commit(say(text))
    assert heard(await stream.take()) == ["a", "b", "c"]


async def test_a_reader_that_falls_behind_loses_no_durable_event_and_delays_nobody() -> None:
    _, journal = await opened(queue=4, page=3)
    slow, quick = journal.subscribe(ADA), journal.subscribe(ADA)
    seen: list[int] = []
    for number in range(1, 31):
        await journal.commit(say(f"{number}"))
        seen += ids(await quick.take())
    assert seen == list(range(1, 31))
    first = await slow.take()
    assert len(first) <= 4  # bounded, however late
    await journal.commit(say("31", "32"))
    assert ids(first + await taken(slow, 32 - len(first))) == list(range(1, 33))


async def test_a_reader_that_falls_behind_again_while_catching_up_loses_nothing() -> None:
    _, journal = await opened(queue=2, page=3)
    slow = journal.subscribe(ADA)
    seen: list[int] = []
    for number in range(1, 101):
        await journal.commit(say(f"{number}"))
        if number % 5 == 0:
            seen += ids(await slow.take())
    seen += ids(await taken(slow, 100 - len(seen)))
    assert seen == list(range(1, 101))


# --- Resuming ---------------------------------------------------------------------------


async def test_a_resume_replays_then_goes_live_without_gap_or_duplicate() -> None:
    store, journal = await opened(page=3)
    for number in range(1, 11):
        await journal.commit(say(f"{number}"))
    stream = journal.subscribe(ADA, after=4)
    seen = ids(await stream.take())
    await journal.commit(say("11"))  # in the middle of the replay
    await store.foreign(note("12"))  # by another process, not yet noticed
    while len(seen) < 7:
        seen += ids(await stream.take())
    await journal.commit(say("13"))
    seen += ids(await taken(stream, 9 - len(seen)))
    assert seen == list(range(5, 14))


async def test_resuming_at_the_end_replays_nothing() -> None:
    _, journal = await opened()
    await journal.commit(say("one"))
    stream = journal.subscribe(ADA, after=1)
    async with asyncio.TaskGroup() as group:
        taking = group.create_task(stream.take())
        await asyncio.sleep(0)
        await journal.commit(say("two"))
    assert heard(taking.result()) == ["two"]


async def test_a_position_that_another_process_gave_is_not_unknown() -> None:
    store, journal = await opened()
    await store.foreign(note("one"), note("two"))
    stream = journal.subscribe(ADA, after=1)
    assert heard(await stream.take()) == ["two"]


async def test_position_0_is_the_beginning_of_what_is_kept() -> None:
    store, journal = await opened()
    await journal.commit(say("1", "2", "3", "4"))
    await store.sweep_before(3)
    stream = journal.subscribe(Filter("ada", "vs_1"), after=0)
    assert heard(await stream.take()) == ["3", "4"]


@pytest.mark.parametrize("text", ["tool", "bogus.*", "tool.begun"])
def test_a_type_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="There is no event"):
        patterns(text)


@pytest.mark.parametrize(
    ("after", "reason"), [(-1, "position_unknown"), (1, "position_gone"), (99, "position_unknown")]
)
async def test_a_position_that_is_gone_brings_an_explicit_reset(after: int, reason: str) -> None:
    store, journal = await opened()
    await journal.commit(say("1", "2", "3", "4"))
    await store.sweep_before(3)
    stream = journal.subscribe(Filter("ada", "vs_1", ("tool.*", "notification")), after=after)
    ((kind, data, ident),) = parsed(await stream.take())
    assert (kind, ident) == ("stream.reset", 4)
    assert data == {
        "session_id": "vs_1",
        "timestamp": iso(EPOCH),
        "reason": reason,
        "requested": max(after, 0),
        "oldest": 3,
        "latest": 4,
    }
    await journal.commit(say("5"))
    assert ids(await stream.take()) == [5]


async def test_the_last_position_before_the_oldest_still_resumes() -> None:
    store, journal = await opened()
    await journal.commit(say("1", "2", "3", "4"))
    await store.sweep_before(3)
    assert ids(await journal.subscribe(ADA, after=2).take()) == [3, 4]


async def test_a_log_swept_bare_resumes_only_at_its_end() -> None:
    store, journal = await opened()
    await journal.commit(say("1", "2"))
    await store.sweep_before(3)
    assert parsed(await journal.subscribe(ADA, after=1).take())[0][0] == "stream.reset"
    stream = journal.subscribe(ADA, after=2)
    async with asyncio.TaskGroup() as group:
        taking = group.create_task(stream.take())
        await asyncio.sleep(0)
        await journal.commit(say("3"))
    assert ids(taking.result()) == [3]


async def test_a_sweep_in_the_middle_of_a_replay_is_told() -> None:
    store, journal = await opened(page=2)
    for number in range(1, 9):
        await journal.commit(say(f"{number}"))
    stream = journal.subscribe(ADA, after=0)
    assert ids(await stream.take()) == [1, 2]
    await store.sweep_before(6)
    assert parsed(await stream.take())[0][0] == "stream.reset"


async def test_without_follow_the_stream_ends_where_the_log_ends() -> None:
    store, journal = await opened(page=2)
    await journal.commit(say("1", "2", "3", "4", "5"))
    await store.sweep_before(2)
    everything = journal.subscribe(ADA, follow=False)
    seen: list[int] = []
    while frames := await everything.take():
        seen += ids(frames)
    assert seen == [2, 3, 4, 5]
    assert ids(await journal.subscribe(ADA, after=4, follow=False).take()) == [5]


async def test_the_opening_gives_a_new_client_the_place_to_resume_from() -> None:
    _, journal = await opened()
    await journal.commit(say("1", "2"))
    assert journal.subscribe(ADA).opening == b": connected\nretry: 2000\nid: 2\n\n"
    assert b"id:" not in journal.subscribe(ADA, after=1).opening


# --- Ending --------------------------------------------------------------------------


async def test_closing_gives_what_is_queued_and_then_ends() -> None:
    _, journal = await opened()
    stream = journal.subscribe(ADA)
    await journal.commit(say("last words"))
    journal.close()
    assert heard(await stream.take()) == ["last words"]
    assert await stream.take() == []
    assert await journal.subscribe(ADA).take() == []
    assert journal.streams == 0


async def test_closing_in_the_middle_of_a_replay_skips_nothing() -> None:
    _, journal = await opened(page=2)
    await journal.commit(say("1", "2", "3", "4"))
    stream = journal.subscribe(ADA, after=0)
    assert ids(await stream.take()) == [1, 2]
    await journal.commit(say("5"))
    journal.close()
    assert await stream.take() == []


async def test_a_closed_stream_is_forgotten() -> None:
    _, journal = await opened()
    stream = journal.subscribe(ADA)
    stream.close()
    stream.close()
    assert journal.streams == 0
    await journal.commit(say("one"))
    assert await stream.take() == []


async def test_there_is_an_end_to_how_many_streams_may_be_open() -> None:
    _, journal = await opened(max_streams=1)
    stream = journal.subscribe(ADA)
    with pytest.raises(Unavailable):
        journal.subscribe(ADA)
    stream.close()
    journal.subscribe(ADA)
