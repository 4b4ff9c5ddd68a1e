"""What the model is told, and that it fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.session.context import Situation, history, history_budget, instructions
from vivavoce.wire.records.talk import Entry, Kind, new_id

NOW = datetime(2026, 1, 31, 14, 30, 22, tzinfo=UTC)


def entry(n: int, kind: Kind, text: str, **data: Any) -> Entry:
    return Entry(
        id=new_id(),
        conversation_id="c",
        user_id="u",
        kind=kind,
        text=text,
        created_at=NOW + timedelta(seconds=n),
        ordinal=float(n),
        data=data,
    )


def talk(turns: int, size: int = 20) -> list[Entry]:
    out: list[Entry] = []
    for n in range(turns):
        call = {"tool_call_id": f"call_{n}", "tool_name": "read_file"}
        out += [
            entry(n, Kind.USER, f"Question {n} " + "q" * size),
            entry(n, Kind.TOOL_CALL, "", **call, tool_arguments={"path": "main.py"}),
            entry(n, Kind.TOOL_RESULT, "r" * size * 4, **call),
            entry(n, Kind.ASSISTANT, f"Answer {n} " + "a" * size),
        ]
    return out


def test_the_time_is_in_the_context_so_nobody_needs_a_tool_for_it() -> None:
    told = instructions("You are kind.", Situation(now=NOW, time_zone="Europe/Rome"))
    assert told.startswith("You are kind.\n\n## Current Context\n")
    assert "Saturday, January 31, 2026, 3:30 PM (Europe/Rome)" in told


def test_what_the_server_knows_follows_the_prompt() -> None:
    situation = Situation(
        now=NOW,
        working_directory="/home/ada/project",
        active_files=("auth.py",),
        running_tasks=("Add logging: running",),
        verbosity="brief",
    )
    told = instructions("P", situation)
    for words in ("/home/ada/project", "auth.py", "Add logging: running", "brief"):
        assert words in told


def test_the_last_ten_turns_are_told_word_for_word_and_the_rest_in_short() -> None:
    built = history(talk(14), budget=100_000)
    texts = [part["text"] for item in built.items for part in item.get("content", ())]
    assert built.turns == 10
    assert any(text.startswith("Question 4 ") for text in texts)
    assert not any(text.startswith("Question 3 ") for text in texts)
    assert built.summary is not None
    assert "4 earlier turns" in built.summary
    assert "read_file" in built.summary


def test_calls_come_with_their_results_or_not_at_all() -> None:
    lone = [entry(0, Kind.USER, "Hi"), entry(1, Kind.TOOL_CALL, "", tool_call_id="x")]
    assert [item["type"] for item in history(lone, budget=1000).items] == ["message"]
    kinds = [item["type"] for item in history(talk(1), budget=1000).items]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


def test_a_call_is_told_with_its_result_although_the_user_spoke_in_between() -> None:
    call = {"tool_call_id": "call_1", "tool_name": "wait"}
    entries = [
        entry(0, Kind.USER, "Wait a minute."),
        entry(1, Kind.TOOL_CALL, "", **call),
        entry(2, Kind.USER, "And tell me a joke."),
        entry(3, Kind.TOOL_RESULT, "Done.", **call),
    ]
    kinds = [item["type"] for item in history(entries, budget=1000).items]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


def test_what_was_never_heard_is_not_told() -> None:
    entries = [entry(0, Kind.USER, "Hi"), entry(1, Kind.ASSISTANT, "", generated="Hello")]
    assert len(history(entries, budget=1000).items) == 1


@settings(deadline=None)
@given(st.integers(0, 25), st.integers(0, 3000), st.integers(0, 20_000))
def test_history_never_weighs_more_than_its_budget(turns: int, size: int, budget: int) -> None:
    built = history(talk(turns, size), budget=budget)
    assert built.tokens <= budget
    calls = {item["call_id"] for item in built.items if item["type"] == "function_call"}
    results = {i["call_id"] for i in built.items if i["type"] == "function_call_output"}
    assert calls == results


def test_the_budget_leaves_room_for_the_talk_to_come() -> None:
    tools = [{"name": "t", "parameters": {}}]
    assert 0 < history_budget(32_000, "p" * 8000, tools) < 16_000
    assert history_budget(1000, "p" * 80_000, tools) == 0
