"""The conversation: items in order. Also the door to `items_one` (what an item is) and
`items_told` (what the brain is told of them).

Knows nothing of sound being played or models at work.
"""

from __future__ import annotations

from collections.abc import Iterator

from vivavoce.engine.turn.configuration.checks import printable
from vivavoce.engine.turn.faults import Refused
from vivavoce.engine.turn.items_one import (
    ROOT,
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    Part,
    Role,
    Status,
    decode_audio,
    item_object,
    parse_item,
    with_id,
)
from vivavoce.engine.turn.items_told import as_turns, heard, shortened, within

__all__ = [
    "ROOT",
    "Conversation",
    "FunctionCall",
    "FunctionCallOutput",
    "Item",
    "Message",
    "Part",
    "Role",
    "Status",
    "as_turns",
    "decode_audio",
    "heard",
    "item_object",
    "parse_item",
    "shortened",
    "with_id",
    "within",
]


MOST_CHARACTERS = 8_000_000


def size_of(item: Item) -> int:
    """Characters of text; sound has a limit of its own."""
    match item:
        case Message():
            return sum(len(p.text or "") + len(p.transcript or "") for p in item.content)
        case FunctionCall():
            return len(item.arguments)
        case FunctionCallOutput():
            return len(item.output)


class Conversation:
    """Items in order, each id once."""

    def __init__(self, most: int = 10_000) -> None:
        self._items: dict[str, Item] = {}
        self._order: list[str] = []
        self._most = most
        self._size = 0

    def copy(self) -> Conversation:
        """The same items in a conversation of their own."""
        other = Conversation(self._most)
        other._items, other._order = dict(self._items), list(self._order)
        other._size = self._size
        return other

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Item]:
        return iter([self._items[item_id] for item_id in self._order])

    def newest(self) -> Iterator[Item]:
        """From the end."""
        return (self._items[item_id] for item_id in reversed(self._order))

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    @property
    def last_id(self) -> str | None:
        return self._order[-1] if self._order else None

    def insert(
        self, item: Item, after: str | None = None, *, param: str = "previous_item_id"
    ) -> str | None:
        """The id of the item before it. `after` is an item, `ROOT`, or None for the end."""
        if not item.id:
            raise ValueError("an item is inserted with its id")
        if item.id in self._items:
            raise Refused(
                f"There is an item '{item.id}' in the conversation already.",
                code="item_create_duplicate_item_id",
                param="item.id",
            )
        if len(self._order) >= self._most:
            raise Refused(
                f"The conversation has {self._most} items, which is the most: delete some first.",
                code="conversation_full",
            )
        if self._size + size_of(item) > MOST_CHARACTERS:
            raise Refused(
                f"The conversation has {MOST_CHARACTERS:,} characters, which is the most: "
                "delete some items first.",
                code="conversation_full",
            )
        if after is None:
            place = len(self._order)
        else:
            place = 0 if after == ROOT else self._place(after, param) + 1
        self._order.insert(place, item.id)
        self._put(item)
        return self._order[place - 1] if place else None

    def append(self, item: Item) -> str | None:
        """At the end, even of a full conversation: what the engine makes itself, as fast as
        people talk, is never refused."""
        if item.id in self._items:
            raise ValueError(f"there is an item '{item.id}' already")
        previous = self.last_id
        self._order.append(item.id)
        self._put(item)
        return previous

    def _put(self, item: Item) -> None:
        before = self._items.get(item.id)
        self._size += size_of(item) - (size_of(before) if before is not None else 0)
        self._items[item.id] = item

    def get(self, item_id: str, *, param: str = "item_id") -> Item:
        self._known(item_id, param)
        return self._items[item_id]

    def delete(self, item_id: str, *, param: str = "item_id") -> Item:
        del self._order[self._place(item_id, param)]
        item = self._items.pop(item_id)
        self._size -= size_of(item)
        return item

    def replace(self, item: Item) -> None:
        """The same item, further on; its place stays."""
        self._known(item.id, "item_id")
        self._put(item)

    def previous(self, item_id: str, *, param: str = "item_id") -> str | None:
        place = self._place(item_id, param)
        return self._order[place - 1] if place else None

    def _known(self, item_id: str, param: str) -> None:
        if item_id not in self._items:
            raise Refused(
                f"There is no item '{printable(item_id)}' in the conversation.",
                code="item_not_found",
                param=param,
            )

    def _place(self, item_id: str, param: str) -> int:
        self._known(item_id, param)
        # Most questions are about the newest items, so look from the end.
        for place in range(len(self._order) - 1, -1, -1):
            if self._order[place] == item_id:
                return place
        raise AssertionError("every known item has a place")
