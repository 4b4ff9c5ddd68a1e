"""Written messages: into the session that is live, else into one in text mode of its own.

There is one agent loop, not two: a written session is a Realtime session
without a call, with the same history, the same tools and the same entries. It
stays for a while, so that the next message is quick, and gives way to a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex

from vivavoce.errors import InvalidRequest, Unavailable
from vivavoce.runtime.admission import Admission
from vivavoce.runtime.connecting import Connector, Waiting
from vivavoce.runtime.limits import Window
from vivavoce.runtime.live import LiveSession
from vivavoce.runtime.making import Maker
from vivavoce.runtime.parts import Parts
from vivavoce.runtime.wishes import Wishes
from vivavoce.session.events import TypedText
from vivavoce.session.state import Phase
from vivavoce.wire.clean import clean_text
from vivavoce.wire.records import Conversation, Entry, Status

MESSAGES_PER_MINUTE = 30
MAX_CHARS = 8_000
_TRIES = 3  # a session may end just when we come


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was written, and what came back in time."""

    message: Entry
    reply: Entry | None


class Texting:
    def __init__(
        self, parts: Parts, maker: Maker, admission: Admission, connector: Connector
    ) -> None:
        self._parts, self._maker = parts, maker
        self._admission, self._connector = admission, connector
        self._rate = Window(MESSAGES_PER_MINUTE, 60, clock=parts.clock, what="messages")

    async def say(self, conversation: Conversation, text: str, *, wait: float) -> Exchange:
        """Returns once the message is stored and answered, or the wait is over."""
        words = clean_text(text).strip()
        if not words:
            raise InvalidRequest("There is nothing in the message.", field="text")
        if len(words) > MAX_CHARS:
            message = f"A message has at most {MAX_CHARS} characters."
            raise InvalidRequest(message, field="text")
        self._rate.check(conversation.user_id)
        event = TypedText(f"vvt_{token_hex(13)}", words)
        for _ in range(_TRIES):
            live = self._talking(conversation.id) or await self._open(conversation)
            exchange = await live.ask(event, wait=wait)
            if exchange is not None:
                return Exchange(*exchange)
        raise Unavailable("The conversation is busy. Please try again.", retry_after_ms=1000)

    def _talking(self, conversation_id: str) -> LiveSession | None:
        """The session that would answer: one that only waits for its call cannot."""
        there = [
            live
            for live in self._parts.registry.of_conversation(conversation_id)
            if live.phase not in (Phase.DISCONNECTED, Phase.TERMINATED)
        ]
        return max(there, key=lambda live: bool(live.books.session.voice), default=None)

    async def _open(self, conversation: Conversation) -> LiveSession:
        parts, wishes = self._parts, Wishes(text=True)
        await parts.profile.refresh()
        async with self._admission.alone(conversation.id):
            if (live := self._talking(conversation.id)) is not None:
                return live  # two messages at once
            user = await self._maker.about(conversation.user_id, wishes)
            setup = self._maker.setup(wishes, self._maker.offer(wishes), user)
            record = self._maker.record(conversation, wishes, setup, user)
            session = await self._admission.admit(record, conversation)
            try:
                call_id = await parts.provider.create_text_call(setup.session)
                budget = await self._admission.budget(session)
                live = self._maker.assemble(session, conversation, setup, budget)
                parts.registry.start(live)
            except BaseException:
                await self._admission.take_back(session, conversation)
                raise
            try:
                await self._connector.settle(live, call_id, Waiting("text"))
            except BaseException:
                await parts.registry.end(live, "error", Status.ERROR)
                raise
            return live
