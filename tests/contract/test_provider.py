"""What the runtime may rely on in any provider, over real HTTP and WebSocket.

`providers` lists who is reached through it; an embedded engine joins it there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.offers import OFFER
from tests.provider_lines import SESSION, connected, next_event, until_closed
from vivavoce.errors import ProviderError, ProviderRefused
from vivavoce.runtime.ports import Closed
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.testing import ScriptedProvider


@dataclass(frozen=True)
class Scene:
    provider: OpenAIProvider
    fake: ScriptedProvider


@asynccontextmanager
async def openai_compatible() -> AsyncIterator[Scene]:
    async with ScriptedProvider() as fake, connected(fake) as provider:
        yield Scene(provider, fake)


@asynccontextmanager
async def without_client_secrets() -> AsyncIterator[Scene]:
    async with ScriptedProvider(client_secrets=False) as fake, connected(fake) as provider:
        yield Scene(provider, fake)


Make = Callable[[], AbstractAsyncContextManager[Scene]]
providers = pytest.mark.parametrize("make", [openai_compatible, without_client_secrets])


@providers
async def test_a_call_is_created_attached_and_hung_up(make: Make) -> None:
    async with make() as scene:
        secret = await scene.provider.client_secret(SESSION)
        call = await scene.provider.create_call(OFFER, SESSION, secret=secret)
        assert call.sdp_answer.startswith("v=0")
        theirs = await scene.fake.next_call()
        assert theirs.offer == OFFER
        assert theirs.session["instructions"] == "Be brief."
        assert theirs.authorised_by == ("key" if secret is None else "secret")

        line = await scene.provider.attach(call.call_id)
        await line.send({"type": "session.update", "session": SESSION})
        assert (await next_event(line))["type"] == "session.updated"
        await scene.provider.hang_up(call.call_id)
        assert (await until_closed(line)).hung_up
        await theirs.ended()
        await line.close()


@providers
async def test_hanging_up_a_call_that_is_gone_is_no_error(make: Make) -> None:
    async with make() as scene:
        call = await scene.provider.create_call(OFFER, SESSION)
        await scene.provider.hang_up(call.call_id)
        await scene.provider.hang_up(call.call_id)
        await scene.provider.hang_up("rtc_never_was")
        assert scene.provider.last_error is None


@providers
@pytest.mark.parametrize("call_id", ["rtc_nobody", "../models", "a?b=c", ""])
async def test_attaching_to_a_call_that_is_gone_is_refused(make: Make, call_id: str) -> None:
    async with make() as scene:
        with pytest.raises(ProviderRefused) as caught:
            await scene.provider.attach(call_id)
        assert caught.value.details["code"] == "call_not_found"


@providers
async def test_several_lines_of_one_call_all_hear_it(make: Make) -> None:
    async with make() as scene:
        call = await scene.provider.create_call(OFFER, SESSION)
        lines = [await scene.provider.attach(call.call_id) for _ in range(2)]
        theirs = await scene.fake.next_call()
        await theirs.attached(2)
        await theirs.user_says("Hello")
        for line in lines:
            assert (await next_event(line))["type"] == "input_audio_buffer.speech_started"
            await line.close()
        await theirs.detached()


@providers
async def test_a_closed_line_keeps_saying_so_and_refuses_to_send(make: Make) -> None:
    async with make() as scene:
        call = await scene.provider.create_call(OFFER, SESSION)
        line = await scene.provider.attach(call.call_id)
        await line.close()
        assert isinstance(await line.receive(), Closed)
        assert isinstance(await line.receive(), Closed)
        with pytest.raises(ProviderError):
            await line.send({"type": "response.create"})
        await line.close()


@providers
async def test_it_can_be_reached_and_says_what_it_can_do(make: Make) -> None:
    async with make() as scene:
        assert await scene.provider.check()
        assert scene.provider.name
        capabilities = scene.provider.capabilities
        assert capabilities.context_tokens >= 4_000
        assert capabilities.session_seconds > 0
        assert any(voice.recommended for voice in capabilities.voices)


@providers
async def test_text_has_a_session_without_a_call_that_is_attached_once(make: Make) -> None:
    async with make() as scene:
        call_id = await scene.provider.create_text_call(SESSION)
        assert scene.provider.is_text_call(call_id)
        line = await scene.provider.attach(call_id)
        theirs = await scene.fake.next_call()
        assert theirs.offer == ""
        assert (await next_event(line))["type"] == "session.created"
        await line.send({"type": "session.update", "session": SESSION})
        assert (await next_event(line))["type"] == "session.updated"
        with pytest.raises(ProviderRefused):
            await scene.provider.attach(call_id)
        await scene.provider.hang_up(call_id)
        await line.close()
        await theirs.detached()
        with pytest.raises(ProviderRefused):
            await scene.provider.attach("text_of_somebody")
