"""Who may do what without asking: decided by rules, the same for every way in."""

from __future__ import annotations

import pytest

from vivavoce.runtime.agents.work import Permissions, Rule
from vivavoce.wire.records.talk import Origin

ORIGINS: tuple[Origin, ...] = ("model", "http", "webhook", "task")
SAFE = Rule(decision="allow", tool="bash", arguments={"command": r"(pytest|ls)( [\w./-]+)*"})


@pytest.mark.parametrize("origin", ORIGINS)
def test_what_changes_nothing_is_allowed_and_what_changes_something_is_asked(
    origin: Origin,
) -> None:
    rules = Permissions()
    assert rules.decide("glob", {}, changes=False, origin=origin) == "allow"
    assert rules.decide("bash", {}, changes=True, origin=origin) == "ask"


@pytest.mark.parametrize("command", ["pytest", "ls src", "pytest -q tests/a.py"])
def test_a_pattern_allows_what_it_matches_as_a_whole(command: str) -> None:
    found = Permissions(rules=(SAFE,)).decide(
        "bash", {"command": command}, changes=True, origin="model"
    )
    assert found == "allow"


@pytest.mark.parametrize(
    "command",
    ["ls; rm -rf .", "ls && curl x", "ls `id`", "ls $(id)", "ls\nrm x", "lsof", "ls " + "a" * 5000],
)
def test_a_command_that_only_begins_like_an_allowed_one_is_asked(command: str) -> None:
    found = Permissions(rules=(SAFE,)).decide(
        "bash", {"command": command}, changes=True, origin="model"
    )
    assert found == "ask"


def test_what_is_denied_is_found_anywhere_and_stays_denied() -> None:
    deny = Rule(decision="deny", tool="bash", arguments={"command": r"\bsudo\b"})
    rules = Permissions(rules=(deny,))
    for command in ("sudo ls", "echo x; sudo ls", "a" * 5000):
        found = rules.decide(
            "bash", {"command": command}, changes=True, origin="model", auto_approve=True
        )
        assert found == "deny"


def test_the_users_own_policy_allows_what_would_be_asked() -> None:
    found = Permissions().decide("bash", {}, changes=True, origin="model", auto_approve=True)
    assert found == "allow"


def test_the_first_rule_that_fits_decides() -> None:
    rules = Permissions(
        rules=(
            Rule(decision="allow", tool="write_*", origins=frozenset({"task"})),
            Rule(decision="deny", tool="write_file"),
        )
    )
    assert rules.decide("write_file", {}, changes=True, origin="task") == "allow"
    assert rules.decide("write_file", {}, changes=True, origin="model") == "deny"


def test_ask_once_is_asked_unless_somebody_switched_asking_off() -> None:
    once = Rule(decision="ask_once", tool="bash", arguments={"command": "make( test)?"})
    rules = Permissions(rules=(once, Rule(decision="allow", tool="bash")))
    given = {"command": "make test"}
    assert rules.decide("bash", given, changes=True, origin="model") == "ask_once"
    auto = rules.decide("bash", given, changes=True, origin="model", auto_approve=True)
    assert auto == "allow"
    # What it is found in, among other things, is asked: an `allow` behind it is not enough.
    longer = {"command": "make test; make install"}
    assert rules.decide("bash", longer, changes=True, origin="model") == "ask"
