"""The sideband: the calls it is attached to, their configuration, what the provider reports
besides the conversation, and the end.

The sideband comes and goes; what matters is sent again once it is back. The configuration
of a call is ours, and nobody else's.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

from vivavoce.errors import Recovery, is_known, row_of
from vivavoce.language.en.telling import cut_off, summed_up
from vivavoce.session import calling, faults, hearing, news, saying, timing
from vivavoce.session.draft import Draft
from vivavoce.session.effects import Attach, Close, Failed, HangUp, StopTimer
from vivavoce.session.events import (
    CallPlaced,
    CallSurvived,
    Inform,
    Reconfigure,
    SidebandLost,
    ToolFinished,
)
from vivavoce.session.policy import Setup
from vivavoce.session.state import EXPIRED, NO_SIDEBAND, Phase, Signal
from vivavoce.session.talk import Wish
from vivavoce.session.window import Held
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import (
    ContextUpdated,
    RateLimitWarning,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
)
from vivavoce.wire.hints import Briefing, briefed
from vivavoce.wire.realtime.client import (
    ListItems,
    message_item,
    output_item,
)
from vivavoce.wire.realtime.facts import Configured, Fault, Peer, RateLimits
from vivavoce.wire.records.talk import Status

USER_ENDED = "user_ended"
MOST_SAID = 400
"""Characters of what was missed that are said again; more is summed up."""
_MOST_SHOWN = 4_000
_SHOWN = {"lost": "disconnected"}  # as a browser calls it
ALREADY_ACTIVE = "conversation_already_has_active_response"
_TRIES_OF_SEVERAL = 2
_RATE_WARNING = 0.1  # of the limit is left
INTERRUPTED_OUTPUT = (
    '{"success": false, "error": "The server restarted while this ran; its outcome is not known.", '
    '"recoverable": true, "suggestion": "Ask before trying again"}'
)


# --- Calls and connections


def call_placed(event: CallPlaced, draft: Draft) -> None:
    """A first call, or another one in its place after the browser lost the old."""
    flush(draft)
    state = draft.state
    for call_id in state.calls:
        draft.do(HangUp(call_id))
    if state.sideband.call_id and not event.beside:  # one that was planned is nothing to speak of
        event = _catching_up(event, draft)
    state.new_call(event.call_id)
    if event.instructions is not None:
        # The time of day is part of them, and it has moved on.
        state.setup = state.setup.merged({"instructions": event.instructions})
    if event.briefing is not None:
        _brief(event.briefing, draft)
    if event.model:
        state.setup = state.setup.merged({"model": event.model})
    state.sideband.placed = event
    draft.active()
    draft.signal(Signal.CALL_PLACED)
    draft.connection("connecting", "connecting")
    draft.do(Attach(event.call_id))


def _catching_up(event: CallPlaced, draft: Draft) -> CallPlaced:
    """The user is back: what was said while nobody heard it is said now where it is short, else
    summed up; so is what came of the tools meanwhile. Work that goes on is told as it is, and not
    as a model remembers it."""
    talk = draft.state.talk
    rest, known = talk.speech.missed(), draft.state.sideband.peer
    if rest and len(rest) <= MOST_SAID:
        talk.responses.wished = None
        draft.state.provider.owed = False
        # Who was never there was not cut off: they hear it for the first time.
        never = known is not None and known.state in ("connecting", "failed")
        return replace(event, greeting=None, say=rest if never else cut_off(rest, event.running))
    owed = talk.responses.wished is not None
    if event.running and not rest and not owed:
        return replace(event, greeting=None, say=cut_off("", event.running))
    told = [event.greeting, summed_up(rest[:_MOST_SHOWN]) if rest else None, event.running]
    if owed:
        told.append(calling.AND_NEWS)
    greeting = " ".join(words for words in told if words)
    return replace(event, greeting=greeting or None, bare=greeting == event.greeting)


def call_survived(event: CallSurvived, draft: Draft) -> None:
    """We restarted, the call may not have noticed. It knows everything but what we were
    about to tell it."""
    flush(draft)
    state = draft.state
    state.new_call(event.call_id)
    state.sideband.fresh, state.sideband.announced, state.sideband.survived = False, True, True
    for item_id, ordinal in event.known_items:
        state.talk.order.recall(item_id, ordinal)
    state.work.ran.update((*event.known_calls, *event.orphans))
    told = (f"{kind}:{call_id}" for call_id in event.known_calls for kind in ("output", "task"))
    state.sideband.guard.ours.update((*dict(event.known_items), *event.seeded))
    state.sideband.guard.ours.update(state.item_id(seed) for seed in told)
    state.work.open_calls = set(event.orphans)
    state.provider.name = state.provider.told = event.provider
    for call_id in event.orphans:
        # Never run again: nobody knows how far it got.
        calling.finished(ToolFinished(call_id, INTERRUPTED_OUTPUT), draft)
    for call_id, output in event.outcomes:
        # Stored, and perhaps never sent. Under the same id a second one is refused.
        item_id = state.item_id(f"output:{call_id}")
        state.sideband.unsure.add(item_id)
        draft.add_item(output_item(item_id, call_id, output))
    for item_id, words in event.typed:  # just so
        state.sideband.unsure.add(item_id)
        draft.add_item(message_item(item_id, "user", words))
    state.talk.held.gist = event.gist
    for item in event.items:
        state.talk.held.joined(item)
    for entry in event.sounding:
        saying.recall(entry, draft, over=event.over)
    if event.over:  # our own engine's calls go down with us, and with them what they said
        saying.flush(draft)
    timing.start(draft, event.age)
    draft.signal(Signal.CALL_PLACED)
    draft.signal(Signal.SIDEBAND_LOST)
    draft.do(Attach(event.call_id))


def up(draft: Draft) -> None:
    """Attached. A fresh call is told everything; a sideband that is back, what it missed."""
    state, sideband, placed = draft.state, draft.state.sideband, draft.state.sideband.placed
    sideband.up, sideband.up_since = True, draft.now
    sideband.guard.orders = []  # echoes of what was ordered before will not come
    draft.order()
    waiting = tuple(sideband.unconfirmed.values())
    if sideband.fresh:
        news, state.talk.held = state.talk.held, Held(placed.gist)
        for item in placed.history:
            draft.add_item(item)
        state.talk.held.follow(news)
    for command in waiting:  # news of today comes after the history
        draft.send(command)
    for leaving in tuple(sideband.leaving.values()):
        draft.send(leaving)
    if sideband.fresh:
        sideband.fresh = False
        draft.tell(
            ContextUpdated,
            reason=placed.reason,
            items=len(placed.history),
            estimated_tokens=placed.history_tokens,
        )
        if placed.say:
            state.talk.responses.say(placed.say)
        elif placed.greeting:
            state.talk.responses.wish(instructions=placed.greeting, greets=placed.bare)
        timing.start(draft)
    elif not sideband.gone:
        if sideband.attempts:
            faults.notify("info", "The connection is back.", draft)
        draft.signal(Signal.SIDEBAND_BACK)
        state.provider.owed = False
        hearing.seek_rest(draft)


def peer(event: Peer, draft: Draft) -> None:
    """How the client is connected: ICE and DTLS, and not our own sideband."""
    sideband = draft.state.sideband
    if sideband.behind and sideband.up:  # only our own engine can be asked
        sideband.behind = False
        draft.send(ListItems(hearing.first_unsure(draft.state), draft.state.next_id()))
    vanished = event.state == "lost" and not sideband.gone
    sideband.peer = event
    shown = _SHOWN.get(event.state, event.state)
    draft.connection(shown, event.data_channel, event.reason)
    if vanished:
        draft.cut_turns()
        draft.signal(Signal.CLIENT_LOST)


def lost(event: SidebandLost, draft: Draft) -> None:
    """A clean close is a hang-up; anything else is tried again: at once if it had
    held, else like any other try, so that one that only flickers comes to an end too."""
    state = draft.state
    if not state.sideband.up:
        return
    state.sideband.up, state.sideband.behind = False, True
    state.sideband.lost_at = draft.now
    if event.expired:
        expired(draft)
        return
    if event.hung_up:
        peer = state.sideband.peer
        reason = peer.reason if peer is not None and peer.reason else USER_ENDED
        status = Status.COMPLETED if reason == USER_ENDED else Status.ERROR
        draft.end(clean_line(reason, 64), status)
        return
    state.provider.owed = draft.owed
    state.talk.responses.sideband_lost()
    news.sideband_lost(draft)
    hearing.seek_again(draft)
    state.talk.speech.sounding = None
    draft.cut_turns()
    if state.policy.one_connection:
        draft.end("error", Status.ERROR)
        return
    draft.signal(Signal.SIDEBAND_LOST)
    held = (draft.now - (state.sideband.up_since or draft.now)).total_seconds()
    if held >= state.policy.attach_delay:
        state.sideband.attempts = 0
        draft.do(Attach(state.sideband.call_id or ""))
    else:
        attach_failed(draft)


def expired(draft: Draft) -> None:
    """The provider's session has reached its cap. Where another call is on its way the talk goes
    over to it, and nobody need know."""
    row = row_of(EXPIRED)
    draft.do(Failed(EXPIRED, row.recovery, row.level))
    draft.give_up(EXPIRED, partial(_over, draft))


def _over(draft: Draft) -> None:
    """And none is."""
    row = row_of(EXPIRED)
    faults.notify(row.level, row.message, draft, row.action)
    timing.expire(draft, "cap")


def attach_failed(draft: Draft) -> None:
    """Five tries, three seconds apart; fewer where somebody else can take over."""
    state = draft.state
    state.sideband.attempts += 1
    row = row_of("connection_failed")
    if state.sideband.attempts == 1:
        draft.do(Failed("connection_failed", row.recovery, row.level))
        faults.notify(row.level, row.message, draft)
    tries = state.policy.attach_tries
    if len(state.policy.providers) > 1:
        tries = min(tries, _TRIES_OF_SEVERAL)
    if state.sideband.attempts < tries:
        draft.do(Attach(state.sideband.call_id or "", state.policy.attach_delay))
        return
    draft.do(Failed("connection_failed", Recovery.NEXT_PROVIDER, "error"))
    draft.give_up(NO_SIDEBAND, partial(_not_back, draft))


def _not_back(draft: Draft) -> None:
    """And nobody takes over."""
    row, words = row_of("connection_failed"), "The connection to the provider was lost and did not"
    draft.complain(NO_SIDEBAND, f"{words} come back.", recoverable=False)
    faults.notify("error", row.last, draft, row.action)
    draft.end("error", Status.ERROR)


# --- Configuration


def configured(event: Configured, draft: Draft) -> None:
    """The provider tells its configuration: the answer to ours, or somebody else's doing."""
    state = draft.state
    if event.created:
        return  # what it was before we ordered ours
    if state.sideband.guard.foreign_configuration(event.session):
        if draft.reject("The session was changed by somebody else and set back."):
            draft.order()
        return
    if state.sideband.guard.accepted is not None:
        state.sideband.confirmed = Setup(session=state.sideband.guard.accepted)
    if not state.sideband.announced:
        state.sideband.announced = True
        draft.tell(
            SessionStarted,
            voice=state.setup.voice,
            tools_count=state.setup.tools_count,
            provider=state.provider.name or None,
        )
    if state.phase is Phase.INITIALIZING:
        draft.signal(Signal.CONFIGURED)


def reconfigure(event: Reconfigure, draft: Draft) -> None:
    draft.state.setup = draft.state.setup.merged(event.changes)
    if draft.state.sideband.up:
        draft.order()
    draft.tell(SessionUpdated, changes=list(event.fields))
    draft.active()


def inform(event: Inform, draft: Draft) -> None:
    """Nobody else is told: the configuration that people know is the same."""
    before = draft.state.setup
    _brief(event.briefing, draft)
    if draft.state.sideband.up and draft.state.setup != before:
        draft.order()


def _brief(briefing: Briefing, draft: Draft) -> None:
    tools = briefed(draft.state.setup.session.get("tools") or (), briefing)
    draft.state.setup = draft.state.setup.merged({"tools": tools})


# --- What the provider reports


def fault(event: Fault, draft: Draft) -> None:
    """An `error` of the provider's: often about a frame of ours, which we know by its id."""
    state = draft.state
    if _about_an_item(event.event_id, draft):
        return
    active = event.code == ALREADY_ACTIVE
    code, words = clean_line(event.code, 64), clean_line(event.message or event.code, 500)
    wish = state.talk.responses.refused(event.event_id, busy=active)
    if wish is not None:
        if not active:  # else it waits its turn
            faults.answer_failed(code, wish, draft, words)
        return
    if active and state.talk.responses.mistaken(event.event_id):
        news.another_began(state.talk.responses.active or "", draft)
        return
    if state.sideband.guard.refused(event.event_id) and state.sideband.confirmed is not None:
        # It goes back to what it did take, or every later order would carry the same flaw.
        state.setup = state.sideband.confirmed
    if event.code == EXPIRED:
        expired(draft)
        return
    if event.event_id is None and state.talk.responses.turn_pending and is_known(code):
        # There is no response that could fail, so the user's turn has.
        state.talk.responses.turn_pending = False
        draft.do(StopTimer("turn"))
        faults.answer_failed(code, Wish(), draft, words)
        return
    if faults.hopeless(code):
        draft.give_up(code, partial(faults.met, code, words, draft), owed=True)
        return
    faults.met(code, words, draft)


def _about_an_item(event_id: str | None, draft: Draft) -> bool:
    state = draft.state
    for item_id, leaving in list(state.sideband.leaving.items()):
        if leaving.event_id == event_id:
            del state.sideband.leaving[item_id]  # it was gone already
            return True
    if event_id in state.sideband.taken_out:
        return True
    if event_id in state.sideband.sought:
        # It was deleted meanwhile: nothing to make up for.
        state.sideband.followers.pop(state.sideband.sought.pop(event_id), None)
        return True
    for item_id, command in list(state.sideband.unconfirmed.items()):
        if command.event_id == event_id:
            # Refused or there already (we sent it twice over a lost sideband): settled either way.
            del state.sideband.unconfirmed[item_id]
            if item_id in state.sideband.unsure and command.item["type"] == "message":
                # Typed before the restart; whether it was answered only the model knows.
                state.talk.responses.wish(instructions=calling.IF_UNANSWERED)
            state.sideband.unsure.discard(item_id)
            state.talk.responses.confirm(item_id)
            return True
    return False


def rate_limits(event: RateLimits, draft: Draft) -> None:
    for limit in event.limits:
        if limit.limit > 0 and limit.remaining < limit.limit * _RATE_WARNING:
            draft.tell(
                RateLimitWarning,
                limit_type=limit.name,
                current=limit.limit - limit.remaining,
                limit=limit.limit,
                reset_at=draft.now + timedelta(seconds=limit.reset_seconds),
            )


# --- The end of a call and of the session


def flush(draft: Draft) -> None:
    """The end of a call: what is being said is kept, as far as it got, for good."""
    saying.flush(draft)
    hearing.flush(draft)
    draft.cut_turns()


def end(draft: Draft, reason: str, status: Status) -> None:
    """The one way out: keep what was said, hang up, tell, and close."""
    state = draft.state
    flush(draft)
    draft.signal(Signal.ENDED)
    draft.tell(SessionEnded, reason=reason, duration_ms=state.clock.age_ms(draft.now))
    draft.do(Close(status, reason))
    for call_id in state.calls:
        draft.do(HangUp(call_id))
