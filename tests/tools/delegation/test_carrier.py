"""Durable tasks over real DBOS: steps, questions, cancelling, failing, going on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import psycopg
import pytest

from tests.contract.postgres import drop_database, new_database
from tests.tools.delegation.stage import Doing, Remembering, begin, carried, url, work
from vivavoce.errors import BrainError, Unavailable
from vivavoce.runtime.tasks.ports import Backends, Done, GaveUp, StepFailed, TaskContext, Work
from vivavoce.tools.delegation.carrier import DurableCarrier


class Interrupted:
    """Three steps, a question after the second; counts what really ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def __call__(self, work: Work, context: TaskContext) -> Done:
        await context.progress("First")
        one = await context.step("one", self.count("one"))
        await context.call("write_file", {"path": "a"})
        await context.progress("Second")
        words = await context.ask("REST or GraphQL?", ["REST", "GraphQL"])
        await context.progress("Third")
        three = await context.step("three", self.count("three"))
        return Done(summary=f"{one} {words} {three}", files_changed=("a",))

    def count(self, name: str):  # type: ignore[no-untyped-def]
        async def do() -> str:
            self.ran.append(name)
            return name

        return do


async def test_a_task_waits_for_its_answer_over_a_restart_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    before, after, doing = Remembering(), Remembering(), Interrupted()
    async with carried(url(tmp_path), Doing(doing), before) as carrier:
        await begin(carrier, work())
        await begin(carrier, work())  # the same id is the same task
        await before.until(lambda: before.questions)
    assert before.questions == [("task_1:3", "REST or GraphQL?", ("REST", "GraphQL"))]
    assert before.calls == [("task_1:2", "write_file", {"path": "a"})]
    assert not before.ends
    async with carried(url(tmp_path), Doing(doing), after) as carrier:
        await after.until(lambda: after.questions)
        await carrier.answer("task_1", "task_1:1", "no such question")
        await carrier.answer("task_2", "task_1:3", "not yours")
        await carrier.answer("task_1", "task_1:3", "REST")
        await carrier.answer("task_1", "task_1:3", "GraphQL")
        end = await after.end()
    assert end == ("task_1", "finished", Done(summary="one REST three", files_changed=("a",)))
    assert after.questions == before.questions
    assert doing.ran == ["one", "three"]
    assert not after.calls
    assert [message for message, _ in before.progress + after.progress] == [
        *("First", "Second"),
        *("Second", "Third"),  # what was said after the last finished step may come again
    ]


async def test_on_postgres_it_has_a_schema_of_its_own() -> None:
    at, listener, doing = new_database(), Remembering(), Interrupted()
    try:
        async with carried(at, Doing(doing), listener) as carrier:
            await begin(carrier, work())
            await listener.until(lambda: listener.questions)
        async with carried(at, Doing(doing), listener) as carrier:
            await carrier.answer("task_1", "task_1:3", "REST")
            assert (await listener.end())[2].summary == "one REST three"
        with psycopg.connect(at) as connection:
            found = connection.execute(
                "SELECT DISTINCT table_schema FROM information_schema.tables"
            ).fetchall()
    finally:
        drop_database(at)
    assert {name for (name,) in found} == {"vivavoce_tasks", "pg_catalog", "information_schema"}
    assert doing.ran == ["one", "three"]


async def test_what_is_over_is_told_once_and_leaves_no_thread(tmp_path: Path) -> None:
    async def quick(work: Work, context: TaskContext) -> Done:
        return Done(summary="done")

    threads = set(threading.enumerate())
    first, second = Remembering(), Remembering()
    async with carried(url(tmp_path), Doing(quick), first) as carrier:
        await begin(carrier, work())
        await first.end()
    async with carried(url(tmp_path), Doing(quick), second) as carrier:
        await begin(carrier, work())
        await carrier.cancel("task_1")
        await begin(carrier, work("task_2"))
        await second.end()
    assert [end[:2] for end in first.ends + second.ends] == [
        ("task_1", "finished"),
        ("task_2", "finished"),
    ]
    ours = {each for each in threading.enumerate() if not each.name.startswith("asyncio_")}
    assert ours <= threads


async def test_an_answer_given_while_nobody_listened_is_found(tmp_path: Path) -> None:
    async def asks(work: Work, context: TaskContext) -> Done:
        return Done(summary=await context.ask("Which one?"))

    listener = Remembering()
    async with carried(url(tmp_path), Doing(asks), listener) as carrier:
        await begin(carrier, work())
        await listener.until(lambda: listener.questions)
    async with carried(url(tmp_path), Doing(asks), listener) as carrier:
        await carrier.answer("task_1", "task_1:1", "the blue one")
        assert (await listener.end())[2] == Done(summary="the blue one")


@pytest.mark.parametrize("where", ["asking", "working", "calling"])
async def test_cancelling_stops_the_work_wherever_it_is(tmp_path: Path, where: str) -> None:
    begun: list[str] = []
    stopped: list[str] = []
    listener = Remembering()

    async def for_ever() -> None:
        begun.append(where)
        listener.changed.set()
        try:
            await desk_is_busy.wait()
        finally:
            stopped.append(where)

    desk_is_busy = asyncio.Event()

    async def stuck(work: Work, context: TaskContext) -> Done:
        await context.progress("Here")
        if where == "asking":
            await context.ask("Well?")
        if where == "working":
            await context.step("long", for_ever)
        await for_ever()
        return Done(summary="never")

    async with carried(url(tmp_path), Doing(stuck), listener) as carrier:
        await begin(carrier, work())
        await listener.until(lambda: begun or listener.questions)
        await carrier.cancel("task_1")
        await listener.end()
        await carrier.cancel("task_1")
    assert [end[:2] for end in listener.ends] == [("task_1", "cancelled")]
    assert stopped == ([] if where == "asking" else [where])
    async with carried(url(tmp_path), Doing(stuck), listener) as carrier:
        await begin(carrier, work())
        await begin(carrier, work("task_2"))
        await carrier.cancel("task_2")  # perhaps before it began
        await listener.until(lambda: len(listener.ends) == 2)
    assert listener.ends[-1][:2] == ("task_2", "cancelled")


async def test_a_failure_is_kept_with_what_was_tried(tmp_path: Path) -> None:
    async def tries(work: Work, context: TaskContext) -> Done:
        raise GaveUp("3 tests fail", tried=["ran the tests"], suggestions=["Fix them first"])

    listener = Remembering()
    async with carried(url(tmp_path), Doing(tries), listener) as carrier:
        await begin(carrier, work())
        _, how, fault = await listener.end()
    assert how == "failed"
    assert (fault.error, fault.tried, fault.suggestions) == (
        "3 tests fail",
        ("ran the tests",),
        ("Fix them first",),
    )


@pytest.mark.parametrize(
    ("agent", "words"),
    [("nobody", "There is no agent named nobody"), ("away", "cannot work now: no key")],
)
async def test_work_for_someone_who_cannot_do_it_fails_in_words(
    tmp_path: Path, agent: str, words: str
) -> None:
    async def breaks(work: Work, context: TaskContext) -> Done:
        raise AssertionError

    listener = Remembering()
    async with carried(url(tmp_path), Doing(breaks), listener) as carrier:
        await begin(carrier, work(agent=agent))
        assert words in (await listener.end())[2].error


async def test_a_broken_backend_is_a_failed_task_not_a_broken_server(tmp_path: Path) -> None:
    async def breaks(work: Work, context: TaskContext) -> Done:
        if work.task_id == "task_1":
            raise KeyError("secret words")
        raise asyncio.CancelledError

    listener = Remembering()
    async with carried(url(tmp_path), Doing(breaks), listener) as carrier:
        await begin(carrier, work())
        await listener.end()
        await begin(carrier, work("task_2"))
        await listener.until(lambda: len(listener.ends) == 2)
    assert {how for _, how, _ in listener.ends} == {"failed"}
    assert not any("secret" in fault.error for _, _, fault in listener.ends)


async def test_a_failed_step_fails_the_same_way_after_a_restart(tmp_path: Path) -> None:
    seen: list[str] = []
    ran: list[str] = []

    async def fails(work: Work, context: TaskContext) -> Done:
        async def theirs() -> None:
            ran.append("theirs")
            raise ZeroDivisionError("by zero")

        async def ours() -> None:
            ran.append("ours")
            raise BrainError("no model")

        try:
            await context.step("theirs", theirs)
        except StepFailed as exc:
            seen.append(f"{exc.kind}: {exc}")
        try:
            await context.step("ours", ours)
        except BrainError as exc:
            seen.append(exc.message)
        return Done(summary=await context.ask("Go on?"))

    listener = Remembering()
    async with carried(url(tmp_path), Doing(fails), listener) as carrier:
        await begin(carrier, work())
        await listener.until(lambda: listener.questions)
    async with carried(url(tmp_path), Doing(fails), listener) as carrier:
        await carrier.answer("task_1", "task_1:3", "yes")
        await listener.end()
    assert ran == ["theirs", "ours"]
    assert seen == ["ZeroDivisionError: by zero", "no model"] * 2


async def test_inside_a_step_messages_go_straight_through_with_ids_of_their_own(
    tmp_path: Path,
) -> None:
    async def nests(work: Work, context: TaskContext) -> Done:
        async def inner() -> list[str]:
            await context.progress("Inside")
            await context.call("bash", {})
            assert await context.approve("bash", {"command": "ls"}, "May I?")
            return [await context.ask("Really?"), await context.call("bash", {})]

        return Done(summary=" ".join(await context.step("agent", inner)))

    listener = Remembering(replies={"bash": "ok"})
    async with carried(url(tmp_path), Doing(nests), listener) as carrier:
        await begin(carrier, work())
        await listener.until(lambda: listener.questions)
        assert listener.questions[0][0] == "task_1:1.3"
        await carrier.answer("task_1", "task_1:1.3", "yes")
        assert (await listener.end())[2].summary == "yes ok"
    assert [call[0] for call in listener.calls] == ["task_1:1.1", "task_1:1.4"]


async def test_only_while_running_and_one_at_a_time(tmp_path: Path) -> None:
    async def quick(work: Work, context: TaskContext) -> Done:
        return Done(summary="done")

    async with carried(url(tmp_path), Doing(quick), Remembering()) as carrier:
        with pytest.raises(Unavailable):
            async with carried(url(tmp_path / "b"), Doing(quick), Remembering()):
                pass
    with pytest.raises(Unavailable):
        await begin(carrier, work())


async def test_one_that_cannot_be_opened_does_not_take_the_server_along(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    backends = Backends(())
    carrier = DurableCarrier(url(tmp_path / "file"), backends, executor_id="one", lazy=True)
    async with carrier.running(Remembering()):
        for _ in range(2):
            with pytest.raises(Unavailable):
                await carrier.cancel("task_1")


async def test_a_lazy_one_opens_when_it_is_wanted(tmp_path: Path) -> None:
    async def quick(work: Work, context: TaskContext) -> Done:
        return Done(summary="done")

    listener = Remembering()
    backends = Backends((Doing(quick),))
    carrier = DurableCarrier(url(tmp_path), backends, executor_id="one", lazy=True)
    async with carrier.running(listener):
        assert not list(tmp_path.iterdir())
        await begin(carrier, work())
        assert (await listener.end())[1] == "finished"
    async with carrier.running(listener):
        pass


async def test_the_end_is_told_when_the_listener_can_take_it(tmp_path: Path) -> None:
    class Deaf(Remembering):
        tries = 0

        async def finished(self, task_id: str, done: Done) -> None:
            self.tries += 1
            if self.tries == 1:
                raise Unavailable("no store")
            await super().finished(task_id, done)

    async def quick(work: Work, context: TaskContext) -> Done:
        return Done(summary="done")

    listener = Deaf()
    async with carried(url(tmp_path), Doing(quick), listener) as carrier:
        await begin(carrier, work())
        await listener.end()
    assert len(listener.ends) == 1


@pytest.mark.full
async def test_on_postgres_nobody_takes_the_work_of_another_instance_unasked() -> None:
    async def asks(work: Work, context: TaskContext) -> Done:
        return Done(summary=await context.ask("Well?"))

    at, one, two = new_database(), Remembering(), Remembering()
    try:
        async with carried(at, Doing(asks), one) as carrier:
            await begin(carrier, work())
            await begin(carrier, work("task_2"))
            await one.until(lambda: len(one.questions) == 2)
        async with carried(at, Doing(asks), two, executor_id="two") as carrier:
            await carrier.answer("task_1", "task_1:1", "Said at the other door")
            await begin(carrier, work("task_3"))
            await two.until(lambda: two.questions)
            assert [question[0] for question in two.questions] == ["task_3:1"]
            await carrier.resume(work())
            await carrier.resume(work("task_2"))
            assert (await two.end())[2].summary == "Said at the other door"
            await two.until(lambda: len(two.questions) == 2)
            assert two.questions[-1][0] == "task_2:1"
    finally:
        drop_database(at)


async def test_a_file_is_one_servers_whatever_it_is_called(tmp_path: Path) -> None:
    async def asks(work: Work, context: TaskContext) -> Done:
        return Done(summary=await context.ask("Well?"))

    listener = Remembering()
    async with carried(url(tmp_path), Doing(asks), listener, executor_id="old name") as carrier:
        await begin(carrier, work())
        await listener.until(lambda: listener.questions)
    async with carried(url(tmp_path), Doing(asks), listener, executor_id="new name") as carrier:
        await carrier.cancel("task_1")
        assert (await listener.end())[1] == "cancelled"


NEEDLE, KEY = "Zwetschgenkuchen", "sk-proj-AbCd1234EfGh5678IjKl"


def _holding(folder: Path, words: str) -> list[str]:
    return [path.name for path in folder.iterdir() if words.encode() in path.read_bytes()]


async def test_forgotten_tasks_are_ended_and_in_no_file(tmp_path: Path) -> None:
    async def do(work: Work, context: TaskContext) -> Done:
        await context.progress(work.description)
        words = await context.ask(f"More {NEEDLE}?", [])
        await context.step("kept", lambda: _value(words))
        await context.ask("And then?", [])
        return Done(summary="never")

    listener = Remembering()
    async with carried(url(tmp_path), Doing(do), listener) as carrier:
        for task_id in ("task_1", "task_10"):
            await begin(carrier, work(task_id, description=f"bake {NEEDLE}"))
        await listener.until(lambda: len(listener.questions) == 2)
        await carrier.answer("task_1", "task_1:1", f"yes, {NEEDLE}")
        await listener.until(lambda: len(listener.questions) == 3)
        assert _holding(tmp_path, NEEDLE)
        kept = await carrier.kept(["task_1"])
        assert {row["table"] for row in kept} >= {"workflow_status", "operation_outputs"}
        assert not any(str(row["workflow_uuid"]).startswith("task_10") for row in kept)
        await carrier.cancel("task_10")
        await carrier.forget(["task_1", "task_10"])
        assert sorted(end[:2] for end in listener.ends) == [
            ("task_1", "cancelled"),
            ("task_10", "cancelled"),
        ]
        assert await carrier.kept(["task_1", "task_10"]) == []
        assert _holding(tmp_path, NEEDLE) == []
    assert _holding(tmp_path, NEEDLE) == []


async def test_a_secret_is_used_and_not_written_down(tmp_path: Path) -> None:
    seen: list[str] = []

    async def do(work: Work, context: TaskContext) -> Done:
        seen.append(await context.step("fetch", lambda: _value(f"the key\n{KEY}")))
        return Done(summary=work.description)

    listener = Remembering()
    async with carried(url(tmp_path), Doing(do), listener) as carrier:
        await begin(carrier, work(description=f"use\n{KEY}"))
        _, _, done = await listener.end()
        assert seen == [f"the key\n{KEY}"]
        assert done.summary == "use\n[redacted: key]"
        assert _holding(tmp_path, KEY) == []


async def _value(words: str) -> str:
    return words
