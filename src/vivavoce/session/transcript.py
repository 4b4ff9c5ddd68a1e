"""The order of a conversation, however late its words arrive.

An item takes its place when it joins (`committed`, `item.added`), by its
predecessor; its transcript may come after the answer to it. The place is a
number (see `Entry.ordinal`), so the store needs no rewriting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort


class Order:
    """Places of items: milliseconds since the epoch, nudged after the predecessor."""

    def __init__(self) -> None:
        self._places: dict[str, float] = {}
        self._sorted: list[float] = []

    def place(self, item_id: str, previous: str | None, at_ms: float) -> float:
        """The place of an item; one that has a place keeps it."""
        if item_id in self._places:
            return self._places[item_id]
        spot = self._spot(previous, at_ms)
        self._places[item_id] = spot
        insort(self._sorted, spot)
        return spot

    def knows(self, item_id: str) -> bool:
        return item_id in self._places

    def recall(self, item_id: str, ordinal: float) -> None:
        """An item whose place was given before a restart."""
        self._places[item_id] = ordinal
        insort(self._sorted, ordinal)

    def place_before(self, item_id: str, follower: str, at_ms: float) -> float:
        """The place of an item that we learn of only from the one after it."""
        after = self._places.get(follower)
        if item_id in self._places or after is None:
            return self.place(item_id, None, at_ms)
        index = bisect_left(self._sorted, after)
        spot = (self._sorted[index - 1] + after) / 2 if index else after - 1
        self._places[item_id] = spot
        insort(self._sorted, spot)
        return spot

    def _spot(self, previous: str | None, at_ms: float) -> float:
        if not self._sorted:
            return at_ms
        if previous == "root":
            return self._sorted[0] - 1
        after = self._places.get(previous) if previous else None
        if after is None or after == self._sorted[-1]:
            return max(at_ms, self._sorted[-1] + 1)
        follower = self._sorted[bisect_right(self._sorted, after)]
        return (after + follower) / 2
