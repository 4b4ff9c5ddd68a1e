"""The user's side of a turn: speech, its pauses, its end and its words, and silence that lasts
too long."""

from __future__ import annotations

import re
from typing import Final

from vivavoce.engine.turn import answering, facts, orders, playback, progress, taking
from vivavoce.engine.turn.configuration import response_settings
from vivavoce.engine.turn.conversation import user_audio, with_transcript
from vivavoce.engine.turn.state import SILENCE, UNHEARD, Draft, Signal, Speech
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.refusal import Refused

_TAIL_MS = 200
"""Of the pause that belongs to the speech, where it is there already: soft last sounds."""
_DELTA: Final = "conversation.item.input_audio_transcription.delta"
_COMPLETED: Final = "conversation.item.input_audio_transcription.completed"
_WORD = re.compile(r"[^\w' -]+")


# --- Speech ---------------------------------------------------------------------------


def suspected(draft: Draft) -> None:
    """The assistant makes way at once, before anyone knows what it will be."""
    draft.state.suspected = True
    if draft.state.playing:
        draft.order(orders.Duck(True))


def dismissed(draft: Draft) -> None:
    taking.unsuspected(draft)
    if draft.state.speech is None and not draft.state.probes:
        draft.order(orders.Duck(False))


def started(fact: facts.SpeechStarted, draft: Draft) -> None:
    state = draft.state
    if state.speech is not None:
        return
    start_ms = max(fact.at_ms, state.committed_ms)
    if _interrupts(draft):
        start_ms = taking.taken_back(draft, start_ms)
    state.speech = Speech(draft.new_id("item"), start_ms)
    draft.order(orders.StopTimer("idle"))
    draft.signal(Signal.SPEECH_STARTED)
    if state.policy.backchannel and state.playing and _interrupts(draft):
        state.speech.held = True
        draft.order(orders.Duck(True), orders.StartTimer("yield", state.policy.yield_seconds))
    else:
        _announce(state.speech, draft)
    taking.unsuspected(draft)
    if state.policy.speculate:
        draft.order(orders.Listen(state.speech.item_id, state.speech.start_ms))


def paused(fact: facts.SpeechPaused, draft: Draft) -> None:
    speech = draft.state.speech
    if speech is None:
        return
    if speech.held:
        draft.order(orders.StopTimer("yield"))
    if draft.state.policy.speculate:
        end_ms = fact.at_ms + _TAIL_MS
        draft.order(orders.Guess(speech.item_id, speech.start_ms, end_ms, fact.at_ms))


def resumed(draft: Draft) -> None:
    speech = draft.state.speech
    if speech is None:
        return
    draft.order(orders.DropGuess())
    if speech.held:
        draft.order(orders.StartTimer("yield", draft.state.policy.yield_seconds))


def stopped(fact: facts.SpeechStopped, draft: Draft) -> None:
    state = draft.state
    speech, state.speech = state.speech, None
    if speech is None:
        return
    taking.settle(draft)
    draft.signal(Signal.SPEECH_STOPPED)
    draft.order(orders.StopListening())
    speech.end_ms = max(fact.at_ms, speech.start_ms)
    transcribe = orders.Transcribe(speech.item_id, speech.start_ms, speech.end_ms)
    if speech.held:
        # Over the assistant, and short: the words decide whether it was meant.
        state.probes[speech.item_id] = speech
        draft.order(orders.StopTimer("yield"), transcribe)
    else:
        draft.order(orders.Duck(False), transcribe)
        _finish(speech, draft, fact)


def abandon(draft: Draft) -> None:
    """The client takes the buffer into its own hands: what was being heard is off."""
    state = draft.state
    if state.speech is not None:
        draft.signal(Signal.SPEECH_STOPPED)
    # Even where speech was only suspected: ears that start afresh will not dismiss it.
    draft.order(
        orders.StopTimer("yield"), orders.Duck(False), orders.DropGuess(), orders.StopListening()
    )
    state.speech = None
    state.probes.clear()
    state.suspected = False
    taking.settle(draft)


def _interrupts(draft: Draft) -> bool:
    detection = draft.state.configuration.turn_detection
    return detection is not None and detection.interrupt_response


def _announce(speech: Speech, draft: Draft) -> None:
    speech.held = False
    draft.send(
        "input_audio_buffer.speech_started", audio_start_ms=speech.start_ms, item_id=speech.item_id
    )
    if _interrupts(draft):
        playback.interrupt("turn_detected", draft)
        draft.order(orders.Duck(False))


def _finish(speech: Speech, draft: Draft, doubt: facts.SpeechStopped | None = None) -> None:
    state = draft.state
    draft.send(
        "input_audio_buffer.speech_stopped", audio_end_ms=speech.end_ms, item_id=speech.item_id
    )
    before, unheard = state.active, state.unheard
    is_open = doubt is not None and doubt.open_ms > 0
    _add_audio_item(speech.item_id, None, speech.end_ms, draft, keep=is_open)
    _answer_turn(draft)
    if doubt is not None and is_open:
        begun = state.active if state.active != before else None
        taking.leave_open(speech, begun, unheard, doubt, draft)


def _answer_turn(draft: Draft) -> None:
    state = draft.state
    detection = state.configuration.turn_detection
    if state.configuration.kind == "transcription" or detection is None:
        return
    if not detection.create_response:
        return
    if state.active is not None or state.speech is not None:
        state.turn_waits = True  # nothing said is lost: it is answered next
    else:
        answering.begin(response_settings(state.configuration, None), draft)


# --- The buffer -----------------------------------------------------------------------


def commit(item_id: str, end_ms: int, draft: Draft) -> None:
    """Buffered audio becomes an item; the ears get to work on it first."""
    draft.order(orders.Transcribe(item_id, draft.state.committed_ms, end_ms))
    _add_audio_item(item_id, None, end_ms, draft)


def forget(end_ms: int, draft: Draft) -> None:
    draft.state.committed_ms = max(draft.state.committed_ms, end_ms)
    draft.order(orders.ForgetAudio(draft.state.committed_ms))


def _add_audio_item(
    item_id: str, text: str | None, end_ms: int, draft: Draft, *, keep: bool = False
) -> None:
    """Without a text: the ears are at it. `keep`: its sound may be needed again."""
    draft.state.transcripts[item_id] = text
    if text is None:
        draft.state.acknowledged = False
    item = user_audio(item_id)
    previous = draft.state.conversation.append(item)
    draft.send("input_audio_buffer.committed", previous_item_id=previous, item_id=item_id)
    draft.tell_item(item, previous)
    if keep:
        draft.state.committed_ms = max(draft.state.committed_ms, end_ms)
    else:
        forget(end_ms, draft)


def _judge_probe(speech: Speech, words: str | None, draft: Draft) -> None:
    """Was it only "uh-huh"? Then the assistant goes on, and it never happened. None: who knows."""
    state = draft.state
    if state.speech is None and not state.probes:
        draft.order(orders.Duck(False))
    if words is not None and (not words or words in state.policy.backchannel) and state.answering:
        forget(speech.end_ms, draft)
        return
    _announce(speech, draft)
    _finish(speech, draft)  # the ears have it already: the words are filled in next


# --- Words ----------------------------------------------------------------------------


def so_far(fact: facts.HeardSoFar, draft: Draft) -> None:
    """While the user still speaks: only what will not change any more."""
    state = draft.state
    speech = state.speech
    spoken = speech is not None and speech.item_id == fact.item_id and not speech.held
    if (spoken or fact.item_id in state.transcripts) and state.configuration.transcription:
        _show(fact.item_id, fact.text, draft)


def heard_all(fact: facts.HeardAll | facts.HearingFailed, draft: Draft) -> None:
    state, item_id = draft.state, fact.item_id
    text = fact.text.strip() if isinstance(fact, facts.HeardAll) else ""
    if item_id in state.probes:
        # Ears that failed say nothing of what was said: it is not taken for nothing.
        known = isinstance(fact, facts.HeardAll)
        bare = " ".join(_WORD.sub(" ", text.lower()).split()) if known else None
        _judge_probe(state.probes.pop(item_id), bare, draft)
    if item_id not in state.transcripts:
        return
    state.transcripts[item_id] = text
    match fact:
        case facts.HeardAll(_, _, seconds, confidence):
            state.seconds[item_id] = seconds
            known = state.understood(text, confidence)
            if item_id in state.conversation:
                kept = with_transcript(state.conversation.get(item_id), text)
                state.conversation.replace(kept)
            if state.configuration.transcription:
                _show(item_id, text, draft)
                usage = server.transcription_usage(seconds)
                where = {"item_id": item_id, "content_index": 0}
                told = server.frame(_COMPLETED, where, transcript=text, usage=usage)
                taking.once_certain(item_id, orders.Send(told), draft)
        case facts.HearingFailed(_, message):
            known = False
            if state.configuration.transcription:
                failed = orders.Send(server.transcript_failed(item_id, message))
                taking.once_certain(item_id, failed, draft)
    if known:
        state.unheard = 0
    else:  # told to the brain as such, and counted
        state.notes[item_id] = UNHEARD
        state.unheard += 1
    state.shown.pop(item_id, None)
    release(item_id, draft)


def unsay(draft: Draft) -> None:
    """What is being said is off: who saw the beginning of it learns that nothing follows."""
    speech = draft.state.speech
    if speech is not None and draft.state.shown.pop(speech.item_id, None) is not None:
        words = "The input audio buffer was cleared."
        draft.order(orders.Send(server.transcript_failed(speech.item_id, words)))


def release(item_id: str, draft: Draft) -> None:
    """Responses that only waited for these words go on."""
    for response in list(draft.state.responses.values()):
        if item_id in response.waiting:
            response.waiting.discard(item_id)
            answering.ask(response, draft)


def _show(item_id: str, text: str, draft: Draft) -> None:
    """The part that clients have not seen; where it was seen otherwise, the end puts it right."""
    shown = draft.state.shown.get(item_id, "")
    if len(text) > len(shown) and text.startswith(shown):
        draft.send(_DELTA, item_id=item_id, content_index=0, delta=text[len(shown) :])
        draft.state.shown[item_id] = text


# --- Time -----------------------------------------------------------------------------


def timer(fact: facts.TimerFired, draft: Draft) -> None:
    match fact.name.partition(":"):
        case ("yield", _, _):
            speech = draft.state.speech
            if speech is not None and speech.held:
                _announce(speech, draft)
        case ("idle", _, _):
            _prompt(fact.end_ms, draft)
        case ("played", _, response_id):
            playback.due(response_id, draft)
        case ("heard", _, _):
            progress.account(draft)
        case ("grace", _, _):
            draft.order(orders.EndCall("the client did not come back"))
        case ("slow", _, response_id):
            answering.slow(response_id, draft)
        case ("hold" | "settle", _, _):
            taking.timer(fact.name, draft)
        case ("expiry", _, _):
            fault = Refused("Your session hit its maximum duration.", code="session_expired")
            draft.order(orders.Send(server.error(fault, None)))
            draft.order(orders.EndCall("session expired"))


def await_user(draft: Draft) -> None:
    """The assistant is done and the user's time begins: `idle_timeout_ms`."""
    state = draft.state
    detection = state.server_vad
    if detection is None or detection.idle_timeout_ms is None:
        return
    if state.speech is None and not state.answering:
        draft.order(orders.StartTimer("idle", detection.idle_timeout_ms / 1000))


def _prompt(end_ms: int, draft: Draft) -> None:
    """Silence for too long: the segment becomes an item, and the assistant speaks up."""
    state = draft.state
    if state.speech is not None or state.probes or state.answering:
        return
    item_id = draft.new_id("item")
    draft.send(
        "input_audio_buffer.timeout_triggered",
        audio_start_ms=state.committed_ms,
        audio_end_ms=end_ms,
        item_id=item_id,
    )
    state.notes[item_id] = SILENCE
    _add_audio_item(item_id, "", end_ms, draft)
    answering.begin(response_settings(state.configuration, None), draft)
