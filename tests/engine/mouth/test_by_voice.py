"""The voice decides who speaks, and the slow mouth is not loaded before somebody wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.speech import model_folder
from vivavoce.engine.mouth import hibari
from vivavoce.engine.mouth.hibari import HibariMouth, MouthByVoice
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.errors import ModelUnavailable, MouthError
from vivavoce.runtime.provider.known_models import OPENAI_VOICES

OWN = ("marin", "af_heart")


class Loads:
    """Stands for the loading of Kokoro, and counts."""

    def __init__(self, mouth: KokoroMouth) -> None:
        self.count = 0
        self.broken = False
        self._mouth = mouth

    def __call__(self, folder: Path) -> KokoroMouth:
        self.count += 1
        if self.broken:
            raise ModelUnavailable("The voice is damaged.")
        return self._mouth


@pytest.fixture
def loads(mouth: KokoroMouth, monkeypatch: pytest.MonkeyPatch) -> Loads:
    loads = Loads(mouth)
    monkeypatch.setattr(hibari, "KokoroMouth", loads)
    return loads


@pytest.fixture
def both(loads: Loads) -> Iterator[MouthByVoice]:
    model_folder("hibari")
    found = MouthByVoice(model_folder("kokoro").parent)
    yield found
    found._quick.close()  # Kokoro is everybody's


def test_the_names_of_openai_and_of_kokoro_are_all_there(both: MouthByVoice) -> None:
    assert {*OPENAI_VOICES, "af_heart", "bm_george"} <= set(both.voices)


async def test_its_one_voice_is_hibaris_and_loads_nothing_else(
    both: MouthByVoice, loads: Loads, hibari: HibariMouth
) -> None:
    for voice in OWN:
        said = await both.speak("I found three files.", voice=voice)
        assert said == await hibari.speak("I found three files.", voice=voice)
    assert loads.count == 0


async def test_any_other_voice_is_kokoros_and_loads_it_once(
    both: MouthByVoice, loads: Loads, mouth: KokoroMouth
) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(both.prepare("ash", ["Sure."]))
        speaking = group.create_task(both.speak("Yes.", voice="alloy"))
    assert speaking.result() == await mouth.speak("Yes.", voice="alloy")
    assert loads.count == 1


async def test_who_hangs_up_while_it_loads_does_not_stop_it_for_others(
    both: MouthByVoice, loads: Loads
) -> None:
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(both.speak("Yes.", voice="alloy"))
        stays = group.create_task(both.speak("Yes.", voice="alloy"))
        await asyncio.sleep(0)
        gone.cancel()
    assert stays.result().pcm
    assert loads.count == 1


async def test_a_voice_that_cannot_be_loaded_is_told_and_tried_again(
    both: MouthByVoice, loads: Loads
) -> None:
    loads.broken = True
    with pytest.raises(MouthError, match="damaged"):
        await both.speak("Yes.", voice="alloy")
    loads.broken = False
    assert (await both.speak("Yes.", voice="alloy")).pcm


async def test_an_unknown_voice_is_refused_with_those_there_are(both: MouthByVoice) -> None:
    with pytest.raises(MouthError, match=r"no voice 'nobody'.*alloy"):
        await both.speak("Hello.", voice="nobody")
