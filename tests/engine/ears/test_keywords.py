"""Keywords: what they win, and what they must leave alone."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnxruntime as ort
import pytest

from tests.engine.ears.test_moonshine import decoded
from vivavoce.engine.ears.decoding import Decoding
from vivavoce.engine.ears.keywords import Floats, Found, Keywords, forms, plant, spot
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.ears.recogniser import USUAL, Listener, Way
from vivavoce.engine.ports import EAR_RATE, Samples

THE, RED, IS, REDDY, STAR, END = range(6)
INSIDE = np.array([False, False, True, False, False, False])
REDIS = plant({"redis": [(RED, IS)]}, INSIDE)


def scores(**best: float) -> Floats:
    row = np.full(6, -20.0, dtype=np.float32)
    for name, score in best.items():
        row[globals()[name]] = score
    return row


def spotted(
    here: Floats, ahead: dict[tuple[int, ...], Floats], keywords: Keywords = REDIS
) -> tuple[Found, list[tuple[int, ...]]]:
    """What was found, and where the model was asked."""
    looked: list[tuple[int, ...]] = []

    def look(tokens: tuple[int, ...]) -> Floats:
        looked.append(tokens)
        return ahead[tokens]

    return spot(keywords, here, look), looked


def test_a_keyword_nearly_as_right_as_something_else_is_found() -> None:
    ahead = {(RED,): scores(IS=0), (RED, IS): scores(END=0), (REDDY,): scores(END=0)}
    found, _ = spotted(scores(REDDY=0, RED=-3), ahead)
    assert found.tokens == (RED, IS)
    assert found.margin == pytest.approx(2.0)


def test_one_that_only_begins_like_what_was_said_is_not() -> None:
    found, looked = spotted(scores(RED=0), {(RED,): scores(STAR=0)})
    assert found.tokens == ()
    assert looked == [(RED,)]


def test_one_that_sounds_like_nothing_there_costs_no_look() -> None:
    found, looked = spotted(scores(THE=0, RED=-8), {})
    assert (found.tokens, looked) == ((), [])


def test_it_is_not_put_in_place_of_the_word_before_it() -> None:
    ahead = {(RED,): scores(IS=0), (RED, IS): scores(END=0), (THE,): scores(RED=0)}
    assert spotted(scores(THE=0, RED=-3), ahead)[0].tokens == ()


def test_it_is_not_put_for_the_beginning_of_a_longer_word() -> None:
    ahead = {(RED,): scores(IS=0), (RED, IS): scores(IS=0), (REDDY,): scores(END=0)}
    assert spotted(scores(REDDY=0, RED=-3), ahead)[0].tokens == ()


def test_a_narrow_decision_is_said_to_be_one() -> None:
    ahead = {(RED,): scores(IS=0), (RED, IS): scores(END=0), (REDDY,): scores(END=0)}
    for lacking in (4.99, 5.01):
        assert spotted(scores(REDDY=0, RED=-lacking), ahead)[0].margin < 0.05
    torn = ahead | {(RED, IS): scores(END=0, IS=-0.01)}
    assert spotted(scores(REDDY=0, RED=-3), torn)[0].margin < 0.05


def test_many_that_begin_alike_cost_a_bounded_number_of_looks() -> None:
    rng = random.Random(3)
    words = {f"word {n}": [tuple(rng.choices(range(6), k=12))] for n in range(200)}
    looked = 0

    def look(tokens: tuple[int, ...]) -> Floats:
        nonlocal looked
        looked += 1
        return np.zeros(6, dtype=np.float32)

    found = spot(plant(words, INSIDE), np.zeros(6, dtype=np.float32), look)
    assert looked <= 10
    assert found.margin == 0.0  # not all were looked at


def test_a_word_is_known_in_the_forms_it_is_written_in() -> None:
    assert forms("JSON") == ["JSON", "json", "Json"]
    assert forms("docs") == ["docs", "Docs"]


# --- With the real ears -------------------------------------------------------------------

FELLOWS = ("Fellow-Americans", "pytest", "Redis", "dot", "git status")


async def test_a_keyword_is_written_where_it_was_said(ears: MoonshineEars, jfk: Samples) -> None:
    speech = jfk[: 4 * EAR_RATE]
    plain = await ears.transcribe(speech)
    assert "fellow-americans" in (await ears.transcribe(speech, keywords=FELLOWS)).text
    assert await ears.transcribe(speech, keywords=FELLOWS[1:]) == plain
    assert await ears.transcribe(speech) == plain


def test_no_hint_changes_the_tokens_with_keywords_either(ears: MoonshineEars, jfk: Samples) -> None:
    speech = jfk[: 4 * EAR_RATE]
    usual, _ = decoded(ears, speech)
    plain, steps = decoded(ears, speech, keywords=FELLOWS)
    text = ears.text(plain)
    assert plain.tokens != usual.tokens
    for hint in (f"{text} and more", ears.text(usual), "And so my yellow"):
        hinted, fewer = decoded(ears, speech, hint, FELLOWS)
        assert hinted.tokens == plain.tokens, hint
        assert fewer < steps


def test_nothing_is_put_behind_the_last_word_or_into_silence(ears: MoonshineEars) -> None:
    silence = np.zeros(EAR_RATE, dtype=np.float32)
    decoding = ears.begin(silence, "", ort.RunOptions(), Way(keywords=FELLOWS))
    decoding.step(20)
    assert decoding.tokens == []


class Echo(Listener):
    """Hears the keywords it was given, and counts."""

    def __init__(self) -> None:
        super().__init__("echo")
        self.begun = 0

    def begin(self, speech: Samples, guess: str, run: ort.RunOptions, way: Way = USUAL) -> Decoding:
        self.begun += 1
        known = {"done": True, "log_probability": 0.0, "chosen": 1, "closed": None}
        heard = SimpleNamespace(**known, keywords=way.keywords)
        return cast("Decoding", heard)

    def text(self, decoding: Decoding) -> str:
        return " ".join(cast("Any", decoding).keywords) or "nothing"


async def test_finished_segments_are_remembered_for_their_keywords_only() -> None:
    speech, echo = np.full(30 * EAR_RATE, 0.5, dtype=np.float32), Echo()
    for keywords, text in (((), "nothing"), (("Redis",), "Redis"), ((), "nothing")):
        heard = await echo.transcribe(speech, keywords=keywords)
        assert heard.text == f"{text} {text}"
    echo.close()
    assert echo.begun == 5  # two segments each time, the first of the last time known
