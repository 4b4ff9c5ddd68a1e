"""A recording is made in parts, beside what is stored anyway, and never in the middle of a word."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.session.scene import START, Scene, answer, user_turn
from vivavoce.runtime.sessions import recording
from vivavoce.runtime.sessions.recording import ENOUGH, Recorder
from vivavoce.session import events as ev
from vivavoce.session.replay import Steps, runs, runs_of
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import Put, Recording


class Bench(Scene):
    def __init__(self) -> None:
        super().__init__()
        self.recorder = Recorder(self.machine)

    def send(self, *events: ev.SessionEvent) -> list[Any]:
        out: list[Any] = []
        for event in events:
            effects = super().send(event)
            self.recorder.add(self.now, event, effects)
            out += effects
        return out

    def take(self, *, beside: bool = True, over: bool = False) -> list[Recording]:
        taken = self.recorder.take(self.now, beside=beside, over=over)
        return [
            one.record
            for one in taken
            if isinstance(one, Put) and isinstance(one.record, Recording)
        ]


def test_a_part_waits_for_a_commit_and_for_the_end_of_what_is_said() -> None:
    bench = Bench()
    bench.connect()
    assert bench.take(beside=False) == []
    (first,) = bench.take()
    assert list(json.loads(first.data.split(b"\n")[0])) == ["began"]
    bench.send(rt.ResponseCreated("r1"), rt.AssistantDelta("r1", "a1", "My car"))
    bench.send(*user_turn("u1"), rt.UserTranscriptDelta("u1", "Whose?"))
    assert bench.take() == []
    bench.send(rt.ResponseDone("r1", status="cancelled"))
    assert bench.take() == [], "the user's words are still coming"
    bench.send(rt.UserTranscript("u1", "Whose?"))
    (second,) = bench.take()
    assert list(json.loads(second.data.split(b"\n")[0])) == ["at", "event", "effects"]
    assert second.number > first.number
    bench.send(rt.AssistantDelta("r2", "a2", "Mine"), ev.End())
    assert len(bench.take(beside=False, over=True)) == 1


def test_many_steps_are_a_part_of_their_own() -> None:
    bench = Bench()
    bench.send(*(rt.Unhandled("rate") for _ in range(ENOUGH)))
    assert len(bench.take(beside=False)) == 1


def test_what_does_not_fit_is_not_recorded_and_what_is_there_can_be_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "MOST", 20)
    bench = Bench()
    bench.connect()
    for number in range(5):
        bench.send(*user_turn(f"u{number}"), *answer(f"r{number}", f"a{number}", "Yes.", "root"))
    (part,) = bench.take()
    assert part.data.endswith(b'\n{"full":true}')
    (run,) = runs_of([part.data])
    assert 10 < len(run["steps"]) <= 20
    assert [found for _, found in runs([run]) if found is not None] == []
    bench.send(ev.End())
    assert bench.take(over=True) == []


def test_half_a_secret_is_not_kept_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_STEPS", 3)
    bench = Bench()
    for piece in ("4111", "1111", "1111", "1111"):
        bench.send(rt.UserTranscriptDelta("u1", piece))
    assert bench.take(over=True) == []


def test_a_fault_of_the_recording_does_not_reach_the_session(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no")

    for part in ("add", "take"):
        with monkeypatch.context() as patched:
            patched.setattr(Steps, part, broken)
            bench = Bench()
            bench.connect()
            assert bench.take() == []
        assert "Recording failed" in caplog.text
        caplog.clear()
        bench.send(ev.End())
        assert bench.take(over=True) == []


def test_the_parts_of_the_next_process_come_after_those_of_this_one() -> None:
    before, after = Bench(), Bench()
    before.connect()
    (first,) = before.take()
    after.now = START + timedelta(seconds=5)
    after.send(ev.CallSurvived(call_id="rtc_1", known_items=(("u1", 5.0),)), ev.SidebandUp())
    (second,) = after.take()
    assert second.number > first.number
    kept = runs_of([first.data, second.data])
    assert len(kept) == 2
    assert [found for _, found in runs(kept) if found is not None] == []


def test_a_recording_ends_where_it_is_large_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_BYTES", 20_000)
    bench = Bench()
    bench.connect()
    (first,) = bench.take()
    bench.send(ev.Reconfigure({"instructions": "x" * 31_000}, ("instructions",)))
    (last,) = bench.take()
    assert last.data == b'{"full":true}'
    bench.send(ev.Reconfigure({"instructions": "y"}, ("instructions",)))
    assert bench.take(over=True) == []
    assert len(list(runs(runs_of([first.data, last.data])))) > 1


def test_one_user_takes_no_more_of_the_disk_in_a_day_however_many_sessions_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "OF_USER", 1_000)
    monkeypatch.setattr(recording, "_USERS", 2)
    room, day = recording.Room(), START.date()
    assert room.take("ann", 900, day)
    assert not room.take("ann", 200, day)
    assert room.take("bob", 900, day)
    assert room.take("ann", 900, day + timedelta(days=1))
    room.take("cem", 1, day)
    assert len(room._taken) == 2
