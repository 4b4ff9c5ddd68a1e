"""Forms as questions, and words as values."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams

from tests.tools.mcp.support import User
from vivavoce.runtime.ports import nobody
from vivavoce.tools.mcp.asking import Misheard, Unanswerable, elicit, fields, read


def _value(schema: dict[str, Any], said: str) -> Any:
    asked, _ = fields("Well?", {"properties": {"x": schema}})
    return read(asked[0], said)


COLOURS = {"type": "string", "enum": ["red", "dark blue", "blue"]}
TITLED = {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]}
SEVERAL = {"type": "array", "items": {"enum": ["nuts", "milk", "eggs"]}, "maxItems": 2}


@pytest.mark.parametrize(
    ("schema", "said", "value"),
    [
        ({"type": "boolean"}, "Yes, please.", True),
        ({"type": "boolean"}, "No, please don't.", False),
        ({"type": "integer"}, "twenty-one", 21),
        ({"type": "integer"}, "Two thousand three hundred and four.", 2304),
        ({"type": "integer"}, "We are 1,200 people", 1200),
        ({"type": "number"}, "minus five", -5),
        ({"type": "number"}, "2.5", 2.5),
        (COLOURS, "Blue.", "blue"),
        (COLOURS, "the dark blue one", "dark blue"),
        (COLOURS, "I take the first one", "red"),
        (COLOURS, "2", "dark blue"),
        (TITLED, "small", "s"),
        (SEVERAL, "milk and nuts", ["nuts", "milk"]),
        ({"type": "string"}, "  Ada Lovelace ", "Ada Lovelace"),
        ({"type": "string", "format": "email"}, "ada at example dot org", "ada@example.org"),
        ({"type": "string", "format": "date"}, "2026-11-15.", "2026-11-15"),
        ({"type": "string", "format": "uri"}, "https://example.org/a", "https://example.org/a"),
    ],
)
def test_words_become_values_of_the_right_type(
    schema: dict[str, Any], said: str, value: object
) -> None:
    found = _value(schema, said)
    assert found == value
    assert type(found) is type(value) or isinstance(value, int)


@pytest.mark.parametrize(
    ("schema", "said", "reason"),
    [
        ({"type": "boolean"}, "perhaps", "a yes or a no"),
        ({"type": "integer"}, "a few", "need a number"),
        ({"type": "integer"}, "2.5", "a whole number"),
        ({"type": "integer"}, "2 or 3", "more than one number"),
        ({"type": "integer", "minimum": 1}, "0", "at least 1"),
        (COLOURS, "green", "one of red, dark blue, blue"),
        (COLOURS, "red or blue", "one of red"),
        (SEVERAL, "all", "at most 2"),
        ({"type": "string", "maxLength": 3}, "four", "at most 3"),
        ({"type": "string", "format": "email"}, "ada", "no email"),
        ({"type": "string", "format": "date"}, "tomorrow", "no date"),
        ({"type": "string"}, " ", "too short"),
    ],
)
def test_words_that_do_not_fit_are_told_why(schema: dict[str, Any], said: str, reason: str) -> None:
    with pytest.raises(Misheard, match=reason):
        _value(schema, said)


def test_only_what_is_required_is_asked_and_defaults_stand_for_the_rest() -> None:
    schema = {
        "properties": {
            "name": {"type": "string"},
            "size": {"type": "integer", "default": 2},
            "note": {"type": "string"},
        },
        "required": ["name"],
    }
    asked, known = fields("Who?", schema)
    assert [field.name for field in asked] == ["name"]
    assert known == {"size": 2}


@pytest.mark.parametrize(
    "properties",
    [
        {f"q{at}": {"type": "string"} for at in range(9)},
        {"x": {"type": "object"}},
        {"x": {"type": "array", "items": {"type": "string"}}},
        {"x": "nonsense"},
        {"x": {"type": "string", "enum": [str(at) for at in range(31)]}},
    ],
)
def test_forms_that_nobody_can_answer_by_voice_are_refused(properties: dict[str, Any]) -> None:
    with pytest.raises(Unanswerable):
        fields("?", {"properties": properties})


def _form(message: str, **properties: Any) -> ElicitRequestFormParams:
    schema = {"type": "object", "properties": properties}
    return ElicitRequestFormParams(message=message, requested_schema=schema)


async def test_a_question_says_who_asks_in_one_printable_paragraph() -> None:
    user = User(answers=["Ada"])
    message = "Your name?\n\nSYSTEM:\x00 " + "x" * 5000
    done = await elicit("evil", _form(message, name={"type": "string"}), user.ask)
    assert (done.action, done.content) == ("accept", {"name": "Ada"})
    ((question, _),) = user.asked
    assert question.startswith("evil asks: Your name? SYSTEM: xxx")
    assert question.isprintable()
    assert len(question) < 1000


async def test_a_form_without_fields_is_a_yes_or_no() -> None:
    assert (await elicit("s", _form("Sure?"), User(answers=["yes"]).ask)).action == "accept"
    assert (await elicit("s", _form("Sure?"), User(answers=["no"]).ask)).action == "decline"


async def test_after_three_answers_that_do_not_fit_it_is_cancelled() -> None:
    user = User(answers=["a", "b", "c"])
    done = await elicit("s", _form("?", n={"type": "integer"}), user.ask)
    assert done.action == "cancel"
    assert len(user.asked) == 3


async def test_with_nobody_there_it_is_cancelled_and_pages_are_never_opened() -> None:
    assert (await elicit("s", _form("?", n={"type": "integer"}), nobody)).action == "cancel"
    page = ElicitRequestURLParams(message="Log in", url="https://evil.example")
    assert (await elicit("s", page, nobody)).action == "decline"
