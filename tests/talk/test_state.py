"""What the terminal knows, fact by fact."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vivavoce.cli.talk.core import words
from vivavoce.cli.talk.core.state import (
    Asked,
    Began,
    Call,
    Decided,
    Ending,
    Event,
    Fact,
    Microphone,
    Opened,
    Over,
    Recalled,
    Refused,
    Reread,
    Sounding,
    State,
    Stream,
    Typed,
    reduce,
)


def after(*facts: Fact, start: State | None = None) -> State:
    state = start or State()
    for fact in facts:
        state = reduce(state, fact)
    return state


def event(name: str, **data: Any) -> Event:
    return Event(name, data)


LIVE = after(Began("voice"), Call("up"), event("session.status", state="ready"))


def said(item: str, text: str, role: str = "user", **more: Any) -> Event:
    return event("transcription.completed", item_id=item, transcript=text, role=role, **more)


def test_an_answer_keeps_its_place_behind_a_transcript_that_comes_late() -> None:
    state = after(
        event("speech.started", item_id="u1"),
        event("transcription.delta", item_id="a1", delta="It is ", role="assistant"),
        event("transcription.delta", item_id="a1", delta="noon.", role="assistant"),
        said("u1", "What time is it?"),
        start=LIVE,
    )
    assert [(line.kind, line.text) for line in state.lines] == [
        ("user", "What time is it?"),
        ("assistant", "It is noon."),
    ]


def test_what_was_not_heard_of_an_answer_is_kept_apart() -> None:
    state = after(
        event("transcription.delta", item_id="a", delta="One two three.", role="assistant"),
        said("a", "One two", "assistant", interrupted=True),
        start=LIVE,
    )
    (line,) = state.lines
    assert (line.text, line.unheard, line.cut, line.done) == ("One two", " three.", True, True)


def test_speech_without_words_leaves_no_line() -> None:
    state = after(event("speech.started", item_id="u"), said("u", " "), start=LIVE)
    assert state.lines == ()


def test_a_tool_runs_gets_on_and_ends_in_one_line() -> None:
    call = {"call_id": "c1", "tool_name": "search"}
    running = after(
        event("tool.started", **call, description="Searching"),
        event("tool.progress", **call, message="page 2", percentage=40),
        start=LIVE,
    )
    assert running.tools[0].percentage == 40
    ended = after(
        event("tool.completed", **call, success=True, output_preview="3 hits\nhere"), start=running
    )
    late = after(event("tool.progress", **call, message="page 1", percentage=20), start=ended)
    assert late == ended
    assert ended.tools == ()
    (line,) = ended.lines
    assert (line.text, line.note, line.done, line.failed) == (
        "Searching",
        "3 hits here",
        True,
        False,
    )


def test_a_tool_that_fails_says_why() -> None:
    call = {"call_id": "c1", "tool_name": "search"}
    state = after(
        event("tool.started", **call, description="Searching"),
        event("tool.error", **call, error="No network.", suggestion="Try later."),
        start=LIVE,
    )
    assert state.lines[0].failed
    assert state.lines[0].note == "No network. Try later."


ASKED = {
    "approval_id": "p1",
    "tool_name": "bash",
    "question": "May I?",
    "arguments": {"command": "make"},
    "expires_at": "2026-01-31T14:31:00Z",
    "timestamp": "2026-01-31T14:30:00Z",
    "call_id": "c1",
}


def test_a_request_is_shown_until_it_has_its_answer_and_never_comes_back() -> None:
    asked = after(event("approval.requested", **ASKED), start=LIVE)
    assert [one.id for one in asked.approvals] == ["p1"]
    decided = after(Decided("p1"), start=asked)
    again = after(event("approval.requested", **ASKED), start=decided)
    assert again.approvals == ()
    by_voice = after(
        event("approval.resolved", approval_id="p1", tool_name="bash", granted=True, by="voice"),
        start=asked,
    )
    assert by_voice.notice == "bash was allowed by voice."


def test_a_call_that_waits_for_a_yes_is_not_said_to_run() -> None:
    started = {"call_id": "c1", "tool_name": "bash", "description": "Running make"}
    asked = after(
        event("tool.started", **started), event("approval.requested", **ASKED), start=LIVE
    )
    assert asked.lines[0].note == "waits for your yes"
    assert after(Decided("p1"), start=asked).lines[0].note == ""


def test_a_list_of_requests_takes_away_what_has_its_answer_and_leaves_out_other_sessions() -> None:
    asked = after(event("approval.requested", **ASKED), start=LIVE)
    found = [
        {"id": "p2", "session_id": "vs_here", "requested_at": "2"},
        {"id": "p3", "session_id": "vs_there", "requested_at": "3"},
    ]
    state = after(Asked(found, "vs_here"), start=asked)
    assert [one.id for one in state.approvals] == ["p2"]


def test_what_is_typed_is_shown_at_once_and_once() -> None:
    typed = after(Typed("k", "Hello"), start=LIVE)
    assert typed.lines[0].pending
    arrived = after(said("u9", "Hello", modality="text"), start=typed)
    assert [(line.id, line.pending) for line in arrived.lines] == [("u9", False)]
    refused = after(Refused("k", "Not sent."), start=typed)
    assert (refused.lines, refused.notice) == ((), "Not sent.")


def test_after_a_gap_the_record_counts_and_cards_stay_where_they_were() -> None:
    before = after(
        said("u1", "Remind me."),
        event(
            "intent.submitted",
            intent_id="i1",
            intent="NEW_TASK",
            payload={"title": "Milk"},
            status="accepted",
        ),
        start=LIVE,
    )
    entries = [
        {"entry_type": "user", "id": "1", "item_id": "u1", "text": "Remind me."},
        {"entry_type": "assistant", "id": "2", "item_id": "a1", "text": "Done."},
    ]
    state = after(Reread(entries), start=before)
    assert [line.id for line in state.lines] == ["u1", "i1", "a1"]
    assert state.lines[1].text == "New task: Milk"


def test_a_conversation_that_goes_on_shows_what_was_said_in_it() -> None:
    messages = [
        {"id": "1", "role": "user", "content": "Hello", "input_modality": "voice"},
        {"id": "2", "role": "function", "content": "{}", "input_modality": "voice"},
        {"id": "3", "role": "assistant", "content": "Hi.", "input_modality": "voice"},
    ]
    state = after(Began("voice", note="Careful."), Recalled(messages))
    assert [line.text for line in state.lines] == ["Hello", "Hi.", "Careful."]


def test_a_loss_and_a_return_are_told() -> None:
    lost = after(Call("lost"), start=LIVE)
    assert words.words(lost) == "Connection lost, reconnecting"
    assert words.situation(after(Call("placing"), start=lost)) == "reconnecting"
    assert words.words(after(Call("up"), start=lost)) == "Listening"
    assert words.situation(after(Stream(up=False), start=LIVE)) == "reconnecting"


def test_it_speaks_as_long_as_it_sounds_here() -> None:
    sounding = after(Sounding(on=True), start=LIVE)
    assert words.situation(sounding) == "speaking"
    assert not words.may_speak(sounding)
    assert words.may_speak(after(Sounding(on=False), start=sounding))


def test_a_question_for_a_yes_may_be_answered_aloud() -> None:
    waiting = after(
        event("session.status", state="executing_tool"),
        event("approval.requested", **ASKED),
        start=LIVE,
    )
    assert words.words(waiting) == "Waiting for your yes"
    assert words.may_speak(waiting)
    assert not words.at_rest(waiting)


def test_a_muted_microphone_is_not_called_listening() -> None:
    assert words.words(after(Microphone(muted=True, held=False), start=LIVE)) == "Muted"
    held = after(Microphone(muted=False, held=True), start=LIVE)
    assert words.words(held) == "Hold space to talk"


def test_in_writing_it_is_at_rest_when_the_last_words_are_the_assistants() -> None:
    ready = after(Began("text"), Opened(None, "c"), Call("up"))
    assert words.words(ready) == "Ready: write something"
    assert words.at_rest(ready)
    asked = after(said("u", "Hello", modality="text"), start=ready)
    assert not words.at_rest(asked)
    assert words.at_rest(after(said("a", "Hi.", "assistant", modality="text"), start=asked))


def test_what_could_hide_or_steer_a_terminal_is_spelt_out() -> None:
    assert words.visible("rm\u202e -rf\x1b[2J") == "rm\\u{202e} -rf\\u{001b}[2J"
    assert words.harmless("a\x1b[2Jb\x07") == "a[2Jb"
    assert words.harmless("evil\u202e\u200b\u2066\ufeff!\n👩\u200d🚀") == "evil!\n👩\u200d🚀"
    rows = words.argument_rows({"n": 1, "text": "a\nb"})
    assert rows == [("n", "1"), ("text", "a\nb")]


def test_a_request_says_how_long_it_waits() -> None:
    state = after(event("approval.requested", **ASKED), start=LIVE)
    (approval,) = state.approvals
    assert words.seconds_left(approval, datetime(2026, 1, 31, 14, 30, 20, tzinfo=UTC)) == 40
    assert words.seconds_left(approval, datetime(2026, 1, 31, 15, 0, 0, tzinfo=UTC)) == 0


def test_an_end_leaves_what_was_said_and_says_why() -> None:
    going = after(
        said("u", "Hello"),
        event("transcription.delta", item_id="a", delta="Hi", role="assistant"),
        event("speech.started", item_id="u2"),
        start=LIVE,
    )
    over = after(Over(Ending("The line is lost: gone", broken=True)), start=going)
    assert over.stage == "failed"
    assert [(line.text, line.done) for line in over.lines] == [("Hello", True), ("Hi", True)]
    assert words.words(over) == "The line is lost: gone"


NAMES = st.sampled_from(
    [
        "session.status",
        "speech.started",
        "tool.started",
        "tool.progress",
        "tool.completed",
        "tool.error",
        "task.delegated",
        "task.progress",
        "task.completed",
        "task.failed",
        "task.due",
        "intent.submitted",
        "intent.retracted",
        "approval.resolved",
        "session.warning",
        "call.wanted",
        "notification",
        "error",
        "something.new",
    ]
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["item_id", "call_id", "task_id", "intent_id", "message", "state", "title", "action"]
    ),
    st.text(max_size=4),
)


@given(st.lists(st.tuples(NAMES, FIELDS), max_size=12))
def test_no_event_of_a_newer_or_older_server_breaks_it(events: list[tuple[str, Any]]) -> None:
    state = after(*(Event(name, data) for name, data in events), start=LIVE)
    assert len({line.id for line in state.lines}) == len(state.lines)
    assert words.words(state)
