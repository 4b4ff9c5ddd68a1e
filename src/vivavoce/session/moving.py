"""From one call to the next: before the provider's cap, or to another provider.

Make before break: the new call is placed beside the old one, configured and told what was said,
and hears nothing yet. In the next pause the session goes over to it, with what was said since,
tools that run and all that waits to be told; only then is the old one hung up, and nobody says a
word about it. A client's microphone may feed both calls: only one of them ever listens.

Where a provider fails there is no old call: its client is asked to place one at the next provider
of the list, and that one says in a sentence why it speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from vivavoce.language.en import providers as words
from vivavoce.session import calling, faults, hearing, news, saying, sideband, timing
from vivavoce.session.context import item_of
from vivavoce.session.draft import Draft, GivingUp
from vivavoce.session.effects import Adopt, Attach, HangUp, Record, StartTimer, StopTimer
from vivavoce.session.events import (
    AttachFailed,
    CallPlaced,
    MoveWanted,
    SessionEvent,
    SidebandLost,
    SidebandUp,
    TimerFired,
)
from vivavoce.session.policy import Setup
from vivavoce.session.state import EXPIRED, NO_SIDEBAND, WANTED, Move, Phase, Sideband, Signal
from vivavoce.wire.events import (
    CallMoved,
    CallWanted,
    ContextUpdated,
    ProviderChanged,
)
from vivavoce.wire.hints import briefed
from vivavoce.wire.realtime.client import (
    CancelResponse,
    ClearInput,
    ClientEvent,
    CreateItem,
    UpdateSession,
    call_item,
    message_item,
    output_item,
)
from vivavoce.wire.realtime.facts import CallRequested, Configured, Fault, ItemAdded, Peer
from vivavoce.wire.records.talk import Entry, Kind, Status

MOVE = "move"
DUE = "move_due"
FAILOVER = "failover"
CALM = 0.3  # seconds without a sound from anybody make a pause
_LAG = 0.5  # that a client plays behind what we reckon
_SOUND_THROUGH = 2.0  # so long a client may take until its sound goes over the new call
_TRIES, _RETRY = 3, 1.0  # to attach to the call beside
_LAST_SECONDS = 5.0  # before the cap: now or never


# --- Wanted


def cap_near(draft: Draft) -> None:
    """The provider will end this call soon: its client is to place another beside it."""
    policy = draft.state.policy
    if policy.one_connection:
        return
    if draft.state.move is None:
        draft.state.move = Move("cap")
    draft.do(StartTimer(DUE, max(0.0, policy.cap_lead - min(_LAST_SECONDS, policy.cap_lead / 4))))
    draft.tell(
        CallWanted, reason="cap", beside=True, seconds_remaining=max(0, round(policy.cap_lead))
    )


def wanted(event: MoveWanted, draft: Draft) -> None:
    """Another provider is asked for. While nothing is placed, the last wish counts."""
    state = draft.state
    if not state.sideband.up or event.provider in ("", state.provider.name):
        return
    _drop(draft)
    state.move = Move("provider", event.provider)
    state.provider.failed.discard(event.provider)
    draft.tell(CallWanted, reason="provider", beside=True, provider=event.provider)
    draft.active()


def user_said(text: str, draft: Draft) -> None:
    """ "Use OpenAI again": who is to speak is not for a model to decide."""
    state = draft.state
    others = [name for name in state.policy.providers if name != state.provider.name]
    first = next((name for name in state.policy.providers[:1] if name in others), "")
    name = words.wanted(text, others, first) if others else None
    if name is None or not state.sideband.up:
        return
    responses = state.talk.responses
    responses.say(words.going(name))
    wanted(MoveWanted(name), draft)
    if state.move is None:
        return
    if responses.active and state.talk.speech.sounding is None:
        draft.send(CancelResponse(state.next_id()), urgent=True)
    else:
        state.move.hush = responses.turn_pending


def answering(draft: Draft) -> None:
    """The model knows nothing of providers: its own answer to that wish is not wanted."""
    move = draft.state.move
    if move is not None and move.hush and draft.state.talk.responses.unasked:
        move.hush = False
        draft.send(CancelResponse(draft.state.next_id()), urgent=True)


def refused(provider: str, draft: Draft) -> None:
    """The one that was asked for does not take us: the call that is on goes on."""
    state = draft.state
    if state.move is not None and state.move.provider == provider:
        _drop(draft)
        state.move = None
        state.talk.responses.say(words.stays(state.provider.name, provider))


# --- Placed beside


def placed(event: CallPlaced, draft: Draft) -> bool:
    """Is it a call beside the one that is on?"""
    state = draft.state
    if not (event.beside and state.sideband.up and state.sideband.call_id):
        return False
    _drop(draft)
    move = state.move = state.move or Move("cap")
    move.next = Sideband(call_id=event.call_id, placed=event)
    move.placed_at = draft.now
    draft.do(Attach(event.call_id, beside=True))
    return True


def heard(event: SessionEvent, draft: Draft) -> None:
    """From the call beside. It is deaf, and nothing is asked of it: all that counts is whether it
    has taken what it was told."""
    move = draft.state.move
    if move is None or (beside := move.next) is None:
        return
    match event:
        case SidebandUp():
            _prepare(beside, draft)
        case Configured(created=False):
            move.configured = True
            beside.guard.foreign_configuration(event.session)
        case ItemAdded():
            beside.unconfirmed.pop(event.item.id, None)
        case Peer():
            beside.peer = event
            if event.state in ("lost", "failed"):
                _drop(draft)
        case Fault():
            _complained(event, move, beside, draft)
        case AttachFailed():
            beside.attempts += 1
            if beside.attempts < _TRIES:
                draft.do(Attach(beside.call_id or "", _RETRY, beside=True))
            else:
                _drop(draft)
        case SidebandLost():
            _drop(draft)
        case _:
            pass


def _prepare(beside: Sideband, draft: Draft) -> None:
    """What it has to know before it may listen."""
    state = draft.state
    setup = _setup(beside.placed, draft)
    beside.up, event_id = True, state.next_id()
    beside.guard.orders.append((event_id, setup.session))
    deaf = setup.merged({"audio": {"input": {"turn_detection": None}}}).session
    _send(UpdateSession(_without_model(deaf), event_id), draft)
    for item in beside.placed.history:
        command = CreateItem(item, state.next_id())
        beside.unconfirmed[command.item_id] = command
        beside.guard.ours.add(command.item_id)
        _send(command, draft)


def _complained(event: Fault, move: Move, beside: Sideband, draft: Draft) -> None:
    for item_id, command in list(beside.unconfirmed.items()):
        if command.event_id == event.event_id:
            del beside.unconfirmed[item_id]
            return
    if not move.configured or faults.hopeless(event.code):
        wanted_one = move.provider
        _drop(draft)
        if wanted_one:
            refused(wanted_one, draft)


def _send(command: ClientEvent, draft: Draft) -> None:
    move = draft.state.move
    assert move is not None
    assert move.next is not None
    draft.send_to(command, move.next.call_id or "")


def _drop(draft: Draft) -> None:
    """Nothing came of the call beside; another may be placed."""
    move = draft.state.move
    if move is not None and move.next is not None:
        draft.do(HangUp(move.next.call_id or ""))
        draft.state.move = Move(move.reason, move.provider, overdue=move.overdue)


def note(draft: Draft) -> None:
    """What is stored while the new call waits is told to it before it begins."""
    move = draft.state.move
    if move is not None and move.next is not None:
        for effect in draft.effects:
            if isinstance(effect, Record):
                move.entries[effect.entry.id] = effect.entry


# --- Going over


def consider(draft: Draft) -> None:
    """After every event: is this the moment?"""
    move = draft.state.move
    if move is None or not move.ready or draft.state.phase is Phase.TERMINATED:
        return
    left = _until_pause(draft)
    late = move.overdue and _may_cut(draft)
    if left is not None and left <= 0:
        _adopt(draft)
    elif late:
        _adopt(draft, cut=True)
    elif left is not None:
        draft.do(StartTimer(MOVE, max(0.02, left)))


def fired(event: TimerFired, draft: Draft) -> bool:
    """Was it one of ours? Most timers only bring us here to look again."""
    state = draft.state
    if event.name == DUE and state.move is not None:
        state.move.overdue = True
    elif event.name == FAILOVER and not state.calls:
        message = "No call came about at another provider."
        draft.complain("openai_error", message, recoverable=False)
        draft.end("error", Status.ERROR)
    elif event.name in ("cap", "cap_end") and not state.calls:
        pass  # it was that of a call which is gone
    elif event.name == "cap":
        cap_near(draft)
        return False  # it is warned of, too
    elif event.name == "cap_end" and _over_at_once(draft):
        pass  # whoever speaks: a moment later there is nothing to go over from
    else:
        return event.name in (MOVE, DUE, FAILOVER)
    return True


def saves(draft: Draft) -> bool:
    """The old call is gone before its time: is the new one there?"""
    return draft.state.sideband.up and _over_at_once(draft)


def _expired(draft: Draft) -> bool:
    """The provider has ended the call that is on. Its client may have been asked for another one
    already: then the session waits for that, with nothing to listen to."""
    state, move = draft.state, draft.state.move
    if _over_at_once(draft):
        return True
    if move is None or state.policy.one_connection:
        return False
    state.provider.owed = state.provider.owed or draft.owed
    _without_call(draft)
    # The same move, so it is neither greeted nor apologised for, and goes where it was to go.
    state.move = Move(move.reason, move.provider)
    name = move.provider or state.provider.name
    draft.tell(CallWanted, reason=move.reason, beside=False, provider=name or None)
    return True


def _over_at_once(draft: Draft) -> bool:
    move = draft.state.move
    if move is None or move.next is None:
        return False
    if move.next.up:
        _adopt(draft, cut=True)
    else:
        _begin(draft)
    return True


def _without_call(draft: Draft) -> None:
    """The call that is on is no more, and another one is waited for, for a while."""
    state, old = draft.state, draft.state.sideband.call_id
    _flush(draft)
    draft.cut_turns()
    _drop(draft)
    state.move = None
    if old:
        draft.do(HangUp(old))
        draft.connection("closed", "closed")
    state.new_call("")
    draft.signal(Signal.SIDEBAND_LOST)
    for timer in ("cap", "cap_end"):  # of a call that is over already
        draft.do(StopTimer(timer))
    draft.do(StartTimer(FAILOVER, state.policy.failover))


def _may_cut(draft: Draft) -> bool:
    """The assistant may be cut off, and goes on there. What the user is saying would be lost."""
    talk = draft.state.talk
    waits = talk.responses.turn_pending or any(not item.settled for item in talk.heard.values())
    return draft.state.phase is not Phase.LISTENING and not waits


def _until_pause(draft: Draft) -> float | None:
    """Seconds until nobody speaks or is about to; None where an event will tell."""
    state = draft.state
    talk, responses = state.talk, state.talk.responses
    if state.phase in (Phase.LISTENING, Phase.RECONNECTING, Phase.INITIALIZING):
        return None
    if responses.busy or talk.speech.sounding is not None or talk.speech.unsettled():
        return None
    if (responses.wished and not state.work.open_calls) or responses.saying:
        return None
    if any(not item.settled for item in talk.heard.values()):
        return None
    active = state.clock.last_activity
    calm = CALM - (draft.now - active).total_seconds() if active is not None else 0.0
    plays = (talk.speech.plays_until - draft.now_ms) / 1000 + _LAG
    assert state.move is not None
    since = (draft.now - (state.move.placed_at or draft.now)).total_seconds()
    through = _SOUND_THROUGH
    if state.move.reason == "cap":
        through = min(through, state.policy.cap_lead / 2)
    return max(calm, plays, through - since)


def _flush(draft: Draft) -> None:
    """As far as it got, for good."""
    saying.flush(draft)
    hearing.flush(draft)
    note(draft)


def _adopt(draft: Draft, *, cut: bool = False) -> None:
    """The new call is the session's, as if it had always been."""
    state, move = draft.state, draft.state.move
    assert move is not None
    beside = move.next
    assert beside is not None
    old, owed = state.sideband.call_id, cut and draft.owed
    if cut:
        _flush(draft)
        news.sideband_lost(draft)
        draft.cut_turns()
    state.setup = _setup(beside.placed, draft)
    beside.announced, beside.up_since, beside.confirmed = True, draft.now, state.setup
    beside.unconfirmed, beside.told = {}, state.sideband.told
    later = _since(move, draft)
    state.sideband, state.move = beside, None
    since = move.placed_at or draft.now
    state.talk = state.talk.another_line()
    _knows(beside.placed, draft)
    draft.do(Adopt(beside.call_id or "", tuple(sorted(beside.guard.ours)), since))
    draft.send(ClearInput(state.next_id()))
    draft.order()
    _catch_up(later, draft)
    news.another_line(draft)
    if old:
        draft.do(HangUp(old))
    draft.tell(CallMoved, reason=move.reason, provider=beside.placed.provider or None)
    draft.tell(
        ContextUpdated,
        reason=move.reason,
        items=len(beside.placed.history),
        estimated_tokens=beside.placed.history_tokens,
    )
    arrived(beside.placed, draft)
    tell_provider(draft)
    if owed:
        state.talk.responses.wish(instructions=faults.GO_ON)
    timing.cap(draft, (draft.now - since).total_seconds())
    draft.do(StopTimer(MOVE))
    draft.do(StopTimer(DUE))
    if beside.peer is not None:
        sideband.peer(beside.peer, draft)
    if cut and state.phase is not Phase.EXECUTING_TOOL:
        draft.signal(Signal.CALL_PLACED, Signal.CONFIGURED)
    calling.settle(draft)


def _begin(draft: Draft) -> None:
    """The new call is all there is, and knows nothing yet: it begins like any other."""
    state, move = draft.state, draft.state.move
    assert move is not None
    assert move.next is not None
    event = replace(move.next.placed, beside=False)
    owed = draft.owed
    _flush(draft)
    draft.cut_turns()
    later = [item for item in _since(move, draft) if isinstance(item, dict)]
    draft.do(HangUp(state.sideband.call_id or ""))
    state.new_call(event.call_id)
    state.sideband.placed = replace(event, history=(*event.history, *later))
    state.sideband.attempts = 0
    state.setup = _setup(event, draft)
    if owed:
        state.talk.responses.wish(instructions=faults.GO_ON)
    draft.signal(Signal.CALL_PLACED)
    draft.do(Attach(event.call_id))
    arrived(event, draft)


def _knows(placed: CallPlaced, draft: Draft) -> None:
    """What the new call was told before it began."""
    talk, before = draft.state.talk, "root"
    talk.held.gist = placed.gist
    for item in placed.history:
        talk.held.joined(item)
        talk.order.place(str(item["id"]), before, draft.now_ms)
        before = str(item["id"])


def _catch_up(later: Iterable[Mapping[str, Any] | str], draft: Draft) -> None:
    for told in later:
        if isinstance(told, str):
            draft.delete_item(told)
        else:
            draft.add_item(told)


def _since(move: Move, draft: Draft) -> list[Mapping[str, Any] | str]:
    """What was said and called since the new call was told the past, in its order; the id alone
    of an item that is different by now."""
    assert move.next is not None
    past = {str(item["id"]): item for item in move.next.placed.history}
    called = {item.get("call_id") for item in past.values()}
    order = draft.state.talk.order
    found = [(entry.ordinal, _said(entry, past)) for entry in move.entries.values()]
    calls = [*move.results, *((asked, "") for asked in draft.state.work.asked.values())]
    for asked, output in calls:
        if asked.call_id not in called:
            place = order.place(asked.item_id, None, draft.now_ms)
            found.append((place, _called(asked, output, draft)))
    return [item for _, items in sorted(found, key=lambda one: one[0]) for item in items]


def _said(entry: Entry, past: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any] | str]:
    if entry.kind not in (Kind.USER, Kind.ASSISTANT, Kind.SYSTEM) or entry.data.get("aside"):
        return []
    item_id = item_of(entry)
    if not entry.text.strip():  # nothing of it was heard after all
        return [item_id] if item_id in past else []
    item = message_item(item_id, entry.kind, entry.text)
    if item_id not in past:
        return [item]
    if past[item_id].get("content") == item["content"]:
        return []
    return [item_id, {**item, "id": f"{item_id}_2"}]


def _called(asked: CallRequested, output: str, draft: Draft) -> list[Mapping[str, Any] | str]:
    """A call that still runs has no output yet: it comes when it is done."""
    state = draft.state
    begun = call_item(
        state.item_id(f"call:{asked.call_id}"), asked.call_id, asked.name, asked.arguments
    )
    if not output:
        return [begun]
    done = output_item(state.item_id(f"output:{asked.call_id}"), asked.call_id, output)
    return [begun, done]


def _setup(placed: CallPlaced, draft: Draft) -> Setup:
    """The session's configuration, as a call that begins now is given it."""
    setup = draft.state.setup
    if placed.model:
        setup = setup.merged({"model": placed.model})
    if placed.instructions is not None:
        # The time of day is part of them, and it has moved on.
        setup = setup.merged({"instructions": placed.instructions})
    if placed.briefing is not None:
        tools = briefed(setup.session.get("tools") or (), placed.briefing)
        setup = setup.merged({"tools": tools})
    return setup


def _without_model(session: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in session.items() if name != "model"}


# --- Providers


def arrived(event: CallPlaced, draft: Draft) -> None:
    """Whose call it is, and what there is to say about that."""
    state = draft.state
    provider, name = state.provider, event.provider
    owed, provider.owed = provider.owed, False
    before = provider.name or next(iter(state.policy.providers), "")
    provider.because = event.because or provider.because or WANTED
    if name and name != before:
        back = provider.because == WANTED
        said = words.handed_back if back else words.taken_over
        state.talk.responses.say(said(name, before, provider.because))
    provider.name = name or before
    if event.window is not None:
        state.policy = replace(state.policy, window=event.window)
    if owed:
        state.talk.responses.wish(instructions=faults.GO_ON)


def configured(event: Configured, draft: Draft) -> None:
    if not event.created and draft.state.sideband.announced:
        tell_provider(draft)


def tell_provider(draft: Draft) -> None:
    """Once its call is configured: before that, nobody knows."""
    provider = draft.state.provider
    first = next(iter(draft.state.policy.providers), "")
    if provider.name not in ("", provider.told or first):
        draft.tell(
            ProviderChanged,
            provider=provider.name,
            previous=provider.told or first or None,
            reason=provider.because or WANTED,
        )
    provider.told, provider.because = provider.name, ""


def failed(failing: GivingUp, draft: Draft) -> bool:
    """This provider does not carry the session any further. Is there another one?"""
    state, provider, code = draft.state, draft.state.provider, failing.code
    if code == EXPIRED:
        return _expired(draft)
    others = [
        name
        for name in state.policy.providers
        if name != provider.name and name not in provider.failed
    ]
    if state.policy.one_connection or not others:
        return False
    if code != NO_SIDEBAND:  # then it may be well, and only the way to it broken
        provider.failed.add(provider.name)
    provider.because = code
    provider.owed = provider.owed or failing.owed or draft.owed
    _without_call(draft)
    draft.tell(
        CallWanted,
        reason="lost",
        beside=False,
        provider=others[0],
        message=words.trying(others[0], provider.name, code),
    )
    return True
