"""The turn machine: who has the floor, and what leaves in which order."""

from __future__ import annotations

import pytest

from tests.engine.turn.scene import OTHER, Scene, configured
from vivavoce.engine.ports import Position
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.machine import TABLE, diagram
from vivavoce.engine.turn.state import UNHEARD, Phase
from vivavoce.wire import brain
from vivavoce.wire.realtime import client

VAD = {"type": "server_vad"}


def test_the_table_has_every_phase_and_the_diagram_every_move() -> None:
    assert set(TABLE) == set(Phase)
    assert diagram().count("-->") == 1 + sum(len(row) for row in TABLE.values())


# --- Text and speech ----------------------------------------------------------------------------


def test_a_spoken_answer_has_the_order_of_the_real_service() -> None:
    scene = Scene()
    scene.write("Say a short greeting.")
    answer = scene.respond()
    scene.say(answer, "Hi ")
    scene.say(answer, "there!")
    scene.sound(answer, "Hi there!", 400)
    scene.finish(answer)
    assert [
        event["type"] for event in scene.sent if "output_audio_buffer" not in event["type"]
    ] == [
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio_transcript.delta",
        "response.output_audio_transcript.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    done = scene.last("response.done")["response"]
    assert done["status"] == "completed"
    assert done["usage"]["output_token_details"] == {"text_tokens": 3, "audio_tokens": 8}
    assert scene.text_of(done["output"][0]["id"]) == "Hi there!"


def test_a_turn_that_ends_is_committed_transcribed_and_answered() -> None:
    scene = Scene(configured(transcription={"model": "whisper-1"}))
    item = scene.speak(1460, 4256)
    assert [event["type"] for event in scene.sent] == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
    ]
    assert not scene.orders(orders.Answer), "the brain waits for the words"
    scene.tell(facts.HeardSoFar(item, "Hello"), facts.HeardAll(item, "Hello", 2.8))
    assert scene.asked.turns == (brain.Said("user", "Hello"),)
    completed = scene.last("conversation.item.input_audio_transcription.completed")
    assert completed["usage"] == {"type": "duration", "seconds": 3}


def test_without_transcription_the_words_stay_inside() -> None:
    scene = Scene()
    item = scene.speak(0, 1000)
    assert scene.tell(facts.HeardSoFar(item, "Hi"), facts.HeardAll(item, "Hi", 1.0)) == []
    assert scene.asked.turns == (brain.Said("user", "Hi"),)


def test_ears_that_fail_are_told_and_the_turn_is_answered_all_the_same() -> None:
    scene = Scene(configured(transcription={"model": "whisper-1"}))
    item = scene.speak(0, 1000)
    told = scene.tell(facts.HearingFailed(item, "too noisy"))
    assert told == ["conversation.item.input_audio_transcription.failed"]
    assert isinstance(scene.asked.turns[-1], brain.Said)
    assert scene.asked.turns[-1].role == "system"


def test_create_response_off_means_that_the_client_asks() -> None:
    scene = Scene(configured(turn_detection={**VAD, "create_response": False}))
    item = scene.speak(0, 1000)
    scene.tell(facts.HeardAll(item, "Hi", 1.0))
    assert scene.all("response.created") == []
    scene.respond()
    assert scene.asked.turns == (brain.Said("user", "Hi"),)


# --- Interruptions ------------------------------------------------------------------------------


def speaking(scene: Scene) -> tuple[str, str]:
    """An answer of two clauses, a second each, under way; its id and its item's."""
    scene.write("Tell me a story.")
    answer = scene.respond()
    for clause in ("Once upon a time, ", "there was a king."):
        scene.say(answer, clause)
        scene.sound(answer, clause, 1000)
    scene.tell(facts.Playing(answer))
    return answer, str(scene.last("response.output_item.added")["item"]["id"])


def test_speech_over_a_paced_answer_cancels_clears_and_truncates_to_what_was_played() -> None:
    scene = Scene(paced=True)
    answer, item = speaking(scene)
    told = scene.tell(facts.SpeechStarted(5000), position=Position(answer, item, 1000))
    assert told == [
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
    assert scene.orders(orders.ClearPlaying)
    assert scene.orders(orders.StopAnswer) == [orders.StopAnswer(answer)]
    done = scene.last("response.done")["response"]
    assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert scene.last("conversation.item.truncated")["audio_end_ms"] == 1000
    assert scene.text_of(item) == "Once upon a time,"
    assert scene.machine.phase is Phase.HEARING


def test_what_was_generated_before_and_plays_on_is_cut_too() -> None:
    scene = Scene(paced=True)
    answer, item = speaking(scene)
    scene.finish(answer)
    assert scene.machine.phase is Phase.ANSWERING, "its sound is still on its way"
    told = scene.tell(facts.SpeechStarted(5000), position=Position(answer, item, 500))
    assert told == [
        "input_audio_buffer.speech_started",
        "output_audio_buffer.cleared",
        "conversation.item.truncated",
    ]
    assert scene.text_of(item) == "Once upon"


def test_over_a_websocket_the_client_says_how_much_it_played() -> None:
    scene = Scene()
    _, item = speaking(scene)
    scene.tell(facts.SpeechStarted(5000))
    assert scene.all("conversation.item.truncated") == []
    scene.ask(client.Truncate(item, 1000))
    assert scene.text_of(item) == "Once upon a time,"


def test_interrupt_response_off_lets_the_answer_go_on_and_answers_the_turn_next() -> None:
    scene = Scene(configured(turn_detection={**VAD, "interrupt_response": False}), paced=True)
    answer, _ = speaking(scene)
    item = scene.speak(5000, 6000)
    scene.tell(facts.HeardAll(item, "And then?", 1.0))
    assert scene.response_id == answer
    assert scene.machine.phase is Phase.ANSWERING
    scene.finish(answer)
    assert scene.response_id != answer
    assert scene.asked.turns[-1] == brain.Said("user", "And then?")


def test_the_assistant_ducks_at_the_first_suspicion() -> None:
    scene = Scene(paced=True)
    speaking(scene)
    scene.tell(facts.SpeechSuspected(), facts.SpeechDismissed())
    assert scene.orders(orders.Duck) == [orders.Duck(True), orders.Duck(False)]


def test_an_uh_huh_leaves_the_floor_to_the_assistant() -> None:
    scene = Scene(paced=True, backchannel=frozenset({"uh-huh"}))
    answer, item = speaking(scene)
    assert scene.tell(facts.SpeechStarted(5000), facts.SpeechStopped(5400)) == []
    probed = scene.orders(orders.Transcribe)[-1]
    assert scene.tell(facts.HeardAll(probed.item_id, "Uh-huh.", 0.4)) == []
    assert scene.orders(orders.Duck)[-1] == orders.Duck(False)
    assert probed.item_id not in [e["item"]["id"] for e in scene.all("conversation.item.added")]
    scene.finish(answer)
    assert scene.text_of(item) == "Once upon a time, there was a king."


def test_a_short_word_that_is_more_than_an_uh_huh_interrupts_after_all() -> None:
    scene = Scene(paced=True, backchannel=frozenset({"uh-huh"}))
    answer, item = speaking(scene)
    scene.tell(facts.SpeechStarted(5000), facts.SpeechStopped(5400))
    probed = scene.orders(orders.Transcribe)[-1]
    here = Position(answer, item, 1200)
    told = scene.tell(facts.HeardAll(probed.item_id, "Stop.", 0.4), position=here)
    assert told[0] == "input_audio_buffer.speech_started"
    assert "conversation.item.truncated" in told
    assert scene.asked.turns[-1] == brain.Said("user", "Stop.")


def test_words_over_the_assistant_that_the_ears_failed_at_are_not_taken_for_nothing() -> None:
    scene = Scene(paced=True, backchannel=frozenset({"uh-huh"}))
    speaking(scene)
    scene.tell(facts.SpeechStarted(5000), facts.SpeechStopped(5400))
    probed = scene.orders(orders.Transcribe)[-1]
    scene.tell(facts.HearingFailed(probed.item_id, "The ears failed."))
    assert probed.item_id in [e["item"]["id"] for e in scene.all("conversation.item.added")]
    assert scene.asked.turns[-1] == brain.Said("system", UNHEARD)


def test_whoever_keeps_speaking_over_the_assistant_is_heard() -> None:
    scene = Scene(paced=True, backchannel=frozenset({"uh-huh"}))
    answer, item = speaking(scene)
    assert scene.tell(facts.SpeechStarted(5000)) == []
    here = Position(answer, item, 900)
    told = scene.tell(facts.TimerFired("yield", 5800), position=here)
    assert told[0] == "input_audio_buffer.speech_started"
    assert scene.last("response.done")["response"]["status"] == "cancelled"


# --- Tools --------------------------------------------------------------------------------------


def test_several_calls_in_one_response_close_each_on_their_own() -> None:
    scene = Scene()
    scene.write("Time and weather, please.")
    answer = scene.respond()
    scene.say(answer, "One moment.")
    for name in ("time", "weather"):
        call = f"call_{name}"
        scene.tell(
            facts.Thought(answer, brain.CallBegun(call, name)),
            facts.Thought(answer, brain.CallArguments(call, "{}")),
            facts.Thought(answer, brain.CallEnded(call)),
        )
    scene.sound(answer, "One moment.", 500)
    scene.finish(answer)
    done = scene.last("response.done")["response"]
    assert [item["type"] for item in done["output"]] == ["message", *["function_call"] * 2]
    assert [e["name"] for e in scene.all("response.function_call_arguments.done")] == [
        "time",
        "weather",
    ]


def test_a_cancelled_call_is_incomplete_and_never_reaches_the_brain_again() -> None:
    scene = Scene()
    scene.write("What time is it?")
    answer = scene.respond()
    scene.tell(facts.Thought(answer, brain.CallBegun("call_1", "time")))
    scene.ask(client.CancelResponse())
    assert scene.last("response.output_item.done")["item"]["status"] == "incomplete"
    assert scene.all("response.function_call_arguments.done") == []
    scene.write("Never mind.")
    scene.respond()
    assert not [turn for turn in scene.asked.turns if isinstance(turn, brain.Call)]


def test_a_result_without_its_call_is_refused_and_kept_from_the_brain() -> None:
    scene = Scene()
    scene.write("Hi")
    output = {"type": "function_call_output", "call_id": "call_9", "output": "42"}
    scene.ask(client.CreateItem(output))
    assert (scene.error["code"], scene.error["param"]) == ("invalid_tool_call_id", "item.call_id")
    scene.respond()
    assert scene.asked.turns == (brain.Said("user", "Hi"),)


# --- Limits and other kinds of responses --------------------------------------------------------


def test_an_answer_cut_at_its_limit_is_incomplete() -> None:
    scene = Scene()
    scene.write("Count.")
    answer = scene.respond(max_output_tokens=2, output_modalities=["text"])
    assert scene.asked.max_tokens == 2
    scene.say(answer, "One two")
    scene.finish(answer, "length")
    done = scene.last("response.done")["response"]
    assert done["status_details"] == {"type": "incomplete", "reason": "max_output_tokens"}


def test_out_of_band_responses_leave_the_conversation_alone() -> None:
    scene = Scene()
    scene.write("My name is Ada.")
    mine = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Classify."}],
    }
    answer = scene.respond(
        conversation="none", input=[mine], output_modalities=["text"], metadata={"topic": "x"}
    )
    before = len(scene.all("conversation.item.added"))
    scene.say(answer, "Greeting")
    scene.finish(answer)
    assert scene.asked.turns == (brain.Said("user", "Classify."),)
    assert len(scene.all("conversation.item.added")) == before
    done = scene.last("response.done")["response"]
    assert (done["conversation_id"], done["metadata"]) == (None, {"topic": "x"})


def test_an_out_of_band_response_may_run_beside_the_conversation_and_is_not_interrupted() -> None:
    scene = Scene()
    scene.write("Hi")
    scene.respond()
    aside = scene.respond(conversation="none", output_modalities=["text"])
    scene.tell(facts.SpeechStarted(100))
    assert [e["response"]["id"] for e in scene.all("response.done")] != [aside]
    scene.say(aside, "Still here")
    scene.finish(aside)
    assert scene.last("response.done")["response"]["status"] == "completed"


def test_a_limit_on_responses_is_told_truly_and_kept() -> None:
    scene = Scene(responses_per_minute=1)
    scene.write("Hi")
    answer = scene.respond()
    limits = scene.last("rate_limits.updated")["rate_limits"]
    assert (limits[0]["limit"], limits[0]["remaining"]) == (1, 0)
    scene.finish(answer)
    scene.respond()
    done = scene.last("response.done")["response"]
    assert done["status_details"]["error"]["code"] == "rate_limit_exceeded"
    scene.now += 61
    scene.finish(scene.respond())
    assert scene.last("response.done")["response"]["status"] == "completed"


def test_silence_for_too_long_makes_the_assistant_speak_up() -> None:
    scene = Scene(configured(turn_detection={**VAD, "idle_timeout_ms": 5000}), paced=True)
    scene.write("Hi")
    answer = scene.respond()
    scene.say(answer, "Hello.")
    scene.sound(answer, "Hello.", 500)
    scene.finish(answer)
    assert scene.orders(orders.StartTimer) == []
    scene.tell(facts.Playing(answer), facts.Played(answer))
    assert scene.orders(orders.StartTimer)[-1] == orders.StartTimer("idle", 5.0)
    told = scene.tell(facts.TimerFired("idle", 9000))
    assert told == [
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
    ]
    assert isinstance(scene.asked.turns[-1], brain.Said)
    assert "nothing" in scene.asked.turns[-1].text


def test_a_conversation_longer_than_the_context_loses_its_oldest_turns() -> None:
    scene = Scene(context_tokens=700)
    for number in range(40):
        scene.write(f"Number {number}: " + "word " * 30)
    scene.respond()
    kept = scene.asked.turns
    assert 0 < len(kept) < 40
    assert isinstance(kept[-1], brain.Said)
    assert kept[-1].text.startswith("Number 39")


def test_what_was_decided_in_turns_that_are_left_out_is_told_in_short() -> None:
    scene = Scene(context_tokens=1_500)
    scene.write("Let's use the blue door.")
    for number in range(40):
        scene.write(f"Number {number}: " + "word " * 30)
    scene.respond()
    first, *rest = scene.asked.turns
    assert isinstance(first, brain.Said)
    assert first.role == "system"
    assert "Let's use the blue door" in first.text
    assert len(rest) < 40
    weight = sum(len(turn.text) // 4 + 1 for turn in scene.asked.turns if hasattr(turn, "text"))
    assert weight <= 1_500


def test_a_summary_of_the_clients_own_is_not_lost_with_the_turns_after_it() -> None:
    scene = Scene(context_tokens=1_500)
    told = client.message_item("s1", "system", "Previous conversation summary: The door is blue.")
    scene.ask(client.CreateItem(told))
    for number in range(40):
        scene.write(f"Number {number}: " + "word " * 30)
    scene.respond()
    assert isinstance(scene.asked.turns[0], brain.Said)
    assert scene.asked.turns[0].text.startswith("Previous conversation summary: The door is blue.")


def test_instructions_and_tools_are_weighed_as_the_brain_reads_them() -> None:
    light = Scene(context_tokens=1_500, fixed=lambda prompt, tools: 0)
    heavy = Scene(context_tokens=1_500, fixed=lambda prompt, tools: 700)
    for scene in (light, heavy):
        for number in range(40):
            scene.write(f"Number {number}: " + "word " * 30)
        scene.respond()
    assert len(heavy.asked.turns) < len(light.asked.turns)


def test_truncation_disabled_fails_the_response_instead() -> None:
    scene = Scene(context_tokens=700)
    scene.ask(client.UpdateSession({"type": "realtime", "truncation": "disabled"}))
    for number in range(40):
        scene.write(f"Number {number}: " + "word " * 30)
    scene.respond()
    done = scene.last("response.done")["response"]
    assert done["status_details"]["error"]["code"] == "context_length_exceeded"


def test_a_brain_that_fails_ends_the_response_and_not_the_session() -> None:
    scene = Scene()
    scene.write("Hi")
    answer = scene.respond()
    scene.tell(facts.AnswerFailed(answer, "engine_error", "The brain is gone."))
    done = scene.last("response.done")["response"]
    assert (done["status"], done["status_details"]["error"]["code"]) == ("failed", "engine_error")
    scene.finish(scene.respond())
    assert scene.last("response.done")["response"]["status"] == "completed"


def test_expiry_is_told_and_ends_the_call() -> None:
    scene = Scene()
    assert scene.tell(facts.TimerFired("expiry")) == ["error"]
    assert scene.error["code"] == "session_expired"
    assert scene.orders(orders.EndCall)


# --- Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (client.UpdateSession({"type": "realtime", "voise": "marin"}), "unknown_parameter"),
        (client.CommitInput(), "input_audio_buffer_commit_empty"),
        (client.ClearOutput(), "not_supported"),
        (client.CreateItem({"type": "message"}), "missing_required_parameter"),
        (client.RetrieveItem("item_none"), "item_retrieve_invalid_item_id"),
        (client.DeleteItem("item_none"), "item_delete_invalid_item_id"),
        (client.Truncate("item_none", 10), "item_truncate_invalid_item_id"),
        (client.CancelResponse(), "response_cancel_not_active"),
        (
            client.CreateResponse(response={"input": [{"type": "item_reference", "id": "x"}]}),
            "item_not_found",
        ),
    ],
)
def test_what_is_wrong_is_told_to_whoever_sent_it_and_changes_nothing(
    event: client.ClientEvent, code: str
) -> None:
    scene = Scene()
    scene.ask(event, "mine_1", sender=OTHER, buffered_ms=20, end_ms=20)
    assert (scene.error["code"], scene.error["event_id"]) == (code, "mine_1")
    assert scene.orders(orders.Send)[-1].to == OTHER
    assert scene.sent == [scene.sent[-1]]
    scene.write("Still here")
    scene.finish(scene.respond())
    assert scene.last("response.done")["response"]["status"] == "completed"


def test_a_second_response_is_refused_while_one_is_under_way() -> None:
    scene = Scene()
    scene.write("Hi")
    scene.respond()
    scene.respond()
    assert scene.error["code"] == "conversation_already_has_active_response"
    assert len(scene.all("response.created")) == 1


def test_truncating_beyond_the_sound_is_refused() -> None:
    scene = Scene()
    _, item = speaking(scene)
    scene.ask(client.Truncate(item, 2001))
    assert scene.error["param"] == "audio_end_ms"
    scene.ask(client.Truncate(item, 100, content_index=1))
    assert scene.error["param"] == "content_index"


def test_the_voice_is_locked_once_it_was_heard() -> None:
    scene = Scene()
    cedar = client.UpdateSession({"type": "realtime", "audio": {"output": {"voice": "cedar"}}})
    scene.ask(cedar)
    assert scene.last("session.updated")["session"]["audio"]["output"]["voice"] == "cedar"
    speaking(scene)
    scene.ask(
        client.UpdateSession({"type": "realtime", "audio": {"output": {"voice": "marin"}}}), "e1"
    )
    assert scene.error["code"] == "cannot_update_voice"


def test_an_item_that_is_being_written_cannot_be_deleted() -> None:
    scene = Scene()
    _, item = speaking(scene)
    scene.ask(client.DeleteItem(item))
    assert scene.error["code"] == "item_in_progress"
