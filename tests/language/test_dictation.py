"""Names as people dictate them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.language.en.dictation import dictated, settled, unspelt, whole_name
from vivavoce.language.en.mentions import times_in

NAMES = {
    "Make a new file, hens dot tee ex tee, please": "Make a new file, hens.txt, please",
    "open sail dot pee why": "open sail.py",
    "export it as rota dot see ess vee": "export it as rota.csv",
    "the index dot aitch tee em ell": "the index.html",
    "put that in kit dot em dee": "put that in kit.md",
    "Read main dot pie.": "Read main.py.",
    "Read the file source slash main dot pot.": "Read the file source/main.py.",
    "What's in src slash main.py?": "What's in src/main.py?",
    "Set it in client.pot.": "Set it in client.py.",
    "settings dot P.Y.": "settings.py.",
    "settings dot p y, please": "settings.py, please",
    "stats dot Pi": "stats.py",
    "Create a file called Hello Dot Text that says": "Create a file called Hello.txt that says",
    "package, dot Jason, please": "package.json, please",
    "Readme dot M. D.": "Readme.md.",
    "notes dot Emd with a title": "notes.md with a title",
    "pyproject dot tumble contains": "pyproject.toml contains",
    "in main dot j's.": "in main.js.",
    "Deploy Dot, S. H..": "Deploy.sh.",
    "main dot c s s": "main.css",
    "settings dot Yamal": "settings.yaml",
    "docs dot python dot org for me": "docs.python.org for me",
    "github dot com slash features say": "github.com/features say",
    "wikipedia dot org slash wiki slash tea": "wikipedia.org/wiki/tea",
    "src slash components slash list dot t s x": "src/components/list.tsx",
}

PROSE = (
    "The red dot eye drops are gone.",
    "The polka dot tee is mine.",
    "See the dot, tea and cake.",
    "I like dot art.",
    "The dot product of two vectors.",
    "The dot text is too small.",
    "Every polka dot pie was eaten.",
    "We met at six on the dot. I was late.",
    "Put a red dot in the corner, and a blue dot pot beside it.",
    "Connect each dot, then go on.",
    "Send me a text, please.",
    "I had a pie and a pot of tea.",
    "Jason is empty handed.",
    "He slash she may read slash write.",
    "They slash prices every spring.",
    "Find files ending in dot css.",
    "Version 3.11 came out at 9.30.",
    "So I said yes. Text me later.",
    "It is a tumble, not a fall.",
    "What is the log of ten?",
    "",
)


@pytest.mark.parametrize(("heard", "meant"), NAMES.items())
def test_a_dictated_name_is_written_as_it_is_meant(heard: str, meant: str) -> None:
    assert dictated(heard) == meant
    assert dictated(meant) == meant


@pytest.mark.parametrize("prose", PROSE)
def test_prose_stays_as_it_was_heard(prose: str) -> None:
    assert dictated(prose) == prose


WORDS = ("open", "main", "docs", "the", "src", "red", "and", "notes,", "M.", "com", "text")
SIGNS = ("dot", "dot", "dot", "slash", "slash", "pie", "py", "p", "y", "j", "s", "o", "n", "h")


@given(st.lists(st.sampled_from(WORDS + SIGNS), max_size=14))
def test_twice_is_once_and_what_was_told_stays_told(words: list[str]) -> None:
    whole = dictated(" ".join(words))
    assert dictated(whole) == whole
    told = ""
    for count in range(len(words) + 1):
        now = dictated(settled(" ".join(words[:count]))).rstrip(".,")
        assert now.startswith(told), (told, now)
        told = now
    assert whole.startswith(told)


def test_a_name_is_held_back_until_it_is_whole_and_nothing_else_is() -> None:
    assert settled("Open the file main") == "Open the file main"
    assert settled("Open the file main dot") == "Open the file main"
    assert settled("Open the file main dot j") == "Open the file main"
    assert settled("Open main dot js and tell me what it does") == (
        "Open main dot js and tell me what it does"
    )


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("Tomorrow at 5:00, past 8:00 in the morning.", "Tomorrow at 5 past 8 in the morning."),
        ("At five, past eight to call in.", "At five past eight to call in."),
        ("At 25, past seven in the evening.", "At 25 past seven in the evening."),
        ("At half, past six.", "At half past six."),
        ("At 10:00, past 9:00.", "At 10 past 9."),
    ],
)
def test_a_time_around_past_is_written_as_it_was_said(heard: str, meant: str) -> None:
    assert dictated(heard) == meant
    assert times_in(dictated(heard))


@pytest.mark.parametrize(
    "prose",
    [
        "From 5:00 to 8:00.",
        "We walked past eight houses twice, at 5 past 8:30.",
        "He is five, past eighteen months.",
    ],
)
def test_other_numbers_stay_as_they_were_heard(prose: str) -> None:
    assert dictated(prose) == prose


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("rename the function fmt, f m t, to is dry", "rename the function fmt, to is dry"),
        ("the class Qty, that's Q T Y, please", "the class Qty, please"),
        ("find vat, vee ay tee, in there", "find vat, in there"),
        ("the flag dbg spelled d b g", "the flag dbg"),
        ("the key id eye dee", "the key id"),
    ],
)
def test_letters_that_spell_the_word_before_them_say_nothing_more(said: str, meant: str) -> None:
    assert unspelt(said) == meant


@pytest.mark.parametrize("said", ["grade abc, a b d", "call the IT guy, a b c", "it, see why"])
def test_letters_that_spell_another_word_stay(said: str) -> None:
    assert unspelt(said) == said


def test_a_part_of_a_name_is_made_all_of_it() -> None:
    said = "a file called kit dot em dee with eggs"
    start, end = whole_name(said, said.index("kit"), said.index(" dee"))
    assert said[start:end] == "kit dot em dee"
    assert whole_name(said, said.index("eggs"), len(said)) == (said.index("eggs"), len(said))
