"""Notices to browsers whose page is closed: a whole server, and a push service that reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.push.services import PushService, push_service
from tests.server.auth.test_tokens import TOKEN
from tests.server.auth.test_tokens import _made as made
from tests.server.doors import Doors, Json, doors, refused, soon
from tests.server.v1 import client as v1
from vivavoce.runtime.ports import ToolContext
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.tools.functions import tool
from vivavoce.wire.events import TaskCompleted, TaskQuestion, announce
from vivavoce.wire.records.talk import Put, iso, new_id
from vivavoce.wire.records.work import Question, Task, TaskStatus

PUSH = "/api/v1/push"
ACTIONS = f"{PUSH}/actions"


@tool(category="test", changes=True)
async def paint(colour: str) -> str:
    """Paints, which changes something."""
    return f"painted {colour}"


@tool(category="test")
async def curious(context: ToolContext) -> str:
    """Asks before it answers."""
    return f"you said {await context.ask('Which one?', ['red', 'blue'])}"


@dataclass
class Set:
    d: Doors
    service: PushService
    clock: ManualClock

    async def subscribe(self, name: str = "phone", **headers: str) -> Json:
        body = self.service.browser(name) | {"device": name}
        browser = await self.d.post(f"{PUSH}/subscriptions", body, headers=headers)
        self.service.public_key = (await self.d.get(PUSH, headers=headers))["public_key"]
        return browser

    async def due(self, title: str = "Call mum", seconds: float = 30, **more: Any) -> Json:
        """A to-do that comes due."""
        at = self.clock.now() + timedelta(seconds=seconds)
        todo = await self.d.post("/api/v1/tasks", {"title": title, "scheduled_at": iso(at), **more})
        await self.pass_time(seconds + 1)
        return todo

    async def pass_time(self, seconds: float) -> None:
        """In steps, so that what is on its way over real sockets has come between them."""
        passed = 0.0
        while passed < seconds:
            await self.clock.advance(min(1.0, seconds - passed))
            passed += 1.0
            await asyncio.sleep(0.002)

    async def act(self, notice: Json, action: str) -> Json:
        return await self.d.post(ACTIONS, {"key": notice["key"], "action": action})

    async def quiet(self, seconds: float = 40) -> None:
        """Time in which nothing arrives."""
        before = self.service.asked
        await self.pass_time(seconds)
        await asyncio.sleep(0.1)
        assert self.service.asked == before


@asynccontextmanager
async def away(
    tmp_path: Path, store: MemoryStore | None = None, **settings: Any
) -> AsyncIterator[Set]:
    """Somebody with no page open, and a push service."""
    clock = settings.pop("clock", None) or ManualClock()
    async with push_service() as service:
        host = service.url.removeprefix("http://")
        given = {"agent": "flux", "push_allowed_hosts": host, "time_zone": "UTC"} | settings
        async with doors(tmp_path, clock=clock, store=store, tools=[paint, curious], **given) as d:
            yield Set(d, service, clock)


# --- What is due --------------------------------------------------------------------------


async def test_what_is_due_arrives_with_the_page_closed(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        todo = await s.due()
        notice = await s.service.next()
        assert (notice["kind"], notice["title"], notice["body"]) == (
            "reminder",
            "Call mum",
            "It is due now.",
        )
        assert notice["task_id"] == todo["id"]
        assert notice["url"] == f"/?task_id={todo['id']}"
        assert notice["actions"] == [
            {"action": "done", "title": "Done"},
            {"action": "snooze", "title": "Snooze 10 min"},
        ]
        arrived = s.service.arrived[0]
        assert arrived.headers["content-encoding"] == "aes128gcm"
        assert arrived.headers["urgency"] == "high"
        assert 0 < int(arrived.headers["ttl"]) <= 12 * 3600
        assert len(arrived.headers["topic"]) <= 32
        assert b"Call mum" not in arrived.body
        assert arrived.claims["aud"] == s.service.url
        await s.quiet()
        assert len(s.service.arrived) == 1, "once"


async def test_a_call_begins_with_what_a_notice_was_about(tmp_path: Path) -> None:
    """The notice's `task_id` is what a voice session is begun with (seed 004 §5.1)."""
    async with away(tmp_path) as s:
        await s.subscribe()
        await s.due("Water the fern")
        notice = await s.service.next()
        await s.act(notice, "seen")
        opened = await s.d.post(v1.SESSIONS, {"task_id": notice["task_id"]})
        response = await v1.sdp(s.d, opened["session_id"], opened["ephemeral_key"])
        assert response.status_code == 200
        call = await s.d.provider.next_call()
        update = await call.expect("session.update")
        assert "Water the fern" in update["session"]["instructions"]


async def test_done_ticks_it_off_once_and_without_a_token(tmp_path: Path) -> None:
    async with away(tmp_path, auth="token", auth_token=TOKEN) as s:
        s.d.http.headers["authorization"] = f"Bearer {TOKEN}"
        await s.subscribe()
        todo = await s.due()
        notice = await s.service.next()
        del s.d.http.headers["authorization"]
        assert await s.act(notice, "done") == {"action": "done", "said": "", "at": None}
        s.d.http.headers["authorization"] = f"Bearer {TOKEN}"
        assert (await s.d.get(f"/api/v1/tasks/{todo['id']}"))["status"] == "completed"
        body = {"key": notice["key"], "action": "done"}
        refused(await s.d.http.post(ACTIONS, json=body), 401, "unauthorized")
        (one,) = (await s.d.get("/api/v1/reminders"))["reminders"]
        assert one["status"] == "told"


async def test_done_on_what_recurs_is_done_this_time(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        todo = await s.due(recurrence_rule="FREQ=DAILY")
        await s.act(await s.service.next(), "done")
        shown = await s.d.get(f"/api/v1/tasks/{todo['id']}")
        assert shown["status"] == "active"
        day = timedelta(days=1)
        assert shown["scheduled_at"] > iso(s.clock.now() + day - timedelta(minutes=2))


@pytest.mark.parametrize("rule", [None, "FREQ=DAILY"])
async def test_snooze_puts_it_off_by_ten_minutes_and_it_comes_again(
    tmp_path: Path, rule: str | None
) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        more: Json = {"recurrence_rule": rule} if rule else {}
        todo = await s.due(**more)
        acted = await s.act(await s.service.next(), "snooze")
        later = iso(s.clock.now() + timedelta(minutes=10))
        assert acted["at"] == later
        assert acted["said"].startswith("I'll remind you today at ")
        assert (await s.d.get(f"/api/v1/tasks/{todo['id']}"))["scheduled_at"] == later
        await s.quiet(9 * 60)
        await s.pass_time(62)
        assert (await s.service.next(2))["task_id"] == todo["id"]
        await s.quiet()


async def test_what_was_moved_or_done_meanwhile_is_not_told(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        s.service.answers = [503]
        todo = await s.due()
        await s.service.until(lambda: s.service.asked)
        await s.d.patch(f"/api/v1/tasks/{todo['id']}", {"status": "completed"})
        await s.quiet(1200)
        assert s.service.arrived == []


# --- Who is there -------------------------------------------------------------------------


async def test_who_is_in_a_call_hears_it_and_gets_no_notice(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        opened, _ = await v1.talk(s.d)
        await s.due()
        await s.quiet(30)
        (one,) = (await s.d.get("/api/v1/reminders"))["reminders"]
        await s.d.here.reminders.told(f"due:{one['id']}", "local")  # its sound has begun
        await s.d.http.delete(f"{v1.SESSIONS}/{opened['session_id']}")
        await s.quiet(60)


async def test_a_notice_that_waited_for_a_call_comes_when_the_call_is_over(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        opened, _ = await v1.talk(s.d)
        await s.due()  # the provider never says it
        await s.quiet(20)
        await s.d.http.delete(f"{v1.SESSIONS}/{opened['session_id']}")
        await s.pass_time(20)
        assert (await s.service.next())["title"] == "Call mum"


async def test_a_page_that_is_open_has_a_moment_to_show_it(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        s.d.here.journal._of_user["local"] = 1  # as an event stream that is open
        await s.due()
        (one,) = (await s.d.get("/api/v1/reminders"))["reminders"]
        answer = await s.d.http.post(f"/api/v1/reminders/{one['id']}/seen")
        assert answer.status_code == 204
        await s.quiet(60)
        await s.due("Call dad")
        await s.pass_time(30)
        assert (await s.service.next())["title"] == "Call dad"
        s.d.here.journal._of_user["local"] = 0


async def test_an_app_that_is_connected_has_a_moment_too(tmp_path: Path) -> None:
    async with away(tmp_path) as s, s.d.here.conductor.connection("local"):
        await s.subscribe()
        await s.due()
        (one,) = (await s.d.get("/api/v1/reminders"))["reminders"]
        await s.d.here.reminders.told(f"due:{one['id']}", "local")  # it was spoken there
        await s.quiet(60)
        await s.due("Call dad")
        await s.pass_time(30)
        assert (await s.service.next())["title"] == "Call dad"


async def test_what_was_told_into_a_text_that_nobody_had_open_still_arrives(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        begun = await s.d.post(v1.CONVERSATIONS)
        path = f"{v1.CONVERSATIONS}/{begun['id']}/messages"
        await s.d.post(path, {"content": "Hello", "wait_seconds": 0})
        await s.due()
        assert (await s.service.next())["title"] == "Call mum"
        await s.quiet()


# --- What is asked, and what came of it ---------------------------------------------------


@pytest.mark.parametrize(("button", "granted"), [("yes", True), ("no", False)])
async def test_a_yes_and_a_no_are_given_by_a_button(
    tmp_path: Path, button: str, granted: bool
) -> None:
    async with away(tmp_path, agent="workbench") as s, asyncio.TaskGroup() as group:
        await s.subscribe()
        body = {"arguments": {"colour": "red"}}
        asking = group.create_task(s.d.http.post("/execute/paint", json=body))
        notice = await s.service.next()
        assert (notice["kind"], notice["title"]) == ("approval", "Waiting for your yes")
        assert "paint" in notice["body"].lower()
        assert [one["action"] for one in notice["actions"]] == ["yes", "no"]
        await s.act(notice, button)
        answer = (await asking).json()
        assert answer.get("success", False) is granted
        await s.quiet()


async def test_a_yes_that_comes_too_late_is_none(tmp_path: Path) -> None:
    async with away(tmp_path, agent="workbench") as s, asyncio.TaskGroup() as group:
        await s.subscribe()
        body = {"arguments": {"colour": "red"}}
        asking = group.create_task(s.d.http.post("/execute/paint", json=body))
        notice = await s.service.next()
        (asked,) = s.d.here.approvals.pending("local")
        await s.d.post(f"/approvals/{asked.id}", {"granted": False})
        assert (await asking).status_code == 403
        late = await s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "yes"})
        refused(late, 409, "conflict")


async def test_nobody_is_shown_what_takes_a_higher_role_to_answer(tmp_path: Path) -> None:
    async with (
        away(tmp_path, agent="workbench", auth="token", auth_token=TOKEN) as s,
        asyncio.TaskGroup() as group,
    ):
        kiosk = {"authorization": f"Bearer {await made(s.d, 'kiosk', 'user')}"}
        operator = {"authorization": f"Bearer {TOKEN}"}
        await s.subscribe("kiosk", **kiosk)
        await s.subscribe("phone", **operator)
        body = {"arguments": {"colour": "red"}}
        asking = group.create_task(s.d.http.post("/execute/paint", json=body, headers=operator))
        notice = await s.service.next()
        await s.quiet(20)
        assert s.service.asked == 1, "one browser of two"
        await s.act(notice, "no")
        await asking


async def test_a_question_is_answered_by_a_button(tmp_path: Path) -> None:
    async with away(tmp_path, agent="workbench") as s, asyncio.TaskGroup() as group:
        await s.subscribe()
        asking = group.create_task(s.d.http.post("/execute/curious", json={"arguments": {}}))
        notice = await s.service.next()
        assert (notice["kind"], notice["body"]) == ("question", "Which one?")
        assert notice["actions"] == [
            {"action": "answer-0", "title": "red"},
            {"action": "answer-1", "title": "blue"},
        ]
        await s.act(notice, "answer-1")
        assert (await asking).json()["output"] == "you said blue"


async def delegated(s: Set, **more: Any) -> Task:
    now = s.clock.now()
    task = Task(
        id=f"task_{new_id()}",
        user_id="local",
        description="Add logging",
        title="Add logging",
        agent="coder",
        backend="embedded",
        created_at=now,
        updated_at=now,
    )
    task = replace(task, **more)
    await s.d.here.store.commit([Put(task)])
    return task


async def test_what_a_task_asks_and_how_it_ended_arrive(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        now = s.clock.now()
        asked = Question(id="q_1", text="Which logger?", asked_at=now)
        task = await delegated(s, status=TaskStatus.WAITING, question=asked)
        event = TaskQuestion(
            timestamp=now, task_id=task.id, question_id="q_1", question="Which logger?", choices=[]
        )
        await s.d.here.journal.commit([announce(event, task)])
        notice = await s.service.next()
        assert (notice["title"], notice["body"]) == (
            "A question about: Add logging",
            "Which logger?",
        )
        assert notice["actions"] == []
        done = replace(
            task, question=None, status=TaskStatus.COMPLETED, result="Logs are there.",
            finished_at=now,
        )  # fmt: skip
        ended = TaskCompleted(
            timestamp=now,
            task_id=task.id,
            title=task.title,
            summary=done.result,
            files_changed=[],
            duration_ms=1,
        )
        await s.d.here.journal.commit([Put(done), announce(ended, done)])
        notice = await s.service.next(2)
        assert (notice["kind"], notice["title"], notice["body"]) == (
            "task",
            "Done: Add logging",
            "Logs are there.",
        )
        assert s.service.arrived[1].headers["urgency"] == "normal"
        await s.act(notice, "seen")
        kept = await s.d.here.store.task(task.id, user_id="local")
        assert kept is not None
        assert kept.told_at is not None, "the next call does not begin with it"


# --- The push service ---------------------------------------------------------------------


@pytest.mark.parametrize("gone", [404, 410])
async def test_a_browser_that_is_not_there_any_more_is_forgotten(tmp_path: Path, gone: int) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        await s.subscribe("laptop")
        s.service.answers = [gone]
        await s.due()
        await s.service.next()
        await soon(lambda: s.service.asked == 2)
        await s.pass_time(1)
        assert len((await s.d.get(PUSH))["browsers"]) == 1
        await s.quiet()


@pytest.mark.parametrize("busy", [429, 500, 503])
async def test_a_service_that_is_busy_is_asked_again_and_tells_it_once(
    tmp_path: Path, busy: int
) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        s.service.answers = [busy, busy]
        await s.due()
        await s.pass_time(60)
        assert (await s.service.next())["title"] == "Call mum"
        assert s.service.asked == 3
        await s.quiet(600)


async def test_a_service_that_is_away_for_too_long_is_asked_no_more(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        s.service.answers = [503] * 1000
        await s.due()
        await s.pass_time(60)
        assert s.service.asked > 1
        await s.clock.leap(12 * 3600)
        await s.pass_time(30)
        before = s.service.asked
        await s.clock.leap(1500)
        await s.pass_time(30)
        assert s.service.asked == before
        assert s.service.arrived == []


async def test_what_came_due_just_before_the_server_died_is_sent_by_its_next_life(
    tmp_path: Path,
) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with push_service() as service:
        host = service.url.removeprefix("http://")
        given: Json = {"agent": "flux", "push_allowed_hosts": host, "instance": "one"}
        async with doors(tmp_path, clock=clock, store=store, **given) as d:
            s = Set(d, service, clock)
            await s.subscribe()
            service.answers = [503]
            await s.due()
            await service.until(lambda: service.asked == 1)
            await s.pass_time(1)
        async with doors(tmp_path, clock=clock, store=store, **given) as d:
            s = Set(d, service, clock)
            await s.pass_time(40)
            assert (await service.next())["title"] == "Call mum"
            await s.quiet(60)


INSIDE = [
    "http://push.example/x",
    "https://127.0.0.1/x",
    "https://localhost/x",
    "https://[::1]/x",
    "https://10.0.0.1/x",
    "https://169.254.169.254/latest",
    "https://192.168.1.1:8443/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://0x7f000001/x",
    "https://printer.local/x",
    "https://intranet/x",
    "https://push.example:22/x",
    "ftp://push.example/x",
    "https://user:pw@push.example/x",
    "not an address",
    "",
]


@pytest.mark.parametrize("endpoint", INSIDE)
async def test_an_endpoint_inside_is_refused(tmp_path: Path, endpoint: str) -> None:
    async with away(tmp_path) as s:
        body = s.service.browser() | {"endpoint": endpoint}
        answer = await s.d.http.post(f"{PUSH}/subscriptions", json=body)
        assert answer.status_code == 400, answer.text
        assert (await s.d.get(PUSH))["browsers"] == []


async def test_a_name_that_leads_inside_is_not_dialled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked up when something is sent, and connected to as checked."""
    import vivavoce.tools.web.fetch as fetch

    asked: list[str] = []

    async def inside(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(fetch.Client, "__init__", _resolving(fetch.Client.__init__, inside))
    async with away(tmp_path) as s:
        body = s.service.browser() | {"endpoint": "https://push.example/phone"}
        await s.d.post(f"{PUSH}/subscriptions", body)
        await s.due()
        await soon(lambda: asked)
        await s.quiet(60)
        assert asked == ["push.example"], "and not asked again: it is refused for good"


def _resolving(init: Any, resolve: Any) -> Any:
    def made(self: Any, *given: Any, **more: Any) -> None:
        init(self, *given, resolve=resolve, **more)

    return made


# --- Whose it is --------------------------------------------------------------------------


async def test_a_browser_takes_the_notices_of_its_user_and_of_nobody_else(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        mine = await s.subscribe("phone", **{"x-user-id": "ada"})
        await s.due()  # of local
        await s.quiet(30)
        eve = {"x-user-id": "eve"}
        path = f"{PUSH}/subscriptions/{mine['id']}"
        refused(await s.d.http.delete(path, headers=eve), 404, "not_found")
        # Who has the browser may have it for another user; who knows its address may not.
        body = s.service.browser("phone")
        other = body | {"keys": body["keys"] | {"auth": "AAAAAAAAAAAAAAAAAAAAAA"}}
        taken = await s.d.http.post(f"{PUSH}/subscriptions", json=other, headers=eve)
        refused(taken, 409, "conflict")
        await s.d.post(f"{PUSH}/subscriptions", body, headers=eve)
        assert (await s.d.get(PUSH, headers={"x-user-id": "ada"}))["browsers"] == []
        assert len((await s.d.get(PUSH, headers=eve))["browsers"]) == 1


SPELLED = [
    "https://push.example:443/Ab-c~1?t=x%2Fy",
    "https://PUSH.example/Ab-c~1?t=x%2Fy",
    "HTTPS://push.example./Ab-c~1?t=x%2Fy",
    "https://push.example/Ab-c~1?t=x%2Fy#here",
    "https://push.example/Ab%2Dc%7e1?t=x%2fy",
    "https://push\u3002example/%41b-c~1?t=x%2Fy",
]


@pytest.mark.parametrize("spelled", SPELLED)
async def test_a_browser_is_one_however_its_address_is_spelled(
    tmp_path: Path, spelled: str
) -> None:
    async with away(tmp_path) as s:
        body = s.service.browser() | {"endpoint": "https://push.example/Ab-c~1?t=x%2Fy"}
        ada, eve = ({"x-user-id": name} for name in ("ada", "eve"))
        mine = await s.d.post(f"{PUSH}/subscriptions", body, headers=ada)
        again = await s.d.post(f"{PUSH}/subscriptions", body | {"endpoint": spelled}, headers=ada)
        assert again["id"] == mine["id"]
        other = {"endpoint": spelled, "keys": body["keys"] | {"auth": "AAAAAAAAAAAAAAAAAAAAAA"}}
        taken = await s.d.http.post(f"{PUSH}/subscriptions", json=other, headers=eve)
        refused(taken, 409, "conflict")


async def test_ten_are_the_most_when_they_come_at_once_too(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        tries = [
            s.d.http.post(f"{PUSH}/subscriptions", json=s.service.browser(f"one-{n}"))
            for n in range(30)
        ]
        codes = sorted(one.status_code for one in await asyncio.gather(*tries))
        assert codes == [201] * 10 + [429] * 20
        assert len((await s.d.get(PUSH))["browsers"]) == 10


@asynccontextmanager
async def tar_pit() -> AsyncIterator[str]:
    """Something that takes what is sent and never answers; its host and port."""
    held: list[asyncio.StreamWriter] = []

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        await reader.read()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        try:
            yield f"{host}:{port}"
        finally:
            for writer in held:
                writer.close()


async def test_nobody_waits_for_the_push_service_that_another_named(tmp_path: Path) -> None:
    async with tar_pit() as pit, push_service() as service:
        hosts = f"{service.url.removeprefix('http://')},{pit}"
        clock = ManualClock()
        given: dict[str, Any] = {
            "agent": "flux",
            "push_allowed_hosts": hosts,
            "time_zone": "UTC",
            "clock": clock,
        }
        async with doors(tmp_path, **given) as d:
            s = Set(d, service, clock)
            eve = {"x-user-id": "eve"}
            for number in range(10):
                body = service.browser(f"e{number}")
                body["endpoint"] = f"http://{pit}/{number}"
                await d.post(f"{PUSH}/subscriptions", body, headers=eve)
            await s.subscribe("phone", **{"x-user-id": "ada"})
            at = iso(clock.now() + timedelta(seconds=30))
            for number in range(6):  # sixty notices, each of which takes ten seconds
                body = {"title": f"pit {number}", "scheduled_at": at}
                await d.post("/api/v1/tasks", body, headers=eve)
            await s.pass_time(32)
            at = iso(clock.now() + timedelta(seconds=10))
            body = {"title": "Call mum", "scheduled_at": at}
            await d.post("/api/v1/tasks", body, headers={"x-user-id": "ada"})
            await s.pass_time(12)
            await service.until(lambda: service.arrived, seconds=4)
            assert service.notices[0]["title"] == "Call mum"


async def test_what_happens_to_one_user_takes_nobody_elses_place(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe("phone", **{"x-user-id": "ada"})
        hers = await delegated(s, user_id="ada", status=TaskStatus.COMPLETED, result="There.")
        theirs = await delegated(s, user_id="eve", status=TaskStatus.COMPLETED, result="x")
        ended = [
            announce(
                TaskCompleted(
                    timestamp=s.clock.now(),
                    task_id=one.id,
                    title=one.title,
                    summary="x",
                    files_changed=[],
                    duration_ms=1,
                ),
                one,
            )
            for one in (hers, *[theirs] * 1200)
        ]
        await s.d.here.journal.commit(ended)
        await s.pass_time(2)
        assert (await s.service.next())["body"] == "There."


async def test_a_browser_that_was_taken_off_answers_nothing_any_more(tmp_path: Path) -> None:
    """It may be lost: its notices are still on its screen."""
    async with away(tmp_path) as s:
        mine = await s.subscribe()
        todo = await s.due()
        notice = await s.service.next()
        await s.d.http.delete(f"{PUSH}/subscriptions/{mine['id']}")
        answer = await s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "done"})
        refused(answer, 401, "unauthorized")
        assert (await s.d.get(f"/api/v1/tasks/{todo['id']}"))["status"] == "active"


async def test_a_browser_that_is_anothers_now_answers_nothing_of_before(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        await s.due()
        notice = await s.service.next()
        await s.subscribe("phone", **{"x-user-id": "eve"})
        answer = await s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "done"})
        refused(answer, 401, "unauthorized")


@pytest.mark.parametrize("how", ["revoked", "lesser", "another of its name"])
async def test_what_a_token_subscribed_ends_with_the_token(tmp_path: Path, how: str) -> None:
    async with away(tmp_path, agent="workbench", auth="token", auth_token=TOKEN) as s:
        bob = {"authorization": f"Bearer {await made(s.d, 'bob', 'developer')}"}
        s.d.http.headers["authorization"] = f"Bearer {TOKEN}"
        await s.subscribe("phone", **bob)
        await s.due("one")
        notice = await s.service.next()
        (known,) = await s.d.here.store.access_tokens()
        changed = {
            "revoked": replace(known, revoked_at=s.clock.now()),
            "lesser": replace(known, role="user"),
            "another of its name": replace(known, digest="0" * 64, created_at=s.clock.now()),
        }[how]
        await s.d.here.store.commit([Put(changed)])
        await s.pass_time(5)
        answer = await s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "done"})
        refused(answer, 401, "unauthorized")
        await s.due("two")
        await s.quiet(40)
        assert (await s.d.get(PUSH))["browsers"] == []


async def test_once_more_is_the_same_and_there_are_ten_at_most(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        first = await s.subscribe("one")
        assert (await s.subscribe("one"))["id"] == first["id"]
        for number in range(9):
            await s.subscribe(f"more {number}".replace(" ", "-"))
        many = await s.d.http.post(f"{PUSH}/subscriptions", json=s.service.browser("eleven"))
        refused(many, 429, "rate_limited")
        assert (await s.d.http.delete(f"{PUSH}/subscriptions/{first['id']}")).status_code == 204
        refused(await s.d.http.delete(f"{PUSH}/subscriptions/{first['id']}"), 404, "not_found")
        await s.subscribe("eleven")


async def test_an_endpoint_is_told_to_nobody(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        shown = await s.subscribe()
        assert set(shown) == {"id", "device", "created_at", "updated_at"}
        assert s.service.url not in str(await s.d.get(PUSH))


async def test_a_user_has_so_many_in_an_hour(tmp_path: Path) -> None:
    async with away(tmp_path, push_per_hour=2) as s:
        await s.subscribe()
        for title in ("one", "two", "three"):
            await s.due(title)
        await s.service.next(2)
        await s.quiet()
        await s.pass_time(10)
        await s.clock.leap(3600)
        await s.due("four")
        await s.service.next(3)
        assert [one["title"] for one in s.service.notices] == ["one", "two", "four"]


async def test_all_of_it_is_exported_and_deleted_with_the_users_data(tmp_path: Path) -> None:
    store = MemoryStore()
    async with away(tmp_path, store=store) as s:
        await s.subscribe()
        await s.due()
        notice = await s.service.next()
        await s.pass_time(1)
        exported = await s.d.http.get("/api/v1/data", params={"format": "json"})
        assert s.service.browser()["endpoint"] in exported.text
        assert notice["key"] not in exported.text
        await s.d.http.delete("/api/v1/data", params={"confirm": "everything"})
        assert [name async for name, _ in store.rows_of("local") if "push" in name] == []
        body = {"key": notice["key"], "action": "done"}
        refused(await s.d.http.post(ACTIONS, json=body), 401, "unauthorized")


# --- The key of a notice ------------------------------------------------------------------


async def test_a_notices_key_opens_its_own_buttons_once_and_nothing_else(tmp_path: Path) -> None:
    async with away(tmp_path, auth="token", auth_token=TOKEN) as s:
        s.d.http.headers["authorization"] = f"Bearer {TOKEN}"
        await s.subscribe()
        await s.due()
        notice = await s.service.next()
        with_key = {"authorization": f"Bearer {notice['key']}"}
        for path in ("/api/v1/tasks", PUSH, "/sessions"):
            refused(await s.d.http.get(path, headers=with_key), 401, "unauthorized")
        exchanged = await s.d.http.post("/api/v1/keys/exchange", headers=with_key)
        refused(exchanged, 401, "unauthorized")
        del s.d.http.headers["authorization"]
        tries = [
            s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "snooze"})
            for _ in range(4)
        ]
        codes = sorted(one.status_code for one in await asyncio.gather(*tries))
        assert codes == [200, 401, 401, 401]
        for key in ("", "nk_", "nk_guess", notice["key"] + "x", "bk_" + notice["key"][3:]):
            answer = await s.d.http.post(ACTIONS, json={"key": key, "action": "done"})
            refused(answer, 401, "unauthorized")


async def test_a_button_that_it_does_not_have_does_nothing(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        todo = await s.due()
        notice = await s.service.next()
        answer = await s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "yes"})
        refused(answer, 400, "invalid_request")
        assert (await s.d.get(f"/api/v1/tasks/{todo['id']}"))["status"] == "active"


async def test_an_old_notice_does_nothing(tmp_path: Path) -> None:
    async with away(tmp_path) as s:
        await s.subscribe()
        await s.due()
        notice = await s.service.next()
        await s.clock.leap(13 * 3600)
        answer = await s.d.http.post(ACTIONS, json={"key": notice["key"], "action": "done"})
        assert answer.status_code == 401


async def test_where_it_is_off_there_are_no_notices(tmp_path: Path) -> None:
    async with away(tmp_path, push=False) as s:
        refused(await s.d.http.get(PUSH), 503, "service_unavailable")


async def test_the_key_of_one_data_folder_is_the_same_in_its_next_life(tmp_path: Path) -> None:
    keys = []
    for _ in range(2):
        async with away(tmp_path) as s:
            keys.append((await s.d.get(PUSH))["public_key"])
    assert keys[0] == keys[1]
