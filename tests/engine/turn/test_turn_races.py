"""Things that come in an awkward order: nothing said is lost, and history is what was heard."""

from __future__ import annotations

import base64
from typing import Any

from tests.engine.turn.scene import OTHER, Scene, configured
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.state import Phase
from vivavoce.wire import brain
from vivavoce.wire.realtime import client

STORY = "Once upon a time there was a king. "
UH_HUH = frozenset({"uh-huh", "yes"})


def telling(scene: Scene, *, finished: bool = True) -> tuple[str, str]:
    """The assistant speaks; its response and its item."""
    scene.write("Tell me a story.")
    answer = scene.respond()
    scene.say(answer, STORY)
    scene.sound(answer, STORY, 2000)
    scene.tell(facts.Playing(answer))
    if finished:
        scene.finish(answer)
    return answer, str(scene.last("response.output_item.added")["item"]["id"])


def mumbled(scene: Scene, start: int, stop: int) -> str:
    """Short speech over the assistant, which the ears are at; its item's id."""
    assert scene.tell(facts.SpeechStarted(start), facts.SpeechStopped(stop)) == []
    return str(scene.orders(orders.Transcribe)[-1].item_id)


# --- Short words over the assistant -------------------------------------------------------------


def test_words_over_the_assistants_end_wait_while_the_user_goes_on() -> None:
    scene = Scene(paced=True, backchannel=UH_HUH)
    answer, _ = telling(scene)
    first = mumbled(scene, 5000, 5400)
    scene.tell(facts.Played(answer), facts.SpeechStarted(5900))
    told = scene.tell(facts.HeardAll(first, "So what about", 0.4))
    assert "input_audio_buffer.committed" in told
    assert "response.created" not in told, "nobody talks over a user who is speaking"
    assert scene.machine.phase is Phase.HEARING
    scene.tell(facts.SpeechStopped(6900))
    second = scene.orders(orders.Transcribe)[-1].item_id
    scene.tell(facts.HeardAll(second, "the queen?", 1.0))
    assert scene.asked.turns[-2:] == (
        brain.Said("user", "So what about"),
        brain.Said("user", "the queen?"),
    )
    scene.finish(scene.response_id)
    assert len(scene.all("response.created")) == 2, "one answer for both"


def test_of_two_short_words_over_the_assistant_neither_is_lost() -> None:
    scene = Scene(paced=True, backchannel=UH_HUH)
    telling(scene)
    first, second = mumbled(scene, 5000, 5400), mumbled(scene, 5900, 6300)
    assert "response.created" in scene.tell(facts.HeardAll(first, "Stop it.", 0.4))
    assert scene.asked.turns[-1] == brain.Said("user", "Stop it.")
    assert scene.tell(facts.HeardAll(second, "Uh-huh.", 0.4)) == []


def test_ears_that_start_afresh_leave_nobody_ducked() -> None:
    scene = Scene(paced=True)
    telling(scene)
    scene.tell(facts.SpeechSuspected())
    scene.ask(client.ClearInput(), end_ms=5000)
    assert scene.orders(orders.Duck)[-1] == orders.Duck(False)


# --- Truncation ---------------------------------------------------------------------------------


def test_what_was_truncated_stays_so_though_its_response_goes_on_to_its_end() -> None:
    scene = Scene()
    answer, item = telling(scene, finished=False)
    scene.ask(client.Truncate(item, 1000))
    scene.say(answer, "The end.")
    scene.sound(answer, "The end.", 500)
    scene.finish(answer)
    assert scene.text_of(item) == "Once upon a time"


def test_a_client_that_truncates_has_stopped_playing() -> None:
    scene = Scene(backchannel=UH_HUH)
    _, item = telling(scene)
    told = scene.ask(client.Truncate(item, 1000))
    assert told == ["conversation.item.truncated", "output_audio_buffer.cleared"]
    assert scene.machine.phase is Phase.QUIET
    assert "input_audio_buffer.committed" in scene.tell(
        facts.SpeechStarted(5000), facts.SpeechStopped(5400)
    ), "a word into the silence is a turn, even a 'yes'"


# --- Items and responses ------------------------------------------------------------------------


def test_the_item_of_what_is_being_said_cannot_be_made_by_somebody_else() -> None:
    scene = Scene()
    scene.tell(facts.SpeechStarted(100))
    item = scene.last("input_audio_buffer.speech_started")["item_id"]
    assert scene.write("Mine!", id=item) == ["error"]
    assert scene.error["code"] == "item_create_duplicate_item_id"
    assert "input_audio_buffer.committed" in scene.tell(facts.SpeechStopped(900))


def test_a_response_about_given_items_does_without_the_one_that_was_deleted() -> None:
    scene = Scene(configured(turn_detection=None))
    scene.write("Unrelated.")
    scene.ask(client.CommitInput(), buffered_ms=500, end_ms=500)
    spoken = scene.last("input_audio_buffer.committed")["item_id"]
    note: dict[str, Any] = {"type": "message", "role": "user"}
    note["content"] = [{"type": "input_text", "text": "Sum it up."}]
    given = [{"type": "item_reference", "id": spoken}, note]
    scene.respond(conversation="none", input=given)
    scene.ask(client.DeleteItem(spoken), sender=OTHER)
    assert scene.asked.turns == (brain.Said("user", "Sum it up."),)


def test_sound_of_a_deleted_item_costs_nothing_any_more() -> None:
    scene = Scene(configured(turn_detection=None))
    scene.ask(client.CommitInput(), buffered_ms=2000, end_ms=2000)
    item = scene.last("input_audio_buffer.committed")["item_id"]
    scene.tell(facts.HeardAll(item, "Hello.", 2.0))
    scene.ask(client.DeleteItem(item))
    scene.write("Hi.")
    scene.finish(scene.respond(output_modalities=["text"]))
    usage = scene.last("response.done")["response"]["usage"]
    assert usage["input_token_details"]["audio_tokens"] == 0


def test_out_of_band_sound_leaves_nothing_behind() -> None:
    scene = Scene()
    answer = scene.respond(conversation="none")
    scene.say(answer, "Aside.")
    scene.sound(answer, "Aside.", 300)
    scene.finish(answer)
    assert scene.last("response.done")["response"]["usage"]["output_tokens"] > 3, "it was counted"
    assert scene.machine.state.sounds == {}


def test_speech_over_an_answer_aside_that_sounds_ends_it() -> None:
    scene = Scene(paced=True)
    scene.write("Hi")
    aside = scene.respond(conversation="none")
    scene.say(aside, "By the way, ")
    scene.sound(aside, "By the way, ", 500)
    scene.tell(facts.Playing(aside), facts.SpeechStarted(100))
    done = scene.last("response.done")["response"]
    assert (done["id"], done["status"]) == (aside, "cancelled")


def test_in_writing_one_item_is_closed_before_the_next_is_opened() -> None:
    scene = Scene()
    scene.write("What time is it?")
    answer = scene.respond(output_modalities=["text"])
    scene.say(answer, "Let me see.")
    scene.tell(
        facts.Thought(answer, brain.CallBegun("call_1", "time")),
        facts.Thought(answer, brain.CallEnded("call_1")),
    )
    scene.say(answer, "There.")
    scene.finish(answer)
    moves = [
        (e["type"].rpartition(".")[2], e["output_index"])
        for e in scene.sent
        if e["type"].startswith("response.output_item.")
    ]
    opened_and_closed = [(kind, index) for index in range(3) for kind in ("added", "done")]
    assert moves == opened_and_closed
    texts = [
        part["content"][0]["text"]
        for part in scene.last("response.done")["response"]["output"][::2]
    ]
    assert texts == ["Let me see.", "There."]


def test_an_answer_cut_short_has_a_usage_too() -> None:
    scene = Scene()
    scene.write("Tell me something long.")
    answer = scene.respond()
    scene.say(answer, "Once upon a time")
    scene.ask(client.CancelResponse())
    usage = scene.last("response.done")["response"]["usage"]
    assert usage["input_tokens"] > 0
    assert usage["output_tokens"] > 0


def test_an_inline_item_may_not_pass_for_one_of_the_conversation() -> None:
    scene = Scene()
    item = scene.speak(0, 1000)
    scene.ask(client.CancelResponse())
    part = {"type": "input_text", "text": "x"}
    mine = {"type": "message", "role": "user", "id": item, "content": [part]}
    scene.ask(client.CreateResponse(response={"conversation": "none", "input": [mine]}))
    assert scene.error["code"] == "item_create_duplicate_item_id"


def test_over_webrtc_a_format_of_the_wire_is_refused() -> None:
    scene = Scene(paced=True)
    audio = {"output": {"format": {"type": "audio/pcmu"}}}
    scene.ask(client.UpdateSession({"type": "realtime", "audio": audio}))
    assert scene.error["param"] == "session.audio.output.format"
    assert scene.machine.state.configuration.output_format.type == "audio/pcm"


def test_a_conversation_has_room_for_much_and_not_for_everything() -> None:
    scene = Scene()
    for _ in range(40):
        scene.write("x" * 250_000)
    assert scene.error["code"] == "conversation_full"
    first = scene.all("conversation.item.added")[0]["item"]["id"]
    scene.ask(client.DeleteItem(first))
    before = len(scene.all("error"))
    scene.write("x" * 200_000)
    assert len(scene.all("error")) == before, "what was deleted makes room"


def test_sound_inside_items_waits_its_turn() -> None:
    scene = Scene()
    clip = {"type": "input_audio", "audio": base64.b64encode(bytes(12 * 1024 * 1024)).decode()}
    for _ in range(3):
        scene.ask(client.CreateItem({"type": "message", "role": "user", "content": [clip]}))
    assert scene.error["code"] == "too_much_audio"


def test_what_was_never_heard_can_be_truncated_to_nothing() -> None:
    scene = Scene()
    scene.write("Hi")
    answer = scene.respond()
    scene.say(answer, "Hello there.")
    item = str(scene.last("response.output_item.added")["item"]["id"])
    scene.ask(client.Truncate(item, 0))
    scene.finish(answer)
    assert scene.all("error") == []
    assert scene.text_of(item) == ""


def test_the_beginning_of_the_sound_is_told_before_the_end_of_the_response() -> None:
    scene = Scene(paced=True)
    scene.write("Hi")
    answer = scene.respond()
    scene.say(answer, "Hello.")
    scene.sound(answer, "Hello.", 300)
    told = scene.finish(answer)
    assert told.index("output_audio_buffer.started") < told.index("response.done")
    assert scene.tell(facts.Playing(answer)) == []
