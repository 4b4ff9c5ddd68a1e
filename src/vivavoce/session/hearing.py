"""The user: what they say and type, its place in the conversation, and its words.

Items that joined while the sideband was not there are asked for: each item names its
predecessor. A provider tells nothing of what came before that, so of several items missed
in a row the last is made up for.

A typed message is an item of ours: recorded before anything else is done about it, put
into the conversation, and answered when the floor is free. It counts as answered when
nothing is said, wished or run any more; what the assistant said last until then is the
reply. So a tool's follow-up belongs to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vivavoce.session import aloud, calling, faults, news, saying
from vivavoce.session.context import item_of
from vivavoce.session.draft import Draft
from vivavoce.session.effects import Account, Answered, Record, StartTimer
from vivavoce.session.events import Shown, TypedText
from vivavoce.session.state import Phase, Signal, State
from vivavoce.session.talk import Question, UserItem
from vivavoce.wire.clean import clean_text
from vivavoce.wire.events import (
    SpeechStarted,
    SpeechStopped,
    TranscriptionCompleted,
    TranscriptionDelta,
)
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.client import (
    DeleteItem,
    RetrieveItem,
    message_item,
)
from vivavoce.wire.records.talk import Entry, Kind, Modality

_MOST_SOUGHT = 32
_MOST_ANSWERED = 64
_AWAY = (Phase.DISCONNECTED, Phase.INITIALIZING, Phase.RECONNECTING)


def speech_started(event: rt.UserSpeechStarted, draft: Draft) -> None:
    draft.state.talk.speech_began_ms = event.audio_start_ms
    draft.state.talk.began_ms[event.item_id] = draft.now_ms
    draft.state.talk.turns.speech_started(draft.now)
    draft.state.clock.user_heard = draft.now
    draft.there()
    draft.tell(SpeechStarted, item_id=event.item_id)
    draft.active()
    draft.signal(Signal.SPEECH_STARTED)


def speech_stopped(event: rt.UserSpeechStopped, draft: Draft) -> None:
    state = draft.state
    duration = max(0, event.audio_end_ms - state.talk.speech_began_ms)
    state.talk.lasted_ms[event.item_id] = duration
    state.talk.turns.speech_stopped(event.item_id, draft.now, state.setup.silence)
    draft.tell(SpeechStopped, item_id=event.item_id, duration_ms=duration)
    draft.active()
    _turn_over(draft)


def committed(event: rt.InputCommitted, draft: Draft) -> None:
    """The user's audio is part of the conversation: it has its place before its words."""
    _seek(event.item_id, event.previous_item_id, draft)
    item = _user_item(event.item_id, event.previous_item_id, draft)
    transcribed = draft.state.setup.transcribes and not item.settled
    draft.state.talk.turns.committed(event.item_id, draft.now, transcribed=transcribed)
    _turn_over(draft)


def _turn_over(draft: Draft) -> None:
    state = draft.state
    state.talk.quiet_turn = True
    if state.setup.answers_by_itself and state.talk.responses.active is None:
        state.talk.responses.turn_pending = True
        draft.do(StartTimer("turn", state.policy.turn_patience))
    draft.signal(Signal.SPEECH_STOPPED)


def _user_item(item_id: str, previous: str | None, draft: Draft) -> UserItem:
    state = draft.state
    state.sideband.guard.ours.add(item_id)
    if item_id not in state.talk.heard:
        ordinal = state.talk.order.place(item_id, previous, draft.now_ms)
        state.talk.heard[item_id] = UserItem(item_id, ordinal, previous)
        state.talk.held.expect(item_id, "user")
    return state.talk.heard[item_id]


def item_added(event: rt.ItemAdded, draft: Draft) -> None:
    """An item joined the conversation: ours, the microphone's, the model's — or a stranger's."""
    state, item = draft.state, event.item
    state.sideband.newest = item.id
    _seek(item.id, event.previous_item_id, draft)
    if item.id in state.sideband.unsure:
        # It was not there before the restart after all, so nobody has spoken of it.
        state.sideband.unsure.discard(item.id)
        state.talk.responses.wish(item.id)
    state.talk.responses.confirm(item.id)
    if state.sideband.unconfirmed.pop(item.id, None) is not None:
        state.talk.responses.never_came(item.id)
        state.talk.order.place(item.id, event.previous_item_id, draft.now_ms)
        return
    if item.role == "user" and item.audio:
        _user_item(item.id, event.previous_item_id, draft)
        return
    if item.id in state.sideband.guard.ours:
        state.talk.order.place(item.id, event.previous_item_id, draft.now_ms)
        return
    if item.role == "user" and item.type == "message" and state.policy.peer_text == "allow":
        _typed_by_peer(item, event.previous_item_id, draft)
        return
    revert(item, draft)


def retrieved(event: rt.ItemRetrieved, draft: Draft) -> None:
    """An item that joined, or was finished, while the sideband was down: make up for it."""
    state, item = draft.state, event.item
    ordinal = _place_sought(item.id, draft)
    heard, said = state.talk.heard.get(item.id), state.talk.speech.get(item.id)
    known = (heard is not None and heard.settled) or (said is not None and said.complete)
    if ordinal is None or known or item.id in state.sideband.guard.banished:
        return  # what was learnt meanwhile is better
    if item.status in ("in_progress", "incomplete"):
        state.sideband.guard.ours.add(item.id)  # still being made: its own events follow
        return
    if item.role == "user" and item.audio:
        state.sideband.guard.ours.add(item.id)
        new = heard is None
        heard = heard or UserItem(item.id, ordinal, None)
        state.talk.heard[item.id] = heard
        if item.text:
            heard.settled = True
            _said(heard, item.text, draft, backfill=new)
    elif item.role == "assistant" and item.type == "message":
        saying.retrieved(item, ordinal, draft)
    elif item.type == "function_call" and item.call_id:
        state.sideband.guard.ours.add(item.id)
        name, arguments = item.name or "", item.arguments or "{}"
        saying.reckon(item, draft)
        calling.requested(rt.CallRequested("", item.id, item.call_id, name, arguments), draft)
    elif item.id not in state.sideband.guard.ours:
        revert(item, draft)


def first_unsure(state: State) -> str | None:
    """The first item of which not everything is known, else the last that the provider told of:
    what was typed or handed in since then has a place, and others may be before it."""
    talk = state.talk
    places = [(item.ordinal, item.item_id) for item in talk.heard.values() if not item.settled]
    places += [(item.ordinal, item.item_id) for item in talk.speech.unsettled()]
    return min(places)[1] if places else state.sideband.newest


def listed(event: rt.Listed, draft: Draft) -> None:
    """All that joined the conversation while the sideband was away, each item once."""
    state = draft.state
    answered = {one.item.call_id for one in event.items if one.item.type == "function_call_output"}
    for one in event.items:
        item, guard = one.item, state.sideband.guard
        if item.id in guard.banished:
            continue
        if item.status == "in_progress":
            guard.ours.add(item.id)  # still being made: its own events follow
        elif item.role == "user" and item.audio:
            _listed_speech(one, draft)
        elif item.role == "assistant" and item.type == "message":
            # What the history began with was said long ago.
            if item.id not in guard.ours or state.talk.speech.get(item.id) is not None:
                saying.listed(one, draft)
        elif item.type == "function_call" and item.call_id:
            if item.call_id not in answered and not _seeded(item.id, draft):
                guard.ours.add(item.id)
                name, arguments = item.name or "", item.arguments or "{}"
                asked = rt.CallRequested(one.response_id, item.id, item.call_id, name, arguments)
                calling.requested(asked, draft)
        elif item.id not in guard.ours:
            item_added(rt.ItemAdded(item, one.previous_item_id), draft)
    for answer in event.spent:
        saying.spent(answer, draft)


def _seeded(item_id: str, draft: Draft) -> bool:
    return item_id in draft.state.sideband.guard.ours and item_id not in draft.state.work.names


def _listed_speech(one: rt.ListedItem, draft: Draft) -> None:
    known = one.item.id in draft.state.talk.heard
    heard = _user_item(one.item.id, one.previous_item_id, draft)
    if one.item.text and not heard.settled:
        heard.settled = True
        draft.state.talk.turns.transcript(one.item.id, draft.now)
        _said(heard, one.item.text.strip(), draft, backfill=not known)


def _typed_by_peer(item: rt.Item, previous: str | None, draft: Draft) -> None:
    heard = _user_item(item.id, previous, draft)
    if not heard.settled:
        heard.settled = True
        draft.state.talk.turns.typed(item.id, draft.now)
        _said(heard, item.text, draft, modality="text")
        news.user_said(item.text, draft.now_ms, draft)


def revert(item: rt.Item, draft: Draft) -> None:
    """Somebody else on the call put words into it. Take them out, stop what they caused."""
    state = draft.state
    state.sideband.guard.banished.add(item.id)
    state.sideband.guard.strikes += 1
    draft.send(DeleteItem(item.id, state.next_id()), urgent=True)
    draft.reject("An item that did not come from this server was removed from the call.")


def delta(event: rt.UserTranscriptDelta, draft: Draft) -> None:
    draft.tell(TranscriptionDelta, item_id=event.item_id, delta=event.delta, role="user")


def transcript(event: rt.UserTranscript, draft: Draft) -> None:
    if event.usage != rt.Usage():
        draft.do(Account(event.usage, of=draft.state.setup.transcriber))
    item = _user_item(event.item_id, None, draft)
    if item.settled:
        return
    item.settled = True
    draft.state.talk.turns.transcript(event.item_id, draft.now)
    _said(item, event.transcript.strip(), draft)
    began = draft.state.talk.began_ms.pop(event.item_id, item.ordinal)
    news.user_said(event.transcript, began, draft)
    draft.active()


def shown(event: Shown, draft: Draft) -> None:
    """Of words that were handed in nobody says at the end that there were none. They are no yes to
    anything: only what the provider heard is."""
    talk, entry = draft.state.talk, event.entry
    item = talk.heard.get(event.item_id)
    if item is None:
        if talk.order.knows(event.item_id):
            return  # of ours, or the assistant's
        talk.order.recall(event.item_id, entry.ordinal)
        item = talk.heard[event.item_id] = UserItem(event.item_id, entry.ordinal, None)
    if item.settled:
        return
    item.settled = True
    draft.state.sideband.guard.ours.add(event.item_id)
    talk.began_ms.pop(event.item_id, None)
    talk.turns.transcript(event.item_id, draft.now)
    _said(item, entry.text, draft)


def transcript_failed(event: rt.UserTranscriptFailed, draft: Draft) -> None:
    """It counts as settled: nobody waits for words that never come."""
    item = _user_item(event.item_id, None, draft)
    if item.settled:
        return
    item.settled = True
    draft.state.talk.began_ms.pop(event.item_id, None)
    draft.state.talk.turns.transcript(event.item_id, draft.now)
    _said(item, "", draft, transcription_failed=True)
    faults.met("transcription_failed", "What was just said could not be transcribed.", draft)


def deleted(event: rt.ItemDeleted, draft: Draft) -> None:
    """Speech that went again before its words came is part of what is said next: the provider
    has taken a turn back. Whatever was recorded stays so."""
    talk = draft.state.talk
    talk.held.left(event.item_id)
    draft.state.sideband.leaving.pop(event.item_id, None)
    item = talk.heard.get(event.item_id)
    if item is not None and not item.settled:
        del talk.heard[event.item_id]
        talk.began_ms.pop(event.item_id, None)
        talk.lasted_ms.pop(event.item_id, None)
        talk.turns.unsaid(event.item_id)
        # Whoever watches has half a sentence under this id, and nothing else will come for it.
        draft.tell(TranscriptionCompleted, item_id=event.item_id, transcript="", role="user")


def _said(
    item: UserItem, text: str, draft: Draft, *, modality: Modality = "voice", **extra: bool
) -> None:
    """`extra`: `backfill`, or data of the entry."""
    draft.state.talk.held.words(item.item_id, "user", text)
    item.words = any(letter.isalnum() for letter in text)
    lasted = draft.state.talk.lasted_ms.pop(item.item_id, None)
    data: dict[str, Any] = dict(extra)
    if lasted is not None:
        data["audio_duration_ms"] = lasted
    key = draft.record(
        Kind.USER, item.item_id, text, ordinal=item.ordinal, modality=modality, **data
    )
    draft.tell(
        TranscriptionCompleted,
        item_id=item.item_id,
        transcript=text,
        role="user",
        entry_id=key,
        previous_item_id=item.previous,
        modality="text" if modality == "text" else None,
    )


def flush(draft: Draft) -> None:
    """At the end of a call: what was said and never transcribed is kept as said."""
    for item in draft.state.talk.heard.values():
        if not item.settled:
            item.settled = True
            _said(item, "", draft, transcription_failed=True)


# --- Items that were missed


def seek_again(draft: Draft) -> None:
    """The line went, and with it perhaps what was asked for: it is asked for once more. Not twice:
    an answer that is too large for the line would take it down each time."""
    sideband = draft.state.sideband
    for item_id in sideband.sought.values():
        if item_id not in sideband.twice:
            sideband.twice[item_id] = sideband.followers.get(item_id, "")
    sideband.sought, sideband.followers = {}, {}


def seek_rest(draft: Draft) -> None:
    """The line is back. Of what had begun when it went, the rest may have passed unseen: a call
    whose arguments were on their way, what was said, and words of the user's."""
    talk, work = draft.state.talk, draft.state.work
    begun = [item_id for item_id, item in talk.heard.items() if not item.settled]
    begun += [item.item_id for item in talk.speech.unsettled() if not item.complete]
    begun += work.names
    sideband = draft.state.sideband
    again = {item: follower for item, follower in sideband.twice.items() if follower is not None}
    fresh = [item_id for item_id in begun if item_id not in sideband.twice]
    sideband.twice = dict.fromkeys(sideband.twice)
    sideband.followers |= {item: follower for item, follower in again.items() if follower}
    for item_id in [*again, *fresh[-_MOST_SOUGHT:]]:
        event_id = draft.state.next_id()
        sideband.sought[event_id] = item_id
        draft.send(RetrieveItem(item_id, event_id))


def _seek(item_id: str, previous: str | None, draft: Draft) -> None:
    """Look whether the predecessor is known, and ask for it if not."""
    state, sideband = draft.state, draft.state.sideband
    if previous is None or previous == "root" or state.talk.order.knows(previous):
        return
    under_way = previous in sideband.sought.values() or previous in sideband.unconfirmed
    judged = previous in sideband.guard.ours or previous in sideband.guard.banished
    if under_way or judged or len(sideband.sought) >= _MOST_SOUGHT:
        return
    event_id = state.next_id()
    sideband.sought[event_id] = previous
    sideband.followers[previous] = item_id
    draft.send(RetrieveItem(previous, event_id))


def _place_sought(item_id: str, draft: Draft) -> float | None:
    """Where a retrieved item belongs; None if nobody asked for it."""
    state = draft.state
    asked = [event_id for event_id, sought in state.sideband.sought.items() if sought == item_id]
    if not asked:
        return None
    for event_id in asked:
        del state.sideband.sought[event_id]
    follower = state.sideband.followers.pop(item_id, "")
    return state.talk.order.place_before(item_id, follower, draft.now_ms)


# --- Typed messages


def typed(event: TypedText, draft: Draft) -> None:
    """The same item twice is the same message."""
    state = draft.state
    if event.item_id in state.talk.typed:
        return
    if event.stored is not None:
        _taken_up(event.item_id, event.stored, draft)
        return
    aloud.fell_silent(draft)
    ordinal = state.talk.order.place(event.item_id, None, draft.now_ms)
    item = state.talk.heard[event.item_id] = UserItem(event.item_id, ordinal, None, settled=True)
    _said(item, event.text, draft, modality="text")
    state.talk.typed[event.item_id] = Question(_recorded(draft)[-1])
    for old in [name for name, one in state.talk.typed.items() if one.over][:-_MOST_ANSWERED]:
        del state.talk.typed[old]
    state.talk.turns.typed(event.item_id, draft.now)
    state.clock.user_heard = draft.now
    draft.add_item(message_item(event.item_id, "user", event.text))
    state.talk.responses.wish(event.item_id)
    state.talk.quiet_turn = True
    news.user_said(event.text, draft.now_ms, draft)
    draft.active()


def _taken_up(item_id: str, stored: Entry, draft: Draft) -> None:
    """Where it is in the history, whatever is said next is the answer: one to all that was
    stored. A call that began before it was stored has yet to be told of it."""
    state = draft.state
    before = [one for one in state.talk.typed.values() if not one.over]
    asked = any(one.message.session_id != state.identity.session_id for one in before)
    state.talk.typed[item_id] = Question(stored)
    state.talk.turns.typed(item_id, draft.now)
    if item_of(stored) not in {item["id"] for item in state.sideband.placed.history}:
        draft.add_item(message_item(item_id, "user", stored.text))
        state.talk.responses.wish(item_id)
    elif not asked:
        state.talk.responses.wish()
    state.talk.quiet_turn = True
    draft.active()


def _recorded(draft: Draft) -> list[Entry]:
    return [effect.entry for effect in draft.effects if isinstance(effect, Record)]


def settle_typed(draft: Draft) -> None:
    """After every event: what was said may be the reply, and the reply may be whole."""
    state = draft.state
    if not state.talk.typed:
        return
    waiting = {name: one for name, one in state.talk.typed.items() if not one.over}
    if not waiting:
        return
    for entry in _recorded(draft):
        if entry.data.get("playing"):  # who reads the answer need not wait until it was heard
            entry = replace(entry, text=clean_text(str(entry.data.get("generated") or "")))
        if entry.kind is Kind.ASSISTANT and entry.text and not entry.data.get("aside"):
            for question in waiting.values():
                if entry.ordinal > question.message.ordinal:
                    question.reply = entry
    responses = state.talk.responses
    under_way = responses.owing or state.work.open_calls
    if under_way or state.phase in _AWAY:
        return
    for item_id, question in waiting.items():
        if state.phase is Phase.TERMINATED and question.reply is None:
            continue  # it never will be, here: another session may take it up
        question.over = True
        draft.do(Answered(item_id, question.reply))
