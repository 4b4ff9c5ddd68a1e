"""The machine under arbitrary orders of events: nothing undefined, doubled or lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.scene import SESSION, Scene, message, told
from vivavoce.session import events as ev
from vivavoce.session.effects import Close, Record, RunTool, Send, StartTimer
from vivavoce.session.machine import TABLE
from vivavoce.session.policy import Policy
from vivavoce.session.state import Phase
from vivavoce.wire import events as ve
from vivavoce.wire.realtime import client as cmd
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import entry_id

ids = st.sampled_from(["i1", "i2", "i3", "i4"])
responses = st.sampled_from(["r1", "r2", "r3", ""])
calls = st.sampled_from(["call_1", "call_2", "call_3"])
text = st.sampled_from(["", "Yes.", "One two three four five six seven."])
status = st.sampled_from(["completed", "cancelled", "incomplete", "failed"])
previous = st.none() | ids | st.just("root")
ms = st.integers(0, 5000)
items = st.builds(
    message, ids, st.sampled_from(["user", "assistant", "system"]), text, audio=st.booleans()
)
call_items = st.builds(
    lambda i, c: rt.Item(i, "function_call", call_id=c, name="t", status="completed"), ids, calls
)

provider_events = st.one_of(
    st.builds(rt.Configured, st.booleans(), st.sampled_from([SESSION, SESSION | {"tools": []}])),
    st.builds(rt.UserSpeechStarted, ids, ms),
    st.builds(rt.UserSpeechStopped, ids, ms),
    st.builds(rt.InputCommitted, ids, previous),
    st.builds(rt.ItemAdded, items, previous),
    st.builds(rt.ItemRetrieved, items | call_items),
    st.builds(rt.ItemTruncated, ids, ms),
    st.builds(rt.UserTranscript, ids, text),
    st.builds(rt.UserTranscriptFailed, ids),
    st.builds(rt.ResponseCreated, responses),
    st.builds(rt.OutputItemAdded, responses, items | call_items),
    st.builds(rt.AssistantDelta, responses, ids, text),
    st.builds(rt.AssistantTranscript, responses, ids, text, st.booleans()),
    st.builds(rt.AudioReceived, ids, st.floats(0, 900)),
    st.builds(rt.CallRequested, responses, ids, calls, st.just("t"), st.just("{}")),
    st.builds(
        rt.ResponseDone,
        responses,
        status,
        items=st.lists(items | call_items, max_size=3).map(tuple),
    ),
    st.builds(rt.PlaybackStarted, responses),
    st.builds(rt.PlaybackStopped, responses, st.booleans()),
    st.builds(rt.Fault, st.sampled_from(["x", "conversation_already_has_active_response"]), text),
)
own_events = st.one_of(
    st.builds(ev.CallPlaced, st.sampled_from(["rtc_1", "rtc_2"]), greeting=st.none() | text),
    st.just(ev.SidebandUp()),
    st.builds(ev.SidebandLost, st.just(1006), st.just(False)),
    st.just(ev.AttachFailed()),
    st.just(ev.BadFrame()),
    st.builds(ev.ToolFinished, calls, text),
    st.builds(ev.TaskStarted, calls),
    st.builds(ev.TaskFinished, calls),
    st.builds(
        ev.TimerFired,
        st.sampled_from(["turn", "idle", "trace", "budget", "retry", "overdue", "interim"]),
    ),
    st.builds(ev.TypedText, st.sampled_from(["vvt_1", "vvt_2"]), text),
    st.just(ev.BudgetSpent()),
    st.just(ev.Flush()),
    st.builds(
        ev.CallSurvived,
        call_id=st.just("rtc_1"),
        orphans=st.lists(calls, max_size=2).map(tuple),
        outcomes=st.lists(st.tuples(calls, text), max_size=2).map(tuple),
    ),
    st.builds(ev.Reconfigure, st.just({"tool_choice": "none"}), st.just(("tool_choice",))),
)
SAID = (
    rt.InputCommitted,
    rt.UserTranscript,
    rt.UserTranscriptFailed,
    rt.AssistantDelta,
    rt.AssistantTranscript,
)
stories = st.lists(provider_events | own_events | st.floats(0, 2), max_size=60)
policies = st.builds(
    Policy,
    peer_text=st.sampled_from(["allow", "deny"]),
    one_connection=st.booleans(),
)


def play(policy: Policy, story: list[object], *, connected: bool = True) -> Scene:
    scene = Scene(policy)
    if connected:
        scene.connect()
    for step in story:
        if isinstance(step, float):
            scene.wait(step)
        else:
            scene.send(step)  # type: ignore[arg-type] # a story holds events and waits
    return scene


@settings(max_examples=300, deadline=None)
@given(policies, stories, st.booleans())
def test_no_order_of_events_leads_outside_the_table(
    policy: Policy, story: list[object], connected: bool
) -> None:
    scene = Scene(policy)
    if connected:
        scene.connect()
    reachable = {phase: {phase, *moves.values()} for phase, moves in TABLE.items()}
    for step in story:
        if isinstance(step, float):
            scene.wait(step)
            continue
        scene.send(step)  # type: ignore[arg-type] # a story holds events and waits
        assert scene.machine.phase in reachable
    phases = [event.state for event in told(scene.effects, ve.SessionStatus)]
    for before, after in zip([Phase.DISCONNECTED, *phases], phases, strict=False):
        assert Phase(after) in reachable[Phase(before)], f"{before} → {after}"


@settings(max_examples=300, deadline=None)
@given(policies, stories)
def test_a_call_is_run_once_and_answered_at_most_once(policy: Policy, story: list[object]) -> None:
    scene = play(policy, story)
    ran = Counter(e.call_id for e in scene.effects if isinstance(e, RunTool))
    assert all(n == 1 for n in ran.values()), ran
    outputs = {
        (e.command.item["call_id"], e.command.item_id)
        for e in scene.effects
        if isinstance(e, Send)
        and isinstance(e.command, cmd.CreateItem)
        and e.command.item["type"] == "function_call_output"
    }
    answered = Counter(call for call, _ in outputs)
    assert all(n == 1 for n in answered.values()), "sent again only under the same item id"


@settings(max_examples=300, deadline=None)
@given(policies, stories)
def test_no_entry_is_lost(policy: Policy, story: list[object]) -> None:
    """What the user or the assistant began to say is stored when the session ends."""
    scene = Scene(policy).connect()
    begun: set[str] = set()
    for step in [*story, ev.End()]:
        if isinstance(step, float):
            scene.wait(step)
            continue
        if scene.machine.phase is not Phase.TERMINATED and isinstance(step, SAID):
            begun.add(step.item_id)
        scene.send(step)  # type: ignore[arg-type] # a story holds events and waits
    assert any(isinstance(effect, Close) for effect in scene.effects)
    stored = {e.entry.id for e in scene.effects if isinstance(e, Record)}
    who = scene.machine.state.identity.session_id
    assert {entry_id(who, item_id) for item_id in begun} <= stored


@settings(max_examples=300, deadline=None)
@given(policies, stories)
def test_responses_are_asked_for_one_at_a_time(policy: Policy, story: list[object]) -> None:
    scene = Scene(policy).connect()
    waiting = False
    for step in story:
        if isinstance(step, float):
            scene.wait(step)
            continue
        if isinstance(step, rt.ResponseCreated | ev.SidebandLost | rt.Fault):
            waiting = False
        if isinstance(step, ev.CallPlaced | ev.CallSurvived):  # what the old call owes is gone
            waiting = False
        if isinstance(step, ev.TimerFired) and step.name == "turn":
            waiting = False
        asked = [
            e
            for e in scene.send(step)  # type: ignore[arg-type]
            if isinstance(e, Send) and isinstance(e.command, cmd.CreateResponse)
        ]
        assert len(asked) + waiting <= 1
        waiting = waiting or bool(asked)


@settings(max_examples=200, deadline=None)
@given(policies, stories)
def test_every_frame_we_send_is_well_formed_and_cuts_are_never_at_zero(
    policy: Policy, story: list[object]
) -> None:
    scene = play(policy, story)
    for effect in scene.effects:
        if isinstance(effect, StartTimer):
            assert effect.seconds >= 0
        if isinstance(effect, Send):
            payload = effect.command.payload()
            assert payload["event_id"]
            if payload["type"] == "conversation.item.truncate":
                assert payload["audio_end_ms"] > 0
            if payload["type"] == "conversation.item.create":
                assert len(payload["item"]["id"]) <= 32


@settings(max_examples=300, deadline=None)
@given(policies, stories)
def test_a_turn_is_traced_once_in_order_and_never_after_the_end(
    policy: Policy, story: list[object]
) -> None:
    scene = play(policy, [*story, ev.End()])
    ended = len(scene.effects)
    scene.send(rt.ResponseDone("r1"), rt.PlaybackStopped("r1"), ev.TimerFired("trace"), ev.End())
    assert len(scene.effects) == ended
    assert not scene.machine.state.talk.turns.open, "every turn was told"
    traced = told(scene.effects, ve.TurnTraced)
    for turn in traced:
        assert turn.response_ids
        for path in (
            (turn.end_of_turn_ms, turn.transcript_ms),
            (turn.end_of_turn_ms, turn.first_token_ms, turn.first_clause_ms),
            (turn.end_of_turn_ms, turn.first_token_ms, turn.first_sound_ms, turn.last_sound_ms),
        ):
            seen = [mark for mark in path if mark is not None]
            assert seen == sorted(seen)
            assert all(mark >= 0 for mark in seen)
        assert (turn.first_sound_ms is None) == (turn.last_sound_ms is None)
    if not _placed_again(story):
        answers = Counter(r for turn in traced for r in turn.response_ids)
        assert all(n == 1 for n in answers.values()), "a response belongs to one turn"


def _placed_again(story: list[object]) -> bool:
    """A new call may give out the same ids anew; only the tests' provider does."""
    return any(isinstance(step, ev.CallPlaced | ev.CallSurvived) for step in story)
