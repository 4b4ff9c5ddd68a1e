"""The sidebands of a session: attach, read, send, hang up; each at the provider of its call.

Mostly there is one; while another call is to take over there are two. Knows frames and closes;
what they mean is decided elsewhere. Everything it posts carries the call it came from, so that
what an old call still says does not reach the new one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Protocol

from vivavoce.errors import ProviderError
from vivavoce.runtime.ports import Clock, Closed
from vivavoce.runtime.provider.openai import OpenAIProvider, OpenAISideband
from vivavoce.session.effects import Attach
from vivavoce.session.events import AttachFailed, BadFrame, SessionEvent, SidebandLost, SidebandUp
from vivavoce.wire.realtime.client import ClientEvent, ListItems
from vivavoce.wire.realtime.facts import Unhandled
from vivavoce.wire.realtime.server import Malformed, decode

log = logging.getLogger(__name__)

_HANG_UP_SECONDS = 3.0


class Post(Protocol):
    """An event, and the call it came from; of the provider's, with its frame."""

    def __call__(
        self, event: SessionEvent, call_id: str, frame: bytes | None = None
    ) -> Awaitable[None]: ...


class SidebandConnection:
    """Of one call; attached again, a new one takes the place of the old."""

    def __init__(self, provider: OpenAIProvider, clock: Clock, session_id: str, post: Post) -> None:
        self.provider, self._clock, self._post = provider, clock, post
        self._session_id = session_id
        self._reader: asyncio.Task[None] | None = None
        self._sideband: OpenAISideband | None = None
        self._hung_up = False

    async def attach(self, effect: Attach, group: asyncio.TaskGroup) -> None:
        await self.close()
        name = f"{self._session_id} sideband"
        self._reader = group.create_task(self._run(effect), name=name)

    async def _run(self, effect: Attach) -> None:
        call_id = effect.call_id
        if effect.delay:
            await self._clock.sleep(effect.delay)
        try:
            sideband = await self.provider.attach(call_id)
        except ProviderError as fault:
            await self._post(AttachFailed(fault.message), call_id)
            return
        self._sideband = sideband
        await self._post(SidebandUp(), call_id)
        while not isinstance(frame := await sideband.receive(), Closed):
            # Half of what comes with a call of a tool says again what was said: nobody heeds it.
            if not isinstance(event := _read(frame), Unhandled):
                await self._post(event, call_id, frame)
        self._sideband = None
        await sideband.close()
        await self._post(SidebandLost(frame.code, frame.hung_up, frame.expired), call_id)

    async def send(self, command: ClientEvent | ListItems) -> None:
        if self._sideband is None:
            return
        try:
            await self._sideband.send(command.payload())
        except ProviderError:
            # The reader notices the same loss; the machine sends again what matters.
            log.info("The sideband went down while sending", extra={"session_id": self._session_id})

    async def hang_up(self, call_id: str) -> None:
        """Once a call; a second time does nothing."""
        if not self._hung_up:
            self._hung_up = True
            await hang_up(self.provider, call_id, self._session_id)

    async def close(self) -> None:
        sideband, self._sideband = self._sideband, None
        if self._reader is not None:
            self._reader.cancel()
        self._reader = None
        if sideband is not None:
            await sideband.close()


class Sidebands:
    """Of one session, by call. `provider` is whose call it is, where nobody says otherwise."""

    def __init__(self, provider: OpenAIProvider, clock: Clock, session_id: str, post: Post) -> None:
        self._usual, self._clock, self._session_id, self._post = provider, clock, session_id, post
        self._calls: dict[str, SidebandConnection] = {}
        self._on = ""

    @property
    def provider(self) -> OpenAIProvider:
        """Of the call that is on, or will be."""
        on = self._calls.get(self._on)
        return self._usual if on is None else on.provider

    def usually(self, provider: OpenAIProvider) -> None:
        """Who is asked for its next call."""
        self._usual = provider

    def placed(self, call_id: str, provider: OpenAIProvider) -> None:
        """There is such a call, at this provider."""
        connection = SidebandConnection(provider, self._clock, self._session_id, self._post)
        self._calls[call_id] = connection

    def of(self, call_id: str) -> OpenAIProvider:
        return self._of(call_id).provider

    async def attach(self, effect: Attach, group: asyncio.TaskGroup) -> None:
        if not effect.beside:
            await self.adopt(effect.call_id)
        await self._of(effect.call_id).attach(effect, group)

    async def adopt(self, call_id: str) -> None:
        """It is on from now; the one before falls silent."""
        before, self._on = self._calls.get(self._on), call_id
        self._usual = self._of(call_id).provider
        if before is not None and before is not self._of(call_id):
            await before.close()

    async def send(self, command: ClientEvent | ListItems, call_id: str = "") -> None:
        connection = self._calls.get(call_id or self._on)
        if connection is not None:
            await connection.send(command)

    async def hang_up(self, call_id: str) -> None:
        connection = self._of(call_id)
        await connection.hang_up(call_id)
        if call_id != self._on:
            self._calls.pop(call_id, None)
            await connection.close()

    async def close(self) -> None:
        for connection in self._calls.values():
            await connection.close()

    def _of(self, call_id: str) -> SidebandConnection:
        if call_id not in self._calls:
            self.placed(call_id, self._usual)
        return self._calls[call_id]


def _read(frame: bytes) -> SessionEvent:
    try:
        return decode(frame)
    except Malformed:
        return BadFrame()


async def hang_up(provider: OpenAIProvider, call_id: str, session_id: str) -> None:
    try:
        async with asyncio.timeout(_HANG_UP_SECONDS):
            await provider.hang_up(call_id)
    except (ProviderError, TimeoutError) as fault:
        # The provider ends a call without a peer by itself.
        log.info(
            "Hanging up failed", extra={"session_id": session_id, "error": type(fault).__name__}
        )
