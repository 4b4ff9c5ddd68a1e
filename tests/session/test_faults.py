"""What goes wrong with an answer: every row of the table, and that none of them is silence."""

from __future__ import annotations

import pytest

from tests.session.scene import SESSION, Scene, answer, call, message, sent, told, user_turn
from vivavoce.errors import SPOKEN, Recovery, row_of
from vivavoce.session import events as ev
from vivavoce.session.effects import Effect, Failed, StartTimer
from vivavoce.session.policy import Policy, Window
from vivavoce.wire import events as ve
from vivavoce.wire.realtime import client as cmd
from vivavoce.wire.realtime import facts as rt

RETRIED = [code for code, row in SPOKEN.items() if row.waits and code != "no_answer"]
GIVEN_UP = ["insufficient_quota", "invalid_api_key", "invalid_request_error"]


def asked(scene: Scene, number: int = 1) -> Scene:
    """The user has said something, and a response has begun."""
    return asked_on(scene.connect(), number)


def asked_on(scene: Scene, number: int = 1) -> Scene:
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "What time is it?"))
    scene.send(rt.ResponseCreated(f"r{number}"))
    return scene


def fails(scene: Scene, response: str, code: str) -> list[Effect]:
    return scene.send(rt.ResponseDone(response, "failed", error=code))


def spoken(effects: list[Effect]) -> list[str]:
    return [one.say for one in sent(effects, cmd.CreateResponse) if one.say]


def waits(effects: list[Effect]) -> list[float]:
    return [e.seconds for e in effects if isinstance(e, StartTimer) and e.name == "retry"]


def met(effects: list[Effect]) -> list[tuple[str, Recovery]]:
    return [(e.code, e.recovery) for e in effects if isinstance(e, Failed)]


def to_the_end(scene: Scene, code: str, first: list[Effect]) -> list[Effect]:
    """Every try fails, and every word about it is said."""
    everything, effects, number = list(first), first, 1
    for _ in range(20):
        for words in spoken(effects):
            number += 1
            said = answer(f"r{number}", f"a{number}", words, "u1")
            effects = [*effects, *scene.send(*said, rt.PlaybackStopped(f"r{number}"))]
        if not waits(effects):
            break
        effects = scene.wait(10).send(ev.TimerFired("retry"))
        number += 1
        effects += scene.send(rt.ResponseCreated(f"r{number}"))
        effects += fails(scene, f"r{number}", code)
        everything += effects
    return everything


@pytest.mark.parametrize("code", RETRIED)
def test_an_answer_that_fails_is_asked_for_again_and_at_last_given_up_in_words(code: str) -> None:
    scene, row = asked(Scene()), SPOKEN[code]
    effects = to_the_end(scene, code, fails(scene, "r1", code))
    assert waits(effects) == list(row.waits)
    first = [row.message] if row.said_at else []
    assert spoken(effects) == [*first, row.last]
    shown = told(effects, ve.Notification)
    assert [one.message for one in shown] == [*first, row.last]
    assert shown[-1].level == "error"
    assert met(effects)[0] == (code, row.recovery)
    assert met(effects)[-1] == (code, Recovery.NEXT_PROVIDER)
    assert {one.code for one in told(effects, ve.ErrorOccurred)} == {code}
    assert scene.phase == "ready"


@pytest.mark.parametrize("code", GIVEN_UP)
def test_what_no_retry_helps_is_said_at_once_and_not_asked_again(code: str) -> None:
    scene, row = asked(Scene()), SPOKEN[code]
    effects = fails(scene, "r1", code)
    assert waits(effects) == []
    assert spoken(effects) == [row.message]
    assert [(n.level, n.message) for n in told(effects, ve.Notification)] == [
        (row.level, row.message)
    ]
    assert met(effects) == [(code, row.recovery)]


def test_an_answer_that_was_filtered_away_is_not_silence() -> None:
    scene = asked(Scene())
    effects = scene.send(rt.ResponseDone("r1", "incomplete", "content_filter"))
    assert spoken(effects) == [SPOKEN["content_filter"].message]


def test_one_failure_of_the_provider_is_mended_without_a_word() -> None:
    scene = asked(Scene())
    effects = fails(scene, "r1", "server_error")
    assert (spoken(effects), waits(effects)) == ([], [0.5])
    again = scene.wait(0.5).send(ev.TimerFired("retry"))
    assert [(c.say, c.instructions) for c in sent(again, cmd.CreateResponse)] == [(None, None)]
    scene.send(*answer("r2", "a2", "It is noon.", "u1"), rt.PlaybackStopped("r2"))
    assert not spoken(scene.effects)
    assert not told(scene.effects, ve.Notification)
    scene.send(*user_turn("u2"), rt.ResponseCreated("r3"))
    assert waits(fails(scene, "r3", "server_error")) == [0.5]  # it is counted anew


def test_no_apology_remains_open_once_an_answer_came() -> None:
    scene = asked(Scene())
    scene.send(rt.UserSpeechStarted("u2", 5000))  # the floor is the user's
    fails(scene, "r1", "rate_limit_exceeded")
    scene.send(*user_turn("u2")[1:], *answer("r2", "a2", "It is noon.", "u2"))
    scene.send(rt.PlaybackStopped("r2"))
    effects = scene.wait(5).send(ev.TimerFired("retry"))
    assert not spoken(scene.effects)
    assert not sent(effects, cmd.CreateResponse)


def test_the_model_is_not_asked_to_go_on_from_an_apology() -> None:
    scene = asked(Scene())
    fails(scene, "r1", "rate_limit_exceeded")
    words = SPOKEN["rate_limit_exceeded"].message
    scene.send(*answer("r2", "a2", words, "u1"), rt.PlaybackStopped("r2"))
    again = scene.wait(2).send(ev.TimerFired("retry"))
    frames = [e.command for e in again if hasattr(e, "command")]
    assert [type(one) for one in frames] == [cmd.DeleteItem, cmd.CreateResponse]
    assert sent(again, cmd.DeleteItem)[0].item_id == "a2"
    refused = rt.Fault("item_not_found", "", sent(again, cmd.DeleteItem)[0].event_id)
    assert scene.send(refused) == []  # it was gone already: nobody need know


def test_an_answer_that_broke_off_goes_on_where_it_stopped() -> None:
    scene = asked(Scene())
    scene.send(rt.OutputItemAdded("r1", message("a1")), rt.AssistantDelta("r1", "a1", "It is"))
    scene.send(rt.PlaybackStarted("r1"))
    scene.wait(1)
    fails(scene, "r1", "server_error")
    [again] = sent(scene.wait(1).send(ev.TimerFired("retry")), cmd.CreateResponse)
    assert "Go on where it stopped" in (again.instructions or "")


def test_an_answer_that_nobody_heard_begins_anew() -> None:
    scene = asked(Scene())
    scene.send(rt.OutputItemAdded("r1", message("a1")), rt.AssistantDelta("r1", "a1", "It is"))
    fails(scene, "r1", "server_error")
    [again] = sent(scene.wait(1).send(ev.TimerFired("retry")), cmd.CreateResponse)
    assert again.instructions is None


def test_words_about_a_fault_that_fail_too_are_not_spoken_about() -> None:
    scene = asked(Scene())
    fails(scene, "r1", "insufficient_quota")
    scene.send(rt.ResponseCreated("r2"))
    effects = fails(scene, "r2", "insufficient_quota")
    assert (spoken(effects), waits(effects)) == ([], [])
    assert not told(effects, ve.Notification)


def test_a_request_for_a_yes_that_fails_is_put_again() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I?"), rt.ResponseCreated("r1"))
    fails(scene, "r1", "server_error")
    assert spoken(scene.wait(1).send(ev.TimerFired("retry"))) == ["May I?"]


def test_a_request_that_is_settled_meanwhile_is_not() -> None:
    scene = Scene().connect()
    scene.send(ev.ApprovalAsked("a1", "May I?"), rt.ResponseCreated("r1"))
    fails(scene, "r1", "server_error")
    scene.send(ev.ApprovalSettled("a1"))
    assert not spoken(scene.wait(1).send(ev.TimerFired("retry")))


def test_an_error_in_the_place_of_a_response_is_a_failed_answer() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "What time is it?"))
    effects = scene.send(rt.Fault("rate_limit_exceeded", "Slow down"))
    assert spoken(effects) == [SPOKEN["rate_limit_exceeded"].message]
    assert waits(effects) == [2.0]


def test_a_request_of_ours_that_is_refused_is_made_again() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    [ours] = sent(scene.send(ev.ToolFinished("call_1", "14:30")), cmd.CreateResponse)
    effects = scene.send(rt.Fault("server_error", "Oh", ours.event_id))
    assert waits(effects) == [0.5]
    assert len(sent(scene.wait(1).send(ev.TimerFired("retry")), cmd.CreateResponse)) == 1


def test_a_fault_that_takes_no_answer_away_is_told_and_counted_and_nothing_more() -> None:
    scene = Scene().connect()
    effects = scene.send(rt.Fault("server_error", "Something else"))
    assert [e.code for e in told(effects, ve.ErrorOccurred)] == ["server_error"]
    assert met(effects) == [("server_error", Recovery.WAIT)]
    assert not sent(effects, cmd.CreateResponse)


def test_a_provider_that_never_answers_is_asked_again_and_then_owned_up_to() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "What time is it?"))
    effects = scene.wait(10).send(ev.TimerFired("turn"))
    assert waits(effects) == [0.0]
    assert len(sent(scene.send(ev.TimerFired("retry")), cmd.CreateResponse)) == 1
    effects = scene.wait(10).send(ev.TimerFired("turn"))
    assert spoken(effects) == [SPOKEN["no_answer"].last]
    scene.wait(10).send(ev.TimerFired("turn"))
    assert scene.phase == "ready"
    assert len(spoken(scene.effects)) == 1


@pytest.mark.parametrize("heard", ["", "…", None])
def test_a_noise_that_nobody_answers_is_no_fault(heard: str | None) -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *([] if heard is None else [rt.UserTranscript("u1", heard)]))
    effects = scene.wait(10).send(ev.TimerFired("turn"))
    assert (waits(effects), scene.phase) == ([], "ready")


def too_long(scene: Scene) -> list[Effect]:
    """After thirty turns, the third of which decides something, the provider takes no more."""
    for n in range(1, 31):
        words = DECISION if n == 3 else f"Question {n}, " + "and so on " * 8
        scene.wait(5).send(*user_turn(f"u{n}"), rt.UserTranscript(f"u{n}", words))
        scene.send(*answer(f"r{n}", f"a{n}", "An answer.", f"u{n}"), rt.PlaybackStopped(f"r{n}"))
    scene.wait(5).send(*user_turn("u31"), rt.UserTranscript("u31", "Now?"))
    scene.send(rt.ResponseCreated("r31"))
    return fails(scene, "r31", "context_length_exceeded")


DECISION = "Let's use PostgreSQL with two replicas."


@pytest.mark.parametrize("window", [None, Window(tokens=100_000, fixed=200)])
def test_half_of_a_talk_that_is_too_long_gives_way_to_a_summary(window: Window | None) -> None:
    scene = Scene(Policy(window=window)).connect()
    effects = too_long(scene)
    gone = [one.item_id for one in sent(effects, cmd.DeleteItem)]
    assert 30 <= len(gone) < 60
    assert gone == [f"{who}{n}" for n in range(1, 31) for who in "ua"][: len(gone)]
    assert len(gone) % 2 == 0, "whole turns"
    [summary] = sent(effects, cmd.CreateItem)
    assert summary.previous_item_id == "root"
    assert DECISION.rstrip(".") in summary.item["content"][0]["text"]
    assert spoken(effects) == [SPOKEN["context_length_exceeded"].message]
    assert len(scene.entries()) == 61, "the store keeps all of it"


def test_a_restored_talk_that_is_too_long_becomes_shorter_too() -> None:
    history = tuple(
        cmd.message_item(f"vvh_{n}", "assistant" if n % 2 else "user", f"{n}: " + "so long " * 9)
        for n in range(40)
    )
    scene = Scene()
    placed = ev.CallPlaced("rtc_1", history=history)
    scene.send(placed, ev.SidebandUp(), rt.Configured(False, SESSION))
    effects = fails(asked_on(scene), "r1", "context_length_exceeded")
    gone = [one.item_id for one in sent(effects, cmd.DeleteItem)]
    assert gone[:4] == ["vvh_0", "vvh_1", "vvh_2", "vvh_3"]
    assert "u1" not in gone


def test_a_call_whose_result_is_still_to_come_stays_when_a_talk_becomes_shorter() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u0"), rt.UserTranscript("u0", "What time is it?"))
    scene.send(rt.ResponseCreated("r0"), call(response="r0"), rt.ResponseDone("r0"))
    gone = [one.item_id for one in sent(too_long(scene), cmd.DeleteItem)]
    assert "u0" in gone
    assert "f_call_1" not in gone


def test_a_tool_that_runs_for_long_is_owned_up_to_once() -> None:
    scene = asked(Scene())
    began = scene.send(call(), rt.ResponseDone("r1"))
    assert StartTimer("overdue", 45.0) in began
    effects = scene.wait(45).send(ev.TimerFired("overdue"))
    assert spoken(effects) == [SPOKEN["tool_overdue"].message]
    assert told(effects, ve.Notification)[0].level == "info"
    scene.send(*answer("r2", "a2", spoken(effects)[0], "u1"), rt.PlaybackStopped("r2"))
    scene.send(*user_turn("u2"))
    stopped = scene.send(rt.UserTranscript("u2", "Stop."))
    assert [type(e).__name__ for e in stopped].count("CancelCalls") == 1


def test_a_tool_that_never_answers_is_not_waited_for_for_ever() -> None:
    scene = asked(Scene())
    scene.send(call(), rt.ResponseDone("r1"))
    effects = scene.wait(45).send(ev.TimerFired("overdue"))
    assert StartTimer("overdue", 855.0) in effects
    scene.send(*answer("r2", "a2", spoken(effects)[0], "u1"), rt.PlaybackStopped("r2"))
    effects = scene.wait(855).send(ev.TimerFired("overdue"))
    [output] = sent(effects, cmd.CreateItem)
    assert "never answered" in output.item["output"]
    assert len(sent(effects, cmd.CreateResponse)) == 1
    assert not scene.send(ev.ToolFinished("call_1", "14:30"))  # too late


def test_a_tool_that_waits_for_the_user_is_never_late() -> None:
    scene = asked(Scene(Policy(unhurried=frozenset({"current_time"}))))
    began = scene.send(call(), rt.ResponseDone("r1"))
    assert not [e for e in began if isinstance(e, StartTimer) and e.name == "overdue"]


def test_words_are_the_agents_own_where_it_has_some() -> None:
    own = {"rate_limit_exceeded": ("Einen Moment, bitte.", "Später, bitte.")}
    scene = asked(Scene(Policy(fault_words=own)))
    effects = to_the_end(scene, "tokens", fails(scene, "r1", "tokens"))
    assert spoken(effects) == ["Einen Moment, bitte.", "Später, bitte."]


def test_a_code_that_nobody_knows_is_a_passing_fault_and_an_invalid_one_is_not() -> None:
    assert row_of("upstream_exploded").recovery is Recovery.RETRY
    assert row_of("invalid_value").recovery is Recovery.TELL


def test_a_session_that_the_provider_ends_is_told_with_a_way_back() -> None:
    scene = Scene().connect()
    effects = scene.send(rt.Fault("session_expired", "60 minutes"))
    [shown] = told(effects, ve.Notification)
    assert shown.action == {"label": "Reconnect", "do": "reconnect"}
    assert met(effects) == [("session_expired", Recovery.NEW_CALL)]


def test_a_result_comes_after_the_words_that_were_on_their_way() -> None:
    """Else the model would be asked to go on from "One moment"."""
    scene = asked(Scene())
    scene.send(call(), rt.ResponseDone("r1"))
    [words] = spoken(scene.wait(1.2).send(ev.TimerFired("interim")))
    assert not sent(scene.send(ev.ToolFinished("call_1", "14:30")), cmd.CreateItem)
    assert not sent(scene.send(rt.ResponseCreated("r2")), cmd.CreateItem)
    output = scene.send(rt.OutputItemAdded("r2", message("a2")))
    assert [one.item["type"] for one in sent(output, cmd.CreateItem)] == ["function_call_output"]
    after = scene.send(*answer("r2", "a2", words, "u1")[2:], rt.PlaybackStopped("r2"))
    assert len(sent(after, cmd.CreateResponse)) == 1


def test_a_result_that_waits_for_words_survives_a_lost_sideband() -> None:
    scene = asked(Scene())
    scene.send(call(), rt.ResponseDone("r1"))
    scene.wait(1.2).send(ev.TimerFired("interim"))
    scene.send(ev.ToolFinished("call_1", "14:30"), ev.SidebandLost(1006, hung_up=False))
    effects = scene.send(ev.SidebandUp(), rt.Configured(False, SESSION))
    assert [one.item["type"] for one in sent(effects, cmd.CreateItem)] == ["function_call_output"]


def test_interim_words_are_dropped_when_the_result_is_there_first() -> None:
    scene = asked(Scene())
    scene.send(call(), rt.ResponseDone("r1"), rt.UserSpeechStarted("u2", 9000))
    scene.wait(1.2)
    scene.machine.state.talk.responses.say("One moment.", key="interim")
    scene.send(ev.ToolFinished("call_1", "14:30"))
    assert not scene.machine.state.talk.responses.saying


def test_interim_words_are_never_the_reply_to_what_was_typed() -> None:
    scene = Scene().connect()
    hello = rt.ItemAdded(message("vvt_1", "user", "Time?"))
    scene.send(ev.TypedText("vvt_1", "Time?"), hello, rt.ResponseCreated("r1"), call())
    scene.send(rt.ResponseDone("r1"))
    [words] = spoken(scene.wait(1.2).send(ev.TimerFired("interim")))
    scene.send(*answer("r2", "a2", words, "vvt_1"), rt.PlaybackStopped("r2"))
    assert scene.machine.state.talk.typed["vvt_1"].reply is None


@pytest.mark.parametrize("words", [(), (message("a1"),), (message("a1", text="  "),)])
def test_an_answer_without_a_word_is_asked_for_again_and_then_owned_up_to(
    words: tuple[rt.Item, ...],
) -> None:
    scene = asked(Scene())
    effects = scene.send(rt.ResponseDone("r1", "completed", items=words))
    assert (waits(effects), spoken(effects)) == ([0.0], [])
    assert [one.code for one in told(effects, ve.ErrorOccurred)] == ["no_answer"]
    assert len(sent(scene.send(ev.TimerFired("retry")), cmd.CreateResponse)) == 1
    scene.send(rt.ResponseCreated("r2"))
    effects = scene.send(rt.ResponseDone("r2", "completed"))
    assert spoken(effects) == [SPOKEN["no_answer"].last]
    scene.send(*answer("r3", "a3", SPOKEN["no_answer"].last, "u1"), rt.PlaybackStopped("r3"))
    assert (scene.phase, len(spoken(scene.effects))) == ("ready", 1)


def test_an_empty_answer_that_is_given_at_the_second_try_is_mended_without_a_word() -> None:
    scene = asked(Scene())
    scene.send(rt.ResponseDone("r1"), ev.TimerFired("retry"))
    scene.send(*answer("r2", "a2", "It is noon.", "u1"), rt.PlaybackStopped("r2"))
    assert (spoken(scene.effects), told(scene.effects, ve.Notification)) == ([], [])


def test_an_answer_that_only_calls_or_only_sounds_is_not_empty() -> None:
    scene = asked(Scene())
    assert not waits(scene.send(call(), rt.ResponseDone("r1")))
    scene.send(ev.ToolFinished("call_1", "14:30"), rt.ResponseCreated("r2"))
    scene.send(rt.OutputItemAdded("r2", message("a2")), rt.AudioReceived("a2", 900))
    assert not waits(scene.send(rt.ResponseDone("r2")))


def test_an_empty_answer_to_a_tools_result_is_asked_for_again_as_that() -> None:
    scene = asked(Scene())
    scene.send(call(), rt.ResponseDone("r1"), ev.ToolFinished("call_1", "14:30"))
    assert waits(scene.send(rt.ResponseCreated("r2"), rt.ResponseDone("r2"))) == [0.0]


def test_an_empty_answer_to_a_noise_is_the_right_one() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "…"), rt.ResponseCreated("r1"))
    assert not waits(scene.send(rt.ResponseDone("r1")))


def test_where_there_may_be_nothing_left_to_say_nothing_is_an_answer() -> None:
    scene = asked(Scene())
    scene.send(rt.OutputItemAdded("r1", message("a1")), rt.AssistantDelta("r1", "a1", "It is two"))
    scene.send(rt.PlaybackStarted("r1"))
    fails(scene.wait(1), "r1", "server_error")
    scene.wait(1).send(ev.TimerFired("retry"), rt.ResponseCreated("r2"))
    assert not waits(scene.send(rt.ResponseDone("r2")))
