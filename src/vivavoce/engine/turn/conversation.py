"""The conversation: items in order, each id once; and those that the engine makes itself.

Knows nothing of sound being played or models at work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vivavoce.wire.realtime.items import (
    ROOT,
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    Part,
    Status,
)
from vivavoce.wire.realtime.refusal import Refused, printable, refused

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


def check_item(item: Item, where: str = "item") -> None:
    """Raises `Refused` for what an item may have, and this engine cannot use."""
    if not isinstance(item, Message):
        return
    at = f"{where}.content"
    for place, part in enumerate(item.content):
        if part.type == "input_image":
            words = "pictures are not supported by this engine yet."
            raise refused("unsupported_parameter", f"{at}[{place}].type", words)
        if part.type == "output_audio" and part.audio is not None:
            words = "the assistant's sound cannot be given back."
            raise refused("unsupported_parameter", f"{at}[{place}].audio", words)
    if sum(part.sounds for part in item.content) > 1:
        words = "one part with sound is heard in a message; make two messages."
        raise refused("unsupported_parameter", at, words)


class Conversation:
    """Items in order, each id once."""

    def __init__(self, most: int = 10_000) -> None:
        self._items: dict[str, Item] = {}
        self._most = most
        self._size = 0

    def copy(self) -> Conversation:
        """The same items in a conversation of their own."""
        other = Conversation(self._most)
        other._items, other._size = dict(self._items), self._size
        return other

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._items.values()))

    def newest(self) -> Iterator[Item]:
        """From the end."""
        return reversed(self._items.values())

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    @property
    def last_id(self) -> str | None:
        return next(reversed(self._items), None)

    def insert(self, item: Item, after: str | None = None) -> str | None:
        """The id of the item before it. `after` is an item, `ROOT`, or None for the end."""
        if not item.id:
            raise ValueError("an item is inserted with its id")
        if item.id in self._items:
            words = f"There is an item '{item.id}' in the conversation already."
            raise Refused(words, code="item_create_duplicate_item_id", param="item.id")
        for most, limit in (
            (f"{self._most} items", len(self._items) >= self._most),
            (f"{MOST_CHARACTERS:,} characters", self._size + size_of(item) > MOST_CHARACTERS),
        ):
            if limit:
                words = f"The conversation has {most}, which is the most: delete some items first."
                raise Refused(words, code="conversation_full")
        if after is not None and after != ROOT:
            self._known(after, "create")
        following = [] if after is None else list(self._items)
        if after in self._items:
            following = following[following.index(after) + 1 :]
        self._put(item)
        for item_id in following:  # a dictionary keeps the order: to the end, one after the other
            self._items[item_id] = self._items.pop(item_id)
        return self.previous(item.id)

    def append(self, item: Item) -> str | None:
        """At the end, even of a full conversation: what the engine makes itself, as fast as
        people talk, is never refused."""
        if item.id in self._items:
            raise ValueError(f"there is an item '{item.id}' already")
        previous = self.last_id
        self._put(item)
        return previous

    def _put(self, item: Item) -> None:
        before = self._items.get(item.id)
        self._size += size_of(item) - (size_of(before) if before is not None else 0)
        self._items[item.id] = item

    def called(self, call_id: str) -> bool:
        """Whether there is a call of this id to give the result of."""
        return any(isinstance(i, FunctionCall) and i.call_id == call_id for i in self.newest())

    def get(self, item_id: str, *, doing: str = "") -> Item:
        """Raises `Refused`, in the words of what a client was `doing` with it."""
        self._known(item_id, doing)
        return self._items[item_id]

    def delete(self, item_id: str) -> Item:
        self._known(item_id, "delete")
        item = self._items.pop(item_id)
        self._size -= size_of(item)
        return item

    def replace(self, item: Item) -> None:
        """The same item, further on; its place stays."""
        self._known(item.id)
        self._put(item)

    def previous(self, item_id: str) -> str | None:
        self._known(item_id)
        # Most questions are about the newest items, so look from the end.
        newest = reversed(self._items)
        return next((next(newest, None) for known in newest if known == item_id), None)

    def _known(self, item_id: str, doing: str = "") -> None:
        if item_id in self._items:
            return
        # The codes are OpenAI's, by which its clients tell a race from a mistake.
        code, param = f"item_{doing}_invalid_item_id", "item_id"
        if doing == "create":
            code, param = "item_create_invalid_previous_item_id", "previous_item_id"
        elif not doing:
            code, param = "item_not_found", "response.input"
        words = f"There is no item '{printable(item_id)}' in the conversation."
        raise Refused(words, code=code, param=param)


# --- Items of our own ---------------------------------------------------------------------


def user_audio(item_id: str) -> Message:
    """What was said, before anyone wrote it down."""
    return Message(item_id, "user", (Part("input_audio"),))


def assistant_message(item_id: str, text: str, spoken: bool, status: Status) -> Message:
    if not text and status == "in_progress":
        return Message(item_id, "assistant", (), status)
    part = Part("output_audio", transcript=text) if spoken else Part("output_text", text=text)
    return Message(item_id, "assistant", (part,), status)


def with_transcript(item: Item, text: str) -> Item:
    """Its first sound with these words, and that sound itself no longer kept."""
    if not isinstance(item, Message):
        return item
    parts = list(item.content)
    for place, part in enumerate(parts):
        if part.sounds:
            parts[place] = replace(part, transcript=text, audio=None)
            break
    return replace(item, content=tuple(parts))


def clip_of(item: Item) -> bytes | None:
    """Sound that a client brought inside an item without its words."""
    if not isinstance(item, Message) or item.role != "user":
        return None
    return next((p.audio for p in item.content if p.audio and p.transcript is None), None)
