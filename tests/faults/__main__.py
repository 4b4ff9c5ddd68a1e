"""`python -m tests.faults LINK [SEED…]` plays these cases, or all of a link; `A-B` are many."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults.suite import MANY, failing
from tests.faults.talk import Case


def main(link: str, *wanted: str) -> int:
    seeds = [seed for words in wanted for seed in _seeds(words)] or list(range(MANY[link]))
    kinds: Counter[str] = Counter()
    failed: Counter[str] = Counter()

    def told(one: Case, seconds: float, wrong: list[str]) -> None:
        kinds[one.fault.kind] += 1
        failed[one.fault.kind] += bool(wrong)
        print(f"{seconds:6.2f} s {'WRONG' if wrong else 'right'} {one}", *wrong, sep="\n    ")

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(failing(link, seeds, Path(folder), told))
    print(f"{link}: " + ", ".join(f"{failed[kind]} of {n} {kind}" for kind, n in kinds.items()))
    return 1 if failed.total() else 0


def _seeds(words: str) -> range:
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
