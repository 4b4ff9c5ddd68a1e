"""What was heard: interruptions, truncation, and history that ends where the sound did."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vivavoce.engine.turn import answering, orders
from vivavoce.engine.turn.conversation import with_transcript
from vivavoce.engine.turn.state import Draft
from vivavoce.wire.realtime import client
from vivavoce.wire.realtime.refusal import Refused


def interrupt(reason: str, draft: Draft) -> None:
    """Nothing more is said, and what was not heard is forgotten."""
    state = draft.state
    # One that is aside of the conversation goes on, unless it is what is being heard.
    for response in list(state.responses.values()):
        if response.id == state.active or response.id in state.playing:
            answering.cancel(response, reason, draft)
    state.turn_waits = False
    if not state.playing:
        return
    if state.policy.paced:
        draft.order(orders.ClearPlaying())
    for response_id, told in state.playing.items():
        draft.order(orders.StopTimer(f"played:{response_id}"))
        if told:
            draft.tell_playing("output_audio_buffer.cleared", response_id)
    if state.policy.paced:
        _cut(draft)
    state.playing.clear()
    state.play_until = draft.now


def _cut(draft: Draft) -> None:
    """Items end where their sound did. Over a WebSocket only the client knows where
    that was, and says so with `conversation.item.truncate`."""
    state = draft.state
    for item_id, sound in state.sounds.items():
        if sound.response_id not in state.playing or item_id not in state.conversation:
            continue
        here = draft.position
        played = min(here.played_ms, sound.ms) if here and here.item_id == item_id else 0
        _shorten(item_id, played, draft)
        _tell_truncated(item_id, played, draft)


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
    _shorten(item.id, wish.audio_end_ms, draft)
    _tell_truncated(item.id, wish.audio_end_ms, draft)
    if not state.policy.paced and sound.response_id not in state.responses:
        _silent(sound.response_id, draft)


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
    text = heard(sound.clauses, played_ms)
    sound.cut = True
    sound.clauses[:] = [(text, played_ms)] if text or played_ms else []
    state.conversation.replace(with_transcript(state.conversation.get(item_id), text))


_WORD = re.compile(r"\s*\S+")


def heard(segments: Iterable[tuple[str, int]], audio_end_ms: int) -> str:
    """The text heard until then: whole clauses, then whole words in proportion.

    `segments` are the clauses of an audio part with the length of their sound;
    put together, their texts are the transcript.
    """
    whole: list[str] = []
    left = max(0, audio_end_ms)
    for text, length in segments:
        if left < length:
            whole.append(_words_within(text, left / length))
            break
        whole.append(text)
        left -= max(0, length)
    return "".join(whole).rstrip()


def _words_within(text: str, share: float) -> str:
    """As many whole words as fit in that share of the text."""
    end = 0
    for word in _WORD.finditer(text):
        if word.end() > share * len(text):
            break
        end = word.end()
    return text[:end]
