"""What the scripted provider says is what the real one says: the same types, the same order."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter

from tests.recordings import frames
from vivavoce.testing.realtime.call import Conversation, reply
from vivavoce.testing.realtime.response import ToolUse

Json = dict[str, Any]
SERVER_EVENT: TypeAdapter[RealtimeServerEvent] = TypeAdapter(RealtimeServerEvent)
SESSION = {"type": "realtime", "model": "gpt-realtime"}
TRANSCRIPTION = "conversation.item.input_audio_transcription"


def call(**session: Any) -> Conversation:
    return Conversation(SESSION | session, webrtc=True)


def line(**session: Any) -> Conversation:
    """Over WebSocket alone, as the recordings."""
    return Conversation(SESSION | session, webrtc=False)


def types(events: list[Json]) -> list[str]:
    """The order of types, with runs of one type counted once."""
    kinds = [event["type"] for event in events]
    return [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]


def everything() -> list[Json]:
    """Each kind of thing that can be said, once."""
    c = call()
    events = [*c.ledger.session_created(), *c.ledger.session_updated({"instructions": "Hi."})]
    events += c.user_says("What time is it?") + c.assistant_says("It's 2:30 PM.")
    events += c.user_says("And there?", transcript="late")
    events += c.calls_tools(
        ToolUse("current_time", {"zone": "UTC"}), ToolUse("weather", "{}"), saying="Let me look."
    )
    events += c.user_says("Hm", transcript="failed") + c.assistant_starts("This is a long one")
    events += c.user_says("Stop", transcript="during", heard_ms=300) + c.response_fails()
    events += c.assistant_starts("Sorry") + c.assistant_finishes(played=False) + c.playback_ends()
    asked: list[Json] = [
        {"type": "conversation.item.create", "item": {**MESSAGE, "id": "one"}},
        {"type": "conversation.item.retrieve", "item_id": "one"},
        {"type": "conversation.item.delete", "item_id": "one"},
        {"type": "input_audio_buffer.append", "audio": "AAAA"},
        {"type": "input_audio_buffer.commit"},
        {"type": "input_audio_buffer.clear"},
        {"type": "response.create"},
        {"type": "response.cancel"},
        {"type": "nonsense", "event_id": "e1"},
    ]
    for event in asked:
        events += reply(c, event)
    quiet = line(output_modalities=["text"])
    return events + quiet.assistant_says("In writing.") + line().assistant_says("Aloud.")


MESSAGE: Json = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "Hello"}],
}


def test_every_event_is_valid_for_the_types_of_the_sdk() -> None:
    for event in everything():
        parsed = SERVER_EVENT.validate_python(event)
        assert parsed.type == event["type"]


def test_event_ids_are_unique_and_items_follow_one_another() -> None:
    events = everything()
    ids = [event["event_id"] for event in events]
    assert len(ids) == len(set(ids))
    conversation = call()
    events = conversation.user_says("One") + conversation.assistant_says("Two")
    events += conversation.calls_tools(ToolUse("three")) + conversation.user_says("Four")
    added = [event for event in events if event["type"] == "conversation.item.added"]
    chain = [None, *(event["item"]["id"] for event in added)]
    assert [event["previous_item_id"] for event in added] == chain[:-1]


def test_a_message_over_webrtc_starts_and_stops_the_audio_buffer() -> None:
    assert types(call().assistant_says("It's 2:30 PM.")) == [
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio_transcript.delta",
        "output_audio_buffer.started",
        "response.output_audio_transcript.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
        "output_audio_buffer.stopped",
    ]


def test_a_response_has_its_words_its_calls_and_its_usage() -> None:
    conversation = call()
    conversation.user_says("Both, please")
    tools = [ToolUse("a", {"x": 1}, "call_a"), ToolUse("b", '{"y": 2}', "call_b")]
    events = conversation.calls_tools(*tools, saying="One moment.")
    done = events[-2]["response"]
    assert events[-1]["type"] == "output_audio_buffer.stopped"
    assert [item["type"] for item in done["output"]] == ["message", *["function_call"] * 2]
    assert done["output"][0]["content"][0]["transcript"] == "One moment."
    assert [(item["call_id"], item["arguments"]) for item in done["output"][1:]] == [
        ("call_a", '{"x": 1}'),
        ("call_b", '{"y": 2}'),
    ]
    usage = done["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_token_details"]["cached_tokens"] <= usage["input_tokens"]


@pytest.mark.parametrize(
    ("when", "neighbour"),
    [
        ("now", "conversation.item.done"),
        ("during", "response.output_audio_transcript.delta"),
        ("late", "output_audio_buffer.stopped"),
    ],
)
def test_a_transcript_comes_when_it_is_told_to(when: Any, neighbour: str) -> None:
    conversation = call()
    events = conversation.user_says("Hello there", transcript=when)
    order = types(events + conversation.assistant_says("Hi you"))
    assert order[order.index(f"{TRANSCRIPTION}.delta") - 1] == neighbour
    assert order.count(f"{TRANSCRIPTION}.completed") == 1


def test_a_transcript_can_fail() -> None:
    conversation = call()
    events = conversation.user_says("Hrmpf", transcript="failed")
    assert types(events)[-1] == f"{TRANSCRIPTION}.failed"
    assert conversation.transcripts() == []


def test_speech_interrupts_what_is_being_said_and_truncates_it_to_what_was_heard() -> None:
    conversation = call()
    started = conversation.assistant_starts("One two three four")
    events = conversation.user_starts(heard_ms=700)
    assert types(events) == [
        "input_audio_buffer.speech_started",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
        "output_audio_buffer.cleared",
        "conversation.item.truncated",
    ]
    done = events[6]["response"]
    assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "turn_detected")
    assert done["output"][0]["status"] == "incomplete"
    assert events[-1]["audio_end_ms"] == 700
    assert events[-1]["item_id"] == started[1]["item"]["id"]


def test_speech_does_not_interrupt_where_the_session_forbids_it() -> None:
    turns = {"type": "server_vad", "interrupt_response": False}
    conversation = call(audio={"input": {"turn_detection": turns}})
    conversation.assistant_starts("One two")
    assert types(conversation.user_starts()) == ["input_audio_buffer.speech_started"]


# --- Beside the recordings, where there are any ---------------------------------------


def test_a_text_turn_has_the_recorded_order() -> None:
    recorded = frames("test_webrtc_sideband_text_turn")
    conversation = call()
    update = {"type": "session.update", "session": {**SESSION, "output_modalities": ["text"]}}
    ours = reply(conversation, update)
    ours += reply(conversation, {"type": "conversation.item.create", "item": MESSAGE})
    ours += conversation.assistant_says("Hello there!")
    assert not recorded or types(ours) == types(recorded)
    _same_shape(ours, recorded)


def test_a_spoken_answer_has_the_recorded_order() -> None:
    recorded = frames("test_text_in_audio_out_turn")
    conversation = line()
    ours = conversation.ledger.session_created() + conversation.ledger.session_updated()
    ours += conversation.ledger.add_item(MESSAGE) + conversation.assistant_says("Hi there!")
    assert not recorded or types(ours) == types(recorded)
    _same_shape(ours, recorded)


def test_a_spoken_turn_has_the_recorded_order() -> None:
    recorded = frames("test_audio_in_server_vad_turn")
    conversation = line()
    ours = conversation.ledger.session_created() + conversation.ledger.session_updated()
    ours += conversation.user_says("Hello, my name is Marcelo.", transcript="during")
    ours += conversation.assistant_says("Hello, Marcelo!")
    # Deltas of the two sides and of sound and words interleave as time has it.
    assert not recorded or _firm(ours) == _firm(recorded)
    _same_shape(ours, recorded)


def _firm(events: list[Json]) -> list[str]:
    loose = ("delta", "transcription.completed")
    return types([event for event in events if not event["type"].endswith(loose)])


def _same_shape(ours: list[Json], recorded: list[Json]) -> None:
    """Each of our events has the keys that the real one of its type has."""
    keys = {event["type"]: set(event) - {"obfuscation"} for event in recorded}
    nested = {event["type"]: event for event in recorded}
    for event in ours:
        kind = event["type"]
        if kind not in keys:
            continue
        assert set(event) == keys[kind], kind
        for name in ("session", "response", "item"):
            if name in event:
                assert set(event[name]) == set(nested[kind][name]), f"{kind}.{name}"
