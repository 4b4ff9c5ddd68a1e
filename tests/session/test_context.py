"""What the model is told, and that it fits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.language.en.gist import Gist
from vivavoce.session.context import (
    RESULT_CHARS,
    SUMMARY,
    History,
    Room,
    Situation,
    gathered,
    history,
    instructions,
    room_for,
    settled,
)
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


PLENTY = Room(most=100_000, wanted=100_000)


def texts(built: History) -> list[str]:
    return [part["text"] for item in built.items for part in item.get("content", ())]


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


def test_calls_come_with_their_results_or_not_at_all() -> None:
    lone = [entry(0, Kind.USER, "Hi"), entry(1, Kind.TOOL_CALL, "", tool_call_id="x")]
    assert [item["type"] for item in history(lone, room=PLENTY).items] == ["message"]
    kinds = [item["type"] for item in history(talk(1), room=PLENTY).items]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


def test_a_call_is_told_with_its_result_although_the_user_spoke_in_between() -> None:
    call = {"tool_call_id": "call_1", "tool_name": "wait"}
    entries = [
        entry(0, Kind.USER, "Wait a minute."),
        entry(1, Kind.TOOL_CALL, "", **call),
        entry(2, Kind.USER, "And tell me a joke."),
        entry(3, Kind.TOOL_RESULT, "Done.", **call),
    ]
    kinds = [item["type"] for item in history(entries, room=PLENTY).items]
    assert kinds == ["message", "message", "function_call", "function_call_output"]


def test_a_result_that_nobody_has_answered_is_the_last_there_is() -> None:
    """Whatever was asked while the call waited."""
    call = {"tool_call_id": "call_1", "tool_name": "bash"}
    entries = [
        entry(0, Kind.USER, "Run the tests."),
        entry(1, Kind.TOOL_CALL, "", **call),
        entry(2, Kind.ASSISTANT, "I want to run the tests. May I?"),
        entry(3, Kind.TOOL_RESULT, "All green.", **call),
    ]
    last = history(entries, room=PLENTY).items[-1]
    assert (last["type"], last["output"]) == ("function_call_output", "All green.")


def test_what_was_never_heard_is_not_told() -> None:
    entries = [entry(0, Kind.USER, "Hi"), entry(1, Kind.ASSISTANT, "", generated="Hello")]
    assert len(history(entries, room=PLENTY).items) == 1


def test_what_fits_is_told_word_for_word_however_many_turns_that_are() -> None:
    built = history(talk(40), room=PLENTY)
    assert (built.turns, built.summary) == (40, None)
    assert texts(built)[0].startswith("Question 0 ")
    assert built.gist.empty


def test_results_shrink_before_a_turn_goes() -> None:
    entries = talk(12, size=500)  # results of 2,000 characters
    whole = history(entries, room=PLENTY).tokens
    built = history(entries, room=Room(most=whole, wanted=whole // 2))
    assert (built.turns, built.summary) == (12, None)
    outputs = [item["output"] for item in built.items if item["type"] == "function_call_output"]
    assert max(map(len, outputs)) < 700


def test_the_oldest_turns_give_way_to_a_summary() -> None:
    entries = [
        entry(0, Kind.USER, "Can you help me build a bird house?"),
        entry(1, Kind.ASSISTANT, "Gladly."),
        entry(2, Kind.USER, "Let's paint it green."),
        entry(3, Kind.TOOL_CALL, "", tool_name="read_file", tool_arguments={"path": "house.md"}),
        *(replace(one, ordinal=one.ordinal + 10) for one in talk(60, size=200)),
    ]
    built = history(entries, room=Room(most=6_000, wanted=4_000))
    assert 10 <= built.turns < 60
    assert texts(built)[-1].startswith("Answer 59 ")
    assert built.items[0]["id"].startswith(SUMMARY)
    told = texts(built)[0]
    assert told == built.summary
    for words in ("build a bird house", "paint it green", "house.md"):
        assert words in told


def test_the_last_ten_turns_are_told_though_they_are_more_than_is_wanted() -> None:
    built = history(talk(14, size=300), room=Room(most=8_000, wanted=300))
    assert built.turns == 10
    assert built.tokens <= 8_000


def test_the_gist_of_what_was_before_is_told_though_all_that_is_there_fits() -> None:
    before = Gist(topic="A bird house", decisions=("Paint it green",), turns=90, upto=0.0)
    built = history(talk(5), room=PLENTY, before=before, whole=False)
    assert built.turns == 5
    assert "Paint it green" in texts(built)[0]
    assert built.gist.decisions == ("Paint it green",)


def test_a_gist_grows_by_what_it_does_not_have() -> None:
    entries = talk(6)
    first = gathered(Gist(), entries[:12])
    assert first.turns == 3
    assert gathered(first, entries[:12]) == first
    assert gathered(first, entries).turns == 6
    assert settled(entries) == entries[:20]


def test_a_long_result_keeps_its_end() -> None:
    call = {"tool_call_id": "c", "tool_name": "bash"}
    output = "begin " + "x" * 20_000 + " 3 failed"
    entries = [
        entry(0, Kind.USER, "Run the tests."),
        entry(1, Kind.TOOL_CALL, "", **call),
        entry(2, Kind.TOOL_RESULT, output, **call),
    ]
    told = history(entries, room=PLENTY).items[-1]["output"]
    assert len(told) < RESULT_CHARS[0] + 60
    assert (told[:6], told[-9:]) == ("begin ", " 3 failed")


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 3000), st.integers(0, 20_000), st.integers(0, 20_000))
def test_history_never_weighs_more_than_there_is(
    turns: int, size: int, most: int, wanted: int
) -> None:
    entries = talk(turns, size)
    room = Room(most=max(most, wanted), wanted=wanted)
    built = history(entries, room=room)
    assert built.tokens <= room.most
    calls = [item["call_id"] for item in built.items if item["type"] == "function_call"]
    results = [i["call_id"] for i in built.items if i["type"] == "function_call_output"]
    assert calls == results
    if built.tokens > room.wanted:
        assert built.turns <= 10  # only for these is more taken than is wanted


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 60), st.integers(400, 4_000))
def test_what_was_decided_is_always_told(before: int, after: int, wanted: int) -> None:
    """Word for word or in the summary, wherever it was said."""
    entries = [*talk(before), entry(before, Kind.USER, "Let's use the blue door."), *talk(after)]
    entries = [replace(one, ordinal=float(n)) for n, one in enumerate(entries)]
    built = history(entries, room=Room(most=2 * wanted, wanted=wanted))
    assert "Let's use the blue door" in " ".join(texts(built))


def test_the_room_leaves_some_for_the_talk_to_come() -> None:
    room = room_for(32_000, 2_000)
    assert 0 < room.wanted < 16_000 < room.most < 30_000
    assert room_for(1_000, 20_000) == Room(most=0, wanted=0)


def test_a_brain_that_reads_slowly_begins_with_less_and_keeps_its_window() -> None:
    room = room_for(6_000, 1_000, 1_400)
    assert (room.wanted, room.most) == (1_400, 3_750)
