"""The assistant: responses, what they say, what of it is heard, and where it was cut off."""

from __future__ import annotations

from datetime import timedelta

from vivavoce.session import calling, faults, news
from vivavoce.session.context import estimate_tokens
from vivavoce.session.draft import Draft
from vivavoce.session.effects import Account, StartTimer, StopTimer
from vivavoce.session.events import Shown
from vivavoce.session.speech import DEFAULT_CHARS_PER_SECOND, Utterance
from vivavoce.session.state import Signal
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import (
    AssistantDone,
    AssistantHeard,
    AssistantSpeaking,
    TranscriptionCompleted,
    TranscriptionDelta,
)
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import Entry, Kind

HEARD = "heard"
"""The timer by which it is stored how far an answer was heard."""
_KEPT_EVERY = 0.5
_TOKENS_PER_SECOND = 20  # of OpenAI's spoken answers


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
    if item.type != "message":
        state.talk.responses.acted = True
    if call:
        state.work.names[item.id] = item.name or ""
    elif item.type == "message":
        state.talk.held.expect(item.id, "assistant")
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
        draft.state.talk.aloud.fresh[item.item_id] = None


def transcript(event: rt.AssistantTranscript, draft: Draft) -> None:
    item = _utterance(event.item_id, event.response_id, draft)
    if item.complete:
        return
    item.generated = event.text or item.generated
    item.spoken = event.spoken or bool(draft.state.policy.aloud)
    if item.generated:
        draft.state.talk.turns.complete(event.response_id, draft.now, spoken=event.spoken)
    _complete(item, draft)


def _complete(item: Utterance, draft: Draft) -> None:
    item.complete = True
    news.said_already(item.generated, draft)
    draft.state.talk.aloud.fresh[item.item_id] = None
    write_down(item, draft)


def store(item: Utterance, draft: Draft, *, backfill: bool = False) -> str:
    """The entry holds what was heard, of an answer that still sounds what was heard so far; what
    was generated beyond it is kept apart. So nothing else need be known after a crash."""
    speech = draft.state.talk.speech
    extra: dict[str, object] = {"response_id": item.response_id}
    if item.response_id in draft.state.talk.responses.asides:
        extra["aside"] = True
    if item.interrupted:
        heard = speech.heard(item)
        extra |= {"generated": item.generated, "interrupted": True}
        extra |= {"audio_end_ms": round(item.cut_ms or 0)}
    elif item.open:
        heard = speech.heard_by(item, draft.now_ms)
        ms = item.elapsed(draft.now_ms) if item.reported is None else item.reported[1]
        extra |= {"generated": item.generated, "playing": True, "audio_end_ms": round(ms)}
    else:
        heard = item.generated
    if item.estimated or (item.open and item.reported is None):
        extra["estimated"] = True
    if item.spoken and item.played_ms is not None:
        extra["audio_duration_ms"] = round(item.played_ms)
    item.kept_at = draft.now
    whole = item.open and not item.interrupted
    draft.state.talk.held.words(item.item_id, "assistant", item.generated if whole else heard)
    return draft.record(
        Kind.ASSISTANT,
        item.item_id,
        heard,
        ordinal=item.ordinal,
        modality="voice" if item.spoken else "text",
        backfill=backfill,
        **extra,
    )


def write_down(item: Utterance, draft: Draft, *, backfill: bool = False) -> None:
    key = store(item, draft, backfill=backfill)
    heard = draft.state.talk.speech.heard(item)
    if item.told == (heard, item.interrupted):
        return  # only the millisecond of the cut is known better now
    again = item.told is not None
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
        replaces=key if again else None,
    )


def retrieved(item: rt.Item, ordinal: float, draft: Draft) -> None:
    """Something said while the sideband was down; how much of it was heard nobody knows."""
    draft.state.sideband.guard.ours.add(item.id)
    utterance = draft.state.talk.speech.begin(item.id, "", ordinal)
    known = utterance.generated != ""
    utterance.generated, utterance.complete, utterance.estimated = item.text, True, True
    reckon(item, draft)
    news.said_already(item.text, draft)
    if item.text:
        write_down(utterance, draft, backfill=not known)


def shown(event: Shown, draft: Draft) -> None:
    """The client saw an answer that the sideband missed, or its end."""
    talk, entry = draft.state.talk, event.entry
    item = talk.speech.get(event.item_id)
    if item is None:
        if talk.order.knows(event.item_id):
            return  # it is no answer
        talk.order.recall(event.item_id, entry.ordinal)
        item = talk.speech.begin(event.item_id, "", entry.ordinal)
    if item.complete and not item.open:
        return
    draft.state.sideband.guard.ours.add(event.item_id)
    if not item.complete:
        item.generated, item.complete = entry.text, True
    if item.playing_since is not None and item.played_ms is None:
        end_sound(item, draft, cut=False)
    else:
        write_down(item, draft)


def recall(entry: Entry, draft: Draft, *, over: bool) -> None:
    """An answer that sounded when we went down. If its call is `over`, what is stored is all that
    was heard; else its sound went on without us."""
    data, state = entry.data, draft.state
    item_id = str(data["item_id"])
    item = state.talk.speech.begin(item_id, str(data.get("response_id") or ""), entry.ordinal)
    item.generated, item.complete = str(data.get("generated") or ""), True
    if over:
        item.reported = (entry.text, float(data.get("audio_end_ms") or 0))
        item.estimated = bool(data.get("estimated"))
    item.playing_since, item.written_at = entry.created_at.timestamp() * 1000, entry.created_at
    item.told = (item.generated, False)


def listed(one: rt.ListedItem, draft: Draft) -> None:
    """An answer that was given, or finished, while the sideband was away."""
    state, at = draft.state, one.item.id
    state.sideband.guard.ours.add(at)
    known = state.talk.speech.get(at) is not None
    place = state.talk.order.place(at, one.previous_item_id, draft.now_ms)
    item = state.talk.speech.begin(at, one.response_id, place)
    before = (item.complete, item.open)
    if not item.complete:
        item.generated, item.complete = one.generated or one.item.text, True
        item.spoken = one.item.audio
    told = one.heard
    if told is None:
        item.estimated = item.spoken
    else:
        item.reported = (told.transcript, float(told.audio_end_ms))
        item.estimated = told.estimated
        if told.state == "playing":
            state.talk.speech.start(item, draft.now_ms)
        elif not item.heard_whole:
            item.cut_ms = item.reported[1]
        if told.state != "playing" and item.played_ms is None:
            item.played_ms = item.reported[1]
    if item.generated and before != (True, False):
        write_down(item, draft, backfill=not known)


def audio(event: rt.AudioReceived, draft: Draft) -> None:
    """On a WebSocket the sound passes by us; the first of it is the start of speaking."""
    item = draft.state.talk.speech.get(event.item_id)
    if item is None:
        return
    item.audio_ms += event.ms
    begin_sound(item, draft)


def playback_started(event: rt.PlaybackStarted, draft: Draft) -> None:
    for item in draft.state.talk.speech.of_response(event.response_id)[-1:]:
        begin_sound(item, draft)


def begin_sound(item: Utterance, draft: Draft) -> None:
    if draft.state.talk.speech.start(item, draft.now_ms):
        if item.reported is None:
            draft.do(StartTimer(HEARD, _KEPT_EVERY))
        draft.state.talk.turns.sound(item.item_id, item.response_id, draft.now)
        draft.there()
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
            end_sound(item, draft, cut=event.cleared and not item.heard_whole)


def end_sound(item: Utterance, draft: Draft, *, cut: bool) -> None:
    known = item.cut_ms
    duration = draft.state.talk.speech.stop(item, draft.now_ms, cut=cut)
    draft.state.talk.turns.quiet(item.item_id, item.response_id, draft.now, cut=cut)
    draft.tell(
        AssistantDone,
        item_id=item.item_id,
        duration_ms=round(duration),
        interrupted=item.interrupted or None,
    )
    if item.reported is None:
        item.estimated = item.interrupted
    elif item.interrupted and known is None:
        item.cut_ms = item.reported[1]
    if item.complete:
        write_down(item, draft)
    draft.spoke()


def heard(event: rt.Heard, draft: Draft) -> None:
    """The provider says how far an answer was heard: that is what is stored, and what captions
    show."""
    item = draft.state.talk.speech.get(event.item_id)
    if item is None or (item.interrupted and event.state == "playing"):
        return
    draft.tell(
        AssistantHeard,
        item_id=item.item_id,
        transcript=event.transcript,
        audio_end_ms=event.audio_end_ms,
        state=event.state,
    )
    item.reported = (event.transcript, float(event.audio_end_ms))
    item.estimated = event.estimated
    short = event.state != "playing" and not item.heard_whole
    # The end of the sound itself follows; what never began has none.
    if event.state == "cut" or short:
        item.cut_ms = item.reported[1] if short else None
        item.missed = short and draft.state.sideband.gone
        if item.playing_since is None:
            item.played_ms = item.reported[1]
        if item.complete:
            write_down(item, draft)
    elif item.open and event.transcript and _stale(item, draft):
        store(item, draft)


def _stale(item: Utterance, draft: Draft) -> bool:
    return item.kept_at is None or (draft.now - item.kept_at).total_seconds() >= _KEPT_EVERY


def keep_heard(draft: Draft) -> None:
    """While something sounds: how far it was heard is stored as it goes on, for what may come. Once
    every word was, there is nothing more to store until it ends."""
    speech = draft.state.talk.speech
    item = speech.get(speech.sounding) if speech.sounding else None
    if item is None or item.reported is not None:  # `heard` stores what the provider says
        return
    if item.generated and item.open:
        store(item, draft)
    if not item.complete or speech.heard_by(item, draft.now_ms) != item.generated:
        draft.do(StartTimer(HEARD, _KEPT_EVERY))


def truncated(event: rt.ItemTruncated, draft: Draft) -> None:
    """The provider says where the answer was cut: that is what was heard."""
    item = draft.state.talk.speech.get(event.item_id)
    if item is None or item.cut_ms == event.audio_end_ms:
        return
    item.cut_ms = float(max(0, event.audio_end_ms))
    item.estimated = item.reported is None  # the milliseconds are told, the words are not
    draft.state.talk.turns.cut(item.response_id, draft.now)
    if item.playing_since is not None and item.played_ms is None:
        end_sound(item, draft, cut=True)
    if item.complete:
        write_down(item, draft)


def response_done(event: rt.ResponseDone, draft: Draft) -> None:
    state = draft.state
    ours = state.talk.responses.done(event.response_id)
    for item in event.items:
        _backfill(event, item, draft)
    for utterance in state.talk.speech.of_response(event.response_id):
        unheard = utterance.spoken and utterance.cut_ms is None and utterance.played_ms is None
        if event.status == "cancelled" and unheard and utterance.reported is None:
            utterance.estimated = True
            utterance.cut_ms = utterance.elapsed(draft.now_ms)
            if utterance.complete:  # written down as if it had been heard
                write_down(utterance, draft)
        if not utterance.complete:
            _complete(utterance, draft)
        if utterance.audio_ms and utterance.played_ms is None:
            # No playback reports on this call: the end of the response is the end of the sound.
            end_sound(utterance, draft, cut=event.status == "cancelled")
            if utterance.cut_ms is None and utterance.playing_since is not None:
                # Sound comes faster than it is played: the listener is still hearing the rest.
                left = utterance.playing_since + utterance.audio_ms - draft.now_ms
                until = draft.now + timedelta(milliseconds=max(0.0, left))
                state.talk.turns.plays_on(utterance.response_id, until)
    state.talk.turns.done(event.response_id, event.status)
    news.response_over(event.response_id, event.status, draft)
    spent(rt.Spent(event.response_id, event.usage), draft)
    if ours:
        _settle(event, draft)
        draft.spoke()
    elif event.status == "failed":
        code = clean_line(event.error or "response_failed", 64)
        faults.met(code, "The answer could not be generated.", draft)


def spent(event: rt.Spent, draft: Draft) -> None:
    """Each answer is counted once, whether we saw its end or are told of it later."""
    state, usage = draft.state, event.usage
    if usage != rt.Usage() and event.response_id not in state.talk.responses.counted:
        state.talk.responses.counted.add(event.response_id)
        state.talk.held.used(usage)
        state.clock.context_tokens = usage.input + usage.output
        draft.do(Account(usage))


def reckon(item: rt.Item, draft: Draft) -> None:
    """Another provider's answer that ended unseen: nobody tells any more what it took. It read
    all that there is by our estimate; each second of its sound is so many tokens."""
    state, window = draft.state, draft.state.policy.window
    words = item.text or f"{item.name}{item.arguments}"
    sound = round(len(words) / DEFAULT_CHARS_PER_SECOND * _TOKENS_PER_SECOND) if item.audio else 0
    usage = rt.Usage(
        input=state.talk.held.total(0 if window is None else window.fixed),
        output=estimate_tokens(words) + sound,
        output_audio=sound,
    )
    draft.do(Account(usage, estimated=True))


def _settle(event: rt.ResponseDone, draft: Draft) -> None:
    """Was it an answer, or the lack of one?"""
    talk = draft.state.talk
    said = [one for one in talk.speech.of_response(event.response_id) if one.generated]
    begun = any(not one.spoken or one.playing_since is not None for one in said)
    wish = talk.responses.answering
    if event.status == "failed":
        code = clean_line(event.error or "response_failed", 64)
        faults.answer_failed(code, wish, draft, begun=begun)
    elif event.status == "incomplete" and event.reason == "content_filter" and not said:
        faults.answer_failed("content_filter", wish, draft)
    elif event.status == "completed" and _empty(event, draft):
        faults.empty(draft)
    else:
        faults.answered(draft)


def _empty(event: rt.ResponseDone, draft: Draft) -> bool:
    """Neither a word nor a sound nor a call: the provider calls that completed."""
    talk = draft.state.talk
    if talk.responses.acted or any(item.type != "message" for item in event.items):
        return False
    said = talk.speech.of_response(event.response_id)
    # What the page handed in was heard of before, and not as a part of this answer.
    return not any(item.text.strip() for item in event.items) and not any(
        one.generated.strip() or one.audio_ms or one.playing_since is not None for one in said
    )


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
    for item in draft.state.talk.speech.unsettled():
        store(item, draft)


def flush(draft: Draft) -> None:
    """At the end of a call: what was being said is kept, as far as it was heard. Of a call whose
    sideband did not come back nobody knows that any more was."""
    speech, sideband = draft.state.talk.speech, draft.state.sideband
    away = None if sideband.up else sideband.lost_at
    until_ms = draft.now_ms if away is None else away.timestamp() * 1000
    begun = speech.begun()
    for item in speech.unsettled():
        if item.spoken:
            speech.cut(item, until_ms)
            item.missed = item.interrupted
        _complete(item, draft)
    for item in begun:
        item.played_ms = item.elapsed(until_ms)
        draft.tell(
            AssistantDone,
            item_id=item.item_id,
            duration_ms=round(item.played_ms if item.cut_ms is None else item.cut_ms),
            interrupted=item.interrupted or None,
        )
