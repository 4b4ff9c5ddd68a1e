"""What is stored of an answer on every ending, and how the client's connection is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.session.scene import SESSION, START, WHO, Scene, answer, message, sent, told, user_turn
from vivavoce.session.effects import Account, Answered, RunTool, StartTimer, Tell
from vivavoce.session.events import (
    AttachFailed,
    CallPlaced,
    CallSurvived,
    End,
    SessionEvent,
    Shown,
    SidebandLost,
    SidebandUp,
    TimerFired,
    TypedText,
)
from vivavoce.session.policy import Policy
from vivavoce.wire.events import (
    AssistantDone,
    AssistantHeard,
    AssistantSpeaking,
    ConnectionStatus,
    SessionEnded,
    TranscriptionCompleted,
)
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.client import CreateResponse, ListItems
from vivavoce.wire.records.talk import Entry, Kind, Status

WORDS = "One two three. Four five six."


def speaking(scene: Scene, heard: str = "One two", ms: int = 800) -> Scene:
    """Our own engine says how far it is."""
    scene.connect().send(rt.Peer("connected", "open"))
    first, *rest = answer("r1", "a1", WORDS, "u1")
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Go."), first, rest[0])
    scene.send(rt.Heard("a1", "", 0), *rest[1:])
    scene.wait(5).send(rt.Heard("a1", heard, ms))
    return scene


def story(scene: Scene) -> Entry:
    [entry] = [one for one in scene.entries().values() if one.kind is Kind.ASSISTANT]
    return entry


def test_while_it_plays_an_answer_is_stored_as_far_as_it_was_heard() -> None:
    scene = speaking(Scene())
    entry = story(scene)
    assert (entry.text, entry.data["generated"]) == ("One two", WORDS)
    assert entry.data["playing"] is True
    scene.send(rt.Heard("a1", WORDS, 3000, "played"), rt.PlaybackStopped("r1"))
    assert story(scene).text == WORDS
    assert story(scene).data.keys().isdisjoint({"playing", "generated", "interrupted", "estimated"})


def test_captions_are_told_each_step_that_the_engine_tells() -> None:
    scene = speaking(Scene())
    effects = scene.send(rt.Heard("a1", "One two three.", 1200))
    (now,) = told(effects, AssistantHeard)
    assert (now.item_id, now.transcript, now.audio_end_ms) == ("a1", "One two three.", 1200)
    assert (now.state, now.durable) == ("playing", False)
    assert not told(scene.send(rt.Heard("a9", "Of nobody", 100)), AssistantHeard)
    ended = told(scene.send(rt.Heard("a1", "One two", 810, "cut")), AssistantHeard)
    assert [one.state for one in ended] == ["cut"]
    # What comes late of it does not open it again.
    assert not told(scene.send(rt.Heard("a1", "One two", 900)), AssistantHeard)


@pytest.mark.parametrize(
    "ending",
    [
        End(),
        CallPlaced("rtc_2"),
        SidebandLost(1000, hung_up=True),
        rt.Heard("a1", "One two", 810, "cut"),
    ],
    ids=["end", "another call", "hung up", "cut"],
)
def test_every_ending_keeps_the_words_that_the_engine_gave(ending: object) -> None:
    scene = speaking(Scene())
    scene.send(ending)  # type: ignore[arg-type]
    entry = story(scene)
    assert (entry.text, entry.data["generated"]) == ("One two", WORDS)
    assert entry.data["interrupted"] is True
    assert "playing" not in entry.data
    assert "estimated" not in entry.data
    assert told(scene.effects, TranscriptionCompleted)[-1].transcript == "One two"


@pytest.mark.parametrize(
    "endings",
    [
        (End(),),
        (CallPlaced("rtc_2"), End()),
        (SidebandLost(1000, hung_up=True), End()),
        (rt.Heard("a1", "One two", 800, "cut"), CallPlaced("rtc_2"), End()),
        (rt.Heard("a1", "One two", 800, "cut"), rt.PlaybackStopped("r1", cleared=True), End()),
    ],
    ids=["end", "another call", "hung up", "cut, then another call", "cut"],
)
def test_whoever_was_told_that_it_speaks_is_told_once_that_it_stopped(
    endings: tuple[SessionEvent, ...],
) -> None:
    scene = speaking(Scene())
    scene.send(*endings)
    assert len(told(scene.effects, AssistantSpeaking)) == 1
    [done] = told(scene.effects, AssistantDone)
    assert done.interrupted
    events = [e.event for e in scene.effects if isinstance(e, Tell)]
    ended = next(e for e in events if isinstance(e, SessionEnded))
    assert events.index(done) < events.index(ended)


def test_where_nobody_tells_it_is_reckoned_and_marked() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", WORDS, "u1"))
    scene.wait(0.6).send(TimerFired("heard"))
    entry = story(scene)
    assert (entry.text, entry.data["estimated"]) == ("One two", True)
    scene.send(End())
    assert (story(scene).text, story(scene).data["estimated"]) == ("One two", True)


def test_what_was_heard_whole_is_not_stored_again_and_again_until_it_ends() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", WORDS, "u1"))
    again = StartTimer("heard", 0.5)
    assert again in scene.wait(0.6).send(TimerFired("heard"))
    effects = scene.wait(60).send(TimerFired("heard"))
    assert story(scene).text == WORDS
    assert again not in effects, "a client that never says that it has read it out"
    scene.send(End())
    assert story(scene).text == WORDS


def test_nothing_counts_as_heard_after_a_sideband_that_did_not_come_back() -> None:
    scene = Scene(Policy(providers=("one", "two"), attach_tries=5)).connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", WORDS, "u1"))
    scene.wait(0.6).send(SidebandLost(1006, False))
    scene.wait(3).send(AttachFailed())
    scene.wait(3).send(AttachFailed())
    entry = story(scene)
    assert (entry.text, entry.data["generated"]) == ("One two", WORDS)
    assert (entry.data["interrupted"], entry.data["estimated"]) == (True, True)


def test_what_was_played_whole_is_no_estimate() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), *answer("r1", "a1", WORDS, "u1"))
    scene.wait(2).send(rt.PlaybackStopped("r1"))
    assert story(scene).text == WORDS
    assert "estimated" not in story(scene).data


def test_after_a_crash_what_was_stored_was_heard_and_is_told() -> None:
    before = story(speaking(Scene()))
    scene = Scene()
    scene.wait(100).send(CallSurvived(call_id="rtc_1", sounding=(before,), over=True))
    entry = story(scene)
    assert (entry.id, entry.text, entry.data["interrupted"]) == (before.id, "One two", True)
    assert told(scene.effects, TranscriptionCompleted)[-1].interrupted is True


def test_a_lost_client_keeps_the_session_and_hears_what_it_missed() -> None:
    scene = speaking(Scene(), "One two three. Four", 1900)
    scene.send(
        rt.Peer("lost", "closed", "ice_lost"), rt.Heard("a1", "One two three. Four", 1900, "cut")
    )
    assert scene.phase == "reconnecting"
    effects = scene.wait(20).send(
        CallPlaced("rtc_2", greeting="Say hello."), SidebandUp(), rt.Configured(False, SESSION)
    )
    said = [c.say for c in sent(effects, CreateResponse) if c.say]
    assert said == ["Sorry, we were cut off. I was saying: Four five six."]


def test_what_is_long_is_summed_up() -> None:
    scene = Scene().connect()
    scene.send(rt.Peer("connected", "open"), *user_turn("u1"))
    first, *rest = answer("r1", "a1", "Much to say. " * 60, "u1")
    scene.send(first, rest[0], rt.Heard("a1", "", 0), *rest[1:])
    scene.send(rt.Peer("lost", "closed", "ice_lost"), rt.Heard("a1", "Much", 300, "cut"))
    effects = scene.send(
        CallPlaced("rtc_2", greeting="Say hello."), SidebandUp(), rt.Configured(False, SESSION)
    )
    [asked] = [c.instructions or "" for c in sent(effects, CreateResponse)]
    assert "Say hello." in asked
    assert "did not hear this part" in asked


def test_a_client_that_comes_back_before_the_engine_noticed_hears_the_rest_too() -> None:
    scene = speaking(Scene())
    effects = scene.send(CallPlaced("rtc_2"), SidebandUp(), rt.Configured(False, SESSION))
    said = [c.say for c in sent(effects, CreateResponse) if c.say]
    assert said == [f"Sorry, we were cut off. I was saying: {WORDS}"]


RUNNING = "This is still running: add logging, sixty-six percent done."


def test_who_comes_back_hears_which_work_goes_on() -> None:
    back = CallPlaced("rtc_2", greeting="Say hello.", running=RUNNING)
    scene = Scene().connect()
    scene.send(rt.Peer("connected", "open"), rt.Peer("lost", "closed", "ice_lost"))
    effects = scene.send(back, SidebandUp(), rt.Configured(False, SESSION))
    asked = [(one.say, one.instructions) for one in sent(effects, CreateResponse)]
    assert [say for say, _ in asked] == [f"Sorry, we were cut off. {RUNNING}"]
    scene = speaking(Scene())
    effects = scene.send(back, SidebandUp(), rt.Configured(False, SESSION))
    said = [c.say for c in sent(effects, CreateResponse) if c.say]
    assert said == [f"Sorry, we were cut off. {RUNNING} I was saying: {WORDS}"]


def test_who_was_never_connected_is_not_told_of_a_cut() -> None:
    scene = Scene().connect()
    scene.send(rt.Peer("connecting", "connecting"))
    first, added, *rest = answer("r1", "a1", "Hello, who is there?", "root")
    scene.send(first, added, rt.Heard("a1", "", 0), *rest)
    effects = scene.send(CallPlaced("rtc_2"), SidebandUp(), rt.Configured(False, SESSION))
    assert [c.say for c in sent(effects, CreateResponse)] == ["Hello, who is there?"]


@pytest.mark.parametrize(
    ("peer", "reason", "status"),
    [
        (rt.Peer("closed", "closed", "user_ended"), "user_ended", Status.COMPLETED),
        (rt.Peer("lost", "closed", "socket_reset"), "socket_reset", Status.ERROR),
        (rt.Peer("lost", "closed", "client_silent"), "client_silent", Status.ERROR),
        (rt.Peer("lost", "closed", "ice_lost"), "ice_lost", Status.ERROR),
        (rt.Peer("failed", "closed", "never_connected"), "never_connected", Status.ERROR),
    ],
)
def test_every_way_to_go_has_a_reason_of_its_own(
    peer: rt.Peer, reason: str, status: Status
) -> None:
    scene = Scene().connect()
    effects = scene.send(peer, SidebandLost(1000, hung_up=True))
    [ended] = told(effects, SessionEnded)
    assert ended.reason == reason
    assert told(effects, ConnectionStatus)[-1].reason == reason
    assert any(getattr(effect, "status", None) is status for effect in effects)


def test_the_sideband_is_not_the_clients_connection() -> None:
    scene = Scene().connect()
    states = [one.webrtc_state for one in told(scene.effects, ConnectionStatus)]
    assert states == ["connecting"]
    scene.wait(10).send(SidebandLost(1006, hung_up=False), AttachFailed(), SidebandUp())
    assert len(told(scene.effects, ConnectionStatus)) == 1
    scene.send(*user_turn("u1"))  # sound went through
    assert told(scene.effects, ConnectionStatus)[-1].webrtc_state == "connected"


def test_a_sideband_that_is_back_does_not_bring_back_the_client() -> None:
    scene = Scene().connect()
    scene.send(rt.Peer("lost", "closed", "ice_lost"))
    scene.wait(10).send(SidebandLost(1006, hung_up=False), SidebandUp())
    assert scene.phase == "reconnecting"


def test_what_is_written_is_answered_with_all_that_was_generated() -> None:
    scene = Scene().connect()
    scene.send(rt.Peer("connected", "open"), TypedText("vvw_1", "Hello?"))
    scene.send(rt.ItemAdded(message("vvw_1", "user", "Hello?")))
    first, *rest = answer("r1", "a1", WORDS, "vvw_1")
    scene.send(first, rest[0], rt.Heard("a1", "", 0), *rest[1:])
    [answered] = [e for e in scene.effects if isinstance(e, Answered)]
    assert answered.reply is not None
    assert answered.reply.text == WORDS


# --- While the sideband was away ---------------------------------------------------------------


def away(scene: Scene) -> Scene:
    scene.connect().send(rt.Peer("connected", "open"))
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Go."))
    scene.wait(10).send(SidebandLost(1006, hung_up=False), SidebandUp())
    return scene


def spoken(item_id: str, words: str, previous: str, state: str = "played") -> rt.ListedItem:
    item = rt.Item(item_id, "message", "assistant", "completed", words, True)
    heard = rt.Heard(item_id, words, 900, state)
    return rt.ListedItem(item, previous, f"r_{item_id}", words, heard)


def asked(item_id: str, words: str, previous: str) -> rt.ListedItem:
    return rt.ListedItem(rt.Item(item_id, "message", "user", "completed", words, True), previous)


def test_our_engine_is_asked_what_there_was_and_nobody_else_is() -> None:
    scene = away(Scene())
    assert not sent(scene.effects, ListItems), "before it is known whose call it is"
    effects = scene.send(rt.Peer("connected", "open"))
    assert [one.since for one in sent(effects, ListItems)] == ["u1"]
    assert not sent(scene.send(rt.Peer("connected", "closed")), ListItems), "once"


def test_what_was_typed_on_a_dead_line_hides_nothing_that_was_said_before_it() -> None:
    scene = Scene().connect()
    scene.send(rt.Peer("connected", "open"))
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "Go."))
    scene.wait(1).send(TypedText("vvt_1", "And back?"))  # nobody knows yet that the line is dead
    scene.send(Shown("u2", handed_in("u2")))
    scene.wait(10).send(SidebandLost(1006, hung_up=False), SidebandUp())
    effects = scene.send(rt.Peer("connected", "open"))
    assert [one.since for one in sent(effects, ListItems)] == ["u1"]


def handed_in(item_id: str) -> Entry:
    return Entry(
        id=item_id,
        conversation_id="c1",
        user_id="ada",
        session_id=WHO.session_id,
        kind=Kind.USER,
        text="Are you there?",
        created_at=START,
        ordinal=START.timestamp() * 1000 + 5_000,
        data={"item_id": item_id},
    )


def test_an_answer_that_was_handed_in_before_it_arrived_is_not_taken_for_an_empty_one() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "What time is it?"))
    shown = replace(handed_in("a1"), kind=Kind.ASSISTANT, text="It is noon.")
    scene.send(Shown("a1", shown))
    effects = scene.send(*answer("r1", "a1", "It is noon.", "u1"), rt.PlaybackStopped("r1"))
    assert not sent(effects, CreateResponse)
    assert not [one for one in effects if "no_answer" in repr(one)]
    assert [one for one in scene.transcript() if one[0] == "assistant"] == [
        ("assistant", "It is noon.")
    ]


def test_what_was_missed_is_there_once_and_in_order_however_often_it_comes() -> None:
    scene = away(Scene())
    items = (
        asked("u1", "Go.", "root"),
        spoken("a1", "Gone.", "u1"),
        asked("u2", "And back?", "a1"),
        spoken("a2", "And back.", "u2"),
    )
    for _ in range(2):
        scene.send(rt.Listed(items))
    scene.send(rt.UserTranscript("u2", "And back?"))
    assert scene.transcript() == [
        ("user", "Go."),
        ("assistant", "Gone."),
        ("user", "And back?"),
        ("assistant", "And back."),
    ]
    assert len([e for e in told(scene.effects, TranscriptionCompleted) if e.item_id == "u2"]) == 1
    assert len([e for e in told(scene.effects, TranscriptionCompleted) if e.item_id == "a2"]) == 1


def test_an_answer_that_was_cut_meanwhile_is_cut() -> None:
    scene = away(Scene())
    whole = "Gone, and far away."
    item = rt.Item("a1", "message", "assistant", "completed", "Gone,", True)
    heard = rt.Heard("a1", "Gone,", 400, "cut")
    scene.send(rt.Listed((rt.ListedItem(item, "u1", "r1", whole, heard),)))
    entry = story(scene)
    assert (entry.text, entry.data["generated"]) == ("Gone,", whole)
    assert entry.data["interrupted"] is True


def test_a_call_of_a_tool_that_was_missed_runs_once_and_one_of_the_history_never() -> None:
    scene = away(Scene())
    call = rt.ListedItem(rt.Item("f1", "function_call", name="t", call_id="c1", arguments="{}"))
    old = rt.ListedItem(rt.Item("f0", "function_call", name="t", call_id="c0", arguments="{}"))
    result = rt.ListedItem(rt.Item("o0", "function_call_output", call_id="c0"))
    scene.machine.state.sideband.guard.ours.update(("f0", "o0"))
    for _ in range(2):
        scene.send(rt.Listed((old, result, call)))
    assert [e.call_id for e in scene.effects if isinstance(e, RunTool)] == ["c1"]


def test_what_an_answer_took_counts_once_however_often_it_is_told() -> None:
    scene = away(Scene())
    took = rt.Usage(input=100, output=20)
    for _ in range(2):
        scene.send(rt.Listed((), (rt.Spent("r9", took), rt.Spent("r10", took))))
    scene.send(rt.ResponseDone("r10", usage=took))
    counted = [one for one in scene.effects if isinstance(one, Account)]
    assert counted == [Account(took), Account(took)]


def test_what_another_providers_answer_took_unseen_is_reckoned_and_marked() -> None:
    scene = Scene().connect()
    scene.send(*user_turn("u1"), rt.UserTranscript("u1", "How long is a kilometre?"))
    scene.send(*user_turn("u2", "a1"))
    words = "A kilometre is a thousand metres."
    effects = scene.send(rt.ItemRetrieved(message("a1", text=words, audio=True)))
    [reckoned] = [one for one in effects if isinstance(one, Account)]
    assert reckoned.estimated
    assert reckoned.usage.input > 0
    assert 30 < reckoned.usage.output_audio < reckoned.usage.output < 80
