"""The conversation on one call: the order of its items, what the user said and typed, what the
assistant says, which response is active and which are wished, and the turns that are timed.

All of it belongs to the call, and begins anew with another one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from vivavoce.session.ids import Ids
from vivavoce.session.speech import Aloud, Speech
from vivavoce.session.turns import Turns
from vivavoce.session.window import Held
from vivavoce.wire.records.talk import Entry
from vivavoce.wire.values import Value

FAULT = "fault"
"""The key of words about a fault, with which the answer is still to come."""
INTERIM = "interim"
"""The key of the words while a tool is slow; the timer after which they are due."""
ASIDE = frozenset({FAULT, INTERIM})
"""Keys of words that are no answer to anything."""
SOME_ITEM = "?"  # of a wish that names none
SOME_RESPONSE = "?"  # one is active, but we do not know which: the sideband was down


@dataclass(slots=True)
class UserItem:
    """Something the user said, from the moment it joined the conversation."""

    item_id: str
    ordinal: float
    previous: str | None
    settled: bool = False  # transcribed, or known never to be
    words: bool = False  # something was said in it


@dataclass(slots=True)
class Question:
    """Something typed, and the last that was said in answer to it."""

    message: Entry
    reply: Entry | None = None
    over: bool = False


class Order:
    """The order of a conversation, however late its words arrive.

    An item takes its place when it joins (`committed`, `item.added`), by its
    predecessor; its transcript may come after the answer to it. The place is a
    number (see `Entry.ordinal`): milliseconds since the epoch, nudged after the
    predecessor. So the store needs no rewriting.
    """

    def __init__(self) -> None:
        self._places: dict[str, float] = {}
        self._sorted: list[float] = []

    def place(self, item_id: str, previous: str | None, at_ms: float) -> float:
        """The place of an item; one that has a place keeps it."""
        if item_id not in self._places:
            self.recall(item_id, self._spot(previous, at_ms))
        return self._places[item_id]

    def knows(self, item_id: str) -> bool:
        return item_id in self._places

    def recall(self, item_id: str, ordinal: float) -> None:
        """An item whose place is known, from before a restart too."""
        self._places[item_id] = ordinal
        insort(self._sorted, ordinal)

    def place_before(self, item_id: str, follower: str, at_ms: float) -> float:
        """The place of an item that we learn of only from the one after it."""
        after = self._places.get(follower)
        if item_id in self._places or after is None:
            return self.place(item_id, None, at_ms)
        index = bisect_left(self._sorted, after)
        spot = (self._sorted[index - 1] + after) / 2 if index else after - 1
        self.recall(item_id, spot)
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


class Wish(Value):
    """A response that somebody wants. `covers` are the items it is to answer.

    With `say` it is these words and nothing else, and it does not wait for open calls. `unsure`
    are those that may have their answer: it was asked for when the line went.
    """

    covers: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    instructions: str | None = None
    greets: bool = False
    """And nothing else: who has spoken first and was answered needs none."""
    say: str | None = None
    key: str = ""


class Responses:
    """Which response is active, which one is asked for, and what is wished: one at a time.

    A tool result and a user's turn may both ask for a response; asking while one
    is active is an error at the provider (`conversation_already_has_active_response`).
    So wishes wait here until the floor is free, and a response that the provider
    began by itself fulfils those whose items it has already seen.
    """

    def __init__(self) -> None:
        self.active: str | None = None
        self.turn_pending = False  # the user's turn ended; the provider answers by itself
        self.asked: tuple[str, Wish] | None = None  # by the id of our frame
        self._given: tuple[str, Wish] | None = None  # to the response which began last
        self.wished: Wish | None = None
        self.saying: list[Wish] = []  # words that wait for the floor
        self.covered: frozenset[str] = frozenset()
        """The items that the response which began last answers."""
        self.answering = Wish()
        """What the response which began last is to do."""
        self.acted = False  # it has called something
        self.failed: list[Wish] = []
        """What failed, until it is asked again."""
        self.failures = 0  # in a row
        self.counted = Ids()  # responses whose tokens are
        self.asides: dict[str, str] = {}  # responses whose words are no answer → their key
        self._forgotten: set[str] = set()  # of these, what the model does not read any more
        self._seen = Ids()  # items that the provider has confirmed

    @property
    def busy(self) -> bool:
        """Is a response there or certain to come?"""
        return self.active is not None or self.asked is not None or self.turn_pending

    def wish(
        self,
        *items: str,
        instructions: str | None = None,
        unsure: frozenset[str] = frozenset(),
        greets: bool = False,
    ) -> None:
        """Ask for a response when the floor is free; several wishes become one."""
        old = self.wished or Wish()
        told, covers = instructions or old.instructions, old.covers | set(items)
        unsure |= old.unsure
        greets = greets if instructions else old.greets
        self.wished = replace(old, covers=covers, instructions=told, unsure=unsure, greets=greets)

    def say(self, words: str, key: str = "") -> None:
        """Exactly these words, as soon as the floor is free, whatever runs."""
        if not any((wish.say, wish.key) == (words, key) for wish in self.saying):
            self.saying.append(Wish(say=words, key=key))

    @property
    def said_key(self) -> str:
        """The key of what the response which began last says word for word."""
        return self.answering.key

    @property
    def owing(self) -> bool:
        """Is there an answer still to come, or to be asked for?"""
        return bool(self.busy or self.wished or self.saying or self.failed)

    def unsay(self, key: str) -> None:
        """It need not be said any more."""
        self.saying = [wish for wish in self.saying if wish.key != key]
        self.failed = [wish for wish in self.failed if wish.key != key]

    def asides_of(self, key: str) -> list[str]:
        """The responses that said such words, and of which the model still reads."""
        every = self.asides.items()
        return [one for one, said in every if said == key and one not in self._forgotten]

    def forget_asides(self, key: str) -> None:
        self._forgotten.update(self.asides_of(key))

    def confirm(self, item_id: str) -> None:
        """The provider has this item in the conversation."""
        self._seen.add(item_id)

    def never_came(self, item_id: str) -> None:
        """The provider did not have this item, so what was asked after it never came either."""
        if self.wished is not None and item_id in self.wished.unsure:
            self.wished = replace(self.wished, unsure=frozenset())

    def due(self, *, calls_open: bool, unconfirmed: Collection[str] = ()) -> Wish | None:
        """The wish to send now, if the floor is free and it need not wait: for calls, or to hear
        whether the provider has what it may have answered."""
        waits = calls_open or not self.wished or not self.wished.unsure.isdisjoint(unconfirmed)
        if self.busy or not (self.saying or not waits):
            return None
        if self.saying:
            return self.saying.pop(0)
        wish, self.wished = self.wished, None
        return wish

    def created(self, response_id: str) -> None:
        self.active = response_id
        self.turn_pending = self.acted = False
        wish = self.asked[1] if self.asked else None
        waiting = self.wished
        if (
            not wish
            and waiting
            and not waiting.instructions
            and all(one in self._seen for one in waiting.covers)
        ):
            wish, self.wished = waiting, None
        elif not wish and waiting and waiting.greets and not waiting.covers:
            self.wished = None
        self.answering = wish or Wish()
        if self.answering.say is None:  # it answers all that is there, what failed before too
            again, self.failed = self.failed, []
            for one in again:
                if one.say is not None:
                    self.failed.append(one)
                else:
                    covers = self.answering.covers | one.covers
                    self.answering = replace(self.answering, covers=covers)
        elif self.said_key in ASIDE:
            self.asides[response_id] = self.said_key
        self.covered = self.answering.covers
        self._given, self.asked = self.asked, None

    def done(self, response_id: str) -> bool:
        """Was it the active one? Others (out of band) do not hold the floor."""
        if self.active not in (response_id, SOME_RESPONSE, None):
            return False
        self.active = None
        return True

    def refused(self, event_id: str | None, *, busy: bool) -> Wish | None:
        """The provider refused what we asked; what that was, where this is about a response of
        ours. If another is `busy` it waits its turn."""
        if self.asked is None or self.asked[0] != event_id:
            return None
        wish, self.asked = self.asked[1], None
        if busy:
            self.again(wish)
            self.active = self.active or SOME_RESPONSE
        return wish

    def mistaken(self, event_id: str | None) -> bool:
        """We were refused because another response was there first: the one that we took for
        ours. Ours waits its turn."""
        if self._given is None or self._given[0] != event_id:
            return False
        wish, self._given = self._given[1], None
        self.again(wish)
        return True

    def forget_turn(self) -> Wish | None:
        """Nothing came: the floor is free again. What we had asked for, if we had."""
        wish = self.asked[1] if self.asked else None
        self.turn_pending = False
        self.asked = None
        if self.active == SOME_RESPONSE:
            self.active = None
        return wish

    @property
    def unasked(self) -> bool:
        """Did the provider begin the last response by itself?"""
        return self._given is None

    def sideband_lost(self) -> None:
        """What was asked may never have arrived, or may have been answered: wish it again, and
        know that. A response that was active may have ended unseen."""
        if self.asked is not None:
            wish = self.asked[1]
            self.again(replace(wish, unsure=wish.covers or frozenset({SOME_ITEM})))
        self.asked = None
        self.active = None
        self.turn_pending = False

    def another_line(self) -> Responses:
        """What waits to be said is said there: the items that it answers are known there."""
        there = Responses()
        there.saying = self.saying
        none: frozenset[str] = frozenset()
        there.wished = self.wished and replace(self.wished, covers=none, unsure=none)
        there.failed = [replace(wish, covers=frozenset()) for wish in self.failed]
        there.failures = self.failures
        return there

    def again(self, wish: Wish) -> None:
        """Ask for it once more."""
        if wish.say is not None:
            self.saying.insert(0, wish)
        else:
            self.wish(*wish.covers, instructions=wish.instructions, unsure=wish.unsure)


@dataclass(slots=True)
class Talk:
    """Everything that was said on this call."""

    order: Order = field(default_factory=Order)
    responses: Responses = field(default_factory=Responses)
    speech: Speech = field(default_factory=Speech)
    heard: dict[str, UserItem] = field(default_factory=dict)
    turns: Turns = field(default_factory=Turns)
    held: Held = field(default_factory=Held)
    aloud: Aloud = field(default_factory=Aloud)
    typed: dict[str, Question] = field(default_factory=dict)  # our item → what came of it
    speech_began_ms: int = 0
    began_ms: dict[str, float] = field(default_factory=dict)  # user's item → its first sound
    lasted_ms: dict[str, int] = field(default_factory=dict)  # user's item → its sound, until then
    quiet_turn: bool = True  # nothing was said since the user's last turn

    @property
    def newest_heard(self) -> UserItem | None:
        """What the user said last."""
        return max(self.heard.values(), key=lambda item: item.ordinal, default=None)

    def another_call(self) -> Talk:
        """What was typed may still be answered there; the rest is of the old call."""
        return Talk(typed=self.typed, speech_began_ms=self.speech_began_ms)

    def another_line(self) -> Talk:
        """The same talk on another call, which knows what was said."""
        there = self.another_call()
        there.turns, there.quiet_turn = self.turns, self.quiet_turn
        there.responses = self.responses.another_line()
        return there
