"""Speech to text on human speech, and on what is none."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.speech import WORDS, model_folder, noise, silence, word_errors
from vivavoce.engine.ears.moonshine import MoonshineEars, Pieces
from vivavoce.engine.ports import EAR_RATE, Ears, Samples
from vivavoce.errors import EarsError, ModelUnavailable


async def heard(ears: Ears, speech: Samples, language: str | None = None) -> list[str]:
    return [piece async for piece in ears.transcribe(speech, language=language)]


async def test_human_speech_is_understood(
    ears: MoonshineEars, jfk: Samples, beckett: Samples
) -> None:
    assert word_errors(WORDS["jfk.wav"], "".join(await heard(ears, jfk))) < 0.1
    assert word_errors(WORDS["beckett.wav"], "".join(await heard(ears, beckett))) < 0.1


async def test_the_light_ears_understand_too(jfk: Samples) -> None:
    ears = MoonshineEars(model_folder("moonshine-tiny"))
    try:
        assert ears.name == "moonshine-tiny"
        assert word_errors(WORDS["jfk.wav"], "".join(await heard(ears, jfk))) < 0.1
    finally:
        ears.close()


async def test_text_comes_in_pieces(ears: MoonshineEars, jfk: Samples) -> None:
    pieces = await heard(ears, jfk, "en-US")
    assert len(pieces) > 10
    text = "".join(pieces)
    assert text == text.strip()
    assert "  " not in text


async def test_what_is_no_speech_gives_nothing(ears: MoonshineEars, jfk: Samples) -> None:
    for nothing in (silence(0), silence(2), noise(3, 0.01), noise(3, 0.1), jfk[8000:9000]):
        assert await heard(ears, nothing) == []


async def test_a_clip_cut_in_a_word_does_not_loop(ears: MoonshineEars, jfk: Samples) -> None:
    assert len(await heard(ears, jfk[EAR_RATE // 2 : EAR_RATE * 3 // 2])) <= 8


async def test_long_speech_is_heard_to_its_end(ears: MoonshineEars, jfk: Samples) -> None:
    text = "".join(await heard(ears, np.concatenate([jfk, jfk, jfk])))
    assert word_errors(" ".join([WORDS["jfk.wav"]] * 3), text) < 0.1


async def test_other_languages_are_refused_in_clear_words(
    ears: MoonshineEars, jfk: Samples
) -> None:
    with pytest.raises(EarsError, match="English only, not 'de'"):
        await heard(ears, jfk, "de")


async def test_sessions_take_turns(ears: MoonshineEars, jfk: Samples) -> None:
    order: list[str] = []

    async def listen(name: str) -> None:
        async for piece in ears.transcribe(jfk[: 5 * EAR_RATE]):
            assert piece
            order.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(listen("one"))
        group.create_task(listen("two"))
    assert order.index("two") < len(order) - order[::-1].index("one") - 1


async def test_a_closed_iterator_stops_the_work(ears: MoonshineEars, jfk: Samples) -> None:
    async with aclosing(ears.transcribe(jfk)) as pieces:
        async for _ in pieces:
            break
    assert await heard(ears, silence(1)) == []  # nothing is left in front of it


async def test_closed_ears_say_so_and_leave_no_thread(jfk: Samples) -> None:
    before = threading.active_count()
    ears = MoonshineEars(model_folder("moonshine-tiny"))
    await heard(ears, jfk[:EAR_RATE])
    ears.close()
    assert threading.active_count() == before
    with pytest.raises(EarsError, match="closed"):
        await heard(ears, jfk)


def test_a_folder_without_the_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"encoder\.onnx"):
        MoonshineEars(tmp_path)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(model_folder("moonshine-tiny") / "tokenizer.json"))


def pieces_of(tokenizer: Tokenizer, tokens: list[int]) -> list[str]:
    text = Pieces(tokenizer)
    return [*(text.feed(token) for token in tokens), text.finish()]


def test_characters_of_several_tokens_are_never_given_in_part(tokenizer: Tokenizer) -> None:
    for said in ("naïve café, 好的 — 🙂 yes", "don't  stop", "  a", "a\nb"):
        tokens = tokenizer.encode(said, add_special_tokens=False).ids
        pieces = pieces_of(tokenizer, tokens)
        assert "".join(pieces) == tokenizer.decode(tokens).strip()
        assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)


def test_any_tokens_make_the_same_text_piece_by_piece(tokenizer: Tokenizer) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.one_of(st.integers(0, 300), st.integers(0, 32_000)), max_size=30))
    def holds(tokens: list[int]) -> None:
        assert "".join(pieces_of(tokenizer, tokens)) == tokenizer.decode(tokens).strip()

    holds()
