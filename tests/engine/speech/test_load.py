"""When it is too much for everyone, and when no longer."""

from __future__ import annotations

from vivavoce.engine.speech.load import BUSY, WINDOW, Load


def test_nothing_to_do_is_not_crowded() -> None:
    load = Load()
    assert not load.crowded(0.0)
    assert load.why(0.0) is None
    assert load.busy("mouth", 100.0) == load.waited("mouth", 100.0) == 0.0


def test_work_that_overlaps_is_counted_once_and_forgotten_in_time() -> None:
    load = Load()
    first = load.begin("mouth", 100.0, awaited=True)
    second = load.begin("mouth", 101.0, awaited=False)
    load.end(first, 102.0)
    load.end(second, 103.0)
    assert load.busy("mouth", 103.0) == 3.0 / WINDOW
    assert load.waited("mouth", 103.0) == 2.0
    assert load.busy("mouth", 101.0 + WINDOW) == 2.0 / WINDOW
    assert load.busy("mouth", 103.0 + WINDOW) == load.waited("mouth", 103.0 + WINDOW) == 0.0
    assert load.busy("ears", 103.0) == 0.0


def test_a_busy_mouth_is_crowded_until_it_has_clearly_less_to_do() -> None:
    load = Load()
    job = load.begin("mouth", 0.0, awaited=False)
    assert not load.crowded(WINDOW * BUSY.high)
    assert load.crowded(WINDOW * BUSY.high + 0.1)
    assert load.why(WINDOW) == "This machine has all it can do: the mouth busy 100% of the time."
    load.end(job, WINDOW)
    # Between the limits it stays as it was, from whichever side it came.
    between = WINDOW + WINDOW * (1 - (BUSY.high + BUSY.low) / 2)
    assert load.crowded(between)
    assert not load.crowded(WINDOW + WINDOW * (1 - BUSY.low) + 0.1)
    again = load.begin("mouth", WINDOW + 6.2, awaited=False)
    assert not load.crowded(WINDOW + 8.0)
    load.end(again, WINDOW + 8.0)


def test_those_who_wait_in_silence_make_it_crowded_even_before_they_are_served() -> None:
    load = Load()
    quick = load.begin("mouth", 0.0, awaited=True)
    load.end(quick, 0.5)
    load.begin("mouth", 1.0, awaited=True)
    assert not load.crowded(4.0)  # half a second and three: not yet two on the average
    assert load.crowded(5.0)
    assert "the mouth 2.2 s behind" in str(load.why(5.0))


def test_slow_ears_count_too_but_not_what_was_given_up() -> None:
    load = Load()
    load.end(load.begin("ears", 0.0, awaited=True), 1.6, done=False)
    assert not load.crowded(1.6)
    load.end(load.begin("ears", 2.0, awaited=True), 3.6)
    assert load.crowded(3.6)
    assert load.why(3.6) == "This machine has all it can do: the ears 1.6 s behind."
