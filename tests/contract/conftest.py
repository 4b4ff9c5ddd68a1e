"""What the contract suites run over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from tests.contract.postgres import drop_database, new_database
from vivavoce.runtime.ports import AgendaStore, Store
from vivavoce.store import open_store


class FullStore(Store, AgendaStore, Protocol):
    """All that a store has to fill."""


@dataclass(frozen=True)
class Backend:
    """One place where things are kept; every store it opens sees the same things."""

    name: str
    make: Callable[[], FullStore]

    @asynccontextmanager
    async def store(self) -> AsyncIterator[FullStore]:
        store = self.make()
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    if request.param == "sqlite":
        yield Backend("sqlite", lambda: open_store(f"sqlite:///{tmp_path}/data/vivavoce.db"))
    else:
        url = new_database()
        yield Backend("postgres", lambda: open_store(url))
        drop_database(url)
