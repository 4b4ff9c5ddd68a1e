"""The inbox of delegated work, and what waits for a yes, through the doors."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.server.doors import Doors, doors, refused
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.functions import tool
from vivavoce.wire.records.talk import Put
from vivavoce.wire.records.work import Question, Task, TaskStatus, digest_of, first_break

ANN = {"x-user-id": "ann"}


@tool(category="test", changes=True)
async def paint(colour: str) -> str:
    """Paints, which changes something."""
    return f"painted {colour}"


@tool(category="test")
async def curious(context: ToolContext) -> str:
    """Asks before it answers."""
    return f"you said {await context.ask('Which one?', ['a', 'b'])}"


async def stored(d: Doors, user: str, **more: object) -> Task:
    now = d.here.clock.now()
    task = Task(
        id=f"task_{user}",
        user_id=user,
        description="Add logging",
        title="Add logging",
        agent="coder",
        backend="embedded",
        created_at=now,
        updated_at=now,
    )
    task = replace(task, **more)  # type: ignore[arg-type]
    await d.here.store.commit([Put(task)])
    return task


async def test_tasks_are_listed_and_shown_to_their_user_only(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        done = await stored(d, "local", status=TaskStatus.COMPLETED, result="Logs are there.")
        await stored(d, "ann")
        listed = await d.get("/tasks")
        assert [task["id"] for task in listed["tasks"]] == [done.id]
        assert (await d.get("/tasks", params={"open_only": True}))["count"] == 0
        shown = await d.get(f"/tasks/{done.id}")
        assert (shown["status"], shown["result"], shown["told"]) == (
            "completed",
            "Logs are there.",
            False,
        )
        refused(await d.http.get("/tasks/task_ann"), 404, "not_found")
        assert (await d.get("/tasks/task_ann", headers=ANN))["id"] == "task_ann"


async def test_one_that_is_over_stays_as_it_is(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        task = await stored(d, "local", status=TaskStatus.FAILED, error="No.", tried=("this",))
        after = await d.post(f"/tasks/{task.id}/cancel")
        assert (after["status"], after["details"]) == ("failed", ["this"])
        refused(await d.http.post("/tasks/nope/cancel"), 404, "not_found")


async def test_an_answer_to_what_is_not_asked_is_a_conflict(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        asked = Question(id="task_local:1", text="Which?", asked_at=d.here.clock.now())
        task = await stored(d, "local", status=TaskStatus.WAITING, question=asked)
        assert (await d.get(f"/tasks/{task.id}"))["question"]["text"] == "Which?"
        other = {"answer": "a", "question_id": "another"}
        refused(await d.http.post(f"/tasks/{task.id}/answer", json=other), 409, "conflict")
        nobody = await d.http.post("/tasks/nope/answer", json={"answer": "a"})
        refused(nobody, 404, "not_found")


async def test_a_running_tool_that_asks_is_answered_by_its_call_id(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=[curious]) as d, asyncio.TaskGroup() as group:
        body = {"arguments": {}, "call_id": "call_q"}
        asking = group.create_task(d.post("/execute/curious", body))
        while not d.here.questions.open_for("local"):
            await asyncio.sleep(0)
        await d.post("/tasks/call_q/answer", {"answer": "b"})
        assert (await asking)["output"] == "you said b"


async def test_what_changes_something_waits_for_a_click(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=[paint]) as d, asyncio.TaskGroup() as group:
        body = {"arguments": {"colour": "red"}}
        painting = group.create_task(d.post("/execute/paint", body))
        while not (waiting := (await d.get("/approvals"))["approvals"]):
            await asyncio.sleep(0)
        [one] = waiting
        assert (one["tool_name"], one["arguments"]) == ("paint", {"colour": "red"})
        assert (await d.get("/approvals", headers=ANN))["count"] == 0
        path = f"/approvals/{one['id']}"
        foreign = await d.http.post(path, json={"granted": True}, headers=ANN)
        refused(foreign, 404, "not_found")
        settled = await d.post(path, {"granted": True})
        assert (settled["status"], settled["resolved_by"]) == ("granted", "click")
        assert (await painting)["output"] == "painted red"
        late = await d.http.post(path, json={"granted": False})
        refused(late, 409, "conflict")


async def test_a_call_that_waits_for_a_yes_when_its_time_is_up_says_so_and_goes_on(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, tools=[paint]) as d:
        body = {"arguments": {"colour": "red"}, "timeout_ms": 50, "call_id": "call_1"}
        error = refused(await d.http.post("/execute/paint", json=body), 408, "tool_timeout")
        assert "waits for the user's yes, and has not run" in error["message"]
        details = error["details"]
        assert (details["waiting_for"], details["call_id"]) == ("approval", "call_1")
        await d.post(f"/approvals/{details['approval_id']}", {"granted": True})
        async with asyncio.timeout(5):
            while (done := await d.get("/tasks/call_1"))["status"] == "started":
                await asyncio.sleep(0)
        assert (done["status"], done["output"]) == ("completed", "painted red")


async def test_a_lasting_yes_is_listed_and_can_be_taken_back(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=[paint]) as d, asyncio.TaskGroup() as group:
        body = {"arguments": {"colour": "red"}}
        painting = group.create_task(d.post("/execute/paint", body))
        while not (waiting := (await d.get("/approvals"))["approvals"]):
            await asyncio.sleep(0)
        [one] = waiting
        assert one["asked_by"] == "a program that uses this server"
        assert one["question"].startswith("A program that uses this server wants to use paint.")
        settled = await d.post(f"/approvals/{one['id']}", {"granted": True, "always": True})
        assert settled["reach"] == "always"
        await painting
        assert (await d.post("/execute/paint", body))["output"] == "painted red"
        listed = await d.get("/grants")
        assert [(x["id"], x["reach"], x["resolved_by"]) for x in listed["approvals"]] == [
            (one["id"], "always", "click")
        ]
        assert (await d.get("/grants", headers=ANN))["count"] == 0
        path = f"/grants/{one['id']}"
        refused(await d.http.delete(path, headers=ANN), 404, "not_found")
        assert (await d.http.delete(path)).status_code == 200
        refused(await d.http.delete(path), 404, "not_found")
        assert (await d.get("/grants"))["count"] == 0
        again = group.create_task(d.http.post("/execute/paint", json=body))
        while not (waiting := (await d.get("/approvals"))["approvals"]):
            await asyncio.sleep(0)
        await d.post(f"/approvals/{waiting[0]['id']}", {"granted": False})
        refused(await again, 403, "forbidden")


async def test_of_several_answers_at_once_one_counts(tmp_path: Path) -> None:
    async with doors(tmp_path, tools=[paint]) as d, asyncio.TaskGroup() as group:
        body = {"arguments": {"colour": "red"}}
        painting = group.create_task(d.http.post("/execute/paint", json=body))
        while not (waiting := (await d.get("/approvals"))["approvals"]):
            await asyncio.sleep(0)
        path = f"/approvals/{waiting[0]['id']}"
        said = (True, False, True, False)
        every = [d.http.post(path, json={"granted": granted}) for granted in said]
        answers = list(zip(said, await asyncio.gather(*every), strict=True))
        (first,) = {granted for granted, one in answers if one.status_code == 200}
        assert {one.status_code for granted, one in answers if granted != first} == {409}
        assert (await painting).status_code == (200 if first else 403)


async def test_what_was_done_and_refused_is_in_the_audit_and_nothing_secret_is(
    tmp_path: Path,
) -> None:
    token = "t" * 20
    async with doors(tmp_path, tools=[paint], auth="token", auth_token=token) as d:
        refused(await d.http.get("/approvals"), 401, "unauthorized")
        d.http.headers["authorization"] = f"Bearer {token}"
        async with asyncio.TaskGroup() as group:
            body = {"arguments": {"colour": "hush-hush"}}
            painting = group.create_task(d.post("/execute/paint", body))
            while not (waiting := (await d.get("/approvals"))["approvals"]):
                await asyncio.sleep(0)
            await d.post(f"/approvals/{waiting[0]['id']}", {"granted": True, "always": True})
            await painting
        assert (await d.http.delete(f"/grants/{waiting[0]['id']}")).status_code == 200
        lines = await d.here.store.audit()
        assert [(one.action, one.outcome) for one in lines] == [
            ("refusal", "refused"),
            ("login", "let in"),
            ("approval", "granted by click, always"),
            ("tool", "completed, asked for by http"),
            ("grant", "taken back"),
        ]
        assert lines[0].what == "GET /approvals: unauthorized"
        assert {one.user_id for one in lines[1:]} == {"local"}
        assert all(one.address and one.request_id for one in lines)
        assert lines[2].digest == lines[3].digest == digest_of({"colour": "hush-hush"})
        assert first_break(lines, await d.here.store.audit_ends()) is None
        assert not [one for one in lines if token in repr(one) or "hush" in repr(one)]


async def test_the_audit_is_a_stream_of_the_log_as_well_and_names_files_that_commands_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(name="make", changes=False)
    async def make() -> ToolOutput:
        """Changes files, and fails."""
        files = ("a.py", "src/b.py", *(f"{n}.py" for n in range(10)))
        return ToolOutput("Failed.", files_changed=files, failed="exit code 2")

    caplog.set_level("INFO", logger="vivavoce.audit")
    token = "t" * 20
    async with doors(tmp_path, tools=[make], auth="token", auth_token=token) as d:
        refused(await d.http.get("/approvals"), 401, "unauthorized")
        d.http.headers["authorization"] = f"Bearer {token}"
        await d.post("/execute/make", {"arguments": {}})
        await d.get("/api/v1/goals")
        assert (await d.http.get("/api/v1/data")).status_code == 200
        lines = await d.here.store.audit()
    told = [(one.action, one.what, one.outcome) for one in lines]
    logged = [one.__dict__["fields"] for one in caplog.records if one.name == "vivavoce.audit"]
    assert [(one["action"], one["subject"], one["outcome"]) for one in logged] == told
    assert ("file", "a.py, src/b.py, 0.py, 1.py, 2.py and 7 more", "changed by make") in told
    assert {"refusal", "login", "tool", "file", "data"} <= {one.action for one in lines}


async def test_refusals_of_one_address_do_not_fill_the_audit(tmp_path: Path) -> None:
    async with doors(tmp_path, auth="token", auth_token="t" * 20) as d:
        for _ in range(30):
            await d.http.get("/approvals")
        assert len(await d.here.store.audit()) == 10


async def test_a_request_says_until_when(tmp_path: Path) -> None:
    async with doors(tmp_path) as d, asyncio.TaskGroup() as group:
        asked = d.here.approvals.ask(ToolContext("local"), "paint", {}, "May I?", timeout=30)
        asking = group.create_task(asked)
        while not (waiting := d.here.approvals.pending("local")):
            await asyncio.sleep(0)
        assert waiting[0].expires_at - waiting[0].requested_at == timedelta(seconds=30)
        await d.post(f"/approvals/{waiting[0].id}", {"granted": False})
        assert await asking is False
