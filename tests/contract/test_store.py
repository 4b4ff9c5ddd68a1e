"""What every store promises, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import (
    START,
    at,
    call,
    conversation,
    entry,
    event,
    one_time_key,
    session,
    snapshot,
    uid,
)
from vivavoce.errors import Conflict, InternalError, InvalidRequest, Unavailable
from vivavoce.runtime.ports import LogBounds, Retention
from vivavoce.wire.records.plans import AccessToken
from vivavoce.wire.records.talk import (
    Announce,
    CallStatus,
    Change,
    DropConversation,
    Kind,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
    Status,
    ToolStats,
)

BASE: list[Change] = [PutConversation(conversation()), PutSession(session(), new=True)]


# --- Keeping --------------------------------------------------------------------


async def test_what_was_committed_is_there_after_reopening(backend: Backend) -> None:
    kept_conversation = conversation(title="Plans", metadata={"a": [1, None]}, ended_at=at(9))
    kept_session = session(
        status=Status.COMPLETED,
        model="m",
        voice="v",
        call_id="rtc_1",
        updated_at=at(5),
        ended_at=at(5),
        end_reason="completed",
        input_tokens=7,
        output_tokens=8,
        metadata={"b": {"c": 0.5}},
    )
    kept_entry = entry("e", session_id="vs_1", modality="text", data={"generated": "more"})
    kept_call = call(
        "call_1",
        conversation_id=uid("c"),
        session_id="vs_1",
        arguments={"zone": "UTC"},
        origin="http",
        status=CallStatus.FAILED,
        output="out",
        error="no",
        truncated=True,
        progress="half",
        finished_at=at(1),
        duration_ms=1000,
    )
    async with backend.store() as store:
        await store.commit(
            [
                PutConversation(kept_conversation),
                PutSession(kept_session, new=True),
                PutEntry(kept_entry),
                Put(kept_call),
                Put(snapshot()),
                Announce(event()),
            ]
        )
    async with backend.store() as store:
        assert await store.conversation(uid("c"), user_id="ann") == kept_conversation
        assert await store.session("vs_1", user_id="ann") == kept_session
        assert await store.entries(uid("c"), user_id="ann") == [kept_entry]
        assert await store.tool_call("call_1", user_id="ann") == kept_call
        assert await store.snapshot("vs_1", user_id="ann") == snapshot()
        assert await store.events(after=0, limit=9) == [replace(event(), position=1)]
        assert (await store.commit([Announce(event())]))[0].position == 2


async def test_what_is_not_there_is_none_or_empty(backend: Backend) -> None:
    async with backend.store() as store:
        for name in (uid("nothing"), "no uuid", "\0"):
            assert await store.conversation(name, user_id="ann") is None
            assert await store.entries(name, user_id="ann") == []
            assert await store.session(name, user_id=None) is None
            assert await store.summary(name, user_id="ann") is None
            assert await store.tool_call(name, user_id="ann") is None
            assert await store.snapshot(name, user_id="ann") is None
            assert await store.open_calls(name) == []
        assert await store.sessions(user_id="ann") == []
        assert await store.session_totals() == (0, 0.0)
        assert await store.tool_stats("nothing") == ToolStats()


async def test_a_closed_store_says_so(backend: Backend) -> None:
    async with backend.store() as store:
        pass
    with pytest.raises(Unavailable):
        await store.commit(BASE)
    with pytest.raises(Unavailable):
        await store.log_bounds()


async def test_closing_writes_what_waits(backend: Backend) -> None:
    async with backend.store() as store, asyncio.TaskGroup() as group:
        await store.commit(BASE)
        for n in range(50):
            group.create_task(store.commit([PutEntry(entry(f"e{n}"))]))
        await asyncio.sleep(0)
        await store.close()
    async with backend.store() as store:
        assert len(await store.entries(uid("c"), user_id="ann")) == 50


async def test_moments_come_back_in_utc_to_the_microsecond(backend: Backend) -> None:
    tokyo = START.astimezone(timezone(timedelta(hours=9)))
    async with backend.store() as store:
        await store.commit([PutConversation(conversation(created_at=tokyo))])
        found = await store.conversation(uid("c"), user_id="ann")
    assert found is not None
    assert found.created_at == START
    assert found.created_at.utcoffset() == timedelta(0)


async def test_text_that_databases_refuse_is_mended(backend: Backend) -> None:
    odd = "a\0b \ud83d\ude00 \ud800 é"
    mended = "ab 😀 \ufffd é"
    odd_data = {"k\0": [odd, float("nan"), 2**70]}
    async with backend.store() as store:
        await store.commit(
            [
                *BASE,
                PutEntry(entry("e", text=odd, data=odd_data)),
                Put(call("id\0", output=odd, arguments={"x": odd})),
                Announce(event(data=b'{"t":"\\u0000"}')),
            ]
        )
        (found,) = await store.entries(uid("c"), user_id="ann")
        found_call = await store.tool_call("id\0", user_id="ann")
        (found_event,) = await store.events(after=0, limit=1)
    assert found.text == mended
    assert found.data == {"k": [mended, None, 2**70]}
    assert found_call is not None
    assert (found_call.output, found_call.arguments) == (mended, {"x": mended})
    assert found_event.data == b'{"t":"\\u0000"}'


# --- All or nothing -------------------------------------------------------------


async def test_a_submission_is_kept_whole_or_not_at_all(backend: Backend) -> None:
    orphan = PutEntry(entry("lost", of="no such conversation"))
    async with backend.store() as store:
        with pytest.raises(InternalError):
            await store.commit([*BASE, PutEntry(entry("e")), orphan, Announce(event())])
        assert await store.conversation(uid("c"), user_id="ann") is None
        assert await store.session("vs_1", user_id=None) is None
        assert await store.log_bounds() == LogBounds(1, 0)


async def test_a_bad_submission_fails_alone(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(BASE)
        submissions: list[list[Change]] = [
            [PutEntry(entry(f"e{n}", of="nowhere" if n % 5 == 0 else "c")), Announce(event())]
            for n in range(40)
        ]
        async with asyncio.timeout(30):
            results = await asyncio.gather(
                *(store.commit(each) for each in submissions), return_exceptions=True
            )
        failed = {n for n, result in enumerate(results) if isinstance(result, InternalError)}
        assert failed == set(range(0, 40, 5))
        positions = sorted(r[0].position for r in results if not isinstance(r, BaseException))
        assert positions == list(range(1, 33))
        assert len(await store.entries(uid("c"), user_id="ann")) == 32
        assert await store.log_bounds() == LogBounds(1, 32)


async def test_a_taken_session_id_is_a_conflict_for_its_submitter_alone(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([PutConversation(conversation())])
        results = await asyncio.gather(
            *(store.commit([PutSession(session(agent=str(n)), new=True)]) for n in range(8)),
            store.commit([PutEntry(entry("e"))]),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Conflict) for result in results) == 7
        assert results[-1] == []
        found = await store.session("vs_1", user_id="ann")
        assert found is not None
        assert found.agent == "0"


async def test_records_named_by_no_uuid_are_refused(backend: Backend) -> None:
    async with backend.store() as store:
        with pytest.raises(InvalidRequest):
            await store.commit([PutConversation(conversation(id="mine"))])


async def test_one_uuid_in_two_spellings_is_one(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(BASE)
        await store.commit([PutEntry(entry("e", id=uid("e").upper()))])
        await store.commit([PutEntry(entry("e", text="again"))])
        (found,) = await store.entries(uid("c").upper(), user_id="ann")
    assert (found.id, found.text) == (uid("e"), "again")


# --- Upserts --------------------------------------------------------------------


async def test_writing_an_entry_again_changes_what_it_says_and_not_where_it_is(
    backend: Backend,
) -> None:
    later = entry("e", text="new", data={"n": 2}, ordinal=99.0, created_at=at(60))
    async with backend.store() as store:
        await store.commit([*BASE, PutEntry(entry("e", text="old"))])
        await store.commit([PutEntry(later)])
        (found,) = await store.entries(uid("c"), user_id="ann")
    assert found == entry("e", text="new", data={"n": 2})


async def test_a_copy_never_overwrites(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([*BASE, PutEntry(entry("e", text="ours"))])
        copies: list[Change] = [
            PutEntry(entry("e", text="theirs"), replace=False),
            PutEntry(entry("f", text="new"), replace=False),
            PutEntry(entry("f", text="twice"), replace=False),
        ]
        await store.commit(copies)
        await store.commit(copies)
        texts = {e.text for e in await store.entries(uid("c"), user_id="ann")}
    assert texts == {"ours", "new"}


@pytest.mark.parametrize("replace_", [True, False])
async def test_an_entry_never_moves_to_another_conversation(
    backend: Backend, replace_: bool
) -> None:
    async with backend.store() as store:
        await store.commit([*BASE, PutConversation(conversation("d")), PutEntry(entry("e"))])
        await store.commit([PutEntry(entry("e", of="d", text="moved"), replace=replace_)])
        assert await store.entries(uid("c"), user_id="ann") == [entry("e")]
        assert await store.entries(uid("d"), user_id="ann") == []


async def test_an_entry_never_becomes_another_kind(backend: Backend) -> None:
    said = [entry(kind, kind=kind, data={"n": 1}, ordinal=n) for n, kind in enumerate(Kind)]
    async with backend.store() as store:
        await store.commit([*BASE, *(PutEntry(each) for each in said)])
        for each in said:
            for kind in set(Kind) - {each.kind}:
                await store.commit([PutEntry(replace(each, kind=kind, text="changed"))])
        assert await store.entries(uid("c"), user_id="ann") == said


async def test_the_kinds_of_entries_survive(backend: Backend) -> None:
    said = [entry(kind, kind=kind, ordinal=n, data={"n": n}) for n, kind in enumerate(Kind)]
    async with backend.store() as store:
        await store.commit([*BASE, *(PutEntry(each) for each in said)])
        assert await store.entries(uid("c"), user_id="ann") == said


async def test_entries_come_in_the_order_of_the_conversation(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(BASE)
        placed = [("late", 3.0, 0), ("first", 1.0, 9), ("tie b", 2.0, 2), ("tie a", 2.0, 1)]
        for name, ordinal, second in placed:
            await store.commit([PutEntry(entry(name, ordinal=ordinal, created_at=at(second)))])
        texts = [e.text for e in await store.entries(uid("c"), user_id="ann")]
    assert texts == ["first", "tie a", "tie b", "late"]


async def test_a_conversation_is_there_for_the_server_whoever_has_it(backend: Backend) -> None:
    known = conversation()
    async with backend.store() as store:
        await store.commit(BASE)
        assert await store.has_conversation(known.id)
        assert not await store.has_conversation(uid("another"))
        assert await store.conversation(known.id, user_id="somebody else") is None


async def test_a_session_and_a_conversation_keep_when_and_whose_they_are(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(BASE)
        ended = session(status=Status.COMPLETED, created_at=at(9), updated_at=at(9), ended_at=at(9))
        renamed = conversation(title="T", created_at=at(9), updated_at=at(9))
        await store.commit([PutSession(ended), PutConversation(renamed)])
        await store.commit([PutConversation(conversation(user_id="bob", title="Stolen"))])
        assert await store.session("vs_1", user_id="ann") == replace(ended, created_at=START)
        found = await store.conversation(uid("c"), user_id="ann")
        assert found == replace(renamed, created_at=START)


async def test_a_session_that_has_ended_stays_as_it_ended(backend: Backend) -> None:
    async with backend.store() as store:
        running = session("s", "c", updated_at=at(1))
        ended = replace(running, status=Status.COMPLETED, end_reason="user_ended", ended_at=at(2))
        await store.commit([PutConversation(conversation("c")), PutSession(running, new=True)])
        await store.commit([PutSession(ended)])
        # Whoever runs it did not know yet; what it took counts all the same.
        await store.commit([PutSession(replace(running, input_tokens=7, updated_at=at(3)))])
        late = replace(ended, status=Status.ERROR, end_reason="error", ended_at=at(9))
        await store.commit([PutSession(replace(late, input_tokens=8))])
        assert await store.session("s", user_id="ann") == replace(ended, input_tokens=8)
        assert await store.active_sessions() == []


async def test_a_call_is_written_before_it_runs_and_again_after(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([*BASE, Put(call("b", session_id="vs_1", started_at=at(1)))])
        await store.commit([Put(call("a", session_id="vs_1"))])
        assert [c.id for c in await store.open_calls("vs_1")] == ["a", "b"]
        done = call("a", session_id="vs_1", status=CallStatus.COMPLETED, output="12:00")
        await store.commit([Put(done)])
        assert [c.id for c in await store.open_calls("vs_1")] == ["b"]
        assert await store.tool_call("a", user_id="ann") == done


# --- Lists and numbers ----------------------------------------------------------


async def test_sessions_come_newest_first_with_title_and_turns(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([PutConversation(conversation(title="Plans"))])
        await store.commit([PutConversation(conversation("d"))])
        for n, of in enumerate("cdc"):
            status = Status.ACTIVE if n else Status.ERROR
            made = session(f"vs_{n}", of=of, created_at=at(n), status=status)
            await store.commit([PutSession(made, new=True)])
        kinds = (Kind.USER, Kind.ASSISTANT, Kind.USER, Kind.TOOL_CALL)
        await store.commit([PutEntry(entry(f"e{n}", kind=k)) for n, k in enumerate(kinds)])
        every = await store.sessions(user_id="ann")
        shown = [(each.session.id, each.title, each.turn_count) for each in every]
        assert shown == [("vs_2", "Plans", 2), ("vs_1", None, 0), ("vs_0", "Plans", 2)]
        assert await store.sessions(user_id="ann", limit=1) == every[:1]
        assert await store.sessions(user_id="ann", status=Status.ERROR) == every[2:]
        assert await store.summary("vs_0", user_id="ann") == every[2]
        assert [s.id for s in await store.active_sessions()] == ["vs_1", "vs_2"]


async def test_session_totals_take_the_mean_of_those_that_ended(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([*BASE])
        for n, seconds in enumerate((1.5, 2.5)):
            await store.commit([PutSession(session(f"vs_e{n}", ended_at=at(seconds)), new=True)])
        assert await store.session_totals() == (3, 2000.0)


async def test_tool_statistics_count_what_is_known(backend: Backend) -> None:
    outcomes = [
        (CallStatus.COMPLETED, 100),
        (CallStatus.COMPLETED, 200),
        (CallStatus.FAILED, 600),
        (CallStatus.STARTED, None),
        (CallStatus.UNKNOWN, None),
    ]
    async with backend.store() as store:
        for n, (status, duration) in enumerate(outcomes):
            made = call(f"c{n}", status=status, duration_ms=duration, started_at=at(n))
            await store.commit([Put(made), Put(call(f"o{n}", tool="other"))])
        stats = await store.tool_stats("current_time")
        assert await store.tool_stats("current_time", user_id="ann") == stats
        assert await store.tool_stats("current_time", user_id="bob") == ToolStats()
    assert stats == ToolStats(
        total_calls=5, avg_duration_ms=300.0, success_rate=2 / 3, last_called=at(4)
    )


async def test_a_token_is_kept_by_its_name_and_can_be_revoked_and_made_anew(
    backend: Backend,
) -> None:
    made = AccessToken(
        name="ops", digest="d1", role="operator", created_at=at(0), expires_at=at(60)
    )
    other = AccessToken(name="dev", digest="d2", role="developer", created_at=at(1))
    async with backend.store() as store:
        await store.commit([Put(made), Put(other)])
        assert await store.access_tokens() == [other, made]
        await store.commit([Put(replace(made, revoked_at=at(2)))])
        assert await store.access_tokens() == [other, replace(made, revoked_at=at(2))]
        again = replace(made, digest="d3", created_at=at(3), expires_at=None)
        await store.commit([Put(again)])
        assert await store.access_tokens() == [other, again]


async def test_a_key_opens_once_whoever_asks_and_only_what_it_is_for(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(one_time_key("k")), Put(one_time_key("other", user_id="bob"))])
        assert await store.take_key("nothing", "browser") is None
        found = await asyncio.gather(*(store.take_key("k", "browser") for _ in range(5)))
        assert [one for one in found if one is not None] == [one_time_key("k")]
        assert await store.take_key("other", "browser") == one_time_key("other", user_id="bob")


async def test_keys_that_nobody_took_are_swept(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(one_time_key("k", expires_at=at(60)))])
        assert await store.sweep(Retention(), at(59)) == 0
        assert await store.sweep(Retention(), at(61)) == 1
        assert await store.take_key("k", "browser") is None


# --- Users ----------------------------------------------------------------------


async def test_a_user_sees_only_what_is_theirs(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([*BASE, PutEntry(entry("e")), Put(snapshot())])
        await store.commit([Put(call("x")), Announce(event()), Announce(event(user_id="bob"))])
        assert await store.conversation(uid("c"), user_id="bob") is None
        assert await store.session("vs_1", user_id="bob") is None
        assert await store.session("vs_1", user_id=None) is not None
        assert await store.summary("vs_1", user_id="bob") is None
        assert await store.sessions(user_id="bob") == []
        assert await store.entries(uid("c"), user_id="bob") == []
        assert await store.tool_call("x", user_id="bob") is None
        assert await store.snapshot("vs_1", user_id="bob") is None
        assert [e.position for e in await store.events(after=0, limit=9, user_id="bob")] == [2]


async def test_a_user_cannot_write_into_what_belongs_to_another(backend: Backend) -> None:
    intrusions: list[list[Change]] = [
        [PutEntry(entry("mine", user_id="bob"))],
        [PutSession(session("vs_bob", user_id="bob"), new=True)],
        [Put(call("x", user_id="bob", conversation_id=uid("c")))],
        [Put(snapshot(user_id="bob"))],
    ]
    async with backend.store() as store:
        await store.commit([*BASE, PutEntry(entry("e"))])
        for changes in intrusions:
            with pytest.raises(InternalError):
                await store.commit(changes)
        await store.commit([Put(snapshot())])
        await store.commit([Put(snapshot(user_id="bob", data={}))])
        assert await store.snapshot("vs_1", user_id="ann") == snapshot()
        await store.commit([PutSession(session(user_id="bob", status=Status.ERROR))])
        found = await store.session("vs_1", user_id="ann")
        assert found is not None
        assert found.status is Status.ACTIVE


async def test_call_ids_of_two_users_do_not_collide(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(call("call_1", output="ann's"))])
        await store.commit([Put(call("call_1", output="bob's", user_id="bob"))])
        found = [await store.tool_call("call_1", user_id=user) for user in ("ann", "bob")]
    assert [each and each.output for each in found] == ["ann's", "bob's"]


async def test_a_field_of_a_conversation_is_changed_alone_and_none_is_made(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        of = conversation(title="Plans")
        await store.commit([PutConversation(replace(of, ended_at=at(9)))])
        better = replace(of, title="A garden", gist={"files": ["a.py"]}, updated_at=at(12))
        await store.commit([Put(better, ("title", "gist"))])
        found = await store.conversation(of.id, user_id=of.user_id)
        assert found == replace(better, ended_at=at(9))
        await store.commit([PutConversation(of)])
        again = await store.conversation(of.id, user_id=of.user_id)
        assert again is not None
        assert again.gist == {"files": ["a.py"]}
        await store.commit([DropConversation(of.id, of.user_id)])
        await store.commit([Put(better, ("gist",))])
        assert await store.conversation(of.id, user_id=of.user_id) is None


async def test_a_title_is_not_taken_away_by_one_who_does_not_know_it(backend: Backend) -> None:
    async with backend.store() as store:
        named = conversation(title="Plans", summary="They planned.")
        await store.commit([PutConversation(named)])
        await store.commit([PutConversation(conversation(updated_at=at(9)))])
        found = await store.conversation(named.id, user_id=named.user_id)
        assert found is not None
        assert (found.title, found.summary, found.updated_at) == ("Plans", "They planned.", at(9))
