"""What counts as said, as named and as read: the facts that a call is judged by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from vivavoce.runtime.calls.outside import Said, called, loaded, of_conversation, source_to_name
from vivavoce.wire.records.talk import Entry, Kind

START = datetime(2026, 11, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("Open example dot org.", "https://example.org"),
        ("open www.example.org/docs please", "https://www.example.org/docs"),
        (
            "Go to docs dot example dot org slash getting dash started.",
            "docs.example.org/getting-started/",
        ),
        ("fetch https://example.org/a?b=1", "https://example.org/a?b=1"),
        ("look at p y p i dot org", "https://pypi.org/"),
    ],
)
def test_an_address_that_was_said_is_said_however_it_is_spelt(said: str, url: str) -> None:
    assert Said([said]).address(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/?d=secret",
        "https://example.org.evil.net",
        "https://evil.net/example.org",
        "https://secret.example.org",
        "https://example.org@evil.net",
        "https://example.com",
    ],
)
def test_an_address_with_more_in_it_was_not_said(url: str) -> None:
    assert not Said(["Open example dot org."]).address(url)


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("what's in my notes", "notes.md"),
        ("the shopping list", "lists/shopping_list.txt"),
        ("read config dot py", "src/config.py"),
        ("the read me", "README.md"),
        ("change the make file", "Makefile"),
        ("open dot github slash workflows slash test dot yml", ".github/workflows/test.yml"),
        ("the package json", "./package.json"),
    ],
)
def test_a_file_that_was_named_is_named(said: str, path: str) -> None:
    assert Said([said]).names(path)


@pytest.mark.parametrize(
    "path", [".github/workflows/test.yml", "tests.sh", ".git/hooks/run", "package.json"]
)
def test_what_programs_load_is_named_as_a_whole_or_not_at_all(path: str) -> None:
    assert not Said(["run the tests of the package, and test the other hook"]).names(path)


@pytest.mark.parametrize("path", ["Makefile", "web/package.json", "a/b.sh", ".env", "x/.y/z.txt"])
def test_some_files_are_run_or_loaded(path: str) -> None:
    assert loaded(path)
    assert not loaded("src/main.py")


def test_numbers_count_in_words_and_figures() -> None:
    said = Said(["set the timeout to twenty five, and the limit to 9000"])
    assert said.words("timeout = 25; limit = 9000")
    assert not said.words("timeout = 26")


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("https://docs.python.org/3/", True),
        ("docs.python.org", True),
        ("https://python.org.evil.net", False),
        ("https://evil.net/#docs.python.org", False),
        ("https://docs.python.org@evil.net/", False),
        ("http://[::1", False),
    ],
)
def test_a_host_is_one_of_the_list_or_none(url: str, fine: bool) -> None:
    assert called(url, ["*.python.org"]) is fine


def entries(*told: tuple[Kind, str, dict[str, Any]]) -> list[Entry]:
    return [
        Entry(
            id=str(at),
            conversation_id="c",
            user_id="ann",
            kind=kind,
            text=text,
            created_at=START + timedelta(seconds=at),
            ordinal=float(at),
            data=data,
        )
        for at, (kind, text, data) in enumerate(told)
    ]


def reading(path: str, at: str, *, success: bool = True) -> list[tuple[Kind, str, dict[str, Any]]]:
    what = {"tool_name": "read_file", "tool_call_id": at}
    return [
        (Kind.TOOL_CALL, "", {**what, "tool_arguments": {"path": path}}),
        (Kind.TOOL_RESULT, "text", {**what, "tool_result": {"success": success}}),
    ]


def asked(told: list[tuple[Kind, str, dict[str, Any]]], path: str) -> bool:
    facts = of_conversation(entries(*told), (), lambda name: None)
    given = {"path": path, "content": "words of somebody else"}
    return source_to_name("write_file", given, None, facts) is not None


def user(words: str) -> tuple[Kind, str, dict[str, Any]]:
    return Kind.USER, words, {}


def test_the_file_that_a_turn_begins_with_is_under_discussion_and_no_later_one() -> None:
    told = [user("look at it"), *reading("a.txt", "1"), *reading("b.txt", "2")]
    assert not asked(told, "a.txt")
    assert not asked(told, "./a.txt")
    assert asked(told, "b.txt")


@pytest.mark.parametrize("words", ["Yes.", "No.", "Stop.", "Yes, for this session.", ""])
def test_a_bare_answer_begins_no_turn(words: str) -> None:
    told = [user("look at it"), *reading("a.txt", "1"), user(words), *reading("b.txt", "2")]
    assert asked(told, "b.txt")


def test_other_words_do() -> None:
    told = [user("look at it"), *reading("a.txt", "1"), user("and now?"), *reading("b.txt", "2")]
    assert not asked(told, "b.txt")


def test_a_file_that_could_not_be_read_brought_no_words() -> None:
    assert not asked([user("go"), *reading("a.txt", "1", success=False)], "b.txt")


def test_nothing_read_is_nothing_asked() -> None:
    assert not asked([user("write something somewhere")], "anything.txt")
