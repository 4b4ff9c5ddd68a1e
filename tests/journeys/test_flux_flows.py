"""Every sequence of seed 004 §5, spoken: sound in, rows in the database, sound out.

All with one server, whose talks are over when the first test begins. A script thinks, and in the
long runs the default brain: it may choose its words, but not what comes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.clients.talk import share
from tests.clients.voice import Voice
from tests.journeys.flux import GROCERIES, GYM, Row, Talks, Told, told_by
from tests.journeys.flux_call import Visit

pytestmark = pytest.mark.timeout(1800)  # the first test waits for all the talks

WEEKDAYS = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
FRIDAY, SATURDAY = 4, 5


@pytest.fixture(
    scope="module", params=["scripted", pytest.param("qwen-1.5b", marks=pytest.mark.full)]
)
def talks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Talks]:
    with told_by(tmp_path_factory.mktemp("flux"), request.param) as told:
        yield told


# --- What holds for every talk ----------------------------------------------------------------


def kept_and_told(told: Told) -> None:
    """What was said is in the database, was told as it was said, and was heard."""
    for visit in told.visits:
        spoken = [
            row
            for row in told.rows("messages")
            if row["role"] in ("user", "assistant")
            and row["voice_session_id"] == visit.opened["session_id"]
        ]
        shown = {data["id"]: data["content"] for data in visit.events("new_message")}
        assert shown == {row["id"]: row["content"] for row in spoken}
        assert all(len(reply.sound) > 10_000 for reply in visit.replies)
        over(told, visit)


def over(told: Told, visit: Visit) -> None:
    """Seed 004 §5.8: ended by the user, and nothing after that."""
    kind, data = visit.told[-1]
    assert (kind, data["reason"]) == ("session_ended", "user_ended")
    (session,) = [
        row for row in told.rows("voice_sessions") if row["id"] == visit.opened["session_id"]
    ]
    assert session["status"] == "completed"
    if visit is told.visits[-1]:
        assert told.conversation["ended_at"] is not None
        assert told.conversation["duration_seconds"] >= 0


def submitted(told: Told, *routes: str) -> list[Row]:
    """Accepted in this order, and said so on the stream; nothing else was submitted."""
    intents = told.rows("intents")
    assert [(row["route"], row["status"]) for row in intents] == [(r, "accepted") for r in routes]
    events = [data for visit in told.visits for data in visit.events("intent_submitted")]
    # An amended one is told again.
    assert list(dict.fromkeys(data["intent_id"] for data in events)) == [r["id"] for r in intents]
    assert told.conversation["extracted_intent"] == routes[-1]
    mine = {row["id"] for row in told.said("user")}
    assert all(mine & set(row["evidence"]) for row in intents), "it came from something said"
    return intents


def nothing_submitted(told: Told) -> None:
    assert [told.rows(table) for table in ("intents", "goals", "tasks")] == [[], [], []]


def within(row: Row, told: Told, days: int) -> None:
    """The goal's date is about so many days away."""
    assert abs(row["target_at"] - told.now - timedelta(days=days)) < timedelta(days=4)


# --- The sequences ----------------------------------------------------------------------------


def test_a_session_begins_with_a_greeting_that_is_heard_kept_and_told(talks: Talks) -> None:
    """§5.1, a new conversation."""
    told = talks.of("goal")
    (visit,) = told.visits
    assert visit.opened["prior_messages"] == []
    assert visit.greeting is not None
    assert len(visit.greeting.sound) > 10_000
    first = told.rows("messages")[0]
    assert (first["role"], first["content"]) == ("assistant", visit.greeting.text)
    assert visit.told[0][0] == "new_message"
    assert visit.told[0][1]["id"] == first["id"]
    assert told.conversation["context_type"] == "voice"
    assert told.conversation["voice_session_id"] == visit.opened["session_id"]


async def test_e2e_goal_flow(talks: Talks) -> None:
    """§5.2 and §5.8: session, transcript, function call, orchestrator, confirmation, teardown."""
    told = talks.of("goal")
    kept_and_told(told)
    (intent,) = submitted(told, "GOAL")
    goal = told.one("goals")
    assert goal["status"] == "active"
    assert "spanish" in goal["statement"].lower()
    within(goal, told, days=91)
    assert goal["id"] == intent["goal_id"] == told.conversation["linked_goal_id"]
    spanish, mexico = told.said("user")
    assert "spanish" in spanish["content"].lower()
    assert "mexico" in mexico["content"].lower()
    assert {spanish["id"], mexico["id"]} <= set(intent["evidence"])
    asked, confirmed = told.visits[0].replies
    assert "submit_goal_intent" not in asked.calls, "the date was asked for first"
    assert "submit_goal_intent" in confirmed.calls
    heard = await Voice().hear(confirmed.sound)
    assert share(confirmed.text, heard) > 0.5, (confirmed.text, heard)


def test_e2e_task_flow(talks: Talks) -> None:
    """§5.3: by time."""
    told = talks.of("task")
    kept_and_told(told)
    (intent,) = submitted(told, "NEW_TASK")
    task = told.one("tasks")
    assert (task["trigger_type"], task["status"]) == ("time", "active")
    assert "mom" in task["title"].lower()
    assert task["scheduled_at"].date() == told.now.date()
    assert (task["scheduled_at"].hour, task["scheduled_at"].minute) == (19, 0)
    assert task["recurrence_rule"] is None
    assert task["id"] == intent["task_id"] == told.conversation["linked_task_id"]
    assert told.visits[0].replies[0].calls == (), "the time was asked for first"


def test_a_task_by_place_is_submitted_at_once(talks: Talks) -> None:
    """§5.4: everything is in one utterance."""
    told = talks.of("location")
    kept_and_told(told)
    submitted(told, "NEW_TASK")
    task = told.one("tasks")
    assert (task["trigger_type"], task["scheduled_at"]) == ("location", None)
    assert "milk" in task["title"].lower()
    assert "home" in task["location_trigger"].lower()


def test_a_recurring_task_has_its_days_asked_for(talks: Talks) -> None:
    """§5.5."""
    told = talks.of("recurring")
    kept_and_told(told)
    submitted(told, "NEW_TASK")
    task = told.one("tasks")
    assert "meditat" in task["title"].lower()
    assert task["recurrence_rule"] == WEEKDAYS
    assert (task["scheduled_at"].hour, task["scheduled_at"].minute) == (6, 0)
    assert task["scheduled_at"].weekday() < SATURDAY
    assert told.visits[0].replies[0].calls == ()


def test_e2e_reschedule_flow(talks: Talks) -> None:
    """§5.6: with today's tasks known from the start."""
    told = talks.of("reschedule")
    kept_and_told(told)
    (intent,) = submitted(told, "RESCHEDULE_TASK")
    assert intent["task_id"] == GYM == told.conversation["linked_task_id"]
    tasks = {row["id"]: row for row in told.rows("tasks")}
    assert set(tasks) == {GYM, GROCERIES}
    moved = tasks[GYM]
    assert moved["status"] == "rescheduled"
    assert moved["scheduled_at"].weekday() == FRIDAY
    assert (moved["scheduled_at"].hour, moved["scheduled_at"].minute) == (18, 0)
    assert moved["scheduled_at"] > told.now
    assert tasks[GROCERIES]["status"] == "active"
    assert tasks[GROCERIES]["scheduled_at"].hour == 17


def test_multiple_intents(talks: Talks) -> None:
    """§5.7: one after the other in one session."""
    told = talks.of("two_intents")
    kept_and_told(told)
    first, second = submitted(told, "GOAL", "NEW_TASK")
    goal, task = told.one("goals"), told.one("tasks")
    assert "5" in goal["statement"] or "run" in goal["statement"].lower()
    within(goal, told, days=61)
    assert "shoes" in task["title"].lower()
    assert task["scheduled_at"].weekday() == SATURDAY
    assert task["scheduled_at"].hour < 12
    assert (first["goal_id"], second["task_id"]) == (goal["id"], task["id"])
    assert told.conversation["linked_task_id"] == task["id"]


def test_conversation_resume(talks: Talks) -> None:
    """§5.1, an old conversation: what was said before is there, and counts."""
    told = talks.of("resumed")
    kept_and_told(told)
    first, second = told.visits
    assert first.opened["session_id"] != second.opened["session_id"]
    before = [(data["id"], data["content"]) for data in first.events("new_message")]
    prior = [(data["id"], data["content"]) for data in second.opened["prior_messages"]]
    assert prior == before
    (intent,) = submitted(told, "GOAL")
    assert intent["voice_session_id"] == second.opened["session_id"]
    goal = told.one("goals")
    assert "spanish" in goal["statement"].lower(), "said in the session before"
    within(goal, told, days=91)
    assert {row["id"] for row in told.said("user")} <= set(intent["evidence"])


def test_garbled_speech_is_asked_for_again(talks: Talks) -> None:
    """§5.9, A."""
    told = talks.of("garbled")
    kept_and_told(told)
    sorry, resumed = told.visits[0].replies
    assert "Sorry, I didn't catch that. Could you say that again?" in sorry.text
    assert sorry.calls == ()
    garbled, guitar = told.said("user")
    assert "guitar" not in garbled["content"].lower()
    assert "guitar" in guitar["content"].lower()
    assert resumed.text
    assert all("guitar" in goal["statement"].lower() for goal in told.rows("goals"))
    assert told.rows("tasks") == []


def test_off_topic_speech_is_led_back(talks: Talks) -> None:
    """§5.9, B."""
    told = talks.of("off_topic")
    kept_and_told(told)
    nothing_submitted(told)
    (reply,) = told.visits[0].replies
    assert "goals and tasks" in reply.text


def test_an_ambiguous_wish_is_asked_about_and_then_handed_in(talks: Talks) -> None:
    """§5.9, C."""
    told = talks.of("ambiguous")
    kept_and_told(told)
    asked = told.visits[0].replies[0]
    assert asked.calls == ()
    assert "?" in asked.text
    submitted(told, "GOAL")
    goal = told.one("goals")
    assert "marathon" in goal["statement"].lower()
    assert told.rows("tasks") == []


# --- Second thoughts --------------------------------------------------------------------------


def test_no_saturday_changes_the_same_task_and_doubles_nothing(talks: Talks) -> None:
    told = talks.of("amended")
    kept_and_told(told)
    intent, task = told.one("intents"), told.one("tasks")
    assert (intent["status"], intent["revision"]) == ("accepted", 1)
    assert intent["task_id"] == task["id"]
    assert "stamps" in task["title"].lower()
    assert task["status"] == "active"
    assert (task["scheduled_at"].weekday(), task["scheduled_at"].hour) == (SATURDAY, 9)
    events = told.visits[0].events("intent_submitted")
    assert [(data["intent_id"], data["revision"]) for data in events] == [
        (intent["id"], revision) for revision in (0, 1)
    ]
    assert told.said("user")[-1]["id"] in intent["evidence"]


def test_a_reminder_that_is_to_be_forgotten_is_taken_back(talks: Talks) -> None:
    told = talks.of("retracted")
    kept_and_told(told)
    intent, task = told.one("intents"), told.one("tasks")
    assert intent["status"] == task["status"] == "retracted"
    first, last = told.visits[0].events("intent_submitted")
    assert (first["status"], last["status"]) == ("accepted", "retracted")
    assert first["intent_id"] == last["intent_id"] == intent["id"]
