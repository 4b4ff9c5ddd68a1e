"""The conductor's vocabulary: what is published is what is checked, and examples are events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs_parts import FILES as PUBLISHED
from tests.docs_parts import Whole
from tests.docs_text import ROOT
from vivavoce.wire.conductor import published
from vivavoce.wire.conductor.codes import CODES
from vivavoce.wire.conductor.event import Unreadable, made, read, write
from vivavoce.wire.conductor.kinds import (
    KINDS,
    AssistantSpeechFinal,
    Kind,
    SessionStart,
    session_id_of,
)

FOLDER = ROOT / "docs" / "conductor"
FILES = sorted((FOLDER / "examples").glob("*.json"))


def events_of(file: Path) -> list[tuple[str | None, dict[str, Any]]]:
    told = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(told, list):
        return [(step["from"], step["event"]) for step in told]
    return [(None, told)]


EXAMPLES = [(f"{f.stem} {at}", *one) for f in FILES for at, one in enumerate(events_of(f))]
every_example = pytest.mark.parametrize(
    ("sender", "event"), [one[1:] for one in EXAMPLES], ids=[one[0] for one in EXAMPLES]
)
checker = jsonschema.Draft202012Validator(published.schema())


@every_example
def test_an_example_comes_back_as_it_was(sender: str | None, event: dict[str, Any]) -> None:
    known = read(json.dumps(event))
    assert json.loads(write(known)) == event
    assert sender is None or sender in known.kind.sent_by


@every_example
def test_an_example_is_valid_by_the_published_schema(
    sender: str | None, event: dict[str, Any]
) -> None:
    checker.validate(event)


def test_there_is_an_example_of_every_kind() -> None:
    assert {next(iter(event["kind"])) for _, _, event in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("whole", PUBLISHED, ids=lambda whole: whole.file.name)
def test_what_is_published_is_up_to_date(whole: Whole) -> None:
    assert whole.current() == whole.expected(), "run make docs"


def test_the_published_schema_says_what_the_servers_own_calls_are() -> None:
    told = published.schema()["$defs"]
    rules = {one["if"]["properties"]["name"]["const"]: one for one in told["ToolCall"]["allOf"]}
    assert set(rules) == {"convo.setState", "tts.speak", "ui.confirm"}
    calls = [event["kind"]["toolCall"] for _, _, event in EXAMPLES if "toolCall" in event["kind"]]
    seen = set()
    for call in calls:
        if call["name"] in rules:
            seen.add(call["name"])
            arguments = rules[call["name"]]["then"]["properties"]["arguments"]["contentSchema"]
            jsonschema.validate(json.loads(call["arguments"]), {**arguments, "$defs": told})
    assert seen == set(rules)
    pressed = json.loads((FOLDER / "examples" / "tool.result.confirm.json").read_text())
    result = json.loads(pressed["kind"]["toolResult"]["result"])
    jsonschema.validate(result, {"$ref": "#/$defs/Confirmed", "$defs": told})


def test_the_published_door_says_after_which_numbers_to_come_back() -> None:
    told = published.asyncapi()["channels"]["conductor"]
    again = {int(code) for code, one in told["x-closes"].items() if one["connectAgain"]}
    assert again == {1001, 1006, 1011, 1012, 1013}
    assert set(told["x-errors"]) == set(CODES)


def test_the_published_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(published.schema())


def test_the_asyncapi_document_leads_to_every_kind() -> None:
    told = published.asyncapi()
    assert set(told["components"]["messages"]) == set(KINDS)
    ways = {name: {m["$ref"] for m in op["messages"]} for name, op in told["operations"].items()}
    assert ways["send"] | ways["receive"] == {
        f"#/channels/conductor/messages/{name}" for name in KINDS
    }
    assert ways["send"] & ways["receive"] == {"#/channels/conductor/messages/error"}


def test_there_are_fifteen_codes() -> None:
    assert len(CODES) == 15
    assert sum(code.source == "server" for code in CODES.values()) == 9


def event(kind: Any, **more: Any) -> str:
    told = {"id": "550e8400-e29b-41d4-a716-446655440000", "timestamp": "2025-01-15T10:30:00.000Z"}
    return json.dumps({**told, "kind": kind, **more})


def test_fields_that_nobody_knows_are_kept() -> None:
    strange = event({"toolResult": {"callId": "a", "result": "1", "took": 3}}, trace={"a": [1]})
    assert json.loads(write(read(strange))) == json.loads(strange)


def test_what_was_not_given_is_not_written() -> None:
    assert json.loads(write(read(event({"toolResult": {"callId": "a"}}))))["kind"] == {
        "toolResult": {"callId": "a"}
    }


UUID_1 = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        ("", "invalid_json", "no JSON"),
        ("{", "invalid_json", "no JSON"),
        (b"\xff", "invalid_json", "no JSON"),
        ('{"id": NaN}', "invalid_json", "no JSON"),
        ("[" * 2000 + "]" * 2000, "invalid_json", "no JSON"),
        ("[]", "invalid_event", "JSON object"),
        ("null", "invalid_event", "JSON object"),
        ("{}", "invalid_event", "'id'"),
        (event({}), "invalid_event", "exactly one"),
        (event({"a": {}, "b": {}}), "invalid_event", "exactly one"),
        (event("toolResult"), "invalid_event", "'kind'"),
        (event({"toolResult": None}), "invalid_event", "kind.toolResult"),
        (event({"toolResult": {"callId": ""}}), "invalid_event", "callId"),
        (event({"toolResult": {"callId": 7}}), "invalid_event", "callId"),
        (event({"toolResult": {"callId": "a", "result": {}}}), "invalid_event", "result"),
        (event({"toolResult": {"callId": "a", "result": "{"}}), "invalid_event", "JSON"),
        (event({"userAudioTranscriptFinal": {}}), "invalid_event", "text"),
        (event({"userAudioTranscriptFinal": {"text": "a" * 8001}}), "invalid_event", "text"),
        (event({"sessionStart": {"sessionId": "abc123"}}), "invalid_event", "UUID"),
        (event({"sessionStart": {"sessionId": UUID_1}}), "invalid_event", "version 4"),
        (event({"error": {"code": "x", "message": "", "positionMs": -1}}), "invalid_event", "posi"),
        (event({"x": {}}, id="7"), "invalid_event", "UUID"),
        (event({"x": {}}, timestamp="yesterday"), "invalid_event", "ISO 8601"),
        (event({"x": {}}, timestamp="2025-13-15T10:30:00.000Z"), "invalid_event", "timestamp"),
    ],
)
def test_what_is_no_event_is_told_in_words(message: str | bytes, code: str, words: str) -> None:
    with pytest.raises(Unreadable) as told:
        read(message)
    assert told.value.code == code
    assert words in told.value.message


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ({"name": "no spaces", "inputSchema": {"type": "object"}}, "name"),
        ({"name": "a", "inputSchema": {"type": "string"}}, "inputSchema"),
        ({"name": "a"}, "inputSchema"),
    ],
)
def test_a_tool_that_is_none_is_refused(tool: dict[str, Any], words: str) -> None:
    session = "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10"
    with pytest.raises(Unreadable) as told:
        read(event({"sessionStart": {"sessionId": session, "tools": [tool]}}))
    assert words in told.value.message


def test_two_tools_of_one_name_are_refused() -> None:
    tool = {"name": "a", "inputSchema": {"type": "object"}}
    session = "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10"
    with pytest.raises(Unreadable, match="two tools"):
        read(event({"sessionStart": {"sessionId": session, "tools": [tool, tool]}}))


LEAST: dict[str, Any] = dict.fromkeys(("text", "callId", "name", "code", "message"), "a") | {
    "sessionId": "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10",
    "patch": "[]",
    "arguments": "{}",
}
STRANGE: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "{}", "[]", "1", [], [None], [[]], {}, {"a": 1}),
    *([{}], [{"name": None}], [{"name": "a", "inputSchema": None}]),
]
FIELDS = [
    (kind, field)
    for kind, model in KINDS.items()
    for field in model.model_json_schema(by_alias=True)["properties"]
]


@pytest.mark.parametrize(("kind", "field"), FIELDS, ids=[".".join(one) for one in FIELDS])
def test_each_field_is_read_or_refused_whatever_is_in_it(kind: str, field: str) -> None:
    needed = KINDS[kind].model_json_schema(by_alias=True).get("required", [])
    for value in STRANGE:
        message = event({kind: {**{name: LEAST[name] for name in needed}, field: value}})
        code = None
        try:
            read(message)
        except Unreadable as told:
            code = told.code
        assert code == "invalid_event" or checker.is_valid(json.loads(message)), message


def test_no_tools_may_be_written_as_null() -> None:
    told = {"sessionId": LEAST["sessionId"], "tools": None, "agent": None, "clauses": None}
    known = read(event({"sessionStart": told}))
    assert isinstance(known.kind, SessionStart)
    assert known.kind.tools is None


def test_an_unknown_kind_is_known_for_one() -> None:
    with pytest.raises(Unreadable) as told:
        read(event({"userSmiled": {}}))
    assert told.value.unknown
    assert told.value.event_id == "550e8400-e29b-41d4-a716-446655440000"


def test_a_session_has_one_spelling() -> None:
    large = "3F0C9F3E-51A6-4F3B-9A1D-6D2B7C8E9F10"
    assert session_id_of(large) == large.lower()


def test_what_the_server_says_is_valid_by_its_own_schema() -> None:
    said = made(AssistantSpeechFinal(text="Hello."))
    checker.validate(said.to_json())
    assert read(write(said)) == said


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from([*KINDS, "id", "timestamp", "kind", "text", "callId"]), x
            )
        ),
        max_leaves=12,
    )
)
def test_anything_is_read_or_refused(value: Any) -> None:
    for message in (json.dumps(value), event(value)):
        try:
            known = read(message)
        except Unreadable:
            continue
        assert isinstance(known.kind, Kind)
        assert json.loads(write(known)) == json.loads(message)
