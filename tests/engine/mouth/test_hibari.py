"""hibari speaks with Kokoro's voice: understood to the word, as loud, and without a click."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.engine.mouth.listening import heard, loudness, until
from tests.speech import word_errors
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.hibari import VOICE, HibariMouth
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.errors import ModelUnavailable
from vivavoce.runtime.provider.known_models import OPENAI_VOICES

LONG = "I found three files in the folder, and the newest one is called report."


@pytest.mark.parametrize(
    "text",
    [
        "I found three files, and one of them is new.",
        "Could you tell me where the station is?",
        "Stop it at last.",
        LONG,
    ],
)
async def test_what_it_says_the_ears_understand(
    hibari: HibariMouth, ears: MoonshineEars, text: str
) -> None:
    said = await hibari.speak(text, voice="marin")
    assert word_errors(text, await heard(ears, said.pcm)) <= 0.1


async def test_a_word_has_been_said_when_it_is_told_to_be(
    hibari: HibariMouth, ears: MoonshineEars
) -> None:
    said = await hibari.speak(LONG, voice="marin")
    for upto in ("three ", "folder, ", "newest "):
        ms = dict(said.words)[upto]
        first = LONG[: LONG.index(upto) + len(upto)]
        assert word_errors(first, await heard(ears, until(said.pcm, ms))) == 0
        # And not much before: with 200 ms less of it the word is cut.
        assert word_errors(first, await heard(ears, until(said.pcm, ms - 200))) > 0


async def test_it_is_as_loud_and_as_long_as_kokoro(hibari: HibariMouth, mouth: KokoroMouth) -> None:
    ours, peer = [await each.speak(LONG, voice="marin") for each in (hibari, mouth)]
    assert 0.8 < loudness(ours.pcm) / loudness(peer.pcm) < 1.25
    assert 0.85 < ours.ms / peer.ms < 1.15


async def test_clauses_begin_and_end_without_a_click_and_stay_within_bounds(
    hibari: HibariMouth,
) -> None:
    for text in (LONG, "Sure.", "Yes!", "What a beautiful day, is it not?", "Six sixths."):
        sound = np.frombuffer((await hibari.speak(text, voice="marin")).pcm, dtype="<i2") / 32768
        assert np.abs(sound).max() < 0.95
        assert abs(sound.mean()) < 0.002
        # What is joined to it begins and ends as near to silence: no step that could be heard.
        assert np.abs(sound[:24]).max() < 0.02
        assert np.abs(sound[-24:]).max() < 0.02


async def test_a_long_text_is_said_whole(hibari: HibariMouth, ears: MoonshineEars) -> None:
    one = "The little boat went slowly over the water, and nobody on the shore saw it go. "
    said = await hibari.speak(one * 8, voice="marin")
    assert said.ms > 8 * 3_000
    last = said.pcm[-8 * 24_000 * 2 :]
    assert "shore saw it go" in (await heard(ears, last)).lower()


async def test_the_same_text_is_the_same_sound(hibari: HibariMouth) -> None:
    text = "The same sentence once more, with the same breath in it."
    one, other = [await hibari.speak(text, voice="marin") for _ in range(2)]
    assert one.pcm == other.pcm


def test_alone_every_name_of_openai_is_its_one_voice(hibari: HibariMouth) -> None:
    assert set(hibari.voices) == {*OPENAI_VOICES, VOICE}


def test_a_folder_without_the_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.onnx"):
        HibariMouth(tmp_path)
