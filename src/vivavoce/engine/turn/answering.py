"""The assistant's side: a response from its beginning to its last word.

Events leave in the order the recordings of the real service show. A response
that is spoken has one message at most, and as many calls as the brain makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vivavoce.engine.turn import asking, facts, orders, progress
from vivavoce.engine.turn.asking import seconds, sources, tokens
from vivavoce.engine.turn.configuration import ResponseSettings
from vivavoce.engine.turn.conversation import assistant_message
from vivavoce.engine.turn.state import Draft, Output, Response, Sound
from vivavoce.wire import brain
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.client import SAY
from vivavoce.wire.realtime.items import FunctionCall, Item, Status, item_object
from vivavoce.wire.realtime.response import response_object as shown_response

Json = dict[str, Any]

MAX_RESPONSES = 4
_MINUTE = 60.0
_MOST_SPENT = 64  # answers
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


# --- A message --------------------------------------------------------------------------


def add_words(response: Response, text: str, draft: Draft) -> None:
    message = response.message
    if message is None or message.status is not None:
        message = _open_message(response, draft)
    message.text += text
    where = place(response, message)
    if response.spoken:
        draft.send("response.output_audio_transcript.delta", where, delta=text)
    else:
        draft.send("response.output_text.delta", where, delta=text)


def _open_message(response: Response, draft: Draft) -> Output:
    message = Output(draft.new_id("item"), len(response.outputs))
    if response.spoken:
        draft.state.sounds[message.id] = Sound(response.id, cut=draft.state.lost)
    _open(response, message, draft)
    if response.spoken:
        progress.tell(message.id, "playing", draft)  # nothing of it yet
    empty = {"type": "audio", "transcript": ""} if response.spoken else {"type": "text", "text": ""}
    draft.send("response.content_part.added", place(response, message), part=empty)
    return message


def _close_message(response: Response, message: Output, status: Status, draft: Draft) -> None:
    where, text = place(response, message), message.text
    if response.spoken:
        draft.state.sounds[message.id].generated = text
        draft.order(orders.LastSound(where))
        draft.send("response.output_audio.done", where)
        draft.send("response.output_audio_transcript.done", where, transcript=text)
        draft.send("response.content_part.done", where, part={"type": "audio", "transcript": text})
    else:
        draft.send("response.output_text.done", where, text=text)
        draft.send("response.content_part.done", where, part={"type": "text", "text": text})
    _close(response, message, status, draft)


# --- Calls ------------------------------------------------------------------------------


def open_call(response: Response, call_id: str, name: str, draft: Draft) -> None:
    message = response.message
    if message is not None and message.status is None and not response.spoken:
        # One after the other, as the real service has it; sound may still be on its way.
        _close_message(response, message, "completed", draft)
    call = Output(draft.new_id("item"), len(response.outputs), call_id=call_id, name=name)
    _open(response, call, draft)


def _open_call(response: Response, call_id: str) -> Iterator[Output]:
    return (o for o in response.outputs if o.name and o.call_id == call_id and o.status is None)


def arguments(response: Response, call_id: str, delta: str, draft: Draft) -> None:
    for call in _open_call(response, call_id):
        if delta:
            call.text += delta
            where = place(response, call)
            draft.send("response.function_call_arguments.delta", where, delta=delta)


def end_call(response: Response, call_id: str, draft: Draft) -> None:
    for call in _open_call(response, call_id):
        told = {**place(response, call), "name": call.name, "arguments": call.text}
        draft.send("response.function_call_arguments.done", told)
        _close(response, call, "completed", draft)


# --- Both -------------------------------------------------------------------------------


def _open(response: Response, output: Output, draft: Draft) -> None:
    response.outputs.append(output)
    shown = object_of(response, output, "in_progress")
    where = {"response_id": response.id, "output_index": output.index}
    draft.send("response.output_item.added", where, item=shown)
    if response.in_conversation:
        previous = draft.state.conversation.append(_item(response, output, "in_progress"))
        draft.send("conversation.item.added", previous_item_id=previous, item=shown)


def _close(response: Response, output: Output, status: Status, draft: Draft) -> None:
    output.status = status
    shown = object_of(response, output, status)
    if response.in_conversation:
        state = draft.state
        kept = _item(response, output, status)
        sound = state.sounds.get(output.id)
        unheard = status != "completed" or (sound is not None and sound.cut)
        if response.spoken and not output.name and unheard:
            # What never became sound, or was cut off, was never heard.
            kept = assistant_message(output.id, sound.text if sound else "", True, status)
        state.conversation.replace(kept)
        previous = state.conversation.previous(output.id)
        draft.send("conversation.item.done", previous_item_id=previous, item=shown)
    where = {"response_id": response.id, "output_index": output.index}
    draft.send("response.output_item.done", where, item=shown)


def close_all(response: Response, status: Status, draft: Draft) -> None:
    for output in response.outputs:
        if output.status is None and output.name:
            _close(response, output, "incomplete", draft)
        elif output.status is None:
            _close_message(response, output, status, draft)


def object_of(response: Response, output: Output, status: Status) -> Json:
    return item_object(_item(response, output, status))


def _item(response: Response, output: Output, status: Status) -> Item:
    if output.name:
        return FunctionCall(output.id, output.call_id, output.name, output.text, status)
    return assistant_message(output.id, output.text, response.spoken, status)


def place(response: Response, output: Output) -> Json:
    """Which part of which item an event is about."""
    part: Json = {"call_id": output.call_id} if output.name else {"content_index": 0}
    item = {"item_id": output.id, "output_index": output.index}
    return {"response_id": response.id, **item, **part}


# --- The response as clients see it -------------------------------------------------------


def response_object(
    response: Response, status: str, draft: Draft, details: Json | None = None
) -> Json:
    closed: Status = "completed" if status == "completed" else "incomplete"
    settings, made = response.settings, response.outputs
    return shown_response(
        response_id=response.id,
        status=status,
        status_details=details,
        output=[object_of(response, output, output.status or closed) for output in made],
        conversation_id=draft.state.policy.conversation_id if response.in_conversation else None,
        output_modalities=[settings.output_modalities],
        max_output_tokens=settings.max_output_tokens,
        audio_format=settings.output_format.shown(),
        voice=settings.voice,
        usage=_usage(response, draft) if status != "in_progress" else None,
        metadata=settings.metadata,
    )


def _usage(response: Response, draft: Draft) -> Json:
    """The brain's own count; ours, where it was cut short and never told."""
    finished, message, state = response.finished, response.message, draft.state
    sound = state.sounds.get(message.id) if message is not None else None
    count = state.policy.count
    made = sum(count(output.text) for output in response.outputs)
    return server.response_usage(
        input_tokens=finished.input_tokens if finished else response.input_tokens,
        cached_tokens=finished.cached_tokens if finished else 0,
        output_tokens=finished.output_tokens if finished else made,
        input_seconds=response.input_seconds,
        output_seconds=sound.ms / 1000 if sound else 0.0,
    )


# --- Beginning ------------------------------------------------------------------------


def begin(settings: ResponseSettings, draft: Draft) -> None:
    state = draft.state
    response = Response(draft.new_id("resp"), settings)
    state.responses[response.id] = response
    if response.in_conversation:
        state.active = response.id
        state.turn_waits = False  # it answers everything said so far
    draft.send("response.created", response=response_object(response, "in_progress", draft))
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
    limit, begun = state.policy.responses_per_minute, state.begun
    if limit is None:
        return True
    while begun and draft.now - begun[0] >= _MINUTE:
        begun.popleft()
    allowed = len(begun) < limit
    if allowed:
        begun.append(draft.now)
    reset = round(_MINUTE - (draft.now - begun[0]), 3) if begun else 0.0
    shown = {"limit": limit, "remaining": limit - len(begun), "reset_seconds": reset}
    draft.send("rate_limits.updated", rate_limits=[{"name": "requests", **shown}])
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
        response.input_tokens = tokens(order.ask, draft.state.policy.count)
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
                add_words(response, text, draft)
        case brain.CallBegun(call_id, name):
            open_call(response, call_id, name, draft)
        case brain.CallArguments(call_id, delta):
            arguments(response, call_id, delta, draft)
        case brain.CallEnded(call_id):
            end_call(response, call_id, draft)
        case brain.Finished() as finished:
            response.finished = finished
            if response.in_conversation:
                draft.state.awaits = finished.awaits
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
    if state.lost:
        return  # nobody is there to hear it
    state.audio_started = True
    form, where = response.settings.output_format.type, place(response, message)
    draft.order(orders.StopTimer(f"slow:{response.id}"))
    draft.order(orders.Play(response.id, message.id, where, form, fact.pcm))
    if response.id not in state.playing:
        state.playing[response.id] = False
        if not state.policy.paced:
            playing(facts.Playing(response.id), draft)
    # Where the client plays it: one after the other, and never before it is there.
    state.play_until = max(state.play_until, draft.now) + fact.ms / 1000
    sound.until = state.play_until


def all_spoken(fact: facts.AllSpoken, draft: Draft) -> None:
    response = draft.state.responses.get(fact.response_id)
    if response is not None:
        response.all_spoken = True
        _maybe_done(response, draft)


def playing(fact: facts.Playing, draft: Draft) -> None:
    state = draft.state
    if state.playing.get(fact.response_id) is False:
        state.playing[fact.response_id] = True
        draft.tell_playing("output_audio_buffer.started", fact.response_id)
        progress.begin(draft)


def played(response_id: str, draft: Draft) -> None:
    """Its last sound went out (or must have, where the client plays it)."""
    state = draft.state
    if response_id in state.playing:
        progress.settle(response_id, draft)
    if state.playing.pop(response_id, None):
        draft.tell_playing("output_audio_buffer.stopped", response_id)


# --- Ending ---------------------------------------------------------------------------


def _maybe_done(response: Response, draft: Draft) -> None:
    """Done when the brain is, and every word is sound where it should be."""
    finished = response.finished
    if finished is None or (response.spoken and response.message and not response.all_spoken):
        return
    reason = _INCOMPLETE.get(finished.reason)
    status: Status = "incomplete" if reason else "completed"
    close_all(response, status, draft)
    details = {"type": "incomplete", "reason": reason} if reason else None
    end(response, status, details, draft)


def cancel(response: Response, reason: str, draft: Draft) -> None:
    _break_off(response, {"type": "cancelled", "reason": reason}, draft)


def failed(fact: facts.AnswerFailed, draft: Draft) -> None:
    if (response := draft.state.responses.get(fact.response_id)) is not None:
        error = {"type": "server_error", "code": fact.code, "message": fact.message}
        _break_off(response, {"type": "failed", "error": error}, draft)


def _break_off(response: Response, details: Json, draft: Draft) -> None:
    draft.order(orders.StopAnswer(response.id))
    close_all(response, "incomplete", draft)
    end(response, details["type"], details, draft)


def end(response: Response, status: str, details: Json | None, draft: Draft) -> None:
    state = draft.state
    shown = response_object(response, status, draft, details)
    del state.responses[response.id]
    state.spent[response.id] = shown["usage"]
    for oldest in list(state.spent)[:-_MOST_SPENT]:
        del state.spent[oldest]
    draft.order(orders.StopTimer(f"slow:{response.id}"), orders.Warm())
    if state.active == response.id:
        state.active = None
    if response.id in state.playing:
        if state.policy.paced:
            if status == "completed":
                # A quick mouth is done within the beat that would have told of its first sound.
                playing(facts.Playing(response.id), draft)
            draft.order(orders.FinishPlaying(response.id))
        elif state.here:
            left = max(0.0, state.play_until - draft.now)
            draft.order(orders.StartTimer(f"played:{response.id}", left))
    else:
        progress.settle(response.id, draft)  # whatever there is of it, no more will be heard
    if not response.in_conversation and response.message is not None:
        state.sounds.pop(response.message.id, None)  # nobody can ask for it any more
    draft.send("response.done", response=shown)


# --- While it takes a moment ----------------------------------------------------------------


def be_patient(response: Response, draft: Draft) -> None:
    """Whoever spoke and hears nothing for a while is told that it takes a moment."""
    state, manners = draft.state, draft.state.manners
    there = SAY in (response.settings.metadata or {})  # these words need no thought
    if manners and not (there or state.acknowledged) and asking.waits(response.settings, state):
        draft.order(orders.StartTimer(f"slow:{response.id}", manners.slow_after))


def slow(response_id: str, draft: Draft) -> None:
    """Nothing to hear yet: once a turn, and not while words are on their way."""
    state, manners = draft.state, draft.state.manners
    response = state.responses.get(response_id)
    if manners is None or response is None or not response.spoken:
        return
    ready = state.open is not None and state.open.response_id == response_id and state.open.facts
    if state.acknowledged or response.outputs or ready:
        return
    words = manners.acknowledgement(state.acknowledgements) + " "
    state.acknowledged, state.acknowledgements = True, state.acknowledgements + 1
    add_words(response, words, draft)
    draft.order(orders.Interject(response_id, words))
