"""Ids look as in the seed, and no two are the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from vivavoce.runtime.ids import (
    SessionIds,
    is_call_id,
    is_session_id,
    new_call_id,
    new_request_id,
)

NOON = datetime(2026, 1, 31, 14, 30, 22, tzinfo=UTC)


def test_a_session_id_tells_when_it_began_in_utc() -> None:
    berlin = NOON.astimezone(timezone(timedelta(hours=1)))
    assert re.fullmatch(r"vs_20260131_143022_[0-9a-f]{4}", SessionIds(lambda: berlin)())


def test_a_crowded_second_still_gives_every_session_its_own_id() -> None:
    ids = SessionIds(lambda: NOON)
    given = [ids() for _ in range(5000)]
    assert len(set(given)) == 5000
    assert all(map(is_session_id, given))


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


def test_what_is_no_session_id_is_told_apart() -> None:
    for wrong in ("", "vs_1_2_3", "vs_20260131_143022_XYZ1", "vs_20260131_143022_a3f2\n"):
        assert not is_session_id(wrong)


def test_call_and_request_ids_are_recognisable_and_new() -> None:
    assert new_call_id().startswith("call_")
    assert new_request_id().startswith("req_")
    assert len({new_call_id() for _ in range(100)} | {new_request_id() for _ in range(100)}) == 200
    assert is_call_id(new_call_id())
    for wrong in ("", "with space", "a\n", "é", "x" * 129):
        assert not is_call_id(wrong)
