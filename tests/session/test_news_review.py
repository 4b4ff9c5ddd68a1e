"""Review: what a spoken yes may be taken for, and news that must not be lost or looped."""

from __future__ import annotations

from tests.session.scene import Scene, answer, sent, user_turn
from vivavoce.errors import row_of
from vivavoce.session import effects as fx
from vivavoce.session import events as ev
from vivavoce.session.effects import StartTimer
from vivavoce.wire.realtime import client as cmd
from vivavoce.wire.realtime import facts as rt

NEWS = ev.News("task:t1", "The task is done.", settles="t1")


def said(scene: Scene, words: str, item_id: str) -> list[str]:
    effects = scene.send(*user_turn(item_id), rt.UserTranscript(item_id, words))
    return [e.approval_id for e in effects if isinstance(e, fx.Resolve)]


def speaks(scene: Scene, response_id: str, item_id: str, words: str) -> list[fx.Effect]:
    effects = scene.send(*answer(response_id, item_id, words, ""), rt.PlaybackStopped(response_id))
    scene.wait(2)
    return effects


def test_a_yes_to_another_question_of_the_assistant_approves_nothing_and_it_is_asked_again() -> (
    None
):
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    speaks(scene, "r1", "i1", "May I delete it?")
    assert said(scene, "What would that delete?", "u1") == []
    effects = speaks(scene, "r2", "i2", "The build folder. Shall I list it first?")
    assert [c.say for c in sent(effects, cmd.CreateResponse)] == ["May I delete it?"]
    assert said(scene, "Yes.", "u2") == []
    speaks(scene, "r3", "i3", "May I delete it?")
    assert said(scene, "Yes.", "u3") == ["a1"]


def test_who_has_said_yes_is_not_asked_again_by_whatever_is_said_to_it() -> None:
    """The model may answer the yes aloud before anybody has acted on it."""
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    speaks(scene, "r1", "i1", "May I delete it?")
    assert said(scene, "Yes.", "u1") == ["a1"]
    effects = speaks(scene, "r2", "i2", "All right.")
    effects += scene.send(ev.ApprovalSettled("a1"))
    assert not sent(effects, cmd.CreateResponse)


def test_what_is_said_to_a_yes_whose_words_come_later_asks_nobody_again() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    speaks(scene, "r1", "i1", "May I delete it?")
    effects = scene.send(*user_turn("u1"))
    scene.wait(1)
    effects += speaks(scene, "r2", "i2", "All right.")
    effects += scene.send(rt.UserTranscript("u1", "Yes."))
    assert [e.approval_id for e in effects if isinstance(e, fx.Resolve)] == ["a1"]
    assert not sent(effects, cmd.CreateResponse)


def test_what_is_said_to_other_words_that_come_later_is_followed_by_the_request() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    speaks(scene, "r1", "i1", "May I delete it?")
    effects = scene.send(*user_turn("u1"))
    effects += speaks(scene, "r2", "i2", "The build folder.")
    assert not sent(effects, cmd.CreateResponse)
    late = scene.send(rt.UserTranscript("u1", "What would that delete?"))
    assert [c.say for c in sent(late, cmd.CreateResponse)] == ["May I delete it?"]


def test_a_yes_to_what_a_tool_asks_approves_nothing() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    speaks(scene, "r1", "i1", "May I delete it?")
    scene.send(ev.News("question:q1", "A tool asks.", say="Do you like cake?"))
    speaks(scene, "r2", "i2", "Do you like cake?")
    assert said(scene, "Yes.", "u1") == []


def test_a_yes_to_what_still_sounds_is_none_to_a_request_that_is_only_made() -> None:
    """What is made sooner than it is heard waits behind what sounds."""
    scene = Scene().connect()
    made = answer("r1", "i1", "Are you feeling well?", "")
    scene.send(*made)
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    request = answer("r2", "i2", "May I delete it?", "i1")
    sounds = [one for one in request if isinstance(one, rt.PlaybackStarted)]
    assert sounds
    scene.send(*(one for one in request if one not in sounds))
    scene.wait(2)
    assert said(scene, "Yes.", "u1") == []
    scene.send(rt.PlaybackStopped("r1"), *sounds)
    scene.wait(1)
    assert said(scene, "Yes.", "u2") == ["a1"]


def test_a_yes_after_two_requests_is_never_for_the_one_that_was_heard_before() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"), ev.ApprovalAsked("a2", "May I look?"))
    effects = speaks(scene, "r1", "i1", "May I delete it?")
    assert not sent(effects, cmd.CreateResponse), "the second waits for the first"
    effects = scene.send(ev.ApprovalSettled("a1"))
    assert [c.say for c in sent(effects, cmd.CreateResponse)] == ["May I look?"]


def test_a_late_transcript_of_the_yes_still_counts() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I?"))
    speaks(scene, "r1", "i1", "May I?")
    scene.send(*user_turn("u1"))
    scene.wait(1)
    scene.send(*answer("r2", "i2", "Fine, running it.", "u1"))
    late = scene.send(rt.UserTranscript("u1", "Yes."))
    assert [e.approval_id for e in late if isinstance(e, fx.Resolve)] == ["a1"]


def test_a_yes_over_the_first_sound_of_the_request_is_for_something_else() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I delete it?"))
    scene.send(*answer("r1", "i1", "May I delete it?", "")[:-1])
    scene.wait(0.2)
    assert said(scene, "Yes.", "u1") == []
    assert said(scene, "No.", "u2") == ["a1"]


def test_a_request_that_was_cut_off_before_a_sound_is_put_again() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I?"))
    again = scene.send(rt.ResponseCreated("r1"), rt.ResponseDone("r1", status="cancelled"))
    assert [c.say for c in sent(again, cmd.CreateResponse)] == ["May I?"]


def test_a_provider_that_fails_is_not_asked_for_ever() -> None:
    scene = Scene().connect()
    asked = len(sent(scene.send(NEWS), cmd.CreateResponse))
    for number in range(20):
        effects = scene.send(
            rt.ResponseCreated(f"r{number}"), rt.ResponseDone(f"r{number}", status="failed")
        )
        if any(isinstance(e, StartTimer) and e.name == "retry" for e in effects):
            effects += scene.wait(10).send(ev.TimerFired("retry"))
        asked += len(sent(effects, cmd.CreateResponse))
        if not sent(effects, cmd.CreateResponse):
            break
    assert asked == 1 + len(row_of("server_error").waits)
    assert not [c for c in sent(scene.effects, cmd.CreateResponse) if c.say]  # nobody waits for it


def test_another_response_that_came_first_does_not_count_as_the_request() -> None:
    scene = Scene().connect()
    effects = scene.send(ev.ApprovalAsked("a1", "May I?"))
    [ours] = sent(effects, cmd.CreateResponse)
    scene.send(rt.ResponseCreated("theirs"))
    fault = rt.Fault("conversation_already_has_active_response", "", ours.event_id)
    scene.send(fault)
    effects = scene.send(*answer("theirs", "i1", "It is noon.", "")[1:])
    effects += scene.send(rt.PlaybackStopped("theirs"))
    scene.wait(2)
    assert [c.say for c in sent(effects, cmd.CreateResponse)] == ["May I?"]
    assert said(scene, "Yes.", "u1") == []


def test_what_was_to_be_told_when_the_sideband_was_lost_is_told_when_it_is_back() -> None:
    scene = Scene().connect()
    scene.send(NEWS, rt.ResponseCreated("r1"))
    scene.wait(10).send(ev.SidebandLost(1006, hung_up=False))
    effects = scene.send(ev.SidebandUp())
    assert sent(effects, cmd.CreateResponse)


def test_a_task_that_ended_before_its_start_was_told_is_not_waited_for() -> None:
    scene = Scene().connect()
    scene.send(NEWS, ev.TaskStarted("t1"), NEWS)
    assert not scene.machine.state.work.tasks


def test_a_greeting_does_not_swallow_news() -> None:
    scene = Scene()
    scene.send(ev.CallPlaced("rtc_1", greeting="Welcome them back in one short sentence."))
    scene.send(NEWS)
    effects = scene.send(ev.SidebandUp(), rt.Configured(False, scene.machine.state.setup.session))
    [asked] = sent(effects, cmd.CreateResponse)
    assert asked.instructions is not None
    assert "\n\nWelcome them back" in asked.instructions
    assert "system message" in asked.instructions
