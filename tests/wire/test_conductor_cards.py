"""What a runtime shows: made from events, sent as changes that anybody's JSON Patch applies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import jsonpatch
import jsonschema
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.docs_text import ROOT
from vivavoce.wire.conductor.cards import patch
from vivavoce.wire.conductor.cards.board import (
    MOST,
    MOST_CLOSED,
    OF_TOOLS,
    OF_WORK,
    PROGRESS,
    Board,
    document_schema,
)
from vivavoce.wire.conductor.cards.card import TYPES
from vivavoce.wire.conductor.event import made, write
from vivavoce.wire.conductor.kinds import AssistantUIPatch
from vivavoce.wire.events import (
    CATALOGUE,
    ApprovalRequested,
    ApprovalResolved,
    IntentRetracted,
    IntentSubmitted,
    Notification,
    SpeechStarted,
    TaskCompleted,
    TaskDelegated,
    TaskDue,
    TaskFailed,
    TaskProgress,
    TaskQuestion,
    ToolCompleted,
    ToolError,
    ToolProgress,
    ToolStarted,
    VoiceEvent,
    to_log,
)
from vivavoce.wire.records.talk import LogEvent

HERE, THERE = "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10", "0b8f6d9e-4f0c-4d70-8a77-1f2d3c4b5a69"
AT = datetime(2026, 1, 31, 14, 30, tzinfo=UTC)
EXAMPLES = ROOT / "docs" / "conductor" / "cards"
checker = jsonschema.Draft202012Validator(document_schema())


def heard(board: Board, event: LogEvent) -> None:
    board.hear(event.type, event.data, event.position, event.conversation_id)


class Log:
    """What the log has, in order, and a board that hears it."""

    def __init__(self, quiet: tuple[str, ...] = ()) -> None:
        self.board = Board(HERE, quiet.__contains__)
        self.events: list[LogEvent] = []
        self._positions: Iterator[int] = count(1)

    def hear(self, event: VoiceEvent, conversation_id: str | None = HERE) -> list[dict[str, Any]]:
        """The cards after it."""
        told = to_log(event, user_id="ann", conversation_id=conversation_id)
        self.events.append(replace(told, position=next(self._positions)))
        heard(self.board, self.events[-1])
        cards: list[dict[str, Any]] = self.board.document["cards"]
        return cards


def delegated(task_id: str = "task_1", title: str = "Tidy the tests") -> TaskDelegated:
    return TaskDelegated(
        timestamp=AT, task_id=task_id, title=title, agent="coder", backend="embedded"
    )


def progress(message: str, percentage: int | None = None, task_id: str = "task_1") -> TaskProgress:
    return TaskProgress(
        timestamp=AT, task_id=task_id, message=message, agent="coder", percentage=percentage
    )


def completed(*files: str, task_id: str = "task_1") -> TaskCompleted:
    return TaskCompleted(
        timestamp=AT,
        task_id=task_id,
        title="Tidy the tests",
        summary="All tidy.",
        files_changed=list(files),
        duration_ms=5,
    )


def started(call_id: str = "call_1", tool: str = "read_file") -> ToolStarted:
    return ToolStarted(
        timestamp=AT, call_id=call_id, tool_name=tool, description="Reading notes.md"
    )


def returned(
    preview: str | None, *files: str, call_id: str = "call_1", tool: str = "read_file"
) -> ToolCompleted:
    return ToolCompleted(
        timestamp=AT,
        call_id=call_id,
        tool_name=tool,
        success=True,
        duration_ms=5,
        output_preview=preview,
        files_changed=list(files) or None,
    )


def asked(approval_id: str = "apr_1", **more: Any) -> ApprovalRequested:
    return ApprovalRequested(
        timestamp=AT,
        approval_id=approval_id,
        tool_name="bash",
        question="I want to run the tests. May I? Yes or no?",
        arguments={"command": "pytest"},
        expires_at=AT + timedelta(minutes=1),
        **more,
    )


def resolved(by: str = "click", *, granted: bool = True) -> ApprovalResolved:
    return ApprovalResolved(
        timestamp=AT, approval_id="apr_1", tool_name="bash", granted=granted, by=by, reach="once"
    )


def submitted(
    intent_id: str = "int_1", status: str = "accepted", revision: int = 0, **payload: object
) -> IntentSubmitted:
    return IntentSubmitted(
        timestamp=AT,
        intent_id=intent_id,
        intent="NEW_TASK",
        payload=payload or {"title": "Call Anna"},
        status=status,
        revision=revision,
    )


def retracted(intent_id: str = "int_1") -> IntentRetracted:
    return IntentRetracted(timestamp=AT, intent_id=intent_id, intent="NEW_TASK")


# --- Cards ----------------------------------------------------------------------------


def test_a_task_shows_how_far_it_is_what_it_asks_and_what_came_of_it() -> None:
    log = Log()
    log.hear(delegated())
    [card] = log.hear(progress("Reading", 20))
    assert (card["status"], card["progress"], card["percentage"]) == ("running", "Reading", 20)
    question = TaskQuestion(
        timestamp=AT, task_id="task_1", question_id="q_1", question="Which?", choices=["a", "b"]
    )
    [card] = log.hear(question)
    assert card["status"] == "waiting"
    assert card["question"] == {"id": "q_1", "text": "Which?", "choices": ["a", "b"]}
    [card] = log.hear(progress("Writing", 60))
    assert "question" not in card, "whoever goes on has its answer"
    [card] = log.hear(completed())
    assert (card["status"], card["summary"], card["open"]) == ("completed", "All tidy.", False)
    assert log.hear(progress("late")) == [card], "what is over stays so"


def test_a_task_that_failed_says_what_can_be_done() -> None:
    log = Log()
    log.hear(delegated())
    fault = TaskFailed(
        timestamp=AT, task_id="task_1", title="Tidy", error="No.", details=[], suggestions=["Wait"]
    )
    [card] = log.hear(fault)
    assert (card["status"], card["error"], card["suggestions"]) == ("failed", "No.", ["Wait"])
    log = Log()
    [card] = log.hear(replace(fault, cancelled=True))
    assert card["status"] == "cancelled"


def test_files_that_were_changed_are_a_card_of_their_own() -> None:
    log = Log()
    log.hear(delegated())
    diff, task = log.hear(completed("src/a.py", "src/b.py"))
    assert (diff["type"], diff["file"], diff["total"]) == ("diff", "src/a.py", 2)
    assert diff["by"] == task["title"] == "Tidy the tests"
    diff, *_ = log.hear(returned("ok", *(f"{n}.txt" for n in range(90)), tool="bash"))
    assert (diff["total"], len(diff["files"]), diff["by"]) == (90, 20, "bash")


def test_a_tool_is_shown_while_it_runs_and_stays_where_there_is_something_to_read() -> None:
    log = Log()
    [card] = log.hear(started())
    assert (card["status"], card["title"], card["open"]) == ("running", "Reading notes.md", True)
    news = ToolProgress(timestamp=AT, call_id="call_1", tool_name="read_file", message="half")
    [card] = log.hear(replace(news, percentage=50))
    assert (card["progress"], card["percentage"]) == ("half", 50)
    [card] = log.hear(returned("Buy milk"))
    assert (card["status"], card["text"], card["open"]) == ("completed", "Buy milk", False)
    assert "percentage" not in card
    log.hear(started("call_2"))
    assert log.hear(returned("", call_id="call_2")) == [card]


def test_a_tool_that_failed_says_why() -> None:
    log = Log()
    log.hear(started())
    fault = ToolError(
        timestamp=AT, call_id="call_1", tool_name="read_file", error="Not there.", recoverable=True
    )
    [card] = log.hear(replace(fault, suggestion="Look elsewhere"))
    assert (card["status"], card["error"], card["suggestion"]) == (
        "failed",
        "Not there.",
        "Look elsewhere",
    )


def test_a_tool_whose_card_is_another_has_none_but_may_ask_and_change_files() -> None:
    log = Log(quiet=("submit_task",))
    assert log.hear(started(tool="submit_task")) == []
    question = TaskQuestion(
        timestamp=AT, task_id=f"call_1@{HERE}", question_id="q_1", question="Which?", choices=[]
    )
    [card] = log.hear(replace(question, task_id="call_1"))
    assert card["question"]["text"] == "Which?"
    [card] = log.hear(returned("{}", "a.md", tool="submit_task"))
    assert card["type"] == "diff"


def test_what_a_running_tool_asks_is_on_its_card() -> None:
    log = Log()
    log.hear(started())
    question = TaskQuestion(
        timestamp=AT, task_id=f"call_1@{HERE}", question_id="q_1", question="Which?", choices=[]
    )
    [card] = log.hear(question)
    assert (card["id"], card["status"]) == ("tool:call_1", "waiting")
    [card] = log.hear(returned("Done"))
    assert "question" not in card


def test_an_approval_waits_until_it_is_settled() -> None:
    log = Log()
    [card] = log.hear(asked(because="the page example.org"))
    assert (card["status"], card["approvalId"], card["open"]) == ("pending", "apr_1", True)
    assert card["arguments"] == [{"name": "command", "text": "pytest"}]
    assert card["because"] == "the page example.org"
    assert card["expiresAt"] == "2026-01-31T14:31:00.000Z"
    assert log.board.waiting == {"apr_1": "I want to run the tests. May I? Yes or no?"}
    [card] = log.hear(resolved("voice"))
    assert log.board.waiting == {}
    assert (card["status"], card["by"], card["open"]) == ("granted", "voice", False)
    assert log.hear(resolved(granted=False)) == [card], "the first answer counts"


def test_what_needs_a_yes_is_shown_as_it_is_and_says_if_there_is_more() -> None:
    log = Log()
    command = "sort <names.txt >out.txt"
    [card] = log.hear(replace(asked(), arguments={"command": command, "env": {"A": [1]}}))
    assert card["arguments"] == [
        {"name": "command", "text": command},
        {"name": "env", "text": '{"A":[1]}'},
    ]
    assert "more" not in card
    card, _ = log.hear(replace(asked("apr_2"), arguments={"command": "x" * 1_001}))
    assert card["more"] is True
    card, *_ = log.hear(replace(asked("apr_3"), arguments={str(n): n for n in range(13)}))
    assert card["more"] is True
    card, *_ = log.hear(replace(asked("apr_4"), arguments={str(n): "x" * 900 for n in range(9)}))
    assert card["more"] is True
    assert sum(len(one["text"]) for one in card["arguments"]) == 4_000


def test_what_waits_for_a_yes_does_not_run() -> None:
    log = Log()
    log.hear(started(tool="bash"))
    approval, tool = log.hear(asked(call_id=f"call_1@{HERE}"))
    assert (approval["holds"], tool["status"]) == (tool["id"], "waiting")
    approval, tool = log.hear(resolved())
    assert (approval["holds"], tool["status"]) == (tool["id"], "running")
    log = Log()
    log.hear(delegated())
    approval, task = log.hear(asked(call_id="call_1", task_id="task_1"), None)
    assert (approval["holds"], task["status"]) == (task["id"], "waiting")
    [task] = log.hear(resolved(), None)
    assert task["status"] == "running"


@pytest.mark.parametrize(
    ("by", "status"),
    [("click", "denied"), ("cancel", "denied"), ("timeout", "expired"), ("restart", "expired")],
)
def test_no_yes_is_a_no(by: str, status: str) -> None:
    log = Log()
    log.hear(asked())
    [card] = log.hear(resolved(by, granted=False))
    assert card["status"] == status


def test_an_intent_shows_what_was_understood_is_amended_and_taken_back() -> None:
    log = Log()
    [card] = log.hear(submitted(status="pending", title="Call Anna"))
    assert (card["status"], card["open"]) == ("pending", True)
    assert "undo" not in card
    [card] = log.hear(submitted(title="Call Anna", place=None, tags=["a", 1]))
    assert (card["status"], card["undo"], card["open"]) == ("accepted", True, False)
    assert card["understood"] == [
        {"name": "title", "text": "Call Anna"},
        {"name": "tags", "text": '["a",1]'},
    ]
    [card] = log.hear(submitted(revision=1, title="Call Beth"))
    assert (card["revision"], card["understood"][0]["text"]) == (1, "Call Beth")
    assert log.hear(submitted()) == [card], "no older word undoes a newer one"
    [card] = log.hear(retracted())
    assert card["status"] == "retracted"
    assert "undo" not in card
    assert log.hear(submitted(revision=2)) == [card], "what is taken back stays so"


def test_the_latest_intent_is_the_one_that_undo_is_about() -> None:
    log = Log()
    log.hear(submitted("int_1"))
    newer, older = log.hear(submitted("int_2"))
    assert newer["undo"] is True
    assert "undo" not in older
    newer, older = log.hear(retracted("int_2"))
    assert "undo" not in newer
    assert older["undo"] is True


def test_reminders_and_notifications_are_shown() -> None:
    log = Log()
    due = TaskDue(timestamp=AT, reminder_id="rem_1", task_id="t", title="Dentist", due_at=AT)
    [card] = log.hear(due)
    assert (card["type"], card["title"], card["dueAt"]) == (
        "reminder",
        "Dentist",
        "2026-01-31T14:30:00.000Z",
    )
    word = Notification(
        timestamp=AT, level="warning", message="Slow.", action={"label": "Retry", "do": "retry"}
    )
    card, _ = log.hear(word)
    assert (card["level"], card["text"], card["open"]) == ("warning", "Slow.", False)
    assert card["action"] == [{"name": "label", "text": "Retry"}, {"name": "do", "text": "retry"}]


# --- Whose ----------------------------------------------------------------------------


def test_another_conversation_has_cards_of_its_own() -> None:
    log = Log()
    for event in (delegated(), started(), submitted(), progress("Reading")):
        assert log.hear(event, THERE) == []
    assert log.hear(started(), None) == [], "what delegated work does in between"


def test_a_task_that_is_told_in_another_conversation_ends_here_too() -> None:
    log = Log()
    log.hear(delegated())
    [card] = log.hear(completed(), THERE)
    assert card["status"] == "completed"


def test_a_request_from_elsewhere_is_shown_while_it_waits() -> None:
    log = Log()
    [card] = log.hear(asked(), THERE)
    assert card["open"]
    assert log.board.waiting == {}, "it is asked there"
    assert log.hear(resolved(), THERE) == []


# --- Bounds ---------------------------------------------------------------------------


def test_of_what_is_over_the_oldest_goes_first() -> None:
    log = Log()
    log.hear(delegated())
    for n in range(MOST_CLOSED + 5):
        log.hear(started(f"call_{n}"))
        cards = log.hear(returned("text", call_id=f"call_{n}"))
    ids = [card["id"] for card in cards]
    assert ids == [*(f"tool:call_{n}" for n in range(MOST_CLOSED + 4, 4, -1)), "task:task_1"]
    cards = log.hear(completed())
    assert cards[-1]["status"] == "completed", "it has only just ended"
    assert len(cards) == MOST_CLOSED


def test_more_is_open_than_there_is_room_for() -> None:
    log = Log()
    log.hear(asked())
    for n in range(MOST + 10):
        cards = log.hear(delegated(f"task_{n}"))
    assert len(cards) == MOST
    assert cards[-1]["type"] == "approval", "what waits for a yes stays"


def test_a_document_has_a_bound() -> None:
    log, long = Log(), 'ÿ<b>"' * 5_000
    for n in range(MOST * 2):
        payload: dict[str, Any] = {f"{k}{long}": long for k in range(50)}
        log.hear(submitted(f"int_{n}", "pending", **payload))
    for n in range(20):  # as many as one user may have
        log.hear(replace(asked(f"apr_{n}"), arguments=payload))
    message = write(made(AssistantUIPatch(patch=orjson.dumps(log.board.changes()).decode())))
    assert len(message) < 1_000_000, "what one connection may have waiting"
    checker.validate(log.board.document)


def test_what_nobody_can_see_is_not_shown() -> None:
    log = Log()
    [card] = log.hear(delegated(title="rm \u202e<script>x</script>\x00"))
    assert card["title"] == "rm ‹script›x‹/script›"


def test_an_event_of_another_version_is_left_out() -> None:
    log = Log()
    log.hear(submitted())
    cards = log.board.document["cards"]
    assert log.hear(submitted("int_2", status="paused")) == cards
    assert log.board.unread == 1
    heard(log.board, replace(log.events[-1], position=99, data=b'{"intent_id": "int_1"}'))
    assert log.board.unread == 2
    assert log.board.document["cards"] == cards


# --- Changes --------------------------------------------------------------------------


def test_the_first_change_is_the_whole_document() -> None:
    log = Log()
    log.hear(delegated())
    assert log.board.changes() == [{"op": "replace", "path": "", "value": log.board.document}]
    assert log.board.changes() == []


def test_progress_is_a_small_change() -> None:
    log = Log()
    log.hear(delegated())
    log.hear(progress("Reading", 20))
    log.board.changes()
    log.hear(progress("Reading", 25))
    assert log.board.changes() == [{"op": "replace", "path": "/cards/0/percentage", "value": 25}]


def test_a_new_card_comes_on_top() -> None:
    log = Log()
    log.hear(delegated())
    log.board.changes()
    [card, _] = log.hear(started())
    assert log.board.changes() == [{"op": "add", "path": "/cards/0", "value": card}]


def test_what_does_not_concern_it_changes_nothing() -> None:
    log = Log()
    log.board.changes()
    log.hear(SpeechStarted(timestamp=AT))
    assert log.board.changes() == []


texts = st.sampled_from(["", "one", "Two words", "a/b~c", "x" * 300])
tasks, calls = st.sampled_from(["t1", "t2", "c1"]), st.sampled_from(["c1", "c2", "c3"])
tools, maybe = st.sampled_from(["bash", "submit_x"]), st.none() | st.integers(-5, 130)
files = st.lists(st.sampled_from(["a", "b/c"]), max_size=3)
payloads = st.dictionaries(
    texts, texts | st.integers(-9, 9) | st.lists(texts, max_size=2), max_size=3
)
approvals, intents = st.sampled_from(["a1", "a2"]), st.sampled_from(["i1", "i2", "i3"])
at = st.just(AT)
voice_events = st.one_of(
    st.builds(delegated, tasks, texts),
    st.builds(progress, texts, maybe, tasks),
    st.builds(
        TaskQuestion,
        timestamp=at,
        task_id=tasks,
        question_id=texts,
        question=texts,
        choices=st.lists(texts, max_size=25),
    ),
    st.builds(lambda task, names: completed(*names, task_id=task), tasks, files),
    st.builds(
        TaskFailed,
        timestamp=at,
        task_id=tasks,
        title=texts,
        error=texts,
        details=files,
        suggestions=files,
        cancelled=st.booleans(),
    ),
    st.builds(started, calls, tools),
    st.builds(
        ToolProgress,
        timestamp=at,
        call_id=calls,
        tool_name=tools,
        message=texts,
        percentage=maybe,
        details=st.none(),
    ),
    st.builds(
        lambda call, tool, text, names: returned(text, *names, call_id=call, tool=tool),
        calls,
        tools,
        st.none() | texts,
        files,
    ),
    st.builds(
        ToolError,
        timestamp=at,
        call_id=calls,
        tool_name=tools,
        error=texts,
        recoverable=st.booleans(),
        suggestion=st.none() | texts,
        output_preview=st.none() | texts,
    ),
    st.builds(
        asked,
        approvals,
        because=st.none() | texts,
        call_id=st.none() | calls,
        task_id=st.none() | tasks,
    ),
    st.builds(resolved, st.sampled_from(["click", "timeout"]), granted=st.booleans()),
    st.builds(
        lambda i, status, n, payload: replace(submitted(i, status, n), payload=payload),
        intents,
        st.sampled_from(["pending", "accepted", "failed"]),
        st.integers(0, 2),
        payloads,
    ),
    st.builds(retracted, intents),
    st.builds(
        TaskDue, timestamp=at, reminder_id=texts, task_id=tasks, title=texts, due_at=at, late=...
    ),
    st.builds(
        Notification,
        timestamp=at,
        level=st.sampled_from(["info", "error"]),
        message=texts,
        action=st.none() | st.just({"label": "x"}),
    ),
    st.builds(SpeechStarted, timestamp=at),
)
histories = st.lists(
    st.tuples(voice_events, st.sampled_from([HERE, HERE, THERE, None]), st.booleans())
)


@given(histories)
@settings(max_examples=300)
def test_the_changes_of_any_order_of_events_give_the_document(
    steps: list[tuple[VoiceEvent, str, bool]],
) -> None:
    log = Log(quiet=("submit_x",))
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    for event, conversation, sent in steps:
        cards = log.hear(event, conversation)
        if sent:  # or with the next
            operations = log.board.changes()
            ours = patch.applied(ours, operations)
            theirs = jsonpatch.apply_patch(theirs, operations)
            assert ours == theirs == log.board.document
            assert json.dumps(theirs) == json.dumps(ours)
            checker.validate(theirs)
        assert len(cards) <= MOST
        assert sum(not card["open"] for card in cards) <= MOST_CLOSED
        assert len({card["id"] for card in cards}) == len(cards)
    assert log.board.unread == 0


@given(histories, st.data())
def test_whoever_reads_the_log_again_has_the_same_document(
    steps: list[tuple[VoiceEvent, str, bool]], data: st.DataObject
) -> None:
    log = Log(quiet=("submit_x",))
    for event, conversation, _ in steps:
        log.hear(event, conversation)
    again = Board(HERE, ("submit_x",).__contains__)
    upto = data.draw(st.integers(0, len(log.events)))
    for stored in [*log.events[:upto], *log.events]:  # what is stored, and what came meanwhile
        heard(again, stored)
    assert again.document == log.board.document


values = st.recursive(
    st.none() | st.booleans() | st.integers(2, 4) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
documents = st.lists(st.dictionaries(texts, values, max_size=4), max_size=6).flatmap(
    lambda cards: st.permutations(range(8)).map(
        lambda ids: {"cards": [card | {"id": f"c{i}"} for card, i in zip(cards, ids, strict=False)]}
    )
)


@given(documents, documents)
def test_from_any_document_to_any_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    operations = patch.between(old, new)
    for became in (patch.applied(old, operations), jsonpatch.apply_patch(old, operations)):
        assert json.dumps(became, sort_keys=True) == json.dumps(new, sort_keys=True)
    # As it is sent: without spaces, and without escapes that JSON does not ask for.
    assert len(orjson.dumps(operations)) <= len(orjson.dumps(patch.whole(new)))


@pytest.mark.parametrize(
    ("op", "path"),
    [
        ("remove", ""),
        ("remove", "/cards/1"),
        ("remove", "/none"),
        ("replace", "/cards/0/none"),
        ("replace", "/cards/-"),
        ("add", "/cards/2"),
        ("add", "/cards/-1"),
        ("add", "cards"),
        ("add", "/none/0"),
    ],
)
def test_what_cannot_be_applied_is_refused(op: str, path: str) -> None:
    with pytest.raises((LookupError, ValueError)):
        patch.applied({"cards": [{"id": "a"}]}, [{"op": op, "path": path, "value": 1}])


# --- As published ---------------------------------------------------------------------


def test_the_published_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(document_schema())


def test_there_is_an_example_of_every_card() -> None:
    document = json.loads((EXAMPLES / "document.json").read_text(encoding="utf-8"))
    checker.validate(document)
    assert {card["type"] for card in document["cards"]} == set(TYPES)


def test_the_example_is_what_happens() -> None:
    """Events as `/events` has them, and what the runtime is sent for each."""
    board = Board(HERE)
    shown: dict[str, Any] = {}
    steps = json.loads((EXAMPLES / "flow.json").read_text(encoding="utf-8"))
    for position, step in enumerate(steps, start=1):
        if kind := step.get("event"):
            board.hear(kind, json.dumps(step["data"]).encode(), position, HERE)
        assert board.changes() == step["patch"]
        shown = jsonpatch.apply_patch(shown, step["patch"])
        checker.validate(shown)
    assert shown == json.loads((EXAMPLES / "document.json").read_text(encoding="utf-8"))


def test_every_event_that_a_document_is_made_of_exists_and_is_kept() -> None:
    made_of = (*OF_WORK, *OF_TOOLS, *PROGRESS)
    assert len(set(made_of)) == len(made_of)
    assert all(CATALOGUE[kind].durable for kind in made_of)
