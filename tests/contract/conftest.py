"""What the contract suites run over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from tests.contract.postgres import with_schema
from tests.contract.sqlite import file_with_schema
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
        file = file_with_schema(tmp_path)
        yield Backend("sqlite", lambda: open_store(file))
    else:
        with with_schema() as url:
            yield Backend("postgres", lambda: open_store(url))
