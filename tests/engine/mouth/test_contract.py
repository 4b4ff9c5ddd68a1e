"""What every mouth does alike: the hum of the tests, hibari, Kokoro, Piper."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.engine.mouth.listening import levels
from vivavoce.engine.mouth.speaking import SpeakingMouth
from vivavoce.engine.ports import Mouth, Utterance
from vivavoce.errors import MouthError
from vivavoce.testing.engine import HummingMouth

PIPER = pytest.param("piper", marks=pytest.mark.full)


@pytest.fixture(params=["humming", "hibari", "mouth", PIPER])
def speaker(request: pytest.FixtureRequest) -> Mouth:
    if request.param == "humming":
        return HummingMouth()
    found: Mouth = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["hibari", "mouth", PIPER])
def model(request: pytest.FixtureRequest) -> SpeakingMouth:
    found: SpeakingMouth = request.getfixturevalue(request.param)
    return found


def assert_told_right(text: str, utterance: Utterance) -> None:
    assert "".join(piece for piece, _ in utterance.words) == text
    times = [ms for _, ms in utterance.words]
    assert all(0 <= earlier <= later for earlier, later in pairwise([0, *times]))
    assert not times or times[-1] == utterance.ms


async def test_the_pieces_are_the_text_and_the_last_ends_with_the_sound(speaker: Mouth) -> None:
    for text in ("It is 10:42,  and **lunch** costs $5.20. ", " Sure."):
        utterance = await speaker.speak(text, voice="marin")
        assert utterance.pcm
        assert_told_right(text, utterance)


async def test_silence_at_the_ends_is_trimmed(speaker: Mouth) -> None:
    sound = levels((await speaker.speak("Sure.", voice="marin")).pcm)
    assert sound[:6].max() > 0.005
    assert sound[-6:].max() > 0.005


async def test_nothing_is_no_sound(speaker: Mouth) -> None:
    for nothing in ("", "  ", "\n"):
        utterance = await speaker.speak(nothing, voice="marin")
        assert utterance.pcm == b""
        assert_told_right(nothing, utterance)


async def test_what_cannot_be_said_is_no_sound(model: SpeakingMouth) -> None:
    for nothing in ("...", "🙂", "**", "好", " — "):
        utterance = await model.speak(nothing, voice="marin")
        assert utterance.pcm == b""
        assert_told_right(nothing, utterance)


async def test_an_unknown_voice_is_refused_with_those_there_are(speaker: Mouth) -> None:
    with pytest.raises(MouthError, match=r"no voice 'nobody'.*alloy"):
        await speaker.speak("Hello.", voice="nobody")


@pytest.mark.parametrize("speed", [0.0, -1.0, 9.0, float("nan")])
async def test_an_impossible_speed_is_refused(speaker: Mouth, speed: float) -> None:
    with pytest.raises(MouthError, match="speed"):
        await speaker.speak("Hello.", voice="marin", speed=speed)


async def test_a_higher_speed_takes_less_time(speaker: Mouth) -> None:
    slow, fast = [
        (await speaker.speak("I found them.", voice="marin", speed=speed)).ms
        for speed in (0.8, 1.6)
    ]
    assert fast < slow * 0.7


async def test_the_same_again_is_there_at_once(model: SpeakingMouth) -> None:
    first = await model.speak("Very well.", voice="marin")
    again = await model.speak(" Very well. ", voice="marin")
    assert again.pcm is first.pcm
    assert_told_right(" Very well. ", again)


@pytest.mark.full
async def test_one_who_has_less_sound_ahead_is_served_first(model: SpeakingMouth) -> None:
    served: list[int] = []

    async def say(lead_ms: int) -> None:
        await model.speak(f"Number {lead_ms}.", voice="ash", lead_ms=lead_ms)
        served.append(lead_ms)

    async with asyncio.TaskGroup() as group:
        group.create_task(model.speak("This one is first.", voice="ash"))
        for lead_ms in (90_000, 60_000, 0):
            group.create_task(say(lead_ms))
    assert served == [0, 60_000, 90_000]


async def test_cancelled_under_way_it_speaks_again(
    model: SpeakingMouth, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = drawing(model, monkeypatch)
    long = "The little boat went slowly over the water, and nobody on the shore saw it go. " * 4
    async with asyncio.TaskGroup() as group:
        speaking = group.create_task(model.speak(long, voice="marin"))
        await until(begun.is_set)
        speaking.cancel()
    assert (await model.speak("Here again.", voice="marin")).pcm


@pytest.mark.full
async def test_what_is_prepared_needs_no_work_and_gives_way(
    model: SpeakingMouth, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = drawing(model, monkeypatch)
    texts = ("Right away.", "Here are my seven favourite words, all of them kept.")
    async with asyncio.TaskGroup() as group:
        preparing = group.create_task(model.prepare("marin", texts))
        await until(begun.is_set)
        assert (await model.speak("Me first.", voice="marin")).pcm
        assert not preparing.done()
    for text in texts:
        ready = await model.speak(text, voice="marin")
        assert ready.pcm is (await model.speak(text, voice="marin")).pcm
        assert_told_right(text, ready)


def drawing(model: SpeakingMouth, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once the model is at work on a clause."""
    begun, say = threading.Event(), model._say

    def watched(*clause: Any) -> Any:
        begun.set()
        return say(*clause)

    monkeypatch.setattr(model, "_say", watched)
    return begun


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.005)
