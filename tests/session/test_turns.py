"""The machine's trace of every turn: which marks it sees, and when it tells them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.scene import SESSION, START, Scene, answer, call, message, told, user_turn
from vivavoce.session import events as ev
from vivavoce.session.effects import StartTimer
from vivavoce.session.policy import Policy
from vivavoce.session.turns import GRACE, has_clause
from vivavoce.wire import events as ve
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import iso


def heard_by(detection: dict[str, Any] | None, *, transcription: bool = False) -> dict[str, Any]:
    """The session of the scene with another way to find the end of a turn."""
    listening: dict[str, Any] = {"turn_detection": detection}
    if transcription:
        listening["transcription"] = {"model": "whisper"}
    return SESSION | {"audio": {"input": listening, "output": {"voice": "marin"}}}


def traces(scene: Scene) -> list[ve.TurnTraced]:
    return told(scene.effects, ve.TurnTraced)


def marks(turn: ve.TurnTraced) -> tuple[int | None, ...]:
    return (
        turn.end_of_turn_ms,
        turn.transcript_ms,
        turn.first_token_ms,
        turn.first_clause_ms,
        turn.first_sound_ms,
        turn.last_sound_ms,
    )


def spoken(scene: Scene, item_id: str = "u1") -> None:
    """Two seconds of speech and the half second of silence that the provider waits."""
    scene.send(rt.UserSpeechStarted(item_id, 0))
    scene.wait(2.5).send(rt.UserSpeechStopped(item_id, 2000))
    scene.wait(0.1).send(rt.InputCommitted(item_id), rt.UserTranscript(item_id, "Hi"))


def test_every_stage_of_a_spoken_turn_is_timed_from_the_end_of_the_speech() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.wait(0.1).send(rt.ResponseCreated("r1"), rt.OutputItemAdded("r1", message("a1")))
    scene.wait(0.1).send(rt.AssistantDelta("r1", "a1", "Well"))
    scene.wait(0.1).send(rt.AssistantDelta("r1", "a1", ", it's"))
    scene.wait(0.1).send(rt.PlaybackStarted("r1"), rt.AssistantTranscript("r1", "a1", "Well, it's"))
    scene.wait(0.1).send(rt.ResponseDone("r1", items=(message("a1", text="Well, it's"),)))
    assert traces(scene) == [], "its sound goes on"
    scene.wait(1).send(rt.PlaybackStopped("r1"))
    (turn,) = traces(scene)
    assert marks(turn) == (600, 600, 800, 900, 1000, 2100)
    assert (iso(turn.speech_end), turn.began_with, turn.outcome) == (
        "2026-01-31T14:30:24.000Z",
        "speech",
        "completed",
    )
    assert (turn.response_ids, turn.item_ids, turn.tools) == (["r1"], ["u1", "a1"], [])


@pytest.mark.parametrize(
    ("detection", "end_of_turn"),
    [
        ({"type": "server_vad", "silence_duration_ms": 800}, 800),
        ({"type": "server_vad"}, 500),
        ({"type": "semantic_vad"}, 0),
    ],
)
def test_the_silence_that_was_waited_is_taken_off_where_it_is_known(
    detection: dict[str, Any], end_of_turn: int
) -> None:
    scene = Scene(session=heard_by(detection)).connect()
    scene.send(rt.UserSpeechStarted("u1"))
    scene.wait(3).send(rt.UserSpeechStopped("u1"), rt.InputCommitted("u1"))
    scene.send(*answer("r1", "a1", "Yes.", "u1"), rt.PlaybackStopped("r1"))
    assert traces(scene)[0].end_of_turn_ms == end_of_turn


def test_speech_never_ends_before_it_began() -> None:
    scene = Scene().connect()
    scene.wait(1).send(rt.UserSpeechStarted("u1"))
    scene.wait(0.2).send(rt.UserSpeechStopped("u1"), rt.InputCommitted("u1"))
    scene.send(*answer("r1", "a1", "Yes.", "u1"), rt.PlaybackStopped("r1"))
    assert traces(scene)[0].end_of_turn_ms == 200


def test_a_turn_that_is_committed_by_hand_is_timed_from_the_commit() -> None:
    scene = Scene(session=heard_by(None)).connect()
    scene.send(rt.InputCommitted("u1"))
    scene.wait(1).send(*answer("r1", "a1", "Yes.", "u1"), rt.PlaybackStopped("r1"))
    (turn,) = traces(scene)
    assert (turn.end_of_turn_ms, turn.first_token_ms) == (0, 1000)


def test_typed_text_is_a_turn_from_the_moment_it_is_there() -> None:
    scene = Scene(Policy(peer_text="allow")).connect()
    scene.send(rt.ItemAdded(message("u1", "user", "Hello?")))
    scene.wait(0.3).send(rt.ResponseCreated("r1"), rt.OutputItemAdded("r1", message("a1")))
    scene.send(rt.AssistantDelta("r1", "a1", "Yes"))
    scene.wait(0.2).send(rt.AssistantTranscript("r1", "a1", "Yes", spoken=False))
    scene.send(rt.ResponseDone("r1"))
    (turn,) = traces(scene)
    assert marks(turn) == (0, None, 300, 500, None, None)
    assert (turn.began_with, turn.item_ids) == ("text", ["u1", "a1"])


def test_a_tools_result_is_answered_in_the_turn_of_its_call() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    scene.wait(5).send(ev.ToolFinished("call_1", "14:30"))
    assert traces(scene) == []
    scene.wait(1).send(*answer("r2", "a1", "Half past two.", "u1"), rt.PlaybackStopped("r2"))
    (turn,) = traces(scene)
    assert (turn.response_ids, turn.tools) == (["r1", "r2"], ["current_time"])
    assert (turn.first_token_ms, turn.first_sound_ms) == (600, 6600)


def test_an_answer_that_never_follows_the_tool_is_a_turn_that_failed() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    scene.send(ev.ToolFinished("call_1", "14:30"))
    scene.wait(10).send(ev.TimerFired("turn"))
    assert [turn.outcome for turn in traces(scene)] == ["failed"]


def test_who_speaks_while_a_tool_runs_begins_another_turn() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    spoken(scene, "u2")
    scene.send(ev.ToolFinished("call_1", "14:30"))
    scene.send(*answer("r2", "a1", "Half past two.", "u2"), rt.PlaybackStopped("r2"))
    assert [(turn.outcome, turn.response_ids) for turn in traces(scene)] == [
        ("interrupted", ["r1"]),
        ("completed", ["r2"]),
    ]


def test_an_interruption_ends_the_turn_and_its_sound() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(*answer("r1", "a1", "A long story.", "u1")[:-2])
    scene.wait(2).send(rt.UserSpeechStarted("u2"))
    scene.send(rt.PlaybackStopped("r1", cleared=True), rt.ResponseDone("r1", "cancelled"))
    (turn,) = traces(scene)
    assert (turn.outcome, turn.first_sound_ms, turn.last_sound_ms) == ("interrupted", 600, 2600)


def test_a_murmur_that_does_not_stop_the_answer_does_not_end_its_turn() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(*answer("r1", "a1", "A long story.", "u1"))
    scene.wait(1).send(rt.UserSpeechStarted("u2"))
    scene.wait(1).send(rt.UserSpeechStopped("u2"), rt.PlaybackStopped("r1"))
    assert [(turn.outcome, turn.item_ids) for turn in traces(scene)] == [
        ("completed", ["u1", "a1"])
    ]


def test_a_failed_response_is_a_turn_that_failed() -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(rt.ResponseCreated("r1"), rt.ResponseDone("r1", "failed"))
    (turn,) = traces(scene)
    assert (turn.outcome, turn.first_token_ms) == ("failed", None)


def test_a_greeting_is_a_turn_from_when_it_was_asked_for() -> None:
    scene = Scene()
    scene.send(ev.CallPlaced("rtc_1", greeting="Say hello."), ev.SidebandUp())
    scene.send(rt.Configured(False, SESSION))
    scene.wait(0.7).send(*answer("r1", "a1", "Hello!", ""), rt.PlaybackStopped("r1"))
    (turn,) = traces(scene)
    assert (turn.began_with, turn.end_of_turn_ms, turn.first_token_ms) == ("request", None, 700)


def test_words_that_lead_to_no_response_count_with_the_next_that_do() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"))
    scene.wait(3).send(*user_turn("u2"), *answer("r1", "a1", "Yes.", "u2"))
    scene.send(rt.PlaybackStopped("r1"))
    (turn,) = traces(scene)
    assert turn.item_ids == ["u1", "u2", "a1"]
    assert turn.first_token_ms == 0


def test_a_turn_waits_a_while_for_its_transcript() -> None:
    scene = Scene(session=heard_by({"type": "server_vad"}, transcription=True)).connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", "Yes.", "u1"))
    timers = scene.wait(1).send(rt.PlaybackStopped("r1"))
    assert traces(scene) == []
    assert StartTimer("trace", GRACE.total_seconds()) in timers
    scene.wait(0.5).send(rt.UserTranscript("u1", "Well?"))
    assert [turn.transcript_ms for turn in traces(scene)] == [1500]


def test_a_transcript_that_never_comes_does_not_hold_the_turn_for_ever() -> None:
    scene = Scene(session=heard_by({"type": "server_vad"}, transcription=True)).connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", "Yes.", "u1"), rt.PlaybackStopped("r1"))
    scene.wait(GRACE.total_seconds()).send(ev.TimerFired("trace"))
    assert [(turn.outcome, turn.transcript_ms) for turn in traces(scene)] == [("completed", None)]


def test_a_sound_that_begins_after_the_response_is_done_is_still_in_its_turn() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.ResponseCreated("r1"), rt.OutputItemAdded("r1", message("a1")))
    scene.send(rt.AssistantTranscript("r1", "a1", "Yes."), rt.ResponseDone("r1"))
    scene.wait(0.1).send(rt.PlaybackStarted("r1"))
    scene.wait(0.5).send(rt.PlaybackStopped("r1"))
    (turn,) = traces(scene)
    assert (turn.first_sound_ms, turn.last_sound_ms) == (100, 600)


def passing_by(scene: Scene) -> None:
    """An answer on a WebSocket: three seconds of sound that came in an instant."""
    scene.send(*user_turn("u1"), rt.ResponseCreated("r1"), rt.OutputItemAdded("r1", message("a1")))
    scene.send(rt.AudioReceived("a1", 3000), rt.AssistantTranscript("r1", "a1", "Yes."))
    scene.send(rt.ResponseDone("r1"))


def test_sound_that_passed_by_is_over_when_it_was_played() -> None:
    scene = Scene().connect()
    passing_by(scene)
    assert traces(scene) == []
    assert StartTimer("trace", 3.0) in scene.effects
    scene.wait(3).send(ev.TimerFired("trace"))
    (turn,) = traces(scene)
    assert (turn.outcome, turn.first_sound_ms, turn.last_sound_ms) == ("completed", 0, 3000)


def test_a_timer_that_is_early_is_set_again() -> None:
    scene = Scene().connect()
    passing_by(scene)
    assert StartTimer("trace", 0.02) in scene.wait(2.99).send(ev.TimerFired("trace"))
    scene.wait(0.01).send(ev.TimerFired("trace"))
    assert len(traces(scene)) == 1


def test_sound_that_passed_by_and_is_cut_while_it_plays_was_interrupted() -> None:
    scene = Scene().connect()
    passing_by(scene)
    scene.wait(1).send(rt.UserSpeechStarted("u2"), rt.ItemTruncated("a1", 1000))
    assert [(t.outcome, t.last_sound_ms) for t in traces(scene)] == [("interrupted", 1000)]


@pytest.mark.parametrize(
    "end",
    [ev.End(), ev.SidebandLost(1006, False), ev.SidebandLost(1000, True), ev.CallPlaced("rtc_2")],
)
def test_a_turn_that_is_not_seen_to_its_end_is_told_as_far_as_it_came(
    end: ev.OwnEvent,
) -> None:
    scene = Scene().connect()
    spoken(scene)
    scene.send(*answer("r1", "a1", "A long story.", "u1"))
    scene.wait(1).send(end)
    scene.wait(1).send(rt.PlaybackStopped("r1"), ev.End())
    assert [(t.outcome, t.last_sound_ms) for t in traces(scene)] == [("interrupted", 1600)]


def test_the_trace_comes_before_the_end_of_the_session() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", "Yes.", "u1"), ev.End())
    names = [event.type for event in told(scene.effects, ve.VoiceEvent)]
    assert names.index("turn.traced") < names.index("session.ended")


def test_a_clock_that_is_set_back_shows_in_no_mark() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"))
    scene.now = START.replace(year=2025)
    scene.send(*answer("r1", "a1", "Yes.", "u1"), rt.PlaybackStopped("r1"))
    assert marks(traces(scene)[0]) == (0, None, 0, 0, 0, 0)


def test_a_trace_holds_no_words() -> None:
    scene = Scene(Policy(peer_text="allow")).connect()
    scene.send(rt.ItemAdded(message("u1", "user", "my secret")))
    scene.send(*answer("r1", "a1", "your secret", "u1"), rt.PlaybackStopped("r1"))
    assert "secret" not in str(ve.payload(traces(scene)[0]))


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ("Well, it", True),
        ("Well,", True),
        ("Yes.", True),
        ("It is 3.", False),
        ("It is 3. And", True),
        ("at 2:30", False),
        ("Well", False),
        ("a well-known", False),
        ("He said “no.” Then", True),
        ("はい、そう", True),
        ("", False),
    ],
)
def test_a_clause_ends_with_a_mark_that_is_no_decimal_point(words: str, whole: bool) -> None:
    assert has_clause(words) is whole
