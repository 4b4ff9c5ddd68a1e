"""A Piper voice speaks, and says of itself what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.mouth.listening import heard, until
from tests.speech import word_errors
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.piper import PiperMouth, read_settings
from vivavoce.errors import ModelUnavailable
from vivavoce.runtime.provider.known_models import OPENAI_VOICES

TABLE: dict[str, Any] = {
    "audio": {"sample_rate": 22050},
    "espeak": {"voice": "en-us"},
    "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
    "phoneme_id_map": {"_": [0], "^": [1], "$": [2], " ": [3]},
}


def told(folder: Path, **other: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(TABLE | other))
    return path


def test_a_voice_says_what_it_is(tmp_path: Path) -> None:
    settings = read_settings(told(tmp_path))
    assert (settings.rate, settings.length, settings.phonemes["$"]) == (22050, 1.0, 2)


@pytest.mark.parametrize(
    "other",
    [
        {"audio": {}},
        {"inference": None},
        {"phoneme_id_map": {"_": []}},
        {"phoneme_id_map": {"_": [0]}},
        {"espeak": {"voice": "de"}},
    ],
)
def test_a_voice_we_cannot_use_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    with pytest.raises(ModelUnavailable):
        read_settings(told(tmp_path, **other))


def test_a_folder_without_the_voice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        PiperMouth(tmp_path)


@pytest.mark.full
def test_every_name_of_openai_is_the_one_voice(piper: PiperMouth) -> None:
    assert set(piper.voices) == {*OPENAI_VOICES, piper.name}


@pytest.mark.full
async def test_it_is_understood_to_the_word(piper: PiperMouth, ears: MoonshineEars) -> None:
    text = "I found three files in the folder, and the newest one is called report."
    said = await piper.speak(text, voice="marin")
    assert word_errors(text, await heard(ears, said.pcm)) <= 0.1
    first = text[: text.index("and")]
    ms = dict(said.words)["folder, "]
    assert word_errors(first, await heard(ears, until(said.pcm, ms))) <= 0.1
