"""What clients ask for. Each handler refuses before it changes anything."""

from __future__ import annotations

from vivavoce.engine.turn import answering, facts, listening, playback, transcripts
from vivavoce.engine.turn import server_frames as say
from vivavoce.engine.turn.configuration.all import (
    Configuration,
    Reference,
    ResponseSettings,
    response_settings,
    session_object,
    updated,
)
from vivavoce.engine.turn.context import sources
from vivavoce.engine.turn.faults import Refused
from vivavoce.engine.turn.items import Item, Message, item_object, parse_item, with_id
from vivavoce.engine.turn.made import clip_of
from vivavoce.engine.turn.orders import Configure, RestartEars, StopTimer, TranscribeClip, Warm
from vivavoce.engine.turn.state import Draft, Response, State

MAX_CLIPS = 32 * 1024 * 1024  # bytes of sound inside items, at once
MIN_COMMIT_MS = 100  # OpenAI's: less than that is no speech


def handle(request: facts.Request, draft: Draft) -> None:
    match request.wish:
        case facts.UpdateSession() as wish:
            update_session(wish, draft)
        case facts.CommitInput() as wish:
            commit(wish, draft)
        case facts.ClearInput() as wish:
            clear_input(wish, draft)
        case facts.ClearOutput() as wish:
            clear_output(wish, draft)
        case facts.CreateItem() as wish:
            create_item(wish, draft)
        case facts.RetrieveItem() as wish:
            found = _item(wish.item_id, draft)
            draft.send(say.item_retrieved(item_object(found, with_audio=True)), request.sender)
        case facts.DeleteItem() as wish:
            delete_item(wish, draft)
        case facts.TruncateItem() as wish:
            playback.truncate(wish, draft)
        case facts.CreateResponse() as wish:
            create_response(wish, draft)
        case facts.CancelResponse() as wish:
            cancel_response(wish, draft)


def update_session(wish: facts.UpdateSession, draft: Draft) -> None:
    state = draft.state
    before = state.configuration
    wanted = updated(
        before, wish.patch, voices=state.policy.voices, audio_started=state.audio_started
    )
    if state.policy.paced:
        check_opus(wanted)
    state.configuration = wanted
    draft.order(Configure(state.configuration))
    if before.turn_detection != state.configuration.turn_detection:
        transcripts.unsay(draft)
        listening.abandon(draft)
        draft.order(StopTimer("idle"))
    draft.order(Warm())
    draft.send(session_event("updated", state))


def check_opus(configuration: Configuration) -> None:
    """Over WebRTC the sound is Opus: a format of the wire would mean nothing there."""
    for side in ("input", "output"):
        if getattr(configuration, f"{side}_format").type != "audio/pcm":
            raise Refused(
                "Over WebRTC the sound is Opus, whatever the format; leave it 'audio/pcm'.",
                code="unsupported_parameter",
                param=f"session.audio.{side}.format",
            )


def session_event(kind: str, state: State) -> say.Event:
    """`session.created` or `session.updated`."""
    shown = session_object(
        state.configuration,
        session_id=state.policy.session_id,
        expires_at=state.policy.expires_at,
    )
    return say.session(kind, shown)


def commit(wish: facts.CommitInput, draft: Draft) -> None:
    if wish.buffered_ms < MIN_COMMIT_MS:
        raise Refused(
            "Error committing input audio buffer: buffer too small. Expected at least "
            f"{MIN_COMMIT_MS}ms of audio, but buffer only has {wish.buffered_ms}ms of audio.",
            code="input_audio_buffer_commit_empty",
        )
    state = draft.state
    speech = state.speech
    listening.abandon(draft)
    draft.order(RestartEars())
    item_id = speech.item_id if speech is not None else draft.new_id("item")
    listening.commit(item_id, state.committed_ms, wish.end_ms, draft)


def clear_input(wish: facts.ClearInput, draft: Draft) -> None:
    transcripts.unsay(draft)
    listening.abandon(draft)
    listening.forget(wish.end_ms, draft)
    draft.order(RestartEars())
    draft.send(say.input_cleared())


def clear_output(wish: facts.ClearOutput, draft: Draft) -> None:
    if not draft.state.policy.paced:
        raise Refused(
            "'output_audio_buffer.clear' is for calls whose sound we pace (WebRTC); over a "
            "WebSocket, stop playing and send 'conversation.item.truncate'.",
            code="not_supported",
            param="type",
        )
    playback.interrupt("client_cancelled", wish.position, draft)


# --- Items ----------------------------------------------------------------------------


def create_item(wish: facts.CreateItem, draft: Draft) -> None:
    state = draft.state
    if state.configuration.kind == "transcription":
        raise Refused("A transcription session has no conversation.", code="invalid_session_type")
    item = parse_item(wish.item)
    if not item.id:
        item = with_id(item, draft.new_id("item"))
    elif item.id in state.probes or (state.speech and item.id == state.speech.item_id):
        raise Refused(
            f"'{item.id}' is the item of what is being said just now.",
            code="item_create_duplicate_item_id",
            param="item.id",
        )
    if (clip := clip_of(item)) and state.clip_bytes + len(clip) > MAX_CLIPS:
        raise Refused(
            "Too much sound waits to be written down; send more when its transcripts came.",
            code="too_much_audio",
            param="item.content",
        )
    previous = state.conversation.insert(item, after=wish.after)
    draft.send(say.item("added", item_object(item), previous))
    draft.send(say.item("done", item_object(item), previous))
    if clip:
        state.transcripts[item.id] = None
        draft.order(TranscribeClip(item.id, clip))
    elif isinstance(item, Message) and item.role == "user":
        state.unheard = 0  # whoever types has found another way


def delete_item(wish: facts.DeleteItem, draft: Draft) -> None:
    state = draft.state
    found = _item(wish.item_id, draft)
    if any(out.id == found.id for r in state.responses.values() for out in r.outputs):
        raise Refused(
            f"Item '{found.id}' is still being written; cancel its response first.",
            code="item_in_progress",
            param="item_id",
        )
    state.conversation.delete(found.id)
    for kept in (state.transcripts, state.seconds, state.notes, state.sounds, state.shown):
        kept.pop(found.id, None)
    draft.send(say.item_deleted(found.id))
    transcripts.release(found.id, draft)


def _item(item_id: str, draft: Draft) -> Item:
    return draft.state.conversation.get(item_id)


# --- Responses ------------------------------------------------------------------------


def create_response(wish: facts.CreateResponse, draft: Draft) -> None:
    state = draft.state
    settings = response_settings(
        state.configuration,
        wish.params,
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
        raise Refused(
            f"At most {answering.MAX_RESPONSES} responses can be under way at once.",
            code="too_many_responses",
        )
    answering.begin(settings, draft)


def _check_input(settings: ResponseSettings, state: State) -> None:
    """References to what is there, and items of its own, in words."""
    sources(settings, state)
    for entry in settings.input or ():
        if isinstance(entry, Reference):
            continue
        if entry.id and entry.id in state.conversation:
            raise Refused(
                f"There is an item '{entry.id}' in the conversation already: refer to it.",
                code="item_create_duplicate_item_id",
                param="response.input",
            )
        if clip_of(entry):
            raise Refused(
                "Sound inside 'response.input' is not supported by this engine: create an item "
                "with it, and refer to that.",
                code="unsupported_parameter",
                param="response.input",
            )


def cancel_response(wish: facts.CancelResponse, draft: Draft) -> None:
    state = draft.state
    wanted = wish.response_id or state.active
    response: Response | None = state.responses.get(wanted or "")
    if response is None:
        raise Refused(
            "Cancellation failed: no active response found.", code="response_cancel_not_active"
        )
    answering.cancel(response, "client_cancelled", draft)
