"""What clients ask for. Each handler refuses before it changes anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vivavoce.engine.turn import answering, facts, listening, orders, playback, progress
from vivavoce.engine.turn.configuration import (
    Configuration,
    ResponseSettings,
    applied,
    response_settings,
)
from vivavoce.engine.turn.conversation import check_item, clip_of
from vivavoce.engine.turn.state import Draft, Response, State
from vivavoce.wire.realtime import client, items, server
from vivavoce.wire.realtime.refusal import Refused

MAX_CLIPS = 32 * 1024 * 1024  # bytes of sound inside items, at once
MOST_LISTED = 1000
MIN_COMMIT_MS = 100  # OpenAI's: less than that is no speech


def handle(request: facts.Request, draft: Draft) -> None:
    match request.event:
        case client.UpdateSession() as event:
            update_session(event, request.sender, draft)
        case client.CommitInput():
            commit(request, draft)
        case client.ClearInput():
            clear_input(request, draft)
        case client.ClearOutput():
            clear_output(draft)
        case client.CreateItem() as event:
            create_item(event, draft)
        case client.RetrieveItem(item_id):
            found = draft.state.conversation.get(item_id, doing="retrieve")
            shown = items.item_object(found, with_audio=True)
            draft.send("conversation.item.retrieved", item=shown, to=request.sender)
        case client.ListItems(since):
            list_items(since, request.sender, draft)
        case client.DeleteItem(item_id):
            delete_item(item_id, draft)
        case client.Truncate() as event:
            playback.truncate(event, draft)
        case client.Played(item_id, ms):
            playback.played(item_id, ms, draft)
        case client.CreateResponse(_, params):
            create_response(params, draft)
        case client.CancelResponse(_, response_id):
            cancel_response(response_id, draft)
        case client.AppendInput():
            raise AssertionError("sound never comes here")


def update_session(event: client.UpdateSession, sender: int, draft: Draft) -> None:
    state = draft.state
    before = state.configuration
    wanted, lacking = applied(
        before, event.session, voices=state.policy.voices, audio_started=state.audio_started
    )
    if state.policy.paced:
        check_opus(wanted)
    for fault in lacking:
        draft.order(orders.Send(server.error(fault, event.event_id), sender))
    state.configuration = wanted
    draft.order(orders.Configure(state.configuration))
    if before.turn_detection != state.configuration.turn_detection:
        listening.unsay(draft)
        listening.abandon(draft)
        draft.order(orders.StopTimer("idle"))
    draft.order(orders.Warm())
    draft.send("session.updated", session=state.shown_session())


def check_opus(configuration: Configuration) -> None:
    """Over WebRTC the sound is Opus: a format of the wire would mean nothing there."""
    for side in ("input", "output"):
        if getattr(configuration, f"{side}_format").type != "audio/pcm":
            words = "Over WebRTC the sound is Opus, whatever the format; leave it 'audio/pcm'."
            raise Refused(words, code="unsupported_parameter", param=f"session.audio.{side}.format")


def commit(request: facts.Request, draft: Draft) -> None:
    if request.buffered_ms < MIN_COMMIT_MS:
        raise Refused(
            "Error committing input audio buffer: buffer too small. Expected at least "
            f"{MIN_COMMIT_MS}ms of audio, but buffer only has {request.buffered_ms}ms of audio.",
            code="input_audio_buffer_commit_empty",
        )
    state = draft.state
    speech = state.speech
    listening.abandon(draft)
    draft.order(orders.RestartEars())
    item_id = speech.item_id if speech is not None else draft.new_id("item")
    listening.commit(item_id, request.end_ms, draft)


def clear_input(request: facts.Request, draft: Draft) -> None:
    listening.unsay(draft)
    listening.abandon(draft)
    listening.forget(request.end_ms, draft)
    draft.order(orders.RestartEars())
    draft.send("input_audio_buffer.cleared")


def clear_output(draft: Draft) -> None:
    if not draft.state.policy.paced:
        raise Refused(
            "'output_audio_buffer.clear' is for calls whose sound we pace (WebRTC); over a "
            "WebSocket, stop playing and send 'conversation.item.truncate'.",
            code="not_supported",
            param="type",
        )
    playback.interrupt("client_cancelled", draft)


# --- Items ----------------------------------------------------------------------------


def create_item(event: client.CreateItem, draft: Draft) -> None:
    state = draft.state
    if state.configuration.kind == "transcription":
        raise Refused("A transcription session has no conversation.", code="invalid_session_type")
    item = items.read_item(event.item)
    check_item(item)
    if not item.id:
        item = replace(item, id=draft.new_id("item"))
    elif item.id in state.probes or (state.speech and item.id == state.speech.item_id):
        words = f"'{item.id}' is the item of what is being said just now."
        raise Refused(words, code="item_create_duplicate_item_id", param="item.id")
    if (clip := clip_of(item)) and state.clip_bytes + len(clip) > MAX_CLIPS:
        words = "Too much sound waits to be written down; send more when its transcripts came."
        raise Refused(words, code="too_much_audio", param="item.content")
    if isinstance(item, items.FunctionCallOutput) and not state.conversation.called(item.call_id):
        words = f"Tool call ID '{item.call_id}' not found in conversation."
        raise Refused(words, code="invalid_tool_call_id", param="item.call_id")
    previous = state.conversation.insert(item, after=event.previous_item_id)
    draft.tell_item(item, previous)
    if clip:
        state.transcripts[item.id] = None
        draft.order(orders.TranscribeClip(item.id, clip))
    elif isinstance(item, items.Message) and item.role == "user":
        state.unheard = 0  # whoever types has found another way


def list_items(since: str | None, sender: int, draft: Draft) -> None:
    """For a sideband that was away: what there is, with what was heard of it by now."""
    state, found = draft.state, list(draft.state.conversation)
    progress.now(draft)
    places = [place for place, item in enumerate(found) if item.id == since]
    begin = places[0] if places else max(0, len(found) - MOST_LISTED)
    listed = []
    for before, item in zip([None, *found][begin:], found[begin:], strict=False):
        sound = state.sounds.get(item.id)
        listed.append(
            {
                "previous_item_id": before.id if before is not None else None,
                "item": items.item_object(item),
                "response_id": sound.response_id if sound is not None else "",
                "generated": sound.generated if sound is not None else "",
                "heard": progress.account_of(item.id, draft),
            }
        )
    spent = [{"response_id": name, "usage": usage} for name, usage in state.spent.items()]
    draft.send("vivavoce.items", items=listed, spent=spent, to=sender)


def delete_item(item_id: str, draft: Draft) -> None:
    state = draft.state
    found = state.conversation.get(item_id, doing="delete")
    if any(out.id == found.id for r in state.responses.values() for out in r.outputs):
        words = f"Item '{found.id}' is still being written; cancel its response first."
        raise Refused(words, code="item_in_progress", param="item_id")
    state.conversation.delete(found.id)
    for kept in (state.transcripts, state.seconds, state.notes, state.sounds, state.shown):
        kept.pop(found.id, None)
    draft.send("conversation.item.deleted", item_id=found.id)
    listening.release(found.id, draft)


# --- Responses ------------------------------------------------------------------------


def create_response(params: Mapping[str, Any] | None, draft: Draft) -> None:
    state = draft.state
    settings = response_settings(
        state.configuration,
        params,
        voices=state.policy.voices,
        audio_started=state.audio_started,
    )
    _check_input(settings, state)
    if settings.conversation == "auto" and state.active is not None:
        raise Refused(
            "Conversation already has an active response in progress: "
            f"{state.active}. Wait until the response is finished before creating a new one.",
            code="conversation_already_has_active_response",
        )
    if len(state.responses) >= answering.MAX_RESPONSES:
        words = f"At most {answering.MAX_RESPONSES} responses can be under way at once."
        raise Refused(words, code="too_many_responses")
    answering.begin(settings, draft)


def _check_input(settings: ResponseSettings, state: State) -> None:
    """References to what is there, and items of its own, in words."""
    for place, entry in enumerate(settings.input or ()):
        if isinstance(entry, items.Reference):
            state.conversation.get(entry.id)
            continue
        check_item(entry, f"response.input[{place}]")
        if entry.id and entry.id in state.conversation:
            words = f"There is an item '{entry.id}' in the conversation already: refer to it."
            raise Refused(words, code="item_create_duplicate_item_id", param="response.input")
        if clip_of(entry):
            raise Refused(
                "Sound inside 'response.input' is not supported by this engine: create an item "
                "with it, and refer to that.",
                code="unsupported_parameter",
                param="response.input",
            )


def cancel_response(response_id: str | None, draft: Draft) -> None:
    state = draft.state
    wanted = response_id or state.active
    response: Response | None = state.responses.get(wanted or "")
    if response is None:
        words = "Cancellation failed: no active response found."
        raise Refused(words, code="response_cancel_not_active")
    answering.cancel(response, "client_cancelled", draft)
