"""What is Moonshine's own: its limits, its hints, its memory of long speech."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import soxr

from tests.speech import WORDS, model_folder, noise, silence, word_errors
from vivavoce.engine.ears.decoding import Decoding
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.ears.recogniser import USUAL, Way
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.errors import EarsError, ModelUnavailable


def decoded(
    ears: MoonshineEars, speech: Samples, guess: str = "", keywords: tuple[str, ...] = ()
) -> tuple[Decoding, int]:
    """To the end, and in how many steps."""
    decoding, steps = ears.begin(speech, guess, ort.RunOptions(), Way(keywords=keywords)), 0
    while not decoding.done:
        decoding.step()
        steps += 1
    return decoding, steps


async def test_a_clip_cut_in_a_word_does_not_loop(ears: MoonshineEars, jfk: Samples) -> None:
    decoding, _ = decoded(ears, jfk[EAR_RATE // 2 : EAR_RATE * 3 // 2])
    assert len(decoding.tokens) <= 7


async def test_clear_speech_is_surer_than_the_same_in_noise(
    ears: MoonshineEars, jfk: Samples
) -> None:
    speech = jfk[: int(3.3 * EAR_RATE)]
    clear = await ears.transcribe(speech)
    noisy = await ears.transcribe(speech + noise(3.3, 0.15))
    assert 0.0 < noisy.confidence < clear.confidence < 1.0


async def test_a_full_stop_is_likelier_behind_the_last_word_than_in_the_middle(
    ears: MoonshineEars, beckett: Samples
) -> None:
    whole = await ears.transcribe(beckett)
    broken_off = await ears.transcribe(beckett[: len(beckett) // 2])
    assert whole.closed is not None
    assert broken_off.closed is not None
    assert broken_off.closed < whole.closed
    assert whole.closed > 0.8
    hinted = await ears.transcribe(beckett, hint=whole.text)
    assert hinted.closed == pytest.approx(whole.closed, abs=0.02)


async def test_faint_doubt_does_not_swallow_speech(ears: MoonshineEars, beckett: Samples) -> None:
    # By way of the wire's rate and back the model would rather say that this is nothing.
    resampled = soxr.resample(soxr.resample(beckett, EAR_RATE, 24_000), 24_000, EAR_RATE)
    heard = await ears.transcribe(resampled)
    assert word_errors(WORDS["beckett.wav"], heard.text) < 0.1


async def test_dead_silence_in_front_changes_nothing(ears: MoonshineEars, jfk: Samples) -> None:
    speech = jfk[EAR_RATE // 2 : 3 * EAR_RATE]
    later = await ears.transcribe(np.concatenate([silence(1.0), speech]))
    assert later.text == (await ears.transcribe(np.concatenate([silence(0.1), speech]))).text


def test_a_right_hint_saves_nearly_all_steps(ears: MoonshineEars, jfk: Samples) -> None:
    speech = jfk[: 5 * EAR_RATE]
    plain, steps = decoded(ears, speech)
    hinted, fewer = decoded(ears, speech, ears.text(plain))
    assert hinted.tokens == plain.tokens
    assert fewer <= steps // 3
    assert hinted.chosen == plain.chosen
    assert hinted.log_probability == pytest.approx(plain.log_probability, abs=1.0)


def test_no_hint_changes_the_tokens(ears: MoonshineEars, beckett: Samples) -> None:
    speech = beckett[: 4 * EAR_RATE]
    plain, _ = decoded(ears, speech)
    text = ears.text(plain)
    words, dice = text.split(), random.Random(7)
    hints = [
        text[: len(text) // 2],
        f"{words[0]} {words[1]}.",
        f"{text} And then some words that nobody said, and more of them than there is time for.",
        " ".join(dice.sample(words, len(words))),
        "entirely something else",
        "\N{SLIGHTLY SMILING FACE} \n 好的",
    ]
    for hint in hints:
        assert decoded(ears, speech, hint)[0].tokens == plain.tokens, hint


async def test_long_speech_is_heard_to_its_end_and_its_beginning_only_once(
    ears: MoonshineEars, jfk: Samples
) -> None:
    speech = np.concatenate([jfk, jfk, jfk])
    encoded: list[float] = []
    begin = ears.begin

    def watched(speech: Samples, guess: str, run: ort.RunOptions, way: Way = USUAL) -> Decoding:
        encoded.append(len(speech) / EAR_RATE)
        return begin(speech, guess, run, way)

    ears.begin = watched  # type: ignore[method-assign] # to see what reaches the model
    try:
        before = await ears.transcribe(speech[: 25 * EAR_RATE], urgent=False)
        whole = await ears.transcribe(speech, hint=before.text)
    finally:
        ears.begin = begin  # type: ignore[method-assign]
    assert len(encoded) == 4  # two segments, then what is new in three
    assert encoded.count(encoded[0]) == 1
    assert word_errors(" ".join([WORDS["jfk.wav"]] * 3), whole.text) < 0.1


async def test_closed_ears_say_so_and_leave_no_thread(jfk: Samples) -> None:
    before = threading.active_count()
    ears = MoonshineEars(model_folder("moonshine-tiny"))
    await ears.transcribe(jfk[:EAR_RATE])
    ears.close()
    assert threading.active_count() == before
    with pytest.raises(EarsError, match="closed"):
        await ears.transcribe(jfk)


def test_a_folder_without_the_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"encoder\.onnx"):
        MoonshineEars(tmp_path)
