"""Whatever people, models and tools say comes back as it was, or mended the same way."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.records import conversation, entry, question, task, uid
from tests.store.stores import opened
from vivavoce.language.en.numbers import redact_said
from vivavoce.redaction import redacted
from vivavoce.store import SqlStore
from vivavoce.store.columns import storable_json, storable_text
from vivavoce.store.database import parse
from vivavoce.wire.records.talk import Entry, Kind, Put, PutConversation, PutEntry
from vivavoce.wire.records.work import Task

# Any text at all, halves of surrogate pairs and NUL included.
ANY_TEXT = st.text(st.characters(codec=None))
# JSONB keeps numbers as decimals: beyond this a float comes back as the nearest integer.
NUMBERS = st.floats(-(2**53), 2**53) | st.sampled_from([math.nan, math.inf])
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(ANY_TEXT)
def test_storable_text_is_storable_and_mending_twice_changes_nothing(text: str) -> None:
    mended = storable_text(text)
    assert "\0" not in mended
    mended.encode()
    assert storable_text(mended) == mended


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_text_without_faults_is_left_alone(text: str) -> None:
    assert storable_text(text) == text


@given(ANY_JSON)
def test_storable_json_is_json(value: Any) -> None:
    mended = storable_json(value)
    assert json.loads(json.dumps(mended, allow_nan=False)) == mended


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError):
        storable_json({"when": object()})


_FEW = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def kept(data: dict[str, Any]) -> Any:
    """A key may be the name of a secret: then what stands there is taken out."""
    return storable_json(redacted(data, redact_said))


def test_entries_come_back(url: str) -> None:
    with asyncio.Runner() as runner:
        store = SqlStore(parse(url))
        runner.run(store.open())

        @_FEW
        @given(
            said=st.lists(
                st.tuples(
                    st.sampled_from(Kind), ANY_TEXT, st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3)
                ),
                min_size=1,
                max_size=8,
            )
        )
        def each(said: list[tuple[Kind, str, dict[str, Any]]]) -> None:
            thread = str(uuid.uuid4())  # each example in a conversation of its own
            written = [
                entry(f"{thread}{n}", of=thread, kind=kind, text=text, data=data, ordinal=n)
                for n, (kind, text, data) in enumerate(said)
            ]
            assert runner.run(_there_and_back(store, thread, written)) == [
                replace(one, text=storable_text(redact_said(one.text)), data=kept(one.data))
                for one in written
            ]

        try:
            each()
        finally:
            runner.run(store.close())


async def _there_and_back(store: SqlStore, thread: str, written: list[Entry]) -> list[Entry]:
    await store.commit([PutConversation(conversation(thread))])
    await store.commit([PutEntry(one) for one in written])
    return await store.entries(uid(thread), user_id="ann")


@_FEW
@given(said=ANY_TEXT, lists=st.lists(ANY_TEXT, max_size=3).map(tuple))
def test_tasks_come_back(url: str, said: str, lists: tuple[str, ...]) -> None:
    name = str(uuid.uuid4())
    written = task(
        name,
        result=said,
        files_changed=lists,
        tried=lists,
        suggestions=lists,
        question=question(text=said, choices=lists),
    )

    async def there_and_back() -> Task | None:
        async with opened(url) as store:
            await store.commit([Put(written)])
            return await store.task(name, user_id="ann")

    text, mended = storable_text(said), tuple(map(storable_text, lists))
    assert asyncio.run(there_and_back()) == replace(
        written,
        result=text,
        files_changed=mended,
        tried=mended,
        suggestions=mended,
        question=question(text=text, choices=mended),
    )
