"""Written messages: into the session that is live, else into one in text mode of its own.

There is one agent loop, not two: a written session is a Realtime session
without a call, with the same history, the same tools and the same entries. It
stays for a while, so that the next message is quick, and gives way to a call.

A message that was stored and not answered, because its session fell or the
server did, is taken up by the next session as it is: it is not stored again,
and has one answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import Any

from vivavoce.errors import (
    InvalidRequest,
    ProviderError,
    RateLimited,
    SaidOtherwise,
    SessionNotFound,
    Unavailable,
    VivavoceError,
    found,
)
from vivavoce.runtime.limits import Window
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.providers import at
from vivavoce.runtime.sessions.admission import Admission
from vivavoce.runtime.sessions.connecting import Connector, Waiting
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.making import Company, Maker
from vivavoce.runtime.sessions.options import Options, check_steering
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.records import answered_by
from vivavoce.session.events import End, TypedText
from vivavoce.session.state import Phase
from vivavoce.wire.clean import clean_text
from vivavoce.wire.records.talk import Conversation, Entry, Kind, Status, VoiceSession
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

OURS = "vvt_"  # how the items of written messages begin
MAX_CHARS = 8_000
LEFT_SECONDS = 900.0
"""A message without an answer that is older is history."""
_TRIES = 3  # a session may end just when we come
_LEFT_TRIES = 30  # after a restart the provider may need a while, above all our own engine
_LEFT_PAUSE = 5.0
_LOOKED_AT = 50  # of the last messages


class Exchange(Value):
    """What was written, what came back in time, and in which session."""

    message: Entry
    reply: Entry | None
    session: VoiceSession


def is_written(entry: Entry) -> bool:
    """Did it come in as a message here?"""
    return entry.kind is Kind.USER and str(entry.data.get("item_id", "")).startswith(OURS)


def unanswered(entries: Sequence[Entry], now: datetime) -> Entry | None:
    """The last that the user said, if it was written of late and nothing was said to it."""
    for entry in reversed(entries):
        said = entry.text or entry.data.get("playing")
        if entry.kind is Kind.ASSISTANT and said and not entry.data.get("aside"):
            return None
        if entry.kind is Kind.USER:
            late = (now - entry.created_at).total_seconds() > LEFT_SECONDS
            return entry if is_written(entry) and not late else None
    return None


class Texting:
    def __init__(
        self, parts: Parts, maker: Maker, admission: Admission, connector: Connector
    ) -> None:
        self._parts, self._maker = parts, maker
        self._admission, self._connector = admission, connector
        self.company: dict[tuple[str, str], Company] = {}
        """By user and conversation, which may not have begun: who reads its answers out, and is to
        be beside its sessions."""
        parts.relay.serve("message", self._said_here)
        a_minute = parts.shares.messages_per_minute
        self._rate = Window(a_minute, 60, clock=parts.clock, what="messages")

    async def say(
        self,
        conversation: Conversation,
        text: str,
        *,
        wait: float,
        role: Role = "operator",
        once: str | None = None,
    ) -> Exchange:
        """Returns once the message is stored and answered, or the wait is over. Raises
        `SaidOtherwise` where something else was written under the same `once`."""
        words = clean_text(text).strip()
        if not words:
            raise InvalidRequest("There is nothing in the message.", field="text")
        if len(words) > MAX_CHARS:
            message = f"A message has at most {MAX_CHARS} characters."
            raise InvalidRequest(message, field="text")
        if (owner := await self._owner(conversation)) is not None:
            return await self._said_there(owner, conversation, words, wait, role, once)
        await self._without_the_absent(conversation)
        self._rate.check(conversation.user_id)
        if room := self._parts.shares.more(conversation.user_id):
            await self._parts.journal.commit(room)  # a session that goes on asks nobody again
        loop = asyncio.get_running_loop()
        name = _named(conversation.id, once) if once else token_hex(13)
        fresh, until = TypedText(f"{OURS}{name}", words), loop.time() + wait
        stored = await self._stored(conversation, fresh) if once else None
        if stored is not None and (known := await self._known(conversation, stored)) is not None:
            return known
        for _ in range(_TRIES):
            try:
                live = self._talking(conversation.id) or await self._open(conversation, role)
            except SessionNotFound:
                continue  # its end was asked for while it was being opened
            check_steering(live.records.session, role)
            there = fresh.item_id in live.machine.state.talk.typed
            event = _again(stored) if stored is not None and not there else _event(live, fresh)
            exchange = await live.ask(event, wait=until - loop.time())
            if exchange is not None:
                return Exchange(*exchange, live.records.session)
            # The message, if a session that fell over it had stored it.
            stored = await self._stored(conversation, event)
        raise Unavailable(
            "The agent could not answer. Please write it again in a moment: what was kept of it "
            "is not kept twice.",
            retry_after_ms=5000,
        )

    async def has(self, conversation: Conversation, once: str) -> bool:
        """Was this message stored?"""
        item_id = f"{OURS}{_named(conversation.id, once)}"
        return any(e.data.get("item_id") == item_id for e in await self._said(conversation))

    async def _stored(self, conversation: Conversation, written: TypedText) -> Entry | None:
        said = await self._said(conversation)
        stored = next((e for e in said if e.data.get("item_id") == written.item_id), None)
        if stored is not None and stored.text != written.text:
            raise SaidOtherwise("Something else was written under this id before.")
        return stored

    async def _known(self, conversation: Conversation, message: Entry) -> Exchange | None:
        """What came of a message that was written before; None where its answer is still to come,
        and whoever is live, or opened now, gives it."""
        talking = self._talking(conversation.id)
        item_id = message.data.get("item_id")
        if talking is not None and item_id in talking.machine.state.talk.typed:
            return None
        said = await self._said(conversation)
        if unanswered(said, self._parts.clock.now()) == message:
            return None
        after = [e for e in said if e.ordinal > message.ordinal and not e.data.get("aside")]
        replies = [e for e in after if e.kind is Kind.ASSISTANT and e.text]
        where = await self._parts.store.session(
            message.session_id or "", user_id=conversation.user_id
        )
        if where is None:
            raise SessionNotFound("The session of this message is gone.")
        return Exchange(message, replies[0] if replies else None, where)

    async def _owner(self, conversation: Conversation) -> VoiceSession | None:
        """The session of another server's that should hear it; none where one of ours would."""
        if self._talking(conversation.id) is not None:
            return None
        for one in await self._parts.active(conversation.user_id, conversation.id):
            if one.call_id and await self._parts.relay.held(one.owner, one.epoch):
                return one
        return None

    async def _said_there(
        self,
        at: VoiceSession,
        conversation: Conversation,
        words: str,
        wait: float,
        role: Role,
        once: str | None,
    ) -> Exchange:
        given = {"conversation": conversation.id, "text": words, "wait": wait, "role": role}
        given |= {"once": once} if once else {}
        owner = (at.owner, at.epoch)
        done, _ = await self._parts.relay.ask(
            "message", owner, conversation.user_id, given, wait=wait
        )
        said = {entry.id: entry for entry in await self._said(conversation)}
        session = await self._parts.store.session(done["session"], user_id=at.user_id)
        return Exchange(said[done["message"]], said.get(done["reply"] or ""), session or at)

    async def _said_here(
        self, user_id: str, given: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        """What was written at another server."""
        known = await self._parts.store.conversation(given["conversation"], user_id=user_id)
        conversation = found(known, "Conversation", given["conversation"])
        exchange = await self.say(
            conversation,
            given["text"],
            wait=given["wait"],
            role=given["role"],
            once=given.get("once"),
        )
        reply = None if exchange.reply is None else exchange.reply.id
        done = {"message": exchange.message.id, "reply": reply, "session": exchange.session.id}
        return done, ""

    async def go_on(self, conversation: Conversation, left: Entry, role: Role) -> None:
        """What was written is answered from where its answer stopped: with the results of tools,
        as the history has them."""
        live = self._talking(conversation.id) or await self._open(conversation, role)
        live.left = None
        await live.submit(_again(left))

    async def answer_left(self, written: Sequence[tuple[Conversation, Role]]) -> None:
        """After a restart: what was written just before it is answered, once, within bounds, and
        with the role that it was written in."""
        try:
            every = [(one, role, await self._left(one)) for one, role in written]
            waiting = [(one, role, left) for one, role, left in every if left is not None]
            for _ in range(_LEFT_TRIES):
                waiting = [each for each in waiting if not await self._answered(*each)]
                if not waiting:
                    return
                await self._parts.clock.sleep(_LEFT_PAUSE)
        except Exception:  # the boundary of this task: it is in the history all the same
            log.exception("What was written before the restart could not be answered")

    async def _answered(self, conversation: Conversation, role: Role, message: Entry) -> bool:
        """Is nothing left to do? Whoever wrote or called there first, here or in another
        process, has it in the history."""
        try:
            left = await self._left(conversation)
            if left is None or left.id != message.id or self._talking(conversation.id):
                return True
            for one in await self._parts.active(conversation.user_id, conversation.id):
                if await self._parts.store.is_held(one.owner, one.epoch):
                    return True
            live = await self._open(conversation, role)
            if live.left is not None and live.left.id == message.id:
                await live.submit(_again(live.left))
        except (Unavailable, ProviderError, RateLimited):
            return False
        except VivavoceError:
            log.exception("A message stays without an answer")
        return True

    async def _left(self, conversation: Conversation) -> Entry | None:
        return unanswered(await self._said(conversation), self._parts.clock.now())

    async def _said(self, conversation: Conversation) -> list[Entry]:
        """The last of it: a message that waits for its answer is among them."""
        said, _ = await self._parts.store.messages_before(
            conversation.id, user_id=conversation.user_id, limit=_LOOKED_AT, said_only=True
        )
        return said

    async def _without_the_absent(self, conversation: Conversation) -> None:
        """A session that rests beside a client that is gone: nobody would read its answers out, or
        run that client's tools. Whoever writes gets another."""
        company = self.company.get((conversation.user_id, conversation.id))
        live = self._talking(conversation.id)
        if company is None or live is None or live.companion is not company.companion:
            return
        if company.companion.away and live.resting_since is not None:
            await self._parts.registry.end(live, End("completed"))

    def _company(self, conversation: Conversation, role: Role) -> Company | None:
        """Whoever is there with another role hears nothing of it, and runs no tools for it."""
        company = self.company.get((conversation.user_id, conversation.id))
        return None if company is None or company.role != role else company

    def _talking(self, conversation_id: str) -> LiveSession | None:
        """The session that would answer: one that only waits for its call cannot."""
        there = [
            live
            for live in self._parts.registry.of_conversation(conversation_id)
            if live.phase not in (Phase.DISCONNECTED, Phase.TERMINATED)
        ]
        return max(there, key=lambda live: bool(live.records.session.voice), default=None)

    async def _open(self, conversation: Conversation, role: Role) -> LiveSession:
        await self._parts.profile.refresh()
        async with self._admission.alone(conversation):
            if (live := self._talking(conversation.id)) is not None:
                return live  # two messages at once
            await self._admission.check_led(conversation.id, conversation.user_id, role)
            if (
                self._company(conversation, role) is not None
            ):  # it has a place as long as it is connected
                return await self._begin(conversation, role)
            async with self._parts.registry.written_seat(conversation.user_id):
                return await self._begin(conversation, role)

    async def _begin(self, conversation: Conversation, role: Role) -> LiveSession:
        parts, company = self._parts, self._company(conversation, role)
        offered = None if company is None else tuple(tool.name for tool in company.tools)
        options = Options(text=True, role=role, offered=offered)
        more = () if company is None else company.tools
        _, user, setup = await self._maker.wanted(conversation.user_id, options, more)

        # Connected before the message is taken: whoever is refused has written nothing.
        async def ask(provider: OpenAIProvider) -> str:
            session = at(setup, provider).session
            return await parts.registry.with_room(
                parts.clock, lambda: provider.create_text_call(session)
            )

        answer = await parts.providers.first(parts.providers.names, ask)
        call_id: str = answer.result
        setup = at(setup, answer.provider)
        try:
            record = self._maker.record(conversation, options, setup, user)
            record = answered_by(record, answer.provider)
            admitted = self._admission.admitted(record, conversation, before=conversation)
            async with admitted as session:
                budget = await self._admission.budget(session)
                live = self._maker.assemble(session, conversation, setup, budget, company)
                live.left = await self._left(conversation)
                await self._admission.still_wanted(session)
                parts.registry.start(live)
        except BaseException:
            await self._connector.abandon(call_id, answer.provider)
            raise
        try:
            await self._connector.settle(live, call_id, Waiting("text"), answer.provider)
        except BaseException:
            await parts.registry.end(live, End("error", Status.ERROR))
            raise
        return live


def _named(conversation_id: str, once: str) -> str:
    return sha256(f"{conversation_id} {once}".encode()).hexdigest()[:26]


def _event(live: LiveSession, fresh: TypedText) -> TypedText:
    """The message that was left, if this is it once more; else it is only history now."""
    left = live.left
    if left is not None and left.text == fresh.text:
        question = live.machine.state.talk.typed.get(_again(left).item_id)
        if question is None or not question.over:
            return _again(left)
    live.left = None
    return fresh


def _again(left: Entry) -> TypedText:
    return TypedText(str(left.data["item_id"]), left.text, stored=left)
