"""A yes by hand at a runtime: only what is plainly one, for this request, from this user."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.wire.conductor.confirm import Asked, Click, call_of, meant
from vivavoce.wire.conductor.event import made, read, write
from vivavoce.wire.conductor.kinds import ToolResult

ASKED = Asked("apr_1", "ann", "I want to run the tests. May I? Yes or no?")
YES = {"approvalId": "apr_1", "approved": True}


def result(told: object, **more: Any) -> ToolResult:
    return ToolResult(**{"call_id": "confirm-apr_1", "result": json.dumps(told)} | more)


def test_the_call_says_what_is_asked_and_which_card_shows_it() -> None:
    call = call_of(ASKED)
    assert (call.name, call.call_id) == ("ui.confirm", "confirm-apr_1")
    assert json.loads(call.arguments) == {
        "approvalId": "apr_1",
        "question": ASKED.question,
        "card": "approval:apr_1",
    }
    assert call_of(ASKED) == call, "the same after a reconnect"
    assert read(write(made(call))).kind == call


@pytest.mark.parametrize(
    ("told", "click"),
    [
        (YES, Click(True)),
        (YES | {"reach": "session"}, Click(True, "session")),
        (YES | {"at": "noon"}, Click(True)),
        (YES | {"approved": False}, Click(False)),
        (YES | {"approved": False, "reach": "always"}, Click(False)),
    ],
)
def test_a_click_is_a_yes_or_a_no(told: object, click: Click) -> None:
    assert meant(ASKED, result(told), "ann") == click


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (YES | {"approved": 1}, "unclear"),
        (YES | {"approved": "true"}, "unclear"),
        (YES | {"approved": None}, "unclear"),
        (YES | {"reach": "for ever"}, "unclear"),
        (YES | {"reach": ["once"]}, "unclear"),
        ({"approvalId": "apr_1"}, "unclear"),
        (True, "unclear"),
        ([YES], "unclear"),
        (None, "unclear"),
        ({"approved": True}, "another request"),
        (YES | {"approvalId": "apr_2"}, "another request"),
    ],
)
def test_everything_else_decides_nothing(told: object, why: str) -> None:
    assert meant(ASKED, result(told), "ann") == why


def test_a_call_that_failed_decides_nothing_whatever_it_returned() -> None:
    assert meant(ASKED, result(YES, error="No screen."), "ann") == "failed"
    assert meant(ASKED, ToolResult(call_id="confirm-apr_1"), "ann") == "unclear"


def test_a_yes_for_another_call_or_by_another_user_decides_nothing() -> None:
    assert meant(ASKED, result(YES, call_id="confirm-apr_2"), "ann") == "another request"
    assert meant(ASKED, result(YES), "bob") == "another user"


@given(
    st.dictionaries(
        st.sampled_from(["approvalId", "approved", "reach", "confirmed"]),
        st.sampled_from([True, 1, "true", "yes", None, "apr_1", "apr_2", "once", [], {}]),
    ),
    st.sampled_from(["ann", "bob", ""]),
    st.none() | st.text(max_size=3),
)
def test_nothing_but_an_explicit_yes_is_one(
    told: dict[str, Any], user_id: str, error: str | None
) -> None:
    click = meant(ASKED, result(told, error=error), user_id)
    yes = told.get("approved") is True and told.get("approvalId") == "apr_1"
    yes = yes and user_id == "ann" and error is None and told.get("reach", "once") == "once"
    assert isinstance(click, Click) == yes
