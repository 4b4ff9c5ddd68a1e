"""Databases for the tests of the SQL store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.postgres import drop_database, new_database


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/vivavoce.db"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    url = new_database()
    yield url
    drop_database(url)


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def url(request: pytest.FixtureRequest) -> str:
    """Of either database."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, str)
    return found
