"""The items that a response makes, and the events that show them grow and close."""

from __future__ import annotations

from typing import Any

from vivavoce.engine.turn.conversation import assistant_message
from vivavoce.engine.turn.orders import LastSound
from vivavoce.engine.turn.state import Draft, Output, Response, Sound
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.items import FunctionCall, Item, Status, item_object
from vivavoce.wire.realtime.response import response_object as shown_response

Json = dict[str, Any]


# --- A message --------------------------------------------------------------------------


def words(response: Response, text: str, draft: Draft) -> None:
    message = response.message
    if message is None or message.status is not None:
        message = _open_message(response, draft)
    message.text += text
    kind: server.EventType = "response.output_text.delta"
    if response.spoken:
        kind = "response.output_audio_transcript.delta"
    draft.send(kind, place(response, message), delta=text)


def _open_message(response: Response, draft: Draft) -> Output:
    message = Output(draft.new_id("item"), len(response.outputs))
    if response.spoken:
        draft.state.sounds[message.id] = Sound(response.id)
    _open(response, message, draft)
    empty = {"type": "audio", "transcript": ""} if response.spoken else {"type": "text", "text": ""}
    draft.send("response.content_part.added", place(response, message), part=empty)
    return message


def _close_message(response: Response, message: Output, status: Status, draft: Draft) -> None:
    where, text = place(response, message), message.text
    if response.spoken:
        draft.order(LastSound(where))
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


def arguments(response: Response, call_id: str, delta: str, draft: Draft) -> None:
    for call in response.outputs:
        if call.call_id == call_id and call.status is None and delta:
            call.text += delta
            where = _spot(response, call)
            draft.send("response.function_call_arguments.delta", where, delta=delta)


def close_call(response: Response, call_id: str, status: Status, draft: Draft) -> None:
    for call in response.outputs:
        if call.name and call.call_id == call_id and call.status is None:
            if status == "completed":
                where = _spot(response, call)
                draft.send(
                    "response.function_call_arguments.done",
                    where,
                    name=call.name,
                    arguments=call.text,
                )
            _close(response, call, status, draft)


# --- Both -------------------------------------------------------------------------------


def _open(response: Response, output: Output, draft: Draft) -> None:
    response.outputs.append(output)
    shown = object_of(response, output, "in_progress")
    draft.send(
        "response.output_item.added", response_id=response.id, output_index=output.index, item=shown
    )
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
        draft.send(
            "conversation.item.done",
            previous_item_id=state.conversation.previous(output.id),
            item=shown,
        )
    draft.send(
        "response.output_item.done", response_id=response.id, output_index=output.index, item=shown
    )


def close_all(response: Response, status: Status, draft: Draft) -> None:
    for output in response.outputs:
        if output.status is not None:
            continue
        if output.name:
            close_call(response, output.call_id, "incomplete", draft)
        else:
            _close_message(response, output, status, draft)


def object_of(response: Response, output: Output, status: Status) -> Json:
    return item_object(_item(response, output, status))


def _item(response: Response, output: Output, status: Status) -> Item:
    if output.name:
        return FunctionCall(output.id, output.call_id, output.name, output.text, status)
    return assistant_message(output.id, output.text, response.spoken, status)


def place(response: Response, output: Output) -> Json:
    """Which part of which item an event is about."""
    return {
        "response_id": response.id,
        "item_id": output.id,
        "output_index": output.index,
        "content_index": 0,
    }


def _spot(response: Response, call: Output) -> Json:
    return {
        "response_id": response.id,
        "item_id": call.id,
        "output_index": call.index,
        "call_id": call.call_id,
    }


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
