"""Where a store may be, and how its connections behave."""

from __future__ import annotations

import importlib.util
import stat
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.contract.records import conversation
from tests.store.stores import opened
from vivavoce.errors import Unavailable
from vivavoce.store import open_store
from vivavoce.store.database import parse
from vivavoce.wire.records.talk import PutConversation


@pytest.fixture
def empty() -> bool:
    return True


async def test_the_files_of_sqlite_are_for_their_owner_only(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/new/data/vivavoce.db") as store:
        await store.commit([PutConversation(conversation())])
        folder = tmp_path / "new" / "data"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert "vivavoce.db-wal" in modes
    assert set(modes.values()) == {0o600}


def test_the_writer_of_sqlite_waits_for_the_disk(sqlite_url: str) -> None:
    engine = parse(sqlite_url).writer()
    with engine.connect() as connection:
        found = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    full = 2
    assert found == {
        "journal_mode": "wal",
        "synchronous": full,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }


def test_the_writer_of_postgres_waits_for_the_disk_whatever_the_server_says(
    postgres_url: str,
) -> None:
    admin = parse(postgres_url).listener()
    with admin.connect() as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    engine = parse(postgres_url).writer()
    with engine.connect() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
    engine.dispose()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_a_postgres_url_is_taken(scheme: str) -> None:
    assert parse(f"{scheme}://me:pw@host/db").url.drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/db", "No store for mysql"),
        ("sqlite://", "SQLite needs a file"),
        ("sqlite:///:memory:", "SQLite needs a file"),
        ("not a url with s3cret", "cannot be read"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused_with_words(url: str, said: str) -> None:
    with pytest.raises(Unavailable, match=said) as refused:
        open_store(url)
    assert "s3cret" not in str(refused.value)


def test_a_missing_driver_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def without_driver(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "psycopg" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_driver)
    with pytest.raises(Unavailable, match=r"install vivavoce\[postgres\]"):
        open_store("postgresql://host/db")


async def test_a_database_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    for url in (f"postgresql://x@/db?host={tmp_path}", f"sqlite:///{tmp_path}"):
        with pytest.raises(Unavailable):
            async with opened(url):
                pass


async def test_a_store_may_be_opened_again_and_closed_twice(url: str) -> None:
    store = open_store(url)
    await store.close()
    for _ in range(2):
        await store.open()
        await store.open()
        await store.commit([PutConversation(conversation())])
        await store.close()
        await store.close()
