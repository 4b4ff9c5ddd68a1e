"""The user: speech, its place in the conversation, its words."""

from __future__ import annotations

from vivavoce.session import calling, gaps, line, news, saying
from vivavoce.session.effects import Account, StartTimer
from vivavoce.session.state import Draft, Signal, UserItem
from vivavoce.wire.events import (
    ErrorOccurred,
    SpeechStarted,
    SpeechStopped,
    TranscriptionCompleted,
    TranscriptionDelta,
)
from vivavoce.wire.realtime.commands import CancelResponse, DeleteItem
from vivavoce.wire.realtime.facts import (
    CallRequested,
    InputCommitted,
    Item,
    ItemAdded,
    ItemRetrieved,
    Usage,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTranscript,
    UserTranscriptDelta,
    UserTranscriptFailed,
)
from vivavoce.wire.records.talk import Kind, Status


def speech_started(event: UserSpeechStarted, draft: Draft) -> None:
    """Speaking over the assistant is barge-in. Where the provider does not cut the
    answer by itself, we do, before anything else."""
    if draft.state.policy.barge_in == "ours":
        saying.interrupt(draft)
    draft.state.speech_began_ms = event.audio_start_ms
    draft.state.began_ms[event.item_id] = draft.now_ms
    draft.state.turns.speech_started(draft.now)
    draft.tell(SpeechStarted, item_id=event.item_id)
    draft.active()
    draft.signal(Signal.SPEECH_STARTED)


def speech_stopped(event: UserSpeechStopped, draft: Draft) -> None:
    state = draft.state
    duration = max(0, event.audio_end_ms - state.speech_began_ms)
    state.turns.speech_stopped(event.item_id, draft.now, state.setup.silence)
    draft.tell(SpeechStopped, item_id=event.item_id, duration_ms=duration)
    draft.active()
    _turn_over(draft)


def committed(event: InputCommitted, draft: Draft) -> None:
    """The user's audio is part of the conversation: it has its place before its words."""
    gaps.mind(event.item_id, event.previous_item_id, draft)
    item = _user_item(event.item_id, event.previous_item_id, draft)
    transcribed = draft.state.setup.transcribes and not item.settled
    draft.state.turns.committed(event.item_id, draft.now, transcribed=transcribed)
    _turn_over(draft)


def _turn_over(draft: Draft) -> None:
    state = draft.state
    state.quiet_turn = True
    if state.setup.answers_by_itself and state.responses.active is None:
        state.responses.turn_pending = True
        draft.do(StartTimer("turn", state.policy.turn_patience))
    draft.signal(Signal.SPEECH_STOPPED)


def _user_item(item_id: str, previous: str | None, draft: Draft) -> UserItem:
    state = draft.state
    state.guard.expect(item_id)
    if item_id not in state.heard:
        ordinal = state.order.place(item_id, previous, draft.now_ms)
        state.heard[item_id] = UserItem(item_id, ordinal, previous)
    return state.heard[item_id]


def item_added(event: ItemAdded, draft: Draft) -> None:
    """An item joined the conversation: ours, the microphone's, the model's — or a stranger's."""
    state, item = draft.state, event.item
    gaps.mind(item.id, event.previous_item_id, draft)
    if item.id in state.unsure:
        # It was not there before the restart after all, so nobody has spoken of it.
        state.unsure.discard(item.id)
        state.responses.wish(item.id)
    state.responses.confirm(item.id)
    if state.unconfirmed.pop(item.id, None) is not None:
        state.order.place(item.id, event.previous_item_id, draft.now_ms)
        return
    if item.role == "user" and item.audio:
        _user_item(item.id, event.previous_item_id, draft)
        return
    if state.guard.knows(item.id):
        state.order.place(item.id, event.previous_item_id, draft.now_ms)
        return
    if item.role == "user" and item.type == "message" and state.policy.peer_text == "allow":
        _typed(item, event.previous_item_id, draft)
        return
    revert(item, draft)


def retrieved(event: ItemRetrieved, draft: Draft) -> None:
    """An item that joined while the line was down: make up for it."""
    state, item = draft.state, event.item
    ordinal = gaps.place(item.id, draft)
    known = item.id in state.heard or state.speech.get(item.id) is not None
    if ordinal is None or known or state.guard.banished(item.id):
        return  # what was learnt meanwhile is better
    if item.status in ("in_progress", "incomplete"):
        state.guard.expect(item.id)  # still being made: its own events follow
        return
    if item.role == "user" and item.audio:
        state.guard.expect(item.id)
        heard = state.heard[item.id] = UserItem(item.id, ordinal, None, settled=bool(item.text))
        if item.text:
            _said(heard, item.text, draft, backfill=True)
    elif item.role == "assistant" and item.type == "message":
        saying.retrieved(item, ordinal, draft)
    elif item.type == "function_call" and item.call_id:
        state.guard.expect(item.id)
        name, arguments = item.name or "", item.arguments or "{}"
        calling.requested(CallRequested("", item.id, item.call_id, name, arguments), draft)
    elif not state.guard.knows(item.id):
        revert(item, draft)


def _typed(item: Item, previous: str | None, draft: Draft) -> None:
    heard = _user_item(item.id, previous, draft)
    if not heard.settled:
        heard.settled = True
        draft.state.turns.typed(item.id, draft.now)
        _said(heard, item.text, draft, modality="text")
        news.user_said(item.text, draft.now_ms, draft)


def revert(item: Item, draft: Draft) -> None:
    """Somebody else on the call put words into it. Take them out, stop what they caused."""
    state = draft.state
    state.guard.banish(item.id)
    draft.send(DeleteItem(item.id, state.next_id("evt")), urgent=True)
    if state.responses.active:
        draft.send(CancelResponse(state.next_id("evt")), urgent=True)
    draft.tell(
        ErrorOccurred,
        code="forbidden",
        message="An item that did not come from this server was removed from the call.",
        recoverable=not state.guard.exhausted,
    )
    if state.guard.exhausted:
        line.end(draft, "error", Status.ERROR)


def delta(event: UserTranscriptDelta, draft: Draft) -> None:
    draft.tell(TranscriptionDelta, item_id=event.item_id, delta=event.delta, role="user")


def transcript(event: UserTranscript, draft: Draft) -> None:
    if event.usage != Usage():
        draft.do(Account(event.usage, of=draft.state.setup.transcriber))
    item = _user_item(event.item_id, None, draft)
    if item.settled:
        return
    item.settled = True
    draft.state.turns.transcript(event.item_id, draft.now)
    _said(item, event.transcript.strip(), draft)
    began = draft.state.began_ms.pop(event.item_id, item.ordinal)
    news.user_said(event.transcript, began, draft)
    draft.active()


def transcript_failed(event: UserTranscriptFailed, draft: Draft) -> None:
    """It counts as settled: nobody waits for words that never come."""
    item = _user_item(event.item_id, None, draft)
    if item.settled:
        return
    item.settled = True
    draft.state.began_ms.pop(event.item_id, None)
    draft.state.turns.transcript(event.item_id, draft.now)
    _said(item, "", draft, transcription_failed=True)
    draft.tell(
        ErrorOccurred,
        code="transcription_failed",
        message="What was just said could not be transcribed.",
        recoverable=True,
    )


def _said(
    item: UserItem,
    text: str,
    draft: Draft,
    *,
    modality: str = "voice",
    transcription_failed: bool | None = None,
    backfill: bool = False,
) -> None:
    extra = {"transcription_failed": True} if transcription_failed else {}
    key = draft.record(
        Kind.USER,
        item.item_id,
        text,
        ordinal=item.ordinal,
        modality="text" if modality == "text" else "voice",
        backfill=backfill,
        **extra,
    )
    draft.tell(
        TranscriptionCompleted,
        item_id=item.item_id,
        transcript=text,
        role="user",
        entry_id=key,
        previous_item_id=item.previous,
        modality="text" if modality == "text" else None,
    )


def flush(draft: Draft) -> None:
    """At the end of a call: what was said and never transcribed is kept as said."""
    for item in draft.state.heard.values():
        if not item.settled:
            item.settled = True
            _said(item, "", draft, transcription_failed=True)
