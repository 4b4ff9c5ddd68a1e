"""Names as people say them are found as they are written; what is not clear is not decided."""

from __future__ import annotations

import re

import pytest

from vivavoce.language.en import naming

FILES = (
    "README.md",
    "src/app.py",
    "src/util.py",
    "tests/test_app.py",
    "notes.txt",
    "config.yaml",
    "Makefile",
    "docker-compose.yml",
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("the config", "config.yaml"),
        ("the settings file", "config.yaml"),
        ("app dot py", "src/app.py"),
        ("util pie", "src/util.py"),
        ("utils", "src/util.py"),
        ("read me", "README.md"),
        ("the test for the app", "tests/test_app.py"),
        ("my notes", "notes.txt"),
        ("the planning notes", "notes.txt"),
        ("make file", "Makefile"),
        ("docker compose", "docker-compose.yml"),
        ("src/app.py", "src/app.py"),
    ],
)
def test_a_spoken_file_is_found_among_those_there_are(said: str, meant: str) -> None:
    assert naming.chosen(said, FILES).only == meant


def test_a_file_that_is_not_there_is_not_guessed() -> None:
    assert naming.chosen("the database schema", FILES).fits == ()


def test_two_that_fit_are_both_given() -> None:
    assert set(naming.chosen("config", [*FILES, "web/config.json"]).fits) == {
        "config.yaml",
        "web/config.json",
    }


def test_a_folder_tells_two_files_of_one_name_apart() -> None:
    both = ["web/index.js", "lib/index.js"]
    assert len(naming.chosen("index", both).fits) == 2
    assert naming.chosen("the index in lib", both).only == "lib/index.js"


def test_a_file_is_found_by_its_kind_and_folder() -> None:
    files = ["env/staging.toml", "env/notes.md", "lib/other.toml"]
    assert naming.chosen("the toml in the env folder", files).only == "env/staging.toml"


def test_a_folder_is_found_where_folders_count() -> None:
    assert naming.chosen("the tests folder", FILES, folders=True).only == "tests/"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("what's the limit in the config", "config.yaml"),
        ("who is coming, according to my notes", "notes.txt"),
        ("what does util dot py do", "src/util.py"),
        ("how are you today", None),
    ],
)
def test_a_sentence_may_speak_of_a_file(said: str, meant: str | None) -> None:
    assert naming.mentioned(said, FILES).only == meant


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("load model", "    load_model(path)"),
        ("load model", "    loadModel(path)"),
        ("the function load model", "def load_model(path):"),
        ("T O D O", "# TODO: later"),
        ("to-dos", "# TODO: later"),
        ("disk full", 'raise OSError("disk full")'),
        ("retry_count", "retry_count = 3"),
    ],
)
def test_a_spoken_name_becomes_a_pattern_for_how_it_may_be_written(said: str, line: str) -> None:
    assert any(re.search(pattern, line, re.IGNORECASE) for pattern in naming.patterns(said))


def test_the_first_pattern_does_not_find_longer_names() -> None:
    assert not re.search(naming.patterns("get user")[0], "get_user_name()", re.IGNORECASE)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("sixty", "60"),
        ("nine thousand", "9000"),
        ("thirty seconds", "30"),
        ("eight oh eight one", "8081"),
        ("zero point two five", "0.25"),
        ("debug", "debug"),
        ("true", "true"),
        ('"hello there"', "hello there"),
    ],
)
def test_a_value_is_written_as_it_is_meant(said: str, written: str) -> None:
    assert naming.literal(said) == written


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("what's fifteen percent of eighty", 12),
        ("forty-two times seventeen", 714),
        ("how much is 1200 divided by 12", 100),
        ("three hundred and fifty plus twenty percent", 420),
        ("12 * (3 + 4)", 84),
        ("seventeen minus four", 13),
        ("half of ninety", 45),
        ("what is twenty percent off eighty", 64),
        ("each crate is two hundred grams and there are thirty, what's the lot", 6000),
        ("six of us at the zoo, eighteen fifty a head, what's that come to", 111),
        ("nine shelves with forty in each, so how many", 360),
    ],
)
def test_a_spoken_sum_is_an_expression(said: str, value: float) -> None:
    assert eval(naming.expression(said)) == value


@pytest.mark.parametrize(
    "said",
    [
        "fifteen percent of eighty-four fifty",
        "what a lovely day",
        "I have twenty and give four to each child, how many children",
    ],
)
def test_a_sum_that_would_leave_a_number_over_is_none(said: str) -> None:
    assert naming.expression(said) == ""


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("python files", "**/*.py"),
        ("the yaml files", "**/*.{yaml,yml}"),
        ("a change log", "**/*changelog*"),
        ("all the files", "**/*"),
        ("hello dot py", "**/hello.py"),
    ],
)
def test_files_are_looked_for_by_kind_or_by_name(said: str, first: str) -> None:
    assert naming.globs(said)[0] == first


def test_an_address_is_read_as_it_is_dictated() -> None:
    assert naming.address("example dot com slash pricing") == "https://example.com/pricing"
    assert naming.address("the news") == ""


def test_a_rate_goes_on_from_what_came_out_before() -> None:
    assert naming.continued("and at sixty an hour, what do I bill them?", ["34.75"]) == "34.75 * 60"
    assert naming.continued("and at noon an email comes", ["34.75"]) == ""


def test_a_file_that_was_said_with_its_ending_is_no_other_of_that_kind() -> None:
    assert (
        naming.chosen("old underscore fixtures dot txt", ["committee.txt", "notes.md"]).fits == ()
    )
    assert naming.chosen("committee dot txt", ["committee.txt", "notes.md"]).only == "committee.txt"


def test_what_is_lost_must_have_been_named() -> None:
    assert naming.names_it("the old fixtures file", "data/old_fixtures.csv")
    assert not naming.names_it("the fixture text", "committee.txt")
    assert naming.names_it("the text file", "committee.txt")


def test_words_that_are_a_name_run_together_are_that_name() -> None:
    assert naming.chosen("code owners", [".github/CODEOWNERS", "src/a.py"]).only == (
        ".github/CODEOWNERS"
    )


def test_numbered_files_are_found_by_their_numbers() -> None:
    there = ["migrations/001_init.sql", "migrations/002_users.sql", "migrations/003_drop_old.sql"]
    assert naming.chosen("number three, the drop one", there).only == there[2]
    assert naming.chosen("migration two", there).only == there[1]
