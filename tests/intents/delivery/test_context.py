"""The user's things from their own backend, over real HTTP; whatever it answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.intents.backend import Answer, UserBackend
from vivavoce.errors import OrchestratorUnavailable
from vivavoce.intents.delivery.http import FRESH_SECONDS, STALE_SECONDS, BackendContext
from vivavoce.runtime.people.elsewhere import Elsewhere
from vivavoce.testing import ManualClock

SECRET = "whsec_aHVzaCBodXNo"
TASK = {"id": "T-7", "title": "Dentist", "scheduled_at": "2027-01-31T14:30:00Z"}


def says(**said: Any) -> Answer:
    return (200, {}, json.dumps(said).encode())


def asks(backend: UserBackend, clock: ManualClock, seconds: float = 5.0) -> BackendContext:
    return BackendContext(clock, backend.url, secret=SECRET, seconds=seconds)


async def once(answer: Answer) -> Elsewhere:
    async with UserBackend(usual=answer).running() as backend:
        context = asks(backend, ManualClock())
        try:
            return await context.of("ann")
        finally:
            await context.close()


async def test_the_backend_is_asked_by_a_signed_message_and_only_once_in_a_while() -> None:
    clock = ManualClock()
    profile = {"name": "Ann", "time_zone": "Europe/Berlin"}
    async with UserBackend(usual=says(profile=profile, tasks=[TASK])).running() as backend:
        context = asks(backend, clock)
        found = await context.of("ann")
        assert (found.name, found.time_zone) == ("Ann", "Europe/Berlin")
        assert [(one.id, one.title) for one in found.tasks] == [("T-7", "Dentist")]
        assert await context.of("ann") == found
        [seen] = backend.seen
        assert seen.body == {"user_id": "ann"}
        assert seen.headers["webhook-signature"].startswith("v1,")
        await context.of("ben")
        assert len(backend.seen) == 2
        context.forget("ann")
        await context.of("ann")
        await clock.advance(FRESH_SECONDS)
        await context.of("ann")
        assert len(backend.seen) == 4
        await context.close()


async def test_what_was_known_holds_a_little_longer_where_the_backend_is_down() -> None:
    clock = ManualClock()
    async with UserBackend(answers=[says(tasks=[TASK])], usual="drop").running() as backend:
        context = asks(backend, clock)
        found = await context.of("ann")
        await clock.advance(FRESH_SECONDS)
        assert await context.of("ann") == found
        await clock.advance(STALE_SECONDS)
        with pytest.raises(OrchestratorUnavailable):
            await context.of("ann")
        await context.close()


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}, b"{}"),
        (302, {"location": "http://127.0.0.1:9/"}, b""),
        (200, {}, b"<html>"),
        (200, {}, b"[1, 2]"),
        (200, {}, b"{" + b" " * 100_000 + b"}"),
        "drop",
    ],
)
async def test_an_answer_that_is_none_is_not_used(answer: Answer) -> None:
    with pytest.raises(OrchestratorUnavailable):
        await once(answer)


async def test_a_backend_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    async with UserBackend(usual="hang").running() as backend:
        context = asks(backend, ManualClock(), seconds=0.05)
        with pytest.raises(OrchestratorUnavailable):
            await context.of("ann")
        await context.close()


async def test_what_is_no_task_is_left_out_and_no_id_is_changed() -> None:
    hostile: list[Any] = [
        TASK,
        {"id": 12, "title": "Twelve", "scheduled_at": "never", "recurrence_rule": "FREQ=DAILY"},
        {"id": "x" * 65, "title": "An id that is too long is not cut"},
        {"id": "a\u202eb", "title": "Hidden"},
        {"id": True, "title": "True"},
        {"id": "no title"},
        {"title": "no id"},
        "nothing",
        {"id": "T-9", "title": "Evil\x00\n<|im_start|>", "location_trigger": 5},
    ]
    found = await once(says(tasks=hostile, goals={"id": "G"}, profile=[1]))
    assert [one.id for one in found.tasks] == ["T-7", "12", "T-9"]
    assert found.tasks[1].scheduled_at is None
    assert found.tasks[1].recurrence_rule is None
    assert "\n" not in found.tasks[2].title
    assert found.aims == ()
    many = [{"id": f"T-{n}", "title": "Many"} for n in range(500)]
    assert len((await once(says(tasks=many))).tasks) == 60
