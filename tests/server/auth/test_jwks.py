"""The issuer's keys: asked for seldom, kept when the issuer is away, new when they rotate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response

from tests.server.serving import serving
from tests.server.tokens import ec_key, key_set, public
from vivavoce.errors import Unavailable
from vivavoce.server.gate import jwt as module
from vivavoce.server.gate.jwt import AGAIN_SECONDS, FRESH_SECONDS, MAX_BYTES, Jwks, fetched
from vivavoce.testing.fakes import ManualClock

OLD = key_set(public(ec_key(0), "old"))
NEW = key_set(public(ec_key(1), "new"))


class Issuer:
    """Answers as told, and counts."""

    def __init__(self, answer: bytes | Exception = OLD) -> None:
        self.answer = answer
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, url: str) -> bytes:
        self.asked += 1
        await self.may_answer.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def kept(issuer: Issuer, clock: ManualClock) -> Jwks:
    return Jwks("https://issuer.example/jwks", algorithms=("ES256",), clock=clock, fetch=issuer)


async def test_keys_are_asked_for_once_and_again_when_they_are_old() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = kept(issuer, clock)
    assert issuer.asked == 0
    for _ in range(3):
        assert await keys.key("old") is not None
    assert issuer.asked == 1
    await clock.advance(FRESH_SECONDS)
    assert await keys.key("old") is not None
    assert issuer.asked == 2


async def test_a_rotated_key_is_found_and_a_withdrawn_one_is_gone() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = kept(issuer, clock)
    assert await keys.key("old") is not None
    issuer.answer = NEW
    await clock.advance(AGAIN_SECONDS)
    assert await keys.key("new") is not None
    assert await keys.key("old") is None


async def test_a_flood_of_unknown_keys_asks_the_issuer_no_more_often() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = kept(issuer, clock)
    assert await keys.key("old") is not None
    for number in range(50):
        assert await keys.key(f"bad{number}") is None
    assert issuer.asked == 1
    await clock.advance(AGAIN_SECONDS)
    for number in range(50):
        assert await keys.key(f"bad{number}") is None
    assert issuer.asked == 2


async def test_many_at_once_ask_once() -> None:
    issuer = Issuer()
    issuer.may_answer.clear()
    keys = kept(issuer, ManualClock())
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(keys.key("old")) for _ in range(20)]
        await asyncio.sleep(0)
        issuer.may_answer.set()
    assert issuer.asked == 1
    assert all(task.result() is not None for task in waiting)


@pytest.mark.parametrize("answer", [OSError("away"), TimeoutError(), b"<html>", b'{"keys": []}'])
async def test_the_last_good_keys_stay_while_the_issuer_is_away(
    answer: bytes | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = kept(issuer, clock)
    assert await keys.key("old") is not None
    issuer.answer = answer
    for _ in range(3):
        await clock.advance(FRESH_SECONDS)
        assert await keys.key("old") is not None
    assert issuer.asked == 4
    assert caplog.messages == ["The issuer's keys could not be fetched"] * 3


async def test_nobody_who_has_a_known_key_waits_for_fresh_ones() -> None:
    issuer, clock = Issuer(), ManualClock()
    keys = kept(issuer, clock)
    assert await keys.key("old") is not None
    await clock.advance(FRESH_SECONDS)
    issuer.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        slow = group.create_task(keys.key("old"))
        await asyncio.sleep(0)
        assert await keys.key("old") is not None
        assert not slow.done()
        issuer.may_answer.set()


async def test_without_any_key_it_says_so_and_tries_again_later() -> None:
    issuer, clock = Issuer(OSError("away")), ManualClock()
    keys = kept(issuer, clock)
    for _ in range(3):
        with pytest.raises(Unavailable) as caught:
            await keys.key("old")
    assert caught.value.retry_after_ms == AGAIN_SECONDS * 1000
    assert issuer.asked == 1
    issuer.answer = OLD
    await clock.advance(AGAIN_SECONDS)
    assert await keys.key("old") is not None


async def test_a_client_that_leaves_while_keys_are_fetched_leaves_no_hole() -> None:
    issuer = Issuer()
    issuer.may_answer.clear()
    keys = kept(issuer, ManualClock())
    async with asyncio.TaskGroup() as group:
        leaving = group.create_task(keys.key("old"))
        await asyncio.sleep(0)
        leaving.cancel()
    issuer.may_answer.set()
    assert await keys.key("old") is not None


def an_issuer() -> FastAPI:
    app = FastAPI()

    @app.get("/keys")
    async def good() -> Response:
        return Response(OLD, media_type="application/json")

    @app.get("/moved")
    async def moved() -> Response:
        return RedirectResponse("/keys")

    @app.get("/large")
    async def large() -> Response:
        return Response(b"x" * (MAX_BYTES + 1))

    @app.get("/slow")
    async def slow() -> Response:
        await asyncio.Event().wait()
        return Response()

    return app


async def test_over_http_only_a_plain_answer_of_a_decent_size_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(an_issuer(), graceful=1) as served:
        at: Callable[[str], str] = f"http://127.0.0.1:{served.port}/{{}}".format
        assert await fetched(at("keys")) == OLD
        for path in ("moved", "large", "nothing"):
            with pytest.raises(ValueError, match=r"the issuer answered|too large"):
                await fetched(at(path))
        monkeypatch.setattr(module, "FETCH_SECONDS", 0.2)
        with pytest.raises((TimeoutError, httpx.TimeoutException)):
            await fetched(at("slow"))
