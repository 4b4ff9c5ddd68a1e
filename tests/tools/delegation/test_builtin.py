"""The built-in agents with a scripted model: what they do, say, keep and refuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.delegation.stage import Remembering, begin, carried, url, work
from tests.tools.delegation.thinkers import PlainDesk, Scripted, Thought, calls, done, tools
from vivavoce.errors import InvalidRequest, ToolFailed, Unavailable
from vivavoce.runtime.tasks.ports import Done, GaveUp
from vivavoce.tools.delegation.builtin import Bounds, BuiltInBackend
from vivavoce.wire.brain import Ask, Call, Finished, Piece, Result, Said

FAILED = '{"success": false, "error": "3 failed", "recoverable": true}'


async def run(
    thinker: Scripted,
    listener: Remembering | None = None,
    agent: str = "coder",
    description: str = "add logging",
    bounds: Bounds | None = None,
) -> Done:
    backend = BuiltInBackend(lambda: thinker, tools, bounds=bounds)
    context = PlainDesk(listener or Remembering())
    return await backend.run(work(agent=agent, description=description), context)


async def test_an_agent_reads_writes_runs_and_tells_what_it_changed() -> None:
    listener = Remembering(replies={"read_file": "def login(): ..."})
    thinker = Scripted(
        [
            calls(("read_file", {"path": "src/auth.py"}), words="Let me look."),
            calls(
                ("edit_file", {"path": "src/auth.py", "old_string": "a", "new_string": "b"}),
                ("write_file", {"path": "src/log.py", "content": "x"}),
            ),
            calls(("bash", {"command": "pytest -q"})),
            done("I added logging to the login."),
        ]
    )
    ended = await run(thinker, listener)
    assert ended == Done(
        summary="I added logging to the login.", files_changed=("src/auth.py", "src/log.py")
    )
    assert listener.progress == [
        ("Reading src/auth.py", "coder"),
        ("Editing src/auth.py", "coder"),
        ("Writing src/log.py", "coder"),
        ("Running the tests", "coder"),
    ]
    instructions, turns, names = thinker.shown[1]
    assert "You are the coder" in instructions
    assert turns[:2] == [Said("user", "add logging"), Said("assistant", "Let me look.")]
    assert turns[2:] == [
        Call("call_0_0", "read_file", '{"path": "src/auth.py"}'),
        Result("call_0_0", "def login(): ..."),
    ]
    assert {"bash", "ask_user", "done", "give_up"} <= set(names)
    assert "task" not in names  # nobody delegates what was delegated to them


@pytest.mark.parametrize("agent", ["explorer", "foundation:explorer", "planner", "reviewer"])
async def test_who_only_reads_is_neither_shown_nor_given_what_changes_things(agent: str) -> None:
    listener = Remembering()
    thinker = Scripted([calls(("bash", {"command": "rm x"})), done("Nothing changed.")])
    assert (await run(thinker, listener, agent)).files_changed == ()
    assert not listener.calls
    assert not {"bash", "write_file", "edit_file"} & set(thinker.shown[0][2])
    refused = thinker.shown[1][1][-1]
    assert isinstance(refused, Result)
    assert "There is no tool bash" in refused.output


async def test_work_of_somebody_with_fewer_tools_is_not_shown_the_others() -> None:
    thinker = Scripted([calls(("bash", {"command": "ls"})), done("I could not look.")])
    listener = Remembering()
    ordered = replace(work(agent="coder"), tools=("web_fetch", "read_file", "task"))
    await BuiltInBackend(lambda: thinker, tools).run(ordered, PlainDesk(listener))
    assert not listener.calls
    shown = set(thinker.shown[0][2])
    assert "read_file" in shown
    assert not shown & {"bash", "write_file", "task"}


@pytest.mark.parametrize(
    ("agent", "description"),
    [("team", "user authentication"), ("coder", "Plan auth, implement it, then review it")],
)
async def test_a_team_works_one_after_another_and_hands_on_its_results(
    agent: str, description: str
) -> None:
    listener = Remembering()
    thinker = Scripted(
        [
            done("1. Write auth.py"),
            calls(("write_file", {"path": "auth.py", "content": ""})),
            done("It is built."),
            done("No holes found."),
        ]
    )
    ended = await run(thinker, listener, agent, description)
    assert ended.summary == "It is built. The review says: No holes found."
    assert ended.files_changed == ("auth.py",)
    assert [each for each in listener.progress if "phase" in each[0]] == [
        ("Planning phase", "planner"),
        ("Implementing phase", "coder"),
        ("Review phase", "reviewer"),
    ]
    coder, reviewer = thinker.shown[1][1][0], thinker.shown[3][1][0]
    assert isinstance(coder, Said)
    assert isinstance(reviewer, Said)
    assert "From the planner:\n1. Write auth.py" in coder.text
    assert "Changed so far: auth.py" in reviewer.text


async def test_a_question_in_the_middle_gets_the_users_words() -> None:
    listener = Remembering()
    ask = {"question": "REST or GraphQL?", "choices": ["REST", "GraphQL", 3, ""]}
    thinker = Scripted([calls(("ask_user", ask)), done("Built.")])
    await run(thinker, listener)
    assert listener.questions[0][1:] == ("REST or GraphQL?", ("REST", "GraphQL"))
    assert thinker.shown[1][1][-1] == Result("call_0_0", "yes")


async def test_giving_up_says_what_was_tried_and_what_to_do() -> None:
    listener = Remembering(replies={"bash": FAILED})
    give_up = calls(("give_up", {"error": "tests fail", "suggestions": ["Fix them first"]}))
    thinker = Scripted([calls(("bash", {"command": "make test"})), give_up])
    with pytest.raises(GaveUp) as gave:
        await run(thinker, listener)
    assert gave.value.error == "tests fail"
    assert gave.value.tried == ("Running the tests: 3 failed",)
    assert gave.value.suggestions == ("Fix them first",)


async def test_a_failing_tool_is_something_to_learn_from() -> None:
    listener = Remembering(replies={"write_file": ToolFailed("disk full")})
    thinker = Scripted(
        [calls(("write_file", {"path": "a", "content": ""})), Thought("It cannot be written.")]
    )
    ended = await run(thinker, listener)
    assert ended == Done(summary="It cannot be written.")
    learned = thinker.shown[1][1][-1]
    assert isinstance(learned, Result)
    assert "disk full" in learned.output


@pytest.mark.parametrize(
    ("thought", "told"),
    [
        (calls(("read_file", "{broken")), "not a JSON object"),
        (calls(("read_file", "[1]")), "not a JSON object"),
        (calls(("ask_user", {"question": 3})), "no question"),
        (calls(("launch\x1b[31m", {})), "There is no tool launch"),
        (Thought(), "call done"),
    ],
)
async def test_what_a_model_gets_wrong_it_is_told(thought: Thought, told: str) -> None:
    thinker = Scripted([thought, done("Sorry.")])
    await run(thinker)
    last = thinker.shown[1][1][-1]
    assert told in (last.output if isinstance(last, Result) else getattr(last, "text", ""))


async def test_running_in_circles_ends() -> None:
    listener = Remembering()
    thinker = Scripted([calls(("grep", {"pattern": "x"}))])
    with pytest.raises(GaveUp, match="not done after 12 steps") as gave:
        await run(thinker, listener, bounds=Bounds(thoughts=12))
    assert len(listener.calls) == 2
    assert gave.value.suggestions


@pytest.mark.parametrize(
    ("faults", "asked"),
    [
        ([Unavailable("still loading")], 4),
        ([InvalidRequest("too long")], 2),
        ([KeyError("x")], 1),
    ],
)
async def test_a_model_that_does_not_answer_is_asked_again_and_then_given_up(
    faults: list[Thought | Exception], asked: int, tmp_path: Path
) -> None:
    thinker, listener = Scripted(faults), Remembering()
    backend = BuiltInBackend(lambda: thinker, tools, bounds=Bounds(patience=(0.0, 0.0, 0.0)))
    async with carried(url(tmp_path), backend, listener) as carrier:
        await begin(carrier, work(agent="coder"))
        _, how, gave = await listener.end()
    assert how == "failed"
    assert "did not answer" in gave.error
    assert len(thinker.shown) == asked


async def test_a_model_that_is_still_loading_is_waited_for() -> None:
    loading = Unavailable("still loading")
    thinker = Scripted([loading, loading, loading, done("There you are.")])
    ended = await run(thinker, bounds=Bounds(patience=(0.0, 0.0, 0.0)))
    assert ended.summary == "There you are."


async def test_the_model_never_sees_more_than_its_context() -> None:
    listener = Remembering(replies={"read_file": "y" * 50_000, "write_file": "ok"})
    reads = [calls(("read_file", {"path": f"{n}.py"})) for n in range(20)]
    big = calls(("write_file", {"path": "big", "content": "z" * 90_000}))
    thinker = Scripted([*reads[:10], big, *reads[10:], done("Read.")])
    bounds = Bounds(context_chars=6_000, result_chars=1_000)
    await run(thinker, listener, bounds=bounds)
    assert listener.calls[10][2]["content"] == "z" * 90_000
    for _, turns, _ in thinker.shown:
        text = [
            each.text if isinstance(each, Said) else getattr(each, "output", "") for each in turns
        ]
        args = [each.arguments for each in turns if isinstance(each, Call)]
        assert sum(map(len, text)) + sum(map(len, args)) < 6_500
        assert turns[0] == Said("user", "add logging")
        open_calls = {each.call_id for each in turns if isinstance(each, Call)}
        assert open_calls == {each.call_id for each in turns if isinstance(each, Result)}


async def test_thoughts_and_calls_are_not_repeated_after_a_restart(tmp_path: Path) -> None:
    thinker = Scripted(
        [
            calls(("write_file", {"path": "a.py", "content": ""})),
            calls(("ask_user", {"question": "Tests too?"})),
            calls(("bash", {"command": "pytest"})),
            done("Both."),
        ]
    )
    backend, listener = BuiltInBackend(lambda: thinker, tools), Remembering()
    async with carried(url(tmp_path), backend, listener) as carrier:
        await begin(carrier, work(agent="foundation:coder"))
        await listener.until(lambda: listener.questions)
    async with carried(url(tmp_path), backend, listener) as carrier:
        await carrier.answer("task_1", listener.questions[0][0], "yes please")
        end = await listener.end()
    assert end[2] == Done(summary="Both.", files_changed=("a.py",))
    assert len(thinker.shown) == 4
    assert [call[:2] for call in listener.calls] == [
        ("task_1:2", "write_file"),
        ("task_1:6", "bash"),
    ]


async def test_cancelling_stops_the_model_in_the_middle_of_a_thought(tmp_path: Path) -> None:
    class Slow(Scripted):
        stopped = False

        async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
            listener.changed.set()
            self.shown.append(("", [], []))
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped = True
            yield Finished()

    thinker, listener = Slow([]), Remembering()
    async with carried(url(tmp_path), BuiltInBackend(lambda: thinker, tools), listener) as carrier:
        await begin(carrier, work(agent="explorer"))
        await listener.until(lambda: thinker.shown)
        await carrier.cancel("task_1")
        assert (await listener.end())[1] == "cancelled"
    assert thinker.stopped
