"""The client for apps in Python, against a whole server in this process: what is written and
answered, tasks that ask, tools that wait for a yes, and events that are never lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.docs_text import ROOT
from tests.journeys.embedded import embedded
from tests.journeys.stage import Stage
from tests.talk.between import Between
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.client import Event, NoServer, Refusal, Vivavoce
from vivavoce.wire.events import TaskQuestion

TOKEN = "a-token-that-is-long-enough"
ASK = {"question": "REST or GraphQL?", "choices": ["REST", "GraphQL"]}
SCRIPT = Script(
    rules=(
        Rule(when="six times seven", calls=(ToolUse("calculate", {"expression": "6*7"}),)),
        Rule(result_of="calculate", say="That makes {output}."),
        Rule(
            when="new endpoint",
            calls=(ToolUse("task", {"instruction": "{text}", "agent": "coder"}),),
        ),
        Rule(result_of="task", say="I'll delegate this."),
        Rule(when="new endpoint", calls=(ToolUse("ask_user", ASK),)),
        Rule(
            result_of="ask_user",
            when="REST",
            calls=(ToolUse("done", {"summary": "The REST endpoint is there."}),),
        ),
        Rule(when="remove it", calls=(ToolUse("bash", {"command": "rm -r old"}),)),
        Rule(result_of="bash", say="It is gone."),
    )
)


@asynccontextmanager
async def at(st: Stage, user: str | None = None) -> AsyncIterator[Vivavoce]:
    async with Vivavoce(st.url, user=user) as voice:
        yield voice


async def first(events: AsyncIterator[Event], wanted: Callable[[Event], bool]) -> Event:
    async with asyncio.timeout(20):
        async for event in events:
            if wanted(event):
                return event
    raise AssertionError("the stream ended")


def named(name: str) -> Callable[[Event], bool]:
    return lambda event: event.name == name


async def test_what_is_written_is_answered_kept_found_and_deleted(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st, at(st) as voice:
        assert await voice.ready()
        begun = await voice.conversations.begin("Sums")
        assert (begun.title, begun.message_count) == ("Sums", 0)
        answer = await voice.conversations.write(begun.id, "What is six times seven?")
        assert answer.reply is not None
        assert (answer.reply.role, answer.reply.content) == ("assistant", "That makes 42.")
        assert answer.reply.created_at >= answer.message.created_at
        roles = [one.role for one in await voice.conversations.messages(begun.id)]
        assert (roles[0], roles[-1]) == ("user", "assistant")
        [listed] = await voice.conversations.list()
        assert (listed.id, listed.preview) == (begun.id, "That makes 42.")
        [hit] = await voice.conversations.search("seven")
        assert hit.conversation_id == begun.id
        assert "«seven»" in hit.snippet
        await voice.conversations.delete(begun.id)
        assert await voice.conversations.list() == ()


async def test_what_is_sent_twice_under_one_name_is_one_message(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st, at(st) as voice:
        begun = await voice.conversations.begin()
        one, two = [
            await voice.conversations.write(begun.id, "Hello", once="the-same") for _ in range(2)
        ]
        assert one.message.id == two.message.id
        said = await voice.conversations.messages(begun.id)
        assert [each.role for each in said] == ["user", "assistant"]


async def test_a_session_is_opened_for_whoever_carries_its_sound(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st, at(st) as voice:
        begun = await voice.conversations.begin()
        await voice.conversations.write(begun.id, "Hello")
        opened = await voice.sessions.open(begun.id)
        assert opened.conversation_id == begun.id
        assert opened.key.startswith("ek_")
        assert [one.content for one in opened.prior] == ["Hello", "You said: Hello."]
        assert (await voice.sessions.get(opened.session_id)).status == "active"
        await voice.sessions.end(opened.session_id)
        await voice.sessions.end(opened.session_id)
        ended = await voice.sessions.get(opened.session_id)
        assert ended.status != "active"
        assert ended.id in [one.id for one in await voice.sessions.list()]


async def test_a_task_that_asks_is_answered_and_its_end_is_told(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st, at(st) as voice:
        begun = await voice.conversations.begin()
        events = voice.events(names=["task.*"], after=0)
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(first(events, named("task.question")))
            await voice.conversations.write(begun.id, "Create a new endpoint")
            event = await asked
        told = event.typed()
        assert isinstance(told, TaskQuestion)
        assert told.choices == ["REST", "GraphQL"]
        task = await voice.tasks.get(told.task_id)
        assert task.status == "waiting"
        assert task.question is not None
        assert task.question.text == "REST or GraphQL?"
        await voice.tasks.answer(task.id, "REST", question=task.question.id)
        await first(voice.events(names=["task.completed"], after=event.position), lambda _: True)
        over = await voice.tasks.get(task.id)
        assert (over.status, over.result) == ("completed", "The REST endpoint is there.")
        assert [one.id for one in await voice.tasks.list()] == [task.id]
        assert await voice.tasks.list(open_only=True) == ()
        assert (await voice.tasks.cancel(task.id)).status == "completed"


async def test_a_tool_waits_for_a_yes_and_the_first_answer_counts(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    async with embedded(tmp_path, script=SCRIPT) as st, at(st) as voice:
        begun = await voice.conversations.begin()
        async with asyncio.TaskGroup() as group:
            events = voice.events(names=["approval.requested"], after=0)
            asked = group.create_task(first(events, lambda _: True))
            writing = group.create_task(voice.conversations.write(begun.id, "remove it"))
            event = await asked
            [waiting] = await voice.approvals.list()
            assert waiting.id == event.data["approval_id"]
            assert waiting.arguments["command"] == "rm -r old"
            decided = await voice.approvals.decide(waiting.id, False)
            assert decided.status == "denied"
            await writing
        assert (tmp_path / "old").exists()
        with pytest.raises(Refusal) as refused:
            await voice.approvals.decide(waiting.id, True)
        assert (refused.value.status, refused.value.passing) == (409, False)


async def test_events_go_on_where_they_were_when_the_line_broke(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        with Between(st.url) as between:
            async with Vivavoce(between.origin) as voice, at(st) as near:
                begun = await near.conversations.begin()
                events = voice.events(names=["transcription.completed"], after=0)
                reading = asyncio.Event()
                seen: list[str] = []

                async def read() -> None:
                    async for event in events:
                        seen.append(event.data["transcript"])
                        reading.set()
                        if len(seen) == 4:
                            return

                async with asyncio.timeout(20), asyncio.TaskGroup() as group:
                    group.create_task(read())
                    await near.conversations.write(begun.id, "One")
                    await reading.wait()
                    between.cut()
                    await near.conversations.write(begun.id, "Two")
        assert seen == ["One", "You said: One.", "Two", "You said: Two."]


async def test_what_is_stored_of_a_session_is_read_to_its_end(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st, at(st) as voice:
        begun = await voice.conversations.begin()
        answer = await voice.conversations.write(begun.id, "Hello")
        stored = [e async for e in voice.events(answer.session_id, after=0, follow=False)]
        said = [e.data["transcript"] for e in stored if e.name == "transcription.completed"]
        assert said == ["Hello", "You said: Hello."]
        assert {e.session_id for e in stored} == {answer.session_id}


async def test_a_token_is_asked_for_each_time_and_without_one_nobody_comes_in(
    tmp_path: Path,
) -> None:
    async with embedded(tmp_path, script=SCRIPT, auth="token", auth_token=TOKEN) as st:
        async with at(st) as stranger:
            assert await stranger.ready()  # that is no secret
            with pytest.raises(Refusal) as refused:
                await stranger.conversations.list()
            assert refused.value.status == 401
            with pytest.raises(Refusal):
                await first(stranger.events(), lambda _: True)
        asked = 0

        async def token() -> str:
            nonlocal asked
            asked += 1
            return TOKEN

        async with Vivavoce(st.url, token=token) as voice:
            await voice.conversations.list()
            await voice.tasks.list()
        assert asked == 2


async def test_users_are_named_where_no_token_is_asked_for(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st, at(st, user="ada") as ada:
        begun = await ada.conversations.begin()
        async with at(st, user="bob") as bob:
            assert await bob.conversations.list() == ()
            with pytest.raises(Refusal) as refused:
                await bob.conversations.messages(begun.id)
        assert refused.value.status == 404


async def test_nobody_there_and_somebody_else_are_told_apart() -> None:
    def elsewhere(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, text="<h1>It works!</h1>")

    async with Vivavoce("http://127.0.0.1:1") as voice:
        with pytest.raises(Refusal, match="No server answers") as refused:
            await voice.ready()
        assert refused.value.passing
    async with Vivavoce("http://x", transport=httpx2.MockTransport(elsewhere)) as voice:
        with pytest.raises(NoServer, match="no Vivavoce server"):
            await voice.ready()
    with pytest.raises(RuntimeError, match="async with"):
        _ = Vivavoce("http://x").tasks


async def test_what_nobody_answers_is_sent_again_under_the_same_name() -> None:
    names: list[str | None] = []
    message = {
        "id": "m1",
        "role": "user",
        "content": "Hello",
        "input_modality": "text",
        "created_at": "2026-11-19T06:00:00Z",
    }
    answer = {"message": message, "reply": None, "session_id": "vs_1", "news": "of a later server"}

    def busy(request: httpx2.Request) -> httpx2.Response:
        names.append(request.headers.get("idempotency-key"))
        if len(names) < 3:
            raise httpx2.ReadTimeout("", request=request)
        return httpx2.Response(201, json=answer)

    async with Vivavoce("http://x", transport=httpx2.MockTransport(busy)) as voice:
        got = await voice.conversations.write("c1", "Hello", wait=0)
    assert (got.message.content, got.reply) == ("Hello", None)
    assert len(names) == 3
    assert len(set(names)) == 1


def test_it_loads_nothing_of_a_server() -> None:
    heavy = ["fastapi", "starlette", "uvicorn", "sqlalchemy", "pydantic", "openai", "numpy"]
    look = f"import sys, vivavoce.client; print([n for n in {heavy} if n in sys.modules])"
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


async def test_the_example_of_the_documents_asks_and_says_what_was_done(tmp_path: Path) -> None:
    example = ROOT / "docs" / "examples" / "app" / "ask.py"
    async with embedded(tmp_path, script=SCRIPT) as st:
        child = await asyncio.create_subprocess_exec(
            sys.executable, str(example), st.url, "What is six times seven?", stdout=-1
        )
        told, _ = await child.communicate()
    assert child.returncode == 0
    assert told.decode().splitlines() == ["tool: calculate", "answer: That makes 42."]
