"""A call that becomes too long for its model: items are deleted, and a summary is put in.

Only while nobody speaks and nothing is answered, run or on its way: never in the middle of a
response. Where the provider refuses to answer since it is too much, at once. The summary is sent
before anything is deleted.
"""

from __future__ import annotations

from typing import Any

from vivavoce.session.draft import Draft
from vivavoce.session.window import Trim
from vivavoce.wire.events import ContextUpdated
from vivavoce.wire.realtime.client import output_item
from vivavoce.wire.realtime.items import ROOT


def make_room(draft: Draft) -> None:
    """After every event."""
    state, window = draft.state, draft.state.policy.window
    if window is None or not state.at_rest or not state.talk.held.full(window):
        return
    if state.going_over:  # the other call began with less
        return
    if (trim := state.talk.held.trim(window)) is not None:
        _do(trim, draft)


def halve(draft: Draft) -> None:
    """The provider takes no more: half of the talk gives way to a summary, whole turns of it. What
    the user said last stays, and so do calls whose results are still to come."""
    state, window = draft.state, draft.state.policy.window
    if (trim := state.talk.held.halve(window.fixed if window else 0)) is not None:
        _do(trim, draft)


def _do(trim: Trim, draft: Draft) -> None:
    state, held = draft.state, draft.state.talk.held
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
