"""Items that joined the conversation while the sideband was not there.

Each item names its predecessor; one that we never saw is asked for. A
provider tells nothing of what came before that, so of several items missed in
a row the last is made up for.
"""

from __future__ import annotations

from vivavoce.session.state import Draft
from vivavoce.wire.realtime.commands import RetrieveItem

MAX_SOUGHT = 32


def mind(item_id: str, previous: str | None, draft: Draft) -> None:
    """Look whether the predecessor is known, and ask for it if not."""
    state = draft.state
    known = previous in (None, "root") or state.order.knows(previous or "")
    under_way = previous in state.sought.values() or previous in state.unconfirmed
    judged = state.guard.knows(previous or "") or state.guard.banished(previous or "")
    if known or under_way or judged or len(state.sought) >= MAX_SOUGHT:
        return
    assert previous is not None
    event_id = state.next_id("evt")
    state.sought[event_id] = previous
    state.followers[previous] = item_id
    draft.send(RetrieveItem(previous, event_id))


def place(item_id: str, draft: Draft) -> float | None:
    """Where a retrieved item belongs; None if nobody asked for it."""
    state = draft.state
    asked = [event_id for event_id, sought in state.sought.items() if sought == item_id]
    if not asked:
        return None
    for event_id in asked:
        del state.sought[event_id]
    follower = state.followers.pop(item_id, "")
    return state.order.place_before(item_id, follower, draft.now_ms)
