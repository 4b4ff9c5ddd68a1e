"""The user's side of a turn: speech, its end, its words, and silence that lasts too long."""

from __future__ import annotations

import re

from vivavoce.engine import answering, facts, playback
from vivavoce.engine import server_frames as say
from vivavoce.engine.configuration import response_settings
from vivavoce.engine.faults import Refused
from vivavoce.engine.items import item_object
from vivavoce.engine.made import user_audio, with_transcript
from vivavoce.engine.orders import (
    Duck,
    EndCall,
    ForgetAudio,
    StartTimer,
    StopTimer,
    Transcribe,
)
from vivavoce.engine.ports import Position
from vivavoce.engine.state import Draft, Signal, Speech
from vivavoce.engine.usage import transcription_usage

SILENCE = "(The user has said nothing for a while.)"
UNHEARD = "(The user said something that could not be understood.)"
_WORD = re.compile(r"[^\w' -]+")


# --- Speech ---------------------------------------------------------------------------


def suspected(draft: Draft) -> None:
    """The assistant makes way at once, before anyone knows what it will be."""
    if draft.state.playing:
        draft.order(Duck(True))


def dismissed(draft: Draft) -> None:
    if draft.state.speech is None and not draft.state.probes:
        draft.order(Duck(False))


def started(fact: facts.SpeechStarted, draft: Draft) -> None:
    state = draft.state
    if state.speech is not None:
        return
    state.speech = Speech(draft.new_id("item"), max(fact.at_ms, state.committed_ms))
    draft.order(StopTimer("idle"))
    draft.signal(Signal.SPEECH_STARTED)
    if state.policy.backchannel and state.playing and _interrupts(draft):
        state.speech.held = True
        draft.order(Duck(True), StartTimer("yield", state.policy.yield_seconds))
    else:
        _announce(state.speech, fact.position, draft)


def paused(draft: Draft) -> None:
    if draft.state.speech is not None and draft.state.speech.held:
        draft.order(StopTimer("yield"))


def resumed(draft: Draft) -> None:
    if draft.state.speech is not None and draft.state.speech.held:
        draft.order(StartTimer("yield", draft.state.policy.yield_seconds))


def stopped(fact: facts.SpeechStopped, draft: Draft) -> None:
    state = draft.state
    speech, state.speech = state.speech, None
    if speech is None:
        return
    draft.signal(Signal.SPEECH_STOPPED)
    end = max(fact.at_ms, speech.start_ms)
    if speech.held:
        # Over the assistant, and short: the words decide whether it was meant.
        speech.end_ms = end
        state.probes[speech.item_id] = speech
        draft.order(StopTimer("yield"), Transcribe(speech.item_id, speech.start_ms, end))
    else:
        _finish(speech, end, draft)


def abandon(draft: Draft) -> None:
    """The client takes the buffer into its own hands: what was being heard is off."""
    state = draft.state
    if state.speech is not None:
        draft.signal(Signal.SPEECH_STOPPED)
    # Even where speech was only suspected: ears that start afresh will not dismiss it.
    draft.order(StopTimer("yield"), Duck(False))
    state.speech = None
    state.probes.clear()


def _interrupts(draft: Draft) -> bool:
    detection = draft.state.configuration.turn_detection
    return detection is not None and detection.interrupt_response


def _announce(speech: Speech, position: Position | None, draft: Draft) -> None:
    speech.held = False
    draft.send(say.speech_started(speech.item_id, speech.start_ms))
    if _interrupts(draft):
        playback.interrupt("turn_detected", position, draft)
        draft.order(Duck(False))


def _finish(speech: Speech, end_ms: int, draft: Draft) -> None:
    draft.send(say.speech_stopped(speech.item_id, end_ms))
    draft.order(Duck(False))
    commit(speech.item_id, speech.start_ms, end_ms, draft)
    _answer_turn(draft)


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


def commit(item_id: str, start_ms: int, end_ms: int, draft: Draft) -> None:
    """Buffered audio becomes an item; the ears get to work on it first."""
    draft.order(Transcribe(item_id, start_ms, end_ms))
    draft.state.transcripts[item_id] = None
    _add_audio_item(item_id, draft)
    forget(end_ms, draft)


def forget(end_ms: int, draft: Draft) -> None:
    draft.state.committed_ms = max(draft.state.committed_ms, end_ms)
    draft.order(ForgetAudio(draft.state.committed_ms))


def _add_audio_item(item_id: str, draft: Draft) -> None:
    item = user_audio(item_id)
    previous = draft.state.conversation.append(item)
    draft.send(say.committed(item_id, previous))
    draft.send(say.item("added", item_object(item), previous))
    draft.send(say.item("done", item_object(item), previous))


# --- The words ------------------------------------------------------------------------


def heard_piece(fact: facts.HeardPiece, draft: Draft) -> None:
    if fact.item_id in draft.state.transcripts and draft.state.configuration.transcription:
        draft.send(say.transcript_delta(fact.item_id, fact.text))


def heard_all(fact: facts.HeardAll, draft: Draft) -> None:
    state = draft.state
    if fact.item_id in state.probes:
        _judge_probe(state.probes.pop(fact.item_id), fact.text, fact.position, draft)
    if fact.item_id not in state.transcripts:
        return
    text = fact.text.strip()
    state.transcripts[fact.item_id] = text
    state.seconds[fact.item_id] = fact.seconds
    if not text:
        state.notes[fact.item_id] = UNHEARD
    _keep_transcript(fact.item_id, text, draft)
    if state.configuration.transcription:
        usage = transcription_usage(fact.seconds)
        draft.send(say.transcript_completed(fact.item_id, text, usage))
    release(fact.item_id, draft)


def failed(fact: facts.HearingFailed, draft: Draft) -> None:
    state = draft.state
    if fact.item_id in state.probes:
        _judge_probe(state.probes.pop(fact.item_id), "", fact.position, draft)
    if fact.item_id not in state.transcripts:
        return
    state.transcripts[fact.item_id] = ""
    state.notes[fact.item_id] = UNHEARD
    if state.configuration.transcription:
        draft.send(say.transcript_failed(fact.item_id, fact.message))
    release(fact.item_id, draft)


def release(item_id: str, draft: Draft) -> None:
    """Responses that only waited for these words go on."""
    for response in list(draft.state.responses.values()):
        if item_id in response.waiting:
            response.waiting.discard(item_id)
            answering.ask(response, draft)


def _keep_transcript(item_id: str, text: str, draft: Draft) -> None:
    conversation = draft.state.conversation
    if item_id in conversation:
        conversation.replace(with_transcript(conversation.get(item_id), text))


def _judge_probe(speech: Speech, text: str, position: Position | None, draft: Draft) -> None:
    """Was it only "uh-huh"? Then the assistant goes on, and it never happened."""
    state = draft.state
    assert speech.end_ms is not None
    words = " ".join(_WORD.sub(" ", text.lower()).split())
    if state.speech is None and not state.probes:
        draft.order(Duck(False))
    if (not words or words in state.policy.backchannel) and state.answering:
        forget(speech.end_ms, draft)
        return
    _announce(speech, position, draft)
    draft.send(say.speech_stopped(speech.item_id, speech.end_ms))
    state.transcripts[speech.item_id] = None  # the ears have it already: it is filled in next
    _add_audio_item(speech.item_id, draft)
    forget(speech.end_ms, draft)
    _answer_turn(draft)


# --- Time -----------------------------------------------------------------------------


def timer(fact: facts.TimerFired, draft: Draft) -> None:
    match fact.name.partition(":"):
        case ("yield", _, _):
            speech = draft.state.speech
            if speech is not None and speech.held:
                _announce(speech, fact.position, draft)
        case ("idle", _, _):
            _prompt(fact.end_ms, draft)
        case ("played", _, response_id):
            answering.played(response_id, draft)
        case ("expiry", _, _):
            fault = Refused("Your session hit its maximum duration.", code="session_expired")
            draft.send(say.error(fault, None))
            draft.order(EndCall("session expired"))


def await_user(draft: Draft) -> None:
    """The assistant is done and the user's time begins: `idle_timeout_ms`."""
    state = draft.state
    detection = state.server_vad
    if detection is None or detection.idle_timeout_ms is None:
        return
    if state.speech is None and not state.answering:
        draft.order(StartTimer("idle", detection.idle_timeout_ms / 1000))


def _prompt(end_ms: int, draft: Draft) -> None:
    """Silence for too long: the segment becomes an item, and the assistant speaks up."""
    state = draft.state
    if state.speech is not None or state.probes or state.answering:
        return
    item_id = draft.new_id("item")
    draft.send(say.timeout_triggered(item_id, state.committed_ms, end_ms))
    state.transcripts[item_id], state.notes[item_id] = "", SILENCE
    _add_audio_item(item_id, draft)
    forget(end_ms, draft)
    answering.begin(response_settings(state.configuration, None), draft)
