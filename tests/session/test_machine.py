"""The session machine in a talk: states, order, barge-in, tools."""

from __future__ import annotations

from tests.session.scene import SESSION, Scene, answer, call, message, sent, told, user_turn
from vivavoce.session import events as ev
from vivavoce.session.effects import Attach, RunTool, Send, StartTimer
from vivavoce.session.machine import TABLE
from vivavoce.session.policy import Policy
from vivavoce.session.state import MOST_FILES, Phase, Signal
from vivavoce.wire import events as ve
from vivavoce.wire.realtime import client as cmd
from vivavoce.wire.realtime import facts as rt


def test_every_phase_has_a_row_and_every_target_is_a_phase() -> None:
    assert set(TABLE) == set(Phase)
    for moves in TABLE.values():
        assert set(moves) <= set(Signal)
        assert set(moves.values()) <= set(Phase)


def test_only_what_was_lost_leads_to_reconnecting_and_nothing_leaves_the_end() -> None:
    for moves in TABLE.values():
        assert [s for s, p in moves.items() if p is Phase.RECONNECTING] in (
            [],
            [Signal.SIDEBAND_LOST, Signal.CLIENT_LOST],
        )
    assert TABLE[Phase.TERMINATED] == {}


def test_the_simple_query_of_seed_001_goes_through_its_states() -> None:
    scene = Scene().connect()
    seen = [scene.phase]
    for event in [*user_turn("u1"), *answer("r1", "a1", "It's 2:30 PM.", "u1")]:
        scene.send(event)
        if scene.phase != seen[-1]:
            seen.append(scene.phase)
    scene.wait(2).send(rt.PlaybackStopped("r1"), rt.UserTranscript("u1", "What time is it?"))
    assert seen == ["ready", "listening", "processing", "speaking"]
    assert scene.phase == "ready"
    assert scene.transcript() == [("user", "What time is it?"), ("assistant", "It's 2:30 PM.")]


def test_configuration_and_history_go_over_the_sideband_before_anything_else() -> None:
    scene = Scene()
    item = cmd.message_item("vvh_1", "system", "Previous conversation summary: …")
    effects = scene.send(ev.CallPlaced("rtc_1", history=(item,), greeting="Welcome back."))
    assert effects[-1] == Attach("rtc_1")
    up = scene.send(ev.SidebandUp())
    assert [type(e.command) for e in up if isinstance(e, Send)] == [
        cmd.UpdateSession,
        cmd.CreateItem,
    ]
    ready = scene.send(rt.Configured(False, SESSION))
    ours = scene.machine.state.setup.session["instructions"]
    assert sent(ready, cmd.CreateResponse)[0].instructions == f"{ours}\n\nWelcome back."
    assert told(ready, ve.SessionStarted)[0].tools_count == 1


def test_words_that_arrive_late_still_stand_before_their_answer() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", "Hello!", "u1"), rt.PlaybackStopped("r1"))
    scene.wait(5).send(rt.UserTranscript("u1", "Hi."))
    assert scene.transcript() == [("user", "Hi."), ("assistant", "Hello!")]


def test_an_item_put_between_others_finds_its_place() -> None:
    scene = Scene(Policy(peer_text="allow")).connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", "One.", "u1"), rt.PlaybackStopped("r1"))
    scene.send(rt.UserTranscript("u1", "A"), rt.ItemAdded(message("u2", "user", "B"), "u1"))
    assert [text for _, text in scene.transcript()] == ["A", "B", "One."]


def test_a_failed_transcription_counts_as_settled() -> None:
    scene = Scene().connect()
    effects = scene.send(*user_turn("u1"), rt.UserTranscriptFailed("u1", "inaudible"))
    assert told(effects, ve.ErrorOccurred)[0].code == "transcription_failed"
    assert scene.transcript() == [("user", "")]
    assert not told(scene.send(rt.UserTranscript("u1", "late")), ve.TranscriptionCompleted)


def test_barge_in_cut_by_the_provider_keeps_only_what_was_heard() -> None:
    scene = Scene().connect()
    words = "The auth system uses JWT tokens with a two-step verification process. First, the user"
    scene.send(*user_turn("u1"), *answer("r1", "a1", words, "u1"))
    scene.wait(2.5).send(rt.UserSpeechStarted("u2", 9000))
    assert scene.phase == "listening"
    effects = scene.send(rt.PlaybackStopped("r1", cleared=True), rt.ItemTruncated("a1", 2500))
    entry = next(e for e in scene.entries().values() if e.kind == "assistant")
    assert entry.text == "The auth system uses JWT tokens with"
    assert entry.data["generated"] == words
    assert entry.data["interrupted"]
    assert told(effects, ve.AssistantDone)[0].interrupted
    assert scene.phase == "listening"


def test_an_answer_cut_before_its_first_sound_was_not_heard() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.ResponseCreated("r1"))
    scene.send(rt.OutputItemAdded("r1", message("a1")))
    scene.send(rt.UserSpeechStarted("u2", 4000), rt.ResponseDone("r1", status="cancelled"))
    assert ("assistant", "") in scene.transcript()


def test_a_tool_runs_once_and_its_output_is_followed_by_one_response() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.ResponseCreated("r1"))
    effects = scene.send(call(), call())
    assert [e.call_id for e in effects if isinstance(e, RunTool)] == ["call_1"]
    assert scene.phase == "executing_tool"
    scene.send(rt.ResponseDone("r1"))
    done = scene.send(ev.ToolFinished("call_1", "12:00"), ev.ToolFinished("call_1", "12:01"))
    assert [c.item["output"] for c in sent(done, cmd.CreateItem)] == ["12:00"]
    assert len(sent(done, cmd.CreateResponse)) == 1


def test_which_files_its_calls_changed_is_known_newest_last_and_survives_another_call() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call("call_1"), call("call_2"), call("call_3"))
    scene.send(ev.ToolFinished("call_1", "", files_changed=("a.py", "b.py")))
    scene.send(ev.ToolFinished("call_1", "", files_changed=("late.py",)))
    scene.send(ev.ToolFinished("call_2", "", files_changed=("a.py",)))
    assert list(scene.machine.state.work.files) == ["b.py", "a.py"]
    scene.send(ev.CallPlaced("rtc_2"))
    scene.send(ev.ToolFinished("call_3", "", files_changed=("c.py",)))
    assert list(scene.machine.state.work.files) == ["b.py", "a.py", "c.py"]
    many = tuple(f"{n}.py" for n in range(MOST_FILES + 1))
    scene.machine.state.work.touched(many)
    assert tuple(scene.machine.state.work.files) == many[1:]


def test_an_entry_knows_how_long_its_sound_was() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Hello."))
    scene.send(*answer("r1", "a1", "Hello, Ada.", "u1"))
    scene.wait(1.25).send(rt.PlaybackStopped("r1"))
    lasted = {one.text: one.data.get("audio_duration_ms") for one in scene.entries().values()}
    assert lasted == {"Hello.": 1500, "Hello, Ada.": 1250}
    assert len(told(scene.effects, ve.TranscriptionCompleted)) == 2, "nothing new was told with it"


def test_an_answer_that_is_cut_after_it_was_told_says_what_it_replaces() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", "One two three four five six.", "u1"))
    scene.wait(0.5).send(rt.PlaybackStopped("r1", cleared=True), rt.ItemTruncated("a1", 600))
    first, *cut = told(scene.effects, ve.TranscriptionCompleted)
    assert (first.transcript, first.replaces) == ("One two three four five six.", None)
    assert cut
    assert {(one.replaces, one.interrupted) for one in cut} == {(first.entry_id, True)}
    scene.send(rt.ResponseCreated("r2"), rt.OutputItemAdded("r2", message("a2")))
    scene.send(rt.AssistantDelta("r2", "a2", "Seven eight"), rt.PlaybackStarted("r2"))
    scene.wait(0.5).send(rt.ItemTruncated("a2", 500), rt.AssistantTranscript("r2", "a2", "Seven"))
    (only,) = [one for one in told(scene.effects, ve.TranscriptionCompleted) if one.item_id == "a2"]
    assert (only.interrupted, only.replaces) == (True, None), "what is cut first is told once"


def test_a_result_waits_for_the_active_response() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call())
    early = scene.send(ev.ToolFinished("call_1", "12:00"))
    assert sent(early, cmd.CreateItem)
    assert not sent(early, cmd.CreateResponse)
    assert len(sent(scene.send(rt.ResponseDone("r1")), cmd.CreateResponse)) == 1


def test_several_calls_of_one_response_are_answered_before_the_model_speaks() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call("call_1"), call("call_2"), rt.ResponseDone("r1"))
    assert not sent(scene.send(ev.ToolFinished("call_1", "a")), cmd.CreateResponse)
    assert len(sent(scene.send(ev.ToolFinished("call_2", "b")), cmd.CreateResponse)) == 1


def test_a_result_that_comes_while_the_user_speaks_waits_for_the_providers_own_response() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    scene.send(rt.UserSpeechStarted("u2", 0))
    output = sent(scene.send(ev.ToolFinished("call_1", "x")), cmd.CreateItem)[0]
    effects = scene.send(
        rt.ItemAdded(rt.Item(output.item_id, "function_call_output")),
        *user_turn("u2")[1:],
        rt.ResponseCreated("r2"),
        rt.ResponseDone("r2"),
    )
    assert not sent(effects, cmd.CreateResponse), "r2 has already seen the output"


def test_a_response_that_had_not_seen_the_output_is_followed_by_another() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    scene.send(rt.UserSpeechStarted("u2", 0), ev.ToolFinished("call_1", "x"))
    effects = scene.send(*user_turn("u2")[1:], rt.ResponseCreated("r2"), rt.ResponseDone("r2"))
    assert len(sent(effects, cmd.CreateResponse)) == 1


def test_a_refused_response_waits_for_the_active_one() -> None:
    scene = Scene().connect()
    scene.send(rt.ResponseCreated("r1"), call(), rt.ResponseDone("r1"))
    asked = sent(scene.send(ev.ToolFinished("call_1", "x")), cmd.CreateResponse)[0]
    refusal = rt.Fault("conversation_already_has_active_response", "busy", asked.event_id)
    assert scene.send(refusal) == []
    again = scene.send(rt.ResponseDone("r9"))
    assert len(sent(again, cmd.CreateResponse)) == 1


def test_a_turn_that_is_never_answered_frees_the_floor() -> None:
    scene = Scene().connect()
    effects = scene.send(*user_turn("u1"))
    assert StartTimer("turn", 10.0) in effects
    assert scene.phase == "processing"
    scene.send(ev.TimerFired("turn"))
    assert scene.phase == "ready"


def test_speech_that_the_provider_took_back_is_recorded_once_with_what_followed() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.ResponseCreated("r1"))
    taken_back = scene.send(
        rt.ResponseDone("r1", "cancelled", "turn_detected"), rt.ItemDeleted("u1")
    )
    [empty] = told(taken_back, ve.TranscriptionCompleted)
    assert (empty.item_id, empty.transcript, empty.entry_id) == ("u1", "", None)
    scene.wait(2).send(*user_turn("u2"), rt.UserTranscript("u2", "Remind me to call Ann."))
    scene.send(ev.End("client_request"))
    assert [text for _, text in scene.transcript()] == ["Remind me to call Ann."]


def test_what_was_recorded_stays_though_its_item_is_deleted() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Hello."))
    assert told(scene.send(rt.ItemDeleted("u1")), ve.TranscriptionCompleted) == []
    assert [text for _, text in scene.transcript()] == ["Hello."]
