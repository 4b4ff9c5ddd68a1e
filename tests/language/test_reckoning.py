"""Sums that are told as stories: what is shown to who reads them, and what their sums may be."""

from __future__ import annotations

import pytest

from vivavoce.language.en.reckoning import holds, plain, shown, spoken, story


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ("Fourteen trays, thirty-six on each.", "14 trays, 36 on each."),
        ("It was a hundred and sixty euros", "It was 160 euros"),
        ("thirty seven and a half hours at nine fifty", "37.5 hours at 9.50"),
        ("fifteen percent off", "15 percent off"),
    ],
)
def test_numbers_are_shown_as_figures(said: str, figures: str) -> None:
    assert shown(said) == figures


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("14 trays, 36 croissants on each, and 9 of all that are burnt", "14 * 36 - 9"),
        ("90 euros, 20 percent off", "90 * 0.80"),
        ("my salary is 2400 a month, what is that in a year", "2400 * 12"),
        ("5 metres of ribbon, each bow takes 40 centimetres", "5 / 0.40"),
        ("half of 350 plus 20", "350 / 2 + 20"),
    ],
)
def test_a_sum_with_all_the_numbers_of_a_story_holds(said: str, expression: str) -> None:
    assert holds(expression, said)


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("42 trays of 30, 2 trays are smashed, and we sold 900", "42 * 30 - 900"),
        ("14 trays, 36 croissants on each, and 9 are burnt", "14 * 36"),
        ("7 tickets at 4.50", "7 * 5"),
        ("7 tickets at 4.50", ""),
    ],
)
def test_one_that_leaves_a_number_out_or_has_another_does_not(said: str, expression: str) -> None:
    assert not holds(expression, said)


def test_what_is_said_as_a_sum_is_no_story() -> None:
    assert plain("what's seventeen times twenty three")
    assert plain("how much is fifteen percent of eighty, please")
    assert not plain("three crates of twelve bottles")
    assert story("three crates of twelve bottles") == "3 crates of 12 bottles"
    assert story("what a lovely day") == ""
    assert story("I bought seven eggs") == ""


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("14 * 36 - 9", "14 times 36 minus 9"),
        ("(9 - 3) * 20 - 50", "9 minus 3, times 20 minus 50"),
        ("480 / (7 + 5)", "480 divided by the result of 7 plus 5"),
        ("42 + (42 - 9)", "42 plus the result of 42 minus 9"),
    ],
)
def test_a_sum_is_said_aloud(expression: str, said: str) -> None:
    assert spoken(expression) == said
