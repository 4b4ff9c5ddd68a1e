"""The mouth before the brain: who stands still, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from vivavoce.engine.ports import Utterance
from vivavoce.engine.speech import load
from vivavoce.engine.speech.load import ENOUGH_MS, MouthFirst
from vivavoce.errors import MouthError
from vivavoce.testing.engine import HummingMouth


class Slow(HummingMouth):
    """Speaks when it is let."""

    def __init__(self) -> None:
        super().__init__(1)
        self.go = asyncio.Event()

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        await self.go.wait()
        return await super().speak(text, voice=voice, speed=speed, lead_ms=lead_ms)


def told(mouth: HummingMouth) -> tuple[MouthFirst, list[str]]:
    orders: list[str] = []
    return MouthFirst(
        mouth, lambda: orders.append("pause"), lambda: orders.append("resume")
    ), orders


async def test_somebody_stands_still_while_a_first_clause_is_made() -> None:
    mouth = Slow()
    ahead, orders = told(mouth)
    async with asyncio.TaskGroup() as group:
        one = group.create_task(ahead.speak("One.", voice="marin"))
        two = group.create_task(ahead.speak("Two.", voice="marin"))
        await asyncio.sleep(0)
        assert orders == ["pause"]
        mouth.go.set()
    assert one.result().pcm
    assert two.result().pcm
    assert orders == ["pause", "resume"]


async def test_nobody_is_stopped_while_the_listener_has_sound_enough() -> None:
    ahead, orders = told(HummingMouth(1))
    await ahead.speak("More.", voice="marin", lead_ms=ENOUGH_MS)
    assert orders == []


async def test_a_clause_that_fails_or_is_cancelled_lets_the_other_go_on() -> None:
    ahead, orders = told(HummingMouth(1))
    with pytest.raises(MouthError):
        await ahead.speak("Hello.", voice="nobody")
    assert orders == ["pause", "resume"]
    slow, orders = told(Slow())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await slow.speak("Hello.", voice="marin")
    assert orders == ["pause", "resume"]


async def test_nobody_stands_still_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "LONGEST_S", 0.01)
    mouth = Slow()
    ahead, orders = told(mouth)
    async with asyncio.TaskGroup() as group:
        group.create_task(ahead.speak("One.", voice="marin"))
        async with asyncio.timeout(5):
            while "resume" not in orders:
                await asyncio.sleep(0.005)
        mouth.go.set()
