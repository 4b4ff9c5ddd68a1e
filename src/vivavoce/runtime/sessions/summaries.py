"""The gist of every conversation, kept up while it is led: from what was said, and, beside the
talk, in the words of whatever brain is there; and the conversation's title.

Owns when it is made and that it is stored. What is gathered without a model is always there and
is never taken back by one (`language.en.gist`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from vivavoce.errors import VivavoceError
from vivavoce.language.en.gist import Gist, gist_of, with_model
from vivavoce.runtime.ports import Clock, Journal, Store
from vivavoce.runtime.sessions.records import title_from
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.session.context import RESULT_CHARS, gathered, settled
from vivavoce.wire.brain import Ask, Brain, CallArguments, Said, Tool
from vivavoce.wire.events import TurnTraced
from vivavoce.wire.records.talk import Conversation, Entry, Kind, Put, Status

log = logging.getLogger(__name__)

EVERY = 4  # turns of a live talk
LOOK_SECONDS = 2.0
MOST_WAITING = 1_000  # sessions that have something new
_PAGE = 300
_MOST = 20_000  # entries that are read of one conversation
_MOST_READ = 4_000_000
"""Characters, likewise: more than anybody says, and two seconds of reading."""
_ASK_SECONDS = 60.0
_FEW_WORDS = 40  # of a talk that a model need not be asked about
_MOST_CHARS = 6_000  # of the talk, for one question

_NOTE = Tool(
    "note",
    "Notes down what the conversation is about.",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Three to seven words"},
            "topic": {"type": "string", "description": "One sentence"},
            **{
                name: {"type": "array", "items": {"type": "string"}, "description": words}
                for name, words in (
                    (
                        "decisions",
                        "What was settled on, in whatever words it was said ('fine, the blue "
                        "one'), and about what: one short sentence each",
                    ),
                    ("open_work", "What is still to be done"),
                    ("preferences", "What the user likes or wants to be done in general"),
                )
            },
        },
        "required": ["title", "topic", "decisions", "open_work", "preferences"],
    },
)
_INSTRUCTIONS = (
    "You keep the minutes of a conversation. Call note with what was said, in its own words. "
    "Leave a list empty where there is nothing; add nothing that was not said."
)


async def looked_back(
    store: Store, conversation: Conversation, gist: Gist, chars: int
) -> tuple[list[Entry], bool]:
    """The last entries, at least so many characters of them and all that the gist does not have,
    oldest first; and whether that is the whole conversation."""
    found: list[Entry] = []
    read, whole, before, more = 0, 0, None, True
    while more and len(found) < _MOST and whole < _MOST_READ:
        page, more = await store.messages_before(
            conversation.id, user_id=conversation.user_id, before=before, limit=_PAGE
        )
        if not page:
            more = False
            break
        found = page + found
        before = page[0].id
        whole += sum(len(entry.text) for entry in page)
        read += sum(min(len(entry.text), RESULT_CHARS[0]) for entry in page)
        if read >= chars and page[0].ordinal <= gist.upto:
            break
    return found, not more


class Summaries:
    """`brain` gives whoever thinks here, if anybody does."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        clock: Clock,
        registry: Registry,
        brain: Callable[[], Brain | None],
    ) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self._registry, self._brain = registry, brain
        self._turns: dict[str, int] = {}  # by session: how many are new
        self._later: set[str] = set()  # sessions that a model could not be asked about yet
        self._some = asyncio.Event()

    def turn_over(self, event: TurnTraced) -> None:
        """A session has one turn more."""
        session_id = event.session_id or ""
        if session_id in self._turns or len(self._turns) < MOST_WAITING:
            self._turns[session_id] = self._turns.get(session_id, 0) + 1
            self._some.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._some.wait()
            await self._clock.sleep(LOOK_SECONDS)
            for session_id in self._due():
                self._turns.pop(session_id, None)
                self._later.discard(session_id)
                try:
                    await self.keep_up(session_id)
                except Exception:  # the boundary of one conversation: its entries are all there
                    log.exception("A summary failed", extra={"session_id": session_id})
            if not self._turns and not self._later:
                self._some.clear()

    def _due(self) -> list[str]:
        """Those of which a few turns are new, those that are over, and those whose model was not
        to be asked until now."""
        due = [
            session_id
            for session_id, turns in self._turns.items()
            if turns >= EVERY or self._registry.get(session_id) is None
        ]
        brain = self._brain()
        return [*due, *self._later] if brain is not None and self._may_ask(brain) else due

    async def keep_up(self, session_id: str) -> None:
        """The gist and the title as they are now, stored."""
        session = await self._store.session(session_id, user_id=None)
        if session is None:
            return
        of = (session.conversation_id, session.user_id)
        conversation = await self._store.conversation(of[0], user_id=of[1])
        if conversation is None:
            return
        before = gist_of(conversation.gist)
        entries, _ = await looked_back(self._store, conversation, before, _MOST_CHARS)
        # Then the last words are there too; one that another server took over goes on.
        going_on = session.status is Status.ACTIVE and not session.metadata.get("tracked")
        over = self._registry.get(session_id) is None and not going_on
        entries = entries if over else settled(entries)
        gist = await asyncio.to_thread(gathered, before, entries)
        if gist != before:
            await self._store_it(conversation, entries, before, gist)
        told = await self._told(session_id, gist, entries)
        if told is not None:
            await self._store_it(conversation, entries, gist, told)

    async def _store_it(
        self, conversation: Conversation, entries: Sequence[Entry], before: Gist, gist: Gist
    ) -> None:
        latest = await self._store.conversation(conversation.id, user_id=conversation.user_id)
        if latest is None:
            return  # deleted meanwhile: it must not come back
        # Its title stays where a person gave it one.
        of_ours = {None, before.title, next(filter(None, map(title_from, entries)), None)}
        title = gist.title if gist.title and latest.title in of_ours else None
        now = self._clock.now()
        better = replace(latest, title=title, gist=gist.to_json(), updated_at=now)
        # Nothing else: it may end, or be deleted, just now.
        await self._journal.commit([Put(better, ("title", "gist") if title else ("gist",))])

    # --- With a model -----------------------------------------------------------------------

    async def _told(self, session_id: str, gist: Gist, entries: Sequence[Entry]) -> Gist | None:
        """None where nobody can be asked now, or nothing came of it."""
        brain, said = self._brain(), _minutes(gist, entries)
        if brain is None or brain.budget.aside == "never" or len(said.split()) < _FEW_WORDS:
            return None
        if not self._may_ask(brain):
            if len(self._later) < MOST_WAITING:
                self._later.add(session_id)
            return None
        question = Ask(
            _INSTRUCTIONS,
            (Said("user", _question(gist, said)),),
            (_NOTE,),
            f"function:{_NOTE.name}",
            max_tokens=400,
            spoken=False,
        )
        try:
            async with asyncio.timeout(_ASK_SECONDS):
                offered = await self._asked(brain, question)
        except (VivavoceError, TimeoutError) as fault:
            log.info("No model has summed up a talk", extra={"error": type(fault).__name__})
            return None
        if offered is None:
            return None
        return replace(with_model(gist, offered, said), seen=gist.upto)

    async def _asked(self, brain: Brain, question: Ask) -> dict[str, Any] | None:
        written = ""
        async with aclosing(brain.answer(question)) as pieces:
            async for piece in pieces:
                if not self._may_ask(brain):
                    return None  # somebody talks now: that comes first
                written += piece.delta if isinstance(piece, CallArguments) else ""
        try:
            given = json.loads(written)
        except ValueError:
            return None
        return given if isinstance(given, dict) else None

    def _may_ask(self, brain: Brain) -> bool:
        """A live turn is never held up for it."""
        match brain.budget.aside:
            case "any":
                return True
            case "quiet":
                return not self._registry.expecting()
            case "never":
                return False


def _minutes(gist: Gist, entries: Sequence[Entry]) -> str:
    """What was said since a model last summed it up."""
    spoken = (Kind.USER, Kind.ASSISTANT)
    fresh = [entry for entry in entries if entry.ordinal > gist.seen and entry.kind in spoken]
    return "\n".join(f"{entry.kind}: {' '.join(entry.text.split())}" for entry in fresh)


def _question(gist: Gist, said: str) -> str:
    known = f"Known so far: {gist.topic}\n\n" if gist.topic else ""
    return f"{known}The conversation goes on:\n\n{said[-_MOST_CHARS:]}"
