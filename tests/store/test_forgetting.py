"""What was deleted, and what must not be kept, is in no file of the data folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contract.records import conversation, entry, event, uid
from tests.contract.test_store_forgetting import fill
from tests.store.stores import opened
from vivavoce.store.database import parse
from vivavoce.wire.records.talk import Announce, PutConversation, PutEntry

NEEDLE = "Zwetschgenkuchen"
CARD = "4111 1111 1111 1111"
KEY = "sk-proj-AbCd1234EfGh5678IjKl"


def holding(folder: Path, words: str) -> list[str]:
    """Every file with these words in it, whatever the case: the write-ahead log too."""
    low = words.lower().encode()
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.name for path in files if low in path.read_bytes().lower())


async def test_after_a_user_is_forgotten_no_file_has_their_words(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with opened(sqlite_url) as store:
        await fill(store, "ann", NEEDLE, entries=300)
        await fill(store, "bob", "Apfelstrudel", entries=300)
        assert "vivavoce.db-wal" in holding(tmp_path, NEEDLE)
        await store.forget("ann")
        assert holding(tmp_path, NEEDLE) == []
        assert holding(tmp_path, NEEDLE[:9]) == [], "the index of words has beginnings too"
        await store.commit([PutEntry(entry("more", "bob", user_id="bob"))])
        assert len(await store.search("apfelstrudel", user_id="bob")) == 20
    assert holding(tmp_path, NEEDLE[:9]) == []
    assert holding(tmp_path, "Apfelstrudel") == ["vivavoce.db"]


def test_what_is_deleted_is_overwritten_whatever_sqlite_was_built_with(sqlite_url: str) -> None:
    database = parse(sqlite_url)
    database.make_room()
    engine = database.writer()
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA secure_delete").scalar_one() == 1
    engine.dispose()


@pytest.mark.parametrize(("secret", "mark"), [(CARD, "card number"), (KEY, "key")])
async def test_a_secret_is_in_no_file_and_where_it_was_is_marked(
    tmp_path: Path, sqlite_url: str, secret: str, mark: str
) -> None:
    async with opened(sqlite_url) as store:
        await fill(store, "ann", f"it is {secret}")
        said = json.dumps({"text": f"my\n{secret}” is it"}).encode()
        await store.commit([Announce(event(data=said))])
        for words in (secret, secret[:14]):
            assert holding(tmp_path, words) == []
        shown = [row async for _, row in store.rows_of("ann")]
        assert str(shown).count(f"[redacted: {mark}]") >= 15
        (told,) = await store.events(after=2, limit=1)
        assert json.loads(told.data) == {"text": f"my\n[redacted: {mark}]” is it"}


async def test_a_card_number_that_was_dictated_is_kept_nowhere(sqlite_url: str) -> None:
    said = "It's four one one one, one one one one, one one one one, one one one one. Thanks"
    async with opened(sqlite_url) as store:
        await store.commit([PutConversation(conversation()), PutEntry(entry("e", text=said))])
        (kept,) = await store.entries(uid("c"), user_id="ann")
        assert kept.text == "It's [redacted: card number]. Thanks"


async def test_honest_words_come_back_as_they_were(sqlite_url: str) -> None:
    said = "Order 1234-5678-9012-3456, +49 170 1234567, b2d70ec, 2026-11-17, " + uid("x")
    async with opened(sqlite_url) as store:
        await store.commit([PutConversation(conversation()), PutEntry(entry("e", text=said))])
        (kept,) = await store.entries(uid("c"), user_id="ann")
        assert kept.text == said
