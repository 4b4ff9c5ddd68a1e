"""The assistant's side: a response from its beginning to its last word.

Events leave in the order the recordings of the real service show. A response
that is spoken has one message at most, and as many calls as the brain makes.
"""

from __future__ import annotations

from typing import Any

from vivavoce.brain import ports as brain
from vivavoce.engine.turn import asking, facts, outputs
from vivavoce.engine.turn.asking import seconds, sources, tokens
from vivavoce.engine.turn.configuration import ResponseSettings
from vivavoce.engine.turn.orders import (
    Audience,
    FinishPlaying,
    Interject,
    Play,
    StartTimer,
    StopAnswer,
    StopTimer,
    Warm,
)
from vivavoce.engine.turn.state import Draft, Response
from vivavoce.wire.realtime.client import SAY
from vivavoce.wire.realtime.items import Status

MAX_RESPONSES = 4
_MINUTE = 60.0
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


# --- Beginning ------------------------------------------------------------------------


def begin(settings: ResponseSettings, draft: Draft) -> None:
    state = draft.state
    response = Response(draft.new_id("resp"), settings)
    state.responses[response.id] = response
    if response.in_conversation:
        state.active = response.id
        state.turn_waits = False  # it answers everything said so far
    draft.send("response.created", response=outputs.response_object(response, "in_progress", draft))
    if not _within_limits(draft):
        error = {"type": "requests", "code": "rate_limit_exceeded"}
        error["message"] = "Too many responses a minute; please wait a little."
        end(response, "failed", {"type": "failed", "error": error}, draft)
        return
    response.waiting = {
        item.id for item in sources(settings, state) if state.transcripts.get(item.id, "") is None
    }
    ask(response, draft)


def _within_limits(draft: Draft) -> bool:
    """`rate_limits.updated` tells true figures, so only where there is a limit."""
    state = draft.state
    limit = state.policy.responses_per_minute
    if limit is None:
        return True
    while state.begun and draft.now - state.begun[0] >= _MINUTE:
        state.begun.popleft()
    allowed = len(state.begun) < limit
    if allowed:
        state.begun.append(draft.now)
    reset = _MINUTE - (draft.now - state.begun[0]) if state.begun else 0.0
    shown = {
        "name": "requests",
        "limit": limit,
        "remaining": limit - len(state.begun),
        "reset_seconds": round(reset, 3),
    }
    draft.send("rate_limits.updated", rate_limits=[shown])
    return allowed


def ask(response: Response, draft: Draft) -> None:
    """Once every word it needs is there, the brain is asked."""
    if response.waiting or response.asked:
        return
    response.asked = True
    order = asking.question(response.id, response.settings, draft.state)
    if order is None:
        words = "The conversation is longer than the model's context, and truncation is disabled."
        failed(facts.AnswerFailed(response.id, "context_length_exceeded", words), draft)
        return
    if order.ask is not None:
        response.input_tokens = tokens(order.ask, draft.state)
        response.input_seconds = seconds(response.settings, draft.state)
    draft.order(order)
    be_patient(response, draft)


# --- Going on -------------------------------------------------------------------------


def thought(fact: facts.Thought, draft: Draft) -> None:
    response = draft.state.responses.get(fact.response_id)
    if response is None or response.finished is not None:
        return
    match fact.piece:
        case brain.Words(text):
            if text:
                outputs.words(response, text, draft)
        case brain.CallBegun(call_id, name):
            outputs.open_call(response, call_id, name, draft)
        case brain.CallArguments(call_id, delta):
            outputs.arguments(response, call_id, delta, draft)
        case brain.CallEnded(call_id):
            outputs.close_call(response, call_id, "completed", draft)
        case brain.Finished() as finished:
            response.finished = finished
            _maybe_done(response, draft)


def spoken(fact: facts.Spoken, draft: Draft) -> None:
    """A clause has become sound: it goes to the listener."""
    state = draft.state
    response = state.responses.get(fact.response_id)
    message = response.message if response is not None else None
    if response is None or message is None:
        return
    sound = state.sounds[message.id]
    if not sound.cut:
        sound.clauses.extend(fact.words or ((fact.text, fact.ms),))
    if not fact.pcm:  # nothing in it that can be said
        return
    state.audio_started = True
    form, where = response.settings.output_format.type, outputs.place(response, message)
    draft.order(StopTimer(f"slow:{response.id}"))
    draft.order(Play(response.id, message.id, where, form, fact.pcm))
    if response.id not in state.playing:
        state.playing[response.id] = False
        if not state.policy.paced:
            playing(facts.Playing(response.id), draft)
    # Where the client plays it: one after the other, and never before it is there.
    state.play_until = max(state.play_until, draft.now) + fact.ms / 1000


def all_spoken(fact: facts.AllSpoken, draft: Draft) -> None:
    response = draft.state.responses.get(fact.response_id)
    if response is not None:
        response.all_spoken = True
        _maybe_done(response, draft)


def playing(fact: facts.Playing, draft: Draft) -> None:
    state = draft.state
    if state.playing.get(fact.response_id) is False:
        state.playing[fact.response_id] = True
        watchers = Audience.ALL if state.policy.paced else Audience.OBSERVERS
        draft.send("output_audio_buffer.started", response_id=fact.response_id, to=watchers)


def played(response_id: str, draft: Draft) -> None:
    """Its last sound went out (or must have, where the client plays it)."""
    state = draft.state
    if state.playing.pop(response_id, None):
        watchers = Audience.ALL if state.policy.paced else Audience.OBSERVERS
        draft.send("output_audio_buffer.stopped", response_id=response_id, to=watchers)


# --- Ending ---------------------------------------------------------------------------


def _maybe_done(response: Response, draft: Draft) -> None:
    """Done when the brain is, and every word is sound where it should be."""
    finished = response.finished
    if finished is None or (response.spoken and response.message and not response.all_spoken):
        return
    reason = _INCOMPLETE.get(finished.reason)
    status: Status = "incomplete" if reason else "completed"
    outputs.close_all(response, status, draft)
    details = {"type": "incomplete", "reason": reason} if reason else None
    end(response, status, details, draft)


def cancel(response: Response, reason: str, draft: Draft) -> None:
    draft.order(StopAnswer(response.id))
    outputs.close_all(response, "incomplete", draft)
    end(response, "cancelled", {"type": "cancelled", "reason": reason}, draft)


def failed(fact: facts.AnswerFailed, draft: Draft) -> None:
    response = draft.state.responses.get(fact.response_id)
    if response is None:
        return
    draft.order(StopAnswer(response.id))
    outputs.close_all(response, "incomplete", draft)
    error = {"type": "server_error", "code": fact.code, "message": fact.message}
    end(response, "failed", {"type": "failed", "error": error}, draft)


def end(response: Response, status: str, details: dict[str, Any] | None, draft: Draft) -> None:
    state = draft.state
    shown = outputs.response_object(response, status, draft, details)
    del state.responses[response.id]
    draft.order(StopTimer(f"slow:{response.id}"), Warm())
    if not response.in_conversation and response.message is not None:
        state.sounds.pop(response.message.id, None)  # nobody can ask for it any more
    if state.active == response.id:
        state.active = None
    if response.id in state.playing:
        if state.policy.paced:
            if status == "completed":
                # A quick mouth is done within the beat that would have told of its first sound.
                playing(facts.Playing(response.id), draft)
            draft.order(FinishPlaying(response.id))
        else:
            left = max(0.0, state.play_until - draft.now)
            draft.order(StartTimer(f"played:{response.id}", left))
    draft.send("response.done", response=shown)


# --- While it takes a moment ----------------------------------------------------------------


def be_patient(response: Response, draft: Draft) -> None:
    """Whoever spoke and hears nothing for a while is told that it takes a moment."""
    state, manners = draft.state, draft.state.manners
    if SAY in (response.settings.metadata or {}):
        return  # these words are there already
    if manners is None or state.acknowledged or not asking.waits(response.settings, state):
        return
    draft.order(StartTimer(f"slow:{response.id}", manners.slow_after))


def slow(response_id: str, draft: Draft) -> None:
    """Nothing to hear yet: once a turn, and not while words are on their way."""
    state, manners = draft.state, draft.state.manners
    response = state.responses.get(response_id)
    if manners is None or response is None or not response.spoken:
        return
    if state.acknowledged or response.outputs:
        return
    words = manners.acknowledgement(state.acknowledgements) + " "
    state.acknowledged, state.acknowledgements = True, state.acknowledgements + 1
    outputs.words(response, words, draft)
    draft.order(Interject(response_id, words))
