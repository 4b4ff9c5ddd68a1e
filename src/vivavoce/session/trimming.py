"""A call that becomes too long for its model: items are deleted, and a summary is put in.

Only while nobody speaks and nothing is answered, run or on its way: never in the middle of a
response. The summary is sent before anything is deleted.
"""

from __future__ import annotations

from typing import Any

from vivavoce.session.draft import Draft
from vivavoce.session.state import Phase, State
from vivavoce.wire.events import ContextUpdated
from vivavoce.wire.realtime.client import output_item
from vivavoce.wire.realtime.items import ROOT

_RESTING = (Phase.READY, Phase.WAITING_TASK)


def make_room(draft: Draft) -> None:
    """After every event."""
    state, window = draft.state, draft.state.policy.window
    if window is None or state.phase not in _RESTING or not state.talk.held.full(window):
        return
    if not _at_rest(state) or (trim := state.talk.held.trim(window)) is None:
        return
    held = state.talk.held
    if trim.summary is not None:
        draft.add_item(trim.summary, previous=ROOT)
    calls = {part.call_id: part.item_id for part in held.parts.values() if part.sort == "call"}
    short: dict[str, dict[str, Any]] = {}
    for part, text in trim.short:
        if (call := calls.get(part.call_id)) is None:
            continue
        draft.delete_item(part.item_id)
        item_id = state.item_id(f"short:{part.item_id}:{len(text)}")
        short[part.item_id] = output_item(item_id, part.call_id, text)
        draft.add_item(short[part.item_id], previous=call)
    for item_id in trim.gone:
        draft.delete_item(item_id)
    held.trimmed(trim, short)
    state.clock.context_tokens = trim.tokens
    draft.tell(ContextUpdated, reason="window", items=len(held.parts), estimated_tokens=trim.tokens)


def _at_rest(state: State) -> bool:
    responses = state.talk.responses
    return (
        state.sideband.up
        and not state.sideband.fresh
        and not state.sideband.unconfirmed
        and not responses.busy
        and not responses.wished
        and not responses.saying
        and state.talk.speech.sounding is None
        and not state.work.open_calls
    )
