"""Turns that were taken too early: what is held, what is taken back, and that nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.turn.scene import Scene, configured
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.asking import awaited
from vivavoce.engine.turn.manners import Manners
from vivavoce.wire import brain
from vivavoce.wire.realtime import client

SEMANTIC = configured(turn_detection={"type": "semantic_vad"}, transcription={"model": "whisper-1"})
DELETED = "conversation.item.deleted"
WRITTEN = "conversation.item.input_audio_transcription.completed"


def taken(
    scene: Scene, words: str = "Remind me", *, hold_ms: int = 800, open_ms: int = 1000
) -> tuple[str, str]:
    """A turn from 1000 to 2000 that may still go on; its item and its response."""
    scene.tell(
        facts.SpeechSuspected(1000),
        facts.SpeechStarted(1000),
        facts.SpeechStopped(2000, hold_ms, open_ms),
    )
    item = str(scene.last("input_audio_buffer.committed")["item_id"])
    scene.tell(facts.HeardAll(item, words, 1.0))
    return item, scene.response_id


def goes_on(scene: Scene, words: str = "Remind me to call Ann.") -> str:
    """From 2500 to 4000; its item."""
    scene.tell(facts.SpeechSuspected(2500), facts.SpeechStarted(2500), facts.SpeechStopped(4000))
    item = str(scene.last("input_audio_buffer.committed")["item_id"])
    scene.tell(facts.HeardAll(item, words, 3.0))
    return item


def fires(scene: Scene, kind: str, response: str) -> list[str]:
    return scene.tell(facts.TimerFired(f"{kind}:{response}"))


def answers(scene: Scene, response: str, text: str = "Sure. ") -> None:
    scene.say(response, text)
    scene.sound(response, text, 500)


# --- Taken back -------------------------------------------------------------------------------


def test_who_goes_on_before_anything_was_heard_has_never_stopped() -> None:
    scene = Scene(SEMANTIC)
    first, early = taken(scene)
    answers(scene, early)
    assert not scene.orders(orders.Play), "nothing is heard yet"
    told = scene.tell(facts.SpeechSuspected(2500), facts.SpeechStarted(2500))
    assert told[-3:] == ["response.done", DELETED, "input_audio_buffer.speech_started"]
    done = scene.last("response.done")["response"]
    assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "turn_detected")
    assert scene.last(DELETED)["item_id"] == first
    assert scene.last("input_audio_buffer.speech_started")["audio_start_ms"] == 1000
    assert scene.orders(orders.Listen)[-1].start_ms == 1000
    scene.tell(facts.SpeechStopped(4000))
    heard = scene.orders(orders.Transcribe)[-1]
    assert (heard.start_ms, heard.end_ms) == (1000, 4000), "before and after, in one piece"
    scene.tell(facts.HeardAll(heard.item_id, "Remind me to call Ann.", 3.0))
    assert scene.asked.turns == (brain.Said("user", "Remind me to call Ann."),)
    assert not scene.orders(orders.Play)
    assert [e["transcript"] for e in scene.all(WRITTEN)] == ["Remind me to call Ann."]


def test_the_sound_is_kept_until_it_is_certain() -> None:
    scene = Scene(SEMANTIC)
    _, early = taken(scene)
    assert scene.orders(orders.ForgetAudio)[-1].before_ms == 1000
    fires(scene, "settle", early)
    assert scene.orders(orders.ForgetAudio)[-1].before_ms == 2000


def test_a_turn_can_be_taken_back_again_and_again() -> None:
    scene = Scene(SEMANTIC)
    taken(scene)
    for number in range(3):
        at = 3000 + number * 1000
        scene.tell(facts.SpeechStarted(at), facts.SpeechStopped(at + 500, 700, 900))
    assert scene.orders(orders.Transcribe)[-1].start_ms == 1000
    assert len(scene.all(DELETED)) == 3
    users = [item for item in scene.machine.state.conversation if item.id.startswith("item")]
    assert len(users) == 1


def test_words_that_come_after_the_turn_was_taken_back_are_nobodys() -> None:
    scene = Scene(SEMANTIC)
    scene.tell(facts.SpeechStarted(1000), facts.SpeechStopped(2000, 800, 1000))
    first = scene.orders(orders.Transcribe)[-1].item_id
    scene.tell(facts.SpeechStarted(2400))
    assert scene.tell(facts.HeardAll(first, "Remind me", 1.0)) == []


def test_what_nobody_understood_counts_once_with_what_follows() -> None:
    scene = Scene(SEMANTIC, manners=Manners())
    taken(scene, "")
    assert scene.machine.state.unheard == 1
    goes_on(scene, "")
    assert scene.machine.state.unheard == 1


# --- Heard after all ----------------------------------------------------------------------------


def test_once_the_hold_is_over_the_answer_is_heard_and_the_words_are_told() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene)
    answers(scene, response)
    assert not scene.all(WRITTEN)
    told = fires(scene, "hold", response)
    assert "response.output_audio_transcript.delta" in told
    assert WRITTEN in told
    assert len(scene.orders(orders.Play)) == 1


def test_a_word_over_an_answer_that_is_heard_interrupts_it_as_ever() -> None:
    scene = Scene(SEMANTIC)
    first, response = taken(scene)
    answers(scene, response)
    fires(scene, "hold", response)
    goes_on(scene, "to call Ann.")
    assert not scene.all(DELETED)
    assert first in scene.machine.state.conversation
    assert scene.asked.turns[0] == brain.Said("user", "Remind me")
    assert scene.asked.turns[-1] == brain.Said("user", "to call Ann.")


def test_sound_that_may_be_speech_keeps_the_answer_back_until_it_is_known() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene)
    answers(scene, response)
    scene.tell(facts.SpeechSuspected(2700))
    assert fires(scene, "hold", response) == []
    assert not scene.orders(orders.Play)
    scene.tell(facts.SpeechDismissed(2800))
    assert scene.orders(orders.Play)


def test_sound_that_may_be_speech_keeps_back_an_answer_that_is_not_held() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene, hold_ms=0)
    scene.tell(facts.SpeechSuspected(2300))
    answers(scene, response)
    assert not scene.orders(orders.Play)
    scene.tell(facts.SpeechDismissed(2400))
    assert len(scene.orders(orders.Play)) == 1


def test_without_a_doubt_nothing_is_held() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene, hold_ms=0, open_ms=0)
    answers(scene, response)
    assert scene.orders(orders.Play)
    assert scene.all(WRITTEN)


def test_whoever_must_not_interrupt_takes_nothing_back() -> None:
    vad = {"type": "semantic_vad", "interrupt_response": False}
    scene = Scene(configured(turn_detection=vad))
    first, response = taken(scene)
    answers(scene, response)
    scene.tell(facts.SpeechStarted(2500))
    assert not scene.all(DELETED)
    assert first in scene.machine.state.conversation
    fires(scene, "settle", response)
    assert scene.orders(orders.Play)


# --- Calls ---------------------------------------------------------------------------------------


def calls(scene: Scene, response: str) -> None:
    for piece in (
        brain.CallBegun("call_1", "submit"),
        brain.CallArguments("call_1", "{}"),
        brain.CallEnded("call_1"),
        brain.Finished(),
    ):
        scene.tell(facts.Thought(response, piece))
    scene.tell(facts.AllSpoken(response))


def test_a_call_waits_until_the_turn_cannot_be_taken_back() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene, hold_ms=0)
    answers(scene, response, "One moment. ")
    calls(scene, response)
    assert scene.orders(orders.Play), "words need not wait"
    assert not scene.all("response.function_call_arguments.done")
    told = fires(scene, "settle", response)
    assert "response.function_call_arguments.done" in told
    assert told[-1] == "response.done"


def test_a_call_of_a_turn_that_was_taken_back_is_never_told() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene, hold_ms=0)
    calls(scene, response)
    goes_on(scene)
    fires(scene, "settle", response)
    assert not scene.all("response.function_call_arguments.done")


def test_a_call_after_words_that_were_heard_is_dropped_where_the_user_goes_on() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene, hold_ms=0)
    answers(scene, response)
    calls(scene, response)
    goes_on(scene)
    fires(scene, "settle", response)
    assert not scene.all("response.function_call_arguments.done")


# --- Clients in between --------------------------------------------------------------------------


def test_a_cleared_buffer_settles_what_was_open() -> None:
    scene = Scene(SEMANTIC)
    _, response = taken(scene)
    answers(scene, response)
    scene.ask(client.ClearInput(), end_ms=2600)
    assert scene.orders(orders.Play)
    assert scene.all(WRITTEN)


def test_a_response_aside_does_without_the_words_that_were_taken_back() -> None:
    scene = Scene(SEMANTIC)
    scene.tell(facts.SpeechStarted(1000), facts.SpeechStopped(2000, 800, 1000))
    scene.ask(client.CreateResponse(response={"conversation": "none"}))
    before = len(scene.orders(orders.Answer))
    scene.tell(facts.SpeechStarted(2400))
    assert len(scene.orders(orders.Answer)) == before + 1


# --- What is waited for --------------------------------------------------------------------------


def test_the_brain_says_what_it_waits_for_and_a_question_waits_for_words() -> None:
    scene = Scene(SEMANTIC)
    state = scene.machine.state
    assert awaited(state) is None
    scene.write("Hi")
    response = scene.respond()
    scene.say(response, "When should it be?")
    scene.sound(response, "When should it be?", 500)
    scene.tell(facts.Thought(response, brain.Finished(awaits="time")), facts.AllSpoken(response))
    assert awaited(state) == "time"
    response = scene.respond()
    scene.say(response, "And who is it for?")
    scene.sound(response, "And who is it for?", 500)
    scene.finish(response)
    assert awaited(state) == "words"


# --- Whatever happens ----------------------------------------------------------------------------

STEPS = ("speak", "suspect", "dismiss", "stop", "doubt", "words", "say", "call", "finish", "hold",
         "settle", "cancel", "aside")  # fmt: skip


class Room:
    """A user who speaks numbered words, a brain that calls and talks, and a clock that keeps to
    the timers it was given."""

    def __init__(self, *, paced: bool) -> None:
        self.scene = Scene(SEMANTIC, paced=paced)
        self.ms = 1000
        self.number = 0
        self.told: dict[str, bool] = {}
        """The timers that run."""
        self.looked = 0
        self.settled: set[str] = set()
        self.responses: set[str] = set()

    def take(self, step: str) -> None:
        self.ms += 100
        getattr(self, f"do_{step}")()
        for order in self.scene.done[self.looked :]:
            match order:
                case orders.StartTimer(name):
                    self.told[name] = True
                case orders.StopTimer(name):
                    self.told.pop(name, None)
                case _:
                    pass
        self.looked = len(self.scene.done)
        self.check()

    @property
    def state(self) -> Any:
        return self.scene.machine.state

    def do_speak(self) -> None:
        self.scene.tell(facts.SpeechSuspected(self.ms), facts.SpeechStarted(self.ms))

    def do_suspect(self) -> None:
        if self.state.speech is None:
            self.scene.tell(facts.SpeechSuspected(self.ms))

    def do_dismiss(self) -> None:
        if self.state.speech is None:
            self.scene.tell(facts.SpeechDismissed(self.ms))

    def do_stop(self) -> None:
        self.scene.tell(facts.SpeechStopped(self.ms))

    def do_doubt(self) -> None:
        self.scene.tell(facts.SpeechStopped(self.ms, 500, 900))

    def do_words(self) -> None:
        for order in self.scene.orders(orders.Transcribe)[-2:]:
            if self.state.transcripts.get(order.item_id, "") is None:
                words = f"{order.start_ms}-{order.end_ms}"
                self.scene.tell(facts.HeardAll(order.item_id, words, 1.0))

    def do_say(self) -> None:
        if self.state.active:
            answers(self.scene, self.state.active)

    def do_call(self) -> None:
        if self.state.active:
            self.number += 1
            for piece in (
                brain.CallBegun(f"call_{self.number}", "submit"),
                brain.CallEnded(f"call_{self.number}"),
            ):
                self.scene.tell(facts.Thought(self.state.active, piece))

    def do_finish(self) -> None:
        if self.state.active:
            self.scene.finish(self.state.active)

    def fire(self, kind: str) -> None:
        for name in [one for one in self.told if one.startswith(kind)]:
            del self.told[name]
            self.settled.add(name)
            self.scene.tell(facts.TimerFired(name))

    def do_hold(self) -> None:
        self.fire("hold")

    def do_settle(self) -> None:
        self.fire("hold")
        self.fire("settle")

    def do_cancel(self) -> None:
        self.scene.ask(client.CancelResponse())

    def do_aside(self) -> None:
        self.scene.ask(client.CreateResponse(response={"conversation": "none"}))

    # --- What must hold -------------------------------------------------------------------------

    def check(self) -> None:
        scene, state = self.scene, self.state
        created = [e["response"] for e in scene.all("response.created")]
        done = [e["response"]["id"] for e in scene.all("response.done")]
        assert len(done) == len(set(done)), "done once"
        active = [r["id"] for r in created if r["id"] not in done and r["conversation_id"]]
        assert active == ([state.active] if state.active else []), "never two, and none lost"
        if state.open is not None:
            assert state.open.item_id in state.conversation
            called = scene.all("response.function_call_arguments.done")
            assert state.open.response_id not in {e["response_id"] for e in called}
            if state.open.silent:
                played = {order.response_id for order in scene.orders(orders.Play)}
                assert state.open.response_id not in played
        self.check_words()

    def check_words(self) -> None:
        """All that was said since the beginning is in the items that are there, each once."""
        gone = {e["item_id"] for e in self.scene.all(DELETED)}
        heard = [o for o in self.scene.orders(orders.Transcribe) if o.item_id not in gone]
        for one, other in pairwise(heard):
            assert one.end_ms <= other.start_ms, "nothing is in two items"
        for order in self.scene.orders(orders.Transcribe):
            if order.item_id in gone:
                later = [o for o in self.scene.orders(orders.Transcribe) if o.end_ms > order.end_ms]
                speaks = self.state.speech is not None and (
                    self.state.speech.start_ms <= order.start_ms
                )
                kept = any(o.start_ms <= order.start_ms for o in later)
                assert kept or speaks, "what was taken back is in what follows"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=40), st.booleans())
def test_no_order_of_things_loses_a_word_or_calls_too_early(steps: list[str], paced: bool) -> None:
    room = Room(paced=paced)
    for step in ("speak", "doubt", *steps):
        room.take(step)
    # And in the end everything that was said is answered.
    for step in ("dismiss", "stop", "words", "settle", "finish", "words", "settle", "finish"):
        room.take(step)
    assert room.state.open is None
    assert room.state.active is None
    assert not room.state.turn_waits
