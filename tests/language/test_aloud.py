"""Written text as it is said."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vivavoce.language.en.aloud.text import plain, spoken
from vivavoce.language.en.numbers import cardinal, ordinal, year

SAID = {
    # numbers
    "I have 3 files.": "I have three files.",
    "1,234 lines": "one thousand two hundred thirty-four lines",
    "100 000": "one hundred thousand",
    "3.5 and .5": "three point five and point five",
    "-5 degrees": "minus five degrees",
    "-5 °C, -3% and -$2": "minus five degrees Celsius, minus three percent and minus two dollars",
    "pages 5 -10": "pages five to ten",
    "the 1990s, the '80s, the 20s": "the nineteen nineties, the 'eighties, the twenties",
    "the 2000s and 1900s in 20s": "the two thousands and nineteen hundreds in twenty seconds",
    "agent 007": "agent zero zero seven",
    "version 1.2.3": "version one point two point three",
    "pages 5-10": "pages five to ten",
    "3/4 cup, ½ spoon": "three quarters cup, one half spoon",
    "the 1st, 22nd and 30th": "the first, twenty-second and thirtieth",
    "MP3, v2": "MP three, version two",
    "No. 5 and #7": "number five and number seven",
    "call 555-123-4567": "call five five five, one two three, four five six seven",
    # times and dates
    "It is 10:42.": "It is ten forty-two.",
    "at 9:05 pm": "at nine oh five P-M",
    "5 p.m. today": "five P-M today",
    "10:00 and 14:00": "ten o'clock and fourteen hundred",
    "07:30:15": "seven thirty and fifteen seconds",
    "2026-11-15": "November fifteenth, twenty twenty-six",
    "2026-11-15T10:42:00Z": "November fifteenth, twenty twenty-six ten forty-two",
    "November 15, 2026": "November fifteenth, twenty twenty-six",
    "March 3 at 5:30": "March third at five thirty",
    "in 1999, since 2005": "in nineteen ninety-nine, since two thousand five",
    "2026 files": "two thousand twenty-six files",
    # money, percent, units
    "$5.20, $1 and £20": "five dollars and twenty cents, one dollar and twenty pounds",
    "$3.5 million": "three point five million dollars",
    "€0.99, $2.00": "ninety-nine cents, two dollars",
    "50% or 3.5 %": "fifty percent or three point five percent",
    "20°C at 100 km/h": "twenty degrees Celsius at one hundred kilometers per hour",
    "1 kg, 6 ft, 3 GB, 10 m²": "one kilogram, six feet, three gigabytes, ten square meters",
    # short forms and symbols
    "Fruit, e.g. pears, etc.": "Fruit, for example, pears, et cetera.",
    "cats vs. dogs": "cats versus dogs",
    "C++ & co": "C plus plus and co",
    "2 * 3 = 6": "two times three equals six",
    "foo_bar.py": "foo bar dot pie",
    "naïve café": "naive cafe",
    "me@x.org": "me at x dot org",
    "See https://www.example.com/docs.": "See example dot com slash docs.",
    "He’s “here”—really…": "He's “here”—really…",
    # Markdown
    "**Bold**, *light* and `code`": "Bold, light and code",
    "**bold, and": "bold, and",
    "[a link](http://x.y/z).": "a link.",
    "# Title\n\n- apples\n- pears": "Title, apples, pears",
    "1. Open it.\n2. Close it.": "one: Open it. two: Close it.",
    "| a | b |\n|---|---|\n| 1 | 2 |": "a, b, one, two",
    "```python\nprint(x)\n```": "",
    "> He said <b>no</b>": "He said no",
    # nothing
    "": "",
    " … ": "",
    "🙂": "",
}


@pytest.mark.parametrize(("written", "said"), SAID.items())
def test_it_is_said_as_people_say_it(written: str, said: str) -> None:
    assert spoken(written) == said


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0", "zero"),
        ("13", "thirteen"),
        ("40", "forty"),
        ("101", "one hundred one"),
        ("1000000", "one million"),
        ("1000001", "one million one"),
        ("999999", "nine hundred ninety-nine thousand nine hundred ninety-nine"),
        ("1" * 22, " ".join(["one"] * 22)),
    ],
)
def test_numbers_in_words(number: str, words: str) -> None:
    assert cardinal(number) == words


def test_ordinals_in_words() -> None:
    said = ["first", "second", "third", "fifth", "twelfth", "twentieth", "twenty-first"]
    assert [ordinal(n) for n in ("1", "2", "3", "5", "12", "20", "21")] == said
    assert ordinal("100") == "one hundredth"


def test_years_in_words() -> None:
    said = ["nineteen hundred", "nineteen oh five", "two thousand", "twenty ten"]
    assert [year(n) for n in (1900, 1905, 2000, 2010)] == said


@example(":0A/")
@settings(deadline=None)
@given(st.text(alphabet="0123456789.,:-/$%€ apmAPM°kgTZ#*_|\n", max_size=40))
def test_no_digit_is_left(text: str) -> None:
    said = spoken(text)
    assert not re.search(r"\d", said)
    assert bool(re.search(r"\d", text)) <= bool(said)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_can_be_said(text: str) -> None:
    said = spoken(text)
    assert said == said.strip()
    assert not re.search(r"[\\#*<>|^`{}\[\]]", said)


@settings(deadline=None)
@given(st.text(alphabet="ab 12,.!?'", max_size=60))
def test_text_without_marks_is_left_alone(text: str) -> None:
    assert plain(text) == text
