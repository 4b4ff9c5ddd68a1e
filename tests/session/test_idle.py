"""Silence, where the agent asks whether anybody is still there (seed 004 §10)."""

from __future__ import annotations

from tests.session.scene import Scene, answer, sent, told, user_turn
from vivavoce.session import events as ev
from vivavoce.session.effects import StartTimer
from vivavoce.session.policy import Policy
from vivavoce.wire import events as ve
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.client import CreateResponse

ASKING = Policy(idle=630, idle_warning=30, idle_question="Are you still there?")


def asked_who_is_there() -> Scene:
    scene = Scene(ASKING).connect()
    scene.wait(600).send(ev.TimerFired("idle"))
    return scene


def test_session_timeout() -> None:
    """Seed 004 §10: ten minutes, the question, thirty seconds of grace, the end."""
    scene = asked_who_is_there()
    [asked] = sent(scene.effects, CreateResponse)
    assert asked.say == "Are you still there?"
    assert StartTimer("idle", 30.0) in scene.effects
    scene.wait(2).send(*answer("q1", "a1", "Are you still there?", ""))
    scene.send(rt.PlaybackStopped("q1"), ev.TimerFired("idle"))
    assert scene.phase == "ready"
    expired = scene.wait(28).send(ev.TimerFired("idle"))
    assert told(expired, ve.SessionExpired)[0].reason == "idle"
    assert told(expired, ve.SessionEnded)[0].reason == "timeout"


def test_a_question_that_still_sounds_when_the_grace_is_over_keeps_nobody() -> None:
    scene = asked_who_is_there()
    scene.send(*answer("q1", "a1", "Are you still there?", ""))
    assert told(scene.wait(30).send(ev.TimerFired("idle")), ve.SessionExpired)


def test_who_answers_the_idle_question_is_asked_again_only_after_another_silence() -> None:
    scene = asked_who_is_there()
    scene.send(*answer("q1", "a1", "Are you still there?", ""), rt.PlaybackStopped("q1"))
    scene.wait(20).send(*user_turn("u1", "a1"), *answer("r1", "a2", "Good.", "u1"))
    scene.send(rt.PlaybackStopped("r1"))
    assert scene.wait(10).send(ev.TimerFired("idle")) == [StartTimer("idle", 590.0)]
    again = scene.wait(590).send(ev.TimerFired("idle"))
    assert [c.say for c in sent(again, CreateResponse)] == ["Are you still there?"]


def test_who_speaks_before_the_idle_question_could_be_put_is_not_asked() -> None:
    scene = Scene(ASKING).connect()
    scene.send(rt.UserSpeechStarted("u1", 100))
    scene.wait(600).send(ev.TimerFired("idle"))
    scene.wait(1).send(*user_turn("u1")[1:], *answer("r1", "a1", "Hello.", "u1"))
    scene.send(rt.PlaybackStopped("r1"))
    assert not sent(scene.effects, CreateResponse)
