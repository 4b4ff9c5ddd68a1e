"""Every call takes one way: checked, recorded before it runs, run once, recorded, answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import orjson
import pytest

from tests.runtime.calls.book import Book, Few
from vivavoce.errors import (
    Conflict,
    IntentRefused,
    InternalError,
    InvalidArguments,
    InvalidRequest,
    RateLimited,
    ToolFailed,
    ToolNotFound,
    ToolTimeout,
    Unavailable,
)
from vivavoce.logs import PRIVATE
from vivavoce.runtime.calls import executor
from vivavoce.runtime.calls.executor import MOST_DISPLAYS, ToolExecutor
from vivavoce.runtime.calls.outcomes import ToolOutcome, ToolRequest, failed
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import Window
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.testing.fakes import ManualClock, MemoryStore
from vivavoce.tools import Registry, tool
from vivavoce.wire.records.talk import (
    CallStatus,
    Conversation,
    Kind,
    PutConversation,
    PutSession,
    ToolCall,
    VoiceSession,
    entry_id,
)

CONVERSATION = "6f2c1a52-0b1e-4d6f-9f51-6a5a3f0f7d11"
OTHER = "0d9a7c1e-93b4-4a43-8a7e-2f6f6a4b1c22"
Act = Callable[[ToolContext], Awaitable[str]]


class Bench:
    """An executor with one tool, `act`, that does what the test says."""

    def __init__(self, act: Act | None = None, *, timeout: float = 60.0) -> None:
        self.book = Book()
        self.clock = ManualClock(auto=True)
        self.per_user, self.per_session = Few(), Few()
        self.runs = 0
        self.settled: list[ToolCall] = []
        self._act = act

        @tool(name="act", timeout=timeout, describe=lambda given: f"Acting on <b>{given['on']}</b>")
        async def run(context: ToolContext, on: str = "") -> str:
            """Does what the test says."""
            self.runs += 1
            return await self._act(context) if self._act else f"done {on}"

        self.executor = self.new_executor(Registry([run]))

    def new_executor(self, tools: Registry) -> ToolExecutor:
        self.tools = tools
        return ToolExecutor(
            tools=tools,
            calls=cast("Any", self.book),
            journal=self.book,
            clock=self.clock,
            per_user=self.per_user,
            per_session=self.per_session,
            settled=self.settled.append,
        )

    async def run(self, **changes: Any) -> ToolOutcome:
        return await self.executor.run(request(**changes))

    def call(self, call_id: str = "call_1") -> ToolCall:
        return self.book.calls["ann", call_id]


def request(**changes: Any) -> ToolRequest:
    given: dict[str, Any] = {
        "name": "act",
        "arguments": '{"on": "it"}',
        "call_id": "call_1",
        "user_id": "ann",
        "session_id": "vs_1",
        "conversation_id": CONVERSATION,
    }
    return ToolRequest(**{**given, **changes})


# --- The good way -----------------------------------------------------------------


async def test_a_call_is_durable_before_it_runs_and_its_outcome_before_it_is_told() -> None:
    seen: list[tuple[CallStatus, int]] = []

    async def act(context: ToolContext) -> str:
        seen.append((bench.call().status, len(bench.book.commits)))
        await bench.clock.sleep(0.25)
        return "all <i>good</i>\x07"

    bench = Bench(act)
    outcome = await bench.run()

    assert seen == [(CallStatus.STARTED, 1)]
    assert (outcome.success, outcome.output, outcome.duration_ms) == (
        True,
        "all <i>good</i>\x07",
        250,
    )
    assert outcome.for_model == outcome.output
    assert len(bench.book.commits) == 2
    call = bench.call()
    assert (call.status, call.output, call.duration_ms) == (
        CallStatus.COMPLETED,
        "all ‹i›good‹/i›",
        250,
    )
    assert bench.settled == [call]


async def test_events_have_every_field_and_are_clean() -> None:
    bench = Bench()
    await bench.run()
    (started, first), (completed, second) = bench.book.events
    assert (started, completed) == ("tool.started", "tool.completed")
    assert first == {
        "session_id": "vs_1",
        "timestamp": "2026-01-31T14:30:22.000Z",
        "call_id": "call_1",
        "tool_name": "act",
        "description": "Acting on ‹b›it‹/b›",
    }
    assert second["success"] is True
    assert second["output_preview"] == "done it"


async def test_a_call_and_its_result_become_two_entries_in_order() -> None:
    bench = Bench()
    await bench.run(ordinal=3e12)
    said, result = bench.book.entries.values()
    assert said.id == entry_id(CONVERSATION, "tool_call:call_1")
    assert result.id == entry_id(CONVERSATION, "tool_result:call_1")
    assert (said.kind, result.kind) == (Kind.TOOL_CALL, Kind.TOOL_RESULT)
    assert said.data == {
        "tool_name": "act",
        "tool_call_id": "call_1",
        "tool_arguments": {"on": "it"},
        "source": "server",
    }
    assert result.data["tool_result"] == {
        "success": True,
        "output": "done it",
        "duration_ms": 0,
        "truncated": False,
    }
    assert said.ordinal == 3e12 < result.ordinal


async def test_without_a_conversation_there_are_no_entries() -> None:
    bench = Bench()
    await bench.run(conversation_id=None, session_id=None, origin="http")
    assert not bench.book.entries
    assert bench.call().origin == "http"
    assert bench.per_session.keys == []


async def test_long_output_is_cut_for_the_model_and_kept_whole_in_the_record() -> None:
    async def act(context: ToolContext) -> str:
        return "a line of output\n" * 1000

    bench = Bench(act)
    outcome = await bench.run()
    assert outcome.truncated
    assert len(outcome.for_model) <= 4000
    assert 'read_output("call_1", from_line) shows the rest]' in outcome.for_model
    assert len(bench.call().output) == 17_000
    assert bench.call().truncated
    assert len(bench.book.events[-1][1]["output_preview"]) == 200


async def test_even_the_record_has_its_bound() -> None:
    async def act(context: ToolContext) -> str:
        return "x" * 1_000_000

    bench = Bench(act)
    await bench.run()
    assert len(bench.call().output) == 256 * 1024


async def test_it_works_on_the_real_journal_over_a_store() -> None:
    bench, store = Bench(), MemoryStore()
    await store.open()
    now = bench.clock.now()
    kept = Conversation(id=CONVERSATION, user_id="ann", created_at=now, updated_at=now)
    session = VoiceSession(
        id="vs_1",
        conversation_id=CONVERSATION,
        user_id="ann",
        agent="workbench",
        created_at=now,
        updated_at=now,
    )
    await store.commit([PutConversation(kept), PutSession(session, new=True)])
    limit = Window(10, 60, clock=bench.clock)
    executor = ToolExecutor(
        tools=bench.tools,
        calls=store,
        journal=Journal(store, bench.clock),
        clock=bench.clock,
        per_user=limit,
        per_session=limit,
    )
    first, second = await executor.run(request()), await executor.run(request())
    assert first == second
    entries = await store.entries(CONVERSATION, user_id="ann")
    assert [entry.kind for entry in entries] == [Kind.TOOL_CALL, Kind.TOOL_RESULT]
    events = await store.events(after=0, limit=10)
    assert [event.type for event in events] == ["tool.started", "tool.completed"]
    assert (await store.tool_stats("act")).total_calls == 1
    await store.close()


# --- Refusals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"name": "nope"}, ToolNotFound),
        ({"allowed": {"other"}}, ToolNotFound),
        ({"arguments": "{not json"}, InvalidArguments),
        ({"arguments": "[1]"}, InvalidArguments),
        ({"arguments": {"on": 5}}, InvalidArguments),
        ({"arguments": '"' + "x" * 300_000 + '"'}, InvalidArguments),
    ],
)
async def test_a_refused_call_of_the_model_is_part_of_the_conversation(
    changes: dict[str, Any], fault: type[Exception]
) -> None:
    bench = Bench()
    outcome = await bench.run(**changes)
    assert isinstance(outcome.fault, fault)
    assert bench.runs == 0
    assert [len(commit) for commit in bench.book.commits] == [4]
    assert bench.book.types == ["tool.error"]
    assert bench.call().status is CallStatus.FAILED
    assert {entry.kind for entry in bench.book.entries.values()} == {
        Kind.TOOL_CALL,
        Kind.TOOL_RESULT,
    }


async def test_a_refused_call_of_a_client_is_only_answered() -> None:
    bench = Bench()
    outcome = await bench.run(arguments={"on": 5}, origin="http")
    assert isinstance(outcome.fault, InvalidArguments)
    assert bench.book.commits == []
    assert (await bench.run(origin="http")).success


async def test_a_webhook_hears_of_a_refusal_as_an_event() -> None:
    bench = Bench()
    await bench.run(arguments={"on": 5}, origin="webhook")
    assert bench.book.types == ["tool.error"]


async def test_every_failure_reaches_the_model_in_one_shape() -> None:
    outcome = await Bench().run(arguments="{}", name="nope")
    assert orjson.loads(outcome.for_model) == {
        "success": False,
        "error": "I don't have a tool for that.",
        "recoverable": False,
        "suggestion": None,
    }


async def test_calls_are_limited_for_the_user_and_for_the_session() -> None:
    for which in ("per_user", "per_session"):
        bench = Bench()
        getattr(bench, which).limit = 1
        await bench.run()
        outcome = await bench.run(call_id="call_2")
        assert isinstance(outcome.fault, RateLimited)
        assert outcome.fault.retry_after_ms == 1000
        assert outcome.recoverable
        assert bench.runs == 1
    assert (bench.per_user.keys, bench.per_session.keys) == (["ann", "ann"], ["vs_1"])


async def test_a_client_that_asks_too_often_writes_nothing() -> None:
    bench = Bench()
    bench.per_user.limit = 0
    for origin in ("http", "webhook"):
        await bench.run(origin=origin)
    assert bench.book.commits == []


@pytest.mark.parametrize("call_id", ["", "a b", "x" * 129, "\ud800"])
async def test_a_call_id_has_to_be_one(call_id: str) -> None:
    bench = Bench()
    assert isinstance((await bench.run(call_id=call_id)).fault, InvalidRequest)
    assert bench.book.commits == []


# --- Failures ---------------------------------------------------------------------


def _raise(exc: BaseException) -> Act:
    async def act(context: ToolContext) -> str:
        raise exc

    return act


@pytest.mark.parametrize(
    ("raised", "fault", "error", "recoverable"),
    [
        (ToolFailed("no paper"), ToolFailed, "Something went wrong: no paper", True),
        (FileNotFoundError("/secret/x"), ToolFailed, "I couldn't find that file", True),
        (PermissionError("/secret/x"), ToolFailed, "I don't have permission", False),
        (TimeoutError(), ToolFailed, "taking too long", True),
        (RuntimeError("password=hunter2"), InternalError, "on my side", False),
        (asyncio.CancelledError(), ToolFailed, "gave up", True),
    ],
)
async def test_a_failing_tool_is_explained_and_gives_nothing_of_the_inside_away(
    raised: BaseException, fault: type[Exception], error: str, recoverable: bool
) -> None:
    bench = Bench(_raise(raised))
    outcome = await bench.run()
    assert not outcome.success
    assert isinstance(outcome.fault, fault)
    assert outcome.error is not None
    assert error in outcome.error
    assert outcome.recoverable is recoverable
    assert bench.book.types == ["tool.started", "tool.error"]
    told = outcome.for_model + outcome.fault.message + str(bench.book.events)
    assert "secret" not in told
    assert "hunter2" not in told
    call = bench.call()
    assert (call.status, call.error) == (CallStatus.FAILED, outcome.error)
    assert bench.settled == [call]


async def _for_ever(context: ToolContext) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(("own", "asked"), [(0.01, None), (60.0, 0.01), (0.01, 60.0)])
async def test_a_tool_that_takes_too_long_is_stopped(own: float, asked: float | None) -> None:
    bench = Bench(_for_ever, timeout=own)
    outcome = await bench.run(timeout=asked)
    assert isinstance(outcome.fault, ToolTimeout)
    assert outcome.fault.details == {"tool": "act", "timeout_ms": 10}
    assert outcome.suggestion == "Retry or abort"
    assert bench.call().status is CallStatus.FAILED


async def test_a_client_is_told_of_a_store_that_is_away_and_nothing_runs() -> None:
    bench = Bench()
    bench.book.broken = True
    with pytest.raises(Unavailable):
        await bench.run(origin="http")
    assert bench.runs == 0
    assert bench.executor.running() == []


@pytest.mark.parametrize("origin", ["model", "task"])
async def test_a_call_in_a_talk_or_a_task_waits_for_a_store_that_is_away(origin: str) -> None:
    bench = Bench()
    bench.book.broken = 4
    outcome = await bench.run(origin=origin)
    assert (outcome.success, bench.runs) == (True, 1)
    assert bench.call().status is CallStatus.COMPLETED
    assert bench.clock.slept == [0.2, 1.0, 3.0, 3.0]


@pytest.mark.parametrize("origin", ["model", "http", "webhook", "task"])
async def test_what_a_tool_did_is_stored_however_long_the_store_is_away(origin: str) -> None:
    async def act(context: ToolContext) -> str:
        bench.book.broken = 20
        return "written"

    bench = Bench(act)
    first = await bench.run(origin=origin)
    assert (first.success, first.output) == (True, "written")
    assert bench.call().status is CallStatus.COMPLETED
    assert (await bench.run(origin=origin)).output == "written"
    assert bench.runs == 1


async def test_no_tool_fails_because_its_progress_cannot_be_stored() -> None:
    async def act(context: ToolContext) -> str:
        bench.book.broken = True
        await context.report("half way")
        await context.display("Look!")
        bench.book.broken = False
        return "done"

    bench = Bench(act)
    assert (await bench.run()).output == "done"


# --- Once and never again ---------------------------------------------------------


async def test_a_call_that_is_done_is_answered_again_and_not_run_again() -> None:
    bench = Bench()
    first = await bench.run()
    commits = len(bench.book.commits)
    second = await bench.run(origin="webhook", arguments={"on": "it"})
    assert second == first
    assert (bench.runs, len(bench.book.commits)) == (1, commits)
    assert bench.per_user.keys == ["ann"]


async def test_a_failed_call_is_answered_again_with_the_same_words() -> None:
    bench = Bench(_raise(ToolFailed("no paper")))
    first, second = await bench.run(), await bench.run()
    assert (second.success, second.error) == (False, first.error)
    assert bench.runs == 1


async def test_those_who_ask_while_it_runs_get_the_same_outcome() -> None:
    go = asyncio.Event()

    async def act(context: ToolContext) -> str:
        await go.wait()
        return "once"

    bench = Bench(act)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(bench.run()) for _ in range(5)]
        for _ in range(10):
            await asyncio.sleep(0)
        assert [call.id for call in bench.executor.running("vs_1")] == ["call_1"]
        assert bench.executor.running("vs_other") == []
        tasks[3].cancel()  # one who loses patience takes nothing from the others
        for _ in range(10):
            await asyncio.sleep(0)
        go.set()
    outcomes = [task.result() for task in tasks if not task.cancelled()]
    assert [outcome.output for outcome in outcomes] == ["once"] * 4
    assert bench.runs == 1
    assert bench.executor.running() == []


async def test_those_who_wait_hear_of_a_store_that_fails() -> None:
    bench = Bench()
    bench.book.broken = True
    both = (bench.run(origin="http"), bench.run(origin="http"))
    results = await asyncio.gather(*both, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable, Unavailable]


@pytest.mark.parametrize("change", [{"arguments": {"on": "other"}}, {"name": "nope"}])
async def test_an_id_that_means_one_call_cannot_mean_another(change: dict[str, Any]) -> None:
    bench = Bench()
    await bench.run()
    outcome = await bench.run(**change)
    assert isinstance(outcome.fault, Conflict)
    assert bench.runs == 1


async def test_a_provider_may_number_its_calls_anew_in_every_conversation() -> None:
    bench = Bench()
    await bench.run()
    await bench.run(conversation_id=OTHER, session_id="vs_2")
    again = await bench.run(conversation_id=OTHER, session_id="vs_2")
    assert again.success
    assert bench.runs == 2
    assert len(bench.book.calls) == 2
    assert [data["call_id"] for _, data in bench.book.events] == ["call_1"] * 4
    assert entry_id(OTHER, "tool_result:call_1") in bench.book.entries


async def test_two_conversations_may_run_the_same_id_at_once() -> None:
    bench = Bench()
    one, two = await asyncio.gather(bench.run(), bench.run(conversation_id=OTHER))
    assert one.success
    assert two.success
    assert (bench.runs, len(bench.book.calls)) == (2, 2)


async def test_users_do_not_share_ids() -> None:
    bench = Bench()
    await bench.run()
    await bench.run(user_id="bob", conversation_id=OTHER, arguments={"on": "his"})
    assert bench.runs == 2


# --- Restart and cancel -----------------------------------------------------------


async def _interrupted() -> Bench:
    """A call that was recorded as started by a process that is gone."""
    bench = Bench(_for_ever)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        while not bench.runs:
            await asyncio.sleep(0)
        left = bench.call()
        task.cancel()
    bench.book.calls["ann", "call_1"] = left
    bench.book.commits.clear()
    bench.runs = 0
    bench.executor = bench.new_executor(bench.tools)
    return bench


async def test_a_call_that_a_restart_interrupted_is_answered_and_never_rerun() -> None:
    bench = await _interrupted()
    outcome = await bench.run()
    assert not outcome.success
    assert outcome.error == "The outcome is unknown: it was interrupted by a restart."
    assert not outcome.recoverable
    assert bench.runs == 0
    assert bench.call().status is CallStatus.UNKNOWN
    assert bench.book.types == ["tool.error"]
    again = await bench.run()
    assert again.for_model == outcome.for_model
    assert len(bench.book.commits) == 1


async def test_what_a_restart_left_open_in_a_session_can_be_settled_at_once() -> None:
    bench = await _interrupted()
    assert await bench.executor.interrupted("vs_other") == []
    ((call, outcome),) = await bench.executor.interrupted("vs_1")
    assert (call.id, outcome.success) == ("call_1", False)
    assert bench.call().status is CallStatus.UNKNOWN
    assert await bench.executor.interrupted("vs_1") == []


async def test_a_cancelled_call_is_recorded_as_stopped() -> None:
    bench = Bench(_for_ever)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        while not bench.runs:
            await asyncio.sleep(0)
        waiting = group.create_task(bench.run())
        await asyncio.sleep(0)
        task.cancel()
    assert task.cancelled()
    assert waiting.result().error == "That was stopped before it was done."
    call = bench.call()
    assert (call.status, call.error) == (CallStatus.FAILED, waiting.result().error)
    assert bench.book.types == ["tool.started", "tool.error"]


async def test_a_cancelled_task_ends_even_when_the_store_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "QUIET_SECONDS", 0.05)
    bench = Bench(_for_ever)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        while not bench.runs:
            await asyncio.sleep(0)
        bench.book.broken = True
        task.cancel()
    assert task.cancelled()
    assert bench.executor.running() == []


# --- Progress ---------------------------------------------------------------------


async def test_progress_is_kept_at_most_once_a_second() -> None:
    async def act(context: ToolContext) -> str:
        for step in range(5):
            await context.report(f"step {step} <b>", step * 50)
            await bench.clock.sleep(0.4)
        return "done"

    bench = Bench(act)
    await bench.run()
    assert bench.book.types == ["tool.started", "tool.progress", "tool.progress", "tool.completed"]
    _, first, second, _ = (data for _, data in bench.book.events)
    assert (first["message"], first["percentage"]) == ("step 0 ‹b›", 0)
    assert (second["message"], second["percentage"]) == ("step 3 ‹b›", 100)
    call = bench.call()
    assert (call.progress, call.status) == ("step 3 ‹b›", CallStatus.COMPLETED)


async def test_the_figures_of_progress_and_words_for_the_screen_are_told() -> None:
    async def act(context: ToolContext) -> str:
        await context.report("3 of 4", 75, {"done": 3, "total": 4, "of": "<b>"})
        for number in range(MOST_DISPLAYS + 5):
            await context.display(f"Open <i>this</i> {number}", "warning")
        return "done"

    bench = Bench(act)
    await bench.run()
    _, progress, shown, *rest = (data for _, data in bench.book.events)
    assert progress["details"] == {"done": 3, "total": 4, "of": "‹b›"}
    assert (shown["level"], shown["message"]) == ("warning", "Open ‹i›this‹/i› 0")
    assert shown["call_id"] == "call_1"
    assert bench.book.types.count("notification") == MOST_DISPLAYS
    assert rest


async def test_a_call_says_how_long_it_will_take_once_that_is_known() -> None:
    seconds = [2.0]

    async def act(context: ToolContext) -> str:
        await bench.clock.sleep(seconds[0])
        return "done"

    bench = Bench(act)

    async def guessed(number: int, on: str) -> int | None:
        await bench.run(call_id=f"call_{number}", arguments={"on": on})
        starts = [data for kind, data in bench.book.events if kind == "tool.started"]
        return starts[-1].get("estimated_duration")

    assert await guessed(1, "one") is None
    assert await guessed(2, "one") == 2000  # the same once more
    assert await guessed(3, "two") is None  # two were too few to know the tool by
    assert await guessed(4, "three") == 2000
    seconds[0] = 60.0
    assert await guessed(5, "four") == 2000
    assert await guessed(6, "five") is None  # it differs too much to say
    assert await guessed(7, "four") == 60_000


async def test_the_files_that_a_call_changed_are_in_its_event_and_in_its_entry() -> None:
    @tool(name="act")
    def change(on: str = "") -> ToolOutput:
        """Changes a file."""
        return ToolOutput("Changed.", files_changed=("src/a.py", "b<i>.md"))

    bench = Bench()
    bench.executor = bench.new_executor(Registry([change]))
    outcome = await bench.run()
    assert outcome.files_changed == ("src/a.py", "b‹i›.md")
    (done,) = (data for kind, data in bench.book.events if kind == "tool.completed")
    assert done["files_changed"] == list(outcome.files_changed)
    result = bench.book.entries[entry_id(CONVERSATION, "tool_result:call_1")].data["tool_result"]
    assert result["files_changed"] == list(outcome.files_changed)


async def test_a_report_after_the_end_changes_nothing() -> None:
    kept: list[ToolContext] = []

    async def act(context: ToolContext) -> str:
        kept.append(context)
        return "done"

    bench = Bench(act)
    await bench.run()
    await kept[0].report("still here", None)
    assert bench.call().status is CallStatus.COMPLETED
    assert bench.book.types[-1] == "tool.completed"


# --- The log ----------------------------------------------------------------------


async def test_what_a_failing_tool_says_is_logged_as_private_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    await Bench(_raise(RuntimeError("she said hunter2"))).run()
    (record,) = caplog.records
    assert record.message == "Tool failed"
    fields = record.__dict__["fields"]
    private = {key for key, value in fields.items() if "hunter2" in str(value)}
    assert private == {"output"} <= PRIVATE
    assert record.exc_info is None


async def test_where_a_tool_failed_is_logged_without_our_own_frames(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")

    async def act(context: ToolContext) -> str:
        return str(1 // 0)

    await Bench(act).run()
    (record,) = caplog.records
    fields = record.__dict__["fields"]
    assert fields["error_type"] == "ZeroDivisionError"
    assert fields["at"] == f"{__file__}:{act.__code__.co_firstlineno + 1} in act"


def test_a_refusal_that_the_user_can_help_with_says_what_to_ask() -> None:
    choices = [{"id": "1", "title": "Run"}]
    fault = IntentRefused("Two fit", question="Which one?", missing=["task_id"], choices=choices)
    told = orjson.loads(failed(fault).for_model)
    assert (told["success"], told["question"], told["missing"]) == (
        False,
        "Which one?",
        ["task_id"],
    )
    assert told["choices"] == choices
    lacking = InvalidArguments("Ask for it", missing_params=["when"], question=None)
    assert orjson.loads(failed(lacking).for_model)["missing"] == ["when"]


async def test_while_a_user_leaves_their_calls_end_and_none_begins() -> None:
    begun = asyncio.Event()

    async def act(context: ToolContext) -> str:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await context.report("still here", None)
            return "I do not let myself be ended"
        return ""

    bench = Bench(act)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.run())
        await begun.wait()
        before = len(bench.book.events)
        async with bench.executor.without("ann"):
            assert bench.executor.running() == []
            outcome = await bench.run(call_id="call_2")
            assert isinstance(outcome.fault, Conflict)
        await running
        assert len(bench.book.events) == before, "nothing is written of it"
        assert bench.settled == []
