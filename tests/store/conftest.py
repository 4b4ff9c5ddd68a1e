"""Databases for the tests of the SQL store, with our schema. What asks for `empty` has none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.postgres import drop_database, new_database, with_schema
from tests.contract.sqlite import file_with_schema


@pytest.fixture
def empty() -> bool:
    """A module that makes its own schema says yes."""
    return False


@pytest.fixture
def sqlite_url(tmp_path: Path, empty: bool) -> str:
    return f"sqlite:///{tmp_path}/vivavoce.db" if empty else file_with_schema(tmp_path)


@pytest.fixture
def postgres_url(empty: bool) -> Iterator[str]:
    if not empty:
        with with_schema() as url:
            yield url
        return
    url = new_database()
    yield url
    drop_database(url)


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def url(request: pytest.FixtureRequest) -> str:
    """Of either database."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, str)
    return found
