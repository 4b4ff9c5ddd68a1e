"""Ids look as in the seed, and no two are the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from vivavoce.runtime.ids import SessionIds, is_call_id, new_call_id

NOON = datetime(2026, 1, 31, 14, 30, 22, tzinfo=UTC)


def test_a_session_id_tells_when_it_began_in_utc() -> None:
    berlin = NOON.astimezone(timezone(timedelta(hours=1)))
    assert re.fullmatch(r"vs_20260131_143022_[0-9a-f]{4}", SessionIds(lambda: berlin)())


def test_a_crowded_second_still_gives_every_session_its_own_id() -> None:
    ids = SessionIds(lambda: NOON)
    given = [ids() for _ in range(5000)]
    assert len(set(given)) == 5000
    assert all(re.fullmatch(r"vs_\d{8}_\d{6}_[0-9a-f]{4,16}", one) for one in given)


def test_a_random_source_that_repeats_itself_is_noticed() -> None:
    ids = SessionIds(lambda: NOON, lambda size: "ab" * size)
    assert len({ids(), ids(), ids()}) == 3
    with pytest.raises(RuntimeError, match="no free session id"):
        ids()


def test_memory_of_given_ids_is_bounded() -> None:
    moment = NOON
    ids = SessionIds(lambda: moment)
    for _ in range(9000):
        moment += timedelta(seconds=1)
        ids()
    assert len(ids._taken) == len(ids._recent) == 8192


def test_call_ids_are_recognisable_and_new() -> None:
    assert new_call_id().startswith("call_")
    assert len({new_call_id() for _ in range(100)}) == 100
    assert is_call_id(new_call_id())
    for wrong in ("", "with space", "a\n", "é", "x" * 129):
        assert not is_call_id(wrong)
