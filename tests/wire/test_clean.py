"""What is stored is legible, harmless, and fits into any encoder."""

from __future__ import annotations

import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.wire.clean import clean_json, clean_line, clean_text


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a < b and c > d", "a < b and c > d"),
        ("I <3 you", "I <3 you"),
        ("<script>alert(1)</script>", "‹script›alert(1)‹/script›"),
        ("<img src=x onerror=go() ", "‹img src=x onerror=go() "),
        ("<<b>b>", "<‹b›b>"),
        ("<!--x--><?php", "‹!--x--›‹?php"),
        ("<\x00script>", "‹script›"),
        ("one\r\ntwo\rthree\tfour", "one\ntwo\nthree\tfour"),
        ("bell\x07 esc\x1b[2J del\x7f c1\x9b", "bell esc[2J del c1"),
        ("gpj.\u202eexe", "gpj.exe"),
        ("half \ud83d pair", "half  pair"),
        ("👩\u200d💻 naïve 日本", "👩\u200d💻 naïve 日本"),
    ],
)
def test_text_loses_what_nobody_sees_and_its_tags_become_words(dirty: str, clean: str) -> None:
    assert clean_text(dirty) == clean


def test_text_is_bounded() -> None:
    assert len(clean_text("x" * 1000, 10)) == 10


def test_a_line_is_one_line() -> None:
    assert clean_line("  two\nlines \t here ", 100) == "two lines here"
    assert len(clean_line("word " * 100, 20)) <= 20


@given(st.text(st.characters(exclude_categories=())))
def test_cleaning_is_done_once_and_leaves_no_tag(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    assert not re.search(r"<[A-Za-z/!?]", cleaned)
    cleaned.encode()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_any_value_becomes_json_that_every_encoder_takes(value: object) -> None:
    cleaned = clean_json(value)
    assert orjson.loads(orjson.dumps(cleaned)) == cleaned
    assert clean_json(cleaned) == cleaned


def test_values_are_bounded_in_depth_size_and_number() -> None:
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    assert str(clean_json(deep)).count("[") < 50
    assert len(clean_json(list(range(100_000)))) < 20_000
    assert len("".join(clean_json(["x" * 1000] * 1000))) <= 256 * 1024
    assert clean_json({"big": 10**400, "huge": 2**64, "odd": {1, 2}.__class__}) == {
        "big": None,
        "huge": float(2**64),
        "odd": "‹class 'set'›",
    }
