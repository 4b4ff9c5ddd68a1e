"""Endpointing: probabilities in, milestones out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.engine.turn.endpoint import FRAME_MS, PATIENCE, Endpointer, Judge
from vivavoce.engine.turn.facts import Milestone
from vivavoce.engine.turn.facts import SpeechDismissed as Never
from vivavoce.engine.turn.facts import SpeechPaused as Paused
from vivavoce.engine.turn.facts import SpeechResumed as Resumed
from vivavoce.engine.turn.facts import SpeechStarted as Started
from vivavoce.engine.turn.facts import SpeechStopped as Stopped
from vivavoce.engine.turn.facts import SpeechSuspected as Maybe
from vivavoce.wire.realtime.session import Eagerness, SemanticVad, ServerVad

YES, NO, HALF = 0.9, 0.05, 0.4


def run(points: Endpointer, *stretches: tuple[float, int]) -> list[Milestone]:
    """Feed stretches of (probability, milliseconds)."""
    frames = [p for p, ms in stretches for _ in range(ms // FRAME_MS)]
    return [milestone for p in frames for milestone in points.feed(p)]


def test_a_turn_starts_with_its_padding_and_stops_after_its_silence() -> None:
    seen = run(Endpointer(ServerVad()), (NO, 640), (YES, 960), (NO, 960))
    assert seen == [
        Maybe(640),
        Started(340),
        Paused(1600),
        # The detector was late by 46 ms, so that these are about 500.
        Stopped(1600 + 448),
    ]


def test_a_click_is_suspected_and_dismissed() -> None:
    seen = run(Endpointer(), (NO, 320), (YES, 64), (NO, 320))
    assert seen == [Maybe(320), Never(416)]


def test_a_sound_that_stays_in_doubt_is_dismissed() -> None:
    seen = run(Endpointer(), (YES, 32), (HALF, 960))
    assert seen == [Maybe(0), Never(256)]


def test_padding_does_not_reach_before_the_session_began() -> None:
    assert run(Endpointer(), (NO, 96), (YES, 96)) == [Maybe(96), Started(0)]


def test_padding_does_not_reach_into_the_turn_before() -> None:
    points = Endpointer(ServerVad(silence_duration_ms=200))
    seen = run(points, (YES, 320), (NO, 160), (NO, 32), (YES, 320))
    stops = [m.at_ms for m in seen if isinstance(m, Stopped)]
    starts = [m.at_ms for m in seen if isinstance(m, Started)]
    assert stops == [480]
    assert starts == [0, 480]


def test_a_short_silence_is_a_pause_and_a_dip_of_one_frame_is_nothing() -> None:
    seen = run(Endpointer(), (YES, 320), (NO, 32), (YES, 320), (NO, 192), (YES, 320))
    assert seen == [Maybe(0), Started(0), Paused(672), Resumed(864)]


def test_speech_goes_on_at_a_probability_that_would_not_begin_it() -> None:
    assert run(Endpointer(), (HALF, 960)) == []
    assert run(Endpointer(), (YES, 320), (HALF, 3200)) == [Maybe(0), Started(0)]


def test_a_silence_of_no_length_stops_at_the_pause() -> None:
    seen = run(Endpointer(ServerVad(silence_duration_ms=0)), (YES, 320), (NO, 64))
    assert seen[-2:] == [Paused(320), Stopped(384)]


def test_the_judge_is_asked_at_a_pause_and_ends_the_turn() -> None:
    points = Endpointer(SemanticVad())
    seen = run(points, (YES, 960), (NO, 224))
    assert seen[2:] == [Paused(960), Judge(1152)]
    assert points.verdict(0.9, 1152) == [], "a breath is not the end"
    assert run(points, (NO, 224)) == [Stopped(960 + 416)]
    assert not points.speaking


def test_a_late_verdict_ends_the_turn_at_once() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 512))
    assert points.verdict(0.9, 1152) == [Stopped(960 + 512)]


def test_who_goes_on_after_a_breath_is_not_cut_off() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 256))
    assert points.verdict(0.9, 1152) == []
    assert run(points, (YES, 320), (NO, 160)) == [Resumed(1216), Paused(1536)]
    assert points.speaking


def test_a_speaker_who_has_not_finished_is_waited_for_and_asked_about_again() -> None:
    points = Endpointer(SemanticVad(eagerness="medium"))
    run(points, (YES, 960), (NO, 192))
    assert points.verdict(0.1, points.now_ms) == []
    assert run(points, (NO, 416)) == [Judge(960 + 608)]
    assert run(points, (YES, 32)) == [Resumed(1568)]


def test_an_answer_that_comes_after_the_speaker_went_on_counts_for_nothing() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 192))
    asked = points.now_ms
    run(points, (YES, 320))
    assert points.verdict(1.0, asked) == []
    run(points, (NO, 224))
    assert points.verdict(1.0, asked) == []
    assert points.speaking


@pytest.mark.parametrize("eagerness", ["low", "medium", "high", "auto"])
def test_waiting_has_an_end_even_without_an_answer(eagerness: Eagerness) -> None:
    seen = run(Endpointer(SemanticVad(eagerness=eagerness)), (YES, 320), (NO, 9600))
    stopped = seen[-1]
    assert isinstance(stopped, Stopped)
    assert 0 <= stopped.at_ms - 320 - PATIENCE[eagerness].longest_ms < FRAME_MS


def test_the_eager_need_less_certainty_than_the_patient() -> None:
    def ends(eagerness: Eagerness, probability: float) -> bool:
        points = Endpointer(SemanticVad(eagerness=eagerness))
        run(points, (YES, 320), (NO, 192))
        return points.verdict(probability, points.now_ms) + run(points, (NO, 320)) != []

    assert [ends(e, 0.4) for e in ("low", "medium", "high")] == [False, False, True]
    assert [ends(e, 0.6) for e in ("low", "auto", "high")] == [False, True, True]
    assert not ends("low", 0.9), "and they take their time"


def test_a_reset_forgets_the_turn_and_no_later_one_reaches_before_it() -> None:
    points = Endpointer()
    run(points, (YES, 960))
    points.reset()
    assert not points.speaking
    assert run(points, (YES, 96)) == [Maybe(960), Started(960)]


probabilities = st.lists(
    st.tuples(st.sampled_from([0.0, 0.2, 0.36, 0.49, 0.51, 0.8, 1.0]), st.integers(1, 30)),
    max_size=40,
)
vads = st.one_of(
    st.builds(
        ServerVad,
        threshold=st.floats(0.0, 1.0),
        prefix_padding_ms=st.integers(0, 2000),
        silence_duration_ms=st.integers(0, 2000),
    ),
    st.builds(SemanticVad, eagerness=st.sampled_from(["low", "medium", "high", "auto"])),
)


@settings(deadline=None)
@given(probabilities, vads, st.lists(st.floats(0, 1)))
def test_turns_start_and_stop_in_turn_and_time_never_goes_back(
    sound: list[tuple[float, int]],
    vad: ServerVad | SemanticVad,
    verdicts: list[float],
) -> None:
    points = Endpointer(vad)
    seen: list[Milestone] = []
    answers = list(verdicts)
    for probability, frames in sound:
        for _ in range(frames):
            for milestone in points.feed(probability):
                seen.append(milestone)
                assert milestone.at_ms <= points.now_ms
                if isinstance(milestone, Judge) and answers:
                    seen.extend(points.verdict(answers.pop(), milestone.at_ms))

    turns = [m for m in seen if isinstance(m, Started | Stopped)]
    assert all(isinstance(m, Started) == (n % 2 == 0) for n, m in enumerate(turns))
    assert all(a.at_ms <= b.at_ms for a, b in pairwise(turns))
    # `Started` alone looks back, by its padding.
    told = [m for m in seen if not isinstance(m, Started)]
    assert all(a.at_ms <= b.at_ms for a, b in pairwise(told))
    doubts = [m for m in seen if isinstance(m, Maybe | Never | Started)]
    assert all(isinstance(m, Maybe) == (n % 2 == 0) for n, m in enumerate(doubts))
    assert points.speaking == (len(turns) % 2 == 1)
