"""Hours by the clock of another place."""

from __future__ import annotations

import pytest

from vivavoce.language.en.elsewhere import (
    bare,
    by_our_clock,
    by_their_clock,
    elsewhere,
    places_in,
    without_clock,
)


@pytest.mark.parametrize(
    ("words", "said", "meant"),
    [
        (
            "on Monday, eight in the evening",
            "My cousin is in Lahore, ring him on Monday, eight in the evening, but that's by his "
            "clock. I'm in Leeds.",
            "on Monday, eight in the evening Lahore time",
        ),
        (
            "on Friday at two by her",
            "My aunt lives in Porto and we talk on Friday at two by her. I'm here in Odense.",
            "on Friday at two Porto time",
        ),
        ("at ten", "at ten, but that's Tokyo time", "at ten Tokyo time"),
        (
            "on Sunday at eight",
            "Ring Tia in Bogotá on Sunday at eight, her time",
            "on Sunday at eight Bogota time",
        ),
        (
            "on Sunday at eight",
            "Ring Tia in Lima on Sunday at eight where she is.",
            "on Sunday at eight Lima time",
        ),
        (
            "on Tuesday at nine",
            "The mill in Porto rings on Tuesday at nine, but nine there, and I am in Cork.",
            "on Tuesday at nine Porto time",
        ),
        ("at six", "Ring Tomas at six, that's six for him in Prague", "at six Prague time"),
        ("at four", "The call with Seoul is at four on their end", "at four Seoul time"),
        (
            "at seven tonight",
            "Dad rings from Lagos at seven tonight, his side",
            "at seven tonight, Lagos time",
        ),
        ("at eight", "Anna's in Boston, she'll ring at eight over there", "at eight Boston time"),
        ("at five", "Call Priya in Delhi at five, by the clock there", "at five Delhi time"),
        (
            "at noon",
            "Call the office in Buenos Aires at noon their time",
            "at noon, Buenos Aires time",
        ),
        ("at nine", "The Texas people want me at nine, according to them", "at nine, Texas time"),
        ("at one", "It's at one, that's his afternoon, he's in Vancouver", "at one Vancouver time"),
    ],
)
def test_whoevers_clock_it_is_that_place_is_said(words: str, said: str, meant: str) -> None:
    assert elsewhere(words, said) == meant
    assert by_their_clock(said) or "Tokyo" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("at nine", "she takes her time, remind me at nine to wake her"),
        ("at nine", "remind me at nine for her birthday"),
        ("at nine", "remind me at nine to buy flowers for her"),
        ("at five", "I'm in London. Remind me at five my time to call Delhi"),
        ("tomorrow at eight", "We're meeting tomorrow at eight over there"),
        ("at nine tomorrow", "Remind me at nine tomorrow to book the hotel in Tokyo"),
        ("at nine tomorrow", "We are staying in Rome, remind me at nine tomorrow to book it"),
        ("at six", "There's no time, remind me at six to pay"),
        ("at two", "by the end of the day, at two at the latest"),
    ],
)
def test_the_speakers_own_clock_is_not_taken_for_another(words: str, said: str) -> None:
    assert elsewhere(words, said) == words


def test_where_no_place_is_known_it_is_theirs_and_asked_about() -> None:
    said = "My boss says noon tomorrow, on her watch"
    assert elsewhere("noon tomorrow", said) == "noon tomorrow their time"


def test_a_place_that_was_told_before_will_do() -> None:
    made = elsewhere("at three", "at three their time", ["Call with the Nairobi office"])
    assert made == "at three Nairobi time"


def test_of_two_places_none_is_guessed() -> None:
    said = "Ann is in Oslo and Bo in Lima, call at nine their time"
    assert elsewhere("at nine", said) == "at nine their time"


def test_where_the_speaker_is_is_not_where_the_clock_is() -> None:
    assert places_in("I'm in Dubai and he is in Karachi") == ["karachi"]
    assert places_in("a polish cloth") == []


def test_whose_clock_is_no_part_of_time_or_title() -> None:
    assert bare("at nine by his clock over there") == "at nine"
    said = "call her at ten in the morning for her side, she's in Toronto"
    assert without_clock("Call her for her side", said) == "Call her"
    assert by_our_clock("at six my time")


def test_the_clock_that_is_named_beside_the_hour_counts_before_ones_own() -> None:
    words = "tomorrow, eleven in the morning by Dubai clock"
    said = f"The Dubai people ring {words}. I'm in Lucknow. Remind me in my own time."
    assert elsewhere(words, said) == "tomorrow, eleven in the morning Dubai time"
