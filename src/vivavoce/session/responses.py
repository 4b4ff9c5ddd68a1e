"""One response at a time.

A tool result and a user's turn may both ask for a response; asking while one
is active is an error at the provider (`conversation_already_has_active_response`).
So wishes wait here until the floor is free, and a response that the provider
began by itself fulfils those whose items it has already seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

SOME_RESPONSE = "?"  # one is active, but we do not know which: the line was down


@dataclass(frozen=True, slots=True)
class Wish:
    """A response that somebody wants. `covers` are the items it is to answer."""

    covers: frozenset[str] = frozenset()
    instructions: str | None = None


class Responses:
    """Which response is active, which one is asked for, and what is wished."""

    def __init__(self) -> None:
        self.active: str | None = None
        self.turn_pending = False  # the user's turn ended; the provider answers by itself
        self._asked: tuple[str, Wish] | None = None
        self._wish: Wish | None = None
        self._seen: set[str] = set()  # items that the provider has confirmed

    @property
    def busy(self) -> bool:
        """Is a response there or certain to come?"""
        return self.active is not None or self._asked is not None or self.turn_pending

    @property
    def wished(self) -> bool:
        return self._wish is not None

    def wish(self, *items: str, instructions: str | None = None) -> None:
        """Ask for a response when the floor is free; several wishes become one."""
        old = self._wish or Wish()
        self._wish = replace(
            old,
            covers=old.covers | set(items),
            instructions=instructions or old.instructions,
        )

    def confirm(self, item_id: str) -> None:
        """The provider has this item in the conversation."""
        self._seen.add(item_id)

    def ask(self, event_id: str) -> Wish | None:
        """The wish to send now, if the floor is free; `event_id` will name it."""
        if self._wish is None or self.busy:
            return None
        wish, self._wish = self._wish, None
        self._asked = (event_id, wish)
        return wish

    def created(self, response_id: str) -> None:
        self.active = response_id
        self.turn_pending = False
        if self._asked is None and self._wish is not None and self._fulfilled(self._wish):
            self._wish = None
        self._asked = None

    def _fulfilled(self, wish: Wish) -> bool:
        return not wish.instructions and wish.covers <= self._seen

    def done(self, response_id: str) -> bool:
        """Was it the active one? Others (out of band) do not hold the floor."""
        if self.active not in (response_id, SOME_RESPONSE, None):
            return False
        self.active = None
        return True

    def refused(self, event_id: str | None, *, try_again: bool) -> bool:
        """The provider refused what we asked; was this about a response of ours?"""
        if self._asked is None or self._asked[0] != event_id:
            return False
        wish, self._asked = self._asked[1], None
        if try_again:
            self.wish(*wish.covers, instructions=wish.instructions)
            self.active = self.active or SOME_RESPONSE
        return True

    def forget_turn(self) -> None:
        """Nothing came: the floor is free again."""
        self.turn_pending = False
        self._asked = None
        if self.active == SOME_RESPONSE:
            self.active = None

    def line_lost(self) -> None:
        """What was asked may never have arrived: wish it again. A response that was
        active may have ended unseen."""
        if self._asked is not None:
            wish = self._asked[1]
            self.wish(*wish.covers, instructions=wish.instructions)
        self._asked = None
        self.active = None
        self.turn_pending = False
