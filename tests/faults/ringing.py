"""The same by WebRTC: a browser's call, with a proxy in the way of its datagrams.

Owns what came through: sound that did not pass the proxy nobody heard. In real time, as sound is.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import aioice.ice

from tests.faults.proxy import Fault, UdpProxy
from tests.faults.spoken import STORY, spoken
from tests.faults.talk import Played, kept
from tests.faults.world import World
from tests.journeys.embedded import Browser
from vivavoce.engine.media.options import MediaOptions

MS = 20
"""Milliseconds a character takes."""
FRAME_MS = 20
LOUD = 75
"""Bytes of a datagram with sound; silence is coded in fewer."""
SLACK_MS = 300
"""What was on its way when the call was measured."""
QUICK = MediaOptions(loopback=True, connect_seconds=3.0, consent_seconds=0.2, consent_failures=2)


@dataclass
class Link:
    """The proxy of the call that is on, and those before it."""

    chance: random.Random
    noted: Callable[[str], None]
    proxies: list[UdpProxy] = field(default_factory=list)
    _ordered: Fault | None = None

    def arm(self, fault: Fault) -> None:
        self._ordered = fault
        if self.proxies:
            self.proxies[-1].arm(fault)

    def force(self) -> None:
        if self.proxies:
            self.proxies[-1].force()

    def heal(self) -> None:
        self._ordered = None
        for proxy in self.proxies:
            proxy.heal()

    def placed(self, port: int) -> UdpProxy:
        """Of another call."""
        proxy = UdpProxy(("127.0.0.1", port), self.chance, noted=self.noted)
        struck = any(one.struck for one in self.proxies)
        if self._ordered is not None and not struck:
            proxy.arm(self._ordered)
        self.proxies.append(proxy)
        return proxy

    @property
    def sound_ms(self) -> int:
        """How far the sound came that they let through. What was lost in its middle is a hole in
        what was heard, and none of its end."""
        return FRAME_MS * sum(map(_reached, self.proxies))


class Ringing(Played):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.media = Link(random.Random(self.case.seed), self.note)
        self.browser: Browser | None = None
        self.heard = 0.0

    @property
    def link(self) -> Link:  # type: ignore[override]
        return self.media

    def events(self) -> Sequence[Callable[[], Awaitable[object]]]:
        return (self.begins, self.calls, self.hears_a_story, self.cuts_in, self.ends)

    async def beside(self) -> None:
        """Keeps the call up: one that was lost is placed anew, for the same session."""
        await self.page.until(lambda: self.page.key, "a key")
        while True:
            with suppress(AssertionError, TimeoutError, ConnectionError):
                await self._call()
            self.browser = None
            await self.page.new_key()

    async def _call(self) -> None:
        lost = len(self._lost())
        async with AsyncExitStack() as stack:
            browser = Browser()
            stack.push_async_callback(browser.connection.close)
            offer = re.sub(r"a=(candidate|end-of-candidates)[^\n]*\n", "", await browser.offer())
            key = {"authorization": f"Bearer {self.page.key}", "content-type": "application/sdp"}
            answer = (await self.page.ask("POST", "/sdp", content=offer, headers=key)).text
            where = re.compile(r"(a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 )(\d+)", re.IGNORECASE)
            found = where.search(answer)
            assert found is not None, answer
            proxy = await stack.enter_async_context(self.media.placed(int(found[2])).running())
            await browser.accept(where.sub(rf"\g<1>{proxy.port}", answer))
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(browser.listen())
                self.browser = browser
                try:
                    await self.page.until(lambda: len(self._lost()) > lost, "the call's end")
                finally:
                    self.note("browser: the call is over")
                    self.heard += _sounded(browser)
                    listening.cancel()

    def _lost(self) -> list[str]:
        states = [told["webrtc_state"] for told in self.page.all("connection.status")]
        return [state for state in states if state in ("disconnected", "failed")]

    async def calls(self) -> None:
        await self.page.until(lambda: self.page.all("session.started"), "session.started")
        await self._connected()

    async def _connected(self) -> None:
        def up() -> bool:
            states = [told["webrtc_state"] for told in self.page.all("connection.status")]
            return self.browser is not None and states[-1:] == ["connected"]

        await self.page.until(up, "a connection")

    async def _says(self, words: str) -> None:
        await self._connected()
        self.world.ears.texts.clear()
        self.world.ears.texts.append(words)
        if self.browser is not None:
            self.browser.microphone.speak(0.5)

    async def hears_a_story(self) -> None:
        began = self.media.sound_ms
        for _ in range(6):
            await self._says("tell me a story")
            with suppress(AssertionError):
                await self.page.until(lambda: self.media.sound_ms > began + 400, "sound", 4.0)
                return
        raise AssertionError("no story was heard")

    async def cuts_in(self) -> None:
        done = len(self.page.all("assistant.done"))
        await self._says("be quiet")
        with suppress(AssertionError):
            await self.page.until(lambda: len(self.page.all("assistant.done")) > done, "", 2.0)

    async def wrong(self) -> list[str]:
        entries, wrong = await kept(self)
        said = [e for e in entries if e["entry_type"] == "assistant" and e.get("text")]
        claimed = sum(len(entry["text"]) * MS for entry in said)
        if claimed > self.media.sound_ms + SLACK_MS:
            told = [(entry["text"][-30:], entry.get("interrupted")) for entry in said]
            wrong.append(f"{claimed} ms heard, {self.media.sound_ms} came through: {told}")
        return wrong

    def more(self) -> list[str]:
        passed = [dict(proxy.passed) for proxy in self.media.proxies]
        return [*super().more(), f"let through {self.media.sound_ms} ms of sound: {passed}"]


def _reached(proxy: UdpProxy) -> int:
    """Frames of sound until the last that passed."""
    last = next((data for data in reversed(proxy.let_through) if _is_sound(data)), None)
    if last is None:
        return 0
    return sum(map(_is_sound, proxy.offered[: proxy.offered.index(last) + 1]))


def _is_sound(data: bytes) -> bool:
    """RTP, and no RTCP (RFC 5761)."""
    rtp = 0x80 <= data[0] < 0xC0 and not 64 <= data[1] & 0x7F < 96
    return rtp and len(data) > LOUD


def _sounded(browser: Browser) -> float:
    return 0.02 * sum(level > 100 for _, level in browser.loud)


@asynccontextmanager
async def ringing(folder: Path) -> AsyncIterator[World]:
    # aioice leaves loopback out; here it is the only way there should be.
    addresses = patch.object(
        aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"]
    )
    async with spoken(folder, MS) as made:
        engine = made.stage.here.engine._engine  # type: ignore[union-attr]
        engine.options = replace(engine.options, media=QUICK)
        with addresses:
            yield made


assert len(STORY) * MS > 10_000, "longer than anybody listens"
