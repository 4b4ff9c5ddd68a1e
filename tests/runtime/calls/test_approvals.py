"""A yes is the user's own, stored with who and when; everything else is a no."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from tests.runtime.tasks.work_bench import WorkBench, away, settle, work_bench
from vivavoce.errors import Conflict, Forbidden, NotFound, Unavailable
from vivavoce.runtime.agents.work import Permissions, Rule
from vivavoce.runtime.calls.approvals import Gatekeeper, NotPermitted, _pins
from vivavoce.runtime.ports import ToolContext
from vivavoce.session.events import ApprovalAsked, ApprovalSettled
from vivavoce.wire.records.talk import Put, ToolCall
from vivavoce.wire.records.work import Approval, ApprovalStatus, Role, Task

MAKE = {"command": "make"}


async def ask(
    bench: WorkBench, timeout: float = 30.0, arguments: Mapping[str, Any] | None = None
) -> bool:
    about = ToolContext("ann", session_id="vs_1")
    given = arguments or MAKE
    return await bench.approvals.ask(about, "bash", given, "May I run make?", timeout=timeout)


async def pending(bench: WorkBench) -> Approval:
    while not (found := bench.approvals.pending("ann")):
        await asyncio.sleep(0)
    return found[0]


async def test_a_click_grants_and_is_stored_with_who_and_when() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        await bench.approvals.resolve(approval.id, "ann", granted=True, by="click")
        assert await asking is True
        kept = await bench.store.approval(approval.id, user_id="ann")
        assert kept is not None
        assert (kept.status, kept.resolved_by) == (ApprovalStatus.GRANTED, "click")
        assert kept.resolved_at is not None
        assert await bench.events() == ["approval.requested", "approval.resolved"]
        assert bench.notifier.told == [
            ApprovalAsked(approval.id, "May I run make?"),
            ApprovalSettled(approval.id),
        ]


@pytest.mark.parametrize("command", ["ls \u202e", "echo \x1b[2K", "a\x00b", "x\ud800"])
async def test_nobody_can_say_yes_to_what_cannot_be_seen(command: str) -> None:
    async with work_bench() as bench:
        assert await ask(bench, arguments={"command": command}) is False
        assert await bench.events() == []


async def test_a_spoken_yes_waits_for_a_store_that_is_away_and_a_click_is_told() -> None:
    """A click can be made again; a yes that was said will not be said once more."""
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench, timeout=3000.0))
        approval = await pending(bench)
        answer = partial(bench.approvals.resolve, approval.id, "ann", granted=True)
        async with away(bench, 3):
            with pytest.raises(Unavailable):
                await answer(by="click")
            await answer(by="voice")
        assert await asking is True
        assert await bench.events() == ["approval.requested", "approval.resolved"]


async def test_what_is_shown_is_exactly_what_would_run() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        given = {"command": "cat <notes.txt >out && echo '<b>'", "n": [1, {"a": None}]}
        asking = group.create_task(ask(bench, arguments=given))
        assert (await pending(bench)).arguments == given
        asking.cancel()


async def test_silence_is_a_no() -> None:
    async with work_bench() as bench:
        assert await ask(bench, timeout=0.01) is False
        assert await bench.events() == ["approval.requested", "approval.resolved"]
        assert not bench.approvals.pending("ann")


async def test_another_user_can_neither_see_nor_answer_it() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        assert bench.approvals.pending("bob") == []
        with pytest.raises(NotFound):
            await bench.approvals.resolve(approval.id, "bob", granted=True, by="click")
        await bench.approvals.resolve(approval.id, "ann", granted=False, by="voice", words="No.")
        assert await asking is False


async def test_the_first_answer_counts_and_the_same_again_is_no_error() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        await bench.approvals.resolve(approval.id, "ann", granted=False, by="click")
        assert await asking is False
        await bench.approvals.resolve(approval.id, "ann", granted=False, by="click")
        with pytest.raises(Conflict):
            await bench.approvals.resolve(approval.id, "ann", granted=True, by="click")


async def test_a_call_that_is_given_up_takes_its_request_back() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        asking.cancel()
        await settle()
        kept = await bench.store.approval(approval.id, user_id="ann")
        assert kept is not None
        assert (kept.status, kept.resolved_by) == (ApprovalStatus.DENIED, "cancel")


async def test_a_restart_in_between_is_a_no() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        await bench.new_approvals().lapse((await bench.store.claim()).approvals)
        kept = await bench.store.approval(approval.id, user_id="ann")
        assert kept is not None
        assert (kept.status, kept.resolved_by) == (ApprovalStatus.EXPIRED, "restart")
        asking.cancel()


async def test_one_yes_is_for_the_same_call_in_the_rest_of_the_session() -> None:
    once = Rule(decision="ask_once", tool="bash")
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        gate = Gatekeeper(Permissions(rules=(once,)), bench.approvals)

        def admitted(session: str, command: str = "make test") -> asyncio.Task[object]:
            given = {"command": command}
            call = ToolCall(
                id="call",
                user_id="ann",
                tool="bash",
                started_at=bench.clock.now(),
                arguments=given,
                session_id=session,
            )
            return group.create_task(gate.admit(call, True, given, "Run it", None))

        first = admitted("vs_1")
        approval = await pending(bench)
        await bench.approvals.resolve(approval.id, "ann", granted=True, by="click")
        assert await first is None
        assert await admitted("vs_1") is None
        for again in (admitted("vs_2"), admitted("vs_1", "make install")):
            approval = await pending(bench)
            await bench.approvals.resolve(approval.id, "ann", granted=False, by="click")
            assert isinstance(await again, NotPermitted)


async def test_a_yes_for_the_session_is_stored_and_asked_no_more() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        assert not await bench.approvals.stands(approval, "bash", MAKE)
        settled = await bench.approvals.resolve(
            approval.id, "ann", granted=True, by="click", reach="session"
        )
        assert await asking is True
        assert (settled.reach, settled.resolved_by) == ("session", "click")
        assert settled.resolved_at is not None
        stands = bench.approvals.stands
        assert await stands(approval, "bash", MAKE)
        assert not await stands(approval, "bash", {"command": "make install"})
        assert not await stands(ToolContext("bob", session_id="vs_1"), "bash", MAKE)
        assert not await stands(ToolContext("ann", session_id="vs_2"), "bash", MAKE)
        assert not await stands(ToolContext("ann"), "bash", MAKE)


async def test_a_yes_for_good_outlives_the_session_and_the_server_until_it_is_taken_back() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        await bench.approvals.resolve(
            approval.id, "ann", granted=True, by="voice", words="Yes, always.", reach="always"
        )
        assert await asking is True
        later = bench.new_approvals()
        assert await later.stands(ToolContext("ann", session_id="vs_9"), "bash", MAKE)
        assert not await later.stands(ToolContext("bob", session_id="vs_9"), "bash", MAKE)
        (listed,) = await later.standing("ann")
        assert (listed.reach, listed.words, listed.resolved_by) == (
            "always",
            "Yes, always.",
            "voice",
        )
        assert await later.standing("bob") == []
        with pytest.raises(NotFound):
            await later.revoke(listed.id, "bob")
        assert (await later.revoke(listed.id, "ann")).revoked_at is not None
        assert await later.standing("ann") == []
        assert not await later.stands(ToolContext("ann", session_id="vs_9"), "bash", MAKE)
        with pytest.raises(NotFound):
            await later.revoke(listed.id, "ann")


async def test_a_yes_to_an_agents_own_tool_is_none_to_what_a_server_says_of_its_tools() -> None:
    """Whatever the agent calls it: an agreement with a server is kept beside the yeses."""
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        gate = Gatekeeper(Permissions(), bench.approvals)
        given = {"sha256": "0" * 64}
        now = bench.clock.now()
        task = Task(
            id="task_1",
            user_id="ann",
            description="Paint",
            title="Paint",
            agent="painter",
            backend="amplifier",
            created_at=now,
            updated_at=now,
        )
        await bench.store.commit([Put(task)])
        asking = group.create_task(gate.permitted("mcp:tracker", given, "Paint it", task))
        approval = await pending(bench)
        await bench.approvals.resolve(approval.id, "ann", granted=True, by="click", reach="always")
        assert await asking
        (standing,) = await bench.approvals.standing("ann")
        assert _pins([standing]) == {}


async def test_a_yes_to_a_page_is_one_to_its_site() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        about = ToolContext("ann", session_id="vs_1")
        page = {"url": "https://docs.example.org/a"}
        asked = bench.approvals.ask(about, "web_fetch", page, "May I?", timeout=30)
        asking = group.create_task(asked)
        approval = await pending(bench)
        await bench.approvals.resolve(approval.id, "ann", granted=True, by="click", reach="session")
        assert await asking
        stands = bench.approvals.stands
        assert await stands(about, "web_fetch", {"url": "docs.example.org/b?q=1"})
        assert not await stands(about, "web_fetch", {"url": "https://example.org/a"})
        assert not await stands(about, "web_fetch", {"url": "https://evil.org/docs.example.org"})


@pytest.mark.parametrize("lesser", ["user", "developer"])
async def test_who_may_less_than_whoever_asks_neither_sees_it_nor_answers_it(lesser: Role) -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))  # as an operator
        approval = await pending(bench)
        assert bench.approvals.pending("ann", lesser) == []
        for granted in (True, False):
            with pytest.raises(Forbidden, match="the role 'operator'"):
                await bench.approvals.resolve(
                    approval.id, "ann", granted=granted, by="voice", role=lesser
                )
        assert not asking.done()
        await bench.approvals.resolve(approval.id, "ann", granted=False, by="click")
        assert await asking is False


async def test_a_yes_that_goes_on_is_none_for_who_may_more_than_whoever_asked() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        about = ToolContext("ann", session_id="vs_1")
        asked = bench.approvals.ask(about, "bash", MAKE, "May I?", timeout=30, role="developer")
        asking = group.create_task(asked)
        approval = await pending(bench)
        given: Any = {"granted": True, "by": "click", "reach": "always", "role": "developer"}
        await bench.approvals.resolve(approval.id, "ann", **given)
        assert await asking
        stands = bench.approvals.stands
        assert await stands(about, "bash", MAKE, "developer")
        assert await stands(about, "bash", MAKE, "user")
        assert not await stands(about, "bash", MAKE, "operator")


async def test_a_no_stands_for_nothing() -> None:
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)
        await bench.approvals.resolve(approval.id, "ann", granted=False, by="click", reach="always")
        assert await asking is False
        assert not await bench.approvals.stands(approval, "bash", MAKE)
        assert await bench.approvals.standing("ann") == []


async def test_the_same_yes_again_while_the_first_is_being_stored_is_no_error() -> None:
    """Its answer was lost on the way, so the client sent it once more."""
    async with work_bench() as bench, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(bench))
        approval = await pending(bench)

        def yes() -> asyncio.Task[Approval]:
            again = bench.approvals.resolve(approval.id, "ann", granted=True, by="click")
            return group.create_task(again)

        both = [yes(), yes()]
        settled = [await task for task in both]
        assert [one.status for one in settled] == [ApprovalStatus.GRANTED] * 2
        assert await asking is True
        assert await bench.events() == ["approval.requested", "approval.resolved"]
