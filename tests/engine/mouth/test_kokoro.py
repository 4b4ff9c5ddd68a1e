"""Kokoro speaks, and the ears understand it, to the word."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.mouth.listening import heard, loudness, until
from tests.speech import model_folder, word_errors
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth import graph
from vivavoce.engine.mouth.kokoro import KokoroMouth, portions
from vivavoce.errors import ModelUnavailable, MouthError
from vivavoce.language.en.aloud.text import spoken
from vivavoce.runtime.provider.known_models import OPENAI_VOICES


@pytest.fixture(scope="module")
def plain() -> Iterator[KokoroMouth]:
    """The graph as it comes, and short portions."""
    mouth = KokoroMouth(model_folder("kokoro"), longest=50, plain=True)
    yield mouth
    mouth.close()


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("I found three files, and one of them is new.", "ash"),
        ("Could you tell me where the station is?", "bf_emma"),
        ("Sure.", "marin"),
        ("Stop it at last.", "ash"),
    ],
)
async def test_what_the_mouth_says_the_ears_understand(
    mouth: KokoroMouth, ears: MoonshineEars, text: str, voice: str
) -> None:
    said = await mouth.speak(text, voice=voice)
    assert word_errors(text, await heard(ears, said.pcm)) <= 0.1


async def test_numbers_times_and_money_are_said(mouth: KokoroMouth, ears: MoonshineEars) -> None:
    text = "It is 10:42, and **lunch** costs $5.20."
    said = await heard(ears, (await mouth.speak(text, voice="marin")).pcm)
    said = re.sub(r"\b(\d\d)(\d\d)\b", r"\1:\2", said)  # ears may write "ten forty-two" as 1042
    assert word_errors(spoken(text), spoken(said)) <= 0.1, said


async def test_a_word_has_been_said_when_it_is_told_to_be(
    mouth: KokoroMouth, ears: MoonshineEars
) -> None:
    text = "I found three files in the folder, and the newest one is called report."
    said = await mouth.speak(text, voice="marin")
    for upto in ("three ", "folder, ", "newest "):
        ms = dict(said.words)[upto]
        first = text[: text.index(upto) + len(upto)]
        assert word_errors(first, await heard(ears, until(said.pcm, ms))) == 0
        # And not much before: with 200 ms less of it the word is cut.
        assert word_errors(first, await heard(ears, until(said.pcm, ms - 200))) > 0


@pytest.mark.full
async def test_speech_without_the_silence_is_as_loud_and_long_as_with_it(
    mouth: KokoroMouth, plain: KokoroMouth
) -> None:
    for text, voice in (("Sure.", "marin"), ("I found it,", "ash")):
        ours, whole = [await each.speak(text, voice=voice) for each in (mouth, plain)]
        assert 0.75 < loudness(ours.pcm) / loudness(whole.pcm) < 1.33
        assert 0.8 < ours.ms / whole.ms < 1.1


@pytest.mark.full
async def test_long_text_is_said_whole(plain: KokoroMouth, ears: MoonshineEars) -> None:
    text = "The little boat went slowly over the water, and nobody saw it go."
    said = await plain.speak(text, voice="marin")
    assert word_errors(text, await heard(ears, said.pcm)) <= 0.1
    assert "".join(piece for piece, _ in said.words) == text


def test_openais_names_and_the_models_own_are_voices(mouth: KokoroMouth) -> None:
    assert set(OPENAI_VOICES) <= set(mouth.voices)
    assert {"af_heart", "bm_george"} <= set(mouth.voices)


@pytest.mark.full
async def test_a_closed_mouth_says_so_and_leaves_no_thread() -> None:
    before = threading.active_count()
    mouth = KokoroMouth(model_folder("kokoro"), plain=True)
    mouth.close()
    assert threading.active_count() == before
    with pytest.raises(MouthError, match="closed"):
        await mouth.speak("Hello.", voice="marin")


def test_a_folder_without_the_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.onnx"):
        KokoroMouth(tmp_path)


@pytest.mark.parametrize("edit", [graph.kokoro, graph.hibari, graph.piper])
def test_an_unknown_graph_is_left_as_it_is_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, edit: graph.Edit
) -> None:
    other = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["a"], ["b"])], "other", [], [])
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(other), str(path))
    with caplog.at_level(logging.WARNING):
        assert graph.edited(edit)(path) is None
    assert "estimated" in caplog.text


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
