"""Benchmarks: our way and the peer's way in the same run, as ratios (`make bench`).

These machines are noisy, so the ratio is what counts; nothing here is a test.
`--quick` runs a short form, whose figures mean nothing: it shows that a
benchmark still runs (`make test-full`).
"""

from __future__ import annotations

import math
import os
from typing import TypeVar

QUICK = "VIVAVOCE_BENCH_QUICK"
"""In the environment, since some benchmarks run in processes of their own."""

T = TypeVar("T")


def size(full: T, *, quick: T) -> T:
    """How much of something a benchmark does."""
    return quick if os.environ.get(QUICK) else full


def report(name: str, ours: float, peer: float, unit: str) -> None:
    """One line: both figures, and how many times better ours is."""
    more_is_better = unit.endswith(("a second", "/s"))
    better, worse = (ours, peer) if more_is_better else (peer, ours)
    ratio = better / worse if worse else math.inf  # nothing went wrong, say
    print(f"{name:<66} {ours:>12,.1f}  peer {peer:>12,.1f} {unit:<12} {ratio:6.2f}×", flush=True)
