"""Keywords out of the prompt of a transcription."""

from __future__ import annotations

from vivavoce.engine.turn.configuration import LONGEST_KEYTERM, MOST_KEYTERMS, keyterms


def test_a_list_is_taken_with_its_label_or_without() -> None:
    assert keyterms("Keywords: pytest, Redis, docs") == ("pytest", "Redis", "docs")
    assert keyterms("pytest,Redis;\ndocs.") == ("pytest", "Redis", "docs")
    assert keyterms("key terms: Zoë") == ("Zoë",)
    assert keyterms("keyword: Docker  Compose,, Redis, Redis") == ("Docker Compose", "Redis")


def test_free_text_has_none() -> None:
    assert keyterms(None) == keyterms("") == keyterms("  ") == ()
    assert keyterms("Expect words about technology") == ()
    assert keyterms("The speaker is a doctor at home, who tells us of her long day at work") == ()


def test_what_is_no_word_is_left_out() -> None:
    assert keyterms("x, --, \x00bell, ok") == ("ok",)
    assert keyterms(f"fine, {'a' * (LONGEST_KEYTERM + 1)}, one two three four five") == ("fine",)


def test_there_is_an_end_to_it() -> None:
    assert len(keyterms(", ".join(f"word{n}" for n in range(5_000)))) == MOST_KEYTERMS


def test_keywords_of_their_own_come_first() -> None:
    assert keyterms("Keywords: Redis, Zoë", ["Marcelo", "Redis"]) == ("Marcelo", "Redis", "Zoë")
    assert keyterms("Expect words about technology", ["Marcelo"]) == ("Marcelo",)
