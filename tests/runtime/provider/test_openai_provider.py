"""`OpenAIProvider`: the wire, what it says of itself, and the key that nobody ever sees."""

from __future__ import annotations

import asyncio
import logging
import traceback

import pytest

from tests.offers import OFFER
from tests.provider_lines import SESSION, connected, new_call
from vivavoce.errors import ProviderRefused
from vivavoce.runtime.provider.known_models import capabilities_of
from vivavoce.runtime.provider.openai import OpenAIProvider, read_error, scrub
from vivavoce.testing import ManualClock, ScriptedProvider
from vivavoce.testing.realtime.faults import HttpError, NoLocation
from vivavoce.wire import hints
from vivavoce.wire.brain import Budget

KEY = "sk-proj-AbC123secretXYZ789"


def statuses(fake: ScriptedProvider) -> list[int]:
    return [request.status for request in fake.requests]


# --- The wire -----------------------------------------------------------------------


async def test_with_a_secret_the_offer_goes_raw_and_without_one_as_multipart() -> None:
    async with ScriptedProvider() as fake, connected(fake) as provider:
        secret = await provider.client_secret(SESSION)
        await provider.create_call(OFFER, SESSION, secret=secret)
        await provider.create_call(OFFER, SESSION)
        minted, raw, multipart = fake.requests
        assert minted.path == "/v1/realtime/client_secrets"
        assert raw.content_type == "application/sdp"
        assert multipart.content_type.startswith("multipart/form-data")
        by_secret, by_key = await fake.next_call(), await fake.next_call()
        assert (by_secret.authorised_by, by_key.authorised_by) == ("secret", "key")
        assert by_secret.offer == by_key.offer == OFFER


async def test_a_secret_is_asked_for_a_minute_only() -> None:
    clock = ManualClock()
    async with ScriptedProvider(clock=clock) as fake, connected(fake, clock=clock) as provider:
        secret = await provider.client_secret(SESSION)
        await clock.advance(61)
        with pytest.raises(ProviderRefused, match="refused the key"):
            await provider.create_call(OFFER, SESSION, secret=secret)


async def test_a_server_without_client_secrets_is_asked_once() -> None:
    async with ScriptedProvider(client_secrets=False) as fake, connected(fake) as provider:
        assert await provider.client_secret(SESSION) is None
        assert await provider.client_secret(SESSION) is None
        assert len(fake.requests) == 1
        assert provider.last_error is None


async def test_the_sideband_can_have_a_base_of_its_own() -> None:
    async with ScriptedProvider() as fake, connected(fake) as http_only:
        provider = OpenAIProvider(
            base_url="http://127.0.0.1:9/v1",
            websocket_base_url=fake.base_url.replace("http", "ws"),
            api_key=fake.key,
            model="gpt-realtime",
            clock=ManualClock(),
        )
        line = await provider.attach((await new_call(http_only)).call_id)
        await line.close()
        await provider.close()


async def test_a_missing_location_is_explained() -> None:
    async with ScriptedProvider(faults=[NoLocation()]) as fake, connected(fake) as provider:
        with pytest.raises(ProviderRefused, match="no call id"):
            await new_call(provider)
        assert provider.last_error is not None
        await new_call(provider)
        assert provider.last_error is None


# --- What is said of it, and what never is ----------------------------------------------


async def test_the_key_is_in_no_error_log_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with ScriptedProvider(key="another") as fake, connected(fake, key=KEY) as provider:
        said = [repr(provider), str(provider.capabilities)]
        for attempt in (
            provider.client_secret(SESSION),
            new_call(provider),
            provider.create_call(OFFER, SESSION, secret="ek_0123456789"),
            provider.attach("rtc_x"),
            provider.hang_up("rtc_x"),
        ):
            with pytest.raises(ProviderRefused, match="refused the key") as caught:
                await attempt
            said += [*traceback.format_exception(caught.value), repr(caught.value.details)]
        assert not await provider.check()
        said.append(str(provider.last_error))
    ours = [record for record in caplog.records if record.name != "uvicorn.error"]  # the far end
    said += [f"{record.getMessage()} {record.__dict__}" for record in ours]
    assert ours
    for secret in (KEY, "AbC123secretXYZ789", "ek_0123456789"):
        assert not [text for text in said if secret in text]


async def test_an_unknown_model_is_named() -> None:
    async with ScriptedProvider(models=["other"]) as fake, connected(fake) as provider:
        for attempt in (provider.client_secret(SESSION), new_call(provider)):
            with pytest.raises(ProviderRefused, match="does not know the model gpt-realtime"):
                await attempt
        assert len(fake.requests) == 2, "a refusal is no sign that there are no secrets"


async def test_without_a_key_openai_is_not_even_asked() -> None:
    provider = OpenAIProvider(api_key=None, model="gpt-realtime", clock=ManualClock())
    assert not await provider.check()
    assert "OPENAI_API_KEY" in (provider.last_error or "")
    await provider.warm()  # says so in the log
    for attempt in (provider.client_secret(SESSION), new_call(provider)):
        with pytest.raises(ProviderRefused, match="OPENAI_API_KEY"):
            await attempt
    assert provider.name == "openai"
    await provider.close()


async def test_a_server_that_wants_no_key_gets_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with ScriptedProvider(key="none") as fake:
        provider = OpenAIProvider(
            base_url=fake.base_url, api_key=None, model="gpt-realtime", clock=ManualClock()
        )
        await new_call(provider)
        assert provider.name == "127.0.0.1"
        await provider.close()


def test_what_a_provider_says_is_scrubbed_before_it_is_quoted() -> None:
    text = "Bad\x1b[31m key sk-abc***xyz, Bearer foo.bar or ek_12ab and hunter2!"
    assert scrub(text, "hunter2") == "Bad [31m key …, … or … and …!"
    assert len(scrub("x" * 1000)) == 300


def test_any_error_body_can_be_read() -> None:
    assert read_error({"error": {"message": "No.", "code": "bad"}}) == ("bad", "No.")
    bodies: list[object] = [
        None,
        "<html>",
        [],
        {"error": "text"},
        {"error": {"code": 7, "message": {}}},
    ]
    told = [(None, ""), (None, ""), (None, ""), (None, "text"), (None, "")]
    assert [read_error(body) for body in bodies] == told
    provider = OpenAIProvider(api_key=None, model="m", clock=ManualClock())
    for body in bodies:
        fault = provider._refused(400, body, {})
        assert "HTTP 400" in fault.message


# --- Readiness and capabilities -----------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reachable"), [(404, True), (429, True), (401, False), (403, False), (503, False)]
)
async def test_any_answer_but_a_refused_key_or_a_failure_is_reachable(
    status: int, reachable: bool
) -> None:
    async with ScriptedProvider(faults=[HttpError(status)]) as fake, connected(fake) as provider:
        assert await provider.check() is reachable
        assert (provider.last_error is None) is reachable


async def test_the_check_is_remembered_for_half_a_minute_and_asked_once() -> None:
    clock = ManualClock()
    async with ScriptedProvider(faults=[HttpError(503)]) as fake:
        async with connected(fake, clock=clock) as provider:
            assert await asyncio.gather(*(provider.check() for _ in range(5))) == [False] * 5
            await clock.advance(29)
            assert not await provider.check()
            assert len(fake.requests) == 1
            await clock.advance(1)
            assert await provider.check()
            assert provider.last_error is None
        assert statuses(fake) == [503, 200]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-realtime", 32_000),
        ("gpt-realtime-2025-08-28", 32_000),
        ("gpt-realtime-mini", 32_000),
        ("gpt-realtime-1.5", 32_000),
        ("gpt-realtime-2", 128_000),
        ("gpt-realtime-2.1-mini", 128_000),
        ("something-of-yours", 32_000),
    ],
)
def test_the_context_of_a_model_goes_by_its_name(model: str, tokens: int) -> None:
    capabilities = capabilities_of(model)
    assert capabilities.context_tokens == tokens
    assert capabilities.session_seconds == 3600
    recommended = [voice.id for voice in capabilities.voices if voice.recommended]
    assert recommended == ["marin", "cedar"]


def test_what_is_known_of_the_window_counts_more_than_the_name() -> None:
    known = Budget(context_tokens=5_000, history_tokens=1_200)
    provider = OpenAIProvider(
        api_key="k",
        model="vivavoce",
        clock=ManualClock(),
        window=lambda: known,
        weigh=lambda prompt, tools: 7,
    )
    can = provider.capabilities
    assert (can.context_tokens, can.history_tokens) == (5_000, 1_200)
    assert provider.fixed({"instructions": "x" * 400, "tools": []}) == 7


def test_instructions_and_tools_are_weighed_without_what_only_our_engine_is_told() -> None:
    provider = OpenAIProvider(api_key="k", model="gpt-realtime", clock=ManualClock())
    tool = {"type": "function", "name": "t", "description": "d", "parameters": {"type": "object"}}
    hinted = {**tool, "parameters": {"type": "object", "x-vivavoce": {"words": "y" * 4_000}}}
    assert provider.fixed({"tools": [hinted]}) == provider.fixed({"tools": [tool]}) < 100
    assert provider.fixed({"instructions": "x" * 400}) == 100


# --- What only our own engine is told -------------------------------------------------------


async def test_hints_and_courtesies_go_to_our_own_engine_and_to_nobody_else() -> None:
    parameters = {"type": "object", "properties": {}, hints.KEY: {"wish": "remind"}}
    tool = {"type": "function", "name": "a", "parameters": parameters}
    session = SESSION | {"tools": [tool], "vivavoce_manners": {"slow": ["Hold on."]}}
    async with ScriptedProvider() as fake, connected(fake) as provider:
        await provider.client_secret(session)
        await provider.create_call(OFFER, session)
        line = await provider.attach((await new_call(provider)).call_id)
        await line.send({"type": "session.update", "session": session})
        await line.close()
        calls = [await fake.next_call(), await fake.next_call()]
        assert hints.KEY not in repr([call.session for call in calls])
        assert all("vivavoce_manners" not in call.session for call in calls)
    assert hints.KEY in repr(session)


def test_our_own_engine_is_told_all() -> None:
    ours = OpenAIProvider(api_key="x", model="m", clock=ManualClock(), embedded=True)
    session = {"tools": [{"parameters": {hints.KEY: {}}}], "vivavoce_manners": True}
    assert ours._told(session) == session
