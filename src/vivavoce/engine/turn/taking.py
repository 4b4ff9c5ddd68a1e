"""A turn that was taken, and may be taken back.

The end of a turn is a judgement. Where it leaves a doubt the turn is *open* for about
a second: its answer is made, but nothing of it is heard before `hold` fires, and no
call of it is told before `settle` does, since what a tool has done cannot be taken
back. If the user goes on before anything was heard, the answer is cancelled, the item
is deleted, and its sound and the new one become one item: nothing ever happened.

    taken ──hold──▶ may be heard ──settle──▶ settled
      │                │ first sound: the words stay, the calls still wait
      └──── speech ────┴─▶ taken back

Who plays it is told nothing of this: no event says more than the protocol has.
"""

from __future__ import annotations

from vivavoce.engine.turn import answering, facts, orders
from vivavoce.engine.turn.state import Draft, OpenTurn, Speech
from vivavoce.wire import brain

Piece = facts.Thought | facts.Spoken | facts.AllSpoken | facts.AnswerFailed


def leave_open(
    speech: Speech, response_id: str | None, unheard: int, doubt: facts.SpeechStopped, draft: Draft
) -> None:
    """After a turn that was answered at once; what waits for another answer is not open."""
    state = draft.state
    if response_id is None or response_id not in state.responses:
        draft.order(orders.ForgetAudio(state.committed_ms))
        return
    silent = doubt.hold_ms > 0
    state.open = OpenTurn(speech.item_id, speech.start_ms, response_id, unheard, silent)
    draft.order(orders.ForgetAudio(speech.start_ms))
    if silent:
        draft.order(orders.StartTimer(f"hold:{response_id}", doubt.hold_ms / 1000))
    draft.order(orders.StartTimer(f"settle:{response_id}", doubt.open_ms / 1000))


# --- The user goes on -------------------------------------------------------------------


def taken_back(draft: Draft, start_ms: int) -> int:
    """Where the turn of whoever speaks now began: where the one before did, if that was open."""
    state, turn = draft.state, draft.state.open
    if turn is None:
        return start_ms
    if not _unheard(turn, draft):
        if turn.response_id not in state.responses:
            settle(draft)
        return start_ms
    state.open = None
    _stop_timers(turn, draft)
    answering.cancel(state.responses[turn.response_id], "turn_detected", draft)
    state.conversation.delete(turn.item_id)
    for kept in (state.transcripts, state.seconds, state.notes, state.shown):
        kept.pop(turn.item_id, None)
    state.unheard = turn.unheard
    draft.send("conversation.item.deleted", item_id=turn.item_id)
    for response in list(state.responses.values()):  # aside of the conversation
        response.waiting.discard(turn.item_id)
        answering.ask(response, draft)
    return turn.start_ms


def _unheard(turn: OpenTurn, draft: Draft) -> bool:
    state = draft.state
    here = state.active == turn.response_id and turn.item_id in state.conversation
    return here and turn.response_id not in state.playing


# --- The answer -------------------------------------------------------------------------


def arrived(fact: Piece, draft: Draft) -> None:
    """A piece of an answer: told now, or kept where it is too early for it."""
    turn = draft.state.open
    if turn is None or turn.response_id != fact.response_id:
        _tell(fact, draft)
    elif _too_early(fact, turn, draft):
        turn.facts.append(fact)
    else:
        _tell(fact, draft)
        if not _unheard(turn, draft):
            _stays(turn, draft)


def _too_early(fact: Piece, turn: OpenTurn, draft: Draft) -> bool:
    """All of it while nothing may be heard, and before the first sound while somebody seems to
    speak; then a call, what the brain says after it, and the sound of that."""
    if turn.silent or (draft.state.suspected and _unheard(turn, draft)):
        return True
    if isinstance(fact, facts.Thought):
        return bool(turn.facts) or isinstance(fact.piece, brain.CallBegun)
    words = any(
        isinstance(one, facts.Thought) and isinstance(one.piece, brain.Words) for one in turn.facts
    )
    return words and not isinstance(fact, facts.AnswerFailed)


# --- The user does not ------------------------------------------------------------------


def once_certain(item_id: str, order: orders.Order, draft: Draft) -> None:
    """Told now, or when the item stays for certain."""
    turn = draft.state.open
    if turn is not None and turn.item_id == item_id and _unheard(turn, draft):
        turn.orders.append(order)
    else:
        draft.order(order)


def timer(name: str, draft: Draft) -> None:
    state, turn = draft.state, draft.state.open
    kind, _, response_id = name.partition(":")
    if turn is None or turn.response_id != response_id:
        return
    if state.suspected:
        turn.due.add(kind)  # in a few frames it is known whether the user goes on
    elif kind == "settle":
        settle(draft)
    else:
        _let_be_heard(turn, draft)


def unsuspected(draft: Draft) -> None:
    """It was no speech, or speech that takes nothing back."""
    state, turn = draft.state, draft.state.open
    state.suspected = False
    if turn is not None:
        for kind in sorted(turn.due):
            timer(f"{kind}:{turn.response_id}", draft)
        if state.open is turn and not turn.silent:
            _let_be_heard(turn, draft)  # what came while nobody knew


def settle(draft: Draft) -> None:
    """It cannot be taken back any more: all that was kept is told."""
    state, turn = draft.state, draft.state.open
    if turn is None:
        return
    _stays(turn, draft)
    _stop_timers(turn, draft)
    state.open = None
    draft.order(orders.ForgetAudio(state.committed_ms))
    for fact in turn.facts:
        _tell(fact, draft)


def _let_be_heard(turn: OpenTurn, draft: Draft) -> None:
    """Words and sound may go out; a call and what follows it wait on."""
    turn.silent = False
    kept, turn.facts = turn.facts, []
    for fact in kept:
        arrived(fact, draft)


def _stays(turn: OpenTurn, draft: Draft) -> None:
    draft.order(*turn.orders)
    turn.orders.clear()


def _stop_timers(turn: OpenTurn, draft: Draft) -> None:
    for kind in ("hold", "settle"):
        draft.order(orders.StopTimer(f"{kind}:{turn.response_id}"))


def _tell(fact: Piece, draft: Draft) -> None:
    match fact:
        case facts.Thought():
            answering.thought(fact, draft)
        case facts.Spoken():
            answering.spoken(fact, draft)
        case facts.AllSpoken():
            answering.all_spoken(fact, draft)
        case facts.AnswerFailed():
            answering.failed(fact, draft)
