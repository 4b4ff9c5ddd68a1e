"""What is said without asking the brain: apologies, and "one moment"."""

from __future__ import annotations

from typing import Any

from tests.engine.turn.scene import Scene, configured
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.manners import SLOW, UNHEARD, Manners, without_acknowledgement
from vivavoce.wire.brain import CallArguments, CallBegun, CallEnded, Finished, Said
from vivavoce.wire.realtime import client


def polite(**more: Any) -> Scene:
    return Scene(
        configured(transcription={"model": "whisper-1"}), manners=Manners(), speculate=False, **more
    )


def say(scene: Scene, text: str, at: int, confidence: float = 1.0) -> orders.Answer:
    """The user says something, and this is how it is answered."""
    item = scene.speak(at, at + 900)
    scene.tell(facts.HeardAll(item, text, 0.9, confidence=confidence))
    answer: orders.Answer = scene.orders(orders.Answer)[-1]
    return answer


def done(scene: Scene) -> None:
    scene.finish(scene.response_id)


def test_what_was_not_heard_is_asked_again_and_then_typing_is_offered() -> None:
    scene = polite()
    first = say(scene, "", 0)
    assert (first.ask, first.words) == (None, UNHEARD[0])
    done(scene)
    second = say(scene, "...", 2000)
    assert second.words == UNHEARD[1]
    done(scene)
    assert say(scene, "", 4000).words == UNHEARD[1]
    done(scene)
    understood = say(scene, "What time is it?", 6000)
    assert understood.ask is not None
    done(scene)
    assert say(scene, "", 8000).words == UNHEARD[0]


def test_what_the_ears_are_not_sure_of_is_asked_again() -> None:
    scene = polite()
    assert say(scene, "Blub wub flub.", 0, confidence=0.1).words == UNHEARD[0]
    assert scene.last("conversation.item.input_audio_transcription.completed")["transcript"]


def test_ears_that_fail_are_apologised_for_too() -> None:
    scene = polite()
    item = scene.speak(0, 900)
    scene.tell(facts.HearingFailed(item, "noise"))
    assert scene.orders(orders.Answer)[-1].words == UNHEARD[0]


def test_text_is_never_apologised_for() -> None:
    scene = polite()
    say(scene, "", 0)
    done(scene)
    scene.write("Are you there?")
    scene.respond()
    assert scene.orders(orders.Answer)[-1].ask is not None


def test_without_manners_the_brain_is_told_that_nothing_was_understood() -> None:
    scene = Scene(speculate=False)
    answer = say(scene, "", 0)
    assert answer.ask is not None
    assert any("could not be understood" in t.text for t in answer.ask.turns if isinstance(t, Said))


def test_other_peoples_sessions_have_manners_only_if_they_ask() -> None:
    scene = polite(foreign=True)
    assert say(scene, "", 0).ask is not None
    assert not [o for o in scene.orders(orders.StartTimer) if o.name.startswith("slow")]
    done(scene)
    scene.ask(client.UpdateSession({"vivavoce_manners": True}))
    assert "vivavoce_manners" not in scene.last("session.updated")["session"]
    assert say(scene, "", 4000).words == UNHEARD[1]


# --- One moment ---------------------------------------------------------------------------


def slow(scene: Scene) -> list[str]:
    return scene.tell(facts.TimerFired(f"slow:{scene.response_id}"))


def test_a_slow_answer_is_acknowledged_once_a_turn_and_never_twice_the_same_way() -> None:
    scene = polite()
    said = []
    for turn in range(4):
        say(scene, "Tell me.", 2000 * turn)
        assert "response.output_audio_transcript.delta" in slow(scene)
        said.append(scene.orders(orders.Interject)[-1].words.strip())
        assert slow(scene) == []
        done(scene)
    assert said == [*SLOW, SLOW[0]]


def test_an_answer_that_sounds_is_not_acknowledged() -> None:
    scene = polite()
    say(scene, "Tell me.", 0)
    scene.say(scene.response_id, "It is ten.")
    assert slow(scene) == []
    scene.sound(scene.response_id, "It is ten.", 500)
    assert f"slow:{scene.response_id}" in [o.name for o in scene.orders(orders.StopTimer)]


def test_after_a_tool_the_same_turn_is_not_acknowledged_again() -> None:
    scene = polite()
    say(scene, "What time is it?", 0)
    slow(scene)
    first = scene.response_id
    for piece in (CallBegun("c1", "clock"), CallArguments("c1", "{}"), CallEnded("c1")):
        scene.tell(facts.Thought(first, piece))
    scene.sound(first, SLOW[0] + " ", 600)
    scene.tell(facts.Thought(first, Finished()), facts.AllSpoken(first))
    output = {"type": "function_call_output", "call_id": "c1", "output": "10:42"}
    scene.ask(client.CreateItem(output))
    before = len(scene.orders(orders.StartTimer))
    scene.respond()
    assert not [o for o in scene.orders(orders.StartTimer)[before:] if o.name.startswith("slow")]
    assert slow(scene) == []
    # Nor does the brain read its own courtesies.
    assert not [t for t in scene.asked.turns if isinstance(t, Said) and t.role == "assistant"]


def test_an_answer_in_text_is_never_acknowledged() -> None:
    scene = polite()
    scene.write("Hello?")
    scene.respond(output_modalities=["text"])
    assert not scene.orders(orders.StartTimer)
    assert slow(scene) == []


def test_only_the_courtesy_in_front_is_left_out() -> None:
    assert without_acknowledgement("One moment. It is ten.") == "It is ten."
    assert without_acknowledgement("Let me see.") == ""
    assert without_acknowledgement("It is ten. One moment. More.") == "It is ten. One moment. More."


def test_silence_after_a_mumble_is_not_apologised_for() -> None:
    vad = {"type": "server_vad", "idle_timeout_ms": 5000}
    scene = Scene(configured(turn_detection=vad), manners=Manners(), speculate=False)
    say(scene, "", 0)
    done(scene)
    scene.tell(facts.TimerFired("idle", 9000))
    asked = scene.orders(orders.Answer)[-1]
    assert asked.ask is not None
    assert not [o for o in scene.orders(orders.StartTimer) if o.name == f"slow:{asked.response_id}"]


def test_nobody_is_told_to_wait_for_what_nobody_asked() -> None:
    scene = polite()
    say(scene, "Tell me.", 0)
    scene.say(scene.response_id, "It is ten.")
    scene.sound(scene.response_id, "It is ten.", 500)
    done(scene)
    scene.write("The task is done.", role="system")
    before = len(scene.orders(orders.StartTimer))
    scene.respond()
    assert not [o for o in scene.orders(orders.StartTimer)[before:] if o.name.startswith("slow")]


def test_whoever_typed_in_between_is_apologised_to_from_the_beginning() -> None:
    scene = polite()
    say(scene, "", 0)
    done(scene)
    scene.write("What time is it?")
    scene.respond()
    done(scene)
    assert say(scene, "", 4000).words == UNHEARD[0]


def test_courtesies_may_be_in_words_of_the_session() -> None:
    scene = polite()
    said = {"slow": ["Hold on."], "unheard": ["Pardon?", "I still can't hear you."]}
    scene.ask(client.UpdateSession({"vivavoce_manners": said}))
    assert say(scene, "", 0).words == "Pardon?"
    done(scene)
    assert say(scene, "", 2000).words == "I still can't hear you."
    done(scene)
    say(scene, "Tell me.", 4000)
    slow(scene)
    assert scene.orders(orders.Interject)[-1].words.strip() == "Hold on."
