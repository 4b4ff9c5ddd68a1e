"""Items are read strictly and shown as the service shows them; a conversation keeps order."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.realtime import (
    RealtimeConversationItemAssistantMessage as AssistantMessage,
)
from openai.types.realtime import (
    RealtimeConversationItemSystemMessage as SystemMessage,
)
from openai.types.realtime import (
    RealtimeConversationItemUserMessage as UserMessage,
)
from pydantic import BaseModel

from tests.engine.strict import strict
from tests.recordings import frames
from vivavoce.engine.turn.conversation import Conversation, check_item
from vivavoce.wire.realtime.items import (
    ROOT,
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    Part,
    item_object,
    read_item,
)
from vivavoce.wire.realtime.refusal import Refused

SOUND = b"\x01\x02\x03\x04"
SOUND64 = base64.b64encode(SOUND).decode()


def message(role: str = "user", *content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(content), **more}


def text(words: str = "Hi.") -> dict[str, Any]:
    return {"type": "input_text", "text": words}


CALL = {"type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "noon"}


def strictly(item: Item) -> dict[str, Any]:
    shown = item_object(item)
    strict({"type": "conversation.item.added", "event_id": "event_1", "item": shown})
    return shown


# --- Reading and showing ----------------------------------------------------------


@pytest.mark.parametrize(
    ("whole", "given"),
    [
        (UserMessage, {"type": "input_text", "text": "Hi."}),
        (UserMessage, {"type": "input_audio", "audio": SOUND64}),
        (UserMessage, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}),
        (AssistantMessage, {"type": "output_text", "text": "Hi."}),
        (AssistantMessage, {"type": "output_audio", "transcript": "Hi."}),
        (SystemMessage, {"type": "input_text", "text": "Hi."}),
    ],
)
def test_what_the_sdk_writes_out_whole_is_read(
    whole: type[BaseModel], given: dict[str, Any]
) -> None:
    """Its models have every field of every kind of part, and null for those of the others."""
    role = get_args(whole.model_fields["role"].annotation)[0]
    raw = message(role, given)
    dumped = whole.model_validate(raw).model_dump()
    assert None in dumped["content"][0].values() or whole is SystemMessage
    assert read_item(dumped) == read_item(raw)


def test_a_field_that_no_part_has_is_refused_though_it_is_null() -> None:
    raw = message("user", text() | {"voice": None})
    with pytest.raises(Refused, match=r"item\.content\[0\]\.voice"):
        read_item(raw)


@pytest.mark.parametrize(
    ("raw", "item"),
    [
        (message("user", text()), Message("", "user", (Part("input_text", "Hi."),))),
        (message("system", text()), Message("", "system", (Part("input_text", "Hi."),))),
        (
            message("assistant", {"type": "output_text", "text": "Yes."}, id="item_1"),
            Message("item_1", "assistant", (Part("output_text", "Yes."),)),
        ),
        (
            message(
                "assistant",
                {"type": "output_audio", "transcript": "Ye", "audio": None},
                status="incomplete",
                object="realtime.item",
            ),
            Message("", "assistant", (Part("output_audio", transcript="Ye"),), "incomplete"),
        ),
        (
            message("user", {"type": "input_audio", "audio": SOUND64}, text()),
            Message("", "user", (Part("input_audio", audio=SOUND), Part("input_text", "Hi."))),
        ),
        (
            message("user", {"type": "input_audio", "transcript": "Hi."}),
            Message("", "user", (Part("input_audio", transcript="Hi."),)),
        ),
        (CALL, FunctionCall("", "call_1", "now", "{}")),
        (OUTPUT, FunctionCallOutput("", "call_1", "noon")),
        (OUTPUT | {"id": None, "status": "in_progress"}, FunctionCallOutput("", "call_1", "noon")),
    ],
)
def test_an_item_that_is_right_is_read(raw: dict[str, Any], item: Item) -> None:
    assert read_item(raw) == item
    strictly(replace(item, id="item_1"))


@pytest.mark.parametrize(
    ("raw", "param", "code"),
    [
        ("Hi.", "item", "invalid_type"),
        ({}, "item.type", "missing_required_parameter"),
        ({"type": "song"}, "item.type", "invalid_value"),
        ({"type": "mcp_call"}, "item.type", "unsupported_parameter"),
        (message("user", text(), mood="good"), "item.mood", "unknown_parameter"),
        (message("user", text(), id="i" * 33), "item.id", "string_above_max_length"),
        (message("user", text(), id="root"), "item.id", "invalid_value"),
        (message("user", text(), id="a\nb"), "item.id", "invalid_value"),
        (message("user", text(), id=7), "item.id", "invalid_type"),
        (message("user", text(), status="new"), "item.status", "invalid_value"),
        (message("user", text(), object="item"), "item.object", "invalid_value"),
        (message("tool", text()), "item.role", "invalid_value"),
        (message("user"), "item.content", "invalid_value"),
        ({"type": "message", "role": "user"}, "item.content", "missing_required_parameter"),
        (message("user", "Hi."), "item.content[0]", "invalid_type"),
        (
            message("user", {"type": "output_text", "text": ""}),
            "item.content[0].type",
            "invalid_value",
        ),
        (message("assistant", text()), "item.content[0].type", "invalid_value"),
        (
            message("system", {"type": "input_audio", "audio": SOUND64}),
            "item.content[0].type",
            "invalid_value",
        ),
        (
            message("user", text(), {"type": "input_text"}),
            "item.content[1].text",
            "missing_required_parameter",
        ),
        (message("user", text("\udc00")), "item.content[0].text", "invalid_value"),
        (
            message("user", text("x" * 256_001)),
            "item.content[0].text",
            "string_above_max_length",
        ),
        (message("user", *[text()] * 65), "item.content", "invalid_value"),
        (
            message("user", {"type": "input_image", "image_url": "data:"}),
            "item.content[0].type",
            "unsupported_parameter",
        ),
        (
            message("user", {"type": "input_audio"}),
            "item.content[0].audio",
            "missing_required_parameter",
        ),
        (
            message("user", {"type": "input_audio", "audio": "no!"}),
            "item.content[0].audio",
            "invalid_value",
        ),
        (
            message("assistant", {"type": "output_audio", "audio": SOUND64}),
            "item.content[0].audio",
            "unsupported_parameter",
        ),
        (
            message("assistant", {"type": "output_audio"}),
            "item.content[0].transcript",
            "missing_required_parameter",
        ),
        (CALL | {"name": "a b"}, "item.name", "invalid_value"),
        (CALL | {"arguments": {}}, "item.arguments", "invalid_type"),
        (CALL | {"call_id": ""}, "item.call_id", "invalid_value"),
        (OUTPUT | {"output": None}, "item.output", "missing_required_parameter"),
        (OUTPUT | {"output": 42}, "item.output", "invalid_type"),
        (
            {"type": "function_call_output", "output": ""},
            "item.call_id",
            "missing_required_parameter",
        ),
    ],
)
def test_an_item_that_is_wrong_is_refused_by_its_path(raw: Any, param: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        check_item(read_item(raw))

    assert (caught.value.param, caught.value.code) == (param, code)


def test_items_look_as_the_service_shows_its_own() -> None:
    recorded = [
        frame["item"]
        for name in ("test_audio_in_server_vad_turn", "test_webrtc_sideband_text_turn")
        for frame in frames(name)
        if frame["type"] in ("conversation.item.done", "response.output_item.done")
    ]
    for theirs in recorded:
        parts = tuple(Part(**part) for part in theirs["content"])
        ours = item_object(Message(theirs["id"], theirs["role"], parts, theirs["status"]))
        assert ours == theirs
        assert list(ours) == list(theirs)


def test_calls_and_their_results_are_shown_strictly() -> None:
    assert strictly(FunctionCall("item_1", "call_1", "now", '{"a": 1}', "in_progress")) == {
        "id": "item_1",
        "type": "function_call",
        "status": "in_progress",
        "name": "now",
        "call_id": "call_1",
        "arguments": '{"a": 1}',
    }
    assert strictly(FunctionCallOutput("item_2", "call_1", "noon"))["output"] == "noon"


def test_sound_is_shown_only_where_it_was_asked_for() -> None:
    item = Message("item_1", "user", (Part("input_audio", audio=SOUND),))

    assert strictly(item)["content"] == [{"type": "input_audio", "transcript": None}]
    assert item_object(item, with_audio=True)["content"][0]["audio"] == SOUND64


# --- The conversation -------------------------------------------------------------


def said(item_id: str, words: str = "Hi.") -> Message:
    return Message(item_id, "user", (Part("input_text", words),))


def order(conversation: Conversation) -> list[str]:
    return [item.id for item in conversation]


def test_an_item_goes_to_the_end_the_beginning_or_after_another() -> None:
    talk = Conversation()

    assert talk.insert(said("a")) is None
    assert talk.insert(said("c")) == "a"
    assert talk.insert(said("b"), "a") == "a"
    assert talk.insert(said("z"), ROOT) is None
    assert talk.append(said("d")) == "c"

    assert order(talk) == ["z", "a", "b", "c", "d"]
    assert talk.previous("a") == "z"
    assert talk.previous("z") is None
    assert talk.last_id == "d"


def test_an_item_can_be_replaced_in_its_place() -> None:
    talk = Conversation()
    for name in "abc":
        talk.insert(said(name))

    talk.replace(said("b", "Bye."))

    assert order(talk) == ["a", "b", "c"]
    assert talk.get("b") == said("b", "Bye.")


def test_an_id_that_is_taken_is_refused() -> None:
    talk = Conversation()
    talk.insert(said("a"))

    with pytest.raises(Refused) as caught:
        talk.insert(said("a"))
    assert caught.value.code == "item_create_duplicate_item_id"
    with pytest.raises(ValueError, match="already"):
        talk.append(said("a"))
    assert len(talk) == 1


def test_an_item_that_is_not_there_is_refused_with_the_field_that_named_it() -> None:
    talk = Conversation()
    attempts: list[tuple[Callable[[], object], str, str]] = [
        (lambda: talk.get("x"), "item_not_found", "response.input"),
        (lambda: talk.get("x", doing="retrieve"), "item_retrieve_invalid_item_id", "item_id"),
        (lambda: talk.get("x", doing="truncate"), "item_truncate_invalid_item_id", "item_id"),
        (lambda: talk.delete("x"), "item_delete_invalid_item_id", "item_id"),
        (
            lambda: talk.insert(said("a"), "x"),
            "item_create_invalid_previous_item_id",
            "previous_item_id",
        ),
    ]
    for attempt, code, param in attempts:
        with pytest.raises(Refused) as caught:
            attempt()
        assert (caught.value.code, caught.value.param) == (code, param)
    assert len(talk) == 0


def test_a_refusal_can_always_be_sent() -> None:
    half = "\ud800" * 200
    attempts: list[Callable[[], object]] = [
        lambda: read_item({"type": "message", half: 1}),
        lambda: Conversation().get(half),
    ]
    for attempt in attempts:
        with pytest.raises(Refused) as caught:
            attempt()
        assert json.dumps(caught.value.error(), ensure_ascii=False).encode()
        assert len(caught.value.message) < 200


def test_clients_cannot_fill_a_conversation_without_end() -> None:
    talk = Conversation(most=2)
    talk.insert(said("a"))
    talk.insert(said("b"))

    with pytest.raises(Refused) as caught:
        talk.insert(said("c"))

    assert caught.value.code == "conversation_full"
    assert talk.append(said("c")) == "b"  # but the user can go on talking


names = st.sampled_from("abcdef")
steps = st.one_of(
    st.tuples(st.just("insert"), names, st.none() | st.just(ROOT) | names),
    st.tuples(st.just("delete"), names, st.none()),
    st.tuples(st.just("append"), names, st.none()),
)


@given(st.lists(steps, max_size=30))
def test_a_conversation_keeps_the_order_of_a_plain_list(
    done: list[tuple[str, str, str | None]],
) -> None:
    talk, plain = Conversation(), list[str]()
    for step, name, after in done:
        if step == "delete" and name in plain:
            talk.delete(name)
            plain.remove(name)
        elif step == "append" and name not in plain:
            talk.append(said(name))
            plain.append(name)
        elif step == "insert" and name not in plain and after in (None, ROOT, *plain):
            place = len(plain) if after is None else 0 if after == ROOT else plain.index(after) + 1
            plain.insert(place, name)
            assert talk.insert(said(name), after) == (plain[place - 1] if place else None)
        elif step != "append":
            with pytest.raises(Refused):
                talk.delete(name) if step == "delete" else talk.insert(said(name), after)
        assert order(talk) == plain
        assert [talk.previous(one) for one in plain] == [None, *plain][: len(plain)]
        assert all(one in talk for one in plain)
