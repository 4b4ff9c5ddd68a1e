"""The mouth speaks, and the ears understand it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.speech import model_folder, word_errors
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.kokoro import KokoroMouth, portions
from vivavoce.engine.mouth.spoken import spoken
from vivavoce.engine.mouth.voices import OPENAI_VOICES
from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE
from vivavoce.errors import ModelUnavailable, MouthError


def seconds(pcm: bytes) -> float:
    return len(pcm) / 2 / MOUTH_RATE


def levels(pcm: bytes) -> npt.NDArray[np.float64]:
    """How loud each 10 ms is."""
    step = MOUTH_RATE // 100
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float64) / 32768
    return np.asarray(np.abs(samples[: len(samples) // step * step]).reshape(-1, step).max(axis=1))


async def heard(ears: MoonshineEars, pcm: bytes) -> str:
    speech = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768
    padded = np.pad(soxr.resample(speech, MOUTH_RATE, EAR_RATE), EAR_RATE // 5)
    return "".join([piece async for piece in ears.transcribe(padded)])


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("The quick brown fox jumps over the lazy dog.", "marin"),
        ("I found three files, and one of them is new.", "ash"),
        ("Could you tell me where the station is?", "bf_emma"),
    ],
)
async def test_what_the_mouth_says_the_ears_understand(
    mouth: KokoroMouth, ears: MoonshineEars, text: str, voice: str
) -> None:
    assert word_errors(text, await heard(ears, await mouth.speak(text, voice=voice))) <= 0.1


async def test_numbers_times_and_money_are_said(mouth: KokoroMouth, ears: MoonshineEars) -> None:
    text = "It is 10:42, and **lunch** costs $5.20."
    said = await heard(ears, await mouth.speak(text, voice="marin"))
    assert word_errors(spoken(text), spoken(said)) <= 0.1, said


async def test_the_ends_are_trimmed(mouth: KokoroMouth) -> None:
    sound = levels(await mouth.speak("Sure.", voice="marin"))
    assert sound[:6].max() > 0.005
    assert sound[-6:].max() > 0.005


async def test_nothing_to_say_is_no_sound(mouth: KokoroMouth) -> None:
    for nothing in ("", "  ", "...", "🙂", "**", "好"):
        assert await mouth.speak(nothing, voice="marin") == b""


async def test_a_higher_speed_takes_less_time(mouth: KokoroMouth) -> None:
    slow, fast = [
        seconds(await mouth.speak("I found three files.", voice="marin", speed=speed))
        for speed in (0.8, 1.4)
    ]
    assert fast < slow * 0.75


async def test_long_text_is_said_whole(ears: MoonshineEars) -> None:
    text = "The little boat went slowly over the water, and nobody on the shore saw it go."
    mouth = KokoroMouth(model_folder("kokoro"), longest=50)
    try:
        assert word_errors(text, await heard(ears, await mouth.speak(text, voice="marin"))) <= 0.1
    finally:
        mouth.close()


def test_openais_names_and_the_models_own_are_voices(mouth: KokoroMouth) -> None:
    assert set(OPENAI_VOICES) <= set(mouth.voices)
    assert {"af_heart", "bm_george"} <= set(mouth.voices)


async def test_an_unknown_voice_is_refused_with_those_there_are(mouth: KokoroMouth) -> None:
    with pytest.raises(MouthError, match=r"no voice 'nobody'.*alloy.*af_heart"):
        await mouth.speak("Hello.", voice="nobody")


@pytest.mark.parametrize("speed", [0.0, -1.0, 9.0, float("nan")])
async def test_an_impossible_speed_is_refused(mouth: KokoroMouth, speed: float) -> None:
    with pytest.raises(MouthError, match="speed"):
        await mouth.speak("Hello.", voice="marin", speed=speed)


async def test_a_closed_mouth_says_so_and_leaves_no_thread() -> None:
    before = threading.active_count()
    mouth = KokoroMouth(model_folder("kokoro"))
    mouth.close()
    assert threading.active_count() == before
    with pytest.raises(MouthError, match="closed"):
        await mouth.speak("Hello.", voice="marin")


def test_a_folder_without_the_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.onnx"):
        KokoroMouth(tmp_path)


@settings(deadline=None)
@given(st.text(alphabet="abˈ .,—", max_size=300), st.integers(3, 40))
def test_portions_are_short_enough_and_lose_no_phoneme(phonemes: str, longest: int) -> None:
    found = portions(phonemes, longest)
    assert all(len(portion) <= longest for portion in found)
    assert "".join(found).replace(" ", "") == phonemes.replace(" ", "")


def test_portions_are_cut_at_the_strongest_stop() -> None:
    assert portions("aaaa bb. cc, dddd", 14) == ["aaaa bb.", "cc, dddd"]
    assert portions("aaaa bb cc, dddd", 14) == ["aaaa bb cc,", "dddd"]
    assert portions("aaaa bb cc dddd", 12) == ["aaaa bb cc", "dddd"]
