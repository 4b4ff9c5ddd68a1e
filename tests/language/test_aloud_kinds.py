"""Kinds of things that are written short, as people say them."""

from __future__ import annotations

import time

import pytest

from vivavoce.language.en.aloud.text import spoken

CLOCK_AND_CALENDAR = {
    "It is 10:42 am.": "It is ten forty-two A-M.",
    "It was 5 p.m.": "It was five P-M.",
    "Come at 5 p.m. or 6pm.": "Come at five P-M or six P-M.",
    "open 9am-5pm": "open nine A-M to five P-M",
    "from 5-6 pm": "from five to six P-M",
    "10:00–11:30": "ten o'clock to eleven thirty",
    "at 00:15 UTC": "at zero fifteen UTC",
    "2026-11-05T10:42:07.1Z": "November fifth, twenty twenty-six ten forty-two and seven seconds",
    "due 3/4/2026.": "due March fourth, twenty twenty-six.",
    "due 15/11/26": "due November fifteenth, twenty twenty-six",
    "on Nov 15": "on November fifteenth",
    "on Nov. 15, 2026, at 8": "on November fifteenth, twenty twenty-six, at eight",
    "15 November 2026": "November fifteenth, twenty twenty-six",
    "the 15th of November": "the fifteenth of November",
    "Nov 15-17": "November fifteenth to seventeenth",
    "Tue, Mar 3": "Tuesday, March third",
    "Jan 2025": "January twenty twenty-five",
    "in Q3 2026": "in Q three twenty twenty-six",
    "from 2019-2024": "from twenty nineteen to twenty twenty-four",
    "the 2026-11 report": "the November twenty twenty-six report",
    "in the 1980's": "in the nineteen eighties",
    "It may 5 times": "It may five times",
}

MONEY = {
    "$20-30": "twenty to thirty dollars",
    "$20-$30": "twenty to thirty dollars",
    "$1.5M": "one point five million dollars",
    "$100k": "one hundred thousand dollars",
    "$2bn in cash": "two billion dollars in cash",
    "€3,50": "three euros and fifty cents",
    "20€ or 30 EUR": "twenty euros or thirty euros",
    "$1,234.56": "one thousand two hundred thirty-four dollars and fifty-six cents",
    "$9.99/month": "nine dollars and ninety-nine cents per month",
    "$0.05": "five cents",
    "£1.01": "one pound and one penny",
    "50¢": "fifty cents",
}

AMOUNTS = {
    "20 MB/s": "twenty megabytes per second",
    "in MB/s": "in megabytes per second",
    "90 km/h, 5 m/s": "ninety kilometers per hour, five meters per second",
    "5-10 GB": "five to ten gigabytes",
    "a 5-minute walk": "a five minute walk",
    "3 ms at 16 kHz": "three milliseconds at sixteen kilohertz",
    "120 mm, 1.5 L": "one hundred twenty millimeters, one point five liters",
    "2x faster": "two times faster",
    "1920x1080": "nineteen twenty by ten eighty",
    "1920×1080": "nineteen twenty by ten eighty",
    "1h 5m": "one hour five minutes",
    "2m30s": "two minutes thirty seconds",
    "5-10% or 3%-4%": "five to ten percent or three to four percent",
    "±5 V": "plus or minus five volts",
    "ratio 3:1, 16:9": "ratio three to one, sixteen to nine",
    "2 1/2 cups, 1½ cups": "two and a half cups, one and a half cups",
    "5/8 of it, 24/7": "five eighths of it, twenty-four seven",
    "12/15 passed": "twelve out of fifteen passed",
    "the 1,000th time": "the one thousandth time",
    "a 1.5B model, 3M users": "a one point five B model, three million users",
    "10 requests/second": "ten requests per second",
    "a > 5 and <3": "a more than five and less than three",
    "~50, ≥ 3, x² ≠ 5": "about fifty, at least three, x squared is not five",
    "5 - 3 = 2": "five minus three equals two",
    "5'10\" tall, 10 000 km": "five foot ten tall, ten thousand kilometers",
    "2^10, p. 42": "two to the power of ten, page forty-two",
    "100 Mbps, 60 fps": "one hundred megabits per second, sixty frames per second",
}

NUMBERS_THAT_ARE_NAMES = {
    "(555) 123-4567": "five five five, one two three, four five six seven",
    "+39 06 1234 5678": "plus three nine, zero six, one two three four, five six seven eight",
    "+39 333 1234567": "plus three nine, three three three, one two three, four five six seven",
    "+1-555-123-4567": "plus one, five five five, one two three, four five six seven",
    "1-800-555-1234": "one, eight zero zero, five five five, one two three four",
    "555.123.4567": "five five five, one two three, four five six seven",
    "555-1234": "five five five, one two three four",
    "v1.2.3": "version one point two point three",
    "Python 3.11 and Ubuntu 22.04": "Python three point eleven and Ubuntu twenty-two point oh four",
    "1.2.3-rc1": "one point two point three R-C one",
    "2.0.0-beta.2": "two point zero point zero beta two",
    "version v2": "version two",
    "error 404, a 500 error": "error four oh four, a five hundred error",
    "port 8080": "port eighty eighty",
    "ISO 8601, Part II, 50/50": "ISO eighty-six oh one, Part two, fifty fifty",
    "192.168.1.10": "one ninety-two dot one sixty-eight dot one dot ten",
    "127.0.0.1:8000": "one twenty-seven dot zero dot zero dot one port eight thousand",
    "UTF-8 and COVID-19": "UTF eight and COVID nineteen",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301": "three F two five",
    "commit a1b2c3d": "commit ay one B two C three D",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709": "D ay three nine",
    "0x1F": "hex one F",
}

NAMES = {
    "get_user_id": "get user I-D",
    "getUserName()": "get User Name",
    "parseJSON and HTTPServer": "parse Jason and H-T-T-P Server",
    "MAX_TOKENS": "max tokens",
    "API_KEY": "A-P-I key",
    "my-app is up": "my-app is up",
    "os.path.join": "O-S dot path dot join",
    "a.b.c": "ay dot b dot c",
    "`__init__.py`": "init dot pie",
    "Node.js, example.com.": "Node dot J-S, example dot com.",
    "src/vivavoce/engine/turns.py": "source slash viva vo chay slash engine slash turns dot pie",
    "turns.py:42": "turns dot pie, line forty-two",
    "/etc/hosts": "slash et cetera slash hosts",
    "in ~/.config.": "in tilde slash dot config.",
    "./run.sh": "dot slash run dot S-H",
    r"C:\Users\me": "C colon backslash Users backslash me",
    "README.md": "read me dot M-D",
    "`test_*.py`": "test star dot pie",
    "the src/ folder": "the source folder",
    "and/or, he/she": "and or, he she",
    ".env": "dot env",
    "http://localhost:8080/docs?x=1": "local host port eighty eighty slash docs",
    "jane.doe_1@example.com": "jane dot doe underscore one at example dot com",
    "JSON, YAML, SQL and the GUI": "Jason, yammel, sequel and the gooey",
    "The API, two URLs, OK": "The API, two URLs, OK",
    "McDonald, McKinley": "McDonald, McKinley",
    "GitHub and WebRTC": "Git Hub and Web R-T-C",
    "git@github.com:a/b.git": "git at github dot com ay slash b dot git",
    "C# and C++": "C sharp and C plus plus",
    "Ctrl+C": "control C",
    "ls --all -l": "ls dash dash all dash l",
}

SHORT_FORMS = {
    "Dr. Smith and Mr. Jones": "Doctor Smith and Mister Jones",
    "St. Paul": "Saint Paul",
    "12 Main St.": "twelve Main Street.",
    "5th Ave. is": "fifth Avenue is",
    "Acme Inc. vs. Foo Ltd.": "Acme Incorporated versus Foo Limited.",
    "pears, etc., e.g., that": "pears, et cetera, for example, that",
    "approx. 5": "approximately five",
    "the U.S. and the US.": "the U-S and the U-S.",
    "w/o it, n/a": "without it, not applicable",
    "It hit us. IT IS BAD": "It hit us. IT IS BAD",
}

MARKDOWN = {
    "![a cat](cat.png) sits": "a cat sits",
    "[docs](https://x.y/a_(b)) here": "docs here",
    "<details>More</details>": "More",
    "Done ✅ 🎉🏽 👩‍💻": "Done",
    "Look:\n```\na = 1\n```\nFine.": "Look: Fine.",
    "```sh\nrm -rf /": "",
    "~~~\nx\n~~~": "",
    "a -> b, c → d => e": "a to b, c to d to e",
    "Settings > Network": "Settings to Network",
    "***very*** ~~old~~": "very old",
    "[1]: https://x.y": "",
}

ALL = {
    written: said
    for kind in (
        *(CLOCK_AND_CALENDAR, MONEY, AMOUNTS, NUMBERS_THAT_ARE_NAMES),
        *(NAMES, SHORT_FORMS, MARKDOWN),
    )
    for written, said in kind.items()
}


@pytest.mark.parametrize(("written", "said"), ALL.items())
def test_it_is_said_as_people_say_it(written: str, said: str) -> None:
    assert spoken(written) == said


HOSTILE = ("1", "(", "[", "<a", "|-", "1 ", "1-", "a.", "[a](b", "Nov 1 ", "$1-", " |", "e.g.")
MORE_HOSTILE = (
    *("a", "`", "*", "_", ".", "-", "/", "\\", "$", ":", " ", "\n", "~", "[](", "1.", "1,"),
    *("a_", "a/", "1:", "![", "> ", "```\n", "- ", "a@", "+1 ", "1/", "A.", "Aa", "0x", "1x"),
    *("\t|", "a (", "1,000", "<!--", "é", "🙂", "# ", "1h ", "10:00-", "... ", "= ", "the 2"),
)


def cost(text: str) -> float:
    begun = time.process_time()
    spoken(text)
    return time.process_time() - begun


def check_that_cost_grows_with_length(piece: str) -> None:
    """Four times the text takes about four times as long; sixteen times would be the square."""
    long, short = (piece * (size // len(piece)) for size in (20_000, 5_000))
    assert cost(long) < 12 * cost(short) + 0.1


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    check_that_cost_grows_with_length(piece)


@pytest.mark.full
@pytest.mark.parametrize("piece", MORE_HOSTILE)
def test_more_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    check_that_cost_grows_with_length(piece)
