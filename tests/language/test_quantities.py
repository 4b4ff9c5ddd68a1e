"""Amounts as people say them: prices as the file writes them, units, sums over a column."""

from __future__ import annotations

import pytest

from vivavoce.language.en.quantities import conversion, over_column, written_like
from vivavoce.tools.builtin import evaluate


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("3.50", "four fifty", "4.50"),
        ("350", "four fifty", "450"),
        ("3.50", "four pounds", "4.00"),
        ("2.00", "two pounds twenty", "2.20"),
        ("1.20", "ninety pence", "0.90"),
        ("$12.99", "fourteen ninety nine", "$14.99"),
        ("7.5", "eight", "8.0"),
        ("8", "seven and a half", "7.5"),
        ("1,200", "fifteen hundred", "1,500"),
        ("12", "twenty", "20"),
        ("3.50", "4.75", "4.75"),
        ("3.10", "four oh five", "4.05"),
        ("blue", "four fifty", ""),
        ("3.50", "rather dear", ""),
    ],
)
def test_an_amount_is_written_as_the_one_before(old: str, said: str, new: str) -> None:
    assert written_like(old, said) == new


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("how many minutes are there in a week off the top of your head", 10080),
        ("how many seconds in a day", 86400),
        ("how many hours are in three days", 72),
        ("what's 40 miles in km", 64.37376),
        ("convert ten kilos to pounds for me", 22.046),
        ("how many feet are there in a mile", 5280),
        ("how many months in three years", 36),
        ("five gigabytes in megabytes", 5000),
        ("twenty celsius in fahrenheit", 68),
        ("what is 212 fahrenheit in celsius", 100),
        ("how many days are there in a fortnight", 14),
        ("how many years in a century", 100),
        ("er how many hours is it in a fortnight", 336),
        ("how many grams do you get in half a kilo", 500),
    ],
)
def test_a_unit_becomes_another(said: str, about: float) -> None:
    assert float(evaluate(conversion(said)).replace(",", "")) == pytest.approx(about, rel=1e-3)


@pytest.mark.parametrize(
    "said",
    [
        "how many tests are there in the worker",
        "set the timeout to forty seconds in the config",
        "how many times do we retry in a minute",
        "put five minutes in the notes",
        "how many files in a folder",
    ],
)
def test_what_is_no_unit_is_left_alone(said: str) -> None:
    assert conversion(said) == ""


@pytest.mark.parametrize(
    ("said", "work"),
    [
        ("Add up the hours in timesheet dot csv for me, there's a love.", "sum"),
        ("what do the amounts come to in the expenses csv", "sum"),
        ("what's the total in the sales spreadsheet", "sum"),
        ("what's the average price in menu.csv", "average"),
        ("what is the mean score over all the rows", "average"),
        ("who sold the most in sales dot csv", "largest"),
        ("which day did I run the most in runs dot csv", "largest"),
        ("which is the cheapest one in the csv", "smallest"),
        ("the highest figure in the amount column", "largest"),
        ("sum of the hours column please", "sum"),
        ("how much is it altogether in the invoices table", "sum"),
    ],
)
def test_something_is_worked_out_from_a_whole_column(said: str, work: str) -> None:
    column = over_column(said)
    assert column is not None
    assert column.work == work


@pytest.mark.parametrize(
    "said",
    [
        "what's twelve plus thirty",
        "how many lines in total in the csv",
        "add up twelve and thirty in the table",
        "read me the csv",
        "add a row to the spreadsheet",
    ],
)
def test_what_is_no_column_is_left_alone(said: str) -> None:
    assert over_column(said) is None
