"""Endpointing: probabilities in, milestones out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.engine.turn.endpoint import FRAME_MS, PATIENCE, Endpointer, Heard, Judge
from vivavoce.engine.turn.facts import Milestone
from vivavoce.engine.turn.facts import SpeechDismissed as Never
from vivavoce.engine.turn.facts import SpeechPaused as Paused
from vivavoce.engine.turn.facts import SpeechResumed as Resumed
from vivavoce.engine.turn.facts import SpeechStarted as Started
from vivavoce.engine.turn.facts import SpeechStopped as Stopped
from vivavoce.engine.turn.facts import SpeechSuspected as Maybe
from vivavoce.language.en.ending import Ending
from vivavoce.wire.realtime.session import Eagerness, SemanticVad, ServerVad

YES, NO, HALF = 0.9, 0.05, 0.4
WHOLE = Heard("whole", 0.98)


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
    seen = run(points, (YES, 960), (NO, 160))
    assert seen[2:] == [Paused(960), Judge(1056)]
    assert points.verdict(0.9, 1056) == [], "a breath is not the end"
    assert run(points, (NO, 128)) == [Judge(960 + 192)]
    assert run(points, (NO, 320)) == [Stopped(960 + 576)]
    assert not points.speaking


def test_a_late_verdict_ends_the_turn_at_once() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 736))
    assert points.verdict(0.9, 960 + 192) == [Stopped(960 + 736)]


def test_who_goes_on_after_a_breath_is_not_cut_off() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 224))
    assert points.verdict(0.9, 1056) == []
    assert run(points, (YES, 320), (NO, 64)) == [Resumed(1184), Paused(1504)]
    assert points.speaking


def test_a_speaker_who_has_not_finished_is_waited_for_and_asked_about_again() -> None:
    points = Endpointer(SemanticVad(eagerness="medium"))
    run(points, (YES, 960), (NO, 128))
    assert points.verdict(0.1, points.now_ms) == []
    assert run(points, (NO, 64)) == [Judge(960 + 192)]
    assert points.verdict(0.1, points.now_ms) == []
    assert run(points, (NO, 1024)) == [Judge(960 + 1216)]
    assert run(points, (YES, 32)) == [Resumed(960 + 1216)]


def wait(
    ending: Ending | None,
    *verdicts: float,
    closed: float | None = 0.99,
    eagerness: Eagerness = "auto",
    lasted_ms: int = 3008,
) -> tuple[int, int, int]:
    """The silence that ends the turn, then that before which nothing is heard, and that in which
    it can be taken back."""
    points, answers = Endpointer(SemanticVad(eagerness=eagerness)), list(verdicts)
    run(points, (YES, lasted_ms), (NO, 64))
    told = points.heard(Heard(ending, closed), lasted_ms) if ending is not None else []
    while not any(isinstance(one, Stopped) for one in told):
        told = points.feed(NO)
        if answers and any(isinstance(one, Judge) for one in told):
            told = points.verdict(answers.pop(0), points.now_ms)
    (stopped,) = told
    assert isinstance(stopped, Stopped)
    silence = stopped.at_ms - lasted_ms
    return silence, silence + stopped.hold_ms, silence + stopped.open_ms


def test_a_whole_question_ends_the_turn_at_once_if_it_also_sounds_like_the_end() -> None:
    taken, heard, settled = wait("whole", 0.95)
    assert taken == heard <= 250
    assert settled > taken, "whoever goes on all the same is let go on"


def test_what_must_go_on_is_waited_for_however_it_sounds() -> None:
    assert wait("unfinished", 0.99, 0.99, 0.99)[0] >= 1400
    in_doubt = wait("unfinished", 0.01, 0.01, 0.01, closed=0.1)[0]
    assert in_doubt > wait("unfinished", 0.99, 0.99, 0.99)[0]


def test_the_more_doubt_the_longer_the_wait() -> None:
    sures = (0.95, 0.2, 0.15, 0.1, 0.02)
    waits = [wait("told", sure, sure, sure, closed=0.98)[0] for sure in sures]
    assert waits == sorted(waits)
    assert waits[0] <= 250 < waits[-1]
    by_sound = [wait("told", 0.6, 0.6, closed=closed)[0] for closed in (0.99, 0.97, 0.96, 0.4)]
    assert by_sound == sorted(by_sound)
    assert by_sound[-1] >= 1100
    by_words = [wait(one, 0.9, 0.9, 0.9)[0] for one in ("whole", "told", "unclear", "unfinished")]
    assert by_words == sorted(by_words)


def test_what_the_ears_heard_of_a_full_stop_counts_beside_the_judge() -> None:
    assert wait("told", 0.2, 0.2, closed=0.995)[0] <= 350, "the judge may be wrong"
    assert wait("told", 0.98, 0.98, closed=0.8)[0] > 1000
    assert wait("told", 0.95, closed=None)[0] <= 250, "not all ears can tell"
    assert wait("told", 0.1, 0.1, closed=None)[0] > 700


def test_who_has_told_little_has_more_to_tell_but_a_question_is_whole_however_short() -> None:
    told, asked = (
        [wait(one, 0.9, 0.9, closed=0.98, lasted_ms=ms)[0] for ms in (640, 2016, 4000, 16_000)]
        for one in ("told", "whole")
    )
    assert told == sorted(told, reverse=True)
    assert told[0] > 1000
    assert told[-1] <= 250
    assert max(asked) <= 250


def test_how_long_a_turn_is_counts_from_where_it_began_though_it_was_taken_in_between() -> None:
    points = Endpointer(SemanticVad())

    def taken() -> int:
        paused = points.now_ms - 96
        points.heard(Heard("told", 0.985), paused)
        told = points.verdict(0.9, points.now_ms)
        while not any(isinstance(one, Stopped) for one in told):
            told = points.feed(NO)
        return points.now_ms - paused

    run(points, (YES, 960), (NO, 96))
    assert taken() > 800
    run(points, (NO, 32), (YES, 960), (NO, 96))
    assert taken() <= 250, "the user went on while it was open"
    run(points, (NO, 6400), (YES, 960), (NO, 96))
    assert taken() > 800


def test_where_there_is_a_doubt_nothing_is_heard_for_a_second() -> None:
    for taken, heard, settled in (wait("told", 0.95), wait("whole", 0.6, 0.6, closed=0.97)):
        assert taken < heard
        assert 1000 <= heard <= settled


def test_a_judge_who_changes_his_mind_is_believed_half() -> None:
    said = ((0.9,), (0.05, 0.95), (0.05, 0.05))
    sure, torn, never = (wait("told", *one)[0] for one in said)
    assert sure < torn < never


def test_a_first_verdict_that_leaves_a_doubt_waits_for_the_second() -> None:
    assert wait("told", 0.9)[0] <= 250
    assert wait("told", 0.2)[0] > 500
    assert wait("told", 0.2, 0.98)[0] <= 350


def test_who_went_on_after_a_long_pause_is_expected_to_do_so_again() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 800), (YES, 640), (NO, 64))
    points.heard(WHOLE, points.now_ms - 64)
    run(points, (NO, 32))
    (stopped,) = points.verdict(0.95, points.now_ms) + run(points, (NO, 64))
    assert isinstance(stopped, Stopped)
    assert stopped.at_ms + stopped.hold_ms >= 960 + 800 + 640 + 1000
    assert stopped.open_ms >= stopped.hold_ms
    # And one who goes on after the turn was taken has paused as well, until it is settled.
    run(points, (NO, 320), (YES, 640), (NO, 96))
    points.heard(WHOLE, points.now_ms - 96)
    (again,) = points.verdict(0.95, points.now_ms) + run(points, (NO, 64))
    assert isinstance(again, Stopped)
    assert again.hold_ms > 0
    run(points, (NO, 3200), (YES, 640), (NO, 96))
    points.heard(WHOLE, points.now_ms - 96)
    (new,) = points.verdict(0.95, points.now_ms) + run(points, (NO, 64))
    assert isinstance(new, Stopped)
    assert new.hold_ms == 0, "another turn begins afresh"


def test_words_that_come_late_end_the_turn_and_those_of_another_pause_do_not() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 96))
    points.verdict(0.95, points.now_ms)
    run(points, (NO, 320))
    assert points.heard(WHOLE, 700) == []
    assert points.heard(WHOLE, 960) == [Stopped(960 + 416, 0, 338)]
    fixed = Endpointer(ServerVad(silence_duration_ms=2000))
    run(fixed, (YES, 960), (NO, 960))
    assert fixed.heard(WHOLE, 960) == [], "a fixed silence is fixed"


def test_an_answer_that_comes_after_the_speaker_went_on_counts_for_nothing() -> None:
    points = Endpointer(SemanticVad())
    run(points, (YES, 960), (NO, 128))
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
    assert abs(stopped.at_ms - 320 - PATIENCE[eagerness].longest_ms) < 2 * FRAME_MS


def test_the_eager_need_less_certainty_than_the_patient() -> None:
    def soon(eagerness: Eagerness, closed: float) -> bool:
        return wait("whole", 0.6, 0.6, closed=closed, eagerness=eagerness)[0] < 450

    every: tuple[Eagerness, ...] = ("low", "medium", "auto", "high")
    seen = [[soon(one, closed) for one in every] for closed in (0.5, 0.95, 0.96, 0.97, 0.99)]
    assert all(row == sorted(row) for row in seen)
    assert seen[0] == [False] * 4
    assert seen[-1] == [True] * 4
    assert any(row[0] < row[-1] for row in seen)
    paces = [wait("unfinished", 0.9, 0.9, 0.9, eagerness=e)[0] for e in ("high", "auto", "low")]
    assert paces == sorted(paces), "and they take their time"


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
