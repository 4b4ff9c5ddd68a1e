"""Turns as tables: how long until the answer, and where the time went."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np

from bench.engine.turn import Turn

STAGES = ("turn over", "transcript", "response", "first text", "first audio")
_FIGURES: tuple[tuple[str, Callable[[Turn], float]], ...] = (
    ("first sound", lambda turn: turn.first_sound),
    ("own words", lambda turn: turn.own_words),
    ("content", lambda turn: turn.content),
)

Row = tuple[str, Sequence[Turn], Sequence[str]]


def counted(turns: Sequence[Turn]) -> list[Turn]:
    """Those that were a question and its answer: not cut in on, and understood."""
    return [turn for turn in turns if not turn.cut_in and turn.understood]


def percentile(values: Sequence[float], share: float) -> float:
    return float(np.percentile(values, share))


def middle(turns: Sequence[Turn]) -> float | None:
    """The median to the answer's own words, of questions that need no tool."""
    plain = [turn.own_words for turn in counted(turns) if not turn.called]
    return statistics.median(plain) if plain else None


def show(brain: str, target: int | None, rows: Sequence[Row]) -> None:
    beside = f", target {target} ms to the answer's own words" if target else ""
    print(f"\n   {brain}{beside}; ms after the end of speech, p50 / p95 (n)")
    head = "".join(f"{name:>20}" for name, _ in _FIGURES)
    print(f"   {'':<44}{'n':>4}{head}")
    for name, turns, _ in rows:
        good = counted(turns)
        for kind, called in (("no tool", False), ("with a tool", True)):
            _latency(f"{name}, {kind}", [turn for turn in good if turn.called is called])
    print("\n   where the time went, p50 of questions without a tool: when an event came")
    print(f"   {'':<44}" + "".join(f"{stage:>13}" for stage in STAGES))
    for name, turns, _ in rows:
        _stages(name, [turn for turn in counted(turns) if not turn.called])
    for name, turns, failures in rows:
        _remarks(name, turns, failures)
    print(flush=True)


def _latency(name: str, turns: Sequence[Turn]) -> None:
    if not turns:
        return
    cells = []
    for _, figure in _FIGURES:
        values = [figure(turn) for turn in turns]
        cells.append(f"{percentile(values, 50):>11,.0f} /{percentile(values, 95):>7,.0f}")
    print(f"   {name:<44}{len(turns):>4}" + "".join(cells))


def _stages(name: str, turns: Sequence[Turn]) -> None:
    if not turns:
        return
    cells = []
    for stage in STAGES:
        values = [turn.marks[stage] for turn in turns if stage in turn.marks]
        cells.append(f"{statistics.median(values):>13,.0f}" if values else f"{'-':>13}")
    print(f"   {name:<44}" + "".join(cells))


def _remarks(name: str, turns: Sequence[Turn], failures: Sequence[str]) -> None:
    told = {
        "acknowledged first": sum(turn.acknowledged for turn in turns),
        "cut in on": sum(turn.cut_in for turn in turns),
        "not understood": sum(not turn.understood for turn in turns),
        "ran dry inside a clause": sum(not gap.between for turn in turns for gap in turn.gaps),
        "without an answer": len(failures),
    }
    if words := ", ".join(f"{count} {what}" for what, count in told.items() if count):
        print(f"   {name}: {words}")
    for failure in failures:
        print(f"      {failure}")
