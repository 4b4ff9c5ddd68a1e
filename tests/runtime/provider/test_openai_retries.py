"""`OpenAIProvider`: when it tries again, and how a sideband begins and ends."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.provider_lines import SESSION, connected, new_call, next_event, until_closed
from vivavoce.errors import ProviderError, ProviderRateLimited, ProviderRefused
from vivavoce.runtime.ports import Closed
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.testing import ManualClock, ScriptedProvider
from vivavoce.testing.realtime.faults import BadJson, Close, Drop, Garbage, HttpError, RefuseAttach

KEY = "sk-proj-AbC123secretXYZ789"


def statuses(fake: ScriptedProvider) -> list[int]:
    return [request.status for request in fake.requests]


# --- Retries (seed 004 §12) ------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "wait"), [(429, 5.0), (500, 2.0), (502, 2.0), (503, 2.0), (504, 2.0)]
)
async def test_a_passing_failure_is_waited_out_once(status: int, wait: float) -> None:
    clock = ManualClock()
    async with ScriptedProvider(faults=[HttpError(status)]) as fake:
        async with connected(fake, clock=clock) as provider, asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(new_call(provider))
            await clock.waiting()
            await clock.advance(wait - 0.1)
            assert statuses(fake) == [status]
            await clock.advance(0.1)
            await calling
        assert statuses(fake) == [status, 201]
        assert clock.slept == [wait]


@pytest.mark.parametrize(
    ("status", "kind"), [(429, ProviderRateLimited), (500, ProviderError), (503, ProviderError)]
)
async def test_a_failure_that_stays_is_tried_twice_in_all(
    status: int, kind: type[ProviderError]
) -> None:
    async with ScriptedProvider(faults=[HttpError(status, times=9)]) as fake:
        async with connected(fake) as provider:
            with pytest.raises(kind) as caught:
                await provider.client_secret(SESSION)
            assert caught.value.retryable
            assert provider.last_error == caught.value.message
        assert statuses(fake) == [status] * 2


async def test_a_rate_limit_passes_on_how_long_to_wait() -> None:
    fault = HttpError(429, times=2, retry_after=17)
    async with ScriptedProvider(faults=[fault]) as fake, connected(fake) as provider:
        with pytest.raises(ProviderRateLimited) as caught:
            await new_call(provider)
        assert caught.value.retry_after_ms == 17_000


async def test_an_exhausted_quota_is_no_rate_limit() -> None:
    fault = HttpError(429, code="insufficient_quota")
    async with ScriptedProvider(faults=[fault]) as fake, connected(fake) as provider:
        with pytest.raises(ProviderRefused, match="no quota left"):
            await new_call(provider)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    clock = ManualClock()
    async with ScriptedProvider(faults=[HttpError(status, message="Odd offer.")]) as fake:
        async with connected(fake, clock=clock) as provider:
            with pytest.raises(ProviderRefused) as caught:
                await new_call(provider)
            assert caught.value.details["status"] == status
            assert not caught.value.retryable
        assert statuses(fake) == [status]
        assert clock.slept == []


async def test_an_unreachable_server_is_tried_twice() -> None:
    clock = ManualClock(auto=True)
    provider = OpenAIProvider(
        base_url=f"http://127.0.0.1:{_free_port()}/v1", api_key=KEY, model="m", clock=clock
    )
    for attempt in (provider.client_secret(SESSION), new_call(provider)):
        with pytest.raises(ProviderError, match="cannot be reached"):
            await attempt
    assert clock.slept == [2.0, 2.0]
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        await provider.attach("rtc_x")
    assert not isinstance(caught.value, ProviderRefused)
    assert clock.slept == [2.0, 2.0]
    assert not await provider.check()
    await provider.close()


# --- Attaching ------------------------------------------------------------------------


async def test_an_early_attach_is_told_apart_and_tried_once() -> None:
    async with ScriptedProvider(faults=[RefuseAttach()]) as fake, connected(fake) as provider:
        call = await new_call(provider)
        with pytest.raises(ProviderRefused) as caught:
            await provider.attach(call.call_id)
        assert caught.value.details["code"] == "call_not_found"
        line = await provider.attach(call.call_id)
        await line.close()


@pytest.mark.parametrize(
    ("status", "refused"), [(400, True), (401, True), (403, True), (500, False), (503, False)]
)
async def test_other_refusals_to_attach_are_what_they_are(status: int, refused: bool) -> None:
    fault = RefuseAttach(status=status)
    async with ScriptedProvider(faults=[fault]) as fake, connected(fake) as provider:
        call = await new_call(provider)
        with pytest.raises(ProviderError) as caught:
            await provider.attach(call.call_id)
        assert isinstance(caught.value, ProviderRefused) is refused
        assert caught.value.details.get("code") != "call_not_found"


@pytest.mark.parametrize(
    ("fault", "code", "hung_up"),
    [
        (Drop(), 1006, False),
        (Close(1000, "bye"), 1000, True),
        (Close(1001), 1001, True),
        (Close(1012, "restart"), 1012, False),
        (Close(4000), 4000, False),
    ],
)
async def test_how_a_sideband_ended_is_told(fault: Drop | Close, code: int, hung_up: bool) -> None:
    async with ScriptedProvider() as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        call = await fake.next_call()
        await call.attached()
        await call.user_says("Last words")
        await call.inject(fault)
        end = await until_closed(line)
        assert (end.code, end.hung_up) == (code, hung_up)
        if isinstance(fault, Close):
            assert end.reason == fault.reason
        await line.close()


async def test_frames_are_handed_on_as_they_are() -> None:
    async with ScriptedProvider() as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        call = await fake.next_call()
        await call.attached()
        await call.inject(BadJson())
        await call.inject(Garbage())
        await call.emit({"type": "session.updated", "session": {"note": "schön"}})
        assert await line.receive() == b'{"type": "session.upd'
        assert await line.receive() == b"\x00\xff\xfe\x80garbage"
        assert (await next_event(line))["session"] == {"note": "schön"}
        await line.close()


async def test_a_frame_beyond_the_limit_ends_the_line() -> None:
    async with ScriptedProvider() as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        call = await fake.next_call()
        await call.attached()
        await call.emit({"type": "huge", "data": "x" * (17 * 1024 * 1024)})
        end = await line.receive()
        assert isinstance(end, Closed)
        assert not end.hung_up
        await line.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
