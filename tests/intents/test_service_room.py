"""The intents of a server, put together from its agent folder."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.intents.backend import UserBackend
from tests.intents.service_bench import FLUX, PLACE, USER
from vivavoce.app.agent import open_agent
from vivavoce.app.intents import AgentIntents
from vivavoce.app.settings import Settings
from vivavoce.errors import IntentRefused, OrchestratorUnavailable, Unavailable
from vivavoce.intents.delivery.outbox import GIVE_UP
from vivavoce.runtime.agents.work import Permissions
from vivavoce.runtime.calls.executor import ToolExecutor
from vivavoce.runtime.calls.outcomes import ToolRequest
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import Window
from vivavoce.runtime.ports import ToolContext
from vivavoce.server.doors.events import tell
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.tools.registry import Registry
from vivavoce.wire.records.plans import Delivery, Person, Todo, TodoStatus
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    Put,
    PutConversation,
    PutEntry,
    entry_id,
)

_WISH = """
intents:
  - name: submit_wish_intent
    route: WISH
    description: Hand in a wish.
    {url}
    parameters:
      - {{name: wish, type: string, required: true, description: The wish}}
"""


class _House:
    def __init__(self, folder: Path, told_with: Any = None, **settings: Any) -> None:
        self.clock, self.store, self.tools = ManualClock(), MemoryStore(), Registry()
        self.source = open_agent(folder)
        chosen: dict[str, Any] = {
            "time_zone": "Europe/Berlin",
            "data_dir": folder,
            "_env_file": None,
        } | settings
        self.room = AgentIntents(
            Settings(**chosen),
            self.source,
            self.tools,
            self.store,
            Journal(self.store, self.clock),
            self.clock,
            told_with=told_with,
        )

    async def open(self, said: str) -> None:
        await self.store.open()
        now = self.clock.now()
        place = Conversation(id=PLACE, user_id=USER, created_at=now, updated_at=now)
        entry = Entry(
            id=entry_id(PLACE, said),
            conversation_id=PLACE,
            user_id=USER,
            kind=Kind.USER,
            text=said,
            created_at=now,
            ordinal=now.timestamp() * 1000,
        )
        await self.store.commit([PutConversation(place), PutEntry(entry)])
        await self.clock.advance(1)

    async def call(
        self, name: str, session_id: str | None = None, **arguments: Any
    ) -> dict[str, Any]:
        context = ToolContext(
            user_id=USER, session_id=session_id, conversation_id=PLACE, call_id="c1"
        )
        checked = self.tools.check(name, arguments)
        told: dict[str, Any] = json.loads(str(await self.tools.run(name, checked, context)))
        return told

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.tools.definitions()]


def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FLUX, tmp_path / "mine"))


async def test_the_tools_of_flux_make_goals_in_our_own_database(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    intents = [
        "submit_goal_intent",
        "submit_new_task_intent",
        "submit_reschedule_intent",
        "list_things",
        "complete_thing",
        "delete_thing",
        "rename_thing",
        "note_goal",
    ]
    assert house.names == [*intents, "amend_intent", "retract_intent"]
    await house.open("I want to learn the guitar by next summer")
    told = await house.call("submit_goal_intent", goal_statement="learn the guitar")
    goal = await house.store.goal(told["goal_id"], user_id=USER)
    assert goal is not None
    assert goal.statement == "learn the guitar"
    assert house.room.status() == {
        "names": intents,
        "orchestrator": "embedded",
        "ready": True,
        "waiting": 0,
    }


async def test_a_question_is_answered_and_leaves_nothing_to_take_back(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Remind me to call mom tomorrow at 7 pm, and what is on tomorrow?")
    made = await house.call(
        "submit_new_task_intent",
        title="call mom",
        trigger_type="time",
        scheduled_at="tomorrow at 7 pm",
    )
    told = await house.call("list_things", when="tomorrow")
    assert (told["status"], told["count"]) == ("told", 1)
    assert told["answer"] == "One thing tomorrow, Sunday: call mom, at seven in the evening."
    assert [one["id"] for one in told["things"]] == [made["task_id"]]
    assert len(await house.store.intents(user_id=USER)) == 1
    back = await house.call("retract_intent")
    assert (back["status"], back["title"]) == ("retracted", "call mom")
    assert (await house.call("list_things", when="tomorrow"))["things"] == []


async def test_what_was_ticked_off_is_put_back_by_an_undo(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("I called mom. Oh no, that was dad")
    now = house.clock.now()
    call = Todo(
        id=entry_id(PLACE, "call"),
        user_id=USER,
        title="Call mom",
        trigger_type="time",
        created_at=now,
        updated_at=now,
        scheduled_at=now + timedelta(hours=3),
    )
    await house.store.commit([Put(call)])
    told = await house.call("complete_thing", thing_id=call.id)
    assert (told["status"], told["title"], told["task_id"]) == ("accepted", "Call mom", call.id)
    assert told["things"][0]["open"] is False
    await house.call("retract_intent")
    found = await house.store.todo(call.id, user_id=USER)
    assert found is not None
    assert found.status is TodoStatus.ACTIVE


def test_without_the_package_for_times_a_server_with_intents_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dateutil", None)
    with pytest.raises(Unavailable, match=r"vivavoce\[intents\]"):
        _House(FLUX, data_dir=tmp_path)
    _House(FLUX.parent / "workbench", data_dir=tmp_path)  # has none, and needs none


async def test_times_are_those_of_the_users_own_zone(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Remind me to call mom tomorrow at 7 pm")
    now = house.clock.now()
    ann = Person(id=USER, created_at=now, updated_at=now, time_zone="America/New_York")
    await house.store.commit([Put(ann)])
    told = await house.call(
        "submit_new_task_intent",
        title="Call mom",
        trigger_type="time",
        scheduled_at="tomorrow at 7 pm",
    )
    todo = await house.store.todo(told["task_id"], user_id=USER)
    assert todo is not None
    assert todo.scheduled_at is not None
    assert todo.scheduled_at.isoformat() == "2026-02-02T00:00:00+00:00"
    assert todo.time_zone == "America/New_York"


def test_submitting_asks_for_no_approval(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    for tool in house.tools.definitions():
        decision = Permissions().decide(tool.name, {}, changes=tool.changes, origin="model")
        assert decision == "allow"


async def test_a_changed_file_changes_the_tools(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    house = _House(folder)
    (folder / "intents.yaml").write_text(_WISH.format(url=""))
    assert await house.source.refresh()
    assert house.names == ["submit_wish_intent", "amend_intent", "retract_intent"]
    (folder / "intents.yaml").unlink()
    assert await house.source.refresh()
    assert house.names == []
    assert house.room.status()["names"] == []


async def test_an_intent_with_a_url_goes_there_signed(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    async with UserBackend().running() as backend:
        (folder / "intents.yaml").write_text(_WISH.format(url=f"url: {backend.url}"))
        house = _House(folder, intent_secret="a secret of sixteen")
        await house.open("I wish for a pony")
        async with house.room.running():
            told = await house.call("submit_wish_intent", wish="a pony")
        assert told["status"] == "accepted"
        [seen] = backend.seen
        assert (seen.body["intent"], seen.path) == ("WISH", "/intents")
        assert seen.headers["webhook-signature"].startswith("v1,")


async def test_an_agent_with_a_backend_sends_everything_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    async with UserBackend().running() as backend:
        _with_backend(folder, backend.url)
        monkeypatch.setenv("BACKEND_SECRET", "whsec_c2VjcmV0LW9mLXRoZS10ZXN0cw==")
        house = _House(folder)
        await house.open("I want to learn the guitar")
        async with house.room.running():
            told = await house.call("submit_goal_intent", goal_statement="learn the guitar")
        assert (told["status"], len(backend.seen)) == ("accepted", 1)
        assert await house.store.goals(user_id=USER) == []
        assert house.room.status()["orchestrator"] == "http"


async def test_without_its_secret_nothing_is_sent_and_all_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.delenv("BACKEND_SECRET", raising=False)
    async with UserBackend().running() as backend:
        _with_backend(folder, backend.url)
        house = _House(folder)
        await house.open("I want to learn the guitar")
        with pytest.raises(Exception, match="kept"):
            await house.call("submit_goal_intent", goal_statement="learn the guitar")
        assert backend.seen == []
        assert house.room.status()["ready"] is False
        assert "BACKEND_SECRET" in caplog.text
        assert len(await house.store.intents(user_id=USER)) == 1


def _with_backend(folder: Path, url: str, more: str = "timeout_seconds: 10") -> None:
    path = folder / "agent.yaml"
    text = path.read_text().replace(
        "orchestrator: embedded\n",
        f'orchestrator: {{url: "{url}", secret: "${{BACKEND_SECRET}}", {more}}}\n',
    )
    path.write_text(text)


async def test_another_agents_messages_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two agents on one database: what one wants never goes to the other's backend."""
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    async with UserBackend().running() as backend:
        _with_backend(folder, backend.url)
        house = _House(folder)
        await house.open("I want to learn the guitar")
        told = await house.call("submit_goal_intent", goal_statement="learn the guitar")
        [sent] = await house.store.deliveries(told["intent_id"])
        assert sent.body["to"] == "flux"
        left = replace(sent, id="d1", status="pending", body=sent.body | {"to": "another"})
        await house.store.commit([Put(left)])
        await house.clock.leap(3600)
        async with house.room.outbox.running():
            await house.clock.waiting()
            assert house.room.status()["waiting"] == 1
        assert (len(backend.seen), "no address here" in caplog.text) == (1, True)
        assert left in await house.store.deliveries(told["intent_id"])


async def test_old_messages_of_an_intent_that_is_gone_still_go_to_the_agents_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From before it was written down where one goes."""
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    _with_backend(folder, "http://127.0.0.1:9/")
    now = ManualClock().now()
    old = Delivery(
        id="d1",
        intent_id="i",
        user_id=USER,
        action="submit",
        body={"name": "gone"},
        created_at=now,
        updated_at=now,
        due_at=now,
    )
    assert _House(folder).room.addresses.url_of(old) == "http://127.0.0.1:9/"
    assert _House(FLUX, data_dir=tmp_path).room.addresses.url_of(old) is None


async def test_messages_from_before_the_backend_was_taken_out_are_shown_and_given_up(
    tmp_path: Path,
) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("I want to learn the guitar")
    told = await house.call("submit_goal_intent", goal_statement="learn the guitar")
    now = house.clock.now()
    left = Delivery(
        id="d1",
        intent_id=told["intent_id"],
        user_id=USER,
        action="amend",
        body={"name": "submit_goal_intent", "to": "flux", "revision": 0},
        created_at=now - GIVE_UP + timedelta(seconds=30),
        updated_at=now,
        due_at=now,
    )
    await house.store.commit([Put(left)])
    async with house.room.outbox.running():
        await house.clock.waiting()
        assert house.room.status()["waiting"] == 1
        await house.clock.advance(60)
        await house.clock.waiting()
        assert house.room.status()["waiting"] == 0
    [given_up] = await house.store.deliveries(told["intent_id"])
    assert given_up.status == "refused"


def test_a_patient_backend_is_not_asked_by_two_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    _with_backend(folder, "http://127.0.0.1:9/", "timeout_seconds: 60")
    assert _House(folder).room.outbox.claim == 75


async def test_a_persons_zone_that_is_none_is_the_servers(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Remind me to call mom tomorrow at 7 pm")
    now = house.clock.now()
    ann = Person(id=USER, created_at=now, updated_at=now, time_zone="Berlin")
    await house.store.commit([Put(ann)])
    told = await house.call(
        "submit_new_task_intent",
        title="Call mom",
        trigger_type="time",
        scheduled_at="tomorrow at 7 pm",
    )
    assert told["when"] == "tomorrow, Sunday, at seven in the evening"


def _desk(house: _House) -> ToolExecutor:
    many = Window(0, 60, clock=house.clock, what="calls")
    return ToolExecutor(
        tools=house.tools,
        calls=house.store,
        journal=Journal(house.store, house.clock),
        clock=house.clock,
        per_user=many,
        per_session=many,
    )


async def _errors(house: _House, name: str, call_id: str = "c1", **arguments: Any) -> list[Any]:
    """What a call of the model puts on the v1 stream."""
    [*_, last] = [0, *(event.position for event in await house.store.events(after=0, limit=100))]
    request = ToolRequest(
        name=name,
        arguments=arguments,
        call_id=call_id,
        user_id=USER,
        session_id="vs_1",
        conversation_id=PLACE,
    )
    await _desk(house).run(request)
    frames = [tell(event).decode() for event in await house.store.events(after=last, limit=100)]
    told = [frame.splitlines() for frame in frames if frame]
    return [json.loads(data.removeprefix("data: ")) for kind, data, *_ in told if "error" in kind]


async def test_a_call_that_the_desk_refuses_by_its_schema_is_an_error_on_the_v1_stream(
    tmp_path: Path,
) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Remind me to call my mom")
    [error] = await _errors(house, "submit_new_task_intent", title=7)
    assert "trigger_type" in error["message"]


async def test_what_the_service_refuses_comes_once_on_the_v1_stream(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Move my dentist appointment to Friday")
    goal = "learn to play the guitar"
    [error] = await _errors(house, "submit_goal_intent", "c1", goal_statement=goal)
    assert error["code"] == "intent_invalid"
    move = {"task_id": "dentist-appointment", "preferred_new_time": "Friday"}
    [error] = await _errors(house, "submit_reschedule_intent", "c2", **move)
    assert error["code"] == "intent_invalid"
    [error] = await _errors(house, "retract_intent", "c3")  # of which nothing is announced
    assert error["code"] == "intent_refused"
    kinds = [event.type for event in await house.store.events(after=0, limit=100)]
    assert (kinds.count("error"), kinds.count("tool.error")) == (2, 3)


async def test_a_backend_that_is_down_comes_once_on_the_v1_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    async with UserBackend(usual=(503, {}, b"")).running() as backend:
        _with_backend(folder, backend.url)
        house = _House(folder)
        await house.open("I want to learn the guitar")
        for call_id in ("c1", "c2"):  # the second try is not announced
            [error] = await _errors(
                house, "submit_goal_intent", call_id, goal_statement="learn the guitar"
            )
            assert error["code"] == "orchestrator_error"


async def test_through_the_desk_a_failure_is_words_for_the_model(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Remind me to call my mom")
    many = Window(0, 60, clock=house.clock, what="calls")
    executor = ToolExecutor(
        tools=house.tools,
        calls=house.store,
        journal=Journal(house.store, house.clock),
        clock=house.clock,
        per_user=many,
        per_session=many,
    )
    arguments = {"title": "Call mom", "trigger_type": "time", "scheduled_at": "tomorrow at 9"}
    outcome = await executor.run(
        ToolRequest(
            name="submit_new_task_intent",
            arguments=arguments,
            call_id="c1",
            user_id=USER,
            conversation_id=PLACE,
        )
    )
    told = json.loads(outcome.for_model)
    assert (told["success"], told["recoverable"]) == (False, True)
    assert "has not said" in told["error"]
    assert told["suggestion"]


async def test_reschedule_intent_function_call(tmp_path: Path) -> None:
    """Valid reschedule payload forwarded; the task has its new time and status."""
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Move my gym session to tomorrow at 6 pm")
    now = house.clock.now()
    gym = Todo(
        id=entry_id(PLACE, "gym"),
        user_id=USER,
        title="Gym",
        trigger_type="time",
        scheduled_at=now,
        created_at=now,
        updated_at=now,
    )
    await house.store.commit([Put(gym)])
    told = await house.call(
        "submit_reschedule_intent", task_id=gym.id, preferred_new_time="tomorrow at 6 pm"
    )
    assert told["status"] == "accepted"
    moved = await house.store.todo(gym.id, user_id=USER)
    assert moved is not None
    assert moved.status is TodoStatus.RESCHEDULED
    assert moved.scheduled_at is not None
    assert moved.scheduled_at.isoformat() == "2026-02-01T17:00:00+00:00"


def _told(**said: Any) -> Any:
    return (200, {}, json.dumps(said).encode())


_DENTIST = {"id": "T-7", "title": "Dentist", "scheduled_at": "2027-01-31T14:30:00Z"}
_GYM = {"id": "T-8", "title": "Gym", "scheduled_at": "2027-02-01T10:00:00Z"}


async def test_a_backends_own_tasks_are_listed_and_moved_by_its_own_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    context = UserBackend(usual=_told(tasks=[_DENTIST, _GYM]))
    async with UserBackend().running() as backend, context.running():
        _with_backend(folder, backend.url, f'context_url: "{context.url}"')
        house = _House(folder)
        await house.open("What have I got, and move the dentist to Friday at noon")
        async with house.room.running():
            told = await house.call("list_things")
            assert told["answer"].startswith("Two things on your list: Dentist, ")
            assert [one["id"] for one in told["things"]] == ["T-7", "T-8"]
            assert backend.seen == []
            moved = await house.call(
                "submit_reschedule_intent",
                task_id="dentist",
                preferred_new_time="Friday at noon",
            )
            assert moved["status"] == "accepted"
            [seen] = backend.seen
            assert seen.body["payload"]["task_id"] == "T-7"
            await house.call("list_things")
            assert len(context.seen) == 2  # what was known before it was submitted is over


async def test_an_id_that_the_backend_does_not_have_is_refused_and_never_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    context = UserBackend(usual=_told(tasks=[_DENTIST, _GYM]))
    async with UserBackend().running() as backend, context.running():
        _with_backend(folder, backend.url, f'context_url: "{context.url}"')
        house = _House(folder)
        await house.open("Delete the meeting")
        async with house.room.running():
            with pytest.raises(IntentRefused) as refused:
                await house.call("delete_thing", thing_id="T-99")
            assert [one["id"] for one in refused.value.details["choices"]] == ["T-7", "T-8"]
            context.usual = "drop"
            await house.clock.leap(3600)
            with pytest.raises(OrchestratorUnavailable):
                await house.call("delete_thing", thing_id="T-7")
            assert backend.seen == []


async def test_the_client_may_tell_the_tasks_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    async with UserBackend().running() as backend:
        _with_backend(folder, backend.url)
        house = _House(folder, told_with=lambda session_id, user_id: {"tasks": [_GYM]})
        await house.open("I did the gym")
        async with house.room.running():
            await house.call("complete_thing", session_id="vs_1", thing_id="gym")
            [seen] = backend.seen
            assert (seen.body["intent"], seen.body["payload"]) == ("COMPLETE", {"thing_id": "T-8"})
            with pytest.raises(IntentRefused, match="not known here"):
                await house.call("list_things")  # of another session, of which nothing was told


async def test_what_the_backend_made_of_it_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path)
    monkeypatch.setenv("BACKEND_SECRET", "hush")
    answer = _told(status="accepted", task_id="T-1", title="Milk", when="tomorrow at 5 PM", x=[1])
    async with UserBackend(usual=answer).running() as backend:
        _with_backend(folder, backend.url)
        house = _House(folder)
        await house.open("Remind me to buy milk tomorrow at five")
        async with house.room.running():
            told = await house.call(
                "submit_new_task_intent",
                title="buy milk",
                trigger_type="time",
                scheduled_at="tomorrow at five",
            )
    assert (told["task_id"], told["title"], told["when"]) == ("T-1", "Milk", "tomorrow at 5 PM")
    assert "x" not in told


async def test_before_bed_is_when_this_user_goes_to_bed(tmp_path: Path) -> None:
    house = _House(FLUX, data_dir=tmp_path)
    await house.open("Remind me to lock the door tomorrow before bed")
    now = house.clock.now()
    ann = Person(id=USER, created_at=now, updated_at=now, sleep_start="21:00", sleep_end="05:30")
    await house.store.commit([Put(ann)])
    told = await house.call(
        "submit_new_task_intent",
        title="lock the door",
        trigger_type="time",
        scheduled_at="tomorrow before bed",
    )
    assert told["when"] == "tomorrow, Sunday, at half past eight in the evening"
