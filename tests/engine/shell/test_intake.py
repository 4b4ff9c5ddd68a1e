"""The buffer and the watch on it: what is kept, what is told, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.stage import loud, quiet
from tests.engine.turn.scene import configured
from vivavoce.engine.ports import Transcript
from vivavoce.engine.shell.hearing import MAX_SECONDS, Intake
from vivavoce.engine.turn import facts
from vivavoce.engine.turn.configuration import Configuration
from vivavoce.testing.engine import LoudnessDetector
from vivavoce.wire.realtime.refusal import Refused


class Told:
    """An intake that keeps what it posts."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.facts: list[facts.Fact] = []
        self.questions: list[int] = []
        self.intake = Intake(
            configuration or configured(),
            LoudnessDetector(),
            post=self.facts.append,
            judge=self.questions.append,
        )

    def all(self, kind: type[Any]) -> list[Any]:
        return [fact for fact in self.facts if isinstance(fact, kind)]


MANUAL = configured(turn_detection=None)


def test_a_turn_is_told_with_its_times() -> None:
    told = Told()
    told.intake.feed_wire(quiet(1000) + loud(600) + quiet(700))
    (started,) = told.all(facts.SpeechStarted)
    (stopped,) = told.all(facts.SpeechStopped)
    assert started.at_ms == pytest.approx(1000 - 300, abs=64), "less the padding"
    assert stopped.at_ms == pytest.approx(1600 + 500, abs=64), "with the silence that ended it"
    speech = told.intake.span(started.at_ms, stopped.at_ms)
    assert len(speech) / 16 == pytest.approx(stopped.at_ms - started.at_ms, abs=1)
    assert np.abs(speech).max() > 0.2


def test_the_first_loud_frame_is_told_at_once_and_taken_back() -> None:
    told = Told()
    told.intake.feed_wire(quiet(320) + loud(40) + quiet(200))
    assert [type(fact) for fact in told.facts] == [facts.SpeechSuspected, facts.SpeechDismissed]


def test_settings_are_followed_from_the_next_sound_on() -> None:
    told = Told()
    told.intake.feed_wire(loud(300))
    told.intake.configure(MANUAL)
    told.intake.feed_wire(loud(300) + quiet(2000))
    assert not told.all(facts.SpeechStopped)
    told.intake.configure(configured(turn_detection={"type": "server_vad", "threshold": 0.6}))
    told.intake.feed_wire(loud(300) + quiet(700))
    assert told.all(facts.SpeechStarted)[-1].at_ms >= 2600 - 64, "nothing from before comes back"
    assert len(told.all(facts.SpeechStopped)) == 1


def test_a_higher_silence_waits_longer() -> None:
    told = Told(configured(turn_detection={"type": "server_vad", "silence_duration_ms": 1000}))
    told.intake.feed_wire(loud(500) + quiet(800))
    assert not told.all(facts.SpeechStopped)
    told.intake.feed_wire(quiet(300))
    assert told.all(facts.SpeechStopped)


def test_a_semantic_pause_asks_the_judge_and_hears_its_verdict() -> None:
    told = Told(configured(turn_detection={"type": "semantic_vad"}))
    told.intake.feed_wire(loud(500) + quiet(250))
    assert len(told.questions) == 2
    told.intake.verdict(0.9, told.questions[1])
    told.intake.heard(
        Transcript("Is it?", closed=0.95), "whole", told.all(facts.SpeechPaused)[0].at_ms
    )
    assert len(told.all(facts.SpeechStopped)) == 1


def test_what_is_forgotten_is_gone_and_the_rest_keeps_its_times() -> None:
    told = Told(MANUAL)
    told.intake.feed_wire(quiet(500) + loud(500))
    told.intake.forget(500)
    assert told.intake.buffered_ms == pytest.approx(500, abs=20)
    assert len(told.intake.span(0, 500)) <= 16
    assert np.abs(told.intake.span(700, 900)).max() > 0.2


def test_silence_nobody_wants_is_not_kept_for_ever() -> None:
    told = Told()
    for _ in range(60):
        told.intake.feed_wire(quiet(1000))
    assert told.intake.buffered_ms <= 31_000
    assert told.intake.end_ms == pytest.approx(60_000, abs=50), "time goes on"


def test_a_buffer_that_nobody_commits_is_full_some_day() -> None:
    told = Told(MANUAL)
    for _ in range(MAX_SECONDS // 60 + 1):
        told.intake.feed_wire(quiet(60_000))
    with pytest.raises(Refused, match="commit or clear"):
        told.intake.feed_wire(quiet(100))
    told.intake.forget(told.intake.end_ms)
    told.intake.feed_wire(quiet(100))


def test_a_calls_track_may_have_any_rate() -> None:
    told = Told()
    at = np.arange(48_000)
    wave = (np.sin(at * 0.1) * 8000).astype(np.int16)
    told.intake.feed_track(wave, 48_000)
    told.intake.feed_track(np.zeros(48_000, np.int16), 48_000)
    assert told.intake.end_ms == pytest.approx(2000, abs=20)
    assert told.all(facts.SpeechStopped)


def test_noise_is_taken_out_where_the_session_wants_it() -> None:
    hiss = (np.random.default_rng(7).normal(0, 900, 24 * 3000)).astype("<i2").tobytes()
    levels = []
    for noise in (None, {"type": "near_field"}):
        told = Told(configured(turn_detection=None, noise_reduction=noise))
        told.intake.feed_wire(hiss)
        heard = told.intake.span(1500, 2900)
        levels.append(float(np.sqrt(np.mean(heard * heard))))
    plain, quieter = levels
    assert quieter < plain / 2
