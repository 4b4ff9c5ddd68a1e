"""What the user types: recorded first, answered in its turn, and known when it is answered."""

from __future__ import annotations

from dataclasses import replace

from tests.session.scene import SESSION, START, Scene, answer, call, message, sent, told, user_turn
from vivavoce.session.calling import IF_UNANSWERED
from vivavoce.session.context import item_of
from vivavoce.session.effects import Answered, Close, Record, Send, StartTimer
from vivavoce.session.events import (
    BudgetSpent,
    CallPlaced,
    CallSurvived,
    SidebandLost,
    SidebandUp,
    TimerFired,
    ToolFinished,
    TypedText,
)
from vivavoce.session.policy import Policy
from vivavoce.wire.events import SessionWarning, TranscriptionCompleted
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.client import CreateItem, CreateResponse, message_item
from vivavoce.wire.records.talk import Entry, Status

HELLO = TypedText("vvt_1", "Hello")


def answered(scene: Scene) -> list[tuple[str, str | None]]:
    return [
        (e.item_id, e.reply.text if e.reply else None)
        for e in scene.effects
        if isinstance(e, Answered)
    ]


def of_another(entry: Entry) -> Entry:
    return replace(entry, session_id="vs_another")


def echo(item_id: str = "vvt_1") -> rt.ItemAdded:
    return rt.ItemAdded(message(item_id, "user", "Hello"))


def test_typed_words_are_recorded_before_they_are_sent_and_then_answered() -> None:
    scene = Scene().connect()
    effects = scene.send(HELLO)
    kinds = [type(e) for e in effects if isinstance(e, Record | Send)]
    assert kinds.index(Record) < kinds.index(Send)
    (entry,) = scene.entries().values()
    assert (entry.text, entry.modality) == ("Hello", "text")
    assert sent(effects, CreateItem)[0].item_id == "vvt_1"
    assert len(sent(effects, CreateResponse)) == 1
    assert told(effects, TranscriptionCompleted)[0].role == "user"
    scene.wait(1).send(echo(), *answer("r1", "a1", "Hi.", "vvt_1"))
    assert answered(scene) == [("vvt_1", "Hi.")]


def test_the_same_message_twice_is_one() -> None:
    scene = Scene().connect()
    scene.send(HELLO)
    assert scene.send(HELLO) == []


def test_it_is_not_answered_before_the_tools_that_it_needs() -> None:
    scene = Scene().connect()
    scene.send(HELLO, echo(), rt.ResponseCreated("r1"), call("call_1", "r1"))
    scene.send(rt.ResponseDone("r1"))
    assert answered(scene) == []
    scene.wait(1).send(ToolFinished("call_1", "noon"))
    assert answered(scene) == []
    scene.send(*answer("r2", "a2", "It is noon.", "f_call_1"))
    assert answered(scene) == [("vvt_1", "It is noon.")]


def test_words_typed_while_the_assistant_answers_wait_for_their_turn() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.ResponseCreated("r1"))
    effects = scene.send(HELLO)
    assert sent(effects, CreateItem)
    assert not sent(effects, CreateResponse)
    scene.wait(1).send(echo(), rt.ResponseDone("r1"))
    assert len(sent(scene.effects, CreateResponse)) == 1
    assert answered(scene) == []
    scene.wait(1).send(*answer("r2", "a2", "Hi.", "vvt_1"))
    assert answered(scene) == [("vvt_1", "Hi.")]


def test_words_typed_before_the_sideband_is_up_are_sent_once_it_is() -> None:
    scene = Scene()
    scene.send(CallPlaced("text_1"))
    assert not sent(scene.send(HELLO), CreateItem)
    effects = scene.send(SidebandUp(), rt.Configured(False, scene.machine.state.setup.session))
    assert [c.item_id for c in sent(effects, CreateItem)] == ["vvt_1"]
    assert len(sent(effects, CreateResponse)) == 1


def test_an_answer_that_fails_for_good_is_answered_with_words_that_say_so() -> None:
    scene = Scene().connect()
    scene.send(HELLO, echo(), rt.ResponseCreated("r1"), rt.ResponseDone("r1", status="failed"))
    for number in range(2, 10):
        scene.wait(10).send(TimerFired("retry"))
        (words,) = sent(scene.effects, CreateResponse)[-1:]
        if words.say and words.say.startswith("I couldn't answer that"):
            break
        reply = [] if words.say is None else answer(f"r{number}", f"a{number}", words.say, "vvt_1")
        scene.send(*reply, rt.PlaybackStopped(f"r{number}"))
        failing = rt.ResponseCreated(f"f{number}"), rt.ResponseDone(f"f{number}", status="failed")
        scene.send(*failing)
    assert answered(scene) == []
    scene.send(*answer("r99", "a99", words.say or "", "vvt_1"), rt.PlaybackStopped("r99"))
    [(item_id, reply_text)] = answered(scene)
    assert item_id == "vvt_1"
    assert reply_text is not None
    assert reply_text.startswith("I couldn't answer that")


def test_where_the_connection_is_the_session_a_lost_connection_ends_it() -> None:
    scene = Scene(Policy(one_connection=True)).connect()
    scene.wait(60).send(SidebandLost(1006, False))
    assert scene.phase == "terminated"
    assert [e.status for e in scene.effects if isinstance(e, Close)] == [Status.ERROR]


def test_a_spent_budget_is_told_once_and_ends_the_session_even_in_silence() -> None:
    scene = Scene(Policy(budget_grace=20)).connect()
    effects = scene.send(BudgetSpent()) + scene.send(BudgetSpent())
    assert [w.reason for w in told(effects, SessionWarning)] == ["budget"]
    (words,) = sent(effects, CreateResponse)
    assert words.say == Policy().budget_words
    for _ in range(11):
        (timer,) = [e for e in effects if isinstance(e, StartTimer) and e.name == "budget"]
        effects = scene.wait(timer.seconds).send(TimerFired("budget"))
        if scene.phase == "terminated":
            break
    assert scene.phase == "terminated"
    assert (scene.now - START).total_seconds() <= 21
    assert [e.reason for e in scene.effects if isinstance(e, Close)] == ["budget"]


def test_what_another_session_kept_is_answered_and_not_recorded_again() -> None:
    before = Scene().connect()
    before.send(HELLO)
    (entry,) = before.entries().values()
    kept = of_another(entry)
    scene = Scene()
    history = (message_item(item_of(kept), "user", "Hello"),)
    scene.send(CallPlaced("rtc_1", history=history), TypedText("vvt_1", "Hello", stored=kept))
    scene.send(SidebandUp(), rt.Configured(False, SESSION))
    assert [c.item_id for c in sent(scene.effects, CreateItem)] == [item_of(kept)]
    assert len(sent(scene.effects, CreateResponse)) == 1
    assert not scene.entries()
    assert scene.send(TypedText("vvt_1", "Hello", stored=kept)) == []
    scene.wait(1).send(*answer("r1", "a1", "Hi.", item_of(kept)))
    assert answered(scene) == [("vvt_1", "Hi.")]


def test_a_session_that_falls_over_a_message_has_not_answered_it() -> None:
    scene = Scene(Policy(one_connection=True)).connect()
    scene.send(HELLO, echo(), rt.ResponseCreated("r1"))
    effects = scene.send(SidebandLost(1006, hung_up=False))
    assert any(isinstance(effect, Close) for effect in effects)
    assert answered(scene) == []


def test_what_was_kept_while_the_call_was_placed_is_told_to_it_and_not_recorded_again() -> None:
    before = Scene().connect()
    before.send(HELLO)
    (entry,) = before.entries().values()
    scene = Scene().connect()
    effects = scene.send(TypedText("vvt_1", "Hello", stored=of_another(entry)))
    assert [c.item_id for c in sent(effects, CreateItem)] == ["vvt_1"]
    assert len(sent(effects, CreateResponse)) == 1
    assert not scene.entries()


def test_all_that_another_session_kept_has_one_answer() -> None:
    before = Scene().connect()
    before.send(HELLO, TypedText("vvt_2", "Are you there?"))
    kept = [of_another(entry) for entry in before.entries().values()]
    scene = Scene()
    history = tuple(message_item(item_of(one), "user", one.text) for one in kept)
    scene.send(CallPlaced("rtc_1", history=history), SidebandUp(), rt.Configured(False, SESSION))
    for one in kept:
        scene.send(TypedText(str(one.data["item_id"]), one.text, stored=one))
    scene.wait(1).send(*answer("r1", "a1", "Hi. Yes.", history[-1]["id"]))
    assert answered(scene) == [("vvt_1", "Hi. Yes."), ("vvt_2", "Hi. Yes.")]
    assert len(sent(scene.effects, CreateResponse)) == 1


def test_after_a_restart_a_call_that_has_the_message_is_asked_for_what_it_may_owe() -> None:
    for there in (True, False):
        scene = Scene()
        known = (("vvt_1", 1.0),)
        left = (("vvt_1", "Hello"),)
        scene.send(CallSurvived(call_id="rtc_1", typed=left, known_items=known))
        (command,) = sent(scene.send(SidebandUp()), CreateItem)
        assert command.item_id == "vvt_1"
        scene.send(rt.Configured(False, SESSION))
        scene.send(rt.Fault("item_already_exists", "", command.event_id) if there else echo())
        (asked,) = sent(scene.effects, CreateResponse)
        # It may have answered while we were away: nobody wants to hear that twice.
        assert (asked.instructions or "").endswith(IF_UNANSWERED if there else "")
        assert bool(asked.instructions) is there
