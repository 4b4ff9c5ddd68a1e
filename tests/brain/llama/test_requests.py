"""The judge of the tool benchmark is fair."""

from __future__ import annotations

import pytest
from bench.tool_choice.requests import REQUESTS, TOOLS, Request, Verdict, judge, plain


def _request(said: str) -> Request:
    return next(request for request in REQUESTS if request.said.startswith(said))


@pytest.mark.parametrize(
    ("said", "calls", "verdict"),
    [
        ("Read the file src", [("read_file", {"path": "src/main.py"})], "right"),
        ("Read the file src", [("read_file", {"path": "./src/Main.py"})], "right"),
        ("Read the file src", [("read_file", {"path": "main.js"})], "wrong arguments"),
        ("Read the file src", [("web_fetch", {"url": "src/main.py"})], "wrong tool"),
        ("Read the file src", [], "no call"),
        ("What files are in the docs", [("glob", {"pattern": "**/*.md"})], "wrong arguments"),
        ("What files are in the docs", [("glob", {"pattern": "*", "path": "docs"})], "right"),
        ("Tell me a joke", [("task", {"instruction": "joke"})], "needless call"),
        ("Tell me a joke", [], "right"),
    ],
)
def test_a_call_is_judged(said: str, calls: list[tuple[str, object]], verdict: Verdict) -> None:
    assert judge(_request(said), calls, "Well.") == verdict


def test_one_wrong_call_among_right_ones_is_wrong() -> None:
    calls = [("read_file", {"path": "src/main.py"}), ("task", {"instruction": "x"})]
    assert judge(_request("Read the file src"), calls, "") == "wrong tool"


def test_there_are_enough_requests_and_each_wants_tools_that_exist() -> None:
    names = {name for name, _, _ in TOOLS}
    assert len(REQUESTS) >= 110
    assert sum(not request.wants for request in REQUESTS) >= 25
    assert {want.tool for request in REQUESTS for want in request.wants} == names


def test_how_it_is_spelled_does_not_count() -> None:
    assert plain("Main dot PY") == plain("main.py")
    assert plain("user_service") == plain("User Service")
