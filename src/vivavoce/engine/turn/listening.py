"""The user's side of a turn: speech, its pauses and its end, and silence that lasts too long.

The words of it are the business of `transcripts`.
"""

from __future__ import annotations

from vivavoce.engine.ports import Position
from vivavoce.engine.turn import answering, facts, playback
from vivavoce.engine.turn.configuration import response_settings
from vivavoce.engine.turn.conversation import user_audio
from vivavoce.engine.turn.orders import (
    DropGuess,
    Duck,
    EndCall,
    ForgetAudio,
    Guess,
    Listen,
    Send,
    StartTimer,
    StopListening,
    StopTimer,
    Transcribe,
)
from vivavoce.engine.turn.state import SILENCE, Draft, Signal, Speech
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.items import item_object
from vivavoce.wire.realtime.refusal import Refused

_TAIL_MS = 200
"""Of the pause that belongs to the speech, where it is there already: soft last sounds."""


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
    if state.policy.speculate:
        draft.order(Listen(state.speech.item_id, state.speech.start_ms))


def paused(fact: facts.SpeechPaused, draft: Draft) -> None:
    speech = draft.state.speech
    if speech is None:
        return
    if speech.held:
        draft.order(StopTimer("yield"))
    if draft.state.policy.speculate:
        draft.order(Guess(speech.item_id, speech.start_ms, fact.at_ms + _TAIL_MS))


def resumed(draft: Draft) -> None:
    speech = draft.state.speech
    if speech is None:
        return
    draft.order(DropGuess())
    if speech.held:
        draft.order(StartTimer("yield", draft.state.policy.yield_seconds))


def stopped(fact: facts.SpeechStopped, draft: Draft) -> None:
    state = draft.state
    speech, state.speech = state.speech, None
    if speech is None:
        return
    draft.signal(Signal.SPEECH_STOPPED)
    draft.order(StopListening())
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
    draft.order(StopTimer("yield"), Duck(False), DropGuess(), StopListening())
    state.speech = None
    state.probes.clear()


def _interrupts(draft: Draft) -> bool:
    detection = draft.state.configuration.turn_detection
    return detection is not None and detection.interrupt_response


def _announce(speech: Speech, position: Position | None, draft: Draft) -> None:
    speech.held = False
    draft.send(
        "input_audio_buffer.speech_started", audio_start_ms=speech.start_ms, item_id=speech.item_id
    )
    if _interrupts(draft):
        playback.interrupt("turn_detected", position, draft)
        draft.order(Duck(False))


def _finish(speech: Speech, end_ms: int, draft: Draft) -> None:
    draft.send("input_audio_buffer.speech_stopped", audio_end_ms=end_ms, item_id=speech.item_id)
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
    draft.state.acknowledged = False
    _add_audio_item(item_id, draft)
    forget(end_ms, draft)


def forget(end_ms: int, draft: Draft) -> None:
    draft.state.committed_ms = max(draft.state.committed_ms, end_ms)
    draft.order(ForgetAudio(draft.state.committed_ms))


def _add_audio_item(item_id: str, draft: Draft) -> None:
    item = user_audio(item_id)
    previous = draft.state.conversation.append(item)
    draft.send("input_audio_buffer.committed", previous_item_id=previous, item_id=item_id)
    draft.send("conversation.item.added", previous_item_id=previous, item=item_object(item))
    draft.send("conversation.item.done", previous_item_id=previous, item=item_object(item))


def judge_probe(speech: Speech, words: str, position: Position | None, draft: Draft) -> None:
    """Was it only "uh-huh"? Then the assistant goes on, and it never happened."""
    state = draft.state
    assert speech.end_ms is not None
    if state.speech is None and not state.probes:
        draft.order(Duck(False))
    if (not words or words in state.policy.backchannel) and state.answering:
        forget(speech.end_ms, draft)
        return
    _announce(speech, position, draft)
    draft.send(
        "input_audio_buffer.speech_stopped", audio_end_ms=speech.end_ms, item_id=speech.item_id
    )
    state.transcripts[speech.item_id] = None  # the ears have it already: it is filled in next
    state.acknowledged = False
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
        case ("slow", _, response_id):
            answering.slow(response_id, draft)
        case ("expiry", _, _):
            fault = Refused("Your session hit its maximum duration.", code="session_expired")
            draft.order(Send(server.error(fault, None)))
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
    draft.send(
        "input_audio_buffer.timeout_triggered",
        audio_start_ms=state.committed_ms,
        audio_end_ms=end_ms,
        item_id=item_id,
    )
    state.transcripts[item_id], state.notes[item_id] = "", SILENCE
    _add_audio_item(item_id, draft)
    forget(end_ms, draft)
    answering.begin(response_settings(state.configuration, None), draft)
