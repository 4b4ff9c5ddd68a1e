"""The sideband of a session: attach, read, send, hang up.

Knows frames and closes; what they mean is decided elsewhere. Everything it
posts carries the call it came from, so that what an old call still said does
not reach the new one.
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
from vivavoce.wire.realtime.server import Malformed, decode

log = logging.getLogger(__name__)

_HANG_UP_SECONDS = 3.0


class Post(Protocol):
    """An event, and the call it came from; of the provider's, with its frame."""

    def __call__(
        self, event: SessionEvent, call_id: str, frame: bytes | None = None
    ) -> Awaitable[None]: ...


class SidebandConnection:
    """One sideband at a time; a new one takes the place of the old."""

    def __init__(self, provider: OpenAIProvider, clock: Clock, session_id: str, post: Post) -> None:
        self._provider, self._clock, self._post = provider, clock, post
        self._session_id = session_id
        self._reader: asyncio.Task[None] | None = None
        self._sideband: OpenAISideband | None = None
        self._hung_up: str | None = None

    async def attach(self, effect: Attach, group: asyncio.TaskGroup) -> None:
        await self.close()
        name = f"{self._session_id} sideband"
        self._reader = group.create_task(self._run(effect), name=name)

    async def _run(self, effect: Attach) -> None:
        call_id = effect.call_id
        if effect.delay:
            await self._clock.sleep(effect.delay)
        try:
            sideband = await self._provider.attach(call_id)
        except ProviderError as fault:
            await self._post(AttachFailed(fault.message), call_id)
            return
        self._sideband = sideband
        await self._post(SidebandUp(), call_id)
        while not isinstance(frame := await sideband.receive(), Closed):
            await self._post(_read(frame), call_id, frame)
        self._sideband = None
        await sideband.close()
        await self._post(SidebandLost(frame.code, frame.hung_up), call_id)

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
        if call_id == self._hung_up:
            return
        self._hung_up = call_id
        await hang_up(self._provider, call_id, self._session_id)

    async def close(self) -> None:
        sideband, self._sideband = self._sideband, None
        if self._reader is not None:
            self._reader.cancel()
        self._reader = None
        if sideband is not None:
            await sideband.close()


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
