"""Every test file may use these."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["vivavoce.testing.plugin"]

settings.register_profile("vivavoce", deadline=None)  # a busy machine is no fault of an example
settings.load_profile("vivavoce")

WAITING = ("clients", "journeys", "faults")
"""Folders whose tests wait for real sound and real processes far more than they compute."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Several workers get equal shares, one after the other, and take from the end of another's
    share when theirs is done. So the long tests begin each share but the last, module by module
    since its tests have a server together: none of them begins when all others are done, and
    one worker computes while the others wait."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = _dealt(items, workers)


def _dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    modules: dict[Path, list[pytest.Item]] = {}
    short = []
    for item in items:
        if item.path.parent.name in WAITING:
            modules.setdefault(item.path, []).append(item)
        else:
            short.append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for at, module in enumerate(modules.values()):
        shares[at % (workers - 1)] += module
    left = iter(short)
    size, more = divmod(len(items), workers)
    for at, share in enumerate(shares):
        # As xdist deals: what is left by the workers that are left, rounded down.
        wanted = size + (at >= workers - more)
        share += islice(left, max(0, wanted - len(share)))
    return [*chain(*shares), *left]
