"""From one call to the next: make before break, and whatever happens meanwhile."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.scene import SESSION, Scene, answer, call, message, sent, told, user_turn
from tests.session.test_properties import calls, own_events, provider_events
from vivavoce.errors import row_of
from vivavoce.session import events as ev
from vivavoce.session.context import item_of
from vivavoce.session.effects import Adopt, Attach, HangUp, RunTool, Send, StartTimer
from vivavoce.session.machine import TABLE
from vivavoce.session.policy import Policy, Window
from vivavoce.session.state import Phase
from vivavoce.wire import events as ve
from vivavoce.wire.realtime import client as cmd
from vivavoce.wire.realtime import facts as rt

CAPPED = Policy(cap=3600, providers=("openai", "backup"))
DEAF = {**SESSION, "audio": {**SESSION["audio"], "input": {"turn_detection": None}}}


def _beside(scene: Scene, *events: Any) -> list[Any]:
    return scene.send(*(ev.Beside(event) for event in events))


def _warned(policy: Policy = CAPPED) -> Scene:
    scene = Scene(policy).connect()
    scene.wait(3540).send(ev.TimerFired("cap"))
    return scene


def _placed(scene: Scene, *history: dict[str, Any], **more: Any) -> None:
    scene.send(ev.CallPlaced("rtc_2", history=history, beside=True, **more))
    _beside(scene, ev.SidebandUp(), rt.Configured(False, DEAF))
    for item in history:
        _beside(scene, rt.ItemAdded(message(item["id"]), None))
    scene.wait(2)


def test_the_old_call_goes_on_until_the_new_one_knows_all_that_it_has_to() -> None:
    scene = _warned()
    item = cmd.message_item("vvh_1", "user", "Hello.")
    placed = scene.send(ev.CallPlaced("rtc_2", history=(item,), beside=True))
    assert placed == [Attach("rtc_2", beside=True)]
    up = _beside(scene, ev.SidebandUp())
    assert {effect.call_id for effect in up if isinstance(effect, Send)} == {"rtc_2"}
    [order] = sent(up, cmd.UpdateSession)
    assert order.session["audio"]["input"]["turn_detection"] is None
    scene.wait(10)
    assert not [e for e in _beside(scene, rt.Configured(False, DEAF)) if isinstance(e, Adopt)]
    moved = _beside(scene, rt.ItemAdded(message("vvh_1", "user"), None))
    kinds = [type(effect) for effect in moved]
    assert kinds.index(Adopt) < kinds.index(HangUp)
    assert HangUp("rtc_1") in moved
    assert sent(moved, cmd.UpdateSession)[0].session["audio"]["input"]["turn_detection"]
    assert scene.machine.state.calls == ("rtc_2",)
    assert scene.phase == "ready"
    assert not sent(moved, cmd.CreateResponse)


def test_a_cap_is_counted_from_when_the_new_call_was_placed() -> None:
    scene = _warned()
    _placed(scene)
    moved = scene.wait(8).send(ev.TimerFired("move"))
    assert StartTimer("cap", 3530.0) in moved


def test_nobody_is_moved_while_they_speak() -> None:
    scene = _warned()
    _placed(scene)
    scene.send(rt.UserSpeechStarted("u1", 100))
    assert not [e for e in scene.wait(5).send(ev.TimerFired("move_due")) if isinstance(e, Adopt)]
    scene.send(*user_turn("u1")[1:], rt.UserTranscript("u1", "Hi."))
    late = scene.send(*answer("r1", "a1", "Hello.", "u1"))
    assert [e for e in late if isinstance(e, Adopt)], "it can wait no longer"


def test_what_was_said_since_is_told_in_its_order_and_what_changed_is_replaced() -> None:
    scene = _warned()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Hi."))
    scene.send(*answer("r1", "a1", "Hello there.", "u1"))
    entries = sorted(scene.entries().values(), key=lambda entry: entry.ordinal)
    past = [cmd.message_item(item_of(entry), entry.kind, entry.text) for entry in entries]
    _placed(scene, *past)
    scene.send(rt.ItemTruncated("a1", 400), rt.PlaybackStopped("r1", True))
    scene.send(*user_turn("u2", "a1"), rt.UserTranscript("u2", "Wait."))
    scene.send(*answer("r2", "a2", "Yes?", "u2"), rt.PlaybackStopped("r2"))
    moved = scene.wait(1).send(ev.TimerFired("move"))
    assert [one.item_id for one in sent(moved, cmd.DeleteItem)] == [past[1]["id"]]
    items = [one.item for one in sent(moved, cmd.CreateItem)]
    words = [item["content"][0]["text"] for item in items]
    assert words == ["Hello", "Wait.", "Yes?"]  # as much as was heard
    assert all(len(item["id"]) <= 32 for item in items)


def test_news_that_was_not_heard_is_told_on_the_new_call() -> None:
    scene = _warned()
    scene.send(call("call_1"))
    scene.send(ev.News("t1", "The task is done."))  # it waits for the tool
    _placed(scene)
    moved = scene.send(ev.TimerFired("move"))
    items = [one.item for one in sent(moved, cmd.CreateItem)]
    assert [item["type"] for item in items] == ["function_call", "message"]
    done = scene.send(ev.ToolFinished("call_1", "12:00"))
    assert sent(done, cmd.CreateResponse)
    assert sum(isinstance(effect, RunTool) for effect in scene.effects) == 1


def test_a_call_beside_that_falls_is_let_go_and_the_old_one_goes_on() -> None:
    scene = _warned()
    scene.send(ev.CallPlaced("rtc_2", beside=True))
    _beside(scene, ev.SidebandUp())
    assert HangUp("rtc_2") in _beside(scene, ev.SidebandLost(1006, False))
    assert scene.machine.state.calls == ("rtc_1",)
    _placed(scene)
    assert [e for e in scene.send(ev.TimerFired("move")) if isinstance(e, Adopt)]


def test_at_the_cap_the_talk_goes_over_whoever_speaks() -> None:
    scene = _warned()
    _placed(scene)
    scene.send(rt.UserSpeechStarted("u1", 100))
    moved = scene.send(ev.TimerFired("cap_end"))
    assert [e for e in moved if isinstance(e, Adopt)]
    assert not told(moved, ve.SessionExpired)
    assert [one.state for one in told(moved, ve.SessionStatus)] == ["ready"]  # and no other between
    assert scene.phase == "ready"


def test_a_provider_whose_clock_is_quicker_ends_nothing_while_the_new_call_is_there() -> None:
    scene = _warned()
    _placed(scene)
    scene.send(rt.UserSpeechStarted("u1", 100))
    moved = scene.send(rt.Fault("session_expired", "It hit its maximum duration."))
    assert [e for e in moved if isinstance(e, Adopt)]
    assert not told(moved, ve.SessionExpired)
    assert not told(moved, ve.Notification)
    assert scene.send(rt.Fault("session_expired", "And this one too."))
    assert told(scene.effects, ve.SessionExpired)


def test_where_nobody_can_take_over_a_spent_quota_is_only_told() -> None:
    scene = Scene(Policy(providers=("openai",))).connect()
    effects = scene.send(rt.Fault("insufficient_quota", "You exceeded your quota."))
    assert told(effects, ve.ErrorOccurred)[0].code == "insufficient_quota"
    assert scene.phase == "ready"


def test_a_session_that_no_call_comes_to_ends_after_a_while() -> None:
    scene = Scene(CAPPED).connect()
    scene.send(rt.Fault("insufficient_quota", ""))
    assert (scene.phase, scene.machine.state.calls) == ("reconnecting", ())
    ended = scene.wait(60).send(ev.TimerFired("failover"))
    assert told(ended, ve.SessionEnded)[0].reason == "error"


def test_one_that_has_a_call_again_does_not_end() -> None:
    scene = Scene(CAPPED).connect()
    scene.send(rt.Fault("insufficient_quota", ""))
    scene.send(ev.CallPlaced("rtc_2", provider="backup", because="insufficient_quota"))
    scene.send(ev.SidebandUp(), rt.Configured(False, SESSION))
    assert told(scene.effects, ve.ProviderChanged)[0].provider == "backup"
    scene.wait(60).send(ev.TimerFired("failover"))
    assert scene.phase != "terminated"


def _fails(scene: Scene, number: int, code: str) -> list[Any]:
    return scene.send(
        rt.ResponseCreated(f"r{number}"), rt.ResponseDone(f"r{number}", "failed", error=code)
    )


@pytest.mark.parametrize(("code", "tries"), [("rate_limit_exceeded", 3), ("invalid_api_key", 0)])
def test_who_has_tried_in_vain_hands_over_in_place_of_last_words(code: str, tries: int) -> None:
    scene = Scene(CAPPED).connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Hi."))
    for number in range(tries):
        assert not told(_fails(scene, number, code), ve.CallWanted)
        if number == 0:  # why it takes so long is said
            scene.send(rt.ResponseCreated("w"), rt.ResponseDone("w"))
        scene.wait(10).send(ev.TimerFired("retry"))
    [wanted] = told(_fails(scene, tries, code), ve.CallWanted)
    assert (wanted.provider, wanted.beside) == ("backup", False)
    row = row_of(code)
    assert (row.last or row.message) not in [
        one.message for one in told(scene.effects, ve.Notification)
    ]
    scene.send(ev.CallPlaced("rtc_2", provider="backup", because=code))
    up = scene.send(ev.SidebandUp(), rt.Configured(False, SESSION))
    [said] = [str(one.payload()) for one in sent(up, cmd.CreateResponse)]
    assert "OpenAI" in said
    goes_on = scene.send(rt.ResponseCreated("s1"), rt.ResponseDone("s1", "completed"))
    assert sent(goes_on, cmd.CreateResponse)  # the answer is still owed
    last = _fails(scene, 99, "insufficient_quota")  # and nobody is left
    assert not told(last, ve.CallWanted)
    assert told(last, ve.Notification)


def test_a_planned_move_after_a_lost_sideband_apologises_for_nothing() -> None:
    scene = _warned()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Hi."))
    scene.send(*answer("r1", "a1", "One. Two. Three.", "u1"), rt.PlaybackStarted("r1"))
    scene.send(rt.Peer("lost"), ev.SidebandLost(1006, False))
    scene.send(ev.CallPlaced("rtc_2", beside=True))
    up = scene.send(ev.SidebandUp(), rt.Configured(False, SESSION))
    assert "cut off" not in str([one.payload() for one in sent(up, cmd.CreateResponse)])


def test_the_new_call_brings_its_window_its_gist_and_how_its_client_is_connected() -> None:
    scene = _warned()
    item, window = cmd.message_item("vvh_1", "user", "Hello."), Window(tokens=4000)
    scene.send(ev.CallPlaced("rtc_2", history=(item,), beside=True, window=window))
    _beside(scene, ev.SidebandUp(), rt.Configured(False, DEAF), rt.Peer("connected", "open"))
    before = scene.machine.state.policy.window
    scene.wait(2)
    moved = _beside(scene, rt.ItemAdded(message("vvh_1", "user"), None))
    state = scene.machine.state
    assert (before, state.policy.window) == (None, window)
    assert list(state.talk.held.parts) == ["vvh_1"]
    assert state.talk.order.knows("vvh_1")
    assert told(moved, ve.ConnectionStatus)[-1].webrtc_state == "connected"
    assert scene.send(rt.Peer("lost"))
    assert scene.phase == "reconnecting"


def test_what_the_model_should_know_waits_for_the_new_call() -> None:
    scene = _warned()
    scene.send(ev.CallPlaced("rtc_2", beside=True))
    assert not sent(scene.send(ev.Update("file", "A file changed.")), cmd.CreateItem)
    _beside(scene, ev.SidebandUp(), rt.Configured(False, DEAF))
    scene.wait(2).send(ev.TimerFired("move"))
    assert scene.machine.state.calls == ("rtc_2",)
    assert sent(scene.send(rt.Unhandled("ping")), cmd.CreateItem)


@pytest.mark.parametrize("words", ["Use the backup again.", "can you go back to backup?"])
def test_who_is_to_speak_is_the_users_own_word(words: str) -> None:
    scene = Scene(CAPPED).connect()
    effects = scene.send(*user_turn("u1"), rt.UserTranscript("u1", words))
    [want] = told(effects, ve.CallWanted)
    assert (want.reason, want.provider, want.beside) == ("provider", "backup", True)
    began = scene.send(rt.ResponseCreated("r1"))
    assert sent(began, cmd.CancelResponse), "the model knows nothing of providers"


def test_whose_place_was_taken_is_gone_back_to_without_a_name() -> None:
    scene = Scene(CAPPED).connect()
    wish = "Go back to the other voice, please."
    before = scene.send(*user_turn("u1"), rt.UserTranscript("u1", wish))
    assert told(before, ve.CallWanted) == [], "nobody has taken its place"
    scene.machine.state.provider.name = "backup"
    after = scene.send(*user_turn("u2"), rt.UserTranscript("u2", wish))
    assert [want.provider for want in told(after, ve.CallWanted)] == ["openai"]


# --- In any order ---------------------------------------------------------------------------

ids = st.sampled_from(["vvh_1", "vvh_2"])
moves = st.one_of(
    st.builds(
        ev.CallPlaced,
        st.sampled_from(["rtc_2", "rtc_3", "rtc_4"]),
        beside=st.booleans(),
        provider=st.sampled_from(["openai", "backup"]),
        history=st.lists(ids.map(lambda i: cmd.message_item(i, "user", "Hi.")), max_size=1).map(
            tuple
        ),
    ),
    st.builds(ev.MoveWanted, st.sampled_from(["openai", "backup"])),
    st.builds(ev.MoveFailed, st.sampled_from(["openai", "backup"])),
    st.just(ev.SidebandLost(1000, True)),
    st.builds(ev.TimerFired, st.sampled_from(["cap", "cap_end", "move", "move_due", "failover"])),
    st.just(rt.Fault("insufficient_quota", "")),
)
beside = st.builds(
    ev.Beside,
    st.one_of(
        st.just(ev.SidebandUp()),
        st.just(ev.SidebandLost(1006, False)),
        st.just(ev.AttachFailed()),
        st.just(rt.Configured(False, DEAF)),
        st.builds(lambda i: rt.ItemAdded(message(i), None), ids),
        st.builds(rt.CallRequested, st.just("r9"), st.just("i9"), calls, st.just("t"), st.just("")),
    ),
)
# A restart comes before everything else.
running = own_events.filter(lambda event: not isinstance(event, ev.CallSurvived))
stories = st.lists(
    moves | beside | beside | provider_events | running | st.floats(0, 3), max_size=60
)


@settings(max_examples=400, deadline=None)
@given(stories)
def test_whatever_happens_every_call_is_hung_up_once_and_every_tool_runs_once(
    story: list[Any],
) -> None:
    scene = Scene(CAPPED).connect()
    reachable = {phase: {phase, *moves.values()} for phase, moves in TABLE.items()}
    for step in [*story, ev.End()]:
        if isinstance(step, float):
            scene.wait(step)
            continue
        before = scene.machine.phase
        effects = scene.send(step)
        for event in told(effects, ve.SessionStatus):
            assert Phase(event.state) in reachable[before]
            before = Phase(event.state)
        for effect in effects:
            if isinstance(effect, StartTimer):
                assert effect.seconds >= 0
            if isinstance(effect, Send) and isinstance(effect.command, cmd.CreateItem):
                assert len(effect.command.item_id) <= 32
    assert scene.phase == "terminated"
    ran = Counter(e.call_id for e in scene.effects if isinstance(e, RunTool))
    assert all(count == 1 for count in ran.values())
    attached = {e.call_id for e in scene.effects if isinstance(e, Attach) and e.call_id}
    assert attached <= {e.call_id for e in scene.effects if isinstance(e, HangUp)}


def _expires(how: str) -> rt.ProviderEvent | ev.SidebandLost:
    return (
        rt.Fault("session_expired", "60 minutes")
        if how == "error"
        else ev.SidebandLost(1000, hung_up=True, expired=True)
    )


@pytest.mark.parametrize("how", ["error", "close"])
def test_a_session_that_the_provider_ends_goes_on_with_the_call_beside(how: str) -> None:
    scene = _warned()
    scene.send(ev.CallPlaced("rtc_2", beside=True))
    _beside(scene, ev.SidebandUp(), rt.Configured(False, DEAF))
    scene.send(rt.UserSpeechStarted("u1", 100))  # no pause in which it could have gone over
    effects = scene.send(_expires(how))
    assert [one.call_id for one in effects if isinstance(one, Adopt)] == ["rtc_2"]
    assert (scene.machine.state.calls, scene.phase) == (("rtc_2",), "ready")
    shown = [*told(effects, ve.SessionEnded), *told(effects, ve.Notification)]
    assert shown == []


@pytest.mark.parametrize("how", ["error", "close"])
def test_one_whose_next_call_is_not_up_yet_begins_with_that(how: str) -> None:
    scene = _warned()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Hi."))
    scene.send(ev.CallPlaced("rtc_2", beside=True))
    assert Attach("rtc_2") in scene.send(_expires(how))
    up = scene.send(ev.SidebandUp(), rt.Configured(False, SESSION))
    assert (scene.phase, scene.machine.state.calls) == ("ready", ("rtc_2",))
    assert "in the middle of a conversation" in str(
        [one.payload() for one in sent(up, cmd.CreateResponse)]
    )


@pytest.mark.parametrize("how", ["error", "close"])
@pytest.mark.parametrize("to", ["", "backup"])
def test_one_whose_client_was_asked_for_a_call_waits_for_it(how: str, to: str) -> None:
    scene = Scene(CAPPED).connect()
    scene.wait(3540).send(ev.MoveWanted(to) if to else ev.TimerFired("cap"))
    effects = scene.send(_expires(how))
    [wanted] = told(effects, ve.CallWanted)
    assert (wanted.beside, wanted.provider) == (False, to or "openai")
    assert (scene.phase, scene.machine.state.calls) == ("reconnecting", ())
    scene.wait(60).send(ev.TimerFired("cap_end"))  # that of the call that is gone
    assert scene.phase == "reconnecting"
    scene.send(ev.CallPlaced("rtc_2", provider=to or "openai"))
    up = scene.send(ev.SidebandUp(), rt.Configured(False, SESSION))
    assert (scene.phase != "terminated", told(up, ve.SessionEnded)) == (True, [])
    assert not told(scene.send(ev.TimerFired("failover")), ve.SessionEnded)


def test_one_whose_client_never_places_the_call_that_it_was_asked_for_ends() -> None:
    scene = _warned()
    scene.send(_expires("error"))
    ended = scene.wait(60).send(ev.TimerFired("failover"))
    assert told(ended, ve.SessionEnded)[0].reason == "error"


def test_at_the_cap_a_call_that_is_placed_and_not_ready_is_gone_over_to() -> None:
    scene = _warned()
    scene.send(ev.CallPlaced("rtc_2", beside=True))
    effects = scene.send(ev.TimerFired("cap_end"))
    assert (Attach("rtc_2") in effects, told(effects, ve.SessionExpired)) == (True, [])


def test_a_call_that_expires_while_another_provider_is_waited_for_changes_nothing() -> None:
    scene = Scene(CAPPED).connect()
    scene.wait(3540).send(ev.TimerFired("cap"))
    scene.send(rt.Fault("insufficient_quota", ""))
    scene.wait(60).send(ev.TimerFired("cap_end"))
    assert scene.phase == "reconnecting"
