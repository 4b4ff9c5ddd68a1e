"""How far what is said has been heard, in milliseconds and in words: the one place that reckons it.

Our own server is told while it plays and at every end, so that it stores what was heard without
reckoning again. Over WebRTC we pace the sound and know where it is. Over a WebSocket the client
plays it: our page says how far it is; of others it is an estimate by the clock, until they say
where they stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from vivavoce.engine.turn import orders
from vivavoce.engine.turn.state import Draft, Sound

EVERY = 0.25
"""Seconds between two tellings: about a word."""
_WORD = re.compile(r"\s*\S+")


def played_ms(item_id: str, draft: Draft) -> int:
    """How much of an item's sound has been played by now."""
    state, sound = draft.state, draft.state.sounds[item_id]
    if sound.cut:
        return sound.ms
    if state.policy.paced:
        here = draft.position
        if here is not None and here.item_id == item_id:
            return min(here.played_ms, sound.ms)
        return sound.told[1] if sound.told is not None else 0  # the next one is at it already
    if sound.played is not None:
        return min(sound.played, sound.ms)
    left = round((sound.until - draft.now) * 1000) if state.here else sound.ms
    return max(0, min(sound.ms, sound.ms - left))


def begin(draft: Draft) -> None:
    """The first sound of something."""
    if draft.state.policy.accounts:
        draft.order(orders.StartTimer("heard", EVERY))


def account(draft: Draft) -> None:
    """Tell how far it is, as long as something sounds."""
    now(draft)
    if draft.state.playing:
        begin(draft)


def now(draft: Draft) -> None:
    state = draft.state
    for item_id, sound in state.sounds.items():
        if sound.response_id in state.playing and not sound.cut:
            tell(item_id, "playing", draft)


def settle(response_id: str, draft: Draft) -> None:
    """No more of this response will be heard: all that became sound was, or what was cut is."""
    for item_id, sound in draft.state.sounds.items():
        if sound.response_id == response_id:
            whole = sound.clauses and not sound.cut
            tell(item_id, "played" if whole else "cut", draft, all_of_it=True)


def tell(
    item_id: str,
    how: Literal["playing", "played", "cut"],
    draft: Draft,
    *,
    all_of_it: bool = False,
) -> None:
    """Once for each step; to our own server only."""
    sound = draft.state.sounds.get(item_id)
    if sound is None or not draft.state.policy.accounts:
        return
    ms = sound.ms if all_of_it else played_ms(item_id, draft)
    text = _text(sound, ms, all_of_it=all_of_it)
    before, sound.told = sound.told, (text, ms, how)
    if before is None or (before[0], before[2]) != (text, how):
        told = account_of(item_id, draft)
        draft.send("vivavoce.heard", told, to=orders.Audience.OURS)


def account_of(item_id: str, draft: Draft) -> dict[str, Any] | None:
    """What was last told of it."""
    sound = draft.state.sounds.get(item_id)
    if sound is None or sound.told is None:
        return None
    text, ms, how = sound.told
    certain = draft.state.policy.paced or sound.certain or not ms
    where = {"item_id": item_id, "transcript": text, "audio_end_ms": ms}
    return {**where, "state": how, "estimated": not certain}


def _text(sound: Sound, ms: int, *, all_of_it: bool) -> str:
    return sound.text.rstrip() if all_of_it else heard(sound.clauses, ms)


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
