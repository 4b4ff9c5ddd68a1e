"""Who is asked to speak by name, and what is only talk about them."""

from __future__ import annotations

import pytest

from vivavoce.language.en.providers import called, taken_over, wanted

NAMES = ("openai", "embedded", "azure", "my_backup")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Use OpenAI again.", "openai"),
        ("Please go back to open AI", "openai"),
        ("could you switch to the OpenAI voice, please?", "openai"),
        ("okay, try Azure now", "azure"),
        ("Let's return to Azure.", "azure"),
        ("switch over to the local one", "embedded"),
        ("Use the embedded engine.", "embedded"),
        ("I'd like to talk to my backup", "my_backup"),
        ("can we go offline", "embedded"),
    ],
)
def test_a_wish_for_a_provider(words: str, name: str) -> None:
    assert wanted(words, NAMES) == name


@pytest.mark.parametrize(
    "words",
    [
        "Go back to the other voice.",
        "Please switch back to the first provider",
        "could you use your old voice again?",
        "Return to the usual service.",
        "Take the voice we had before again.",
    ],
)
def test_who_spoke_first_needs_no_name(words: str) -> None:
    assert wanted(words, NAMES, "10.0.0.7") == "10.0.0.7"
    assert wanted(words, NAMES) is None


@pytest.mark.parametrize(
    "words",
    [
        "Go back to the first one.",
        "Use the old logo again.",
        "I liked the old voice.",
        "Don't go back to the old voice.",
        "What was the first provider again?",
        "Put the first model back on the shelf next to the lamp and the two other books please.",
    ],
)
def test_another_way_back_is_not_meant(words: str) -> None:
    assert wanted(words, NAMES, "10.0.0.7") is None


@pytest.mark.parametrize(
    "words",
    [
        "What is OpenAI?",
        "Don't use OpenAI.",
        "Tell me about Azure",
        "Is Azure better than OpenAI?",
        "I read that OpenAI is going to change its prices next year and that many use it",
        "Use the blue one again.",
        "switch off the lights",
        "go back to the file about openai",
        "openai",
        "switch from Azure to OpenAI or the other way round",
        "",
    ],
)
def test_talk_that_is_none(words: str) -> None:
    assert wanted(words, NAMES) is None


def test_why_somebody_else_speaks_is_one_sentence() -> None:
    said = taken_over("embedded", "openai", "insufficient_quota")
    assert said == "OpenAI has no quota left, so I go on with the voice of this server."
    assert (
        taken_over("azure", "my_backup", "x") == "My backup does not answer, so I go on with Azure."
    )
    assert called("my_backup") == "my backup"
