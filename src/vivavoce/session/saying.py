"""The assistant: responses, what they say, what of it is heard, and where it was cut off."""

from __future__ import annotations

from datetime import timedelta

from vivavoce.session import calling, news
from vivavoce.session.draft import Draft
from vivavoce.session.effects import Account, StopTimer
from vivavoce.session.speech import Utterance
from vivavoce.session.state import OUT_OF_QUOTA, Signal
from vivavoce.wire.events import (
    AssistantDone,
    AssistantSpeaking,
    TranscriptionCompleted,
    TranscriptionDelta,
)
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import Kind


def response_created(event: rt.ResponseCreated, draft: Draft) -> None:
    draft.state.talk.responses.created(event.response_id)
    news.response_began(event.response_id, draft)
    draft.state.talk.turns.created(event.response_id, draft.now)
    draft.do(StopTimer("turn"))
    draft.signal(Signal.RESPONDING)


def output_item(event: rt.OutputItemAdded, draft: Draft) -> None:
    """The model begins a message or a call; `item.added` follows, and is not a stranger's."""
    state, item = draft.state, event.item
    state.sideband.guard.ours.add(item.id)
    call = item.type == "function_call"
    state.talk.turns.item(event.response_id, item.id, draft.now, call=call)
    if call:
        state.work.names[item.id] = item.name or ""
    elif item.type == "message":
        _utterance(item.id, event.response_id, draft)


def _utterance(item_id: str, response_id: str, draft: Draft) -> Utterance:
    talk = draft.state.talk
    if (known := talk.speech.get(item_id)) is not None:
        return known
    return talk.speech.begin(item_id, response_id, talk.order.place(item_id, None, draft.now_ms))


def delta(event: rt.AssistantDelta, draft: Draft) -> None:
    item = _utterance(event.item_id, event.response_id, draft)
    if not item.complete:
        draft.state.talk.turns.words(event.response_id, item.generated, event.delta, draft.now)
        item.generated += event.delta
        draft.tell(TranscriptionDelta, item_id=item.item_id, delta=event.delta, role="assistant")


def transcript(event: rt.AssistantTranscript, draft: Draft) -> None:
    item = _utterance(event.item_id, event.response_id, draft)
    if item.complete:
        return
    item.generated, item.spoken = event.text or item.generated, event.spoken
    if item.generated:
        draft.state.talk.turns.complete(event.response_id, draft.now, spoken=event.spoken)
    _complete(item, draft)


def _complete(item: Utterance, draft: Draft) -> None:
    item.complete = True
    _write_down(item, draft)


def _write_down(item: Utterance, draft: Draft, *, backfill: bool = False) -> None:
    """The entry holds what was heard; what was generated beyond it is kept apart."""
    heard = draft.state.talk.speech.heard(item)
    extra: dict[str, object] = {"response_id": item.response_id}
    if item.interrupted:
        extra |= {
            "generated": item.generated,
            "interrupted": True,
            "audio_end_ms": round(item.cut_ms or 0),
        }
    key = draft.record(
        Kind.ASSISTANT,
        item.item_id,
        heard,
        ordinal=item.ordinal,
        modality="voice" if item.spoken else "text",
        backfill=backfill,
        **extra,
    )
    if item.told == (heard, item.interrupted):
        return  # only the millisecond of the cut is known better now
    item.told = (heard, item.interrupted)
    first, item.written_at = item.written_at, item.written_at or draft.now
    draft.tell(
        TranscriptionCompleted,
        item_id=item.item_id,
        transcript=heard,
        role="assistant",
        entry_id=key,
        interrupted=item.interrupted or None,
        modality=None if item.spoken else "text",
        created_at=first,
    )


def retrieved(item: rt.Item, ordinal: float, draft: Draft) -> None:
    """Something said while the sideband was down; how much of it was heard nobody knows."""
    draft.state.sideband.guard.ours.add(item.id)
    utterance = draft.state.talk.speech.begin(item.id, "", ordinal)
    utterance.generated, utterance.complete = item.text, True
    if item.text:
        _write_down(utterance, draft, backfill=True)


def audio(event: rt.AudioReceived, draft: Draft) -> None:
    """On a WebSocket the sound passes by us; the first of it is the start of speaking."""
    item = draft.state.talk.speech.get(event.item_id)
    if item is None:
        return
    item.audio_ms += event.ms
    _begin_sound(item, draft)


def playback_started(event: rt.PlaybackStarted, draft: Draft) -> None:
    for item in draft.state.talk.speech.of_response(event.response_id)[-1:]:
        _begin_sound(item, draft)


def _begin_sound(item: Utterance, draft: Draft) -> None:
    if draft.state.talk.speech.start(item, draft.now_ms):
        draft.state.talk.turns.sound(item.item_id, item.response_id, draft.now)
        draft.tell(AssistantSpeaking, item_id=item.item_id)
        news.sounded(item.response_id, draft)
        draft.signal(Signal.SOUND_STARTED)


def playback_stopped(event: rt.PlaybackStopped, draft: Draft) -> None:
    speech = draft.state.talk.speech
    sounding = speech.get(speech.sounding) if speech.sounding else None
    # A report without a response id is about whatever sounds.
    items = speech.of_response(event.response_id) or ([sounding] if sounding else [])
    for item in items:
        if item.playing_since is not None and item.played_ms is None:
            _end_sound(item, draft, cut=event.cleared)


def _end_sound(item: Utterance, draft: Draft, *, cut: bool) -> None:
    known = item.cut_ms
    duration = draft.state.talk.speech.stop(item, draft.now_ms, cut=cut)
    draft.state.talk.turns.quiet(item.item_id, item.response_id, draft.now, cut=cut)
    draft.tell(
        AssistantDone,
        item_id=item.item_id,
        duration_ms=round(duration),
        interrupted=item.interrupted or None,
    )
    if item.complete and item.cut_ms != known:
        _write_down(item, draft)
    draft.spoke()


def truncated(event: rt.ItemTruncated, draft: Draft) -> None:
    """The provider says where the answer was cut: that is what was heard."""
    item = draft.state.talk.speech.get(event.item_id)
    if item is None or item.cut_ms == event.audio_end_ms:
        return
    item.cut_ms = float(max(0, event.audio_end_ms))
    draft.state.talk.turns.cut(item.response_id, draft.now)
    if item.playing_since is not None and item.played_ms is None:
        _end_sound(item, draft, cut=True)
    if item.complete:
        _write_down(item, draft)


def response_done(event: rt.ResponseDone, draft: Draft) -> None:
    state = draft.state
    ours = state.talk.responses.done(event.response_id)
    for item in event.items:
        _backfill(event, item, draft)
    for utterance in state.talk.speech.of_response(event.response_id):
        unheard = utterance.spoken and utterance.cut_ms is None and utterance.played_ms is None
        if event.status == "cancelled" and unheard:
            utterance.cut_ms = utterance.elapsed(draft.now_ms)
            if utterance.complete:  # written down as if it had been heard
                _write_down(utterance, draft)
        if not utterance.complete:
            _complete(utterance, draft)
        if utterance.audio_ms and utterance.played_ms is None:
            # No playback reports on this call: the end of the response is the end of the sound.
            _end_sound(utterance, draft, cut=event.status == "cancelled")
            if utterance.cut_ms is None and utterance.playing_since is not None:
                # Sound comes faster than it is played: the listener is still hearing the rest.
                left = utterance.playing_since + utterance.audio_ms - draft.now_ms
                until = draft.now + timedelta(milliseconds=max(0.0, left))
                state.talk.turns.plays_on(utterance.response_id, until)
    state.talk.turns.done(event.response_id, event.status)
    news.response_over(event.response_id, event.status, draft)
    if event.usage != rt.Usage():
        state.clock.context_tokens = event.usage.input + event.usage.output
        draft.do(Account(event.usage))
    if event.status == "failed" and event.error == OUT_OF_QUOTA:
        state.provider.owed = True
        draft.give_up(OUT_OF_QUOTA, "The answer could not be generated.")
    elif event.status == "failed":
        draft.complain(event.error or "response_failed", "The answer could not be generated.")
    if ours:
        draft.spoke()


def _backfill(event: rt.ResponseDone, item: rt.Item, draft: Draft) -> None:
    """`response.done` repeats everything: what was missed on the way is picked up here."""
    if item.type == "function_call" and item.call_id and item.status != "incomplete":
        if event.status == "completed":
            call = rt.CallRequested(
                event.response_id, item.id, item.call_id, item.name or "", item.arguments or "{}"
            )
            calling.requested(call, draft)
    elif item.type == "message" and item.role == "assistant":
        utterance = _utterance(item.id, event.response_id, draft)
        if not utterance.complete and len(item.text) >= len(utterance.generated):
            utterance.generated = item.text


def keep(draft: Draft) -> None:
    """What is being said, as far as it was heard by now; it may go on."""
    speech = draft.state.talk.speech
    for item in speech.unfinished():
        draft.record(
            Kind.ASSISTANT,
            item.item_id,
            speech.heard_by(item, draft.now_ms),
            ordinal=item.ordinal,
            response_id=item.response_id,
        )


def flush(draft: Draft) -> None:
    """At the end of a call: what was being said is kept, as far as it got."""
    for item in draft.state.talk.speech.unfinished():
        if item.spoken:
            item.cut_ms = item.elapsed(draft.now_ms)
        _complete(item, draft)
