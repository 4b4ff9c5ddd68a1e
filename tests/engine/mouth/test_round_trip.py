"""What the mouth says is what a listener hears: the sentences of the benchmark."""

from __future__ import annotations

import pytest
from bench.material.sentences import SENTENCES
from bench.round_trip import TARGET, share, there_and_back, trip

from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.hibari import HibariMouth
from vivavoce.language.en.aloud.text import spoken

ALL = [(written, said) for some in SENTENCES.values() for written, said in some.items()]


def test_there_are_enough_sentences_of_every_kind() -> None:
    assert len(ALL) >= 120
    assert min(map(len, SENTENCES.values())) >= 6


@pytest.mark.parametrize(("written", "said"), ALL)
def test_the_words_to_say_are_those_to_be_heard(written: str, said: str) -> None:
    assert trip("", written, said, spoken(written)).fair == 0, spoken(written)


@pytest.mark.parametrize(
    ("said", "heard", "errors"),
    [
        ("it is ten forty two AM", "It's 10:42 a.m.", 2),
        ("it is ten forty two AM", "It is 10:42 A.M.", 0),
        ("the API returns jason", "The A P I returns JSON.", 0),
        ("open read me dot MD first", "Open readme.md first.", 0),
        ("I found three files", "I found the files.", 1),
        ("I found three files", "", 4),
    ],
)
def test_errors_are_counted_in_words_however_they_are_spelled(
    said: str, heard: str, errors: int
) -> None:
    assert trip("", "", said, heard).fair == errors


@pytest.mark.full
async def test_what_the_mouth_says_the_ears_hear(hibari: HibariMouth, ears: MoonshineEars) -> None:
    trips = await there_and_back(hibari, ears, SENTENCES)
    failed = [(trip.written, trip.heard) for trip in trips if trip.fair]
    assert share(trips, "fair") <= TARGET, failed
