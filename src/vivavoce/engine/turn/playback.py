"""What was heard: interruptions, truncation, and history that ends where the sound did."""

from __future__ import annotations

from vivavoce.engine.turn import answering, orders, progress
from vivavoce.engine.turn.conversation import with_transcript
from vivavoce.engine.turn.state import Draft, Sound
from vivavoce.wire.realtime import client
from vivavoce.wire.realtime.refusal import Refused

_PATIENCE = 1.0
"""Seconds beyond what is left, for a client that says how far it is."""
_ROUNDED = 20
"""Milliseconds: a client counts samples, and each clause has its own fraction."""


def interrupt(reason: str, draft: Draft) -> None:
    """Nothing more is said, and what was not heard is forgotten."""
    state = draft.state
    # One that is aside of the conversation goes on, unless it is what is being heard.
    for response in list(state.responses.values()):
        if response.id == state.active or response.id in state.playing:
            answering.cancel(response, reason, draft)
    state.turn_waits = False
    _stop_playing(draft, certain=state.policy.paced)


def _stop_playing(draft: Draft, *, certain: bool = True) -> None:
    """`certain`: it ends where it is by our account, and no client knows it better."""
    state = draft.state
    if not state.playing:
        return
    if state.policy.paced:
        draft.order(orders.ClearPlaying())
    # Over a WebSocket only the client knows where it stops, and says so with
    # `conversation.item.truncate`, unless it is gone.
    cut = _cut(draft) if certain else {}
    progress.now(draft)
    for response_id, told in state.playing.items():
        draft.order(orders.StopTimer(f"played:{response_id}"))
        if told:
            draft.tell_playing("output_audio_buffer.cleared", response_id)
    for item_id, played in cut.items():
        _tell_truncated(item_id, played, draft)
    state.playing.clear()
    state.play_until = draft.now


def _cut(draft: Draft) -> dict[str, int]:
    """Items end where their sound did; where that was."""
    state = draft.state
    cut = {
        item_id: progress.played_ms(item_id, draft)
        for item_id, sound in state.sounds.items()
        if sound.response_id in state.playing and item_id in state.conversation
    }
    for item_id, played in cut.items():
        _shorten(item_id, played, draft)
    return cut


def joined(draft: Draft) -> None:
    """What waited for who plays it begins now, one after the other."""
    state, at = draft.state, draft.now
    if state.here:
        return
    state.here = True
    for sound in state.sounds.values():
        if sound.response_id in state.playing:
            sound.until = at = at + sound.ms / 1000
    state.play_until = at
    ends = {sound.response_id: sound.until for sound in state.sounds.values()}
    for response_id in state.playing.keys() - state.responses.keys():
        left = ends.get(response_id, at) - draft.now
        draft.order(orders.StartTimer(f"played:{response_id}", left))


def lost(silent: float, draft: Draft) -> None:
    """Nobody listens any more. What is being answered is still thought to its end, for whoever
    comes back to read or be told it, but none of it is heard."""
    state = draft.state
    if not state.policy.paced and state.here:
        _unheard(draft.now - silent, draft)
    _stop_playing(draft)
    state.lost = True
    for sound in state.sounds.values():
        if sound.response_id in state.responses:
            sound.cut = True


def _unheard(since: float, draft: Draft) -> None:
    """By the clock it was played after the last that came from whoever should have heard it."""
    state = draft.state
    for item_id, sound in state.sounds.items():
        late = round((sound.until - since) * 1000)
        if late > 0 and not sound.cut and not sound.certain and item_id in state.conversation:
            _shorten(item_id, max(0, sound.ms - late), draft)


def over(draft: Draft) -> None:
    """The call ends: what is under way is told as far as it came."""
    for response in list(draft.state.responses.values()):
        answering.cancel(response, "client_cancelled", draft)
    _stop_playing(draft)


def truncate(wish: client.Truncate, draft: Draft) -> None:
    """The client says how much it played."""
    state = draft.state
    item = state.conversation.get(wish.item_id, doing="truncate")
    sound = state.sounds.get(item.id)
    if sound is None:
        words = "Only an assistant's message with audio can be truncated."
        raise Refused(words, code="invalid_value", param="item_id")
    if wish.content_index != 0:
        words = "The content at this index has no audio; the audio is at index 0."
        raise Refused(words, code="invalid_value", param="content_index")
    if not 0 <= wish.audio_end_ms <= sound.ms:
        words = f"Audio content of {sound.ms}ms is already shorter than {wish.audio_end_ms}ms"
        if wish.audio_end_ms < 0:
            words = "'audio_end_ms' should not be negative."
        raise Refused(words, code="invalid_value", param="audio_end_ms")
    sound.certain = True
    _shorten(item.id, wish.audio_end_ms, draft)
    _tell_truncated(item.id, wish.audio_end_ms, draft)
    if not state.policy.paced and sound.response_id not in state.responses:
        _silent(sound.response_id, draft)


def played(item_id: str, ms: int, draft: Draft) -> None:
    """A client that plays for itself says how far it is: from then on nobody reckons."""
    state = draft.state
    sound = state.sounds.get(item_id)
    if state.policy.paced or sound is None or sound.cut or sound.response_id not in state.playing:
        return  # it crossed with an end of ours
    sound.played, sound.certain = max(sound.played or 0, min(ms, sound.ms)), True
    progress.tell(item_id, "playing", draft)
    if sound.response_id not in state.responses and not _behind(sound.response_id, draft):
        draft.order(orders.StopTimer(f"played:{sound.response_id}"))
        answering.played(sound.response_id, draft)


def due(response_id: str, draft: Draft) -> None:
    """By the clock its last sound was played. A client that says how far it is is waited for as
    long as it goes on; one that stands still plays no more of it."""
    state, behind = draft.state, _behind(response_id, draft)
    going = {name: sound for name, sound in behind.items() if sound.looked != sound.played}
    if not behind:
        answering.played(response_id, draft)
    elif going:
        for sound in going.values():
            sound.looked = sound.played
        left = max(sound.ms - (sound.played or 0) for sound in going.values()) / 1000
        draft.order(orders.StartTimer(f"played:{response_id}", left + _PATIENCE))
    else:
        for item_id, sound in behind.items():
            ms = sound.played or 0
            if item_id in state.conversation:
                _shorten(item_id, ms, draft)
            _tell_truncated(item_id, ms, draft)
        _silent(response_id, draft)


def _behind(response_id: str, draft: Draft) -> dict[str, Sound]:
    """What of it its client says that it has not played to the end yet."""
    return {
        item_id: sound
        for item_id, sound in draft.state.sounds.items()
        if sound.response_id == response_id
        and not sound.cut
        and sound.played is not None
        and sound.ms - sound.played > _ROUNDED
    }


def _tell_truncated(item_id: str, end_ms: int, draft: Draft) -> None:
    where = {"item_id": item_id, "content_index": 0}
    draft.send("conversation.item.truncated", where, audio_end_ms=end_ms)


def _silent(response_id: str, draft: Draft) -> None:
    """A client that plays for itself has stopped, though by the clock there is more to hear."""
    state = draft.state
    told = state.playing.pop(response_id, None)
    if told is None:
        return
    draft.order(orders.StopTimer(f"played:{response_id}"))
    draft.tell_playing("output_audio_buffer.cleared", response_id)
    if not state.playing:
        state.play_until = draft.now


def _shorten(item_id: str, played_ms: int, draft: Draft) -> None:
    state = draft.state
    sound = state.sounds[item_id]
    text = progress.heard(sound.clauses, played_ms)
    sound.cut = True
    sound.clauses[:] = [(text, played_ms)] if text or played_ms else []
    state.conversation.replace(with_transcript(state.conversation.get(item_id), text))
    progress.tell(item_id, "cut", draft, all_of_it=True)
